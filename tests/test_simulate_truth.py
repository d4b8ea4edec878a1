"""What a truth may be, what it refuses, and that it survives being written down."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from ordbridge.errors import InputError
from ordbridge.simulate import ThresholdDistribution, Truth

DISTRIBUTION = ThresholdDistribution(lowest=(-1.78, 0.19), distance=(0.62, 0.18), categories=6)


def test_a_truth_is_frozen_and_holds_tuples():
    truth = Truth([0.3], [-1, 0, 1], participant_sd=[0.5, 0.2])
    assert (truth.effects, truth.thresholds, truth.participant_sd) == ((0.3,), (-1.0, 0.0, 1.0), (0.5, 0.2))
    assert (truth.systems, truth.categories) == (2, 4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        truth.link = "logit"


def three(**changes):
    return Truth(**({"effects": (0.1, 0.2), "thresholds": (-1, 0, 1)} | changes))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: three(participant_sd=(0.5, -0.2)), "participant_sd has -0.2; a standard deviation is 0 or more"),
        (lambda: three(item_sd=(0.5,)), "item_sd has 1 numbers; give two.*or the intercept's and 2 slopes'"),
        (
            lambda: Truth(0.1, 0.0, item_sd=(1, 1, 1)),
            "item_sd has 3 numbers; give two, the intercept's and the slope's$",
        ),
        (lambda: three(residual_spread=1.5), "residual_spread has 1 numbers; give 2, one for every system after"),
        (
            lambda: three(residual_spread=(1.5, 0)),
            "residual_spread has 0; it is a factor above 0, and 1 for equal spread",
        ),
        (lambda: three(thresholds=(-1, 1, 0)), "thresholds must ascend, but 1 is followed by 0"),
        (lambda: three(thresholds=(0, 0)), "thresholds must ascend, but 0 is followed by 0"),
        (lambda: three(thresholds=()), "thresholds is empty"),
        (lambda: three(thresholds=(0, float("nan"))), "thresholds has nan; it must be finite"),
        (lambda: three(effects=("a", 1)), "effects has 'a', which is not a number"),
        (lambda: three(effects=(True, 1)), "effects has True, which is not a number"),
        (lambda: three(participant_corr=1), "participant_corr=1; a correlation lies between -1 and 1, both excluded"),
        (lambda: three(item_corr=-1.5), "item_corr=-1.5; a correlation lies"),
        (lambda: three(item_corr=np.eye(2)), "item_corr must be one number or a symmetric 3 × 3 matrix"),
        (lambda: three(item_corr=[[1, 0.5, 0], [0.4, 1, 0], [0, 0, 1]]), "item_corr must be one number or a symmetric"),
        (lambda: three(item_corr=[[1, 1.5, 0], [1.5, 1, 0], [0, 0, 1]]), "item_corr has 1.5; a correlation lies"),
        (lambda: three(item_corr=[[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]), "not positive definite"),
        (
            lambda: three(slope_coding="sum"),
            "slope_coding='sum' is not known; choose one of 'treatment', 'centred', 'exch",
        ),
        (lambda: three(link="log"), "link='log' is not known; choose one of 'logit', 'probit', 'cloglog', 'loglog'"),
        (lambda: three(scale="likert"), "scale='likert' is not known; choose one of 'ordinal', 'vas', 'interval'"),
        (lambda: three(thresholds=None), "needs either thresholds or threshold_distribution; neither was given"),
        (lambda: three(threshold_distribution=DISTRIBUTION), "both were given"),
        (lambda: three(thresholds=None, threshold_distribution=(0, 1)), "is a tuple; give a ThresholdDistribution"),
        (lambda: three(scale="interval"), "scale='interval' has no thresholds; leave thresholds out"),
        (lambda: three(scale="interval", thresholds=None, link="logit"), "has normal residuals"),
        (lambda: three(scale="interval", thresholds=None, residual_sd=-1), "residual_sd=-1 is negative"),
        (lambda: three(mean=3), "mean and residual_sd belong to scale='interval'"),
        (lambda: three().shift(effect=0.3), "effect has 1 numbers; give 2, one for each system after the first"),
        (lambda: three().shift(sd=0.3), "a truth has no 'sd' to change"),
        (lambda: Truth.from_dict({"effects": 0, "treshold": 1}), "a truth has no 'treshold'; it has: effects, thresh"),
        (lambda: Truth.from_dict({"thresholds": 1}), "a truth needs effects"),
        (
            lambda: Truth.from_dict({"effects": 0, "threshold_distribution": {"lowest": 0}}),
            "needs lowest, distance and",
        ),
        (lambda: Truth.from_toml("effects = "), "the text is not valid TOML"),
        (lambda: Truth.from_toml("nowhere.toml"), "there is no file nowhere.toml"),
        (lambda: three().to_toml("no/such/folder/truth.toml"), "there is no folder no/such/folder"),
        (lambda: ThresholdDistribution((0, -1), (1, 1), 5), "lowest has the negative standard deviation -1"),
        (lambda: ThresholdDistribution((0,), (1, 1), 5), "lowest has 1 numbers; give two: mean, standard deviation"),
        (lambda: ThresholdDistribution((0, 1), (0, 0), 5), "distance has mean and standard deviation 0"),
        (lambda: ThresholdDistribution((0, 1), (1, 1), 1), "categories=1 must be an integer ≥ 2"),
    ],
)
def test_what_is_no_truth_gets_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_shift_changes_one_thing():
    truth = Truth(0.0, threshold_distribution=DISTRIBUTION, item_sd=(1, 2))
    assert truth.shift(effect=0.31) == dataclasses.replace(truth, effects=(0.31,))
    assert truth.shift(slope_coding="centred") == dataclasses.replace(truth, slope_coding="centred")
    fixed = truth.shift(thresholds=(0, 1))
    assert fixed.threshold_distribution is None and fixed.thresholds == (0.0, 1.0)
    assert fixed.shift(threshold_distribution=DISTRIBUTION) == truth
    assert three().shift(effect=(1, 2)).effects == (1.0, 2.0)


def test_coding_of_slopes():
    assert three(slope_coding="treatment").coding().tolist() == [[1, 0, 0], [1, 1, 0], [1, 0, 1]]
    third = 1 / 3
    expected = [[1, -third, -third], [1, 1 - third, -third], [1, -third, 1 - third]]
    np.testing.assert_allclose(three(slope_coding="centred").coding(), expected)
    assert Truth(0.0, 0.0, slope_coding="centred").coding().tolist() == [[1, -0.5], [1, 0.5]]


def test_covariance_of_a_participant_under_two_systems():
    treatment = Truth(0.0, 0.0, participant_sd=(0.5, 0.3), participant_corr=-0.4)
    cross = -0.4 * 0.5 * 0.3
    np.testing.assert_allclose(
        treatment.covariance("participant"),
        [[0.25, 0.25 + cross], [0.25 + cross, 0.25 + 2 * cross + 0.09]],
    )
    centred = treatment.shift(slope_coding="centred", participant_corr=0.0)
    np.testing.assert_allclose(np.diag(centred.covariance("participant")), [0.25 + 0.09 / 4] * 2)


def test_correlations_of_several_slopes():
    """One number is the correlation of the intercept with each slope; given the intercept, slopes are independent."""
    root = three(item_sd=(1, 1), item_corr=0.6, slope_coding="treatment").factor("item")
    np.testing.assert_allclose(root @ root.T, [[1, 0.6, 0.6], [0.6, 1, 0.36], [0.6, 0.36, 1]])
    matrix = ((1, 0.2, -0.3), (0.2, 1, 0.5), (-0.3, 0.5, 1))
    root = three(item_sd=(2, 3, 4), item_corr=matrix).factor("item")
    np.testing.assert_allclose(root @ root.T, np.array(matrix) * np.outer([2, 3, 4], [2, 3, 4]))


numbers = st.floats(-5, 5, allow_nan=False)
deviations = st.floats(0, 3)


@st.composite
def truths(draw):
    systems = draw(st.integers(2, 4))
    sd = st.one_of(st.tuples(deviations, deviations), st.tuples(*[deviations] * systems))
    matrix = (np.eye(systems) * 0.75 + 0.25).tolist()
    scale = draw(st.sampled_from(["ordinal", "vas", "interval"]))
    cuts = {"mean": draw(numbers), "residual_sd": draw(deviations)}
    if scale != "interval":
        fixed = st.lists(numbers, min_size=1, max_size=6, unique=True).map(lambda t: {"thresholds": sorted(t)})
        drawn = st.builds(
            ThresholdDistribution,
            st.tuples(numbers, deviations),
            st.tuples(numbers, st.floats(0.1, 3)),
            st.integers(2, 9),
        ).map(lambda d: {"threshold_distribution": d})
        cuts = draw(fixed | drawn) | {"link": draw(st.sampled_from(["probit", "cauchit"]))}
    given = dict(
        effects=draw(st.tuples(*[numbers] * (systems - 1))),
        participant_sd=draw(sd),
        item_sd=draw(sd),
        participant_corr=draw(st.one_of(st.floats(-0.99, 0.99), st.just(matrix))),
        item_corr=draw(st.floats(-0.99, 0.99)),
        slope_coding=draw(st.sampled_from(["treatment", "centred", None])),
        scale=scale,
        **cuts,
    )
    try:
        return Truth(**given)
    except InputError:  # no systems vary like this
        reject()


@given(truths())
def test_toml_gives_the_same_truth_back(truth):
    assert Truth.from_toml(truth.to_toml()) == truth
    assert Truth.from_dict(truth.to_dict()) == truth


def test_toml_files_are_readable(tmp_path):
    path = tmp_path / "truth.toml"
    truth = Truth(0.31, threshold_distribution=DISTRIBUTION, item_sd=(0.57, 0.77), slope_coding="centred")
    truth.to_toml(path)
    assert path.read_text() == (
        'effects = [\n    0.31,\n]\nitem_sd = [\n    0.57,\n    0.77,\n]\nslope_coding = "centred"\n\n'
        "[threshold_distribution]\nlowest = [\n    -1.78,\n    0.19,\n]\ndistance = [\n    0.62,\n    0.18,\n]\n"
        "categories = 6\n"
    )
    assert Truth.from_toml(path) == Truth.from_toml(str(path)) == truth


def test_moments_of_a_distance_are_those_of_a_folded_normal():
    from scipy import stats

    for mean, sd in ((0.62, 0.18), (0.2, 0.5), (-0.3, 1.0), (0.4, 0.0)):
        ours = ThresholdDistribution((0, 1), (mean, sd), 3).folded()
        folded = stats.foldnorm(abs(mean) / sd, scale=sd) if sd else stats.norm(abs(mean), 0)
        np.testing.assert_allclose(ours, (folded.mean() if sd else mean, folded.std() if sd else 0), atol=1e-12)


@pytest.mark.parametrize("categories", [2, 3, 5, 7, 11])
def test_cubature_is_exact_for_polynomials_of_degree_five(categories):
    """Sums of independent normals: moments of the highest threshold, and mixed ones of the lowest and the highest."""
    distribution = ThresholdDistribution((-1.0, 0.3), (5.0, 0.2), categories)  # distances are never folded
    nodes, weights = distribution.cubature()
    lowest, highest = nodes[:, 0] + 1, nodes[:, -1] + 1 - 5 * (categories - 2)
    rest = 0.2**2 * (categories - 2)
    assert weights.sum() == pytest.approx(1)
    assert weights @ highest == pytest.approx(0, abs=1e-12)
    assert weights @ highest**2 == pytest.approx(0.3**2 + rest)
    assert weights @ highest**4 == pytest.approx(3 * (0.3**2 + rest) ** 2)
    assert weights @ (highest * lowest) == pytest.approx(0.3**2)
    assert weights @ (highest**2 * lowest**2) == pytest.approx(3 * 0.3**4 + 0.3**2 * rest)


def test_spread_is_written_down_and_left_out_where_it_is_equal():
    wide = three(residual_spread=[1.5, 0.7])
    assert Truth.from_toml(wide.to_toml()) == wide and wide.spread.tolist() == [1.0, 1.5, 0.7]
    assert three(residual_spread=(1, 1)) == three() and "residual_spread" not in three().to_dict()
