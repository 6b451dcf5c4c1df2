"""How well codes find: measures, the protocol that records them, and reports."""

from ._ranking import AsymmetricRanking, HammingRanking
from .metrics import evaluate, mean_average_precision
from .protocol import Asked, RoundResult, Run, rounds, run
from .report import figure, table, to_json

__all__ = [
    "Asked",
    "AsymmetricRanking",
    "HammingRanking",
    "RoundResult",
    "Run",
    "evaluate",
    "figure",
    "mean_average_precision",
    "rounds",
    "run",
    "table",
    "to_json",
]
