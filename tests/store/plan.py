"""A sequence of operations that two processes know without telling each other."""

import numpy as np

from things import WIDTHS, some

N_ITEMS = 6
KINDS = ("ingest", "ingest", "ingest", "upsert", "delete", "forget", "backup", "compact")


class Plan:
    """Operations one after the other, and what there should be after each.

    Attributes
    ----------
    items : dict of key to (seed, place)
        Where an item's views, labels and payload come from: a place in `some(seed, N_ITEMS)`.
    """

    def __init__(self):
        self.items = {}
        self.number = 0

    def next(self):
        """The next operation, which is taken to be done."""
        self.number += 1
        rng = np.random.default_rng(self.number)
        kind = str(rng.choice(KINDS)) if len(self.items) > N_ITEMS else "ingest"
        keys = [str(key) for key in rng.permutation(sorted(self.items))[:N_ITEMS]]
        if kind == "ingest":
            keys = [f"item {self.number}-{place}" for place in range(N_ITEMS)]
        elif kind in ("delete", "forget"):
            keys = keys[: int(rng.integers(1, N_ITEMS))]
        places = [self.items[key] for key in keys if key in self.items]
        if kind in ("ingest", "upsert"):
            self.items |= {key: (self.number, place) for place, key in enumerate(keys)}
        elif kind in ("delete", "forget"):
            self.items = {key: at for key, at in self.items.items() if key not in keys}
        return {"kind": kind, "number": self.number, "keys": keys, "places": places}

    def contents(self):
        """Key -> categories and payload."""
        told = {}
        for key, (seed, place) in self.items.items():
            _, labels, _, payloads = some(seed, N_ITEMS)
            told[key] = (set(labels[place]), payloads[place])
        return told


def contents(collection):
    """What `Plan.contents` tells, of a collection."""
    return {item.key: (set(item.categories), item.payload) for item in collection.items()}


def perform(collection, operation, folder):
    """Do an operation; one that was done already may be done again."""
    kind, number, keys = operation["kind"], operation["number"], operation["keys"]
    if kind in ("ingest", "upsert"):
        views, labels, _, payloads = some(number, N_ITEMS)
        round_id = f"operation {number}"
        collection.ingest(views, labels, keys=keys, payloads=payloads, round_id=round_id)
    elif kind == "delete":
        collection.delete(keys)
    elif kind == "forget":
        made = [(some(seed, N_ITEMS)[0], place) for seed, place in operation["places"]]
        views = {name: np.array([all_[name][place] for all_, place in made]) for name in WIDTHS}
        collection.forget(keys, views)
    elif kind == "backup":
        if not (folder / f"backup {number}").exists():
            collection.backup(folder / f"backup {number}")
    elif kind == "compact":
        collection.compact()
