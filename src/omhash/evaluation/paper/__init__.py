"""The paper's evaluation, whole: every table and figure, on any labelled data."""

from .data import ReportData
from .plan import Plan
from .report import SECTIONS, Outcome, chosen, make

__all__ = ["SECTIONS", "Outcome", "Plan", "ReportData", "chosen", "make"]
