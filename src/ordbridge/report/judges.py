"""The page of an analysis of a judge."""

from __future__ import annotations

import pyarrow as pa

from ordbridge import figures
from ordbridge.judges import JudgeAnalysis
from ordbridge.judges.together import CANNOT_TELL
from ordbridge.report.html import Page

__all__ = ["build"]


def build(result: JudgeAnalysis) -> Page:
    """Return question, answers, tables and pictures as a page; :mod:`ordbridge.report.build` adds the rest."""
    page = Page(f"Can {result.judge} replace some raters?")
    page.heading("Question").sentence(
        f"May {result.judge} stand in for people, and how many ratings does it save? {result.counted}."
    )
    page.heading("Answer").sentences(result.sentences[:-1]).warning(CANNOT_TELL)
    if (test := result.alternative) is not None:
        page.heading("Alternative annotator test").sentence(test.sentence).table(test.annotators)
        if test.skipped:
            page.sentence(f"Left out because they rated too few texts: {', '.join(test.skipped)}.")
    if (agreed := result.agreement) is not None:
        page.heading("The judge beside people").sentence(agreed.sentence)
        page.table(agreed.footing, "Each person left out in turn, the judge in his place")
        _titled(page, agreed.systems, "How far the judge is above people, and whom it favours")
        _titled(page, agreed.covariates, "How its bias changes with other columns")
        if agreed.calibration.num_rows or agreed.systems.num_rows:
            page.picture(figures.judge_against_people(agreed), "Calibration, and whom the judge favours")
        if agreed.slope is not None:
            page.sentence(
                f"People's ratings follow the judge's by {agreed.slope['estimate']:.2f} "
                f"[{agreed.slope['conf_low']:.2f}, {agreed.slope['conf_high']:.2f}] {agreed.slope['unit']} "
                f"({agreed.slope['model']})."
            )
        _titled(page, agreed.calibration, "People's mean rating for each rating by the judge")
        _titled(page, agreed.worst, "Where it fails: the texts on which it is farthest from people")
    if (means := result.estimates) is not None:
        page.heading("Means from people and judge together").sentence(means.sentence)
        _titled(page, means.means, "Means")
        _titled(page, means.differences, "Differences")
        _titled(page, means.superiority, "Probability that a text of system_a is rated above one of system_b")
        _titled(page, means.categories, "Shares of ratings at or above each category")
    if (needed := result.plan) is not None:
        page.heading("What the judge saves").sentence(needed.sentence).table(needed.needed)
    page.heading("Diagnostics").sentences(result.notes or ["Nothing to report."])
    return page


def _titled(page: Page, table: pa.Table, caption: str) -> None:
    if table.num_rows:
        page.table(table, caption)
