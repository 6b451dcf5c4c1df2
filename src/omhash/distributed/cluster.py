"""A cluster's workers: reaching them, giving them work, and saying what went wrong."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from ..datasets import Slice
from ..errors import ClusterError, OmhashError, ParameterError

try:
    import dask
    from distributed import Client, Future, LocalCluster
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker
except ImportError as error:
    raise ImportError("omhash.distributed needs Dask: pip install 'omhash[dask]'") from error

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int], None]
"""Told how many of how many parts are done; from another thread."""

_PATIENCE = 10.0
"""Seconds until a scheduler must have answered, and one worker must be there."""

_AHEAD = 2
"""Tasks that a thread of a worker has before it, so that it never waits for the client."""

_IGNORE_INTERRUPTS = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
"""Ctrl-C reaches all processes of a terminal; whoever started the workers ends them."""

_LARGE = "10GB"
"""A hasher is sent once and may be large: no reason to warn."""


@contextmanager
def connected(
    scheduler: str | None = None, *, workers: int = 2, patience: float = _PATIENCE
) -> Iterator[Client]:
    """A client of a cluster; of one on this machine where no address is given.

    Parameters
    ----------
    scheduler : str, optional
        The address of a Dask scheduler: ``tcp://host:8786``, or ``tls://host:8786``.
    workers : int
        Processes of a cluster on this machine, one thread each.
    patience : float
        Seconds until the scheduler must have answered, and one worker must be there.
    """
    if scheduler is None:
        if workers < 1:
            raise ParameterError(f"workers must be 1 or more, not {workers!r}")
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                preload=_IGNORE_INTERRUPTS,
                silence_logs=logging.CRITICAL,
            ) as local,
            Client(local) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=patience)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"{scheduler}: no Dask scheduler answers there within {patience:g} s "
            f"({error}): check the address, and that it runs"
        ) from error
    with client:
        await_workers(client, patience)
        yield client


def await_workers(client: Client, patience: float = _PATIENCE) -> list[str]:
    """The addresses of the workers, one for each of their threads, in a fixed order."""
    with told(client):
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            raise ClusterError(
                f"{address_of(client)}: the scheduler has no worker, {patience:g} s long: "
                "start one (dask worker ADDRESS)"
            ) from None
        threads = client.nthreads()
    return [address for address in sorted(threads) for _ in range(threads[address])]


def address_of(client: Client) -> str:
    """Where a client's scheduler is."""
    return str(client.scheduler.address if client.scheduler else "the scheduler")


@contextmanager
def told(client: Client) -> Iterator[None]:
    """Turn what a cluster raises when it is lost into a `ClusterError`."""
    try:
        yield
    except OmhashError:
        raise
    except KilledWorker as error:
        raise ClusterError(
            f"{address_of(client)}: several workers died one after the other at the same task: "
            "they may lack memory; their logs say more"
        ) from error
    except (FutureCancelledError, OSError) as error:
        raise ClusterError(
            f"{address_of(client)}: the scheduler was lost: start it again and repeat"
        ) from error


def sent(client: Client, value: Any) -> Future:
    """A value for all workers, which survives each of them."""
    # A task, unlike what is scattered, is done again where its result was lost.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": _LARGE}):
        return client.submit(_same, value, pure=False)


def in_order(
    client: Client, function: Callable[..., T], parts: Iterable[Any], *given: Any
) -> Iterator[T]:
    """What a function gives for each part, computed by the workers a few parts ahead."""
    ahead = _AHEAD * len(await_workers(client)) + 1
    waiting: deque[Future] = deque()
    with told(client):
        for place, part in enumerate(parts):
            waiting.append(client.submit(_of_part, function, place, part, *given, pure=False))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _same(value: T) -> T:
    return value


def _of_part(function: Callable[..., T], place: int, part: Any, *given: Any) -> T:
    with naming(part, place):
        return function(part, *given)


@contextmanager
def naming(part: Any, place: int) -> Iterator[None]:
    """Say in an error which part it was."""
    name = str(part) if isinstance(part, Slice) else f"part {place} (counted from 0)"
    try:
        yield
    except OmhashError as error:
        raise type(error)(f"{name}: {error}") from None
    except Exception as error:
        raise ClusterError(f"{name}: {type(error).__name__}: {error}") from None
