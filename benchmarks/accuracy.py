"""What each part of HCFW's default contributes to MAP, and the paper's settings beside it.

Run: ``python benchmarks/accuracy.py --data DATA.npz [--bits 32,64,96,128] [--seeds 3]``.
Prints one Markdown table a scenario: MAP of the last round by Hamming and by asymmetric
ranking, mean over seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from omhash import HCFW
from omhash.datasets import SCENARIOS, LabelledData, load
from omhash.evaluation import run
from omhash.semantics import Semantics, embedded, from_array

Make = Callable[[int, int], HCFW]


def settings(semantics: Semantics) -> dict[str, Make]:
    """From the paper's settings to the default, and the default with one part taken away."""
    paper: dict[str, object] = {
        "category_codes": "semantic",
        "semantics": semantics,
        "targets": "codes",
    }
    steps: dict[str, dict[str, object]] = {
        "published": {**paper, "weights": "published", "theta": 1.0, "delta": 1.0},
        "+ θ from the stream": {**paper, "weights": "published"},
        "+ precision weights": paper,
        "+ co-occurrence codes": {"targets": "codes"},
        "+ categories as targets (the default)": {},
        "default with equal weights": {"weights": "equal"},
        "default with the calibrated weights": {"weights": "calibrated"},
        "default with θ = 1": {"theta": 1.0},
        "default with the paper's codes": {"category_codes": "semantic", "semantics": semantics},
        "default with Hadamard codes": {"category_codes": "hadamard"},
    }

    def maker(options: dict[str, object]) -> Make:
        return lambda bits, seed: HCFW(bits, random_state=seed, **options)  # type: ignore[arg-type]

    return {name: maker(options) for name, options in steps.items()}


def table(data: LabelledData, scenario: str, lengths: list[int], n_seeds: int) -> None:
    """Print the table of one scenario."""
    semantics = (
        embedded()
        if data.category_vectors is None
        else from_array(data.categories, data.category_vectors)
    )
    streams = [SCENARIOS[scenario](data, seed=seed) for seed in range(n_seeds)]
    print(f"\n**{scenario}**\n\n| settings | " + " | ".join(f"{r} bits" for r in lengths) + " |")
    print("|---|" + "---|" * len(lengths))
    for name, make in settings(semantics).items():
        cells = []
        for bits in lengths:
            last = [run(make(bits, s), streams[s]).rounds[-1] for s in range(n_seeds)]
            hamming = np.mean([result.hamming["map"] for result in last])
            asymmetric = np.mean([result.asymmetric["map"] for result in last])
            cells.append(f"{hamming:.3f} / {asymmetric:.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="What each part of HCFW contributes to MAP.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--bits", default="32,64,96,128")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--scenarios", default="iid,overlap,non-overlap")
    wanted = parser.parse_args()
    data = load(wanted.data)
    for scenario in wanted.scenarios.split(","):
        table(data, scenario, [int(bits) for bits in wanted.bits.split(",")], wanted.seeds)


if __name__ == "__main__":
    main()
