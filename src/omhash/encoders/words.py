"""Words to features, with nothing to learn: any text at any time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer

from ..errors import InputError, ParameterError
from ..semantics import embedded_digest, embedded_texts
from .base import Encoder, prepared


def checked_text(item: Any) -> str:
    """The text, once it is known to be one and to hold something."""
    if not isinstance(item, str):
        raise InputError(f"words must be text, not {type(item).__name__}")
    if not item.strip():
        raise InputError("the text is blank: leave it out, or write a word")
    return item


class _Words(Encoder):
    kind: ClassVar[str] = "words"

    def prepare(self, item: Any) -> str:
        """The text, once it is known to be one."""
        return checked_text(item)


class HashedWords(_Words):
    """How often each word is there, at a place that a hash of the word chooses.

    Rows have length 1. Words are read in lower case.

    Parameters
    ----------
    width : int
        The more, the fewer words share a place.

    Examples
    --------
    >>> HashedWords(width=64).encode(["A red apple", "a RED apple!"]).toarray().std(axis=0).sum()
    np.float32(0.0)
    """

    name = "hashed-words"
    version = "1"
    digest = ""

    def __init__(self, width: int = 2048) -> None:
        if width < 1:
            raise ParameterError(f"width must be 1 or more, not {width}")
        self.width = width

    @property
    def options(self) -> dict[str, Any]:
        """The width."""
        return {"width": self.width}

    def encode(self, items: Sequence[str]) -> sparse.csr_array:
        """Counts of words, one row a text."""
        vectorizer = HashingVectorizer(
            n_features=self.width,
            token_pattern=r"\w+",  # noqa: S106 - no password
            dtype=np.float32,
            norm="l2",
        )
        texts = prepared(self, items)
        if not texts:
            return sparse.csr_array((0, self.width), dtype=np.float32)
        return sparse.csr_array(vectorizer.transform(texts))


class WordVectors(_Words):
    """The mean of the vectors of a text's words, which ship with the package.

    Texts that say much the same in other words come near each other.

    Examples
    --------
    >>> puppy, dog, car = WordVectors().encode(["puppy", "dog", "car"])
    >>> bool(puppy @ dog > puppy @ car)
    True
    """

    name = "word-vectors"
    version = "1"
    width = 256

    @property
    def digest(self) -> str:  # type: ignore[override]  # read when it is asked
        """SHA-256 of the vectors."""
        return embedded_digest()

    def encode(self, items: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, one row a text."""
        vectors = embedded_texts([text.lower() for text in prepared(self, items)])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


class Words(_Words):
    """`WordVectors` and `HashedWords` beside each other: what a text means, and its very words.

    Better than either alone on the bundled emoji.

    Parameters
    ----------
    hashed : int
        The width of the hashed words.

    Examples
    --------
    >>> Words().encode(["a red apple"]).shape
    (1, 2304)
    """

    name = "words"
    version = "1"

    def __init__(self, hashed: int = 2048) -> None:
        self._parts = WordVectors(), HashedWords(hashed)
        self.width = sum(part.width for part in self._parts)

    @property
    def digest(self) -> str:  # type: ignore[override]  # read when it is asked
        """SHA-256 of the vectors."""
        return embedded_digest()

    @property
    def options(self) -> dict[str, Any]:
        """The width of the hashed words."""
        return {"hashed": self._parts[1].width}

    def encode(self, items: Sequence[str]) -> NDArray[np.float32]:
        """Both parts of length 1, one row a text."""
        vectors, hashed = self._parts
        texts = prepared(self, items)
        return np.hstack([vectors.encode(texts), hashed.encode(texts).toarray()])
