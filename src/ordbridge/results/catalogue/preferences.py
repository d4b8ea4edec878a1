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
    "always-wins": FindingKind(
        "warning",
        "{systems} never lost a point against the others: no finite strength exists.",
        "Compare closer opponents.",
    ),
    "always-loses": FindingKind(
        "warning",
        "{systems} never got a point against the others: no finite strength exists.",
        "Compare closer opponents.",
    ),
    "sign-test": FindingKind("note", "p comes from an exact sign test over {n} raters or items, whichever are fewer."),
    "items-ranked-once": FindingKind(
        "note", "the {n} items were ranked once each, so item preferences cannot be told from chance."
    ),
    "exploded-rankings": FindingKind(
        "warning",
        "the pairs come from rankings and are not independent: a plain Bradley–Terry test would reject too often.",
        "Standard errors here allow for it.",
    ),
    "position-unknown": FindingKind(
        "warning",
        "pairs are mostly shown in one order, so a preference for the first place would look like one for a system.",
        "Next time show both orders.",
    ),
    "position-bias": FindingKind(
        "warning", "what is shown first wins {share:.1f} % of the time between equals ({p:p}); win rates allow for it."
    ),
    "few-for-preferences": FindingKind(
        "warning", "{n} {role}s only: t tests with few degrees of freedom; conclusions about other {role}s are weak."
    ),
    "intransitive": FindingKind(
        "warning",
        "one strength per system does not describe all pairs ({p:p}): some systems beat others in circles.",
        "Read the table of pairs.",
    ),
    "preferences-wald": FindingKind(
        "warning",
        "with {n} {role}s Wald's test rejects too often.",
        "Use `compare`, whose t tests allow for it.",
    ),
    "naive-preferences": FindingKind(
        "note",
        "ignoring that raters and items vary, {naive} of {n} pairs would differ significantly, in place of {here}.",
    ),
    "too-few-for-plan": FindingKind(
        "warning",
        "some options have too few raters or items, however many comparisons each makes.",
        "With endless items at least {raters} raters are needed.",
    ),
    "repeated-comparisons": FindingKind(
        "warning",
        "{n:of comparison} repeat rater, item, order and answer of another.",
        "If rows were copied, leave the copies out.",
    ),
    "position-always": FindingKind(
        "warning",
        "what is shown first wins {share:.0f} % of the time, so the effect of position has no finite estimate.",
        "Win rates do not allow for it.",
    ),
}
