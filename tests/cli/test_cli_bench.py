import json
import os
import pty
import re
import signal
import sys
from pathlib import Path

import pytest
from commands import ROOT, child, filled_folder, made_flowers  # noqa: F401 - pytest finds fixtures by name
from commands import omhash as run

import omhash
from omhash import HCFW, datasets, evaluation, semantics
from omhash.hashers.named import METHODS

PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
MEASURED = ("hamming", "asymmetric")


def bench(*arguments):
    return run("bench", *arguments)


def small(*arguments):
    return bench("--data", "flowers.npz", "--bits", "16", "--seeds", "1", *arguments)


def accuracy(run):
    """All of a run but what a clock or the machine's memory decides."""
    told = {name: value for name, value in run.items() if name != "rounds"}
    rounds = [{name: result[name] for name in (*MEASURED, "n_train")} for result in run["rounds"]]
    return {**told, "rounds": rounds}


def as_read(runs):
    return [accuracy(run) for run in json.loads(evaluation.to_json(runs))]


def test_json_is_what_the_library_finds():
    result = bench(
        *("--data", "flowers.npz", "--scenario", "overlap", "--method", "hcfw,hcfw-published"),
        *("--bits", "16,32", "--seeds", "2", "--metric", "precision@5", "--json"),
    )
    data = datasets.load("flowers.npz")
    given = semantics.from_array(data.categories, data.category_vectors)
    expected = [
        evaluation.run(
            hasher(n_bits, seed),
            datasets.overlap(data, seed=seed),
            method=method,
            metrics=["map", "precision@5"],
        )
        for method, hasher in {
            "hcfw": lambda n_bits, seed: HCFW(n_bits, random_state=seed),
            "hcfw-published": lambda n_bits, seed: HCFW.published(
                n_bits, semantics=given, random_state=seed
            ),
        }.items()
        for n_bits in (16, 32)
        for seed in (0, 1)
    ]
    assert result.exit_code == 0
    assert result.stderr == ""
    assert [accuracy(run) for run in json.loads(result.stdout)] == as_read(expected)


def test_the_table_is_that_of_the_runs():
    command = ("--data", "flowers.npz", "--bits", "16", "--seeds", "2")
    runs = json.loads(bench(*command, "--json").stdout)
    found = [run["rounds"][-1]["hamming"]["map"] for run in runs]
    header, line = bench(*command).stdout.splitlines()
    assert f" {sum(found) / 2:.3f} " in line
    assert line.split()[:6] == ["synthetic", "iid", "hcfw", "16", "2", "5"]
    assert header.split()[:7] == ["data", "scenario", "method", "bits", "seeds", "round", "map"]
    assert len(bench(*command, "--every-round").stdout.splitlines()) == 1 + 5


def test_rounds_and_queries_of_iid_can_be_chosen():
    (run,) = json.loads(small("--round-size", "70", "--queries", "40", "--json").stdout)
    assert [result["n_train"] for result in run["rounds"]] == [70, 70, 60]
    assert {result["n_queries"] for result in run["rounds"]} == {40}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--published",),
        ("--method", "hcfw", "--published"),
        ("--method", "hcfw,hcfw-published", "--published"),
        ("--method", "hcfw-published,hcfw-published"),
    ],
)
def test_published_is_a_method_of_its_own(arguments):
    (run,) = json.loads(small(*arguments, "--json").stdout)
    assert run["method"] == "hcfw-published"


def test_category_vectors_come_from_a_file_before_the_data_before_the_package(flowers):
    names = flowers.categories
    lines = [f"{name.replace(' ', '_')} {at + 1} {at * at} -1" for at, name in enumerate(names)]
    Path("vectors.txt").write_text("\n".join(lines), encoding="utf-8")
    bare = datasets.LabelledData("bare", flowers.views, flowers.labels, names)
    datasets.write_npz(bare, "bare.npz")
    for data, arguments, vectors in (
        (flowers, ["--embeddings", "vectors.txt"], semantics.from_file("vectors.txt", names)),
        (flowers, [], semantics.from_array(names, flowers.category_vectors)),
        (bare, [], semantics.embedded()),
    ):
        file = "bare.npz" if data is bare else "flowers.npz"
        result = small("--published", "--json", *arguments, "--data", file)
        hasher = HCFW.published(16, semantics=vectors, random_state=0)
        expected = evaluation.run(hasher, datasets.iid(data, seed=0), method="hcfw-published")
        assert [accuracy(run) for run in json.loads(result.stdout)] == as_read([expected])


def test_generated_data_need_no_file():
    (run,) = json.loads(bench("--bits", "8", "--seeds", "1", "--json").stdout)
    assert run["data"] == "synthetic"
    assert 0.3 < run["rounds"][-1]["hamming"]["map"] < 0.95


def test_a_figure_is_drawn_beside_the_table():
    pytest.importorskip("matplotlib")
    result = small("--figure", "flowers.svg")
    assert result.exit_code == 0
    assert result.stdout.startswith("data ")
    assert Path("flowers.svg").read_bytes().startswith(b"<?xml")


def make_bad_files():
    Path("empty").mkdir()
    Path("folder.svg").mkdir()
    Path("zip.npz").write_bytes(b"PK\x03\x04" + bytes(50))
    Path("cut.npz").write_bytes(Path("flowers.npz").read_bytes()[:5000])
    Path("line.jsonl").write_text('{"views": \n', encoding="utf-8")
    Path("words.txt").write_text("tulip 1 2\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--data", "absent.npz"], 1, r"absent\.npz: there is no such file"),
        (["--data", "x" * 300], 1, "too long"),
        (["--data", "zip.npz"], 1, "truncated, corrupt"),
        (["--data", "cut.npz"], 1, "truncated, corrupt"),
        (["--data", "line.jsonl"], 1, "line 1"),
        (["--data", "empty"], 1, "MIRFLICKR_deep.mat or NUSWIDE21_deep.mat"),
        (["--data", "words.txt"], 1, "suffix must be one of"),
        (["--published", "--embeddings", "absent"], 1, "absent: cannot be read"),
        (["--published", "--embeddings", "words.txt"], 1, r"words\.txt has no vector for"),
        (["--embeddings", "words.txt"], 2, "--published"),
        (["--scenario", "nonoverlap"], 2, "'nonoverlap' is none of iid, overlap, non-overlap"),
        (["--method", "hcfw,best"], 2, "'best' is none of hcfw, hcfw-published"),
        (["--method", ""], 2, "'' is none of"),
        (["--bits", "abc"], 2, "multiple of 8 from 8 to 1024.*'abc'"),
        (["--bits", "32,12"], 2, "multiple of 8 from 8 to 1024.*'32,12'"),
        (["--bits", "32,"], 2, "multiple of 8"),
        (["--bits", ""], 2, "multiple of 8"),
        (["--bits", "9" * 5000], 2, "multiple of 8"),
        (["--metric", "beauty"], 2, "no measure is called 'beauty'"),
        (["--round-size", "0"], 2, "round_size must be a whole number of 1 or more"),
        (["--queries", "240"], 2, "n_queries must be a whole number from 1 to 239"),
        (["--queries", "5", "--scenario", "overlap"], 2, "belong to iid"),
        (["--figure", "flowers.bmp"], 2, r"\.pdf, \.png, \.svg"),
        (["--figure", "absent/flowers.svg"], 2, "cannot be written"),
        (["--figure", "folder.svg"], 2, "cannot be written"),
    ],
)
def test_what_is_wrong_is_one_line_on_stderr(arguments, code, words):
    make_bad_files()
    for more in ([], ["--json"]):
        result = small(*arguments, *more)
        (line,) = result.stderr.splitlines()
        assert re.match(f"omhash: error: .*{words}", line)
        assert result.stdout == ""
        assert result.exit_code == code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seeds", "0"], "'--seeds'"),
        (["--seeds", "many"], "'--seeds'"),
        (["--beauty"], "--beauty"),
    ],
)
def test_wrong_usage_points_at_the_help(arguments, words):
    result = small(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert words in result.stderr.splitlines()[-1]
    assert "--help" in result.stderr


def test_without_matplotlib_a_figure_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = small("--figure", "flowers.svg")
    assert result.exit_code == 1
    assert "pip install 'omhash[plots]'" in result.stderr
    assert result.stdout == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_figure_in_a_folder_that_is_read_only_is_refused_at_once(folder):
    folder.chmod(0o500)
    result = small("--figure", "flowers.svg")
    folder.chmod(0o700)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot be written" in result.stderr


@pytest.mark.parametrize(
    ("stopped_by", "code", "told"),
    [
        (KeyboardInterrupt(), 130, ""),
        (MemoryError("no room for 8 GB"), 1, "omhash: error: no room for 8 GB\n"),
        (omhash.errors.ViewError("row 3: infinity"), 1, "omhash: error: row 3: infinity\n"),
    ],
)
@pytest.mark.parametrize("rounds", [0, 2, 5, 7])
def test_what_was_finished_is_shown_when_something_stops_the_work(
    monkeypatch, stopped_by, code, told, rounds
):
    learned = []

    class Stopping(HCFW):
        def partial_fit(self, *args, **options):
            if len(learned) == rounds:
                raise stopped_by
            learned.append(1)
            return super().partial_fit(*args, **options)

    # The stream has five rounds. A run is whole, or the only one there is.
    monkeypatch.setitem(
        METHODS, "hcfw", lambda n_bits, seed, _: Stopping(n_bits, random_state=seed)
    )
    result = bench("--data", "flowers.npz", "--bits", "16", "--seeds", "3", "--json")
    assert result.exit_code == code
    note = "omhash: interrupted: results so far\n" if rounds else ""
    assert result.stderr == note + told
    if not rounds:
        assert result.stdout == ""
    else:
        (run,) = json.loads(result.stdout)
        assert (run["seed"], len(run["rounds"])) == (0, min(rounds, 5))


def test_ctrl_c_ends_a_process_with_its_results():
    # The bar, which only a terminal sees, tells when there is something to interrupt.
    terminal, errors = pty.openpty()
    arguments = ("bench", "--data", "flowers.npz", "--bits", "8", "--seeds", "300")
    process = child(*arguments, stderr=errors)
    os.close(errors)
    seen = b""
    try:
        while not re.search(rb"seed [1-9]\d*: MAP 0\.", seen):
            seen += os.read(terminal, 1000)
        assert b"seed 299" not in seen
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=20)
        while b"results so far" not in seen:
            seen += os.read(terminal, 1000)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert process.returncode == 130
    assert b"omhash: interrupted: results so far" in seen
    assert b"Traceback" not in seen
    header, line = stdout.decode().splitlines()
    assert header.startswith("data ")
    assert line.split()[:4] == ["synthetic", "iid", "hcfw", "8"]


def test_a_closed_pipe_is_left_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ("bench", "--data", "flowers.npz", "--bits", "8", "--seeds", "1")
    process = child(*arguments, stdout=writing)
    os.close(writing)
    _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (1, b"")


def test_names_that_no_encoding_can_say_are_printed_all_the_same(flowers):
    name = os.fsdecode(b"caf\xe9.jsonl")
    item = {"views": {"image": [0.5, 1.0]}, "categories": ["dog"]}
    Path(name).write_text("\n".join([json.dumps(item)] * 12), encoding="utf-8")
    assert r"caf\udce9" in small("--data", name).stdout
    assert json.loads(small("--data", name, "--json").stdout)[0]["data"] == "caf\udce9"


def test_the_page_shows_the_table():
    header = small().stdout.splitlines()[0]
    shown = next(line for line in PAGE.splitlines() if line.startswith("data  "))
    assert header.split() == shown.split()


def test_help_shows_an_example():
    assert "\n    omhash bench --data flowers.npz" in bench("--help").stdout
