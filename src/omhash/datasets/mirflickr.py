"""MIRFlickr: 20,015 pictures with words and 24 categories."""

from __future__ import annotations

from .published import Published

MIRFLICKR = Published(
    name="MIRFlickr",
    file="MIRFLICKR_deep.mat",
    vectors="mir_gt_vec",
    # "water" is spelled "wate" in the authors' list of names.
    categories=(
        *("animals", "baby", "bird", "car", "clouds", "dog", "female", "flower"),
        *("food", "indoor", "lake", "male", "night", "people", "plant", "portrait"),
        *("river", "sea", "sky", "structures", "sunset", "transport", "tree", "water"),
    ),
    n_queries=2000,
    round_size=2000,
    by_frequency=True,
    overlap=(
        *((1,), (2, 3, 4), (5, 6), (7, 8), (9, 10), (11, 12), (13, 14)),
        *((15, 16, 17), (18, 19, 20), (21, 22, 23, 24)),
    ),
    non_overlap=((5,), (1, 2), (3, 4, *range(6, 12)), tuple(range(12, 25))),
)
