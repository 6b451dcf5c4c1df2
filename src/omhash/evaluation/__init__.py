"""How well codes find: measures, the protocol that records them, and reports."""

from ._ranking import AsymmetricRanking, HammingRanking
from .metrics import evaluate, mean_average_precision

__all__ = ["AsymmetricRanking", "HammingRanking", "evaluate", "mean_average_precision"]
