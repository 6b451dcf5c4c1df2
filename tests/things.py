"""Small collections: items that anyone can make again from a seed, and all that is to be seen."""

import numpy as np

from omhash import HCFW, Collection

WIDTHS = {"image": 6, "text": 4}
N_BITS = 16
NAMES = ("ant", "bee", "cat", "dog")
CENTRES = np.random.default_rng(7).standard_normal((len(NAMES), 10)) * 2


def hasher():
    return HCFW(N_BITS, random_state=0, theta=1.0)


def create(path, **options):
    options = {"modalities": WIDTHS, "hasher": hasher(), "sketch_bits": 16, **options}
    return Collection.create(path, **options)


def some(seed, n, *, labelled=True):
    """Views, labels, keys and payloads of n items."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, len(NAMES), (n, 2))
    features = CENTRES[kinds[:, 0]] + rng.standard_normal((n, 10))
    views = {"image": features[:, :6], "text": features[:, 6:]}
    labels = [sorted({NAMES[kind] for kind in pair}) for pair in kinds] if labelled else [[]] * n
    keys = [f"key {seed}-{place}" for place in range(n)]
    payloads = [{"price": int(price)} for price in rng.integers(0, 9, n)]
    return views, labels, keys, payloads


def ingest(collection, seed, n=20, *, labelled=True, **options):
    views, labels, keys, payloads = some(seed, n, labelled=labelled)
    return collection.ingest(views, labels, **{"keys": keys, "payloads": payloads, **options})


def plain(hits):
    return [
        (hit.key, hit.score, hit.distance, hit.categories, sorted(hit.payload.items()))
        for hit in hits
    ]


def seen(collection):
    """All that can be seen of a collection: items, rounds, and what searches find."""
    queries, _, _, _ = some(1000, 3)
    asked = (
        {"rank": "hamming"},
        {"detail": 0.5},
        {"where": {"categories": {"none": ["dog"]}}},
        {"where": {"price": {"<": 5}}},
    )
    items = list(collection.items())
    fields = {name for item in items for name in item.payload}
    if any(item.categories for item in items):
        fields.add("categories")
    return {
        "items": [(item.key, item.categories, item.payload, item.code.tobytes()) for item in items],
        "rounds": collection.rounds(),
        "generation": collection.status()["generation"],
        "found": [
            [plain(hits) for hits in collection.search(queries, k=10_000, **options)]
            for options in asked
            if options.get("where", {}).keys() <= fields
        ],
    }
