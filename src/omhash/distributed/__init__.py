"""Learning, encoding and ingest on many machines, with Dask: ``pip install 'omhash[dask]'``.

The page on many machines tells what is guaranteed and what it costs.
"""

from .cluster import connected
from .encoding import encode
from .ingesting import ingest
from .learning import Readable, learn

__all__ = ["Readable", "connected", "encode", "ingest", "learn"]
