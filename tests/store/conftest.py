"""Searching by the definition stands with the tests of the index."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "index"))
