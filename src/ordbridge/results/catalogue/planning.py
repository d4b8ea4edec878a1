"""Findings of planning."""

from __future__ import annotations

from ordbridge.results.catalogue.kind import FindingKind

KINDS: dict[str, FindingKind] = {
    "observed-effect": FindingKind(
        "warning",
        "the effect is the one observed in the pilot; power at the observed effect only repeats the pilot's p-value.",
        "Plan with the smallest effect that would matter (`effect`).",
    ),
    "pilot-uncertain": FindingKind(
        "warning",
        "the pilot has {participants:of rater} and {items:of item}, so its variances are uncertain: power {low:.0%} to "
        "{high:.0%}.",
        about="The middle 80 % of draws from the sampling distribution of the pilot's estimates.",
    ),
    "assumed-variances": FindingKind(
        "note", "assumes raters and items vary as in {source}; if raters vary 50% more: power {power:.0%}."
    ),
    "undecided-designs": FindingKind(
        "note",
        "too close to {target:.0%} to call: {designs:list}.",
        "About {more:,} more datasets would decide (`datasets`, `max_per_design`).",
        about="Cheaper designs, or smaller effects, that may be enough, the first few by name.",
    ),
    "undecidable-designs": FindingKind(
        "note",
        "too close to {target:.0%} to call with any reasonable number of datasets: {designs:list}.",
    ),
    "likely-design": FindingKind(
        "note",
        "{design} should have {power:.0%} power.",
        "About {more:,} more datasets would show it (`datasets`).",
        about="No design was shown to reach the target; this one was not simulated, and should.",
    ),
    "critical-value": FindingKind(
        "note",
        "significant means p < {critical_value:.3g}: p < {alpha:g} would give {size:.1%} false positives "
        "({low:.1%} to {high:.1%}, {n:,} datasets).",
        about="The critical value keeps the level of the test: it comes from simulated studies of the same design in "
        "which nothing differs (for equivalence, in which systems differ by the margin).",
    ),
    "liberal-test": FindingKind(
        "warning",
        "with {participants:of rater} this test gives {size:.1%} false positives ({low:.1%} to {high:.1%}, {n:,} "
        "datasets), more than {alpha:.0%}.",
        "More raters, a likelihood ratio test of any difference, or lmer with REML keep the level better.",
    ),
    "type-one-error": FindingKind(
        "note", "the test gives {size:.1%} false positives ({low:.1%} to {high:.1%}, {n:,} datasets)."
    ),
    "all-criteria": FindingKind(
        "note",
        "power is that of finding the difference on all {criteria} criteria after Holm's correction; their tests are "
        "assumed to correlate {correlation:g}.",
    ),
    "recruit-more": FindingKind("note", "recruit {recruit:of participant}: {loss:.0%} will be lost."),
    "hourly-wage": FindingKind(
        "note",
        "a participant earns {currency}{hourly:,.2f} an hour: {currency}{pay:,.2f} for {texts:of text}, about "
        "{minutes:.0f} minutes.",
    ),
    "planned-model-not-converged": FindingKind(
        "warning", "the planned model did not converge, so its test says little.", "Look at the ratings themselves."
    ),
    "no-level-left": FindingKind(
        "warning", "nothing of the level is left for this look, so the study cannot stop here."
    ),
    "unplanned-look": FindingKind(
        "note", "this look was not planned: its boundary comes from the Lan–DeMets spending function."
    ),
    "look-size-differs": FindingKind(
        "note", "look {look} was planned at {planned:of participant}, and there are {participants:,}."
    ),
    "boundary-after-unplanned-looks": FindingKind(
        "note", "there were unplanned looks, so the boundary comes from the Lan–DeMets spending function."
    ),
    "study-ended": FindingKind(
        "note",
        "the study ended with {ended:of participant}; the ratings now (of {participants:of participant}) do not change "
        "its answer.",
    ),
}
