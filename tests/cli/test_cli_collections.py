"""Search, and everything that is done to a collection as a whole."""

import json
import os
import re
import shutil
import tracemalloc
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import child, filled_folder, made_flowers, omhash, told, write_jsonl  # noqa: F401 - pytest finds fixtures by name

import omhash as library

FEW = 40


@pytest.fixture(scope="module")
def made(tmp_path_factory, flowers):
    """A collection of forty items, to be copied."""
    folder = tmp_path_factory.mktemp("made")
    write_jsonl(folder / "roses.jsonl", flowers, range(FEW), key="rose {}")
    told("ingest", folder / "roses", folder / "roses.jsonl", "--create", "--bits", 32)
    return folder / "roses"


@pytest.fixture
def roses(made, folder):
    shutil.copytree(made, "roses")
    return "roses"


def first(flowers, n, modalities=("image", "text")):
    return {name: flowers.views[name][:n] for name in modalities}


def as_told(hits):
    """Hits, as JSON gives them back."""
    return json.loads(json.dumps([asdict(hit) for hit in hits]))


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["-k", 3], {"k": 3}),
        (["-k", 100], {"k": 100}),
        (["--rank", "hamming"], {"rank": "hamming"}),
        (["--detail", 0.3], {"detail": 0.3}),
        (["--where", '{"price": {"<": 9}}', "-k", 4], {"where": {"price": {"<": 9}}, "k": 4}),
        (["--where", '{"categories": "category 1"}'], {"where": {"categories": "category 1"}}),
    ],
)
def test_search_finds_what_the_library_finds(arguments, options, roses, flowers):
    with library.open(roses) as collection:
        expected = collection.search(first(flowers, 3), **options)
        alike = collection.search(key="rose 7", **options)
    found = told("search", roses, "queries.jsonl", *arguments)
    assert [one["query"] for one in found] == [f"queries {row}" for row in range(3)]
    assert [one["hits"] for one in found] == [as_told(hits) for hits in expected]
    given = Path("queries.jsonl").read_bytes()
    piped = told("search", roses, "-", *arguments, given=given)
    assert [one["hits"] for one in piped] == [one["hits"] for one in found]
    (found,) = told("search", roses, "--key", "rose 7", *arguments)
    assert found == {"query": "rose 7", "hits": as_told(alike[0])}


def test_queries_that_lack_a_modality(roses, flowers):
    write_jsonl("words.jsonl", flowers, range(3))
    lines = [json.loads(line) for line in Path("words.jsonl").read_text().splitlines()]
    for line in lines:
        del line["views"]["image"]
    Path("words.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with library.open(roses) as collection:
        expected = collection.search(first(flowers, 3, ["text"]))
    found = told("search", roses, "words.jsonl")
    assert [one["hits"] for one in found] == [as_told(hits) for hits in expected]


def test_the_table_of_hits(roses):
    header, *lines = omhash("search", roses, "--key", "rose 7", "-k", 4).stdout.splitlines()
    assert header.split() == [
        *("query", "rank", "score", "distance", "key", "categories", "payload")
    ]
    (found,) = told("search", roses, "--key", "rose 7", "-k", 4)
    for place, (line, hit) in enumerate(zip(lines, found["hits"], strict=True), 1):
        assert re.match(rf"rose 7 +{place} +{round(hit['score'], 4)} +{hit['distance']}  ", line)
        assert f"  {hit['key']}  " in line
        assert line.endswith(json.dumps(hit["payload"]))


def test_what_a_terminal_would_obey_is_shown_as_text(roses, flowers):
    item = {"key": "\x1b[31mred\nline", "views": {"text": flowers.views["text"][0].tolist()}}
    told("ingest", roses, "-", given=json.dumps(item))
    shown = omhash("search", roses, "queries.jsonl", "-k", 100).stdout
    assert "\x1b" not in shown
    assert r"\x1b[31mred\nline" in shown
    assert len(shown.splitlines()) == 1 + 3 * (FEW + 1)


def test_create_and_status():
    said = told(
        *("create", "things", "--modality", "image=5", "--modality", "a=b=7"),
        *("--bits", 16, "--sketch-bits", 0, "--seed", 3),
    )
    with library.open("things") as collection:
        assert said == json.loads(json.dumps(collection.status()))
    assert said["modalities"] == {"image": 5, "a=b": 7}
    assert (said["n_bits"], said["sketch_bits"], said["items"]) == (16, {}, 0)
    shown = omhash("status", "things").stdout
    assert re.search(r"^n bits +16$", shown, re.M)
    assert re.search(r"^modalities +image 5, a=b 7$", shown, re.M)
    assert told("search", "things", "-", given='{"views": {"image": [1, 2, 3, 4, 5]}}') == [
        {"query": "stdin 0", "hits": []}
    ]


def test_delete(roses):
    assert told("delete", roses, "rose 3", "none", "rose 4") == {"deleted": 2, "not_there": 1}
    keys = "rose 5\r\nrose 6\n\nnone\n"
    assert told("delete", roses, "-", given=keys) == {"deleted": 2, "not_there": 1}
    with library.open(roses) as collection:
        assert [item.key for item in collection.items()] == [
            f"rose {row}" for row in range(FEW) if row not in (3, 4, 5, 6)
        ]


def test_forget_is_the_librarys(roses, flowers, made):
    some = [3, 17, 30]
    shutil.copytree(made, "other")
    with library.open("other") as collection:
        views = {name: view[some] for name, view in flowers.views.items()}
        collection.forget([f"rose {row}" for row in some], views)
    keys = [word for row in some for word in ("--key", f"rose {row}")]
    file = "flowers.jsonl"  # holds two hundred
    said = told("forget", roses, file, *keys, "--key", "none")
    assert said == {"forgotten": 3, "not_there": ["none"], "purged": True}
    with library.open(roses) as one, library.open("other") as other:
        assert one.search(first(flowers, 9)) == other.search(first(flowers, 9))
        assert len(one) == FEW - 3
    write_jsonl("leave.jsonl", flowers, [2, 3], key="rose {}")
    said = told("forget", roses, "leave.jsonl")
    assert (said["forgotten"], said["not_there"]) == (1, ["rose 3"])


def test_a_backup_is_the_collection(roses):
    assert told("backup", roses, "copy") == {"collection": roses, "backup": "copy"}
    told("delete", roses, "rose 1")
    said = told("restore", "copy", "again")
    assert (said["items"], said["path"]) == (FEW, "again")
    assert told("search", "again", "--key", "rose 0", "-k", 50)[0]["hits"][0]["key"]
    assert told("status", roses)["items"] == FEW - 1
    said = told("compact", roses)
    assert said["complete"]
    assert said["bytes_after"] <= said["bytes_before"]


def test_check_tells_what_is_damaged_and_repair_mends_what_it_can(roses):
    assert omhash("check", roses).stdout == "whole\n"
    mark = Path(roses, "generation")
    mark.write_text("no number")
    result = omhash("check", roses)
    assert (result.exit_code, result.stderr) == (1, "")
    assert re.fullmatch(r"problem: roses/generation: .*\ndamaged\n", result.stdout)
    result = omhash("check", roses, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["whole"] is False
    said = told("check", roses, "--repair")
    assert (said["whole"], said["problems"], len(said["repaired"])) == (True, [], 1)
    assert told("check", roses) == {"whole": True, "problems": [], "repaired": []}
    (state,) = Path(roses).glob("state-*")
    content = bytearray(state.read_bytes())
    content[len(content) // 2] ^= 1
    state.write_bytes(content)
    for more in ([], ["--repair"]):
        result = omhash("check", roses, *more)
        assert result.exit_code == 1
        assert state.name in result.stdout


@pytest.mark.parametrize("file", ["-", "out.jsonl", "out.parquet"])
def test_export(file, roses):
    with library.open(roses) as collection:
        expected = [
            (item.key, list(item.categories), item.payload, item.code.tobytes())
            for item in collection.items()
        ]
    if file == "-":
        lines = omhash("export", roses).stdout.splitlines()
    else:
        Path(file).write_text("what was there")
        assert told("export", roses, file) == {"file": file, "items": FEW}
        lines = Path(file).read_text().splitlines() if file.endswith("jsonl") else []
    rows = [json.loads(line) for line in lines]
    for row in rows:
        row["code"] = bytes.fromhex(row["code"])
    if file == "out.parquet":
        rows = pq.read_table(file).to_pylist()
        for row in rows:
            row["payload"] = json.loads(row["payload"])
    assert [(row["key"], row["categories"], row["payload"], row["code"]) for row in rows] == (
        expected
    )
    assert not Path(f"{file}.new").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["status", "absent"], 1, "absent: there is no collection here"),
        (["check", "absent"], 1, "absent: there is no collection here"),
        (["delete", "absent", "a"], 1, "absent: there is no collection here"),
        (["create", "roses", "--modality", "image=3"], 1, "roses: "),
        (["create", "new"], 2, "name at least one"),
        (["create", "new", "--modality", "image"], 2, "like image=1280, not 'image'"),
        (["create", "new", "--modality", "image=²"], 2, "like image=1280"),
        (["create", "new", "--modality", "image=3", "--bits", 7], 2, "multiple of 8"),
        (["create", "new", "--modality", "image=3", "--sketch-bits", 7], 2, "multiple of 8"),
        (["search", "roses"], 2, "a file of queries or --key"),
        (["search", "roses", "queries.jsonl", "--key", "rose 1"], 2, "a file of queries or --key"),
        (["search", "roses", "--key", "none"], 1, "no item with the key 'none'"),
        (["search", "roses", "absent.jsonl"], 1, "absent.jsonl: there is no such file"),
        (["search", "roses", "--key", "rose 1", "--where", "{"], 2, "--where: is not JSON"),
        (["search", "roses", "--key", "rose 1", "--where", "[]"], 2, "--where: write an object"),
        (["search", "roses", "--key", "rose 1", "--where", '{"size": 1}'], 1, "field 'size'"),
        (["search", "roses", "--key", "rose 1", "--rank", "best"], 2, "rank must be"),
        (["forget", "roses", "absent.npz"], 1, "absent.npz: there is no such file"),
        (["backup", "roses", "roses"], 1, "roses: is there already"),
        (["restore", "absent", "new"], 1, "absent: there is no collection here"),
        (["export", "roses", "roses.csv"], 2, "must end in .jsonl or .parquet"),
        (["export", "roses", "absent/roses.jsonl"], 1, "absent/roses.jsonl"),
        (["export", "roses", "absent/roses.parquet"], 1, "absent/roses.parquet"),
    ],
)
def test_what_is_wrong_is_one_line_on_stderr(arguments, code, words, roses):
    for more in ([], ["--json"]):
        result = omhash(*arguments, *more)
        (line,) = result.stderr.splitlines()
        assert line.startswith("omhash: error: ")
        assert words in line
        assert (result.exit_code, result.stdout) == (code, "")
    assert not Path("new").exists()
    assert told("check", roses)["whole"]


def test_a_closed_pipe_is_left_quietly(roses):
    reading, writing = os.pipe()
    os.close(reading)
    process = child("export", roses, stdout=writing)
    os.close(writing)
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (1, b"")


def test_memory_of_an_ingest_does_not_grow_with_the_file():
    told("create", "things", "--modality", "image=100", "--bits", 8, "--sketch-bits", 0)
    peaks = []
    for times in (10, 1, 10):  # the first run also pays for what is imported
        rows = np.random.default_rng(times).standard_normal((100 * times, 100)).round(2)
        lines = (json.dumps({"views": {"image": row.tolist()}}) for row in rows)
        Path(f"{len(peaks)}.jsonl").write_text("\n".join(lines))
        del rows
        tracemalloc.start()
        told("ingest", "things", f"{len(peaks)}.jsonl", "--round-size", 50)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.5 * peaks[1]
