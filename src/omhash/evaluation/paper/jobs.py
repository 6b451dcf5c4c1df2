"""One run of a method on a stream: what it is, how it is done, and what is kept of it."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections import deque
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ... import semantics
from ...datasets import SCENARIOS
from ...errors import ParameterError
from .. import protocol
from ..metrics import evaluate, mean
from ..report import without_nan
from . import data as laid_out
from .data import ReportData
from .files import write_whole
from .methods import Method

_FORM = 1
"""Of the files that runs are kept in: another number, and old ones are not used."""

CUTS = tuple(step * 10**power for power in range(7) for step in (1, 2, 5))
"""After how many items precision and recall are measured, as far as the database goes."""


@dataclass(frozen=True)
class Job:
    """A method with a number of bits on a stream with a seed."""

    data: str
    scenario: str
    method: Method
    n_bits: int
    seed: int

    def __str__(self) -> str:
        told = f"{self.method.name}, {self.n_bits} bits, seed {self.seed}"
        return f"{self.data}, {self.scenario}: {told}"

    def configuration(self, on: ReportData) -> dict[str, Any]:
        """All that decides what the run finds; what things are called is not among it."""
        vectors = self.method.vectors
        return {
            "form": _FORM,
            "data": self.data,
            "data_digest": on.digest,
            "scenario": self.scenario,
            "seed": self.seed,
            "n_bits": self.n_bits,
            "hasher": self.method.hasher,
            "options": dict(self.method.options),
            "vectors_digest": on.vector_digests[vectors] if vectors else None,
            "versions": versions(),
        }

    def digest(self, on: ReportData) -> str:
        """A name for the configuration."""
        text = json.dumps(self.configuration(on), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def versions() -> dict[str, str]:
    """What the numbers were made with."""
    packages = ("omhash", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def perform(job: Job, folder: Path, configuration: dict[str, Any]) -> dict[str, Any]:
    """Do a run on the data laid out in a folder, and tell everything about it."""
    data, vectors = laid_out.read(folder)
    stream = SCENARIOS[job.scenario](data, seed=job.seed)
    wanted = job.method.vectors
    source = semantics.from_array(data.categories, vectors[wanted]) if wanted else None
    hasher = job.method.made(job.n_bits, job.seed, source)
    # Only the last round's queries are looked at more closely.
    asked: deque[protocol.Asked] = deque(maxlen=1)
    start = time.process_time()
    run = protocol.run(hasher, stream, method=job.method.name, observe=asked.append)
    seconds = time.process_time() - start
    if not asked:
        raise ParameterError(f"{job}: no round has a query: the data have too few items")
    last = asked[0]
    parameters = {
        name: value for name, value in hasher.get_params(deep=False).items() if name != "semantics"
    }
    told = {
        "configuration": configuration,
        "parameters": parameters,
        "cpu_seconds": seconds,
        "rounds": [asdict(result) for result in run.rounds],
        "queries": last.queries.tolist(),
        "average_precision": {name: own["map"].tolist() for name, own in last.values.items()},
        "curve": {name: _curve(last, name) for name in last.rankings},
    }
    found: dict[str, Any] = without_nan(told)  # type: ignore[assignment]  # a dict stays one
    return found


def _curve(asked: protocol.Asked, name: str) -> dict[str, list[float]]:
    """Mean precision and recall over the queries, after so many items."""
    ranking = asked.rankings[name]
    cuts = [k for k in CUTS if k < ranking.n_items] + [ranking.n_items]
    metrics = [f"{kind}@{k}" for kind in ("precision", "recall") for k in cuts]
    measured = evaluate(ranking, asked.query_labels, asked.database_labels, metrics)
    return {
        "k": [float(k) for k in cuts],
        **{kind: [mean(measured[f"{kind}@{k}"]) for k in cuts] for kind in ("precision", "recall")},
    }


def kept(path: Path, configuration: dict[str, Any]) -> dict[str, Any] | None:
    """What an earlier run wrote, if it is whole and its configuration the same."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    # JSON knows no tuples: what was asked is compared in the form that was read.
    same = json.loads(json.dumps(configuration))
    return found if isinstance(found, dict) and found.get("configuration") == same else None


def keep(path: Path, found: dict[str, Any]) -> None:
    """Write a run whole or not at all."""
    write_whole(path, json.dumps(found, allow_nan=False))
