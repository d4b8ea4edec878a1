"""The page of an analysis of a judge."""

from __future__ import annotations

import pyarrow as pa

from ordbridge import figures
from ordbridge.judges import JudgeAgreement, JudgeAnalysis
from ordbridge.judges.same_footing import in_comparison
from ordbridge.judges.together import CANNOT_TELL
from ordbridge.report.html import Page

__all__ = ["build"]


def build(result: JudgeAnalysis) -> Page:
    """Return the answer, picture, tables and checks; :mod:`ordbridge.report.build` adds the rest."""
    page = Page(f"Can {result.judge} replace some raters?")
    headline = _headline(result)
    page.answer(headline or result.answer, [f"{result.counted}."])
    agreed = result.agreement
    if agreed is not None and (agreed.calibration.num_rows or agreed.systems.num_rows):
        page.picture(figures.judge_against_people(agreed), "Calibration, and whom the judge favours")
    page.sentences(result.sentences[0 if headline else 1 : -1])  # with the symbols of the tests, so below the picture
    if agreed is not None:
        page.heading("The judge beside people").table(agreed.footing, "Each person left out in turn, the judge instead")
    if (means := result.estimates) is not None:
        page.heading("Means from people and judge together")
        _titled(page, means.means, "Means")
        _titled(page, means.differences, "Differences")
        _titled(page, means.superiority, "Probability that a text of the first system is rated above one of the second")
    page.heading("Checks").warning(CANNOT_TELL).sentences(result.notes)
    if (test := result.alternative) is not None:
        with page.folded("Alternative annotator test"):
            page.sentence(test.sentence).table(test.annotators)
            if test.skipped:
                page.sentence(f"Left out because they rated too few texts: {', '.join(test.skipped)}.")
    if agreed is not None:
        with page.folded("Bias and calibration of the judge"):
            _bias(page, agreed)
    if means is not None and means.categories.num_rows:
        with page.folded("Shares of ratings at or above each category"):
            page.table(means.categories)
    if (needed := result.plan) is not None:
        with page.folded("What the judge saves"):
            page.sentence(needed.sentence).table(needed.needed)
    return page


def _headline(result: JudgeAnalysis) -> str:
    """Say how the judge agrees with people beside how they agree, and whether it passes; nothing if that is unknown."""
    if result.agreement is None:
        return ""
    row = next(row for row in result.agreement.footing.to_pylist() if row["measure"] == "agreement")
    difference, low, high = (
        f"{row[name]:+.2f}".replace("-", "−") for name in ("difference", "difference_low", "difference_high")
    )
    said = (
        f"{result.judge} agrees with {result.agreement.people} {in_comparison(row)} they agree with each other "
        f"(difference {difference}, {low} to {high})"
    )
    if result.alternative is None:
        return f"{said}."
    passes = result.alternative.passed
    joined = "and" if passes == (row["difference_high"] >= 0) else "but"
    return f"{said}, {joined} {'passes' if passes else 'does not pass'} the test for replacing one of them."


def _bias(page: Page, agreed: JudgeAgreement) -> None:
    _titled(page, agreed.systems, "How far the judge is above people, and whom it favours")
    _titled(page, agreed.covariates, "How its bias changes with other columns")
    if agreed.slope is not None:
        page.sentence(
            f"People's ratings follow the judge's by {agreed.slope['estimate']:.2f} "
            f"[{agreed.slope['conf_low']:.2f}, {agreed.slope['conf_high']:.2f}] {agreed.slope['unit']} "
            f"({agreed.slope['model']})."
        )
    _titled(page, agreed.calibration, "People's mean rating for each rating by the judge")
    _titled(page, agreed.worst, "Where it fails: the texts on which it is furthest from people")


def _titled(page: Page, table: pa.Table, caption: str) -> None:
    if table.num_rows:
        page.table(table, caption)
