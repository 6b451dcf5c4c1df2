"""Ingest: files of every form and any size, interrupted and taken up again."""

import json
import os
import pty
import re
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import (  # noqa: F401 - pytest finds fixtures by name
    child,
    filled_folder,
    jsonl_item,
    made_flowers,
    omhash,
    stored_rounds,
    told,
    write_jsonl,
)

import omhash as library
from omhash import Collection, datasets


def items_of(path):
    """All that a collection holds, in order."""
    with library.open(path) as collection:
        return [
            (item.key, item.categories, item.payload, item.code.tobytes())
            for item in collection.items()
        ]


def ingested(path, data, ends, *, n_bits=64, key="flowers {}", payloads=False):
    """The same by the library: rounds of the rows up to each end."""
    widths = {name: view.shape[1] for name, view in data.views.items()}
    with Collection.create(path, modalities=widths, n_bits=n_bits) as collection:
        for start, stop in zip([0, *ends], ends, strict=False):
            collection.ingest(
                {name: view[start:stop] for name, view in data.views.items()},
                data.labels[start:stop],
                categories=data.categories,
                keys=[key.format(row) for row in range(start, stop)],
                payloads=[{"price": row} for row in range(start, stop)] if payloads else None,
            )
    return items_of(path)


def write_parquet(data):
    columns = {name: list(view) for name, view in data.views.items()}
    rows = [jsonl_item(data, row) for row in range(len(data))]
    columns |= {
        "categories": [row["categories"] for row in rows],
        "price": [row["payload"]["price"] for row in rows],
    }
    pq.write_table(pa.table(columns), "flowers.parquet", row_group_size=70)


def test_a_file_is_the_same_as_its_rounds_by_the_library(flowers):
    expected = ingested("library", flowers, [100, 200, 240], n_bits=32)
    said = told("ingest", "a", "flowers.npz", "--create", "--round-size", 100, "--bits", 32)
    assert items_of("a") == expected
    assert {name: said[name] for name in ("items", "rounds", "labelled", "replaced")} == {
        "items": 240,
        "rounds": 3,
        "labelled": 240,
        "replaced": 0,
    }
    assert sorted(said["new_categories"]) == sorted(flowers.categories)
    assert (said["rounds_stored_before"], said["resumed_at_round"]) == (0, None)


@pytest.mark.parametrize("file", ["flowers.jsonl", "flowers.parquet", "-"])
def test_rows_with_payloads_in_every_form(file, flowers):
    write_jsonl("flowers.jsonl", flowers, range(240))
    write_parquet(flowers)
    given = Path("flowers.jsonl").read_bytes() if file == "-" else None
    key = "stdin {}" if file == "-" else "flowers {}"
    expected = ingested("library", flowers, [90, 180, 240], key=key, payloads=True)
    told("ingest", "a", file, "--create", "--round-size", 90, given=given)
    assert items_of("a") == expected


def test_matlab_files(flowers):
    scipy_io = pytest.importorskip("scipy.io")
    names = np.empty(8, dtype=object)
    names[:] = flowers.categories
    variables = {**flowers.views, "labels": flowers.labels, "category_names": names}
    scipy_io.savemat("flowers.mat", variables)
    told("ingest", "a", "flowers.mat", "--create", "--round-size", 100)
    assert items_of("a") == ingested("library", flowers, [100, 200, 240])


def test_a_collection_without_labels_and_modalities_that_come_later(flowers):
    lines = [
        json.dumps({"views": {name: flowers.views[name][row].tolist()}})
        for row in range(60)
        for name in (["image"] if row < 30 else ["text"])
    ]
    Path("a.jsonl").write_text("\n".join(lines))
    said = told(
        *("ingest", "a", "a.jsonl", "--create", "--modality", "text=64", "--round-size", 30)
    )
    assert (said["labelled"], said["new_categories"]) == (0, [])
    assert told("status", "a")["modalities"] == {"text": 64, "image": 32}
    assert [item[0] for item in items_of("a")] == [f"a {row}" for row in range(60)]


def test_sparse_rows_need_their_width_once(flowers):
    lines = [
        json.dumps({"views": {"text": {"indices": [row % 7], "values": [1]}}}) for row in range(40)
    ]
    Path("a.jsonl").write_text("\n".join(lines))
    result = omhash("ingest", "a", "a.jsonl", "--create")
    assert result.exit_code == 2
    assert "add --modality text=WIDTH" in result.stderr
    assert not Path("a").exists()
    told("ingest", "a", "a.jsonl", "--create", "--modality", "text=50", "--round-size", 9)
    assert told("status", "a")["modalities"] == {"text": 50}
    assert told("status", "a")["items"] == 40
    # A line that a wider view would need.
    wide = json.dumps({"views": {"text": {"indices": [50], "values": [1]}}})
    result = omhash("ingest", "a", "-", given=wide)
    assert result.exit_code == 1
    assert "column 50" in result.stderr


def test_a_second_run_does_nothing(flowers):
    command = ("ingest", "a", "flowers.npz", "--create", "--round-size", 50)
    told(*command)
    before = items_of("a"), told("status", "a")
    said = told(*command)
    assert (items_of("a"), told("status", "a")) == before
    assert (said["items"], said["rounds_stored_before"]) == (0, 5)


def test_a_file_that_grew_goes_on_after_its_full_rounds(flowers):
    write_jsonl("grows.jsonl", flowers, range(110))
    told("ingest", "a", "grows.jsonl", "--create", "--round-size", 50)
    write_jsonl("grows.jsonl", flowers, range(200))
    said = told("ingest", "a", "grows.jsonl", "--round-size", 50)
    assert (said["rounds_stored_before"], said["resumed_at_round"]) == (2, 3)
    assert (said["items"], said["replaced"]) == (100, 10)
    assert len(items_of("a")) == 200


def test_new_categories_in_a_later_round(flowers):
    first = [row for row in range(240) if not flowers.labels[row, 4:].any()][:30]
    last = [row for row in range(240) if flowers.labels[row, 4:].any()][:30]
    write_jsonl("a.jsonl", flowers, [*first, *last])
    told("ingest", "a", "a.jsonl", "--create", "--round-size", 30)
    with library.open("a") as collection:
        one, two = collection.rounds()
    assert set(one.new_categories) <= set(flowers.categories[:4])
    columns = np.flatnonzero(flowers.labels[last].any(axis=0))
    there = {flowers.categories[column] for column in columns}
    assert set(two.new_categories) == there - set(one.new_categories)


def test_a_file_cut_in_the_middle_keeps_the_rounds_before_and_goes_on(flowers):
    write_jsonl("whole.jsonl", flowers, range(200))
    expected = told("ingest", "whole", "whole.jsonl", "--create", "--round-size", 40)
    content = Path("whole.jsonl").read_bytes()
    shutil.copytree("whole", "other")
    Path("folder").mkdir()
    cut = Path("folder/whole.jsonl")
    cut.write_bytes(content[: len(content) // 2])
    result = omhash("ingest", "a", cut, "--create", "--round-size", 40)
    (line,) = result.stderr.splitlines()
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.match(
        r"omhash: error: .*whole\.jsonl, line 10\d: is not JSON .* The first 80 items of "
        r".*whole\.jsonl are stored: the same command goes on after them$",
        line,
    )
    assert items_of("a") == items_of("whole")[:80]
    cut.write_bytes(content)
    said = told("ingest", "a", cut, "--create", "--round-size", 40)
    assert (said["resumed_at_round"], said["rounds"]) == (3, expected["rounds"] - 2)
    assert items_of("a") == items_of("whole")


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_and_run_again_it_is_as_if_never_interrupted(by, flowers):
    command = ("ingest", "a", "flowers.npz", "--create", "--round-size", "4")
    process = child(*command)
    try:
        deadline = time.monotonic() + 120
        while stored_rounds("a") < 3 and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(by)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    rounds = told("status", "a")["rounds"]
    assert 3 <= rounds < 60
    assert told("check", "a") == {"whole": True, "problems": [], "repaired": []}
    if by == signal.SIGINT:
        assert process.returncode == 130
        assert stdout == b""
        assert re.fullmatch(
            rb"omhash: interrupted: The first \d+ items of flowers\.npz are stored: the same "
            rb"command goes on after them\n",
            stderr,
        )
    said = told(*command)
    assert (said["resumed_at_round"], said["rounds_stored_before"]) == (rounds + 1, rounds)
    told("ingest", "whole", *command[2:])
    assert items_of("a") == items_of("whole")
    views = {name: view[:20] for name, view in flowers.views.items()}
    with library.open("a") as one, library.open("whole") as other:
        assert one.search(views) == other.search(views)


def test_a_terminal_sees_a_bar(flowers):
    terminal, errors = pty.openpty()
    process = child("ingest", "a", "flowers.npz", "--create", "--round-size", "60", stderr=errors)
    os.close(errors)
    seen = b""
    try:
        while True:
            try:
                seen += os.read(terminal, 1000)
            except OSError:  # the other end is closed
                break
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert process.returncode == 0
    assert b"240 items" in seen


def bad_files(flowers):
    told("create", "things", "--modality", "image=32", "--modality", "text=64")
    Path("empty.jsonl").write_text("\n\n")
    Path("cut.npz").write_bytes(Path("flowers.npz").read_bytes()[:5000])
    item = jsonl_item(flowers, 0)
    item["views"]["image"].append(1.0)
    Path("wide.jsonl").write_text(json.dumps(item))
    item["views"]["image"][-2:] = [None]
    Path("null.jsonl").write_text(json.dumps(item))
    twice = [jsonl_item(flowers, row, key="twice") for row in range(2)]
    Path("twice.jsonl").write_text("\n".join(map(json.dumps, twice)))
    Path("words.txt").write_text("rose")
    nan = {name: view.copy() for name, view in flowers.views.items()}
    nan["image"][150, 3] = np.nan
    datasets.write_npz(
        datasets.LabelledData("nan", nan, flowers.labels, flowers.categories), "nan.npz"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["absent", "flowers.npz"], 1, "absent: there is no collection here"),
        (["flowers.npz", "flowers.npz"], 1, r"flowers\.npz: is a file, not a collection"),
        (["things", "absent.npz"], 1, r"absent\.npz: there is no such file"),
        (["things", "absent.jsonl"], 1, r"absent\.jsonl: there is no such file"),
        (["things", "."], 1, "holds neither"),
        (["things", "words.txt"], 1, "suffix must be one of"),
        (["things", "cut.npz"], 1, "truncated, corrupt"),
        (["things", "empty.jsonl"], 1, r"empty\.jsonl: holds no items"),
        (["new", "empty.jsonl", "--create"], 1, r"empty\.jsonl: holds no items"),
        (["things", "wide.jsonl"], 1, r"wide\.jsonl, items 0 to 0: .*33 columns"),
        (["things", "null.jsonl"], 1, r"null\.jsonl, line 1.*'image'"),
        (["things", "twice.jsonl"], 1, "'twice' is there twice"),
        (["things", "nan.npz"], 1, r"nan\.npz, items 0 to 239: .*row 150"),
        (["things", "flowers.npz", "--bits", "32"], 2, "only with --create"),
        (["things", "flowers.npz", "--create", "--bits", "32"], 2, "there already, with 64 bits"),
        (["things", "flowers.npz", "--create", "--modality", "text=3"], 2, "text=64"),
        (["new", "flowers.npz", "--create", "--bits", "12"], 2, "multiple of 8"),
        (["new", "flowers.npz", "--create", "--modality", "text"], 2, "like image=1280"),
        (["new", "flowers.npz", "--create", "--modality", "text=0"], 2, "like image=1280"),
    ],
)
def test_what_is_wrong_is_one_line_on_stderr_and_changes_nothing(arguments, code, words, flowers):
    bad_files(flowers)
    for more in ([], ["--json"]):
        result = omhash("ingest", *arguments, *more)
        (line,) = result.stderr.splitlines()
        assert re.match(f"omhash: error: .*{words}", line)
        assert (result.exit_code, result.stdout) == (code, "")
    assert told("status", "things")["items"] == 0
    assert not Path("new").exists()


def test_a_round_that_is_wrong_in_the_middle_is_told_with_its_place(flowers):
    bad_files(flowers)
    result = omhash("ingest", "things", "nan.npz", "--round-size", 100)
    (line,) = result.stderr.splitlines()
    assert re.search(r"items 100 to 199: .*row 50: .*The first 100 items of nan\.npz", line)
    assert told("status", "things")["items"] == 100


def test_measured_rounds_are_kept_for_the_page(flowers):
    said = told("ingest", "a", "flowers.npz", "--create", "--round-size", 80, "--measure")
    kept = [json.loads(line) for line in Path("a/measures.jsonl").read_text().splitlines()]
    last = slice(160, 240)
    with library.open("a") as collection:
        assert [one["round"] for one in kept] == [report.id for report in collection.rounds()]
        expected = collection.measure(
            {name: view[last] for name, view in flowers.views.items()},
            flowers.labels[last],
            categories=flowers.categories,
            keys=[f"flowers {row}" for row in range(last.start, last.stop)],
        )
    assert kept[0]["before"] is None
    assert kept[2]["after"] == said["map_of_last_round_after"] == pytest.approx(expected)
    assert kept[2]["before"] == said["map_of_last_round_before"]
