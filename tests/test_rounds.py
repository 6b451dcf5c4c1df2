import numpy as np
import pytest
from scipy import sparse

from omhash.errors import DataFileError, InputError
from omhash.rounds import from_parquet, to_parquet

LIMITS = {"most_items": 100, "most_bytes": 1 << 20}
WIDTHS = {"image": 3, "text": 5}


def a_round():
    image = np.arange(9, dtype=np.float32).reshape(3, 3)
    image[1] = np.nan  # lacks the modality
    text = sparse.csr_array(np.array([[0, 2, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]))
    return {"image": image, "text": text}


def test_a_round_comes_back_as_it_was_sent():
    labels, keys = [["cat", "dog"], [], ["cat"]], ["a", "b", "ü"]
    payloads = [{"n": 1}, {}, {"deep": [1, {"x": None}]}]
    content = to_parquet(a_round(), labels, keys=keys, payloads=payloads)
    found = from_parquet(content, WIDTHS, **LIMITS)
    assert (found.keys, found.payloads) == (keys, payloads)
    assert [sorted(names) for names in found.labels] == labels
    assert np.array_equal(found.views["image"], a_round()["image"], equal_nan=True)
    assert np.array_equal(found.views["text"].toarray(), a_round()["text"].toarray())


def test_labels_may_be_a_matrix_and_payloads_absent():
    content = to_parquet(
        a_round(), np.array([[1, 0], [0, 0], [1, 1]]), keys=["a", "b", "c"], categories=["x", "y"]
    )
    found = from_parquet(content, WIDTHS, **LIMITS)
    assert [sorted(names) for names in found.labels] == [["x"], [], ["x", "y"]]
    assert found.payloads == [{}, {}, {}]


def test_too_many_items_or_bytes_and_unknown_columns_are_refused():
    content = to_parquet(a_round(), keys=["a", "b", "c"])
    with pytest.raises(InputError, match="at most 2"):
        from_parquet(content, WIDTHS, most_items=2, most_bytes=1 << 20)
    with pytest.raises(InputError, match="send it in parts"):
        from_parquet(content, WIDTHS, most_items=9, most_bytes=10)
    with pytest.raises(DataFileError, match="'text' is no modality"):
        from_parquet(content, {"image": 3}, **LIMITS)
    with pytest.raises(DataFileError, match="not readable"):
        from_parquet(content[:-9], WIDTHS, **LIMITS)


def test_a_changed_byte_is_never_more_than_an_error():
    labels, keys = [["cat", "dog"], [], ["cat"]], ["a", "b", "c"]
    content = to_parquet(a_round(), labels, keys=keys, payloads=[{"n": 1}] * 3)
    unreadable = 0
    for place in range(len(content)):
        for value in (3, 36):
            changed = content[:place] + bytes([value]) + content[place + 1 :]
            try:
                assert len(from_parquet(changed, WIDTHS, **LIMITS).keys) == 3
            except (DataFileError, InputError):
                unreadable += 1
    assert unreadable
