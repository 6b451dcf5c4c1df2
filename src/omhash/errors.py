"""Every error that omhash raises on purpose, in one tree.

::

    OmhashError
     ├── InputError (ValueError)         what was handed in is wrong
     │    ├── ViewError                  a view: shape, width, rows, NaN, unknown modality
     │    ├── LabelError                 labels or category names
     │    └── SemanticsError             a category name that has no vector, or two
     ├── ParameterError (ValueError)     a parameter of a constructor or command
     ├── DataFileError (ValueError)      a file that is missing, corrupt or of another form
     ├── StateError (ValueError)         a hasher's state that does not fit
     ├── NotFittedError (RuntimeError)   asked for something that must be learned first
     ├── UnsupportedError (RuntimeError) asked for something this method cannot do
     ├── ClusterError (RuntimeError)     a cluster cannot be reached, or was lost
     └── StoreError (RuntimeError)       a collection cannot be read or written: no such
          │                              collection, disk full, read-only, closed
          ├── BusyError                  another process is writing
          ├── UnreachableError           a server does not answer in time
          ├── FormatError                written by a newer omhash
          └── DamagedError               a file of a collection is damaged: names it

Catch `OmhashError` to catch them all; catch `ValueError` or `RuntimeError` where
that is what surrounding code expects. A message says what was wrong, where (file,
modality, row), and what to do.
"""

from __future__ import annotations


class OmhashError(Exception):
    """The root of every error that omhash raises on purpose."""


class InputError(OmhashError, ValueError):
    """Data handed in is wrong."""


class ViewError(InputError):
    """A view has the wrong shape, width, rows or values."""


class LabelError(InputError):
    """Labels or category names are wrong."""


class SemanticsError(InputError):
    """A category name has no vector, or more than one."""


class ParameterError(OmhashError, ValueError):
    """A parameter is out of its range."""


class DataFileError(OmhashError, ValueError):
    """A file is missing, corrupt, or of another form than expected."""


class StateError(OmhashError, ValueError):
    """A hasher's state does not fit the hasher."""


class NotFittedError(OmhashError, RuntimeError):
    """Something was asked for that must be learned first."""


class UnsupportedError(OmhashError, RuntimeError):
    """A method cannot do what was asked."""


class ClusterError(OmhashError, RuntimeError):
    """A cluster of workers cannot be reached, or was lost."""


class StoreError(OmhashError, RuntimeError):
    """A collection cannot be read or written."""


class BusyError(StoreError):
    """Another process is writing to the collection."""


class UnreachableError(StoreError):
    """A server cannot be reached, or does not answer in time; what was committed is not lost."""


class FormatError(StoreError):
    """The collection was written in a format that this version does not know."""


class DamagedError(StoreError):
    """A file of the collection is damaged; the message names it."""
