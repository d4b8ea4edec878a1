"""Files of one study that are dropped together, and a covariate beside the system."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import ordbridge as ob

pytestmark = pytest.mark.slow
PATIENT = 240_000  # milliseconds, on a machine that does many other things


def halves() -> list[tuple[str, bytes]]:
    """Return the ratings of a study in two files, with the length of the texts."""
    table = ob.datasets.summaries()
    table["length"] = [10 + len(item) + 7 * (row % 5) for row, item in enumerate(table.iloc[:, 1].astype(str))]
    cut = len(table) // 2
    found = []
    for name, part in (("first.csv", table[:cut]), ("second.csv", table[cut:])):
        out = io.StringIO()
        part.to_csv(out, index=False)
        found.append((name, out.getvalue().encode()))
    return found


def test_two_files_are_one_study(app: str, tab: Any, drop: Callable[..., None]) -> None:
    tab.goto(app)
    drop(tab, *halves())
    tab.wait_for_selector("#compare:not([hidden])", timeout=PATIENT)
    n = len(ob.datasets.summaries())
    assert f"{n:,} ratings" in tab.inner_text("#recognised").replace("\u202f", ",")


def test_a_covariate_stands_beside_the_system(app: str, tab: Any, drop: Callable[..., None]) -> None:
    tab.goto(app)
    drop(tab, *halves())
    tab.wait_for_selector("[data-of=compare] .headline", timeout=PATIENT)
    tab.select_option("#covariates", "length")
    tab.wait_for_selector("[data-of=compare]:has-text('length')", timeout=PATIENT)


def spans() -> bytes:
    """Return marked errors: A has many minor ones, B few major ones, so that the weights decide."""
    rows = ["system\tseg_id\trater\tcategory\tseverity"]
    for rater in range(4):
        for segment in range(12):
            odd = (rater + segment) % 2
            rows += [f"A\t{segment}\tr{rater}\tFluency/Grammar\tMinor"] * (3 + odd)
            rows += [f"B\t{segment}\tr{rater}\tAccuracy/Omission\tMajor"] * 1
            rows += [f"B\t{segment}\tr{rater}\tFluency/Grammar\tMinor"] * odd
    return "\n".join(rows).encode()


def test_weights_of_marked_errors_decide_who_is_better(app: str, tab: Any, drop: Callable[..., None]) -> None:
    tab.goto(app)
    drop(tab, ("spans.tsv", spans()))
    tab.wait_for_selector("[data-of=compare] .headline", timeout=PATIENT)  # minor 1, major 5
    assert tab.inner_text("[data-of=compare] .headline").startswith("A is better: rated")
    tab.click("#more summary")
    tab.fill("#weights", "minor=2, major=1")
    tab.press("#weights", "Tab")
    tab.wait_for_selector("[data-of=compare] .headline:has-text('B is better: rated')", timeout=PATIENT)
    typed = tab.locator("[data-of=compare] code").text_content()
    assert "--weights minor=2 major=1" in typed
    tab.fill("#weights", "minor")
    tab.press("#weights", "Tab")
    tab.wait_for_selector(":text('write for example minor=1, major=5')", timeout=PATIENT)
