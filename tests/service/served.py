"""Services over real collections, for the tests of this folder."""

from omhash import Collection
from omhash.service import Limits

LIMITS = Limits(json_bytes=1 << 20, upload_bytes=4 << 20, items=1000, queries=20, k=50)


def rows(data, part):
    return {name: view[part] for name, view in data.views.items()}


def names(data, part):
    return [[data.categories[c] for c in row.nonzero()[0]] for row in data.labels[part]]


def fill(path, data, n=200):
    widths = {name: view.shape[1] for name, view in data.views.items()}
    with Collection.create(path, modalities=widths, n_bits=32) as things:
        part = slice(0, n)
        things.ingest(
            rows(data, part),
            names(data, part),
            keys=[f"thing {number}" for number in range(n)],
            payloads=[{"number": number} for number in range(n)],
            round_id="first",
        )
