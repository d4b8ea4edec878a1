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
    three_quarters = rel.arf_interval(85.2, prior=96.3, conf_level=0.75)
    assert three_quarters.centre == pytest.approx(90.75)
    assert three_quarters.margin == pytest.approx(19.98, abs=0.02)
    assert three_quarters.conf_low == pytest.approx(70.77, abs=0.02)
    assert three_quarters.conf_high == 100
    four_fifths = rel.arf_interval(85.2, prior=96.3, conf_level=0.8)
    assert round(four_fifths.k, 2) * 11.1 == pytest.approx(25.64, abs=5e-3)
    assert four_fifths.conf_low == pytest.approx(65.11, abs=0.03)
    assert four_fifths.conf_high == 100
    assert rel.arf_interval(85.2, prior=96.3, conf_level=0.8, scale=None).conf_high == pytest.approx(
        90.75 + four_fifths.margin
    )


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
    interval = rel.t_interval([76.85, 81.99], conf_level=0.8, scale=(0, 100), threshold=80)
    assert interval.mean == pytest.approx(79.42)
    assert interval.sd == pytest.approx(3.6345, abs=5e-5)
    assert interval.margin == pytest.approx(7.91, abs=5e-3)
    assert (interval.conf_low, interval.conf_high) == pytest.approx((71.51, 87.33), abs=5e-3)
    assert interval.relative_margin == pytest.approx(0.0996, abs=5e-5)
    assert interval.agreement == pytest.approx((0.933, 0.937), abs=5e-4)
    assert interval.verdict == "borderline FAIL"


def test_t_interval_against_scipy():
    scores = [71.0, 74.5, 80.25, 69.0]
    expected = stats.t.interval(0.9, 3, loc=np.mean(scores), scale=stats.sem(scores))
    interval = rel.t_interval(scores, conf_level=0.9)
    assert (interval.conf_low, interval.conf_high) == pytest.approx(expected)
    assert interval.verdict is None
    assert interval.agreement is None


@pytest.mark.parametrize("n", [2, 3, 5])
def test_t_interval_covers(n):
    scores = np.random.default_rng(n).normal(70, 6, size=(4000, n))
    intervals = [rel.t_interval(line, conf_level=0.8) for line in scores]
    assert np.mean([i.conf_low <= 70 <= i.conf_high for i in intervals]) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    ("threshold", "verdict"), [(71, "PASS"), (79, "borderline PASS"), (80, "borderline FAIL"), (88, "FAIL")]
)
def test_verdicts(threshold, verdict):
    assert rel.t_interval([76.85, 81.99], threshold=threshold).verdict == verdict


def test_clamping():
    assert rel.t_interval([98, 92], scale=(0, 100)).conf_high == 100
    assert rel.t_interval([98, 92]).conf_high > 100


def test_raters_needed_is_the_first_row_of_the_table_that_is_small_enough():
    table = rel.margins([76.85, 81.99], conf_level=0.8, up_to=40)
    assert table["margin"][0].as_py() == pytest.approx(7.91, abs=5e-3)
    for margin in (7.95, 5, 3, 1, 0.8):
        first = next(row["raters"] for row in table.to_pylist() if row["margin"] <= margin)
        assert rel.raters_needed([76.85, 81.99], margin=margin, conf_level=0.8) == first
    sd = np.std([76.85, 81.99], ddof=1)
    assert rel.raters_needed(sd, 3, 0.8) == rel.raters_needed(sd=sd, margin=3, conf_level=0.8) == 4
    many = rel.raters_needed(sd=10, margin=0.05, conf_level=0.8)  # large n: (1.28155 · 10 / 0.05)²
    assert many == pytest.approx((stats.norm.ppf(0.9) * 200) ** 2, abs=3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: rel.arf_interval(96.3, 96.3), "equals the prior value"),
        (lambda: rel.arf_interval(50, 60, conf_level=0.4), "conf_level=0.4 must be at least 0.5"),
        (lambda: rel.arf_interval(50, 60, conf_level=1), "below 1"),
        (lambda: rel.arf_interval(50, 60, distribution="t"), "distribution='t' is not known"),
        (lambda: rel.arf_interval(105, 60), "the observation, 105, is outside the scale 0 to 100"),
        (lambda: rel.arf_interval(float("nan"), 60), "the observation is nan"),
        (lambda: rel.t_interval([80]), "at least two scores"),
        (lambda: rel.t_interval([80, 80, 80]), "all 3 scores are 80"),
        (lambda: rel.t_interval([80, 120], scale=(0, 100)), "score 2, 120, is outside the scale"),
        (lambda: rel.t_interval([70, 80], conf_level=80), "conf_level=80 must lie between 0 and 1"),
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


@pytest.mark.slow
def test_raters_with_assurance_reach_the_margin_as_often_as_said():
    """Two scores plan, so many new ones are taken: the plug-in number reaches the margin in about half of the cases."""
    rng = np.random.default_rng(8)
    reached = {None: [], 0.8: []}
    for _ in range(600):
        first = rng.normal(70, 5, 6)
        for assurance, hits in reached.items():
            n = rel.raters_needed(first, margin=1.5, conf_level=0.8, assurance=assurance)
            new = rng.normal(70, 5, n)
            hits.append(rel.t_interval(new, conf_level=0.8).margin <= 1.5)
    assert np.mean(reached[None]) < 0.65
    assert np.mean(reached[0.8]) == pytest.approx(0.8, abs=0.05)


def test_with_a_known_spread_assurance_is_a_matter_of_chi_square():
    n = rel.raters_needed(sd=5, margin=2, conf_level=0.9, assurance=0.8)
    scores = np.random.default_rng(1).normal(0, 5, (20_000, n))
    wide = stats.t.ppf(0.95, n - 1) * scores.std(axis=1, ddof=1) / np.sqrt(n)
    assert 0.8 <= (wide <= 2).mean() < 0.87
    with pytest.raises(InputError, match="so few scores leave the spread open"):
        rel.raters_needed([70, 80], margin=0.01, assurance=0.99)


def test_verdict_rates_are_those_of_t_interval():
    rates = rel.verdict_rates(sd=5, threshold=80, raters=[2, 4], means=[77, 84], evaluations=2000).to_pylist()
    assert [(row["raters"], row["mean"]) for row in rates] == [(2, 77), (2, 84), (4, 77), (4, 84)]
    rng = np.random.default_rng(9)
    said = [rel.t_interval(rng.normal(77, 5, 4), threshold=80).verdict for _ in range(2000)]
    for verdict in ("PASS", "borderline PASS", "borderline FAIL", "FAIL"):
        assert rates[2][verdict] == pytest.approx(said.count(verdict) / 2000, abs=0.04)
    assert rates[2]["wrong"] == rates[2]["PASS"]
    assert rates[2]["wrong_by_mean"] == pytest.approx(stats.norm.sf(80, 77, 2.5), abs=0.03)


@pytest.mark.parametrize(("coefficient", "level"), [("alpha", "ordinal"), ("alpha", "interval"), ("kappa", "nominal")])
@pytest.mark.slow
def test_so_many_items_give_the_margin_wanted(coefficient, level):
    from ordbridge.reliability import sample_size

    n = rel.items_needed(0.6, margin=0.1, coefficient=coefficient, level=level, raters=3)
    ratings = sample_size._simulated(0.6, level, 3, 5, seed=2)
    first = ratings.only(ratings.row < n).rated_by(1)
    function = rel.conger_kappa if coefficient == "kappa" else rel.krippendorff_alpha
    options = {} if coefficient == "kappa" else {"level": level}
    found = function(first, raters="fixed", **options)
    assert found.estimate == pytest.approx(0.6, abs=0.12)
    assert (found.conf_high - found.conf_low) / 2 == pytest.approx(0.1, abs=0.03)


def test_items_needed_from_a_pilot_says_what_is_wrong():
    pilot = np.random.default_rng(1).integers(1, 4, (40, 1)) + np.random.default_rng(2).integers(0, 2, (40, 3))
    assert 20 < rel.items_needed(pilot=pilot, margin=0.1) < 1000
    with pytest.raises(InputError, match="either the expected value or a pilot"):
        rel.items_needed()
