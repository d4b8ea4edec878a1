"""Findings of comparisons."""

from __future__ import annotations

from ordbridge.results.catalogue.kind import FindingKind

KINDS: dict[str, FindingKind] = {
    "ratings-have-errors": FindingKind(
        "error",
        "the ratings have errors, so there is no answer.",
        "Correct them; to ignore this, add `force`.",
    ),
    "no-answer": FindingKind(
        "error", "no answer: {reason}.", "Give another model or formula, or leave this criterion out."
    ),
    "not-usable": FindingKind(
        "error", "not usable: {reason}.", "Give another model or formula, or leave this criterion out."
    ),
    "latent-disagrees": FindingKind(
        "warning",
        "on the latent scale the answer differs for {pairs}. Systems that spread differently can do that, and so can "
        "few raters.",
    ),
    "plain-means": FindingKind(
        "warning", "the model of all systems could not be fitted ({reason}): expected ratings are plain means"
    ),
    "not-compared": FindingKind("warning", "not compared, because the design cannot tell them apart: {pairs}"),
    "no-column-for": FindingKind(
        "note", "there is no column for the {role}: ratings count as if each came from another {role}"
    ),
    "one-level-only": FindingKind("note", "there is one {role} only, so that the answer is about this one"),
    "two-levels-only": FindingKind(
        "note", "there are {n} {role}s only: they are fixed effects, and the answer is about these"
    ),
    "no-latent-difference": FindingKind("note", "{what}: the latent scale has no finite difference"),
    "latent-separated": FindingKind(
        "note", "{what}, which no finite coefficient describes: differences have likelihood ratio tests"
    ),
    "no-ordinal-answer": FindingKind("note", "the ordinal model has no answer ({reason})"),
    "slopes-not-chosen": FindingKind(
        "note", "random effects could not be chosen ({reason}), so that there are no slopes"
    ),
    "slopes-not-needed": FindingKind(
        "note", "the data do not show that differences between systems vary from {role} to {role} (p > .2)"
    ),
    "native-linear-fit": FindingKind(
        "note", "R's search did not reach the optimum of a linear model: the native fit was used"
    ),
    "native-fit": FindingKind("note", "R's search stopped below the optimum: the native fit was used"),
    "started-natively": FindingKind("note", "R's optimiser was started at the optimum of the native engine"),
    "model-given-up": FindingKind("note", "{formula} {problem}"),
    "df-from-levels": FindingKind(
        "warning",
        "Satterthwaite's degrees of freedom could not be computed: the {levels} levels of {group} less one were used",
    ),
    "bootstrap-used": FindingKind(
        "note",
        "p-values come from the likelihood ratio with Bartlett's correction ({draws} simulated datasets): with {few} "
        "Wald's test, which R prints, rejects too often",
    ),
    "student-used": FindingKind(
        "note",
        "p-values and intervals have Student's t with {df} degrees of freedom, those of the linear mixed model with "
        "the same terms.",
        "For z give `test` wald.",
    ),
    "exact-used": FindingKind("note", "systems that always have the same rating were compared by an exact test"),
    "no-interval": FindingKind("note", "a system that always has the same rating has no interval"),
    # plans
    "unplanned-system": FindingKind("warning", "the plan has no system {systems}"),
    "system-missing": FindingKind("warning", "the planned system {systems} is not in the data"),
    "criteria-differ": FindingKind("warning", "{planned} criteria were planned, there are {seen}"),
    "count-differs": FindingKind("warning", "{planned} {what} were planned, there are {seen}"),
    "ratings-per-text-differ": FindingKind(
        "warning", "{planned:g} ratings per text were planned, there are {seen:.3g} on average"
    ),
    "categories-differ": FindingKind("warning", "a scale of {planned} categories was planned, the ratings have {seen}"),
    "item-seen-twice": FindingKind(
        "warning",
        "nobody was to see an item twice; {n:of rating} of an item that the participant had already rated",
    ),
}
