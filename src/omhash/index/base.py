"""The contract of every engine: what is added, what is asked, what is found."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..codes import Codes, pack
from ..errors import InputError, ParameterError
from ._postings import increases
from .scores import CODE_BITS, SKETCH_BITS, Floats, Grid, lengths, on_grid

Numbers: TypeAlias = NDArray[np.int64]
"""Item numbers, in order of arrival."""

Present: TypeAlias = NDArray[np.bool_]

RANKS = ("asymmetric", "hamming")


@dataclass(frozen=True, eq=False)
class Found:
    """What one query found, best first.

    Attributes
    ----------
    numbers : array of int64
        Item numbers.
    scores : array of float64
        Falling; items of equal scores are in order of arrival.
    distances : array of int64
        Hamming distances of the items' codes to the signs of the query.
    """

    numbers: Numbers
    scores: Floats
    distances: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries in the form that engines take: made by `of`, by the rules of `scores`.

    Attributes
    ----------
    codes : packed signs
    grid : array of int32, shape (n, n_bits)
        The projections in whole numbers.
    lengths : array of float64, shape (n,)
        What the units of a code are divided by.
    sketches : mapping of modality to array of int32, shape (n, bits)
        The sketch projections in whole numbers, in the order of the modalities' names; rows
        of queries that lack the modality are zero.
    weights : array of float64, shape (n, modalities)
        What the units of a sketch are multiplied by.
    detail : float
        How much the sketches count.
    """

    codes: Codes
    grid: Grid
    lengths: Floats
    sketches: dict[str, Grid]
    weights: Floats
    detail: float

    def __len__(self) -> int:
        return len(self.grid)

    def __getitem__(self, rows: slice) -> Self:
        sketches = {name: grid[rows] for name, grid in self.sketches.items()}
        return replace(
            self,
            codes=self.codes[rows],
            grid=self.grid[rows],
            lengths=self.lengths[rows],
            sketches=sketches,
            weights=self.weights[rows],
        )

    @property
    def n_bits(self) -> int:
        """Bits of the codes that are asked for."""
        return int(self.grid.shape[1])

    @classmethod
    def of(
        cls,
        projections: NDArray[Any],
        *,
        rank: str = "asymmetric",
        sketches: Mapping[str, NDArray[Any]] | None = None,
        present: Mapping[str, Present] | None = None,
        detail: float = 0.0,
    ) -> Self:
        """Queries from real values.

        Parameters
        ----------
        projections : array of shape (n, n_bits)
        rank : {"asymmetric", "hamming"}
            Whether the sizes of the projections count, or their signs alone.
        sketches : mapping of modality to array of shape (n, bits)
            Sketch projections, of the modalities that the queries have.
        present : mapping of modality to bools of shape (n,)
            Which queries have the modality; all, where nothing is said.
        detail : float
            How much the sketches count, from 0.

        Examples
        --------
        >>> import numpy as np
        >>> Queries.of(np.array([[3.0, -1, 2, 1, 1, 1, -1, -3]])).codes
        array([[188]], dtype=uint8)
        """
        values = _matrix("projections", projections)
        if values.shape[1] == 0 or values.shape[1] % 8:
            raise InputError(f"projections have {values.shape[1]} columns: a multiple of 8, from 8")
        if rank not in RANKS:
            raise ParameterError(f"rank must be 'asymmetric' or 'hamming', not {rank!r}")
        if isinstance(detail, bool) or not isinstance(detail, Real) or not 0 <= detail < np.inf:
            raise ParameterError(f"detail must be a number from 0, not {detail!r}")
        if rank == "hamming":
            grid = np.where(values > 0, np.int32(1), np.int32(-1))
        else:
            grid = on_grid(values, CODE_BITS)
        details: dict[str, Grid] = {}
        weights = np.zeros((len(values), 0))
        if detail and sketches:
            details, weights = _details(len(values), sketches, present or {})
        return cls(pack(values), grid, lengths(grid), details, weights, float(detail))


@dataclass(frozen=True, eq=False)
class Kept:
    """The items that a filter keeps, looked up for any number of searches: see `Index.kept`.

    Attributes
    ----------
    numbers : sorted array of int64
    state : object
        The state of the index in which they were looked up.
    found : object
        What the engine found, in its own form.
    """

    numbers: Numbers
    state: object
    found: Any


@dataclass(frozen=True, eq=False)
class Additions:
    """Items to add, checked: all that an engine still has to do is store them."""

    numbers: Numbers
    codes: Codes
    sketches: dict[str, Codes] = field(default_factory=dict)
    present: dict[str, Present] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)


class Index(ABC):
    """Codes of items, and what is nearest to a query.

    Parameters
    ----------
    n_bits : int
        Bits of a code, a multiple of 8.
    sketches : mapping of modality to bits, optional
        The sketches that every item brings beside its code; bits are a multiple of 8.
    """

    def __init__(self, n_bits: int, sketches: Mapping[str, int] | None = None) -> None:
        self.n_bits = _checked_bits("n_bits", n_bits)
        self.sketches = {
            name: _checked_bits(f"sketch bits of {name!r}", bits)
            for name, bits in sorted((sketches or {}).items())
        }
        self._state = object()

    @abstractmethod
    def add(
        self,
        numbers: Numbers,
        codes: Codes,
        sketches: Mapping[str, Codes] | None = None,
        present: Mapping[str, Present] | None = None,
    ) -> None:
        """Add items.

        Parameters
        ----------
        numbers : array of int64
            The items' numbers, each larger than all before, also than removed ones.
        codes : array of uint8, shape (n, n_bits / 8)
        sketches : mapping of modality to array of uint8, shape (n, bits / 8)
            All modalities of the index.
        present : mapping of modality to bools of shape (n,)
            Which items have the modality; all, where nothing is said.
        """

    @abstractmethod
    def remove(self, numbers: Numbers) -> None:
        """Remove items, all of which must be there."""

    @abstractmethod
    def search(
        self, queries: Queries, k: int, *, keep: Numbers | Kept | None = None
    ) -> list[Found]:
        """The k best items of each query, or all where there are no more than k.

        Parameters
        ----------
        keep : sorted array of int64, or Kept, optional
            Only these items can be found; numbers that are not in the index are passed over.
            What `kept` made of the numbers saves looking them up in each search.
        """

    def kept(self, numbers: Numbers | Kept) -> Kept:
        """The items that a filter keeps, looked up once; anew where the index has changed."""
        if isinstance(numbers, Kept):
            if numbers.state is self._state:
                return numbers
            numbers = numbers.numbers
        wanted = checked_numbers("keep", numbers)
        return Kept(wanted, self._state, self._look_up(wanted))

    @abstractmethod
    def _look_up(self, numbers: Numbers) -> Any:
        """What `kept` keeps of some numbers in the engine's own form."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of items."""

    @property
    @abstractmethod
    def n_distinct(self) -> int:
        """The number of distinct codes."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of memory that the index takes."""

    @abstractmethod
    def report(self) -> dict[str, Any]:
        """Plain values that tell of the index: engine, items, distinct codes, bytes."""

    def _checked_additions(
        self,
        last: int,
        numbers: Numbers,
        codes: Codes,
        sketches: Mapping[str, Codes] | None,
        present: Mapping[str, Present] | None,
    ) -> Additions:
        """What is to be added, once it is known to fit; `last` is the last number so far."""
        increasing = checked_numbers("numbers", numbers)
        if len(increasing) and increasing[0] <= last:
            raise InputError(
                f"number {increasing[0]} does not follow {last}: numbers are in order of arrival"
            )
        given, told = sketches or {}, present or {}
        for name in (*given, *told):
            if name not in self.sketches:
                raise InputError(f"the index has no sketches of modality {name!r}")
        for name in self.sketches:
            if name not in given:
                raise InputError(f"sketches of modality {name!r} are missing")
        n = len(increasing)
        return Additions(
            increasing,
            _checked_codes("codes", codes, n, self.n_bits),
            {
                name: _checked_codes(f"sketches of {name!r}", given[name], n, bits)
                for name, bits in self.sketches.items()
            },
            {name: _checked_present(name, told.get(name), n) for name in self.sketches},
        )

    def _check_search(self, queries: Queries, k: int) -> None:
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
            raise ParameterError(f"k must be a whole number from 1, not {k!r}")
        if queries.n_bits != self.n_bits:
            raise InputError(f"queries have {queries.n_bits} bits, and the index {self.n_bits}")
        for name, grid in queries.sketches.items():
            if self.sketches.get(name) != grid.shape[1]:
                raise InputError(
                    f"queries have sketches of {grid.shape[1]} bits of modality {name!r}, and the "
                    f"index {self.sketches.get(name, 0)}"
                )


def _details(
    n: int, sketches: Mapping[str, NDArray[Any]], present: Mapping[str, Present]
) -> tuple[dict[str, Grid], Floats]:
    """Sketch projections in whole numbers, and the agreement of one unit of each."""
    grids, told = {}, []
    for name in sorted(sketches):
        has = _checked_present(name, present.get(name), n)
        values = np.asarray(sketches[name])
        if values.ndim == 2 and len(values) == n and not has.all():
            values = np.where(has[:, None], values, 0)
        values = _matrix(f"sketches of {name!r}", values)
        if len(values) != n or values.shape[1] == 0:
            raise InputError(f"sketches of {name!r} have shape {values.shape} for {n} queries")
        grids[name] = on_grid(values, SKETCH_BITS)
        told.append(has)
    counts = np.maximum(np.sum(told, axis=0), 1)
    weights = [math.sqrt(math.pi / 2) / (counts * lengths(grid)) for grid in grids.values()]
    return grids, np.ascontiguousarray(np.column_stack(weights))


def _matrix(words: str, values: NDArray[Any]) -> NDArray[Any]:
    matrix = np.asarray(values)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise InputError(f"{words} must be a matrix of numbers, one row a query")
    if not np.isfinite(matrix).all():
        raise InputError(f"{words} hold NaN or infinity")
    # In one order, because each other order would have kernels compiled for it.
    return np.ascontiguousarray(matrix)


def _checked_bits(words: str, bits: int) -> int:
    if isinstance(bits, bool) or not isinstance(bits, Integral) or bits < 8 or bits % 8:
        raise ParameterError(f"{words} must be a multiple of 8 from 8, not {bits!r}")
    return int(bits)


def checked_numbers(words: str, numbers: Numbers) -> Numbers:
    """Increasing item numbers, or an `InputError` that names them by `words`."""
    checked = np.asarray(numbers)
    if checked.ndim != 1 or checked.dtype.kind not in "iu":
        raise InputError(f"{words} must be a row of whole numbers")
    checked = np.ascontiguousarray(checked, dtype=np.int64)
    if len(checked) and checked[0] < 0:
        raise InputError(f"{words} begin with {checked[0]}: they are counted from 0")
    if not increases(checked):
        raise InputError(f"{words} must be sorted, and each stand there once")
    return checked


def _checked_codes(words: str, codes: Codes, n: int, bits: int) -> Codes:
    checked = np.asarray(codes)
    if checked.dtype != np.uint8 or checked.shape != (n, bits // 8):
        raise InputError(
            f"{words} are {checked.dtype} of shape {checked.shape}: {n} items of {bits} bits are "
            f"uint8 of shape {(n, bits // 8)}"
        )
    return checked


def _checked_present(name: str, present: Present | None, n: int) -> Present:
    if present is None:
        return np.ones(n, dtype=bool)
    checked = np.asarray(present)
    if checked.dtype != bool or checked.shape != (n,):
        raise InputError(f"who has modality {name!r} must be told by {n} bools")
    return checked
