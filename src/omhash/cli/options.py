"""Values of options that several commands read alike."""

from __future__ import annotations

from .. import datasets
from ..datasets import LabelledData
from ..errors import ParameterError
from ..hashers.base import N_BITS


def labelled_data(text: str) -> LabelledData:
    """The data of a path, or those that come with omhash under a name."""
    if text == "synthetic":
        # Many categories and much noise: what is generated should not be found too easily.
        return datasets.synthetic.make(3000, 24, noise=2.0)
    if text == "emoji":
        return datasets.emoji.load()
    return datasets.load(text)


def names_in(text: str) -> list[str]:
    """Names with commas between, none of them twice."""
    return list(dict.fromkeys(name.strip() for name in text.split(","))) if text else []


def lengths_of(text: str) -> list[int]:
    """Code lengths with commas between."""
    try:
        numbers = [int(part) for part in names_in(text)]
    except ValueError:
        numbers = []
    if not numbers or not all(map(N_BITS.holds, numbers)):
        raise ParameterError(
            f"--bits: each must be {N_BITS.words}, with commas between, like 32,64; not {text!r}"
        )
    return numbers
