"""Labelled data, from files or generated, and the streams over them."""

from . import emoji, synthetic
from .base import LabelledData, Round, Stream
from .items import Items, Part, digest
from .jsonlines import jsonlines_parts
from .loading import load, parts
from .npz import write_npz
from .slices import Slice, slices
from .streams import SCENARIOS, iid, non_overlap, overlap

__all__ = [
    "SCENARIOS",
    "Items",
    "LabelledData",
    "Part",
    "Round",
    "Slice",
    "Stream",
    "digest",
    "emoji",
    "iid",
    "jsonlines_parts",
    "load",
    "non_overlap",
    "overlap",
    "parts",
    "slices",
    "synthetic",
    "write_npz",
]
