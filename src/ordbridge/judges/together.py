"""Everything about one judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ordbridge.doors import picture, write_report
from ordbridge.errors import InputError
from ordbridge.judges.alternative import AltTest, alt_test
from ordbridge.judges.judged import Columns, read_judged
from ordbridge.judges.prediction_powered import JudgeEstimates, estimate
from ordbridge.judges.same_footing import JudgeAgreement, agreement
from ordbridge.judges.saving import JudgePlan, plan
from ordbridge.notebooks import fragment

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from matplotlib.figure import Figure

__all__ = ["CANNOT_TELL", "JudgeAnalysis", "analyse"]

CANNOT_TELL = (
    "A judge that agrees with these people on these texts may fail on other texts, other systems, other criteria and "
    "other people; one that shares a fault with people (a liking for length, say) passes every comparison with them. "
    "Whether people themselves are right is not tested here."
)


@dataclass(frozen=True)
class JudgeAnalysis:
    """What is known about one judge; parts that the data cannot give are ``None``, and ``notes`` says why."""

    judge: str
    alternative: AltTest | None
    agreement: JudgeAgreement | None
    estimates: JudgeEstimates | None
    plan: JudgePlan | None
    counted: str
    notes: tuple[str, ...]

    def _repr_html_(self) -> str:
        """Show the answers in a notebook."""
        return fragment(self.answer, [CANNOT_TELL], sentences=self.sentences[1:-1])

    def plot(self) -> Figure:
        """Draw calibration and bias; see :func:`ordbridge.figures.judge_against_people`."""
        if self.agreement is None:
            raise InputError("there is nothing to draw: the judge could not be compared with people")
        figure: Figure = picture("judge_against_people", self.agreement)
        return figure

    def report(self, path: str | PathLike[str], repeat: str = "") -> Path:
        """Write the report, one HTML file; see :func:`ordbridge.report.write_report`."""
        return write_report(self, path, repeat)

    @property
    def sentences(self) -> list[str]:
        """The answers, and what a judge cannot tell."""
        parts = (self.alternative, self.agreement, self.estimates, self.plan)
        return [part.sentence for part in parts if part is not None] + [CANNOT_TELL]

    @property
    def answer(self) -> str:
        """The first answer."""
        return self.sentences[0]


def analyse(
    data: Any,
    judge: str | None = None,
    epsilon: float = 0.2,
    *,
    covariates: Sequence[str] | None = None,
    raters: str | None = None,
    cost: Mapping[str, float] | None = None,
    conf_level: float = 0.95,
    engine: str = "fast",
    **columns: Any,
) -> JudgeAnalysis:
    """Do everything for one judge: the alternative annotator test, agreement and bias, estimates, and a plan.

    Parameters
    ----------
    data, judge, epsilon, **columns
        See :func:`ordbridge.judges.alt_test`.
    covariates, raters, engine
        See :func:`ordbridge.judges.agreement`.
    cost
        See :func:`ordbridge.judges.plan`.
    conf_level
        Level of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> true = rng.normal(3, 1, 60)
    >>> seen = [np.clip(np.round(true + rng.normal(scale=0.6, size=60)), 1, 5) for _ in range(4)]
    >>> table = {"item": np.tile(np.arange(60), 4), "participant": np.repeat(["a", "b", "c", "gpt"], 60),
    ...          "rating": np.concatenate(seen), "kind": np.repeat(["human", "human", "human", "judge"], 60)}
    >>> analyse(table).answer[:41]
    'gpt passes the alternative annotator test'
    """
    read = read_judged(data, judge, Columns(**columns))
    notes: list[str] = []

    def attempt(what: str, function: Any, **options: Any) -> Any:
        try:
            return function(read, **options)
        except InputError as reason:
            notes.append(f"{what}: {reason}")
            return None

    alternative = attempt("alternative annotator test", alt_test, epsilon=epsilon, conf_level=conf_level)
    agreed = attempt("agreement", agreement, covariates=covariates, raters=raters, conf_level=conf_level, engine=engine)
    estimates = savings = None
    if read.level == "nominal":
        notes.append("estimates: means need numbers or ordered categories (scale=)")
    else:
        estimates = attempt("estimates", estimate, raters=raters, conf_level=conf_level)
        savings = attempt("plan", plan, raters=raters, conf_level=conf_level, cost=cost)
    for part in (agreed, estimates):
        notes += part.notes if part is not None else ()
    judged, by_people = read.judge_code >= 0, read.humans.per_item > 0
    counted = (
        f"{len(read.humans.raters)} people gave {len(read.humans.code)} ratings of {by_people.sum()} texts, and "
        f"{read.name} rated {judged.sum()} texts, {(judged & ~by_people).sum()} of them alone"
    )
    return JudgeAnalysis(read.name, alternative, agreed, estimates, savings, counted, tuple(notes))
