"""Comparisons of two systems, rankings and best–worst choices: models, answers and plans."""

from ordbridge.preferences.answer import compare_preferences
from ordbridge.preferences.model import PreferenceFit, prefer
from ordbridge.preferences.rankings import best_worst_pairs
from ordbridge.preferences.result import PreferenceComparison
from ordbridge.preferences.table import PairTable, pair_table

__all__ = [
    "PairTable",
    "PreferenceComparison",
    "PreferenceFit",
    "best_worst_pairs",
    "compare_preferences",
    "pair_table",
    "prefer",
]
