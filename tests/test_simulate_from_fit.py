"""A fitted model becomes the truth of the next study, whatever coding it was fitted with."""

import shutil
import warnings

import numpy as np
import pyarrow as pa
import pytest

import ordbridge as ob
from ordbridge import design
from ordbridge.errors import ConvergenceWarning, InputError, StatisticalWarning
from ordbridge.simulate import Truth, implied, ratings

pytestmark = [
    pytest.mark.needs_r,
    pytest.mark.skipif(shutil.which("R") is None, reason="there is no R"),
    pytest.mark.filterwarnings("ignore::ordbridge.errors.ConvergenceWarning"),
]
MAXIMAL = "rating ~ system + (system|participant) + (system|item)"
INTERVAL = Truth(
    (0.8, -0.5),
    scale="interval",
    mean=3.0,
    residual_sd=0.5,
    participant_sd=(0.7, 0.6, 0.4),
    item_sd=(0.5, 0.8),
    participant_corr=0.4,
)


def coded(table, values):
    """Replace the systems A, B by two numbers."""
    system = [values["AB".index(name)] for name in table["system"].to_pylist()]
    return table.set_column(table.column_names.index("system"), "system", pa.array(system))


@pytest.fixture(scope="module")
def two_systems():
    truth = INTERVAL.shift(effects=(0.8,), participant_sd=(0.7, 0.6))
    return ratings(design.crossed(items=30, raters=12), truth, seed=2)


def close(one, other, tolerance):
    for name in ("effects", "participant_sd", "item_sd", "participant_corr", "item_corr", "mean", "residual_sd"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=tolerance, atol=tolerance, err_msg=name
        )


@pytest.mark.parametrize("values", [(0, 1), (-1, 1), (-0.5, 0.5), (1, 2)])
def test_lmer_gives_the_same_truth_in_every_coding(two_systems, values):
    """A linear mixed model with free correlations is the same model in each coding; optimisers stop 1e-4 apart."""
    as_factor = Truth.from_fit(ob.lmer(MAXIMAL, two_systems))
    as_number = Truth.from_fit(ob.lmer(MAXIMAL, coded(two_systems, values)))
    close(as_number, as_factor, 2e-3)
    assert as_factor.scale == "interval" and as_factor.slope_coding == "treatment"


def test_lmer_with_three_systems_recovers_the_truth_it_was_drawn_from():
    table = ratings(design.crossed(items=50, raters=30, systems=3), INTERVAL, seed=5)
    found = Truth.from_fit(ob.lmer(MAXIMAL, table, REML=False))
    np.testing.assert_allclose(found.effects, INTERVAL.effects, atol=0.35)
    np.testing.assert_allclose(found.participant_sd, (0.7, 0.6, 0.4), rtol=0.35)
    np.testing.assert_allclose(found.item_sd, (0.5, 0.8, 0.8), rtol=0.25)
    assert found.residual_sd == pytest.approx(0.5, rel=0.02)
    assert np.shape(found.participant_corr) == (3, 3)
    assert found.participant_corr[0][1] == pytest.approx(0.4, abs=0.35)


def test_clmm_estimates_become_effects_thresholds_and_deviations():
    truth = Truth((0.6,), (-1.0, 0.0, 1.0), participant_sd=(0.7, 0.0), item_sd=(0.5, 0.0), link="logit")
    table = ratings(design.crossed(items=30, raters=10), truth, seed=1)
    fit = ob.clmm("rating ~ system + (1|participant) + (1|item)", table, link="logit")
    found = Truth.from_fit(fit)
    tidy = {row["term"]: row["estimate"] for row in fit.tidy().to_pylist()}
    assert found.effects == pytest.approx((tidy["systemB"],))
    assert found.thresholds == pytest.approx(tuple(tidy[name] for name in ("1|2", "2|3", "3|4")))
    sd = {row["group"]: row["sd"] for row in fit.varcorr().to_pylist()}
    assert found.participant_sd == pytest.approx((sd["participant"], 0.0))
    assert found.item_sd == pytest.approx((sd["item"], 0.0))
    assert (found.link, found.scale) == ("logit", "ordinal")
    assert Truth.from_toml(found.to_toml()) == found


def test_clmm_in_another_coding_means_the_same_category_probabilities():
    truth = Truth((0.6,), (-1.0, 0.0, 1.0), participant_sd=(0.7, 0.4))
    table = ratings(design.crossed(items=10, raters=12), truth, seed=6)
    formula = "rating ~ system + (system|participant)"
    one, other = (Truth.from_fit(ob.clmm(formula, coded(table, values), link="probit")) for values in ((0, 1), (-1, 1)))
    shares = [implied(t).probabilities["probability"].to_numpy() for t in (one, other)]
    np.testing.assert_allclose(shares[0], shares[1], atol=2e-3)
    assert one.item_sd == (0.0, 0.0)


def test_equidistant_thresholds_become_thresholds():
    table = ratings(design.crossed(30, 10), Truth((0.6,), (-1.0, 0.0, 1.0, 2.0)), seed=1)
    found = Truth.from_fit(ob.clm("rating ~ system", table, link="probit", threshold="equidistant"))
    assert np.ptp(np.diff(found.thresholds)) < 1e-9
    assert found.thresholds[0] == pytest.approx(-1, abs=0.2) and found.categories == 5
    assert found.participant_sd == found.item_sd == (0.0, 0.0)


def test_other_names_of_the_groups(two_systems):
    renamed = two_systems.rename_columns(["worker", "text", "system", "rating"])
    fit = ob.lmer("rating ~ system + (1|worker) + (1|text)", renamed)
    assert Truth.from_fit(fit, participant="worker", item="text").participant_sd[0] > 0.1
    with pytest.raises(InputError, match="the fit has the grouping factor 'text', which is neither"):
        Truth.from_fit(fit, participant="worker")


def test_uncorrelated_slopes_of_lmer(two_systems):
    numbers = coded(two_systems, (0, 1))
    found = Truth.from_fit(ob.lmer("rating ~ system + (system||participant) + (1|item)", numbers))
    assert found.participant_corr == 0.0 and found.participant_sd[1] > 0.1 and found.item_sd[1] == 0.0


def test_a_singular_fit_is_nudged_and_said():
    truth = INTERVAL.shift(effects=(0.8,), participant_sd=(0.7, 0.0), item_sd=(0.0, 0.0))
    table = ratings(design.crossed(items=10, raters=6), truth, seed=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = ob.lmer("rating ~ system + (system|participant)", table)
    (correlation,) = next(row["correlations"] for row in fit.varcorr().to_pylist() if row["term"] == "systemB")
    assert abs(correlation) > 1 - 1e-6, "this dataset was picked for its singular fit"
    with pytest.warns(StatisticalWarning, match="perfectly correlated"):
        found = Truth.from_fit(fit)
    assert found.participant_corr == pytest.approx(np.sign(correlation) * (1 - 1e-4))


def test_models_that_are_no_truth_get_one_sentence(two_systems):
    number = coded(two_systems, (0, 1))
    three = ratings(design.crossed(10, 6, systems=3), INTERVAL, seed=1)
    trend = three.set_column(2, "system", pa.array(["ABC".index(name) for name in three["system"].to_pylist()]))
    for fit, sentence in (
        (
            ob.lm("rating ~ system + order", number.append_column("order", pa.array(range(number.num_rows)))),
            "order, sys",
        ),
        (ob.lm("rating ~ 0 + system", two_systems), "are not differences from a first system"),
        (ob.lm("rating ~ system", trend), "system is a number with 3 values"),
        (ob.lmer("rating ~ 1 + (1|participant)", two_systems), r"exactly one fixed effect \(this one has: none\)"),
        (ob.lmer("rating ~ system + (0 + system|participant)", two_systems), "is neither an intercept nor a slope"),
    ):
        with pytest.raises(InputError, match=sentence) as caught:
            Truth.from_fit(fit)
        assert "\n" not in str(caught.value)
