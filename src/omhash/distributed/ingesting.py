"""Ingest on many machines: workers read, learn and code; one process stores."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from distributed import Client

from .._coding import CodedRound, Coder, GivenRound, Standing
from ..collection import Collection
from ..datasets import Items, Slice
from ..hashers.base import Hasher
from ..learning.labels import LabelCounts
from ..learning.sketches import Sketchers
from ..learning.views import Matrix, completed, filled, shaped_views
from ..results import RoundReport
from ..store import Additions
from .cluster import Progress, await_workers, in_order, sent
from .learning import additive, has_begun, summed

_ROUNDS = 16
"""Rounds of each thread of a worker that are learned before they are stored: so many that it
does not matter what adding up and solving cost, and so few that little is lost when stopped."""


@dataclass(frozen=True, eq=False)
class _Surveyed:
    """What must be known of a round before it is learned.

    Attributes
    ----------
    has : set of str
        Modalities that at least one item has.
    """

    round_id: str
    counts: LabelCounts
    labelled: int
    has: set[str]


def ingest(
    collection: Collection,
    rounds: Sequence[Slice],
    *,
    client: Client,
    progress: Progress | None = None,
) -> Iterator[RoundReport]:
    """Learn and store rounds, as `Collection.ingest` of one after the other would.

    Some rounds of each worker are learned at a time and then stored, each as a transaction of
    its own. After an interruption, the same call goes on: rounds that are stored are passed
    over, and none is learned twice. Reports come as rounds are stored; do not stop before the
    last one.

    Two differences remain. Items without labels get the codes of what all rounds learned
    together have taught, not only of the rounds before. And somebody else may search the
    collection meanwhile, but not teach it: then a `BusyError` comes, and what is not stored yet
    is to be done again.

    Parameters
    ----------
    rounds : sequence of `omhash.datasets.Slice`
    progress : callable, optional
        Told how many of the rounds learned together are summed.
    """
    additive(collection.standing().coder.hasher)
    n = _ROUNDS * len(await_workers(client))
    for start in range(0, len(rounds), n):
        yield from _together(collection, rounds[start : start + n], client, progress)


def _together(
    collection: Collection, rounds: Sequence[Slice], client: Client, progress: Progress | None
) -> Iterator[RoundReport]:
    """Learn rounds that are not learned yet, and store those that are not stored yet."""
    start = time.perf_counter()
    standing = collection.standing()
    surveyed = in_order(client, _surveyed, rounds, standing.modalities)
    # The same items under another path are the same round.
    different = {told.round_id: (one, told) for one, told in zip(rounds, surveyed, strict=True)}
    missing = [pair for name, pair in different.items() if name not in standing.stored]
    if not missing:
        return
    fresh = [(one, told) for one, told in missing if told.round_id not in standing.taught]
    hasher = standing.coder.hasher
    new = _new_categories(hasher, [told for _, told in fresh])
    taught: dict[str, tuple[str, ...]] = {}
    if any(told.labelled for _, told in fresh) or not has_begun(hasher):
        _teach(hasher, fresh, standing, client, progress)
        taught = new
    sketchers = standing.coder.sketchers
    for one, told in missing:
        if told.has & (sketchers.bits.keys() - sketchers.known.keys()):
            (sketchers,) = in_order(client, _centred, [one], sketchers, standing.modalities)
    coder = replace(standing.coder, sketchers=sketchers)
    light = sent(client, replace(coder, hasher=hasher.for_encoding()))
    parts = [one for one, _ in missing]
    share = (time.perf_counter() - start) / len(missing)
    coded = in_order(client, _coded, parts, light, standing.modalities)
    for (_, told), (added, digest, seconds) in zip(missing, coded, strict=True):
        names = {**standing.taught, **new}[told.round_id]
        stored = CodedRound(told.round_id, added, digest, told.labelled, names, share + seconds)
        report = collection.store_coded(stored, coder, since=standing, taught=taught)
        if not report.repeated:
            taught = {}  # it is kept now
        yield report


def _teach(
    hasher: Any,
    rounds: Sequence[tuple[Slice, _Surveyed]],
    standing: Standing,
    client: Client,
    progress: Progress | None,
) -> None:
    parts = [one for one, _ in rounds]
    if not has_begun(hasher):
        (views,) = in_order(client, _views, parts[:1], standing.modalities)
        hasher.begin(completed(views, standing.modalities))
    summed(hasher, parts, [told.counts for _, told in rounds], client, progress)


def _new_categories(hasher: Hasher, rounds: Sequence[_Surveyed]) -> dict[str, tuple[str, ...]]:
    """The categories that each round is the first to have."""
    known = set(hasher.categories_) if has_begun(hasher) else set()
    found = {}
    for told in rounds:
        names = tuple(name for name in told.counts.occurring() if name not in known)
        found[told.round_id] = names
        known.update(names)
    return found


def _given(items: Items, modalities: Mapping[str, int]) -> GivenRound:
    return GivenRound.of(
        shaped_views(items.views, modalities),
        items.labels,
        keys=items.keys,
        payloads=items.payloads,
        categories=items.categories,
    )


def _surveyed(one: Slice, modalities: Mapping[str, int]) -> _Surveyed:
    """A look at all of a round: whatever is wrong with it is found before anything is learned."""
    part = one.part()
    given = _given(part.read(), modalities)
    has = {name for name, view in given.matrices.items() if filled(name, view).present.any()}
    return _Surveyed(part.round_id, given.read.counts(), given.labelled, has)


def _views(one: Slice, modalities: Mapping[str, int]) -> Mapping[str, Matrix]:
    return shaped_views(one.read().views, modalities)


def _centred(one: Slice, sketchers: Sketchers, modalities: Mapping[str, int]) -> Sketchers:
    return sketchers.fitted(_views(one, modalities))


def _coded(one: Slice, coder: Coder, modalities: Mapping[str, int]) -> tuple[Additions, str, float]:
    start = time.perf_counter()
    given = _given(one.read(), modalities)
    return coder.coded(given), given.digest, time.perf_counter() - start
