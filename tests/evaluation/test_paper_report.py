"""The report: its cells against plain computation, its pages, and what it takes over."""

import json
import re
import statistics
from html.parser import HTMLParser

import numpy as np
import pytest
from paper_runs import plan, row, runs_here, small, tables
from plain_measures import average_precision, distance, order, shared

from omhash import HCFW, semantics
from omhash.datasets import LabelledData, non_overlap, overlap
from omhash.errors import ParameterError, UnsupportedError
from omhash.evaluation import paper
from omhash.hashers import OASIS
from omhash.learning.category_codes import semantic

pytest.importorskip("matplotlib")


def plain_map(query_codes, query_labels, codes, labels):
    values = []
    for code, own in zip(query_codes, query_labels, strict=True):
        ranked = order([distance(code, item) for item in codes])
        values.append(average_precision([shared(own, labels[item]) > 0 for item in ranked]))
    return statistics.fmean(values)


def last_map(hasher, data, rounds):
    """MAP of the last of the rounds (train, queries, columns), everything written out."""
    stored, codes = [], []
    for train, _, columns in rounds:
        known = [data.categories[column] for column in columns]
        views = {name: view[train] for name, view in data.views.items()}
        labels = data.labels[np.ix_(train, columns)]
        hasher.partial_fit(views, labels, categories=known)
        codes += list(hasher.item_codes(views, labels, categories=known))
        stored += list(train)
    queries = rounds[-1][1]
    asked = hasher.encode({name: view[queries] for name, view in data.views.items()})
    own = data.labels[np.ix_(queries, columns)].tolist()
    return plain_map(asked, own, codes, data.labels[np.ix_(stored, columns)].tolist())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with pytest.MonkeyPatch.context() as monkeypatch:
        runs_here(monkeypatch)
        folder = tmp_path_factory.mktemp("report")
        outcome = paper.make([plan(small(), bits=(16, 24), quick=True)], folder)
    assert outcome.failures == []
    return folder


@pytest.fixture(scope="module")
def told(made):
    return json.loads((made / "report.json").read_text(encoding="utf-8"))


def test_a_cell_of_the_standard_table_is_what_plain_computation_gives(told):
    data, found = small(), []
    vectors = semantics.from_array(data.categories, data.category_vectors)
    for seed in (0, 1):
        p = np.random.default_rng(seed).permutation(240)
        hasher = HCFW.published(16, semantics=vectors, random_state=seed)
        parts = [p[start : start + 40] for start in range(40, 240, 40)]
        found.append(last_map(hasher, data, [(part, p[:40], np.arange(8)) for part in parts]))
    cell = row(tables(told, "standard")[0], "HCFW")["16 bits"]
    mean, spread = statistics.fmean(found), statistics.stdev(found)
    assert cell["value"]["mean"] == pytest.approx(mean, abs=1e-12)
    assert cell["value"]["spread"] == pytest.approx(spread, abs=1e-12)
    assert cell["text"] == f"{mean:.4f} ± {spread:.4f}"


@pytest.mark.parametrize(
    ("scenario", "stream", "name", "n_bits"),
    [
        ("overlap", overlap, "OASIS", 24),
        ("non-overlap", non_overlap, "HCFW, omhash's default", 16),
    ],
)
def test_a_cell_of_the_incremental_table_is_what_plain_computation_gives(
    told, scenario, stream, name, n_bits
):
    data = small()
    vectors = semantics.from_array(data.categories, data.category_vectors)
    found = []
    for seed in (0, 1):
        hasher = (
            OASIS(n_bits, semantics=vectors, random_state=seed)
            if name == "OASIS"
            else HCFW(n_bits, random_state=seed)
        )
        rounds = [
            (one.train, one.queries, one.categories) for one in stream(data, seed=seed).rounds
        ]
        found.append(last_map(hasher, data, rounds))
    cell = row(tables(told, "incremental")[0], scenario, name)[f"{n_bits} bits"]
    assert cell["value"]["mean"] == pytest.approx(statistics.fmean(found), abs=1e-12)
    assert cell["value"]["spread"] == pytest.approx(statistics.stdev(found), abs=1e-12)


def test_precision_at_k_is_what_plain_computation_gives(told):
    data, found = small(), []
    for seed in (0, 1):
        p = np.random.default_rng(seed).permutation(240)
        hasher = HCFW(24, random_state=seed)
        codes = []
        for start in range(40, 240, 40):
            part = p[start : start + 40]
            views = {name: view[part] for name, view in data.views.items()}
            hasher.partial_fit(views, data.labels[part], categories=data.categories)
            codes += list(hasher.item_codes(views, data.labels[part], categories=data.categories))
        asked = hasher.encode({name: view[p[:40]] for name, view in data.views.items()})
        for code, query in zip(asked, p[:40], strict=True):
            ranked = order([distance(code, item) for item in codes])[:10]
            hits = [shared(data.labels[query], data.labels[p[40 + item]]) > 0 for item in ranked]
            found.append(sum(hits) / 10)
    table = tables(told, "curves")[0]
    assert table["title"] == "Precision@k, standard (IID), 24 bits"
    cell = row(table, "HCFW, omhash's default")["k = 10"]
    assert cell["value"]["mean"] == pytest.approx(statistics.fmean(found), abs=1e-12)


def test_the_best_of_a_column_is_marked(told):
    table = tables(told, "standard")[0]
    for column in table["header"][1:]:
        cells = [row(table, cells[0]["text"])[column] for cells in table["rows"]]
        top = max(cell["value"]["mean"] for cell in cells)
        assert [cell["best"] for cell in cells] == [cell["value"]["mean"] == top for cell in cells]


def test_every_run_tells_its_parameters_seed_versions_and_data(told):
    assert len(told["runs"]) == told["n_runs"] > 50
    for run in told["runs"].values():
        asked = run["configuration"]
        assert asked["data_digest"] == told["data"][0]["digest"]
        assert asked["versions"] == told["versions"]
        assert asked["seed"] in told["seeds"]
        assert {"numpy", "omhash", "python"} <= told["versions"].keys()
        assert run["parameters"]["n_bits"] == asked["n_bits"]
        assert run["parameters"].items() >= asked["options"].items()
        assert all(result["learn_seconds"] > 0 for result in run["rounds"])


def test_each_query_has_its_average_precision(made, told):
    digest, run = next(iter(told["runs"].items()))
    kept = json.loads((made / "runs" / f"{digest}.json").read_text(encoding="utf-8"))
    values = kept["average_precision"]["hamming"]
    assert len(values) == len(kept["queries"]) == run["rounds"][-1]["n_queries"]
    assert statistics.fmean(values) == pytest.approx(run["rounds"][-1]["hamming"]["map"])


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded, self.said = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - the parser's
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [value for name, value in attrs if name in ("href", "xlink:href") and value]
        self.loaded += [value for name, value in attrs if name in ("src", "srcset", "data")]

    def handle_data(self, data):
        self.said.append(data)


def test_the_page_needs_no_other_file_and_its_links_lead_somewhere(made):
    text = (made / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.loaded == []
    assert "@import" not in text
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(page.ids)


def test_figures_take_their_ink_from_the_page(made):
    text = (made / "report.html").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert "var(--ink)" in drawn
    assert not re.findall(r"#(?:000000|010203|040506|ffffff)", drawn)


def test_page_and_markdown_show_every_section_and_number(made, told):
    page = Page((made / "report.html").read_text(encoding="utf-8"))
    markdown = (made / "report.md").read_text(encoding="utf-8")
    said = set(page.said)
    for section in paper.SECTIONS:
        assert section.title in said
        assert f"### {section.title}" in markdown
    for one in told["sections"]:
        for block in one["blocks"]:
            for cell in (cell for cells in block.get("rows", ()) for cell in cells):
                assert cell["text"] in said or not cell["text"]
                assert cell["text"].replace("|", r"\|") in markdown
    figures = re.findall(r"\]\((figures/[^)]*)\)", markdown)
    assert len(figures) == sum(b["kind"] == "figure" for s in told["sections"] for b in s["blocks"])
    for figure in figures:
        assert (made / figure).read_text(encoding="utf-8").startswith("<?xml")


def test_the_report_can_be_made_again_from_what_is_kept(made, monkeypatch):
    names = ("report.html", "report.md", "report.json")
    before = [(made / name).read_bytes() for name in names]
    seen = runs_here(monkeypatch)
    outcome = paper.make([plan(small(), bits=(16, 24), quick=True)], made)
    assert seen == []
    assert outcome.n_reused == outcome.told["n_runs"]
    assert [(made / name).read_bytes() for name in names] == before


def test_only_what_changed_or_was_damaged_is_run_again(tmp_path, monkeypatch):
    seen = runs_here(monkeypatch)
    sections = paper.chosen(["supervision"])

    def again(data, bits=(16,)):
        seen.clear()
        paper.make([plan(data, bits=bits, n_seeds=1)], tmp_path, sections=sections)
        return len(seen)

    assert again(small()) == 2
    kept = sorted((tmp_path / "runs").iterdir())
    kept[0].write_text(kept[0].read_text(encoding="utf-8")[:100], encoding="utf-8")
    assert again(small()) == 1
    kept[1].write_text("{}", encoding="utf-8")
    assert again(small()) == 1
    assert again(small()) == 0
    other = small()
    other.labels[0, 0] ^= 1
    assert again(other) == 2
    assert again(small("other name")) == 2
    assert again(small(), bits=(24,)) == 2


def test_the_same_run_under_two_names_is_done_once(tmp_path, monkeypatch):
    seen = runs_here(monkeypatch)
    sections = paper.chosen(["supervision", "sensitivity"])
    paper.make([plan(small(), n_seeds=1, quick=True)], tmp_path, sections=sections)
    # θ = 1 and δ = 1 are the paper's settings: θ and δ at .01 and 100, these, and Hadamard.
    assert len(seen) == 6


def test_a_run_that_fails_is_told_and_the_others_are_shown(tmp_path, monkeypatch):
    runs_here(monkeypatch)
    data = small()
    labels = np.ones_like(data.labels)  # no item has its labels in one group
    bound = LabelledData("bound", data.views, labels, data.categories, data.category_vectors)
    outcome = paper.make([plan(bound, n_seeds=1)], tmp_path, sections=paper.chosen(["incremental"]))
    assert {what.split(":")[0] for what, _ in outcome.failures} == {"bound, non-overlap"}
    assert all("no item has all its labels" in why for _, why in outcome.failures)
    table = tables(outcome.told, "incremental")[0]
    assert row(table, "non-overlap", "HCFW")["16 bits"]["text"] == "–"
    assert row(table, "overlap", "HCFW")["16 bits"]["text"] != "–"
    assert "no item has all its labels" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_folder_is_written_by_one_at_a_time(tmp_path, monkeypatch):
    def run_all(tasks, n_processes, done):
        with pytest.raises(UnsupportedError, match="another command is writing"):
            paper.make([plan(small())], tmp_path)

    monkeypatch.setattr("omhash.evaluation.paper.report.run_all", run_all)
    paper.make([plan(small())], tmp_path, sections=paper.chosen(["convergence"]))


def test_sections_go_by_the_papers_numbers_too():
    def chosen(*names):
        return [section.name for section in paper.chosen(names)]

    assert chosen("table2", "figure4") == ["standard", "convergence"]
    assert chosen() == [section.name for section in paper.SECTIONS]
    numbers = {name for section in paper.SECTIONS for name in section.paper}
    assert numbers == {*(f"table{n}" for n in range(1, 10)), *(f"figure{n}" for n in range(2, 5))}
    with pytest.raises(ParameterError, match="'table10' is none of standard, table1"):
        chosen("table10")


def test_convergence_is_what_the_codes_leave_of_the_vectors(told):
    data = small()
    unit = data.category_vectors / np.linalg.norm(data.category_vectors, axis=1, keepdims=True)
    nothing, found = np.zeros((0, 16), dtype=np.int8), []
    for seed in (0, 1):
        rng = np.random.default_rng([seed, 0, 0])
        codes = semantic(nothing, unit[:0], unit, 16, rng, n_iterations=3).astype(float)
        rebuilt = codes @ np.linalg.pinv(codes) @ unit
        found.append(((unit - rebuilt) ** 2).sum() / (unit**2).sum())
    cell = row(tables(told, "convergence")[0], "16 bits")["3"]
    assert cell["value"]["mean"] == pytest.approx(statistics.fmean(found), abs=1e-9)
