"""The scores of one task by one scorer: models side by side on the items that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.logs.paired import pass_at
from ordbridge.support.formatting import enumerated
from ordbridge.support.naming import arg

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ERRORS", "LOWER_WORDS", "TaskScores", "chosen_scorers", "task_scores"]

ERRORS = ("omit", "wrong")
LOWER_WORDS = (
    "error",
    "loss",
    "perplexity",
    "distance",
    "latency",
    "brier",
    "wer",
    "cer",
    "mae",
    "rmse",
    "mse",
    "cost",
)
"""Words in names of scorers whose lower values are better."""


@dataclass(frozen=True, eq=False)
class TaskScores:
    """Scores of one task by one scorer.

    Attributes
    ----------
    task, scorer
        Names.
    models
        In the order of the logs.
    items, cluster
        The items that every model has, and their clusters, if there are such.
    mean, count
        For each model and item: the mean over epochs, or pass@k, and the number of answers.
    within, epochs
        For each model: variance of the answers of one item (NaN with one epoch), harmonic mean of epochs.
    reported
        For each model: its mean over all items that it has, as harnesses report it.
    binary, percent, lower
        Only right and wrong; shown in per cent; lower is better.
    troubles
        For each model how many answers have which trouble.
    error_items
        Items with errors.
    all_items, answers, scored
        How many items some model has; answers in all, and those with a score.
    items_of
        For each model how many items have a score.
    too_few
        Items left out of pass@k.
    rows, failures
        The answers with a score; for each model how many answers of which item ended in errors.
    """

    task: str
    scorer: str
    models: tuple[str, ...]
    items: np.ndarray
    cluster: np.ndarray | None
    mean: dict[str, np.ndarray]
    count: dict[str, np.ndarray]
    within: dict[str, float]
    epochs: dict[str, float]
    reported: dict[str, float]
    binary: bool
    percent: bool
    lower: bool
    troubles: dict[str, dict[str, int]]
    error_items: tuple[str, ...]
    all_items: int
    items_of: dict[str, int]
    answers: int
    scored: int
    too_few: int
    rows: pd.DataFrame
    failures: dict[str, dict[str, int]]

    @property
    def unit(self) -> float:
        """How many points one unit of the score is."""
        return 100.0 if self.percent else 1.0

    @property
    def one_epoch(self) -> bool:
        """Whether every item has one answer by each model."""
        return all(int(count.max(initial=1)) == 1 for count in self.count.values())


def chosen_scorers(table: pa.Table, scorer: str | Sequence[str] | None) -> tuple[dict[str, list[str]], list[str]]:
    """Return the scorers to compare by, for each task, and the others.

    Without a name it is the only one of each task, or the only one that all tasks have.
    """
    pairs = table.group_by(["task", "scorer"], use_threads=False).aggregate([]).to_pylist()
    of_task: dict[str, list[str]] = {}
    for row in pairs:
        of_task.setdefault(row["task"], []).append(row["scorer"])
    everything = list(dict.fromkeys(name for names in of_task.values() for name in names))
    if scorer is not None:
        wanted = [scorer] if isinstance(scorer, str) else list(scorer)
        unknown = [name for name in wanted if name not in everything]
        if unknown:
            raise InputError(f"no log has the scorer {unknown[0]!r}; there are {enumerated(everything)}")
        chosen = {task: [name for name in wanted if name in names] for task, names in of_task.items()}
        return {task: names for task, names in chosen.items() if names}, []
    if all(len(names) == 1 for names in of_task.values()):
        return of_task, []
    common = [name for name in everything if all(name in names for names in of_task.values())]
    if len(common) == 1:
        return {task: common for task in of_task}, [name for name in everything if name not in common]
    raise InputError(
        f"the logs have several scorers ({enumerated(everything)}); say by which to compare: {arg('scorer')}"
    )


def task_scores(
    table: pa.Table, task: str, scorer: str, about: dict[str, Any], *, errors: str, k: int | None, lower: bool
) -> TaskScores | None:
    """Return the scores of one task, or None if fewer than two models have it."""
    import pandas as pd

    mine = table.filter(pc.and_(pc.equal(table["task"], task), pc.equal(table["scorer"], scorer)))
    frame = mine.select(["model", "sample", "epoch", "score", "cluster", "error"]).to_pandas()
    order = {one["model"]: place for place, one in reversed(list(enumerate(about["logs"])))}
    models = tuple(sorted(frame["model"].unique(), key=lambda name: order.get(name, len(order))))
    if len(models) < 2:
        return None
    values = frame["score"].dropna().unique()
    binary = bool(np.isin(values, (0.0, 1.0)).all())
    percent = scorer in about["percent"] or bool(np.isin(values, (0.0, 0.5, 1.0)).all())
    failed = frame["error"] == "error"
    if errors == "wrong":
        if not percent:
            raise InputError(
                f"{scorer} is not right or wrong, so errors cannot be counted as wrong; leave {arg('errors')} out"
            )
        frame.loc[failed, "score"] = 0.0
    if k is not None and not binary:
        raise InputError(f"pass@{k} needs answers that are right or wrong; {scorer} has other scores")
    answered = frame.dropna(subset=["score"])
    grouped = answered.groupby(["model", "sample"], sort=False)["score"]
    each = pd.DataFrame({"mean": grouped.mean(), "count": grouped.count(), "var": grouped.var(ddof=1)}).reset_index()
    too_few = 0
    if k is not None:
        enough = each["count"] >= k
        too_few = int(each.loc[~enough, "sample"].nunique())
        each = each[enough].copy()
        if each.empty:
            raise InputError(f"pass@{k} needs {k} answers of each item; {task} has fewer epochs")
        right = (each["mean"] * each["count"]).round().to_numpy()
        each["mean"] = pass_at(k, right, each["count"].to_numpy())
    means = each.pivot(index="sample", columns="model", values="mean").reindex(columns=list(models))
    counts = each.pivot(index="sample", columns="model", values="count").reindex(columns=list(models))
    shared = means.dropna()
    items = shared.index.to_numpy()
    cluster = None
    if frame["cluster"].notna().all():
        cluster = frame.drop_duplicates("sample").set_index("sample")["cluster"].reindex(items).to_numpy()
    common = each[each["sample"].isin(shared.index)]
    degrees = common["count"] - 1
    squares = (common["var"].fillna(0.0) * degrees).groupby(common["model"]).sum()
    spread = degrees.groupby(common["model"]).sum()
    within = {m: float(squares[m] / spread[m]) if k is None and spread.get(m, 0) > 0 else float("nan") for m in models}
    count = {m: counts.loc[shared.index, m].to_numpy(dtype=int) for m in models}
    troubles = frame.groupby(["model", "error"]).size()
    broken = frame[failed].groupby(["model", "sample"]).size()
    return TaskScores(
        task, scorer, models, items, cluster, {m: shared[m].to_numpy(dtype=float) for m in models}, count, within,
        {m: float(len(count[m]) / (1.0 / count[m]).sum()) if len(count[m]) else float("nan") for m in models},
        {m: float(means[m].mean()) for m in models}, binary and k is None, percent, lower,
        {m: {str(w): int(n) for w, n in troubles[m].items()} if m in troubles.index else {} for m in models},
        tuple(sorted(frame.loc[failed, "sample"].unique())), frame["sample"].nunique(),
        {m: int(means[m].notna().sum()) for m in models}, len(frame), len(answered), too_few, answered,
        {m: {str(s): int(n) for s, n in broken[m].items()} if m in broken.index else {} for m in models},
    )  # fmt: skip
