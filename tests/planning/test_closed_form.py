"""Power in closed form."""

import numpy as np
import pytest

from ordbridge import design
from ordbridge.planning.closed_form import preview, sources_of
from ordbridge.power import Grid, run
from ordbridge.simulate import Truth, implied
from ordbridge.simulate.presets import HOWCROFT2021

LOW = HOWCROFT2021.settings["low"]


@pytest.mark.parametrize("coding", ["treatment", "centred"])
def test_the_linear_standard_error_is_that_of_mean_ratings(coding):
    """The closed form of a balanced design is the exact one of a design whose participants have an even hand."""
    truth = LOW.shift(effect=0.31, slope_coding=coding)
    table = design.counterbalanced(items=48, ratings_per_text=3, texts_per_participant=24)
    exact = implied(truth, table).differences["std_error"][0].as_py()
    found = preview(truth, 48, 3, texts_per_participant=24, model="lmer")["std_error"][0].as_py()
    assert found == pytest.approx(exact, rel=1e-6)


def test_without_any_spread_the_latent_variance_is_that_of_a_clm():
    """With no random effects the standard error is the one of a clm of infinitely many ratings, per rating."""
    import ordbridge as ob
    from ordbridge.simulate import ratings

    truth = Truth(effects=0.4, thresholds=(-1, 0, 1))
    table = ratings(design.crossed(items=200, raters=40), truth, seed=1)
    fit = ob.clm("rating ~ system", table, link="probit", engine="fast").tidy().to_pandas()
    _, _, _, noise = sources_of(truth).of_pair(0, 1)
    assert fit.loc[fit["term"] == "systemB", "std_error"].item() == pytest.approx(np.sqrt(noise / 8000), rel=0.02)


def test_parameters_take_their_share_of_the_ratings():
    """Five thresholds, a difference, and three variances and covariances of raters and of items each: 12 of 120."""
    _, raters, items, noise = sources_of(LOW).of_pair(0, 1)
    known = raters / 5 + items / 30 + noise / 60
    assert preview(LOW, 30, 2)["std_error"][0].as_py() ** 2 == pytest.approx(known * 120 / 108)
    assert preview(LOW, 3, 2)["power"][0].as_py() == pytest.approx(0.05, abs=0.05)  # 12 ratings tell nothing


@pytest.mark.slow
def test_the_preview_is_near_simulated_power():
    """Six designs of the published settings, 200 datasets: within .05 and three Monte Carlo errors."""
    for number, (name, items, ratings, effect) in enumerate(
        [("low", 60, 3, 0.4), ("representative", 60, 5, 0.45), ("high", 40, 3, 0.5)]
    ):
        truth = HOWCROFT2021.settings[name].shift(effect=effect, slope_coding=("treatment", "centred")[number % 2])
        grid = Grid(truth=truth, design="counterbalanced", items=items, ratings_per_text=ratings)
        found = run(grid, {"clmm": {}, "lmer": {"REML": True}}, 200, engine="fast").power().to_pylist()
        for row in found:
            said = preview(truth, items, ratings, model=row["model"])["power"][0].as_py()
            assert said == pytest.approx(row["power"], abs=0.05 + 3 * np.sqrt(said * (1 - said) / 200)), row


def test_few_raters_make_the_printed_test_reject_too_often():
    """What was simulated: .137, .093, .067, .053 with 3, 5, 10, 20 raters, everyone rating 50 items."""
    truth = HOWCROFT2021.settings["representative"].shift(slope_coding="centred")
    sizes = [preview(truth, 50, n, participants=n)["size"][0].as_py() for n in (3, 5, 10, 20)]
    np.testing.assert_allclose(sizes, [0.137, 0.093, 0.067, 0.053], atol=0.02)
    linear = [preview(truth, 50, n, participants=n, model="lmer")["size"][0].as_py() for n in (3, 5, 10, 20)]
    np.testing.assert_allclose(linear, [0.05] * 4, atol=0.02)


def test_power_grows_with_everything_and_adjusted_power_is_lower_where_the_test_is_liberal():
    table = preview(LOW.shift(effect=0.31), np.arange(25, 501, 25)[:, None], [2, 3, 5, 10]).to_pandas()
    power = table.pivot(index="items", columns="ratings_per_text", values="power").to_numpy()
    assert (np.diff(power, axis=0) > -1e-9).all() and (np.diff(power, axis=1) > -1e-9).all()
    liberal = table["size"] > 0.052
    assert liberal.any() and (table["adjusted"] < table["power"])[liberal].all()


def test_the_hardest_pair_counts():
    truth = Truth(effects=(0.2, 0.8), thresholds=(-1, 0, 1), participant_sd=(0.3, 0.1), item_sd=(0.3, 0.1))
    hard, easy = (preview(truth, 60, 3, pairs=[pair])["power"][0].as_py() for pair in ((0, 1), (0, 2)))
    assert preview(truth, 60, 3)["power"][0].as_py() == pytest.approx(hard)
    assert hard < easy
