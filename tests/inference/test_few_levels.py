"""A clmm with few participants or items says that its printed test does not hold, wherever it is shown."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.models.few_levels import FEW_LEVELS, SIZES, SIZES_AT_ONCE

pytestmark = pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")


def said(formula: str, data: pd.DataFrame, engine: str = "fast") -> list[str]:
    fit = ob.clmm(formula, data, engine=engine)
    return [one.what for one in fit.estimates.findings if one.code == FEW_LEVELS]


@pytest.mark.parametrize("engine", ["r", "fast"])
def test_random_slopes_over_few_levels(engine: str, four: pd.DataFrame) -> None:
    """Six participants have slopes; eight items have none, but lengths vary only between them."""
    text, other = said("rating ~ length + (0 + length | participant) + (1 | item)", four, engine)[::-1]
    assert other.startswith("8 items: the Wald test rejects a true null too often, because")
    size = f"{100 * dict(SIZES)[10]:.0f}"
    assert text == (f"6 participants: the Wald test rejects a true null in about {size}% of such studies")


def test_several_coefficients_at_once_are_worse(four: pd.DataFrame) -> None:
    [text] = said("rating ~ system + (system | participant)", four)
    assert text.endswith(
        f"in about {100 * dict(SIZES)[10]:.0f}% of such studies, and that of several coefficients at once in about "
        f"{100 * SIZES_AT_ONCE[10]:.0f}%"
    )
    assert all(SIZES_AT_ONCE[limit] > share for limit, share in SIZES)


def test_a_predictor_between_few_levels(four: pd.DataFrame) -> None:
    [text] = said("rating ~ wide + (1 | item)", four)
    assert text.startswith("8 items: ") and "varies only between them" in text
    [text] = said("rating ~ wide + (1 | text_id)", four.rename(columns={"item": "text_id"}))
    assert text.startswith("8 levels of text_id: the Wald test")


def test_nothing_to_say(four: pd.DataFrame) -> None:
    assert not said("rating ~ system + (1 | item)", four)
    assert not said("rating ~ 1 + (1 | participant)", four)
    many = pd.concat([four.assign(participant=four["participant"] + word) for word in "xy"])
    assert not said("rating ~ length + (0 + length | participant)", many)


def test_three_are_worse_than_five(four: pd.DataFrame) -> None:
    three = four[four["participant"].isin(["p0", "p1", "p2"])]
    [text] = said("rating ~ length + (0 + length | participant)", three)
    assert text.startswith("3 participants") and f"about {100 * dict(SIZES)[5]:.0f}%" in text
    assert dict(SIZES)[5] > dict(SIZES)[10] > 0.05


def test_every_report_says_it(four: pd.DataFrame, tmp_path: Path) -> None:
    fit = ob.clmm("rating ~ length + (0 + length | participant)", four, engine="fast")
    [text] = said("rating ~ length + (0 + length | participant)", four)
    page = fit.report(tmp_path / "fit.html").read_text(encoding="utf-8")
    words = "rejects a true null in about"
    assert text in fit.summary() and words in page.split("<h2>Coefficients")[0]
    assert all(words in " ".join(shown.split()) for shown in (fit.markdown(), fit.latex(), str(fit), fit._repr_html_()))
