"""The command that makes the paper's tables, on files, in processes, and interrupted."""

import json
import re
import signal
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from commands import child, filled_folder, made_flowers, omhash  # noqa: F401 - pytest finds fixtures by name
from dataset_files import write_v5, write_v73
from paper_runs import authors_variables, row, runs_here, tables

from omhash.datasets.mirflickr import MIRFLICKR
from omhash.datasets.nuswide import NUSWIDE
from omhash.evaluation.paper import printed

pytest.importorskip("matplotlib")

FEW = ("--data", "flowers.npz", "--bits", "16", "--only", "supervision")


def paper(*arguments):
    return omhash("paper", *arguments)


def write_authors(folder, published, write):
    folder.mkdir()
    write(folder / published.file, authors_variables(published, n_items=220))
    vectors = np.random.default_rng(0).standard_normal((len(published.categories), 30))
    write(folder / "Some_Groundtrue_Vec.mat", {published.vectors: vectors})


def found(run):
    """All of a run but what a clock or the machine's memory decides."""
    measured = [{name: one[name] for name in ("hamming", "asymmetric")} for one in run["rounds"]]
    return {**{name: run[name] for name in ("configuration", "parameters", "curve")}, "m": measured}


def beside(table, column, *name):
    """A method's cell, and those of the two rows below it: the paper's and the difference."""
    places = [[cell["text"] for cell in cells] for cells in table["rows"]]
    at = next(at for at, texts in enumerate(places) if tuple(texts[: len(name)]) == name)
    cells = [table["rows"][at + step][table["header"].index(column)] for step in range(3)]
    said = [place[table["n_names"] - 1] for place in places[at : at + 3]]
    assert said == ["here", "paper", "difference"]
    return cells


@pytest.fixture(scope="module")
def authors(tmp_path_factory):
    """The whole report on files of the authors' form, in both versions of MATLAB's files."""
    folder = tmp_path_factory.mktemp("authors")
    write_authors(folder / "mir", MIRFLICKR, write_v5)
    write_authors(folder / "nus", NUSWIDE, write_v73)
    names = {*MIRFLICKR.categories, *NUSWIDE.categories}
    lines = [f"{name} {at} {at % 7 + 1} 1" for at, name in enumerate(sorted(names))]
    (folder / "vectors.txt").write_text("\n".join(lines), encoding="utf-8")
    with pytest.MonkeyPatch.context() as monkeypatch:
        runs_here(monkeypatch)
        result = paper(
            *("--data", f"MIRFLICKR={folder / 'mir'}"),
            *("--data", f"NUSWIDE={folder / 'nus' / NUSWIDE.file}"),
            *("--out", folder / "report", "--quick", "--bits", "32,64,96", "--json"),
            *("--embeddings", f"CLIP={folder / 'vectors.txt'}"),
        )
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_both_data_sets_have_every_section(authors):
    assert [one["name"] for one in authors["data"]] == ["MIRFlickr", "NUS-WIDE"]
    sections = [(one["data"], one["section"]) for one in authors["sections"]]
    assert len(sections) == len(set(sections)) == 2 * 14
    rounds = {
        (run["configuration"]["data"], run["configuration"]["scenario"]): len(run["rounds"])
        for run in authors["runs"].values()
    }
    assert rounds["MIRFlickr", "overlap"] == 10
    assert rounds["NUS-WIDE", "overlap"] == 20
    assert rounds["MIRFlickr", "non-overlap"] == 4
    assert rounds["NUS-WIDE", "non-overlap"] == 8


@pytest.mark.parametrize("data", ["MIRFlickr", "NUS-WIDE"])
@pytest.mark.parametrize("method", ["SAPMH", "OMH-DQ", "FOMH", "OASIS", "HCFW"])
def test_printed_values_stand_below_those_found(authors, data, method):
    (table,) = tables(authors, "standard", data)
    for n_bits in (32, 64, 96):
        here, theirs, less = beside(table, f"{n_bits} bits", method)
        mean, spread = printed.last_round(data, "iid", method, n_bits)
        assert theirs["text"] == f"{mean:.4f} ± {spread:.4f}"
        assert less["value"]["mean"] == pytest.approx(here["value"]["mean"] - mean)
        assert less["text"][0] in "+−"
    assert "not comparable" in table["note"]


def test_each_table_of_the_paper_has_its_printed_values(authors):
    (incremental,) = tables(authors, "incremental", "NUS-WIDE")
    scenario = "non-overlap"
    assert beside(incremental, "96 bits", scenario, "HCFW")[1]["text"] == "0.4273 ± 0.0345"
    (codes,) = tables(authors, "category-codes", "NUS-WIDE")
    assert codes["header"] == ["", "", *(f"round {at}" for at in (1, 2, 3, 4, 5))]
    assert beside(codes, "round 3", "OASIS + FW")[1]["text"] == "0.8123"
    (weights,) = tables(authors, "weights", "MIRFlickr")
    assert beside(weights, "32 bits", scenario, "HCFW, no penalty")[1]["text"] == "0.1744"
    seconds, ratios = tables(authors, "time", "MIRFlickr")
    assert beside(seconds, "round 4", "OMH-DQ")[1]["text"] == "1.483"
    assert row(ratios, "FOMH")["paper (MIRFlickr)"]["text"] == "0.29"
    (supervision,) = tables(authors, "supervision", "MIRFlickr")
    assert beside(supervision, "round 5", "Semantics")[1]["text"] == "0.8672"
    (embeddings,) = tables(authors, "embeddings", "MIRFlickr")
    assert beside(embeddings, "round 2", "CLIP")[1]["text"] == "0.8628"


def test_the_authors_own_parameters_are_used_and_told(authors):
    said = {
        (run["configuration"]["data"], run["configuration"]["hasher"]): run["parameters"]
        for run in authors["runs"].values()
    }
    assert said["MIRFlickr", "FOMH"]["kernels"] == {"image": [1000, 140.0], "text": [1000, 60.0]}
    assert said["MIRFlickr", "SAPMH"]["n_latent"] == 128
    assert said["NUS-WIDE", "SAPMH"]["n_latent"] == 500


def test_processes_find_what_is_found_here(monkeypatch):
    process = child("paper", *FEW, "--seeds", "1", "--jobs", "2", "--out", "apart", "--json")
    stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr) == (0, b"")
    apart = json.loads(stdout)
    runs_here(monkeypatch)
    here = json.loads(paper(*FEW, "--seeds", "1", "--out", "here", "--json").stdout)
    assert len(apart["runs"]) == 2
    assert {name: found(run) for name, run in apart["runs"].items()} == {
        name: found(run) for name, run in here["runs"].items()
    }


def finished(folder, count, process):
    """Wait until so many runs are kept."""
    for _ in range(600):
        kept = sorted(folder.glob("runs/*.json"))
        if len(kept) >= count:
            return kept
        assert process.poll() is None
        time.sleep(0.1)
    raise AssertionError("no run was finished in a minute")


def begun(folder, count, process):
    """Wait until so many runs are kept and another has begun; all processes there are then."""
    earlier = set()
    for _ in range(6000):
        children = set(psutil.Process(process.pid).children(recursive=True))
        kept = sorted(folder.glob("runs/*.json"))
        if len(kept) < count:
            earlier |= children
        elif children - earlier:
            return kept, children
        time.sleep(0.01)
    raise AssertionError("no run began in a minute")


def test_what_is_interrupted_or_killed_goes_on(monkeypatch):
    command = ("paper", *FEW, "--seeds", "8", "--jobs", "1")
    out = Path("report")

    process = child(*command)
    finished(out, 1, process)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, b"")
    assert stderr.decode() == (
        "omhash: interrupted: finished runs are in report/runs; the same command goes on\n"
    )
    assert {path.suffix for path in (out / "runs").iterdir()} == {".json"}
    assert not (out / "data").exists()

    before = len(list(out.glob("runs/*.json")))
    process = child(*command)
    then, children = begun(out, before + 1, process)
    time.sleep(0.3)  # its start takes longer, and it is on its own
    process.kill()
    process.communicate(timeout=60)
    _, alive = psutil.wait_procs(children, timeout=60)
    assert alive == []

    kept = sorted(out.glob("runs/*.json"))
    assert kept == then  # nobody goes on in secret
    assert len(kept) < 16
    assert all(json.loads(path.read_text(encoding="utf-8"))["rounds"] for path in kept)
    seen = runs_here(monkeypatch)
    result = paper(*FEW, "--seeds", "8")
    assert result.stdout == f"report/report.html: 16 runs, {len(kept)} of them from before\n"
    assert len(seen) == 16 - len(kept)
    assert {path.suffix for path in (out / "runs").iterdir()} == {".json"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--data", "flowers.npz", "--only", "table12"), r"--only: 'table12' is none of standard"),
        (("--data", "flowers.npz", "--bits", "12"), r"--bits: each must be"),
        (
            ("--data", "flowers.npz", "--data", "synthetic=flowers.npz"),
            r"--data: two data sets are called",
        ),
        (("--data", "=flowers.npz"), r"--data: give NAME=FILE, not '=flowers.npz'"),
        (("--data", "flowers.npz", "--embeddings", "vectors.txt"), r"--embeddings: give NAME=FILE"),
        (("--data", "flowers.npz", "--embeddings", "a=no.txt"), r"--embeddings: a: there is no fi"),
        (("--data", "flowers.npz", "--out", "keys.txt"), r"--out: keys.txt: cannot be written"),
    ],
)
def test_wrong_options_are_told_before_any_run(arguments, told):
    result = paper(*arguments)
    assert result.exit_code == 2
    assert re.match(rf"omhash: error: {told}", result.stderr)
    assert result.stdout == ""


def test_a_file_that_is_not_there_is_told():
    result = paper("--data", "NAME=nothing.npz")
    assert result.exit_code == 1
    assert result.stderr.startswith("omhash: error: nothing.npz")
