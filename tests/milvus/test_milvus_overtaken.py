"""A writer that was taken for dead, and comes back in the middle of what it did."""

from contextlib import nullcontext

import pytest

import omhash
from omhash.errors import BusyError
from things import create, ingest, some


def test_it_deletes_no_code_that_another_needs_by_now(lite, monkeypatch):
    from omhash.store import files
    from omhash.store.milvus.engine import Engine

    path, delete = next(lite), Engine.delete
    views, _, keys, _ = some(1, 20)

    def deleted_late(engine, collection, expression):
        delete(engine, collection, expression)
        if collection.endswith("_items"):  # what follows are the codes that nobody has any more
            monkeypatch.undo()
            with monkeypatch.context() as meanwhile:
                meanwhile.setattr(files, "locked", lambda *_: nullcontext())
                ingest(other, 1)

    with create(path) as things, omhash.open(path) as other:
        ingest(things, 1, round_id="first")
        things.delete(keys)
        monkeypatch.setattr(Engine, "delete", deleted_late)
        with pytest.raises(BusyError, match="somebody else began to write"):
            things.compact()
    with omhash.open(path) as again:
        assert len(again) == 20
        assert {hit.key for hit in again.search(views, k=20)[0]} == set(keys)
