"""Comparisons of two systems, rankings and best–worst choices: models, answers and plans."""

from ordbridge.preferences.answer import compare_preferences
from ordbridge.preferences.fit_result import PreferenceFit
from ordbridge.preferences.judge import PreferenceJudge, judge_preferences
from ordbridge.preferences.model import prefer
from ordbridge.preferences.rankings import best_worst_pairs
from ordbridge.preferences.result import PreferenceComparison
from ordbridge.preferences.sample_size import (
    PreferencePlan,
    comparison_sheet,
    next_pairs,
    pilot_of,
    plan_comparisons,
)
from ordbridge.preferences.table import PairTable, pair_table

__all__ = [
    "PairTable",
    "PreferenceComparison",
    "PreferenceFit",
    "PreferenceJudge",
    "PreferencePlan",
    "best_worst_pairs",
    "compare_preferences",
    "comparison_sheet",
    "judge_preferences",
    "next_pairs",
    "pair_table",
    "pilot_of",
    "plan_comparisons",
    "prefer",
]
