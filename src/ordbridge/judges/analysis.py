"""Everything about one judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from ordbridge import __version__
from ordbridge.errors import InputError
from ordbridge.judges.alternative import AltTest, alt_test
from ordbridge.judges.judge_agreement import JudgeAgreement, agreement
from ordbridge.judges.judged import Columns, read_judged
from ordbridge.judges.prediction_powered import JudgeEstimates, estimate
from ordbridge.judges.saving import JudgePlan, plan
from ordbridge.render.layout import Figures, Section, ShownPicture, ShownTable
from ordbridge.results import Finding, Result, citations, found, worst_first
from ordbridge.support.arguments import proportion
from ordbridge.support.formatting import listed
from ordbridge.support.naming import arg


@dataclass(frozen=True, repr=False)
class JudgeAnalysis(Result):
    """What is known about one judge; parts that the data cannot give are ``None``, and a finding says why."""

    kind: ClassVar[str] = "judge"
    judge: str
    alternative: AltTest | None
    agreement: JudgeAgreement | None
    estimates: JudgeEstimates | None
    plan: JudgePlan | None
    counted: str = ""
    findings: tuple[Finding, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> list[Result]:
        """The parts that there are, that which answers the question first."""
        return [part for part in (self.alternative, self.agreement, self.estimates, self.plan) if part is not None]

    @property
    def title(self) -> str:  # type: ignore[override]
        """The question."""
        return f"Can {self.judge} replace some raters?"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """Whether the judge can stand in for a person, yes or no; how it agrees with people, and what it is worth."""
        said = "\n".join(part.answer for part in self.parts)
        if self.alternative is not None:
            said = f"{self.alternative.yes_or_no}: {said}"
        return said or f"These ratings do not tell whether {self.judge} can replace raters."

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables of all parts."""
        return {name: table for part in self.parts for name, table in part.tables.items()}

    def main(self) -> Sequence[ShownTable]:
        """Return agreement of judge and people; without it the first table that there is."""
        first = self.agreement or (self.parts[0] if self.parts else None)
        return () if first is None else first.main()

    def picture(self) -> ShownPicture | None:
        """Return the picture of calibration and bias."""
        return None if self.agreement is None else self.agreement.picture()

    def paper_tables(self) -> Sequence[ShownTable]:
        """Return differences or means, where there are such."""
        return self.main() if self.estimates is None else self.estimates.main()

    def sections(self) -> Sequence[Section]:
        """Return the picture, means, and the other parts."""
        found = [section for part in self.parts for section in part.sections()]
        for part in (self.alternative, self.plan):
            if part is not None:
                grids = [ShownTable(table) for table in part.tables.values()]
                found.append(Section(part.title, tuple(grids), folded=True))
        return sorted(found, key=lambda section: section.folded)

    def figures(self) -> Figures:
        """Return the picture of calibration and bias."""
        return Figures() if self.agreement is None else self.agreement.figures()

    def methods(self) -> str:
        """Return how the judge was compared with people."""
        said = [self.counted]
        if self.alternative is not None:
            said.append(
                f"Whether {self.judge} can stand in for a person was tested by the alternative annotator test "
                f"(Calderon et al. 2025) with ε = {self.alternative.epsilon:g}. It was made as published, and with "
                "standard errors over clusters of texts and over people."
            )
        if self.agreement is not None:
            people = " and people" if self.agreement.raters == "random" else ""
            said.append(
                "Its agreement with people was compared with that of people on the same texts, each person left out in "
                f"turn. Intervals are a jackknife over items{people}."
            )
        if self.estimates is not None:
            spread = "items" if self.estimates.raters == "fixed" else (
                "items and people, with Satterthwaite's degrees of freedom"
            )  # fmt: skip
            said.append(
                "Means were estimated by prediction-powered inference with a tuned weight (Angelopoulos et al. 2023). "
                f"Variances are over {spread}."
            )
        return " ".join([*said, f"All with ordbridge {__version__}."])

    def references(self) -> list[str]:
        """Return the references of the parts."""
        return [f"ordbridge {__version__}.", *citations.of_judges(self)]


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
    >>> analyse(table).answer.splitlines()[0][:46]
    'Yes: gpt passes the alternative annotator test'
    """
    read = read_judged(data, judge, Columns(**columns))
    proportion("epsilon", epsilon, ends=True)
    if unknown := [name for name in covariates or () if name not in read.extras]:
        raise InputError(
            f"{arg('covariates', unknown)}: no such column, or it has several values for one text; "
            f"{'there is ' + listed([*read.extras]) if read.extras else 'there is no further column'}"
        )
    noticed: list[Finding] = []

    def attempt(code: str, function: Any, **options: Any) -> Any:
        try:
            return function(read, **options)
        except InputError as reason:
            noticed.append(found(code, text=str(reason)))
            return None

    usual = {"raters": raters, "conf_level": conf_level}
    alternative = attempt("no-alternative-test", alt_test, epsilon=epsilon, conf_level=conf_level)
    agreed = attempt("no-judge-agreement", agreement, covariates=covariates, engine=engine, **usual)
    estimates = savings = None
    if read.level == "nominal":
        noticed.append(found("means-need-order"))
    else:
        estimates = attempt("no-judge-means", estimate, **usual)
        savings = attempt("no-judge-plan", plan, cost=cost, **usual)
    for part in (alternative, agreed, estimates):
        noticed += part.findings if part is not None else ()
    judged, by_people = read.judge_code >= 0, read.humans.per_item > 0
    counted = (
        f"{len(read.humans.raters)} people gave {len(read.humans.code)} ratings of {by_people.sum()} texts, and "
        f"{read.name} rated {judged.sum()} texts, {(judged & ~by_people).sum()} of them alone."
    )
    findings = worst_first([*noticed, found("judge-limits"), *read.findings])
    settings = {"judge": read.name, "epsilon": epsilon, "cost": cost, "level": read.level, **usual}
    return JudgeAnalysis(read.name, alternative, agreed, estimates, savings, counted, findings, settings)
