"""The tree of errors is as documented."""

import inspect
import re

import pytest

from omhash import errors

TREE = {
    "InputError": (errors.OmhashError, ValueError),
    "ViewError": (errors.InputError, ValueError),
    "LabelError": (errors.InputError, ValueError),
    "SemanticsError": (errors.InputError, ValueError),
    "ParameterError": (errors.OmhashError, ValueError),
    "DataFileError": (errors.OmhashError, ValueError),
    "StateError": (errors.OmhashError, ValueError),
    "NotFittedError": (errors.OmhashError, RuntimeError),
    "UnsupportedError": (errors.OmhashError, RuntimeError),
    "ClusterError": (errors.OmhashError, RuntimeError),
    "StoreError": (errors.OmhashError, RuntimeError),
    "BusyError": (errors.StoreError, RuntimeError),
    "UnreachableError": (errors.StoreError, RuntimeError),
    "FormatError": (errors.StoreError, RuntimeError),
    "DamagedError": (errors.StoreError, RuntimeError),
}


def test_every_error_is_in_the_tree_and_in_its_picture():
    defined = {name for name, _ in inspect.getmembers(errors, inspect.isclass)}
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__)

    assert defined == {"OmhashError", *TREE}
    assert drawn == list(TREE)


@pytest.mark.parametrize("name", TREE)
def test_an_error_is_caught_by_its_parent_and_by_its_python_kind(name):
    parent, kind = TREE[name]

    for caught in (parent, kind, errors.OmhashError):
        with pytest.raises(caught, match="what to do"):
            raise getattr(errors, name)("what to do")


@pytest.mark.parametrize("name", TREE)
def test_an_error_is_not_of_the_other_python_kind(name):
    _, kind = TREE[name]
    other = RuntimeError if kind is ValueError else ValueError

    assert not issubclass(getattr(errors, name), other)
