"""Hypothesis strategies for what omhash takes: codes, views, labels."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse

# A busy machine is no failure.
settings.register_profile("omhash", deadline=None)
settings.load_profile("omhash")

NAMES = ("ant", "bee", "cat", "dog", "eel")

seeds = st.integers(0, 2**32 - 1)

code_bytes = st.one_of(st.integers(1, 24), st.sampled_from([32, 33, 64, 127, 128]))
"""Bytes a code: 8 to 1024 bits, most of them no multiple of 64."""


def codes(n_items, n_bytes):
    """Packed codes; small bytes are likely, so that equal codes are too."""
    small = npst.arrays(np.uint8, (n_items, n_bytes), elements=st.integers(0, 1))
    return small | npst.arrays(np.uint8, (n_items, n_bytes))


@st.composite
def matrices(draw, n_items, width):
    """A view in any of its forms: the input to give, and the same numbers as float64."""
    plain = draw(
        npst.arrays(np.int8, (n_items, width), elements=st.integers(-8, 8), fill=st.just(0))
    )
    form = draw(st.sampled_from(["i", "f2", "f4", "f8", "csr", "csc", "F"]))
    values = plain if form == "i" else plain / 4
    given = {
        "i": lambda: plain,
        "f2": lambda: values.astype(np.float16),
        "f4": lambda: values.astype(np.float32),
        "f8": lambda: values,
        "csr": lambda: sparse.csr_array(values),
        "csc": lambda: sparse.csc_matrix(values.astype(np.float32)),
        "F": lambda: np.asfortranarray(values),
    }[form]()
    return given, values.astype(np.float64)


@st.composite
def views(draw, n_items):
    """Views of some items in one to three modalities, and the same as float64 arrays."""
    widths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    drawn = {f"view {m}": draw(matrices(n_items, width)) for m, width in enumerate(widths)}
    given = {name: pair[0] for name, pair in drawn.items()}
    return given, {name: pair[1] for name, pair in drawn.items()}


def labels(n_items):
    """One collection of category names an item; some have none."""
    item = st.lists(st.sampled_from(NAMES), max_size=3)
    kind = st.sampled_from([list, tuple, set, frozenset])
    return st.lists(
        st.builds(lambda make, names: make(names), kind, item), min_size=n_items, max_size=n_items
    )
