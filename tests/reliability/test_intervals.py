"""All worked examples of Gladkoff et al. (2023), what its misprints should read, and coverage by simulation."""

import numpy as np
import pytest
from scipy import stats

from ordbridge import reliability as rel
from ordbridge.errors import InputError

NORMAL = {1 / 3: 1.2579, 0.25: 1.7985, 0.2: 2.3125, 0.1: 4.7873, 0.05: 9.6529, 0.01: 48.3890}
UNIMODAL = {0.5: 0.5, 1 / 3: 1.866, 0.25: 2.914, 0.2: 3.936, 0.1: 8.972, 0.05: 18.987, 0.01: 98.997}


def test_k_of_the_papers_table():
    for alpha, k in NORMAL.items():
        assert rel.arf_interval(85.2, 96.3, 1 - alpha).k == pytest.approx(k, abs=5.1e-5)
    for alpha, k in UNIMODAL.items():
        assert rel.arf_interval(85.2, 96.3, 1 - alpha, "unimodal").k == pytest.approx(k, abs=5.1e-4)
    assert rel.arf_interval(85.2, 96.3, 0.5).k == pytest.approx(0.5, abs=1e-6)  # printed 0.05, a misprint


def test_the_papers_one_observation():
    """The paper rounds k to 1.8 and 2.31 first: ± 19.98 and ± 25.64; with k solved, ± 19.96 and ± 25.67."""
    three_quarters = rel.arf_interval(85.2, prior=96.3, level=0.75)
    assert three_quarters.centre == pytest.approx(90.75)
    assert three_quarters.margin == pytest.approx(19.98, abs=0.02)
    assert three_quarters.low == pytest.approx(70.77, abs=0.02)
    assert three_quarters.high == 100
    four_fifths = rel.arf_interval(85.2, prior=96.3, level=0.8)
    assert round(four_fifths.k, 2) * 11.1 == pytest.approx(25.64, abs=5e-3)
    assert four_fifths.low == pytest.approx(65.11, abs=0.03)
    assert four_fifths.high == 100
    assert rel.arf_interval(85.2, prior=96.3, level=0.8, scale=None).high == pytest.approx(90.75 + four_fifths.margin)


def covered(draws, prior, mean, level, distribution):
    k = rel.arf_interval(1, 0, level, distribution, scale=None).k
    return (np.abs((draws + prior) / 2 - mean) <= k * np.abs(draws - prior)).mean()


@pytest.mark.parametrize("level", [0.75, 0.8, 0.9])
def test_the_normal_interval_covers_and_is_not_wider_than_needed(level):
    draws = np.random.default_rng(1).normal(size=400_000)
    priors = np.linspace(0.05, 4, 60)
    coverage = [covered(draws, prior, 0, level, "normal") for prior in priors]
    assert min(coverage) == pytest.approx(level, abs=0.004)


def test_the_unimodal_interval_is_attained_by_a_uniform_and_fails_for_two_points():
    level, rng = 0.8, np.random.default_rng(2)
    uniform = rng.uniform(-1, 1, size=400_000)
    coverage = [covered(uniform, prior, 0, level, "unimodal") for prior in np.linspace(0.05, 3, 60)]
    assert min(coverage) > level - 0.003
    worst = np.sqrt(1 - 2 * (1 - level))  # where the interval misses exactly when the draw lies beyond worst²
    assert covered(uniform, worst, 0, level, "unimodal") == pytest.approx(level, abs=0.003)
    normal_k = [covered(uniform, prior, 0, level, "normal") for prior in np.linspace(0.05, 3, 60)]
    assert min(normal_k) < level - 0.02  # the narrower interval does not hold for it
    two_points = rng.choice([-1.0, 1.0], size=400_000)
    assert covered(two_points, 0.95, 0, level, "unimodal") == pytest.approx(0.5, abs=0.01)


def test_the_papers_two_scores():
    interval = rel.t_interval([76.85, 81.99], level=0.8, scale=(0, 100), threshold=80)
    assert interval.mean == pytest.approx(79.42)
    assert interval.sd == pytest.approx(3.6345, abs=5e-5)
    assert interval.margin == pytest.approx(7.91, abs=5e-3)
    assert (interval.low, interval.high) == pytest.approx((71.51, 87.33), abs=5e-3)
    assert interval.relative_margin == pytest.approx(0.0996, abs=5e-5)
    assert interval.agreement == pytest.approx((0.933, 0.937), abs=5e-4)
    assert interval.verdict == "borderline FAIL"


def test_t_interval_against_scipy():
    scores = [71.0, 74.5, 80.25, 69.0]
    expected = stats.t.interval(0.9, 3, loc=np.mean(scores), scale=stats.sem(scores))
    interval = rel.t_interval(scores, level=0.9)
    assert (interval.low, interval.high) == pytest.approx(expected)
    assert interval.verdict is None
    assert interval.agreement is None


@pytest.mark.parametrize("n", [2, 3, 5])
def test_t_interval_covers(n):
    scores = np.random.default_rng(n).normal(70, 6, size=(4000, n))
    intervals = [rel.t_interval(line, level=0.8) for line in scores]
    assert np.mean([i.low <= 70 <= i.high for i in intervals]) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    ("threshold", "verdict"), [(71, "PASS"), (79, "borderline PASS"), (80, "borderline FAIL"), (88, "FAIL")]
)
def test_verdicts(threshold, verdict):
    assert rel.t_interval([76.85, 81.99], threshold=threshold).verdict == verdict


def test_clamping():
    assert rel.t_interval([98, 92], scale=(0, 100)).high == 100
    assert rel.t_interval([98, 92]).high > 100


def test_raters_needed_is_the_first_row_of_the_table_that_is_small_enough():
    table = rel.margins([76.85, 81.99], level=0.8, up_to=40)
    assert table["margin"][0].as_py() == pytest.approx(7.91, abs=5e-3)
    for margin in (7.95, 5, 3, 1, 0.8):
        first = next(row["raters"] for row in table.to_pylist() if row["margin"] <= margin)
        assert rel.raters_needed([76.85, 81.99], margin=margin, level=0.8) == first
    sd = np.std([76.85, 81.99], ddof=1)
    assert rel.raters_needed(sd, 3, 0.8) == rel.raters_needed(sd=sd, margin=3, level=0.8) == 4
    many = rel.raters_needed(sd=10, margin=0.05, level=0.8)  # large n: (1.28155 · 10 / 0.05)²
    assert many == pytest.approx((stats.norm.ppf(0.9) * 200) ** 2, abs=3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: rel.arf_interval(96.3, 96.3), "equals the prior value"),
        (lambda: rel.arf_interval(50, 60, level=0.4), "level=0.4 must be at least 0.5"),
        (lambda: rel.arf_interval(50, 60, level=1), "below 1"),
        (lambda: rel.arf_interval(50, 60, distribution="t"), "distribution='t' is not known"),
        (lambda: rel.arf_interval(105, 60), "the observation, 105, is outside the scale 0 to 100"),
        (lambda: rel.arf_interval(float("nan"), 60), "the observation is nan"),
        (lambda: rel.t_interval([80]), "at least two scores"),
        (lambda: rel.t_interval([80, 80, 80]), "all 3 scores are 80"),
        (lambda: rel.t_interval([80, 120], scale=(0, 100)), "score 2, 120, is outside the scale"),
        (lambda: rel.t_interval([70, 80], level=80), "level=80 must lie between 0 and 1"),
        (lambda: rel.t_interval([70, 80], scale=(100, 0)), "must be \\(lowest, highest\\)"),
        (lambda: rel.t_interval([70, 80], scale=(0, 100), threshold=101), "the threshold, 101, is outside"),
        (lambda: rel.raters_needed(margin=3), "either scores or their standard deviation"),
        (lambda: rel.raters_needed([70, 80], margin=0), "margin=0 must be a positive number"),
        (lambda: rel.raters_needed([70], margin=2), "one score has no spread"),
        (lambda: rel.raters_needed(sd=-1, margin=2), "positive number, not -1"),
        (lambda: rel.margins([70, 80], up_to=1), "at least 2 raters"),
    ],
)
def test_what_has_no_interval_says_why(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
