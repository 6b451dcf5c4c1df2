import json
import math
import sys
from dataclasses import asdict

import pytest

from omhash.errors import ParameterError, UnsupportedError
from omhash.evaluation import RoundResult, Run, figure, table, to_json


def result(number, hamming, *, asymmetric=0.9, learn=1.0):
    return RoundResult(
        number=number,
        n_train=10,
        n_queries=4,
        n_database=10 * number,
        n_categories=3,
        hamming={"map": hamming, "recall@5": 0.25},
        asymmetric={"map": asymmetric, "recall@5": 0.5},
        learn_seconds=learn,
        store_seconds=0.1,
        encode_seconds=0.002,
        state_bytes=3_000_000,
        peak_bytes=123_000_000,
    )


@pytest.fixture
def runs():
    return [
        Run("HCFW", 32, "flowers", "iid", 0, [result(1, 0.4), result(2, 0.5, learn=2.0)]),
        Run("HCFW", 32, "flowers", "iid", 1, [result(1, 0.6), result(2, 0.7, learn=4.0)]),
        Run("HCFW", 64, "flowers", "iid", 0, [result(1, 0.8), result(2, math.nan)]),
    ]


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_seeds_share_a_line_with_mean_and_deviation(runs):
    header, rule, *lines = table(runs, markdown=True).splitlines()
    assert len(lines) == 2
    assert set(rule) == set("|:-")
    read = dict(zip(cells(header), cells(lines[0]), strict=True))
    assert read == {
        "data": "flowers",
        "scenario": "iid",
        "method": "HCFW",
        "bits": "32",
        "seeds": "2",
        "round": "2",
        "map": "0.600 ± 0.141",
        "map, asymmetric": "0.900",
        "recall@5": "0.250",
        "recall@5, asymmetric": "0.500",
        "learn s": "3.00 ± 1.41",
        "encode µs a query": "500.0",
        "state MB": "3.00",
        "peak MB": "123",
    }


def test_what_was_not_measured_is_a_dash(runs):
    assert (
        dict(
            zip(*(cells(table(runs, markdown=True).splitlines()[i]) for i in (0, 3)), strict=True)
        )["map"]
        == "–"
    )


def test_every_round_has_its_own_line(runs):
    lines = [cells(line) for line in table(runs, markdown=True, every_round=True).splitlines()[2:]]
    assert [(line[3], line[5], line[6]) for line in lines] == [
        ("32", "1", "0.500 ± 0.141"),
        ("32", "2", "0.600 ± 0.141"),
        ("64", "1", "0.800"),
        ("64", "2", "–"),
    ]


def test_only_rounds_that_every_seed_finished_are_compared(runs):
    runs[1].rounds.pop()
    (first, _) = table(runs, markdown=True).splitlines()[2:]
    assert cells(first)[5:7] == ["1", "0.500 ± 0.141"]


def test_the_columns_of_a_plain_table_are_aligned(runs):
    runs[0].method = runs[1].method = "A much longer name"
    header, *lines = table(runs).splitlines()
    ends = {line.index(bits) + 2 for line, bits in zip(lines, ["32", "64"], strict=True)}
    assert ends == {header.index("bits") + 4}


def test_a_bar_in_a_name_does_not_break_a_markdown_table(runs):
    runs[2].method = "a|b"
    assert r"| a\|b |" in table(runs, markdown=True)


def test_json_holds_everything_and_null_for_what_was_not_measured(runs):
    read = json.loads(to_json(runs))
    assert read[:2] == [asdict(run) for run in runs[:2]]
    assert read[2]["rounds"][1]["hamming"] == {"map": None, "recall@5": 0.25}
    assert to_json([]) == "[]"


@pytest.mark.parametrize("report", [table, lambda runs: figure(runs, "x.svg")])
def test_nothing_finished_is_nothing_to_report(report):
    with pytest.raises(ParameterError, match="no finished round"):
        report([Run("HCFW", 32, "flowers", "iid", 0)])


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")]
)
def test_figures_are_written_by_suffix_and_the_same_runs_give_the_same_bytes(
    runs, tmp_path, suffix, start
):
    pytest.importorskip("matplotlib")
    for name in ("one", "two"):
        figure(runs, tmp_path / f"{name}.{suffix}")
    written = (tmp_path / f"one.{suffix}").read_bytes()
    assert written.startswith(start)
    assert written == (tmp_path / f"two.{suffix}").read_bytes()
    runs[0].rounds[0] = result(1, 0.1)
    figure(runs, tmp_path / f"other.{suffix}")
    assert written != (tmp_path / f"other.{suffix}").read_bytes()


def test_a_figure_may_show_another_measure_and_several_scenarios(runs, tmp_path):
    pytest.importorskip("matplotlib")
    runs.append(Run("HCFW", 32, "birds", "overlap", 0, [result(1, 0.3)]))
    figure(runs, tmp_path / "recall.svg", metric="recall@5")
    assert (tmp_path / "recall.svg").stat().st_size > 1000


def test_a_figure_that_cannot_be_drawn_says_why(runs, tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match=r"\.pdf, \.png, \.svg"):
        figure(runs, tmp_path / "figure.bmp")
    with pytest.raises(ParameterError, match="'ndcg' was not recorded"):
        figure(runs, tmp_path / "figure.svg", metric="ndcg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'omhash\[plots\]'"):
        figure(runs, tmp_path / "figure.svg")


def test_a_figure_into_a_folder_that_is_not_there_is_refused(runs, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(ParameterError, match="cannot be written"):
        figure(runs, tmp_path / "absent" / "figure.svg")
