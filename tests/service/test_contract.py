"""What the OpenAPI document promises, and what malformed bodies meet."""

import io
import json
import os
import random
import shutil
import struct
import zlib
from functools import cache

import pytest
from fastapi.testclient import TestClient
from PIL import Image
from served import LIMITS, fill, names, rows, running

import omhash
from omhash import Collection
from omhash.encoders import Suite
from omhash.rounds import to_parquet
from omhash.service import create_app

MALFORMED = int(os.environ.get("OMHASH_MALFORMED", "400"))
"""How many malformed bodies are sent; ten thousand take some minutes."""

PETS, THINGS = "/v1/collections/pets", "/v1/collections/things"
JSON = {"Content-Type": "application/json"}
PARQUET = {"Content-Type": "application/vnd.apache.parquet"}


def encoded(picture, kind="PNG"):
    file = io.BytesIO()
    picture.save(file, kind)
    return file.getvalue()


@cache
def bomb():
    """A picture of few bytes that takes 400 MB of memory."""
    return encoded(Image.new("1", (20_000, 20_000)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("contract")
    fill(folder / "things.omhash", data)
    suite = Suite.default()
    with Collection.create(folder / "pets.omhash", encoders=suite, n_bits=32) as pets:
        items = [
            {"image": encoded(Image.new("RGB", (8, 8), colour)), "text": colour}
            for colour in ("red", "blue", "green", "black")
        ]
        labels = [["warm"], ["cold"], ["cold"], []]
        pets.ingest(suite.encode(items), labels, keys=["a", "b", "c", "d"], round_id="first")
    return folder


@pytest.fixture(scope="module")
def app(folder):
    return create_app(folder, limits=LIMITS)


@pytest.fixture(scope="module")
def http(app):
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client


def test_the_document_is_kept(folder, tmp_path):
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    copied = shutil.copytree(folder, tmp_path / "copied")
    app = create_app(copied, limits=LIMITS)
    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]
    schema = schemathesis.openapi.from_dict(app.openapi())
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 15
    with running(app) as address:
        for operation in operations:
            # An answer without an end, and a body that schemathesis cannot write.
            if operation.path.endswith(("/progress", "/parquet")):
                continue

            @settings(
                max_examples=12,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def check(case):
                if "name" in (case.path_parameters or {}):
                    case.path_parameters["name"] = "things"
                case.call_and_validate(base_url=address, checks=checks)

            check()


class Malformed:
    """Bodies that cannot be right, of every kind, drawn from a seed."""

    def __init__(self, seed, data):
        self.random = random.Random(seed)  # noqa: S311 - not for secrets
        part = slice(0, 3)
        self.parquet = to_parquet(rows(data, part), names(data, part), keys=["x", "y", "z"])
        self.picture = encoded(Image.new("RGB", (9, 9), "red"))

    def draw(self):
        kind = self.random.choice(
            (self.search, self.upload, self.raw_search, self.raw_round, self.parquets, self.names)
        )
        return kind()

    def value(self, depth=0):
        draw = self.random
        simple = [
            None,
            True,
            -1,
            10**400,
            -(10**30),
            1e308,
            float("nan"),
            float("inf"),
            "",
            "\0",
            "x" * 9,
            "../../etc/passwd",
            "\ud800",
            "thing 1",
            [],
            {},
            [[]],
            {"$gt": ""},
        ]
        if depth > 3 or draw.random() < 0.6:
            return draw.choice(simple)
        if draw.random() < 0.5:
            return [self.value(depth + 1) for _ in range(draw.randrange(4))]
        return {str(self.value(depth + 1)): self.value(depth + 1) for _ in range(draw.randrange(3))}

    def dumped(self, body):
        text = json.dumps(body)
        if self.random.random() < 0.2:
            text = text[: self.random.randrange(1, max(2, len(text)))]
        if self.random.random() < 0.1:
            text = "[" * 100_000
        return text.encode() + (b"\xff\xfe" if self.random.random() < 0.05 else b"")

    def search(self):
        names = ("views", "key", "k", "where", "rank", "detail", "emphasis", "more")
        body = {name: self.value() for name in names if self.random.random() < 0.5}
        body["wrong"] = self.value()
        return f"{THINGS}/search", {"content": self.dumped(body), "headers": JSON}

    def upload(self):
        names = ("views", "keys", "labels", "payloads", "round_id")
        body = {name: self.value() for name in names if self.random.random() < 0.7}
        if self.random.random() < 0.5:
            body["views"] = {"image": [[self.value(9)] * 24, [1e300] * 24]}
            body["keys"] = ["new", "newer", "newest"]
        return f"{THINGS}/rounds", {"content": self.dumped(body), "headers": JSON}

    def broken_picture(self):
        whole = bytearray(self.picture)
        choice = self.random.randrange(5)
        if choice == 0:
            return bomb()
        if choice == 1:
            return bytes(whole[: self.random.randrange(30)])
        if choice == 2:  # a header that promises far more than there is
            size = struct.pack(">II", 2**31 - 1, 2**31 - 1) + bytes(whole[24:29])
            head = b"IHDR" + size
            return (
                bytes(whole[:12]) + head + struct.pack(">I", zlib.crc32(head)) + bytes(whole[33:])
            )
        if choice == 3:
            return b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
        return self.random.randbytes(200)

    def raw_search(self):
        files = {"picture": ("../../x.png", self.broken_picture(), "image/png")}
        asked = self.random.choice(({}, {"k": 5}, {"text": "red"}, self.value()))
        return f"{PETS}/search/raw", {"data": {"query": json.dumps(asked)}, "files": files}

    def raw_round(self):
        name = self.random.choice(("../x", "/etc/passwd", "a\\b", "x.png", "..", "%00"))
        told = {"items": [{"key": "new", "picture": name, "categories": ["warm"]}]}
        files = [("pictures", (name, self.broken_picture(), "image/png"))]
        if self.random.random() < 0.5:
            told["items"][0]["picture"] = self.value(9) or "missing"
        request = TestClient(lambda *_: None).build_request(
            "POST", "http://127.0.0.1/", data={"round": json.dumps(told)}, files=files
        )
        content = request.read()
        cut = self.random.randrange(len(content)) if self.random.random() < 0.5 else None
        kind = {"Content-Type": request.headers["Content-Type"]}
        return f"{PETS}/rounds/raw", {"content": content[:cut], "headers": kind}

    def parquets(self):
        content = bytearray(self.parquet)
        if self.random.random() < 0.3:
            content = content[: self.random.randrange(len(content))]
        else:
            for _ in range(self.random.randrange(1, 40)):
                content[self.random.randrange(len(content))] = self.random.randrange(256)
        path = f"{THINGS}/rounds/parquet?round_id=malformed"
        return path, {"content": bytes(content), "headers": PARQUET}

    def names(self):
        name = self.random.choice(("../up", "/etc", "a b", "", ".", "x" * 65, "é", "a/b", 5, None))
        body = {"name": name, "modalities": {"image": self.random.choice((2, 0, -1, 10**9))}}
        return "/v1/collections", {"content": self.dumped(body), "headers": JSON}


def test_malformed_bodies_are_refused_and_nothing_is_stored(http, folder, data):
    malformed = Malformed(0, data)
    before = {path.name for path in folder.iterdir()}
    counts = {}
    for number in range(MALFORMED):
        path, request = malformed.draw()
        answer = http.post(path, **request)
        told = f"body {number} to {path}: {answer.status_code} {answer.text[:300]}"
        stored = "rounds" in path and answer.status_code == 200
        if stored and "parquet" in path:  # bytes changed where nobody looks
            assert answer.json()["items"] == 3, told
            counts["unharmed"] = counts.get("unharmed", 0) + 1
            http.post(f"{THINGS}/delete", json={"keys": ["x", "y", "z"]})
            continue
        if path.endswith("search/raw") and answer.status_code == 200:
            pytest.fail(told)
        assert 400 <= answer.status_code < 500, told
        assert set(answer.json()["error"]) == {"kind", "message"}, told
        counts[path] = counts.get(path, 0) + 1
    assert http.get("/livez").status_code == 200
    assert {path.name for path in folder.iterdir()} == before
    for name, n in (("things", 200), ("pets", 4)):
        with omhash.open(folder / f"{name}.omhash") as stored:
            assert stored.check() == []
            assert len(stored) == n


def test_a_small_parquet_file_cannot_take_all_memory(http, data):
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = LIMITS.items
    long = "x" * 3_000_000  # one text in the file, as often as there are items in memory
    table = pa.table(
        {
            "key": [f"{number}" for number in range(n)],
            "payload": [json.dumps({"long": long})] * n,
            "image": pa.FixedSizeListArray.from_arrays(pa.array([0.0] * 24 * n), 24),
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content = bytes(sink.getvalue())
    assert len(content) < 1 << 20
    answer = http.post(f"{THINGS}/rounds/parquet", content=content, headers=PARQUET)
    assert answer.status_code == 422
    assert "send it in parts" in answer.text
