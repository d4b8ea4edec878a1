"""The settings of the paper, as its published code has them."""

import pytest

from ordbridge import papers
from ordbridge.papers import howcroft2021


def test_settings_are_those_of_the_published_code():
    deviations = {name: (truth.participant_sd, truth.item_sd) for name, truth in howcroft2021.settings.items()}
    assert deviations == {
        "extra-low": ((0.28, 0.11), (0.29, 0.43)),
        "low": ((0.48, 0.27), (0.29, 0.63)),
        "representative": ((0.52, 0.43), (0.57, 0.77)),
        "high": ((0.56, 0.67), (0.71, 0.89)),
        "extra-high": ((0.56, 0.67), (1.09, 1.26)),
    }
    for truth in howcroft2021.settings.values():
        assert (truth.effects, truth.participant_corr, truth.item_corr) == ((0.0,), 0.0, 0.0)
        assert (truth.slope_coding, truth.link, truth.scale, truth.categories) == ("treatment", "probit", "ordinal", 6)
        drawn = truth.threshold_distribution
        assert (drawn.lowest, drawn.distance) == ((-1.78, 0.19), (0.62, 0.18))


def test_the_grid():
    cells = list(howcroft2021.cells())
    assert len(cells) == len(set(cells)) == 5 * 3 * 2 * 4
    assert {cell.effect for cell in cells} == {0.155, 0.31, 0.465, 0.62}
    assert {(cell.items, cell.ratings) for cell in cells} == {(i, r) for i in (50, 100, 500) for r in (3, 10)}
    low = next(howcroft2021.cells("low"))
    assert low.truth == howcroft2021.settings["low"].shift(effect=0.155)
    with pytest.raises(ValueError, match="there is no setting 'medium'"):
        list(howcroft2021.cells("medium"))


def test_papers_are_found_by_name():
    assert {"card2020", "howcroft2021"} <= set(papers.__all__)
    with pytest.raises(AttributeError, match="there is no paper 'nobody1999'"):
        papers.nobody1999  # noqa: B018
