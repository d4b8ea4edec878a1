"""Findings about raters and rating scales."""

from __future__ import annotations

from ordbridge.results.catalogue.kind import FindingKind

_MODEL = "Trust comparisons more than absolute ratings, and model each rater's level."
_LOOK = "Look for outlying raters, an unclear criterion or unclear instructions."
_MORE = "Collect more items, or more ratings of each item."

KINDS: dict[str, FindingKind] = {
    # agreement and correlation, read together
    "agree-and-rank-alike": FindingKind("note", "{who} use the scale alike and rank the items alike."),
    "agree-ranking-unclear": FindingKind(
        "note", "{who} use the scale alike; whether they rank the items alike is unclear."
    ),
    "agree-without-ranking": FindingKind(
        "note", "{who} choose the same few categories, which leaves hardly any ranking of items to agree on."
    ),
    "rank-alike-agreement-unclear": FindingKind(
        "note", "{who} rank the items alike; whether they use the scale alike is unclear.", _MODEL
    ),
    "rank-alike-levels-differ": FindingKind(
        "note", "{who} rank the items alike but use the scale differently.", _MODEL
    ),
    "agreement-and-ranking-unclear": FindingKind("warning", "too few ratings to tell how far {who} agree.", _MORE),
    "rank-differently-agreement-unclear": FindingKind(
        "warning", "{who} rank the items differently; whether they agree is unclear.", _LOOK
    ),
    "disagree-ranking-unclear": FindingKind(
        "warning", "{who} do not use the scale alike; whether they rank the items alike is unclear."
    ),
    "neither-agree-nor-rank-alike": FindingKind("warning", "{who} neither agree nor rank the items alike.", _LOOK),
    "raters-contradict": FindingKind(
        "warning",
        "{who} contradict each other: what one rates high another rates low.",
        "Check whether somebody read the scale the other way round.",
    ),
    "categories-agree": FindingKind("note", "{who} use the categories alike."),
    "categories-disagree": FindingKind("warning", "{who} agree too little to trust single ratings.", _LOOK),
    "category-agreement-unclear": FindingKind("warning", "too few ratings to tell how far {who} agree.", _MORE),
    # what makes coefficients mislead
    "few-shared-items": FindingKind(
        "warning",
        "only {n:of item} have two or more ratings: coefficients and intervals are rough.",
        about="Fewer than 30 items.",
    ),
    "dominant-category": FindingKind(
        "warning",
        "{share:.0%} of the ratings are {category!r}: κ and α can be near zero although raters nearly always agree.",
        "Read them beside percent agreement and Gwet's AC.",
        "At least 90 % of the ratings.",
    ),
    "no-common-items": FindingKind(
        "warning",
        "{missing:,} of {pairs:of pair} of raters have no item in common: their agreement is unknown.",
        "Prefer Krippendorff's α or Conger's κ, which do not need pairs.",
    ),
    "never-above": FindingKind(
        "warning",
        "rater {lower!r} is never above rater {higher!r} on {n:of common item} ({pairs:of such pair}).",
        "Check that these are the raters' own ratings.",
        "At least eight differences, all in one direction.",
    ),
    "sorted-within-items": FindingKind(
        "warning",
        "rater {lower!r} is never above rater {higher!r} on {n:of common item}, and so for all pairs: ratings look "
        "sorted within items, which inflates correlations.",
        "Get the ratings in their original order.",
        "Then a rater is a rank position, not a person, and no correlation is read.",
    ),
    "one-rater-group": FindingKind("warning", "the group has one rater ({participant!r}): agreement is not defined."),
    "texts-rated-twice": FindingKind(
        "warning",
        "{n:of rating} repeated by the same rater for the same {text}: the first counts, the others show stability.",
    ),
    "undefined-coefficients": FindingKind(
        "note", "no value of {coefficients:list}.", "The notes of the table say why."
    ),
    # raters
    "rater-stricter": FindingKind(
        "warning", "rater {participant} is stricter than the other raters by {points:.1f} points."
    ),
    "rater-milder": FindingKind(
        "warning", "rater {participant} is milder than the other raters by {points:.1f} points."
    ),
    "rater-inconsistent": FindingKind(
        "warning", "rater {participant} correlates only {consistency:.2f} with the other raters."
    ),
    "rater-reversed": FindingKind(
        "warning",
        "rater {participant} correlates {consistency:.2f} with the other raters, as if the scale were reversed.",
    ),
    "rater-constant": FindingKind("warning", "rater {participant} gave all {n:of item} the same rating."),
    "rater-disagrees": FindingKind(
        "warning", "rater {participant} agrees with {consistency:.0%} of the other raters' ratings."
    ),
    "many-outlying-raters": FindingKind(
        "warning",
        "{n} of {of:of rater} are outliers in level or consistency.",
        "The table of raters names them.",
        "At a false discovery rate of 5 %.",
    ),
    # components of variance
    "more-raters": FindingKind(
        "note", "{n} raters of each {text} would bring the reliability of averages to {estimate:r}."
    ),
    "components-of-some-items": FindingKind(
        "note", "variance components are those of {n:,} of {of:,} {texts}, chosen at random."
    ),
    "no-components": FindingKind("note", "variance components could not be estimated: {text}."),
    # few scores
    "raters-for-margin": FindingKind(
        "note", "a margin of {margin:g} needs {n:of rater}, if others differ as much as these."
    ),
    "raters-for-sure-margin": FindingKind(
        "note", "{n:of rater} would reach a margin of {margin:g} with a probability of {assurance:.0%}."
    ),
    "no-sure-margin": FindingKind("note", "no number of raters for a probability of {assurance:.0%}: {text}."),
    # rating scales compared
    "criteria-left-out": FindingKind("note", "left out, because not every scale has them: {criteria:list}."),
    "systems-not-ranked": FindingKind(
        "note", "not every rater rated {systems:list}, so Kendall's W is over the other systems."
    ),
    "no-kendalls-w": FindingKind("warning", "no agreement: {text}."),
    "systems-on-one-scale": FindingKind("note", "left out, because they are not on both scales: {systems:list}."),
    "no-correlation-of-scales": FindingKind("note", "no correlation of the system means: {text}."),
    "unbalanced-factor": FindingKind(
        "note",
        "the design is unbalanced: F of {factor} is {adjusted:.2f} adjusted for the other factors, {F:.2f} without.",
    ),
    "systems-not-in-measure": FindingKind(
        "note", "left out, because they are not in both the ratings and the outside measure: {systems:list}."
    ),
    "no-validity": FindingKind("note", "no correlation with the outside measure: {text}."),
    "anova-not-significant": FindingKind(
        "note", "systems do not differ overall ({p:p}), so no pair counts as different."
    ),
}
