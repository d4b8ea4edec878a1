"""Effects in rating points, as a probability of being rated higher, and in latent units."""

import numpy as np
import pytest

from ordbridge import design
from ordbridge.errors import InputError
from ordbridge.simulate import Truth, ratings
from ordbridge.simulate.effect_units import effect_units, with_points, with_superiority
from ordbridge.simulate.presets import HOWCROFT2021

TRUTHS = {
    "thresholds": Truth(
        effects=(0.3, -0.6), thresholds=(-1.2, -0.1, 1.5), participant_sd=(0.4, 0.3), item_sd=(0.5, 0.2)
    ),
    "logit": Truth(effects=0.8, thresholds=(-1, 0.5), link="logit", item_sd=(0.7, 0.3)),
    "drawn": HOWCROFT2021.settings["high"].shift(effect=0.31),
    "interval": Truth(effects=0.4, scale="interval", mean=3.0, residual_sd=0.8, participant_sd=(0.5, 0.2)),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_there_and_back(name):
    truth = TRUTHS[name]
    units = effect_units(truth)
    np.testing.assert_allclose(with_points(truth, units["points"].to_pylist()).effects, truth.effects, atol=1e-6)
    np.testing.assert_allclose(
        with_superiority(truth, units["superiority"].to_pylist()).effects, truth.effects, atol=1e-6
    )


@pytest.mark.parametrize("name", ["thresholds", "logit", "interval"])
def test_units_are_what_simulated_ratings_show(name):
    truth = TRUTHS[name]
    table = ratings(design.crossed(items=1500, raters=30, systems=truth.systems), truth, seed=3).to_pandas()
    by_system = {system: rows for system, rows in table.groupby("system")}
    random = np.random.default_rng(1)
    for row in effect_units(truth).to_pylist():
        other, first = (by_system[row[name]]["rating"].to_numpy(float) for name in ("system_a", "system_b"))
        assert other.mean() - first.mean() == pytest.approx(row["points"], abs=0.1)
        a, b = random.permutation(other), random.permutation(first)
        assert ((a > b) + 0.5 * (a == b)).mean() == pytest.approx(row["superiority"], abs=0.025)


def test_names_are_the_users():
    assert effect_units(TRUTHS["thresholds"], ["human", "gpt", "rules"])["system_a"].to_pylist() == ["gpt", "rules"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda: with_points(TRUTHS["logit"], 5.0),
            "effect_points=5 is out of reach: on this scale two systems can be",
        ),
        (lambda: with_points(TRUTHS["logit"], [0.1, 0.2]), "effect_points has 2 numbers; give 1"),
        (lambda: with_superiority(TRUTHS["logit"], 1.2), "superiority=1.2 is not a probability between 0 and 1"),
    ],
)
def test_what_cannot_be_gets_one_sentence(change, sentence):
    with pytest.raises(InputError) as error:
        change()
    assert sentence in str(error.value)
