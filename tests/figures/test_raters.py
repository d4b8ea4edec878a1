"""Pictures show what is in the ratings."""

import sys

import numpy as np
import pyarrow as pa
import pytest

from ordbridge import reliability as rel
from ordbridge.errors import InputError
from ordbridge.render import figures

MATRIX = [[1, 2, 2], [2, 2, 3], [3, 4, 5], [5, 5, None], [4, 3, 4]]
RATINGS = rel.prepare(MATRIX)


def test_ratings_by_item_draws_every_rating_once():
    figure = figures.ratings_by_item(RATINGS)
    panels = [panel for panel in figure.axes if panel.get_visible()]
    assert [panel.get_title(loc="left") for panel in panels] == ["1", "2", "3"]
    order = np.argsort(np.nanmean(np.array(MATRIX, dtype=float), axis=1), kind="stable")
    for column, panel in enumerate(panels):
        drawn = panel.lines[1].get_ydata()
        np.testing.assert_array_equal(drawn, np.array(MATRIX, dtype=float)[order, column])


def test_ratings_by_item_says_how_many_items_it_left_out():
    many = np.random.default_rng(1).integers(1, 6, size=(300, 2)).tolist()
    figure = figures.ratings_by_item(rel.prepare(many), limit=50)
    assert "50 of 300 items" in figure.get_supxlabel()
    assert len(figure.axes[0].lines[1].get_ydata()) == 50


def test_categories_used_fills_every_bar():
    panel = figures.categories_used(RATINGS).axes[0]
    widths = np.array([bar.get_width() for bar in panel.patches]).reshape(5, 3)
    np.testing.assert_allclose(widths.sum(axis=0), 1)
    assert widths[0].tolist() == [0.2, 0, 0]
    starts = np.array([bar.get_x() for bar in panel.patches]).reshape(5, 3)
    np.testing.assert_allclose(starts, np.cumsum(widths, axis=0) - widths, atol=1e-12)


def test_heat_map_is_symmetric_and_empty_where_there_is_no_value():
    pairs = pa.table(
        {
            "criterion": ["c"] * 3,
            "participant_a": ["x", "x", "y"],
            "participant_b": ["y", "z", "z"],
            "kappa": [0.2, None, -0.1],
            "gamma": [0.9, None, 0.5],
        }
    )
    kappa, gamma, _ = figures.pairs_heatmap(pairs).axes
    for panel, expected in ((kappa, [0.2, -0.1]), (gamma, [0.9, 0.5])):
        grid = panel.images[0].get_array().filled(np.nan)
        np.testing.assert_array_equal(grid, grid.T)
        assert grid[0, 1] == expected[0]
        assert grid[1, 2] == expected[1]
        assert np.isnan(grid[0, 2])
    with pytest.raises(InputError, match="there is no criterion 'd'"):
        figures.pairs_heatmap(pairs, "d")


def test_words_without_order_have_no_line():
    words = rel.prepare([["a", "b"], ["b", "b"]])
    with pytest.raises(InputError, match="need categories with an order"):
        figures.ratings_by_item(words)
    assert len(figures.categories_used(words).axes[0].patches) == 4


@pytest.mark.slow
def test_the_report_handles_words_many_raters_and_no_values(tmp_path):
    rng = np.random.default_rng(2)
    items, raters = np.meshgrid(np.arange(40), [f"P{r:02}" for r in range(30)], indexing="ij")
    table = {"item": items.ravel().tolist(), "participant": raters.ravel().tolist()}
    numbers = rel.analyse({**table, "rating": rng.integers(1, 6, 1200).tolist()}, conf_level=None)
    page = numbers.report(tmp_path / "numbers.html").read_text(encoding="utf-8")
    assert "the 24 least consistent raters" in page
    assert "The first 300 of 435." in page
    choices = rng.choice(["a<b", "c&d"], 1200).tolist()
    words = rel.analyse({**table, "rating": choices}, level="nominal", conf_level=None)
    page = words.report(tmp_path / "words.html").read_text(encoding="utf-8")
    assert "a&lt;b" in page
    assert "a<b" not in page
    assert page.count("<figure ") == 4


def test_nothing_needs_a_window():
    figures.ratings_by_item(RATINGS)
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert (pyplot.get_fignums() if pyplot else []) == []
