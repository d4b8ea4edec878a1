"""The interval: over items, over raters too when they are a sample, honest where there is none, and covering."""

import numpy as np
import pytest
from scipy import stats

from ordbridge import reliability as rel
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.reliability import agreement, alpha, jackknife
from ordbridge.reliability.intraclass import mean_squares
from ordbridge.reliability.jackknife import Replicates, describe_raters_as, interval_of


def two_raters(n, rng):
    quality = rng.integers(0, 2, n)
    wrong = rng.random((n, 2)) < 0.2
    return np.where(wrong, 1 - quality[:, None], quality[:, None])


def raters_of_a_kind(n, m, rng, severity=0.5, noise=0.7):
    seen = rng.normal(size=(n, 1)) + rng.normal(scale=severity, size=m) + rng.normal(scale=noise, size=(n, m))
    return np.digitize(seen, [-1.2, -0.4, 0.4, 1.2]) + 1


def test_the_order_of_rows_does_not_matter():
    ratings = two_raters(40, np.random.default_rng(1))
    assert rel.cohen_kappa(ratings) == rel.cohen_kappa(ratings[::-1])


def test_the_interval_of_a_mean_is_students_on_the_z_scale():
    """Percent agreement of two raters is a mean over items, whose jackknife variance is s²/n."""
    ratings = np.repeat([[1, 1], [1, 2]], 20, axis=0)  # as often equal as not, so that nothing is skewed
    equal = (ratings[:, 0] == ratings[:, 1]).astype(float)
    found = rel.percent_agreement(ratings)
    half = stats.t.ppf(0.975, 39) * equal.std(ddof=1) / np.sqrt(40) / (1 - equal.mean() ** 2)  # delta method
    assert found.conf_low == pytest.approx(np.tanh(np.arctanh(equal.mean()) - half), abs=0.01)
    assert found.conf_high == pytest.approx(np.tanh(np.arctanh(equal.mean()) + half), abs=0.01)


def test_without_single_items_the_interval_of_a_mean_is_exactly_scipys():
    """A coefficient that is a mean on the z scale: the jackknife's variance is s²/n, with n − 1 degrees of freedom."""
    x = 0.4 + 0.3 * np.array([-1.7, -1, -0.2, 0, 0.2, 1, 1.7])
    found = interval_of(mean_of(x), 0.9, random=False)
    expected = stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert (found["conf_low"], found["conf_high"]) == pytest.approx(np.tanh(expected), rel=1e-12)


def mean_of(x):
    return Replicates(np.tanh(x.mean()), np.tanh((x.sum() - x) / (len(x) - 1)), np.empty(0))


def test_the_interval_of_a_skewed_mean_is_that_of_bca():
    """Efron's a and z0 of a mean are both a sixth of its skewness; the ends follow Cornish and Fisher, with t for z."""
    x = np.random.default_rng(2).exponential(0.3, 30)
    found = interval_of(mean_of(x), 0.9, random=False)
    a = stats.skew(x, bias=False) * 28 / np.sqrt(30 * 29) / np.sqrt(30) / 6
    u = a + stats.t.ppf([0.05, 0.95], 29)
    w = a + u / (1 - a * u)
    expected = x.mean() + x.std(ddof=1) / np.sqrt(30) * (w + a * (w**2 - 1))
    assert (found["conf_low"], found["conf_high"]) == pytest.approx(np.tanh(expected), rel=1e-9)


def test_both_sides_miss_alike_where_items_are_skewed():
    """Student's 95 % interval of 20 exponential values is too low in 8 % and too high in 0.3 % of samples."""
    rng = np.random.default_rng(4)
    below, above, student = [], [], []
    for _ in range(1500):
        x = rng.exponential(0.1, 20)
        found = interval_of(mean_of(x), 0.95, random=False)
        below.append(np.tanh(0.1) > found["conf_high"])
        above.append(np.tanh(0.1) < found["conf_low"])
        student.append(stats.ttest_1samp(x, 0).confidence_interval().high < 0.1)
    assert np.mean(student) > 0.07
    assert np.mean(below) < 0.065
    assert 0.008 < np.mean(above) < 0.035


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_items_and_raters_together_have_the_variance_of_the_analysis_of_variance(seed):
    """A mean over items × raters on the z scale: (MS of items + MS of raters − MS of the rest) / nm.

    Degrees of freedom are those of two parts, of items and of what raters add to it.
    """
    rng = np.random.default_rng(seed)
    n, m = 10, 5
    half = rng.normal(size=(n // 2, 1)) + rng.normal(size=(n // 2, m))
    x = 0.1 * (np.vstack([half, -half]) + rng.normal(size=m))  # items that are not skewed
    items, raters = ((x.sum() - x.sum(axis=axis)) / (x.size - x.shape[axis]) for axis in (1, 0))
    both = (x.sum() - x.sum(axis=1)[:, None] - x.sum(axis=0) + x) / ((n - 1) * (m - 1))
    together = tuple(np.tanh(side) for side in (items, raters, both))
    found = interval_of(Replicates(np.tanh(x.mean()), together[0], together[1], together=together), 0.9, random=True)
    b, _, j, e, *_ = mean_squares(x)
    variance = (b + j - e) / x.size
    assert j > e  # else raters add nothing
    df = (b + j - e) ** 2 / (b**2 / (n - 1) + (j - e) * j / (m - 1))
    expected = stats.t.interval(0.9, df, x.mean(), np.sqrt(variance))
    assert (found["conf_low"], found["conf_high"]) == pytest.approx(np.tanh(expected), rel=1e-9)


@pytest.mark.parametrize(("raters", "known"), [("fixed", 0.36), ("random", 0.36)])
@pytest.mark.slow
def test_the_interval_covers_for_raters_who_are_alike(raters, known):
    """κ of the simulated population is known: 0.68 observed, 0.5 by chance, so 0.36."""
    rng = np.random.default_rng(6)
    covered = []
    for _ in range(200):
        ratings = np.hstack([two_raters(40, rng)] * 1)
        if raters == "random":
            quality = rng.integers(0, 2, (40, 1))
            ratings = np.where(rng.random((40, 4)) < 0.2, 1 - quality, quality)
        kappa = rel.conger_kappa(ratings, raters=raters)
        covered.append(kappa.conf_low <= known <= kappa.conf_high)
    assert np.mean(covered) >= 0.90


@pytest.mark.slow
def test_an_interval_about_these_raters_does_not_cover_the_population_of_raters():
    rng = np.random.default_rng(3)
    truth = rel.krippendorff_alpha(raters_of_a_kind(2000, 200, rng), conf_level=None).estimate
    hits = {"fixed": [], "random": []}
    for _ in range(100):
        ratings = raters_of_a_kind(200, 8, rng)
        for raters, found in hits.items():
            alpha = rel.krippendorff_alpha(ratings, raters=raters)
            found.append(alpha.conf_low <= truth <= alpha.conf_high)
    assert np.mean(hits["random"]) >= 0.90
    assert np.mean(hits["fixed"]) < 0.80


def test_raters_are_random_unless_there_are_two_or_it_is_asked_for():
    rng = np.random.default_rng(1)
    three, two = (rel.prepare(raters_of_a_kind(30, m, rng)) for m in (3, 2))
    assert [rel.fleiss_kappa(r).raters for r in (three, two)] == ["random", "fixed"]
    assert rel.fleiss_kappa(three, raters="fixed").raters == "fixed"
    assert describe_raters_as(three, None) == "about raters like these (raters random)"
    assert describe_raters_as(three, "fixed") == "about these 3 raters only (raters fixed)"
    assert "two cannot tell how raters differ" in describe_raters_as(two, None)


def test_two_raters_cannot_tell_how_raters_differ():
    kappa = rel.cohen_kappa(two_raters(40, np.random.default_rng(1)), raters="random")
    assert (kappa.conf_low, kappa.conf_high) == (None, None)
    assert "two raters cannot tell" in kappa.note


def test_no_interval_where_a_single_item_carries_the_coefficient():
    kappa = rel.cohen_kappa([[1, 1], [1, 1], [1, 1], [1, 1], [2, 2]])
    assert kappa.estimate == 1
    assert (kappa.conf_low, kappa.conf_high) == (None, None)
    assert kappa.note.startswith("no interval: without single items or raters there is no value")


def test_perfect_agreement_has_an_interval_without_width_only_with_enough_items():
    few, many = ([[i % 3, i % 3] for i in range(n)] for n in (6, 40))
    assert rel.cohen_kappa(few).conf_low is None
    assert (rel.cohen_kappa(many).conf_low, rel.cohen_kappa(many).conf_high) == (1, 1)
    eight = [[i % 3 + i % 5] * 8 for i in range(43)]  # sums of thirds and sevenths are not exact
    for function in (rel.krippendorff_alpha, rel.fleiss_kappa, rel.gwet_ac):
        assert (function(eight).conf_low, function(eight).conf_high) == (1, 1)


def test_options_are_checked():
    with pytest.raises(InputError, match="conf_level=95"):
        rel.pearson([[1, 2], [2, 4]], conf_level=95)
    with pytest.raises(InputError, match="raters='some'"):
        rel.pearson([[1, 2], [2, 4]], raters="some")
    assert rel.pearson([[1, 2], [2, 4], [2, 3]], conf_level=None).conf_low is None


def test_repeated_ratings_count_once():
    table = {"item": [1, 1, 2, 2, 1, 3, 3], "participant": list("xyxyxxy"), "rating": [1, 1, 2, 2, 2, 3, 3]}
    with pytest.warns(StatisticalWarning, match="1 rating repeated by the same rater"):
        assert rel.percent_agreement(table).estimate == 1


@pytest.mark.parametrize("per", [4, 3])
def test_sums_over_items_leave_out_what_computing_anew_does(per, monkeypatch):
    """What is left without items, raters and both, by the quick way and by computing each coefficient again."""
    rng = np.random.default_rng(5)
    matrix = raters_of_a_kind(30, per if per == 4 else 24, rng).astype(float)
    if per == 3:
        matrix[np.argsort(rng.random(matrix.shape), axis=1) >= 3] = np.nan
    quick, seen = {}, {}
    monkeypatch.setattr(jackknife, "interval_of", lambda found, *_: seen.update(found=found) or {})
    functions = {
        "alpha": rel.krippendorff_alpha,
        "percent": rel.percent_agreement,
        "fleiss": lambda data: rel.fleiss_kappa(data, weights="linear"),
        "ac": rel.gwet_ac,
        "bp": rel.brennan_prediger,
    }
    original = jackknife.estimate
    for name, function in functions.items():
        function(matrix)
        quick[name] = seen["found"]
    for module in (agreement, alpha):
        monkeypatch.setattr(module, "estimate", lambda *args, **given: original(*args, **given | {"replicates": None}))
    for name, function in functions.items():
        function(matrix)
        anew = seen["found"]
        for field in ("whole", "without_items", "without_raters"):
            assert getattr(quick[name], field) == pytest.approx(getattr(anew, field), abs=1e-12)
        if quick[name].single is None:
            for one, other in zip(quick[name].together, anew.together, strict=True):
                assert one == pytest.approx(other, abs=1e-12)
        else:
            without = quick[name].single.without_ratings
            for at in range(0, len(without), 7):
                left = matrix.copy()
                left[np.isfinite(left)] = np.where(np.arange(len(without)) == at, np.nan, left[np.isfinite(left)])
                assert without[at] == pytest.approx(functions[name](left).estimate, abs=1e-12)
