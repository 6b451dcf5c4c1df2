"""Category names to vectors: the sources, the file forms, and what is refused."""

import gzip
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.base import clone

from omhash.errors import DataFileError, SemanticsError
from omhash.semantics import checked, embedded, from_array, from_file, from_mapping

ROWS = {
    "dog": [1.0, 2.0, 3.0, 0.5],
    "baseball": [0.0, -1.0, 2.0, 4.0],
    "bat": [4.0, 1.0, -2.5, 0.0],
    "New_York": [7.0, 7.0, 0.25, 1.0],
    "é": [-1.0, -1.0, -1.0, -1.0],
}


def glove(rows):
    lines = (" ".join([word, *map(repr, map(float, row))]) for word, row in rows)
    return "".join(line + "\n" for line in lines).encode()


def word2vec_text(rows):
    return f"{len(rows)} {len(rows[0][1])}\n".encode() + glove(rows)


def word2vec_binary(rows, newline=b"\n"):
    def record(word, row):
        return word.encode() + b" " + struct.pack(f"<{len(row)}f", *row) + newline

    header = f"{len(rows)} {len(rows[0][1])}\n".encode()
    return header + b"".join(record(*each) for each in rows)


FORMS = {
    "glove": glove,
    "word2vec text": word2vec_text,
    "word2vec text, blank at the end of lines": lambda rows: word2vec_text(rows).replace(
        b"\n", b" \n"
    ),
    "word2vec text, CRLF": lambda rows: word2vec_text(rows).replace(b"\n", b"\r\n"),
    "word2vec binary": word2vec_binary,
    "word2vec binary without newlines": lambda rows: word2vec_binary(rows, b""),
}


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "vectors"
        path.write_bytes(content)
        return path

    return write


# Files


def test_every_form_gives_the_vectors_in_the_order_asked(form, file):
    path = file(form(list(ROWS.items())))
    np.testing.assert_array_equal(from_file(path)(["é", "dog"]), [ROWS["é"], ROWS["dog"]])


def test_every_form_may_be_gzipped(form, file):
    path = file(gzip.compress(form(list(ROWS.items()))))
    np.testing.assert_array_equal(from_file(path)(["bat"]), [ROWS["bat"]])


words = st.text(
    st.characters(min_codepoint=33, exclude_categories=["Z", "C"]), min_size=1, max_size=8
)


@st.composite
def tables(draw):
    names = draw(st.lists(words, min_size=1, max_size=8, unique=True))
    width = draw(st.integers(4, 9))
    numbers = st.floats(-1e6, 1e6, width=32)
    rows = draw(arrays.arrays(np.float32, (len(names), width), elements=numbers))
    rows[:, 0] += rows[:, 0] == 0  # a row of zeros is refused
    return names, rows


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(), data=st.data())
def test_what_is_written_is_read_back(form, file, table, data):
    names, rows = table
    path = file(form([(name, row.tolist()) for name, row in zip(names, rows, strict=True)]))
    order = data.draw(st.permutations(range(len(names))))
    asked = [names[i] for i in order]
    np.testing.assert_array_equal(from_file(path)(asked), rows[order].astype(np.float64))


def test_a_binary_file_larger_than_the_buffer(file):
    rows = np.random.default_rng(0).standard_normal((3000, 200)).astype(np.float32)
    table = [(f"w{i}", row.tolist()) for i, row in enumerate(rows)]
    asked = ["w2999", "w0", *(f"w{i}" for i in range(700, 2400, 13))]
    expected = rows[[2999, 0, *range(700, 2400, 13)]]
    np.testing.assert_array_equal(from_file(file(word2vec_binary(table)), asked)(asked), expected)


@pytest.mark.parametrize(
    ("name", "vector"),
    [
        ("Dog", ROWS["dog"]),
        ("New York", ROWS["New_York"]),
        ("new-york", ROWS["New_York"]),
        ("baseball bat", np.mean([ROWS["baseball"], ROWS["bat"]], axis=0)),
        ("Baseball_BAT", np.mean([ROWS["baseball"], ROWS["bat"]], axis=0)),
        ("bat / bat / dog", np.mean([ROWS["bat"], ROWS["bat"], ROWS["dog"]], axis=0)),
    ],
)
def test_forms_of_a_name(form, file, name, vector):
    path = file(form(list(ROWS.items())))
    np.testing.assert_allclose(from_file(path)([name]), [vector], rtol=1e-15)


def test_forms_of_a_name_have_a_fixed_order_that_the_file_does_not_change(file):
    spellings = ["ice tea", "ice_tea", "ice-tea", "Ice_tea", "Ice_Tea", "ICE_TEA"]
    left = list(enumerate(spellings))
    while left:
        path = file(glove([(word, [rank + 1]) for rank, word in reversed(left)]))
        assert from_file(path)(["ice tea"])[0, 0] == left[0][0] + 1
        left = left[1:]


def test_a_phrase_with_blanks_is_read_from_a_glove_file(file):
    path = file(glove([("dog", [1, 2]), ("at home", [3, 4]), ("at", [5, 6])]))
    for asked, expected in {("at home",): [[3, 4]], ("at",): [[5, 6]]}.items():
        np.testing.assert_array_equal(from_file(path)(asked), expected)


def test_the_first_of_equal_words_wins(form, file):
    path = file(form([("dog", [1, 2, 3, 4]), ("dog", [5, 6, 7, 8]), ("cat", [9, 9, 9, 9])]))
    np.testing.assert_array_equal(from_file(path)(["dog", "cat"])[0], [1, 2, 3, 4])


def test_known_names_are_not_read_again(file):
    path = file(glove(list(ROWS.items())))
    semantics = from_file(path, ["dog"])
    semantics(["bat"])
    path.unlink()
    np.testing.assert_array_equal(semantics(["bat", "dog"]), [ROWS["bat"], ROWS["dog"]])
    with pytest.raises(DataFileError, match="cannot be read"):
        semantics(["baseball"])


def test_reading_stops_once_all_names_are_found(file):
    path = file(glove(list(ROWS.items())) + b"cut 1 2")
    np.testing.assert_array_equal(from_file(path)(["bat"]), [ROWS["bat"]])


def test_unknown_names_are_all_named(form, file):
    path = file(form(list(ROWS.items())))
    with pytest.raises(SemanticsError, match=r"vectors has no vector for 'unicorn', 'red dog', ''"):
        from_file(path)(["dog", "unicorn", "red dog", ""])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1 does not have"),
        (b"dog\n", "line 1 does not have"),
        (b"\x00\x01\xff\n\x02 \x03", "line 1 does not have"),
        (b"not a word vector file\n", "line 1: could not convert"),
        (b"dog 1 2\ncat 1 x\n", "line 2: could not convert"),
        (b"dog 1 2\n\ncat 1 nan\n", "line 2 does not have 2 finite"),
        (b"dog 1 2\nbat 1 2\ncat 1\n", "line 3 does not have 2 finite"),
        (b"dog 1 2\nbat 1 2\nho", "line 3 does not have 2 finite"),
        (b"3 2\ndog 1 2\nbat 1 2\n", "line 1 promises 3 words and 2 follow"),
        (b"1 2\ndog 1 2\nbat 1 2\n", "line 1 promises 1 words and 2 follow"),
        (b"2 2\ndog 1 2\ncat 1\n", "line 3 does not have 2 finite"),
        (b"2 0\ndog\n", "line 1 promises vectors of 0 numbers"),
        (b"2 999999999\ndog 1\n", "line 1 promises vectors of 999999999 numbers"),
        (b"2 2\n", "does not have 2 finite"),
    ],
)
def test_a_corrupt_text_file_is_refused_with_its_line(file, content, message):
    with pytest.raises(DataFileError, match=rf"vectors: .*{message}"):
        from_file(file(content))(["cat"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_binary_file_cut_anywhere_is_refused(file, data):
    whole = word2vec_binary(list(ROWS.items()), b"")
    start = whole.index(b"\n") + 1
    cut = data.draw(st.integers(start + 1 + len("dog") + 16, len(whole) - 1))
    with pytest.raises(DataFileError, match=r"vectors: word \d of 5, at byte \d+, is broken off"):
        from_file(file(whole[:cut]))(["é"])


def test_the_byte_of_a_broken_record(file):
    whole = word2vec_binary([("dog", [1, 2, 3, 4]), ("cat", [5, 6, 7, 8])], b"")
    with pytest.raises(DataFileError, match="word 2 of 2, at byte 24, is broken off"):
        from_file(file(whole[:-1]))(["cat"])


def test_a_binary_vector_that_is_not_finite(file):
    path = file(word2vec_binary([("dog", [1, 2, 3, 4]), ("cat", [5, np.inf, 7, 8])]))
    with pytest.raises(DataFileError, match="byte 29 is not finite"):
        from_file(path)(["cat"])


def test_a_binary_file_that_goes_on(file):
    path = file(word2vec_binary(list(ROWS.items())) + b"more")
    with pytest.raises(DataFileError, match="goes on at byte 117, after 5 words"):
        from_file(path)(["red dog", "dog"])


def test_a_truncated_gzip_file(file):
    rows = np.random.default_rng(0).standard_normal((500, 20))
    whole = gzip.compress(glove([(f"w{i}", row) for i, row in enumerate(rows)]))
    with pytest.raises(DataFileError, match="vectors: cannot be read"):
        from_file(file(whole[: len(whole) // 2]))(["w499"])


@pytest.mark.parametrize("missing", ["nowhere", "."])
def test_a_path_that_is_no_file(tmp_path, missing):
    with pytest.raises(DataFileError, match="cannot be read"):
        from_file(tmp_path / missing)


# Vectors at hand


def test_mapping_and_array_give_rows_by_name():
    table = np.array(list(ROWS.values()))
    for semantics in (from_mapping(ROWS), from_array(list(ROWS), table)):
        asked = ["bat", "é", "dog"]
        np.testing.assert_array_equal(semantics(asked), [ROWS[name] for name in asked])
        with pytest.raises(SemanticsError, match="no vector was given for 'x', 'y'"):
            semantics(["dog", "x", "y"])


def test_a_source_keeps_no_alias_of_what_it_was_given():
    table = np.eye(2)
    semantics = from_array(["a", "b"], table)
    table[:] = 7
    semantics(["a", "b"])[:] = 9
    np.testing.assert_array_equal(semantics(["a", "b"]), np.eye(2))


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1, 2], [1]], "different widths"),
        ([[1, 2]], r"shape \(1, 2\).*2 names"),
        ([1, 2], r"shape \(2,\)"),
        ([[], []], r"shape \(2, 0\)"),
        ([["1"], ["2"]], "real numbers"),
        ([[1j], [2]], "real numbers"),
        ([[1.0, 2.0], [np.nan, 1.0]], "'b' are zero or not finite"),
        ([[np.inf, 2.0], [0.0, 1.0]], "'a' are zero or not finite"),
        ([[0.0, 0.0], [0.0, 0.0]], "'a', 'b' are zero or not finite"),
        ([[1e-200, 0.0], [1e200, 0.0]], "'a', 'b' are zero or not finite"),
    ],
)
def test_vectors_that_cannot_serve_are_refused_whatever_their_source(vectors, message):
    with pytest.raises(SemanticsError, match=message):
        from_array(["a", "b"], vectors)
    with pytest.raises(SemanticsError, match=message):
        checked(lambda _: vectors, ["a", "b"])


def test_a_mapping_with_vectors_of_different_widths():
    with pytest.raises(SemanticsError, match="different widths"):
        from_mapping({"a": [1, 2], "b": [1]})


# Names


def sources(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(glove(list(ROWS.items())))
    own = lambda names: checked(lambda asked: np.ones((len(asked), 2)), names)  # noqa: E731 - one of the sources
    return [embedded(), from_file(path), from_mapping(ROWS), own]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["dog", "bat", "dog"], "there twice: 'dog'"),
        ("dog", "not the text 'dog'"),
        (["dog", 3, None], "must be text, not 3, None"),
    ],
)
def test_bad_names_are_refused_by_every_source(tmp_path, names, message):
    for semantics in sources(tmp_path):
        with pytest.raises(SemanticsError, match=message):
            semantics(names)
    with pytest.raises(SemanticsError, match=message):
        from_file(tmp_path / "vectors.txt", names)
    with pytest.raises(SemanticsError, match=message):
        from_array(names, np.ones((3, 2)))


def test_no_names_give_no_rows(tmp_path):
    assert [len(semantics([])) for semantics in sources(tmp_path)] == [0, 0, 0, 0]


def test_any_sequence_of_names_will_do(tmp_path):
    for semantics in sources(tmp_path):
        expected = semantics(["dog", "bat"])
        assert expected.dtype == np.float64
        np.testing.assert_array_equal(semantics(("dog", "bat")), expected)
        np.testing.assert_array_equal(semantics(np.array(["dog", "bat"])), expected)


def test_a_source_survives_the_cloning_of_the_estimator_that_holds_it(tmp_path):
    for semantics in sources(tmp_path):
        copy = clone(semantics, safe=False)
        np.testing.assert_array_equal(copy(["dog"]), semantics(["dog"]))


# The embedded default


def test_embedded_vectors_know_what_is_alike():
    names = ["dog", "puppy", "car", "truck", "sunset", "sky"]
    vectors = embedded()(names)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = unit @ unit.T - 2 * np.eye(len(names))
    assert alike.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]


@settings(max_examples=50)
@given(st.lists(words, min_size=1, max_size=20, unique=True))
def test_an_embedded_vector_does_not_depend_on_the_other_names(names):
    together = embedded()(names)
    assert together.shape == (len(names), 256)
    alone = np.vstack([embedded()([name]) for name in names])
    np.testing.assert_array_equal(together, alone)


def test_embedded_reads_case_and_underscores_alike():
    rows = embedded()(["plant life", "plant_life", "Plant Life", "PLANT_LIFE"])
    np.testing.assert_array_equal(rows, np.broadcast_to(rows[0], rows.shape))


def test_an_empty_name_has_no_embedded_vector():
    with pytest.raises(SemanticsError, match="'' are zero"):
        embedded()(["dog", ""])


def test_embedded_leaves_the_root_logger_alone_and_loads_nothing_before_it_is_asked():
    program = (
        "import logging, sys, omhash.semantics as semantics\n"
        "source = semantics.embedded()\n"
        "assert 'wordllama' not in sys.modules\n"
        "source(['dog'])\n"
        "assert 'wordllama' in sys.modules\n"
        "assert not logging.getLogger().handlers\n"
        "assert logging.getLogger().level == logging.WARNING\n"
    )
    path = [str(Path(__file__).parents[1] / "src"), *filter(None, sys.path)]
    subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], check=True, env={"PYTHONPATH": ":".join(path)}
    )
