"""Comparisons of two systems, rankings and best–worst choices: models, answers and plans."""

from ordbridge.preferences.model import PreferenceFit, prefer
from ordbridge.preferences.table import PairTable, pair_table

__all__ = ["PairTable", "PreferenceFit", "pair_table", "prefer"]
