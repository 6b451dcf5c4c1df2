"""Recorded runs of the authors' own programs, and how to feed their draws."""

import numpy as np


class RecordedDraws:
    """A source of random numbers that gives the recorded ones, in their order.

    Where rounding decides how many columns a program draws, another number than the recorded
    one gets columns of our own.
    """

    def __init__(self, draws, rounding_decides=False):
        self.draws = list(draws)
        self.rounding_decides = rounding_decides

    def _next(self, shape):
        draw = self.draws.pop(0)
        if draw.shape != shape and self.rounding_decides and draw.shape[0] == shape[0]:
            return np.random.default_rng(0).standard_normal(shape)
        assert draw.shape == shape
        return draw

    def standard_normal(self, shape):
        return self._next(shape)

    def choice(self, n_items, n_chosen, replace):
        """Row numbers; the program draws them once, for both modalities."""
        assert not replace
        if not hasattr(self, "chosen"):
            self.chosen = self._next((n_chosen, 1)).ravel().astype(int) - 1
        assert len(self.chosen) == n_chosen
        assert self.chosen.max() < n_items
        return self.chosen

    def uniform(self, low, high, shape):
        return low + (high - low) * self._next(shape)


def run_of(shared, name):
    """All arrays of a recorded run."""
    with np.load(shared / "reference" / f"{name}.npz", allow_pickle=False) as recorded:
        return dict(recorded)


def draws_of(record, empty=True, **options):
    """Its draws in order, with or without those that drew nothing."""
    names = sorted(key for key in record if key.startswith("draw") and (empty or record[key].size))
    return RecordedDraws([record[name] for name in names], **options)


def result_of(record, number):
    """What one round gave, and the rows and columns that it was about."""
    start = f"round{number}_"
    return {
        key.removeprefix(start): value for key, value in record.items() if key.startswith(start)
    }


def views_of(items, rows):
    return {"image": items["image"][rows], "text": items["text"][rows]}


def apart(found, wanted):
    """The largest difference, relative to the largest value."""
    return np.abs(found - wanted).max() / np.abs(wanted).max()
