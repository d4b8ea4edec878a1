"""Findings of preferences: comparisons, rankings, best–worst choices."""

from __future__ import annotations

from ordbridge.results.catalogue.kind import FindingKind

__all__ = ["KINDS"]

KINDS: dict[str, FindingKind] = {
    "no-verdict": FindingKind("note", "{n} of {all} comparisons have no answer: left out."),
    "preferences-no-column": FindingKind(
        "warning",
        "there is no column for the {role}: comparisons count as if each came from another {role}.",
        "Give the column if there is one.",
    ),
    "preferences-few-levels": FindingKind(
        "warning", "{n} {role}s only: the answer is about these, and not about new ones."
    ),
    "preferences-once": FindingKind(
        "note", "nearly every {role} has one comparison, so {role}s cannot vary in what they prefer."
    ),
    "preferences-too-many": FindingKind(
        "warning", "{role}s differ in {n:,} ways, too many to estimate: their variation is left out."
    ),
    "preferences-not-converged": FindingKind(
        "warning", "the search did not reach the optimum: do not trust the last digits."
    ),
    "tied-natively": FindingKind(
        "note", "one variance per grouping cannot be written as an R formula: the native engine fitted it."
    ),
}
