"""Findings of power studies, of settings from past studies, and of reproductions."""

from __future__ import annotations

from ordbridge.results.catalogue.kind import FindingKind

KINDS: dict[str, FindingKind] = {
    "fits-failed": FindingKind("warning", "{failed:,} of {n:,} fits failed; they count as not significant."),
    "every-fit-failed": FindingKind(
        "error", "every fit failed, most often: {text}", about="There is no power in these cells of the grid."
    ),
    "fits-missing": FindingKind(
        "warning", "{missing:of fit} are still missing.", "Run the same study again to continue."
    ),
    "false-positives": FindingKind(
        "warning",
        "significant in {size:.1%} of studies without a difference ({low:.1%} to {high:.1%}), more than {alpha:.0%}.",
        "Compare models by their size-adjusted power.",
    ),
    "audit-agrees": FindingKind(
        "note", "{compared:,} fits compared with R: p differs by {largest:.2g} at most, relatively."
    ),
    "audit-differs": FindingKind(
        "warning",
        "{compared:,} fits compared with R: {differ:of decision} differ; p differs by more than 1% in "
        "{over_1_percent:,}.",
    ),
    "group-missing": FindingKind("warning", "variation between {group}s is left out: not every rating has a {group}."),
    "few-repeated-levels": FindingKind(
        "warning",
        "variation between {group}s is left out: {n} {group}s have two or more ratings, and a variance needs {needed}.",
    ),
    "few-shared-levels": FindingKind(
        "warning",
        "the {group}s' slopes cannot be estimated and are left out: {n} {group}s occur under both {system_a} and "
        "{system_b}.",
    ),
    "few-repeated-under": FindingKind(
        "warning",
        "the {group}s' slopes cannot be estimated and are left out: {n} {group}s have two ratings or more under "
        "{system}.",
    ),
    "other-grouping": FindingKind(
        "warning",
        "{column} groups the ratings, too; what varies with it is in the variances of participants and items.",
    ),
    "study-not-fitted": FindingKind("warning", "left out, because the model could not be fitted: {text}"),
    "study-not-converged": FindingKind(
        "note", "{formula} did not converge.", "Look at its numbers before you use them."
    ),
    "study-singular": FindingKind("note", "{formula} is singular: a variance is 0 or a correlation ±1."),
    "other-scale": FindingKind(
        "warning",
        "it has {categories} categories, the settings {others}: it is in the tables, but not in the settings.",
    ),
    "no-intercepts-seen": FindingKind(
        "note", "no dataset shows how {group}s vary: that variance is 0 here, which makes power look too high."
    ),
    "no-slopes-seen": FindingKind(
        "note",
        "no dataset shows how the effect varies between {group}s: that variance is 0 here, which makes power look too "
        "high.",
    ),
    "many-systems": FindingKind(
        "warning",
        "it has {systems} systems, a setting two: all slopes are summarised, correlations between slopes left out.",
    ),
    "one-dataset": FindingKind(
        "note", "there is one dataset: the settings differ at most by the slopes of its systems."
    ),
    "mixed-signs": FindingKind(
        "note",
        "of {n:of effect}, {above} are above 0 and {below} below: the settings have the sign of their mean.",
        about="The first system is the first by name.",
    ),
    "correlation-at-limit": FindingKind(
        "warning",
        "the {group}s' correlation of intercepts and slopes of {term} is {correlation:+.0f}, so not identified; "
        "{limit:g} is taken.",
    ),
    "correlation-left-out": FindingKind(
        "warning",
        "the {group}s' correlation of intercepts and slopes of {term} is {correlation:+.0f}, so not identified; it is "
        "left out of the mean.",
    ),
    "simulated-settings": FindingKind(
        "warning",
        "the settings were fitted to the paper's numbers; that these come out says nothing for or against the paper.",
        about="The paper's own ratings are not available; what is called simulated comes from settings of ours.",
    ),
    "other-judges": FindingKind(
        "warning",
        "the file has {judges:of judge}; the paper's Tables 6 and 7 are about six others, so numbers differ.",
    ),
}
