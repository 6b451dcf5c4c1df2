"""Labelled data, from files or generated, and the streams over them."""

from . import emoji, synthetic
from .base import LabelledData, Round, Stream
from .loading import load
from .npz import write_npz
from .streams import SCENARIOS, iid, non_overlap, overlap

__all__ = [
    "SCENARIOS",
    "LabelledData",
    "Round",
    "Stream",
    "emoji",
    "iid",
    "load",
    "non_overlap",
    "overlap",
    "synthetic",
    "write_npz",
]
