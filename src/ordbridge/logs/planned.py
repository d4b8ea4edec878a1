"""How many items and epochs the next run needs, from the logs of the last."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from ordbridge import __version__
from ordbridge.errors import InputError
from ordbridge.logs import paired
from ordbridge.logs.analysis import LogQuestion, ModelPair, pairs_of, scored_tasks
from ordbridge.logs.table import about, log_table
from ordbridge.render.layout import ShownTable
from ordbridge.results.finding import Finding, found, worst_first
from ordbridge.results.result import Result
from ordbridge.support.arguments import number, proportion
from ordbridge.support.naming import arg

__all__ = ["LogPlan", "plan"]

EPOCHS = (1, 2, 4, 8)


@dataclass(frozen=True, eq=False, repr=False)
class LogPlan(Result):
    """How many items find a difference between two models.

    Attributes
    ----------
    designs
        task, scorer, system_a, system_b, effect (in points), epochs, items, items_low, items_high (95% interval, from
        the uncertainty of the variance), answers (of both models), now (whether the logs have so many epochs),
        detectable (the smallest difference with the logs' own items and these epochs).
    """

    kind: ClassVar[str] = "log-plan"
    designs: pa.Table
    findings: tuple[Finding, ...]
    settings: Mapping[str, Any]

    @property
    def title(self) -> str:  # type: ignore[override]
        """The question."""
        return f"How many items find {self.settings['effect_points']:g} points?"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """The number of items for each task and pair, with the epochs that the logs have, and with more."""
        lines = []
        rows = self.designs.to_pylist()
        for row in (one for one in rows if one["now"]):
            key = ("task", "scorer", "system_a", "system_b")
            best = min(
                (one for one in rows if all(one[name] == row[name] for name in key)), key=lambda one: one["items"]
            )
            more = "" if best is row else f"; with {best['epochs']} epochs {best['items']:,} items"
            lines.append(
                f"{row['task']}, {row['system_a']} – {row['system_b']}: {row['effect']:g} points need {row['items']:,} "
                f"items × {_epochs(row['epochs'])} (95% CI {row['items_low']:,} to {row['items_high']:,}){more}."
            )
        return "\n".join(lines)

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What the numbers assume."""
        m = self.settings["comparisons"]
        corrected = f", corrected for {m} comparisons" if m > 1 else ""
        return (
            f"Power {self.settings['target']:.0%}, level {self.settings['alpha']:g}{corrected}; paired t, items that "
            "vary as those in the logs."
        )

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The designs."""
        return {"designs": self.designs}

    def main(self) -> Sequence[ShownTable]:
        """Return the designs."""
        names = ["task", "system_a", "system_b", "epochs", "items", "items_low", "items_high", "answers"]
        return [ShownTable(self.designs.select(names), names={"system_a": "model", "system_b": "against"})]

    def methods(self) -> str:
        """Return how the numbers were found."""
        return (
            "Numbers of items come from the variance of item differences in earlier logs, split into items and runs, "
            f"and Student's paired t. {self.counted} Computed with ordbridge {__version__}. {self.answer}"
        )


def plan(
    logs: Any,
    effect_points: float,
    *,
    target: float = 0.8,
    alpha: float = 0.05,
    epochs: Sequence[int] | None = None,
    scorer: str | Sequence[str] | None = None,
    task: str | Sequence[str] | None = None,
    cluster: str | None = None,
    runs: str = "ask",
    errors: str = "omit",
) -> LogPlan:
    r"""Say how many items would find a difference of so many points, and whether more epochs would help.

    Parameters
    ----------
    logs
        Logs of two or more models, as for :func:`ordbridge.logs.compare`.
    effect_points
        The difference to find, in percentage points, or in points of the score.
    target, alpha
        Power and level of the test; with several tasks or pairs the level is divided among them.
    epochs
        Numbers of epochs to try; by default 1, 2, 4, 8 and those of the logs. With one epoch in the logs, its noise is
        unknown, and only one epoch can be planned.
    scorer, task, cluster, runs, errors
        See :func:`ordbridge.logs.compare`.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> scores = {"a": [7, 8, 5, 9, 6, 7], "b": [5, 7, 5, 6, 5, 4]}
    >>> lines = [{"question_id": 81 + n, "turn": 1, "model": model, "judge": ["gpt-4", "single-v1"], "score": score}
    ...          for model, each in scores.items() for n, score in enumerate(each)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "judgements.jsonl"
    ...     _ = file.write_text("\n".join(map(json.dumps, lines)))
    ...     plan(file, 0.5).designs["items"].to_pylist()
    [49]
    """
    effect = number("effect_points", effect_points)
    if effect <= 0:
        raise InputError(f"{arg('effect_points', effect_points)} must be above 0: the difference to find")
    proportion("target", target), proportion("alpha", alpha)
    table = logs if isinstance(logs, pa.Table) else log_table(logs, cluster=cluster, runs=runs)
    asked = LogQuestion(scorer=scorer, task=task, errors=errors).checked()
    known = about(table)
    tasks, noticed = scored_tasks(table, known, asked)
    pairs = [pair for scores in tasks for pair in pairs_of(scores, asked)]
    level = alpha / len(pairs)
    rows = [row for pair in pairs for row in _designs(pair, effect, level, target, epochs)]
    if not rows:
        raise InputError(
            "the models differ by the same amount on every item, so nothing can be planned from these logs"
        )
    for pair in pairs:
        if pair.scores.one_epoch:
            noticed.append(found("one-epoch"))
    settings = {"effect_points": effect, "target": target, "alpha": alpha, "comparisons": len(pairs)}
    return LogPlan(pa.Table.from_pylist(rows), worst_first([*noticed, *known["findings"]]), settings)


def _designs(
    pair: ModelPair, effect: float, alpha: float, power: float, epochs: Sequence[int] | None
) -> list[dict[str, Any]]:
    from scipy import stats

    scores, one = pair.scores, pair.found
    if not one.std_error:
        return []
    n, unit = len(scores.items), scores.unit
    total = n * one.std_error**2  # of a design with clusters: as if its items were independent, with the same precision
    own = scores.epochs[pair.a], scores.epochs[pair.b]
    within = scores.within[pair.a], scores.within[pair.b]
    runs = 0.0 if any(map(math.isnan, within)) else min(total, within[0] / own[0] + within[1] / own[1])
    per_run = 0.0 if not runs else runs * 2 / (1 / own[0] + 1 / own[1])  # of one epoch, shared out as it was
    now = round(2 / (1 / own[0] + 1 / own[1]))
    tried = sorted({now, *(epochs or EPOCHS)}) if runs else [now]
    degrees = one.clusters - 1
    rows = []
    for number_of in tried:
        variance = total if number_of == now else total - runs + per_run / number_of
        low, high = (variance * degrees / stats.chi2.ppf(q, degrees) for q in (0.975, 0.025))
        needed = [paired.items_needed(v, effect / unit, alpha, power) for v in (variance, low, high)]
        found_now = unit * paired.detectable(math.sqrt(variance / n), degrees, alpha, power)
        rows.append(
            {"task": scores.task, "scorer": scores.scorer, "system_a": pair.a, "system_b": pair.b, "effect": effect,
             "epochs": number_of, "items": needed[0], "items_low": needed[1], "items_high": needed[2],
             "answers": 2 * number_of * needed[0], "now": number_of == now, "detectable": found_now}
        )  # fmt: skip
    return rows


def _epochs(n: int) -> str:
    return f"{n} epoch{'' if n == 1 else 's'}"
