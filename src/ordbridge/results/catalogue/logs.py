"""Findings about logs of evaluation harnesses."""

from __future__ import annotations

from ordbridge.results.catalogue.kind import FindingKind

__all__ = ["KINDS"]

KINDS: dict[str, FindingKind] = {
    "answers-with-errors": FindingKind(
        "warning", "left out because of errors: {counts} (in {items:list}).", "", "answers that have no score"
    ),
    "errors-as-wrong": FindingKind(
        "note", "with errors counted as wrong, {a} – {b} is {difference:+.1f} points instead of {without:+.1f}."
    ),
    "errors-counted-wrong": FindingKind("warning", "counted as wrong because of errors: {counts}."),
    "answers-unscored": FindingKind("warning", "left out without a score: {counts}."),
    "answers-at-limit": FindingKind("note", "stopped at a limit, and scored: {counts}."),
    "no-answers": FindingKind("note", "refused or without an answer, and counted as wrong: {counts}."),
    "items-not-shared": FindingKind("note", "{n:of item} left out of {all:,}: not scored for every model."),
    "few-shared": FindingKind(
        "warning",
        "only {n} of {all:,} items are scored for every model.",
        "Complete the run of {model}, or leave it out.",
    ),
    "few-log-items": FindingKind("warning", "{n:of item} only: the interval is rough."),
    "few-clusters": FindingKind("warning", "{n:of cluster} only: the standard error is rough."),
    "constant-difference": FindingKind(
        "warning", "{a} and {b} differ by the same amount on every item: there is no test and no interval."
    ),
    "direction-by-name": FindingKind(
        "warning",
        "lower is taken as better for {scorer}, because of its name.",
        "If that is wrong, give `higher_is_better`.",
    ),
    "scorer-chosen": FindingKind(
        "note", "compared by {scorer}, which every task has.", "Also in the logs: {others:list} (`scorer`)."
    ),
    "test-and-interval": FindingKind(
        "note", "test and interval of {a} – {b} disagree: they are two methods, and this is a borderline case."
    ),
    "run-noise": FindingKind(
        "note", "{share:.0%} of the variance of item differences is noise of single runs: {helps}."
    ),
    "one-epoch": FindingKind("note", "one epoch: noise of single runs cannot be told from differences between items."),
    "unequal-epochs": FindingKind("note", "models have different numbers of epochs; items count equally."),
    "judge-scores": FindingKind(
        "note", "the points of {judge} only: the logs have no scores by people.", "", "scores that a model gave"
    ),
    "tasks-not-shared": FindingKind("note", "left out, because only one model has them: {tasks:list}."),
    "log-unfinished": FindingKind(
        "warning", "the run of {model} did not finish (status {status}): {n:of answer} are there."
    ),
    "failed-runs": FindingKind("note", "{n:of unfinished run} of {model} left out: a finished one is there."),
    "older-runs": FindingKind("note", "{n:of earlier run} of {model} left out."),
    "runs-as-epochs": FindingKind("note", "{n:of run} of {model} are counted as epochs."),
    "items-differ": FindingKind(
        "warning",
        "{n:of id} (such as {items:list}) stand for different questions in different logs: these are not paired.",
        "Run all models on the same version of the task.",
    ),
    "clusters-possible": FindingKind(
        "note",
        "{items:,} items have {n} values of {field}.",
        "If items with the same value belong together, give `cluster`.",
    ),
    "repeated-lines": FindingKind("note", "{n:of repeated line} of {model} counted once."),
    "edited-scores": FindingKind("warning", "people edited {n:of score} of {model}; the edited values are compared."),
    "scorers-not-numbers": FindingKind("note", "not compared, because their values are not numbers: {names:list}."),
    "pass-at-left-out": FindingKind("note", "{n:of item} left out: fewer than {k} answers are scored."),
    "worse-than-margin": FindingKind(
        "error", "{new} is worse than {old} by more than {margin:of point}: {worst:.1f} or more below it."
    ),
    "not-clearly-worse": FindingKind("note", "{new} is not clearly worse than {old} by more than {margin:of point}."),
    "latent-model": FindingKind(
        "note", "R's clmm with (model | item): {a} – {b} is {estimate:+.2f} on the latent scale ({p:p}, uncorrected)."
    ),
    "no-latent-model": FindingKind("warning", "no ordinal model: {text}."),
}
