"""Learning on many machines: what one machine would have learned, in the workers' memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from distributed import Client, Future, get_worker
from scipy import sparse

from ..datasets import Items
from ..errors import InputError, NotFittedError, UnsupportedError
from ..hashers.additive import Adder, AdditiveHasher, Sums
from ..hashers.base import Hasher
from ..learning.labels import LabelCounts, LabelMatrix, label_matrix
from ..learning.views import Matrix, completed, shaped_views
from .cluster import Progress, await_workers, in_order, naming, sent, told


class Readable(Protocol):
    """Items that a worker reads where they lie, such as `omhash.datasets.Slice`.

    It may also have a method ``labels()``, which gives their `LabelMatrix` for less than reading
    everything.
    """

    def read(self) -> Items:
        """The items."""


Parts: TypeAlias = "Readable | Sequence[Readable]"
"""A round: as one part, or as several that different workers read."""

H = TypeVar("H", bound=Hasher)


def learn(
    hasher: H, rounds: Sequence[Parts], *, client: Client, progress: Progress | None = None
) -> H:
    """What `partial_fit` of all rounds, in order, would make of a hasher.

    Category codes are those of one machine, bit for bit, and all else to rounding. Labels are
    read first, and new categories get their codes from them in the order of the rounds. Then
    each worker sums its parts in its own memory, and the sums are added up once at the end.

    Parameters
    ----------
    hasher : HCFW, or another `AdditiveHasher`
        Stays as it is.
    rounds : sequence of parts, or of lists of parts
        See `Readable`; a round that is a list of parts is summed by several workers. The first
        round that a hasher ever sees comes to the client as a whole.
    progress : callable, optional
        Told how many parts of how many are summed.

    Raises
    ------
    UnsupportedError
        The hasher learns what cannot be summed.
    ClusterError
        The scheduler was lost, or workers died again and again. A single worker may die: what
        it had summed is summed again by others.
    """
    learned = additive(hasher)
    parts = [list(one) if isinstance(one, Sequence) else [one] for one in rounds]
    if not parts or not all(parts):
        raise InputError("there is nothing to learn: a round needs at least one part")
    flat = [part for one in parts for part in one]
    if not has_begun(learned):
        learned.begin(_stacked([*in_order(client, _views, parts[0])]))
    counted = in_order(client, _counts, flat)
    counts = []
    for one in parts:
        whole = next(counted)
        for _ in one[1:]:
            whole = whole.merged(next(counted))
        counts.append(whole)
    summed(learned, flat, counts, client, progress)
    return learned


def additive(hasher: H) -> H:
    """A copy of a hasher that can learn on many machines; an error where it cannot."""
    if not isinstance(hasher, AdditiveHasher):
        raise UnsupportedError(
            f"{type(hasher).__name__} learns each round from what it made of the round before, so "
            "its rounds cannot be summed on several machines: use HCFW, or partial_fit"
        )
    hasher.check_parameters()
    return copy.copy(hasher)


def has_begun(hasher: Hasher) -> bool:
    """Whether a hasher has seen a round."""
    try:
        return bool(hasher.modalities_)
    except NotFittedError:
        return False


def summed(
    hasher: Any,
    parts: Sequence[Readable],
    counts: Sequence[LabelCounts],
    client: Client,
    progress: Progress | None = None,
) -> Any:
    """The hasher once it has learned the labels of rounds and the sums of their parts."""
    hasher.learn_labels(counts)
    places = await_workers(client)[: len(parts)]
    topic = f"omhash-{id(parts)}"
    done: set[int] = set()

    def told_of(event: tuple[Any, int]) -> None:
        done.add(event[1])  # a part that is summed again counts once
        if progress is not None:
            progress(len(done), len(parts))

    with told(client):
        if progress is not None:
            client.subscribe_topic(topic, told_of)
        try:
            adder = sent(client, hasher.adder())
            sums = [
                _chained(client, adder, list(enumerate(parts))[start :: len(places)], place, topic)
                for start, place in enumerate(places)
            ]
            while len(sums) > 1:
                sums = [
                    client.submit(_merged, *pair, pure=False) if len(pair) > 1 else pair[0]
                    for pair in (sums[at : at + 2] for at in range(0, len(sums), 2))
                ]
            # From the worker itself if it can be reached: by the scheduler takes ten times longer.
            total: Sums = client.gather(sums[0], direct=True)
        finally:
            if progress is not None:
                client.unsubscribe_topic(topic)
    return hasher.take(total)


def _chained(
    client: Client, adder: Future, parts: Sequence[tuple[int, Any]], worker: str, topic: str
) -> Future:
    """The sums of some parts, added one after the other in the memory of one worker.

    Each link of the chain is a value of its own. So nothing is counted twice or lost when the
    worker dies: the scheduler knows the whole chain, and has it done again elsewhere.
    """
    sums: Future | None = None
    for place, part in parts:
        sums = client.submit(
            _added,
            *(adder, sums, part, place, topic),
            workers=[worker],
            allow_other_workers=True,
            pure=False,
        )
    return sums


def _added(adder: Adder, sums: Sums | None, part: Readable, place: int, topic: str) -> Sums:
    with naming(part, place):
        items = part.read()
        before = adder.empty() if sums is None else sums
        read = labels_of(items)
        found = adder.added(before, items.views, read.matrix, categories=read.names)
    get_worker().log_event(topic, place)
    return found


def _merged(one: Sums, other: Sums) -> Sums:
    return one.merged(other)


def _views(part: Readable) -> Mapping[str, Matrix]:
    return shaped_views(part.read().views, None)


def _counts(part: Readable) -> LabelCounts:
    cheap = getattr(part, "labels", None)
    read: LabelMatrix = cheap() if cheap is not None else labels_of(part.read())
    return read.counts()


def labels_of(items: Items) -> LabelMatrix:
    """The labels of items."""
    return label_matrix(items.labels, len(items), categories=items.categories)


def _stacked(parts: Sequence[Mapping[str, Matrix]]) -> dict[str, Matrix]:
    """The views of several parts as those of one round."""
    widths = {name: int(view.shape[1]) for views in parts for name, view in views.items()}
    whole = [shaped_views(completed(views, widths), widths) for views in parts]
    return {name: _stack([views[name] for views in whole]) for name in widths}


def _stack(views: Sequence[Matrix]) -> Matrix:
    if any(isinstance(view, np.ndarray) for view in views):
        dense = [view if isinstance(view, np.ndarray) else view.toarray() for view in views]
        return np.vstack(dense)
    return sparse.csr_array(sparse.vstack(views, format="csr"))
