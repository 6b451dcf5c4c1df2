"""Measures written out item by item, in exact arithmetic, to compare with."""

from fractions import Fraction
from itertools import permutations, product
from math import log2


def bits(code):
    return [byte >> (7 - place) & 1 for byte in code.tolist() for place in range(8)]


def distance(query, item):
    return sum(a != b for a, b in zip(bits(query), bits(item), strict=True))


def score(projection, item):
    signs = (1 if bit else -1 for bit in bits(item))
    return sum(Fraction(float(p)) * s for p, s in zip(projection, signs, strict=True))


def order(levels):
    return sorted(range(len(levels)), key=lambda item: (levels[item], item))


def shared(query_labels, item_labels):
    return sum(1 for a, b in zip(query_labels, item_labels, strict=True) if a and b)


def average_precision(relevant, k=None):
    """`relevant`: of items in ranked order."""
    wanted = sum(relevant) if k is None else min(k, sum(relevant))
    total, found = Fraction(0), 0
    for rank, hit in enumerate(relevant[:k], start=1):
        if hit:
            found += 1
            total += Fraction(found, rank)
    return float(total / wanted) if wanted else 0.0


def tied_average_precision(levels, relevant):
    """The mean over every order of every tie; levels and relevance in database order."""
    ties = [[i for i in order(levels) if levels[i] == level] for level in sorted(set(levels))]
    values = [
        average_precision([relevant[i] for tie in choice for i in tie])
        for choice in product(*(permutations(tie) for tie in ties))
    ]
    return sum(values) / len(values)


def precision(relevant, k):
    return sum(relevant[:k]) / k


def recall(relevant, k):
    return sum(relevant[:k]) / sum(relevant) if any(relevant) else 0.0


def ndcg(gains, k=None):
    def discounted(values):
        return sum(gain / log2(rank + 1) for rank, gain in enumerate(values[:k], start=1))

    best = discounted(sorted(gains, reverse=True))
    return discounted(gains) / best if best else 0.0


def precision_within(distances, relevant, radius):
    near = [hit for d, hit in zip(distances, relevant, strict=True) if d <= radius]
    return sum(near) / len(near) if near else 0.0
