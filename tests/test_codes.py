"""Codes against plain counting of bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from omhash.codes import distinct, hamming, pack, unpack
from omhash.errors import InputError
from strategies import code_bytes, codes


def plain_bits(code):
    return [byte >> (7 - place) & 1 for byte in code.tolist() for place in range(8)]


@given(
    st.integers(0, 4).flatmap(
        lambda n: code_bytes.flatmap(
            lambda width: npst.arrays(
                np.float32, (n, 8 * width), elements=st.sampled_from([-2.5, -0.0, 0.0, 1e-30, 3.0])
            )
        )
    )
)
def test_pack_sets_a_bit_where_a_value_is_above_zero(values):
    packed = pack(values)

    assert packed.dtype == np.uint8
    assert packed.shape == (len(values), values.shape[1] // 8)
    assert [plain_bits(code) for code in packed] == [
        [int(value > 0) for value in row] for row in values.tolist()
    ]


@given(st.data(), st.integers(0, 4), code_bytes)
def test_unpack_gives_the_signs_that_pack_takes(data, n_items, width):
    packed = data.draw(codes(n_items, width))

    signs = unpack(packed)

    assert signs.dtype == np.int8
    assert signs.tolist() == [[2 * bit - 1 for bit in plain_bits(code)] for code in packed]
    assert np.array_equal(pack(signs), packed)


def test_unpack_gives_signs_in_the_type_asked_for():
    signs = unpack(np.array([[0b10100000]], dtype=np.uint8), np.float32)

    assert signs.dtype == np.float32
    assert signs.tolist() == [[1, -1, 1, -1, -1, -1, -1, -1]]


@given(st.data(), st.integers(0, 3), st.integers(0, 4), code_bytes)
def test_hamming_counts_the_bits_that_differ(data, n_queries, n_items, width):
    queries = data.draw(codes(n_queries, width))
    database = data.draw(codes(n_items, width))

    distances = hamming(queries, database)

    assert distances.shape == (n_queries, n_items)
    assert distances.tolist() == [
        [
            sum(a != b for a, b in zip(plain_bits(query), plain_bits(item), strict=True))
            for item in database
        ]
        for query in queries
    ]


@pytest.mark.parametrize("width", [1, 2, 3, 4, 6, 8, 12, 128])
def test_hamming_of_opposite_codes_is_their_length(width):
    zeros = np.zeros((1, width), dtype=np.uint8)

    assert hamming(zeros, ~zeros).tolist() == [[8 * width]]


def test_hamming_reads_rows_that_are_not_contiguous():
    wide = np.arange(64, dtype=np.uint8).reshape(4, 16)

    assert np.array_equal(
        hamming(wide[:, ::2], wide[::-1, ::2]), hamming(wide[:, ::2].copy(), wide[::-1, ::2].copy())
    )


def test_hamming_refuses_codes_of_different_lengths():
    with pytest.raises(InputError, match="queries have 8 bits and the database has 16"):
        hamming(np.zeros((1, 1), np.uint8), np.zeros((1, 2), np.uint8))


@given(st.data(), st.integers(1, 12), code_bytes)
def test_distinct_lists_every_code_once_and_says_whose_it_is(data, n_items, width):
    given_codes = data.draw(codes(n_items, width))

    found, number = distinct(given_codes)

    rows = [tuple(code) for code in given_codes.tolist()]
    assert [tuple(code) for code in found.tolist()] == sorted(set(rows))
    assert np.array_equal(found[number], given_codes)


def test_distinct_of_no_codes_is_empty():
    found, number = distinct(np.zeros((0, 4), dtype=np.uint8))

    assert found.shape == (0, 4)
    assert len(number) == 0
