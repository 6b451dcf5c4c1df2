import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from omhash.popcount import popcount


@njit
def count(word):
    return popcount(word)


@njit
def distance(left, right):
    total = 0
    for i in range(len(left)):
        total += popcount(left[i] ^ right[i])
    return total


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
@given(data=st.data())
def test_the_bits_of_a_word_are_counted(dtype, data):
    word = data.draw(st.integers(0, np.iinfo(dtype).max))
    assert count(dtype(word)) == word.bit_count()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
def test_counts_add_up_to_an_integer(dtype):
    left, right = np.array([[0, 1, 7], [np.iinfo(dtype).max, 1, 0]], dtype=dtype)
    found = distance(left, right)
    assert isinstance(found, int)
    assert found == np.iinfo(dtype).bits + 3


@pytest.mark.parametrize("value", [np.int64(1), 1.0, "a"])
def test_what_is_no_unsigned_integer_is_refused(value):
    with pytest.raises(TypingError, match="unsigned integer"):
        count(value)
