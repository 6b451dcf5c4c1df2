"""Rounds over labelled data, in the three scenarios of the paper."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ..errors import ParameterError
from .base import LabelledData, Round, Rows, Stream
from .mirflickr import MIRFLICKR
from .nuswide import NUSWIDE
from .published import Published

Groups: TypeAlias = Sequence[Sequence[int]]
"""Which categories come new in each round, as columns of the labels counted from 0."""

_PUBLISHED = {published.name: published for published in (MIRFLICKR, NUSWIDE)}


def iid(
    data: LabelledData,
    *,
    round_size: int | None = None,
    n_queries: int | None = None,
    seed: int = 0,
) -> Stream:
    """The standard scenario: random items in each round, the same queries in all.

    With ``p = numpy.random.default_rng(seed).permutation(n)`` the queries are
    ``p[:n_queries]``, and the rounds are the successive slices of the rest; the last
    may be smaller.

    Parameters
    ----------
    data : LabelledData
    round_size, n_queries : int, optional
        By default the paper's for MIRFlickr (2,000 and 2,000) and NUS-WIDE (10,000 and
        2,000) if the data fill a round of it. Otherwise a sixth of the items, at most
        2,000, are queries, and the rest makes five rounds.
    seed : int

    Examples
    --------
    >>> from omhash.datasets import iid, synthetic
    >>> stream = iid(synthetic.make(n_items=60), round_size=20, n_queries=10)
    >>> [len(round.train) for round in stream.rounds]
    [20, 20, 10]
    """
    n_items = len(data)
    if n_items < 2:
        raise ParameterError(f"{data.name}: a stream needs two items or more; there are {n_items}")
    published = _published(data)
    if published and n_items < published.n_queries + published.round_size:
        published = None
    if n_queries is None:
        n_queries = published.n_queries if published else max(1, min(2000, n_items // 6))
    n_queries = _whole("n_queries", n_queries, least=1, most=n_items - 1)
    if round_size is None:
        round_size = published.round_size if published else -(-(n_items - n_queries) // 5)
    round_size = _whole("round_size", round_size, least=1)
    order = np.random.default_rng(_whole("seed", seed)).permutation(n_items)
    everything = np.arange(len(data.categories))
    rounds = [
        Round(order[start : start + round_size], order[:n_queries], everything)
        for start in range(n_queries, n_items, round_size)
    ]
    return Stream(data, "iid", rounds, seed)


def overlap(data: LabelledData, *, groups: Groups | None = None, seed: int = 0) -> Stream:
    """The category-incremental scenario in which old categories go on appearing.

    Every round allows the categories of its group and of all groups before. An item
    belongs to the first round that allows all its labels.

    Items without labels, or with a label in no group, belong to no round. A tenth of a
    round's items, drawn at random, are its queries: rounded, at least one, and none if
    there is one item. A group that no item belongs to makes no round; its categories
    are allowed from the next round on.

    Parameters
    ----------
    data : LabelledData
    groups : sequence of sequences of column numbers, optional
        By default the paper's for MIRFlickr and NUS-WIDE; otherwise eight groups of
        categories by falling frequency.
    seed : int

    Examples
    --------
    >>> from omhash.datasets import overlap, synthetic
    >>> data = synthetic.make(n_items=60, n_categories=4)
    >>> [round.categories.tolist() for round in overlap(data, groups=[[2, 0], [1]]).rounds]
    [[2, 0], [2, 0, 1]]
    """
    return _incremental(data, "overlap", groups, seed)


def non_overlap(data: LabelledData, *, groups: Groups | None = None, seed: int = 0) -> Stream:
    """The category-incremental scenario in which rounds share no category.

    A round holds the items all of whose labels lie in its own group; items with labels
    from several groups belong to no round. All else is as in `overlap`.

    Parameters
    ----------
    data : LabelledData
    groups : sequence of sequences of column numbers, optional
        By default the paper's for MIRFlickr and NUS-WIDE; otherwise four random groups,
        drawn with the seed.
    seed : int

    Examples
    --------
    >>> from omhash.datasets import non_overlap, synthetic
    >>> stream = non_overlap(synthetic.make(n_items=60, n_categories=8))
    >>> [len(round.categories) for round in stream.rounds]
    [2, 4, 6, 8]
    """
    return _incremental(data, "non-overlap", groups, seed)


SCENARIOS: Mapping[str, Callable[..., Stream]] = {
    "iid": iid,
    "overlap": overlap,
    "non-overlap": non_overlap,
}
"""The scenarios by name; each takes the data and a seed."""


def _incremental(data: LabelledData, scenario: str, groups: Groups | None, seed: int) -> Stream:
    # Two independent sources of chance, so that naming the default groups changes nothing.
    for_groups, for_queries = np.random.default_rng(_whole("seed", seed)).spawn(2)
    if groups is None:
        chosen = _default_groups(data, scenario, for_groups)
    else:
        chosen = _checked_groups(groups, len(data.categories))
    belongs = _round_of_items(data, chosen, exclusive=scenario == "non-overlap")
    rounds: list[Round] = []
    for number in range(len(chosen)):
        members = for_queries.permutation(np.flatnonzero(belongs == number))
        if len(members) == 0:
            continue
        n_queries = min(len(members) - 1, max(1, (len(members) + 5) // 10))
        rounds.append(
            Round(
                train=members[n_queries:],
                queries=members[:n_queries],
                categories=np.concatenate(chosen[: number + 1]),
            )
        )
    if not rounds:
        raise ParameterError(
            f"{data.name}: no item has all its labels within the groups of the {scenario} "
            "scenario, so there is no round; give other groups"
        )
    return Stream(data, scenario, rounds, seed)


def _round_of_items(data: LabelledData, groups: list[Rows], *, exclusive: bool) -> Rows:
    """The round of each item; -1, or the number of groups, for items without one."""
    group_of = np.full(len(data.categories), len(groups), dtype=np.intp)
    for number, group in enumerate(groups):
        group_of[group] = number
    has = data.labels.astype(bool)
    last = np.full(len(data), -1, dtype=np.intp)
    first = np.full(len(data), len(groups), dtype=np.intp)
    for column, number in enumerate(group_of.tolist()):
        np.maximum(last, number, out=last, where=has[:, column])
        np.minimum(first, number, out=first, where=has[:, column])
    return np.where(first == last, last, -1) if exclusive else last


def _default_groups(data: LabelledData, scenario: str, chance: np.random.Generator) -> list[Rows]:
    published = _published(data)
    count = len(data.categories)
    falling = np.argsort(-data.labels.sum(axis=0, dtype=np.int64), kind="stable")
    if published:
        order = falling if published.by_frequency else np.arange(count)
        numbers = published.overlap if scenario == "overlap" else published.non_overlap
        return [order[np.array(group) - 1] for group in numbers]
    if scenario == "overlap":
        return np.array_split(falling, min(8, count))
    return np.array_split(chance.permutation(count), min(4, count))


def _published(data: LabelledData) -> Published | None:
    published = _PUBLISHED.get(data.name)
    if published and len(published.categories) == len(data.categories):
        return published
    return None


def _checked_groups(groups: Groups, count: int) -> list[Rows]:
    checked = []
    seen: set[int] = set()
    for number, group in enumerate(groups):
        columns = [_whole(f"groups[{number}]", column, most=count - 1) for column in group]
        if not columns:
            raise ParameterError(f"groups[{number}] is empty; give each group a category")
        for column in columns:
            if column in seen:
                raise ParameterError(
                    f"groups[{number}]: category {column} is there twice; it can come new only once"
                )
            seen.add(column)
        checked.append(np.array(columns, dtype=np.intp))
    if not checked:
        raise ParameterError("groups are empty; give at least one group of category numbers")
    return checked


def _whole(name: str, value: object, *, least: int = 0, most: int | None = None) -> int:
    wanted = f"from {least} to {most}" if most is not None else f"of {least} or more"
    message = f"{name} must be a whole number {wanted}, not {value!r}"
    if isinstance(value, (bool, np.bool_)):
        raise ParameterError(message)
    try:
        whole = operator.index(value)  # type: ignore[arg-type]  # that it may fail is the point
    except TypeError:
        raise ParameterError(message) from None
    if whole < least or (most is not None and whole > most):
        raise ParameterError(message)
    return whole
