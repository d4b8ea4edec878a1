from __future__ import annotations

import pytest

from ordbridge.design import counterbalanced
from ordbridge.errors import InputError
from ordbridge.power import Grid, run
from ordbridge.simulate import Truth

TRUTH = Truth(effects=(0.3,), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.2), item_sd=(0.5, 0.3))


def test_preset_has_the_published_axes():
    grid = Grid(preset="howcroft2021")
    assert len(grid.cells) == 120
    assert grid.axes["effect"] == (0.155, 0.31, 0.465, 0.62)
    cell = grid.cells[0]
    assert cell.truth.participant_sd == (0.28, 0.11)
    assert cell.design.num_rows == 300


def test_streams_do_not_depend_on_company_or_order():
    large = Grid(preset="howcroft2021", items=[100, 50], ratings_per_text=[10, 3], effect=[0.62, 0])
    small = Grid(preset="howcroft2021", variance="low", items=50, ratings_per_text=3, effect=0)
    (cell,) = small.cells
    (twin,) = [c for c in large.cells if c.label == cell.label]
    assert twin.stream(42, 5).generate_state(4).tolist() == cell.stream(42, 5).generate_state(4).tolist()


def test_streams_never_change():
    """Stored runs are resumed by later versions: these numbers must stay."""
    (cell,) = Grid(preset="howcroft2021", variance="low", items=50, ratings_per_text=3, effect=0.31).cells
    assert cell.stream(42, 0).generate_state(2).tolist() == [985177311, 4239369327]


def test_streams_differ_between_cells_replicates_and_seeds():
    cells = Grid(preset="howcroft2021", variance="low", items=50, ratings_per_text=3, effect=[0, 0.31]).cells
    streams = [(cell, seed, i) for cell in cells for seed in (1, 2) for i in range(3)]
    assert len({tuple(c.stream(s, i).generate_state(2)) for c, s, i in streams}) == len(streams)


def test_one_truth_with_a_design_by_name():
    grid = Grid(
        truth=TRUTH,
        design={"kind": "counterbalanced", "texts_per_participant": 10},
        items=[20],
        ratings_per_text=[2],
        effect=[0, 0.5],
    )
    assert [cell.truth.effects for cell in grid.cells] == [(0.0,), (0.5,)]
    assert grid.cells[0].design.equals(counterbalanced(20, 2, texts_per_participant=10))


def test_a_table_as_design_and_fields_of_the_truth_as_axes():
    table = counterbalanced(12, 2, texts_per_participant=6)
    grid = Grid(truth={"mine": TRUTH}, design=table, slope_coding=["treatment", "centred"])
    assert [cell.truth.slope_coding for cell in grid.cells] == ["treatment", "centred"]
    assert grid.cells[0].design["item"].to_pylist() == table["item"].to_pylist()


def test_three_systems():
    truth = Truth(effects=(0.0, 0.0), thresholds=(0.0,))
    grid = Grid(truth=truth, design="crossed", items=5, ratings_per_text=2, effect=[[0.1, 0.2], [0.0, 0.0]])
    assert grid.cells[0].truth.effects == (0.1, 0.2)
    assert grid.cells[0].systems == ["A", "B", "C"]
    assert grid.cells[0].label == "items=5 ratings_per_text=2 effect=0.1,0.2"


def test_round_trip():
    for grid in (Grid(preset="howcroft2021"), Grid(truth=TRUTH, design="crossed", items=[3], ratings_per_text=2)):
        assert Grid.from_dict(grid.to_dict()).cells == grid.cells


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "needs a preset, or truth="),
        ({"preset": "nobody1999"}, "there is no preset 'nobody1999'"),
        ({"preset": "howcroft2021", "variance": "huge"}, "there is no setting 'huge'"),
        ({"preset": "howcroft2021", "itmes": 50}, "no axis 'itmes'"),
        ({"preset": "howcroft2021", "effect": []}, "'effect' is empty"),
        ({"preset": "howcroft2021", "effect": ["big"]}, "which is not a number"),
        ({"preset": "howcroft2021", "effect": [0, 0.0]}, "a cell twice"),
        ({"truth": TRUTH}, "needs design="),
        ({"truth": TRUTH, "design": "random"}, "there is no design 'random'"),
        ({"truth": TRUTH, "design": {"kind": "crossed", "judges": 3}}, "has no 'judges'"),
        ({"truth": TRUTH, "design": "crossed", "items": 3}, "needs ratings_per_text"),
        ({"truth": TRUTH, "design": "crossed", "items": 3, "ratings_per_text": 2, "variance": "x"}, "only one"),
        ({"truth": TRUTH, "design": "crossed", "items": 3, "ratings_per_text": 2, "effect": [[1, 2]]}, "give 1"),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        Grid(**arguments)


@pytest.mark.slow
def test_models_of_unequal_spread():
    """Scale effects are fitted natively; what an engine or a test does not know is refused before the first fit."""
    grid = Grid(truth=TRUTH.shift(residual_spread=2.0), design={"kind": "crossed"}, items=20, ratings_per_text=6)
    scaled = {"kind": "clm", "formula": "rating ~ system", "scale": "~ system"}
    result = run(grid, {"plain": {"kind": "clm"}, "scaled": scaled}, datasets=4, seed=1, engine="fast")
    assert result.manifest["models"]["scaled"]["scale"] == "~ system"
    assert "scale" not in result.manifest["models"]["plain"]  # stores of earlier versions can be continued
    rows = result.fits.to_pylist()
    assert {row["status"] for row in rows} == {"ok"}
    pairs = {(row["replicate"], row["model"]): row["loglik"] for row in rows}
    assert all(pairs[k, "scaled"] > pairs[k, "plain"] for k in range(4))
    mixed = {"clmm": {"scale": "~ system"}}
    with pytest.raises(InputError, match="R's clmm has no scale effects; use engine='fast'"):
        run(grid, mixed, datasets=1)
    with pytest.raises(InputError, match="R's clmm has no scale effects"):
        run(grid, mixed, datasets=1, engine="fast", audit=0.5)
    with pytest.raises(InputError, match=r"a system moves every threshold on its own, so .systemB. is not estimated"):
        run(grid, {"clm": {"nominal": "~ system"}}, datasets=1, engine="fast")
