"""From a table of answers to the comparison: a test for each task and pair of models, corrected over all of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.logs import paired
from ordbridge.logs.paired import Paired
from ordbridge.logs.result import LogComparison
from ordbridge.logs.table import about
from ordbridge.logs.tasks import ERRORS, LOWER_WORDS, TaskScores, chosen_scorers, task_scores
from ordbridge.models.inference.adjust import with_alphas
from ordbridge.results.finding import Finding, found, worst_first
from ordbridge.support.arguments import choice, number, proportion, whole
from ordbridge.support.formatting import enumerated
from ordbridge.support.naming import arg

__all__ = ["LogQuestion", "ModelPair", "compare_table", "compared", "pairs_of", "scored_tasks"]

ADJUST = ("holm", "bonferroni", "sidak", "fdr", "none")
FEW_ITEMS, FEW_CLUSTERS, SHARED = 20, 10, 0.8
MODELS = ("clmm",)


@dataclass(frozen=True)
class LogQuestion:
    """What a comparison of logs is asked for; see :func:`ordbridge.logs.compare`."""

    scorer: str | Sequence[str] | None = None
    task: str | Sequence[str] | None = None
    reference: str | None = None
    adjust: str = "holm"
    conf_level: float = 0.95
    errors: str = "omit"
    pass_at: int | None = None
    lower_is_better: str | Sequence[str] | None = None
    higher_is_better: str | Sequence[str] | None = None
    fail_if_worse: float | None = None
    model: str | None = None
    engine: str = "r"

    def checked(self) -> LogQuestion:
        """Return itself, or say what is wrong."""
        choice("adjust", self.adjust, ADJUST)
        choice("errors", self.errors, ERRORS)
        proportion("conf_level", self.conf_level)
        if self.pass_at is not None:
            whole("pass_at", self.pass_at, least=1)
        if self.model is not None:
            choice("model", self.model, MODELS)
        if self.fail_if_worse is not None and number("fail_if_worse", self.fail_if_worse) < 0:
            raise InputError(
                f"{arg('fail_if_worse', self.fail_if_worse)} must not be negative: it is how much worse is allowed"
            )
        return self


@dataclass(frozen=True, eq=False)
class ModelPair:
    """Two models in one task."""

    scores: TaskScores
    a: str
    b: str
    found: Paired


def compare_table(table: pa.Table, asked: LogQuestion) -> LogComparison:
    """Compare the models of a table that :func:`ordbridge.logs.read` returned."""
    asked = asked.checked()
    known = about(table)
    tasks, noticed = scored_tasks(table, known, asked)
    pairs = [pair for scores in tasks for pair in pairs_of(scores, asked)]
    if not pairs:
        raise InputError("no task has answers of two models by the same scorer; give logs of two models")
    alpha = 1.0 - asked.conf_level
    p_values = np.array([1.0 if pair.found.p_value is None else pair.found.p_value for pair in pairs])
    adjusted, alphas = with_alphas(p_values, asked.adjust, alpha)
    rows = [_row(pair, p, level, alpha) for pair, p, level in zip(pairs, adjusted, alphas, strict=True)]
    noticed += [one for scores in tasks for one in _of_task(scores, known, asked)]
    noticed += [one for pair, row in zip(pairs, rows, strict=True) for one in _of_pair(pair, row, alpha, asked)]
    if asked.fail_if_worse is not None:
        noticed += _gate(rows, tasks, asked.fail_if_worse, asked.reference)
    settings = {
        "scorer": sorted({scores.scorer for scores in tasks}), "adjust": asked.adjust, "conf_level": asked.conf_level,
        "errors": asked.errors, "pass_at": asked.pass_at, "reference": asked.reference, "comparisons": len(rows),
        "fail_if_worse": asked.fail_if_worse,
    }  # fmt: skip
    scores_rows = [_scores_row(scores, model, alpha) for scores in tasks for model in scores.models]
    return LogComparison(
        pa.Table.from_pylist(rows), pa.Table.from_pylist(scores_rows), pa.Table.from_pylist(known["logs"]),
        worst_first([*noticed, *known["findings"]]), settings,
    )  # fmt: skip


def scored_tasks(table: pa.Table, known: dict[str, Any], asked: LogQuestion) -> tuple[list[TaskScores], list[Finding]]:
    """Return the scores of every task that can be compared, and what was decided on the way."""
    noticed: list[Finding] = []
    wanted = [asked.task] if isinstance(asked.task, str) else asked.task
    if wanted is not None:
        import pyarrow.compute as pc

        there = dict.fromkeys(one["task"] for one in known["logs"])
        if missing := [name for name in wanted if name not in there]:
            raise InputError(f"no log has the task {missing[0]!r}; there are {enumerated(there)}")
        table = table.filter(pc.is_in(table["task"], pa.array(list(wanted))))
    chosen, others = chosen_scorers(table, asked.scorer)
    if others:
        noticed.append(found("scorer-chosen", scorer=next(iter(chosen.values()))[0], others=others))
    tasks, alone = [], []
    for task, scorers in chosen.items():
        for scorer in scorers:
            lower = _lower(scorer, known, asked, noticed)
            scores = task_scores(table, task, scorer, known, errors=asked.errors, k=asked.pass_at, lower=lower)
            if scores is None:
                alone.append(task)
            elif len(scores.items) < 2:
                raise InputError(
                    f"the models have {len(scores.items)} items of {task} in common that {scorer} scored; a comparison "
                    "needs at least 2. Check that all logs have the same samples"
                )
            else:
                tasks.append(scores)
    if not tasks:
        models = enumerated(dict.fromkeys(one["model"] for one in known["logs"]))
        raise InputError(f"no task has two models to compare; the logs are of {models}. Give logs of another model too")
    if alone and asked.fail_if_worse is not None:
        raise InputError(
            f"only one model has the task {alone[0]}, so it cannot be compared; run it, or name the others: "
            f"{arg('task')}"
        )
    if alone:
        noticed.append(found("tasks-not-shared", tasks=list(dict.fromkeys(alone))))
    return sorted(tasks, key=lambda scores: (scores.task, scores.scorer)), noticed


def _lower(scorer: str, known: dict[str, Any], asked: LogQuestion, noticed: list[Finding]) -> bool:
    """Tell whether lower scores are better: as asked, as the log says, or by the name."""
    for names, answer in ((asked.lower_is_better, True), (asked.higher_is_better, False)):
        if scorer in ([names] if isinstance(names, str) else names or ()):
            return answer
    if scorer in known["lower"] or scorer in known["higher"]:
        return scorer in known["lower"]
    words = scorer.lower().replace(",", "_").replace("-", "_").replace(".", "_").split("_")
    if any(word in LOWER_WORDS for word in words):
        noticed.append(found("direction-by-name", scorer=scorer))
        return True
    return False


def pairs_of(scores: TaskScores, asked: LogQuestion) -> list[ModelPair]:
    """Return all pairs of models of one task, or each with the reference, compared."""
    every = list(combinations(scores.models, 2))
    if asked.reference is not None:
        if asked.reference not in scores.models:
            raise InputError(
                f"no log of {scores.task} is of {asked.reference!r}; there are {enumerated(scores.models)}"
            )
        every = [(name, asked.reference) for name in scores.models if name != asked.reference]
    return [ModelPair(scores, a, b, compared(scores, a, b)) for a, b in every]


def compared(scores: TaskScores, a: str, b: str) -> Paired:
    """Compare two models by the test that fits: McNemar's, a paired t, or with clusters."""
    first, second = scores.mean[a], scores.mean[b]
    if scores.cluster is not None and len(set(scores.cluster)) < len(scores.items):
        if len(set(scores.cluster)) < 2:
            raise InputError(f"all items of {scores.task} are in one cluster, so nothing can be said about others")
        one = paired.clustered(first - second, scores.cluster)
    elif scores.binary and scores.one_epoch:
        one = paired.mcnemar(first, second)
    else:
        one = paired.paired_t(first - second)
    return paired.constant(first - second) if one.test == "none" and scores.percent else one


def _row(pair: ModelPair, p_adjusted: float, level: float, alpha: float) -> dict[str, Any]:
    scores, one, unit = pair.scores, pair.found, pair.scores.unit
    ends = one.interval(level)
    better = None
    if one.p_value is not None and p_adjusted < alpha and one.difference:
        better = pair.a if (one.difference > 0) != scores.lower else pair.b
    differences = scores.mean[pair.a] - scores.mean[pair.b]
    spread = float(differences.var(ddof=1))
    noise = None
    if not any(math.isnan(scores.within[m]) for m in (pair.a, pair.b)):
        both = (scores.within[pair.a], scores.within[pair.b]), (scores.epochs[pair.a], scores.epochs[pair.b])
        noise = paired.components(spread, *both)
    mcnemar = one.test == "mcnemar"
    return {
        "task": scores.task, "scorer": scores.scorer, "system_a": pair.a, "system_b": pair.b,
        "difference": unit * one.difference,
        "conf_low": None if ends is None else unit * ends[0], "conf_high": None if ends is None else unit * ends[1],
        "p_value": one.p_value, "p_adjusted": None if one.p_value is None else float(p_adjusted), "better": better,
        "std_error": unit * one.std_error, "df": None if math.isinf(one.df) else float(one.df),
        "statistic": one.statistic, "test": one.test, "items": len(scores.items), "clusters": one.clusters,
        "only_a": int((differences == 1).sum()) if mcnemar else None,
        "only_b": int((differences == -1).sum()) if mcnemar else None,
        "run_noise": noise, "variance": unit**2 * len(scores.items) * one.std_error**2,
        "detectable": unit * paired.detectable(one.std_error, one.df, level) if one.std_error else None,
        "percent": scores.percent, "lower_is_better": scores.lower, "interval_alpha": float(level),
    }  # fmt: skip


def _scores_row(scores: TaskScores, model: str, alpha: float) -> dict[str, Any]:
    mean, unit = scores.mean[model], scores.unit
    estimate, ends = float(mean.mean()), _own_interval(scores, mean, alpha)
    wrong = scores.troubles[model]
    return {
        "task": scores.task, "scorer": scores.scorer, "model": model, "estimate": unit * estimate,
        "conf_low": None if ends is None else unit * ends[0], "conf_high": None if ends is None else unit * ends[1],
        "items": len(scores.items), "epochs": scores.epochs[model], "reported": unit * scores.reported[model],
        "own_items": scores.items_of[model], "errors": wrong.get("error", 0), "unscored": wrong.get("unscored", 0),
        "limits": wrong.get("limit", 0), "no_answers": wrong.get("no answer", 0), "answers": scores.answers,
        "scored": scores.scored,
    }  # fmt: skip


def _own_interval(scores: TaskScores, mean: np.ndarray, alpha: float) -> tuple[float, float] | None:
    """Return the interval of one model: Wilson's for right and wrong in one epoch, otherwise t over items."""
    from scipy import stats

    clusters = scores.cluster is not None and len(set(scores.cluster)) < len(mean)
    if scores.binary and scores.one_epoch and not clusters:
        ends = stats.binomtest(int(mean.sum()), len(mean)).proportion_ci(1 - alpha, method="wilson")
        return float(ends.low), float(ends.high)
    one = paired.clustered(mean, scores.cluster) if clusters and scores.cluster is not None else paired.paired_t(mean)
    ends = one.interval(alpha)
    return None if ends is None else (max(0.0, ends[0]), min(1.0, ends[1])) if scores.percent else ends


def _of_task(scores: TaskScores, known: dict[str, Any], asked: LogQuestion) -> list[Finding]:
    """Return what one task should be read with."""
    noticed: list[Finding] = []
    of = scores.task if len({one["task"] for one in known["logs"]}) > 1 else ""
    codes = {"error": "answers-with-errors" if asked.errors == "omit" else "errors-counted-wrong",
             "unscored": "answers-unscored", "limit": "answers-at-limit", "no answer": "no-answers"}  # fmt: skip
    for trouble, code in codes.items():
        counts = {
            model: scores.troubles[model][trouble] for model in scores.models if scores.troubles[model].get(trouble)
        }
        if counts:
            said = ", ".join(f"{model} {n:,}" for model, n in counts.items())
            noticed.append(found(code, of, counts=said, items=list(scores.error_items[:3]) or ["–"]))
    n, everything = len(scores.items), scores.all_items
    if n < SHARED * everything:
        fewest = min(scores.models, key=lambda model: scores.items_of[model])
        noticed.append(found("few-shared", of, n=n, all=everything, model=fewest))
    elif n < everything:
        noticed.append(found("items-not-shared", of, n=everything - n, all=everything))
    if scores.too_few:
        noticed.append(found("pass-at-left-out", of, n=scores.too_few, k=asked.pass_at))
    clusters = n if scores.cluster is None else len(set(scores.cluster))
    if n < FEW_ITEMS:
        noticed.append(found("few-log-items", of, n=n))
    elif clusters < FEW_CLUSTERS:
        noticed.append(found("few-clusters", of, n=clusters))
    if len({round(scores.epochs[model]) for model in scores.models}) > 1:
        noticed.append(found("unequal-epochs", of))
    if scores.one_epoch:
        noticed.append(found("one-epoch"))
    if scores.scorer.partition(".")[0] in known["judges"]:
        noticed.append(found("judge-scores", of, judge=known["judges"][scores.scorer.partition(".")[0]]))
    return noticed


def _of_pair(pair: ModelPair, row: dict[str, Any], alpha: float, asked: LogQuestion) -> list[Finding]:
    """Return what one difference should be read with."""
    scores, noticed = pair.scores, []
    of = scores.task
    if row["p_value"] is None:
        noticed.append(found("constant-difference", of, a=pair.a, b=pair.b))
    elif row["conf_low"] is not None and (row["p_adjusted"] < alpha) != (row["conf_low"] > 0 or row["conf_high"] < 0):
        noticed.append(found("test-and-interval", of, a=pair.a, b=pair.b))
    if row["run_noise"] is not None:
        share = row["run_noise"]
        helps = "more epochs help" if share > 0.5 else "more items help more than epochs"
        noticed.append(found("run-noise", f"{of}, {pair.a} – {pair.b}" if len(scores.models) > 2 else of, share=share,
                             helps=helps))  # fmt: skip
    if asked.errors == "omit" and scores.percent and scores.error_items and asked.pass_at is None:
        wrong = _with_errors_wrong(pair)
        if wrong is not None:
            noticed.append(
                found("errors-as-wrong", of, a=pair.a, b=pair.b, difference=wrong, without=row["difference"])
            )
    if asked.model == "clmm":
        noticed += _latent(pair, asked.engine)
    return noticed


def _with_errors_wrong(pair: ModelPair) -> float | None:
    """Return the difference with errors as wrong answers, in points."""
    means = {}
    for model in (pair.a, pair.b):
        rows = pair.scores.rows[pair.scores.rows["model"] == model]
        sums = rows.groupby("sample")["score"].agg(["sum", "count"])
        failed = pair.scores.failures.get(model, {})
        for sample, n in failed.items():
            if sample in sums.index:
                sums.loc[sample, "count"] += n
            else:
                sums.loc[sample] = [0.0, n]
        means[model] = sums["sum"] / sums["count"]
    both = means[pair.a] - means[pair.b]
    return None if not any(pair.scores.failures.values()) else pair.scores.unit * float(both.dropna().mean())


def _latent(pair: ModelPair, engine: str) -> list[Finding]:
    """Fit R's ordinal model with random slopes of items; needs few different scores."""
    from ordbridge.models.api import clmm

    scores = pair.scores
    rows = scores.rows[scores.rows["model"].isin((pair.a, pair.b)) & scores.rows["sample"].isin(scores.items)]
    if not 2 <= rows["score"].nunique() <= 15:
        text = f"{scores.scorer} has {rows['score'].nunique()} different scores; a clmm needs 2 to 15"
        return [found("no-latent-model", scores.task, text=text)]
    data = {
        "score": pa.array(rows["score"]), "item": pa.array(rows["sample"]),
        "model": pa.array(["second" if one == pair.a else "first" for one in rows["model"]]),
    }  # fmt: skip
    formula = "score ~ model + (1 | item)" if scores.one_epoch else "score ~ model + (model | item)"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say is in the findings
            fit = clmm(formula, data, engine=engine)
    except (FitError, InputError) as error:
        return [found("no-latent-model", scores.task, text=str(error))]
    row = next(one for one in fit.tidy().to_pylist() if one["term"] == "modelsecond")
    values = {"a": pair.a, "b": pair.b, "estimate": row["estimate"], "p": row["p_value"], "std_error": row["std_error"]}
    return [found("latent-model", scores.task, **values, formula=formula), *fit.findings]


def _gate(rows: list[dict[str, Any]], tasks: list[TaskScores], margin: float, reference: str | None) -> list[Finding]:
    """Say in which tasks the first model is worse than the second by more than the margin."""
    models = list(dict.fromkeys(name for scores in tasks for name in scores.models))
    if len(models) != 2:
        raise InputError(f"fail_if_worse compares a new model with an old one; the logs have {enumerated(models)}")
    new, old = models if reference in (None, models[1]) else models[::-1]
    noticed = []
    for row in rows:
        sign = -1.0 if row["lower_is_better"] else 1.0
        ends = [row["difference"]] if row["conf_low"] is None else [row["conf_low"], row["conf_high"]]
        best = max(sign * end * (1 if row["system_a"] == new else -1) for end in ends)
        code = "worse-than-margin" if best < -margin else "not-clearly-worse"
        noticed.append(found(code, row["task"], new=new, old=old, margin=margin, worst=-best))
    return noticed
