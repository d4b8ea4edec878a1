"""Three or more systems vary alike: another name, or another place in the list, changes nothing but names."""

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ordbridge as ob
from ordbridge.design import counterbalanced, crossed
from ordbridge.errors import InputError
from ordbridge.papers import belz2011, howcroft2021
from ordbridge.planning import Designs, PlannedAnalysis, Simulation, preview
from ordbridge.power.calibration import nulls_of
from ordbridge.simulate import ThresholdDistribution, Truth, implied, ratings

DRAWN = ThresholdDistribution(lowest=(-1.5, 0.2), distance=(0.7, 0.1), categories=5)
FOUR = Truth((0.2, 0.5, -0.1), (-1, 0, 1), participant_sd=(0.5, 0.3), item_sd=(0.6, 0.4), participant_corr=-0.3)


def renamed(design, places):
    """Return a design in which the system that was at ``places[k]`` has the name of the one at ``k``."""
    names = sorted(set(design["system"].to_pylist()))
    new = {names[place]: names[k] for k, place in enumerate(places)}
    column = pa.array([new[name] for name in design["system"].to_pylist()])
    return design.set_column(design.column_names.index("system"), "system", column)


def test_three_systems_are_exchangeable_unless_one_says_otherwise():
    three = {"effects": (0.0, 0.5), "thresholds": (-1, 0, 1)}
    assert Truth(**three, participant_sd=(0.5, 0.3)).slope_coding == "exchangeable"
    assert Truth(**three, participant_sd=(0.5, 0.3, 0.3)).slope_coding == "exchangeable"
    assert Truth(**three, participant_sd=(0.5, 0.3, 0.2)).slope_coding == "treatment"
    assert Truth(**three, item_corr=np.eye(3)).slope_coding == "treatment"
    assert Truth(effects=0.5, thresholds=0.0).slope_coding == "treatment"
    for coding in ("treatment", "centred"):
        truth = Truth(**three, slope_coding=coding)
        assert truth.slope_coding == Truth.from_toml(truth.to_toml()).slope_coding == coding
    with pytest.raises(InputError, match="participant_sd tells them apart"):
        Truth(**three, participant_sd=(0.5, 0.3, 0.2), slope_coding="exchangeable")
    with pytest.raises(InputError, match="no 3 systems can vary alike"):
        Truth(**three, item_sd=(0.5, 1.0), item_corr=-0.9)


def test_the_published_truths_keep_their_coding():
    for paper in (howcroft2021, belz2011):
        assert {truth.slope_coding for truth in paper.settings.values()} == {"treatment"}
    low = howcroft2021.settings["low"]
    assert "slope_coding" not in low.to_dict()  # so that cells, their seeds and stored runs are what they were
    np.testing.assert_allclose(low.covariance("item"), [[0.29**2, 0.29**2], [0.29**2, 0.29**2 + 0.63**2]])


def test_any_two_systems_are_like_the_two_of_a_truth_in_either_order():
    for coding in ("treatment", "centred"):
        two = Truth(0.3, (-1, 0, 1), participant_sd=(0.5, 0.3), participant_corr=-0.4, slope_coding=coding)
        many = two.with_systems(4)
        own = two.covariance("participant")
        both = (own + own[::-1, ::-1]) / 2
        for i, j in permutations(range(4), 2):
            np.testing.assert_allclose(many.covariance("participant")[np.ix_([i, j], [i, j])], both)
        assert many.effects == (0.3,) * 3
    with pytest.raises(InputError, match="a truth of 4 systems"):
        many.with_systems(5)


def test_slopes_as_r_codes_them_correlate_one_half():
    sigma, tau, rho = 0.5, 0.3, -0.3
    deviations = FOUR.covariance("participant")
    first = np.array([[1, 0, 0, 0], [-1, 1, 0, 0], [-1, 0, 1, 0], [-1, 0, 0, 1]])
    coded = first @ deviations @ first.T
    sd = np.sqrt(np.diag(coded))
    corr = coded / np.outer(sd, sd)
    np.testing.assert_allclose(sd[1:], tau)
    np.testing.assert_allclose(corr[1:, 1:][~np.eye(3, dtype=bool)], 0.5)
    np.testing.assert_allclose(corr[0, 1:], -tau / (2 * np.sqrt(sigma**2 + rho * sigma * tau + tau**2 / 2)))


@st.composite
def truths(draw):
    systems = draw(st.integers(3, 5))
    number, sd = st.floats(-1, 1), st.floats(0.05, 1)
    scale = draw(st.sampled_from(["ordinal", "vas", "interval"]))
    cuts = {"mean": 3.0, "residual_sd": 0.8} if scale == "interval" else draw(
        st.sampled_from([{"thresholds": (-1, 0.1, 1)}, {"threshold_distribution": DRAWN}])
    )  # fmt: skip
    return Truth(
        draw(st.tuples(*[number] * (systems - 1))),
        participant_sd=(draw(sd), draw(sd)),
        item_sd=(draw(sd), draw(sd)),
        participant_corr=draw(st.floats(-0.1, 0.5)),
        residual_spread=draw(st.one_of(st.just(()), st.tuples(*[st.floats(0.5, 2)] * (systems - 1)))),
        scale=scale,
        **cuts,
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(truths(), st.randoms(use_true_random=False), st.integers(0, 99))
def test_other_names_give_the_same_ratings(truth, random, seed):
    """The same rows under permuted names, and the truth in that order: every rating is what it was."""
    design = crossed(items=6, raters=4, systems=truth.systems, seed=seed)
    places = list(range(truth.systems))
    random.shuffle(places)
    before = ratings(design, truth, seed)["rating"].to_numpy()
    after = ratings(renamed(design, places), truth.in_order(places), seed)["rating"].to_numpy()
    # another unit (the residual of another first system) rescales an interval rating, not its rank
    np.testing.assert_allclose(after, before, rtol=1e-7, atol=1e-7)


@given(truths(), st.randoms(use_true_random=False))
def test_there_and_back_is_the_same_truth(truth, random):
    places = list(range(truth.systems))
    random.shuffle(places)
    back = truth.in_order(places).in_order([places.index(k) for k in range(truth.systems)])
    for name in ("effects", "thresholds", "participant_sd", "item_sd", "mean", "residual_sd"):
        np.testing.assert_allclose(getattr(back, name) or 0, getattr(truth, name) or 0, atol=1e-9)


@pytest.mark.slow
def test_power_has_the_same_p_values_under_other_names():
    """A table with renamed systems: the same datasets, and for the same pair the same p-values, to rounding."""
    truth = Truth((0.4, 0.1), (-1, 0, 1), participant_sd=(0.4, 0.3), item_sd=(0.4, 0.4))
    design = counterbalanced(12, 2, 3, 6)
    expected = None
    for places in permutations(range(3)):
        a, b = sorted((places.index(0), places.index(1)))  # the pair that was A and B
        if a:
            continue  # power tests coefficients, which are differences from the first name
        grid = ob.power.Grid(truth=truth.in_order(places), design=renamed(design, places))
        found = ob.power.run(grid, {"lm": {"term": f"system{'ABC'[b]}"}}, 20, seed=7, engine="fast")
        p = found.fits.sort_by("replicate")["p_value"].to_numpy()
        expected = p if expected is None else expected
        np.testing.assert_allclose(p, expected, rtol=1e-6)


def test_where_nothing_differs_no_system_is_the_first():
    for places in permutations(range(4)):
        null = FOUR.in_order(places).without_effects()
        assert null.effects == (0.0,) * 3
        assert null.thresholds == pytest.approx(FOUR.without_effects().thresholds, abs=1e-9)
    grid = ob.power.Grid(truth=FOUR, design="crossed", items=4, ratings_per_text=3, effect=[(0, 0, 1), (0, 0, 2)])
    model = ob.power.Model("lm", term="systemB")
    nulls = [null for cell in grid.cells for null in nulls_of(cell, model)]
    assert len({null.label for null in nulls}) == 2  # each has a name of its own
    assert [null.truth.thresholds[1] for null in nulls] == [-0.25, -0.5]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["lm", "lmer"])
def test_a_plan_says_the_same_under_other_names(model):
    truth = Truth((0.0, 0.9), (-1, 0, 1), participant_sd=(0.3, 0.3), item_sd=(0.3, 0.4))
    design = counterbalanced(12, 2, 3, 6)
    formula = {"lm": None, "lmer": "rating ~ system + (1 | participant) + (1 | item)"}[model]
    few = Simulation(max_per_design=40, null_datasets=40, calibrate=True)
    seen = set()
    for places in permutations(range(3)):
        names = ["ABC"[place] for place in places]  # the systems keep their names, and stand at other places
        analysis = PlannedAnalysis(model, formula, test=("B", "C"), systems=names)
        tried = Designs(table=renamed(design, places))
        found = ob.plan(truth.in_order(places), analysis=analysis, designs=tried, simulation=few)
        (row,) = found.designs.to_pylist()
        seen.add((row["power"], row["nominal_power"], row["size"], round(row["critical_value"], 6)))
        assert {*found.protocol.pairs[0]} == {"B", "C"}
    assert len(seen) == 1


def test_the_closed_form_is_the_same_for_every_pair():
    truth = Truth((0.0, 0.5), (-1, 0, 1), participant_sd=(0.4, 0.3), item_sd=(0.4, 0.4))
    for model in ("clmm", "lmer"):
        powers = []
        for places in permutations(range(3)):
            turned = truth.in_order(places)
            pair = sorted((places.index(1), places.index(2)))
            powers.append(preview(turned, [40, 80], 2, model=model, pairs=[tuple(pair)])["power"].to_numpy())
        np.testing.assert_allclose(powers, [powers[0]] * 6, atol=1e-9)


@pytest.mark.slow
def test_every_pair_of_a_preset_has_the_same_power():
    """Point 5 of the audit, .867 against .64: difference .5, 100 × 2; in closed form, and in 200 simulated studies."""
    three = howcroft2021.settings["representative"].with_systems(3)
    first, other = three.shift(effect=(0.5, 0.0)), three.shift(effect=(0.0, 0.5))
    pairs = (first, (0, 1)), (other, (0, 2)), (other, (1, 2))
    powers = [preview(truth, 100, 2, model="lmer", pairs=[pair])["power"][0].as_py() for truth, pair in pairs]
    assert powers == pytest.approx([powers[0]] * 3, abs=1e-9)
    few = Simulation(max_per_design=200, null_datasets=0)
    setting = howcroft2021.settings["representative"]
    simulated = []
    for truth, pair in pairs:
        analysis = PlannedAnalysis("lm", test=tuple("ABC"[k] for k in pair), systems=3)
        found = ob.plan(setting, effect=truth.effects, analysis=analysis, designs=Designs(100, 2), simulation=few)
        simulated.append(found.designs["power"][0].as_py())
    assert max(simulated) - min(simulated) < 0.12  # 2.5 standard errors of a difference


def test_a_pair_of_exchangeable_systems_has_no_difference_of_means_at_latent_0():
    three = howcroft2021.settings["representative"].with_systems(3)
    assert implied(three).differences["difference"].to_pylist() == pytest.approx([0.0] * 3, abs=1e-9)
