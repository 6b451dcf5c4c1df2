"""Words to features: any text at any time, the same in any company."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omhash.encoders import HashedWords, Words, WordVectors
from omhash.errors import InputError, ParameterError

ENCODERS = [HashedWords(256), WordVectors(), Words(256)]
TEXTS = st.text(min_size=1, max_size=60).filter(str.strip)


def dense(features):
    return features if isinstance(features, np.ndarray) else features.toarray()


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda encoder: encoder.name)
@settings(max_examples=30, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=8))
def test_a_text_has_the_same_features_alone_and_in_any_batch(encoder, texts):
    together = dense(encoder.encode(texts))
    assert together.shape == (len(texts), encoder.width)
    assert np.isfinite(together).all()
    alone = np.vstack([dense(encoder.encode([text])) for text in texts])
    assert np.array_equal(together, alone)


def test_hashed_words_are_the_same_on_every_machine():
    """Places and signs of words, written down: a collection lives longer than a process."""
    row = HashedWords(2048).encode(["Red apple, red!"]).toarray()[0]
    places = np.flatnonzero(row)
    assert dict(zip(places.tolist(), row[places].astype(float).round(4).tolist(), strict=True)) == {
        144: 0.4472,
        259: -0.8944,
    }


def test_hashed_words_count_words_and_nothing_else():
    encoder = HashedWords(4096)
    a, b, both, twice = encoder.encode(
        ["apple", "tree", "tree apple", "apple apple tree"]
    ).toarray()
    assert np.allclose(both, (a + b) / np.sqrt(2))
    assert np.allclose(twice, (2 * a + b) / np.sqrt(5))


def test_words_are_the_vectors_and_the_hashed_words():
    text = ["a dog in the snow"]
    whole = Words(128).encode(text)
    assert np.array_equal(whole[:, :256], WordVectors().encode(text))
    assert np.array_equal(whole[:, 256:], HashedWords(128).encode(text).toarray())


def test_texts_that_mean_much_the_same_are_near():
    puppy, dog, car, lorry = WordVectors().encode(["a puppy", "DOG", "a car", "lorry"])
    assert puppy @ dog > max(puppy @ car, dog @ lorry)
    assert np.allclose(np.linalg.norm([puppy, dog, car, lorry], axis=1), 1)


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda encoder: encoder.name)
@pytest.mark.parametrize("wrong", ["", " \n", None, 7, b"dog", ["dog"]])
def test_what_is_no_text_is_an_error_that_says_which_item(encoder, wrong):
    with pytest.raises(InputError, match=r"item 1: .*text"):
        encoder.encode(["dog", wrong])


def test_no_texts_have_no_features():
    assert [encoder.encode([]).shape[0] for encoder in ENCODERS] == [0, 0, 0]


def test_a_width_below_one_is_refused():
    with pytest.raises(ParameterError, match="width"):
        HashedWords(0)
