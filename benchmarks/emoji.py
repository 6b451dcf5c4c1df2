"""How well the bundled emoji are found by picture, by words, and by both.

    python benchmarks/emoji.py

Streams the emoji by group and then asks the held-out ones, every tenth. An item counts
where it has the query's group, or its subgroup. Cells: MAP by Hamming / asymmetric ranking.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from omhash import HCFW
from omhash.codes import pack
from omhash.datasets import LabelledData, Stream, emoji
from omhash.evaluation import AsymmetricRanking, HammingRanking, evaluate
from omhash.evaluation.metrics import mean

ASKED = {"picture alone": ["image"], "words alone": ["text"], "both": ["image", "text"]}


def columns(data: LabelledData) -> dict[str, list[int]]:
    """The columns of the labels that are groups, and those that are subgroups."""
    groups = [data.categories.index(this.group) for this in emoji.rounds()]
    others = [column for column in range(len(data.categories)) if column not in groups]
    return {"group": groups, "subgroup": others}


def measured(stream: Stream, bits: int, seed: int) -> dict[str, dict[str, tuple[float, float]]]:
    """MAP by what is asked, then by what counts: Hamming and asymmetric."""
    data = stream.data
    hasher, codes = HCFW(bits, random_state=seed), []
    for this in stream.rounds:
        views = {modality: view[this.train] for modality, view in data.views.items()}
        labels = data.labels[np.ix_(this.train, this.categories)]
        names = [data.categories[column] for column in this.categories]
        hasher.partial_fit(views, labels, categories=names)
        codes.append(hasher.item_codes(views, labels, categories=names))
    stored = np.concatenate(codes)
    there = np.concatenate([this.train for this in stream.rounds])
    asked = np.concatenate([this.queries for this in stream.rounds])
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for name, modalities in ASKED.items():
        values = hasher.project({modality: data.views[modality][asked] for modality in modalities})
        rankings = HammingRanking(pack(values), stored), AsymmetricRanking(values, stored)
        found[name] = {}
        for kind, chosen in columns(data).items():
            labels = data.labels[:, chosen]
            hamming, asymmetric = (
                mean(evaluate(ranking, labels[asked], labels[there])["map"]) for ranking in rankings
            )
            found[name][kind] = hamming, asymmetric
    return found


def table(stream: Stream, lengths: Sequence[int], n_seeds: int) -> None:
    """Print MAP, the mean over seeds."""
    heads = [f"{kind}, {bits} bits" for bits in lengths for kind in columns(stream.data)]
    print("| asked by | " + " | ".join(heads) + " |")
    print("|---|" + "---|" * len(heads))
    runs = {bits: [measured(stream, bits, s) for s in range(n_seeds)] for bits in lengths}
    for name in ASKED:
        cells = []
        for bits in lengths:
            for kind in columns(stream.data):
                hamming, asymmetric = np.mean([run[name][kind] for run in runs[bits]], axis=0)
                cells.append(f"{hamming:.3f} / {asymmetric:.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How well the bundled emoji are found.")
    parser.add_argument("--bits", default="64,128")
    parser.add_argument("--seeds", type=int, default=3)
    wanted = parser.parse_args()
    start = time.perf_counter()
    data = emoji.load()
    print(f"{len(data):,} emoji encoded in {time.perf_counter() - start:.0f} s\n", flush=True)
    table(emoji.stream(data), [int(bits) for bits in wanted.bits.split(",")], wanted.seeds)


if __name__ == "__main__":
    main()
