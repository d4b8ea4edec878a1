"""Lines say themselves what they are: names beside their ends, none on another, no legend of two meanings."""

from __future__ import annotations

import numpy as np
import pytest

from ordbridge import scales
from ordbridge.planning import Costs, Designs, PlannedAnalysis, Simulation, plan
from ordbridge.power import Grid, run
from ordbridge.render import figures
from ordbridge.render.figures.style import SUBTITLE, apart, empty_figure, label_ends, narrowed, title
from ordbridge.simulate import Truth

TRUTH = Truth(effects=(0.8,), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.0), item_sd=(0.4, 0.0))


def labels(panel):
    return [text.get_text() for text in panel.texts if text.get_label() != SUBTITLE]


@pytest.mark.slow
def test_places_keep_their_order_and_their_distance():
    places = np.array([0.5, 0.51, 0.52, 0.9, 0.99, 1.0, 0.0])
    found = apart(places, 0.08)
    assert np.argsort(found).tolist() == np.argsort(places).tolist()
    assert np.diff(np.sort(found)).min() >= 0.08 - 1e-12
    assert found.min() >= 0 and found.max() <= 1
    assert apart(np.array([0.1, 0.9]), 0.08).tolist() == [0.1, 0.9]  # what is apart stays


@pytest.mark.slow
def test_power_curves_name_every_line_once_a_row_and_have_no_legend():
    design = {"kind": "counterbalanced", "texts_per_participant": 10}
    grid = Grid(truth=TRUTH, design=design, items=[20, 40], ratings_per_text=[1, 2], effect=[0.0, 0.8])
    done = run(grid, ["lm", "clm"], datasets=10, engine="fast")
    figure = done.plot()
    figure.canvas.draw()
    first, last = figure.axes
    assert labels(first) == []
    assert labels(last) == [f"{n} items, {model}" for n in (20, 40) for model in ("lm", "clm")]
    assert not figure.legends and first.get_legend() is None
    places = sorted(text.get_position()[1] for text in last.texts)
    assert np.diff(places).min() * last.get_window_extent().height > 8  # letters are 8 points high
    one = figures.power_curves(done, models=["lm"])
    assert labels(one.axes[-1]) == ["20 items", "40 items"]
    with narrowed(figure) as small:
        assert small is figure and [panel.get_subplotspec().colspan.stop for panel in figure.axes] == [1, 1]
    assert figure.axes[1].get_subplotspec().colspan.start == 1


@pytest.mark.slow
def test_lines_of_money_are_named_at_their_ends():
    vary = {"items": [10, 20, 40], "ratings_per_text": [1, 2]}
    few = Simulation(datasets=100, null_datasets=0)
    tried = Designs(**vary, texts_per_participant=10)
    found = plan(TRUTH, analysis=PlannedAnalysis("lm"), designs=tried, costs=Costs(rating=0.1), simulation=few)
    figure = figures.plan_money(found)
    assert labels(figure.axes[0]) == ["1 per text", "2 per text"]
    verdicts = {text.get_text() for text in figure.legends[0].get_texts()}
    assert verdicts <= {"reaches", "undecided", "falls short", "recommended"}
    for drawn in (figure, figures.plan_contours(found)):
        with narrowed(drawn) as small:
            small.canvas.draw()
            assert drawn.axes[0].get_position().width > 0.4  # neither names nor legend push the picture together


@pytest.mark.slow
def test_a_figure_for_a_phone_has_short_lines_and_gives_everything_back():
    figure = empty_figure(9.0, 3.0)
    for panel in figure.subplots(1, 2):
        panel.plot([0, 1], [0, 1])
        panel.set_yticks([0, 1], ["a name that is much too long for a phone", "short"])
        title(panel, "What", "a line below it that is much too long to stand beside an axis on a phone")
    before = _texts(figure)
    with narrowed(figure) as small:
        assert small is not None and figure.get_size_inches().tolist() == [4.0, 6.0]
        assert max(len(line) for text in _texts(figure) for line in text.split("\n")) <= 44
    assert _texts(figure) == before and figure.get_size_inches().tolist() == [9.0, 3.0]


def _texts(figure):
    found = []
    for panel in figure.axes:
        found += [panel.get_title(loc="left"), *(text.get_text() for text in panel.texts)]
        found += [label.get_text() for label in panel.get_yticklabels()]
    return found


@pytest.mark.slow
def test_scales_are_drawn_with_agreement_and_systems():
    rng = np.random.default_rng(1)
    cells = [(f"s{s}", i, r) for s in range(3) for i in range(8) for r in range(4)]
    columns = dict(zip(("system", "item", "participant"), map(list, zip(*cells, strict=True)), strict=True))
    level = np.array([int(s[1]) for s, _, _ in cells])
    tables = {name: columns | {"rating": level * size + rng.normal(size=len(cells))}
              for name, size in (("five", 1), ("ten", 2), ("slider", 3))}  # fmt: skip
    found = scales.compare(tables)
    agreement, systems = found.plot().axes
    assert [label.get_text() for label in agreement.get_yticklabels()] == ["five", "ten", "slider"]
    assert sorted(labels(systems)) == ["s0", "s1", "s2"]
    drawn = {line.get_ydata()[0] for line in agreement.lines if len(line.get_xdata()) == 2}
    assert drawn == {0, 1, 2}  # an interval for each
    label_ends(systems, [], 1.0)  # nothing to name is no error
