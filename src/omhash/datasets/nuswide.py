"""NUS-WIDE: 195,834 pictures with words and the 21 commonest categories."""

from __future__ import annotations

from .published import Published

NUSWIDE = Published(
    name="NUS-WIDE",
    file="NUSWIDE21_deep.mat",
    vectors="nus_gt_vec",
    categories=(
        *("sky", "clouds", "person", "water", "animal", "grass", "buildings", "window"),
        *("plants", "lake", "ocean", "road", "flowers", "sunset", "reflection", "rocks"),
        *("vehicle", "snow", "tree", "beach", "mountain"),
    ),
    n_queries=2000,
    round_size=10_000,
    by_frequency=False,
    overlap=(*((number,) for number in range(1, 20)), (20, 21)),
    non_overlap=(
        *((1,), (3,), (5,), (2, 10), (4, 6, 7), (8, 9), (11, 12, 13)),
        tuple(range(14, 22)),
    ),
)
