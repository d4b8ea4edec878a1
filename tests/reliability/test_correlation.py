"""Correlation coefficients against scipy, R's published example, and definitions written out."""

import functools
import itertools
import subprocess

import numpy as np
import pytest
from scipy import stats

from ordbridge import reliability as rel
from ordbridge.errors import InputError

# Hollander & Wolfe (1973), p. 140: 22 runners' times for three ways to round first base; the example of R's
# friedman.test: chi-squared = 11.143, df = 2, p = 0.003805. As rankings: three "items" ranked by 22 "raters".
ROUNDING_TIMES = np.array(
    """5.40 5.50 5.55 5.85 5.70 5.75 5.20 5.60 5.50 5.55 5.50 5.40 5.90 5.85 5.70 5.45 5.55 5.60 5.40 5.40 5.35
    5.45 5.50 5.35 5.25 5.15 5.00 5.85 5.80 5.70 5.25 5.20 5.10 5.65 5.55 5.45 5.60 5.35 5.45 5.05 5.00 4.95
    5.50 5.50 5.40 5.45 5.55 5.50 5.55 5.55 5.35 5.45 5.50 5.55 5.50 5.45 5.25 5.65 5.60 5.40 5.70 5.65 5.55
    6.30 6.30 6.25""".split(),  # noqa: SIM905
    dtype=float,
).reshape(22, 3)


def simulated(n_items=80, n_raters=4, n_categories=5, gaps=0.0, seed=8):
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(n_items, 1)) + rng.normal(scale=0.8, size=(n_items, n_raters))
    ratings = quality if n_categories is None else np.digitize(quality, np.linspace(-1.2, 1.2, n_categories - 1)) + 1.0
    ratings[rng.random(ratings.shape) < gaps] = np.nan
    return ratings


def mean_over_pairs(ratings, function):
    """Weighted by common items."""
    values, sizes = [], []
    for a, b in itertools.combinations(ratings.T, 2):
        both = ~np.isnan(a) & ~np.isnan(b)
        values.append(function(a[both], b[both]))
        sizes.append(both.sum())
    return np.average(values, weights=sizes)


def gamma_from_all_pairs(a, b):
    product = np.sign(a[:, None] - a) * np.sign(b[:, None] - b)
    return (product > 0).sum() / (product != 0).sum() - (product < 0).sum() / (product != 0).sum()


@pytest.mark.parametrize("n_categories", [3, 5, 100, None])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_against_scipy_and_the_definition(n_categories, gaps):
    ratings = simulated(n_categories=n_categories, gaps=gaps)
    for ours, reference in (
        (rel.pearson, lambda a, b: stats.pearsonr(a, b).statistic),
        (rel.spearman, lambda a, b: stats.spearmanr(a, b).statistic),
        (rel.kendall_tau, lambda a, b: stats.kendalltau(a, b).statistic),
        (functools.partial(rel.goodman_kruskal_gamma, pooled=False), gamma_from_all_pairs),
    ):
        result = ours(ratings, conf_level=None)
        assert result.estimate == pytest.approx(mean_over_pairs(ratings, reference), abs=1e-12), result.name
        assert result.n_pairs == 6


@pytest.mark.parametrize("coefficient", [rel.goodman_kruskal_gamma, rel.kendall_tau, rel.spearman, rel.pearson])
def test_what_is_left_without_an_item_or_a_rater_is_the_coefficient_of_the_others(coefficient):
    """One pass over the pairs gives what the coefficient gives on every smaller table; so does κ, with weights."""
    from ordbridge.reliability import jackknife

    ratings = simulated(n_items=12, n_raters=4)
    for function in (coefficient, functools.partial(rel.cohen_kappa, weights="quadratic")):
        kept = {}

        def keep(found, conf_level, random, kept=kept):
            kept["found"] = found
            return {}

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jackknife, "interval_of", keep)
            function(ratings, raters="random")
        items = [function(np.delete(ratings, i, axis=0), conf_level=None).estimate for i in range(12)]
        raters = [function(np.delete(ratings, j, axis=1), conf_level=None).estimate for j in range(4)]
        assert kept["found"].without_items == pytest.approx(items, abs=1e-12)
        assert kept["found"].without_raters == pytest.approx(raters, abs=1e-12)


def test_pooled_gamma_sums_the_comparisons_of_all_pairs():
    ratings = simulated(gaps=0.6)
    sums = np.zeros(2)
    for a, b in itertools.combinations(ratings.T, 2):
        both = ~np.isnan(a) & ~np.isnan(b)
        product = np.sign(a[both][:, None] - a[both]) * np.sign(b[both][:, None] - b[both])
        sums += [product.sum(), np.abs(product).sum()]
    found = rel.goodman_kruskal_gamma(ratings, min_common=2, conf_level=None)
    assert found.estimate == pytest.approx(sums[0] / sums[1], abs=1e-12)


def test_kendall_w_of_the_published_example_with_ties():
    w = rel.kendall_w(ROUNDING_TIMES.T)
    assert (w.n_items, w.n_raters, w.df) == (3, 22, 2)
    assert w.statistic == pytest.approx(11.143, abs=5e-4)
    assert w.p_value == pytest.approx(0.003805, abs=5e-7)
    assert w.estimate == pytest.approx(11.143 / (22 * 2), abs=2e-5)


def test_kendall_w_against_scipy_with_many_ties():
    ratings = simulated(n_items=40, n_raters=5)
    w = rel.kendall_w(ratings, conf_level=None)
    friedman = stats.friedmanchisquare(*ratings)
    assert w.statistic == pytest.approx(friedman.statistic, rel=1e-12)
    assert w.p_value == pytest.approx(friedman.pvalue, rel=1e-9)


@pytest.mark.needs_r
def test_kendall_w_against_r():
    ratings = simulated(n_items=15, n_raters=4, n_categories=4, seed=1)
    code = f"m <- matrix(c({','.join(map(str, ratings.ravel()))}), nrow=4, byrow=FALSE)\n"  # R 4.2.2: columns = items
    code += "cat(format(friedman.test(m)$statistic, digits=15))"
    printed = subprocess.run(["Rscript", "--vanilla", "-e", code], capture_output=True, text=True, check=True).stdout
    assert rel.kendall_w(ratings, conf_level=None).statistic == pytest.approx(float(printed), rel=1e-12)


def test_kendall_w_leaves_out_incomplete_items_and_says_so():
    ratings = simulated()
    ratings[3, 1] = np.nan
    w = rel.kendall_w(ratings, conf_level=None)
    assert w.n_items == 79
    assert "1 of 80 items" in w.note


def test_kendall_w_of_identical_rankings_is_one():
    assert rel.kendall_w([[1, 10], [2, 20], [3, 30]], conf_level=None).estimate == pytest.approx(1)


def test_retest_is_pearson_of_all_ratings_given_twice():
    first, second = simulated(seed=1), np.round(simulated(seed=1) / 4 + np.random.default_rng(2).normal(size=(80, 4)))
    second[5, 2] = np.nan
    given = ~np.isnan(second)
    expected = stats.pearsonr(first[given], second[given])
    result = rel.test_retest(first, second)
    assert result.estimate == pytest.approx(expected.statistic, abs=1e-12)
    assert 1e-12 < result.p_value == pytest.approx(expected.pvalue, rel=1e-6)
    assert (result.n_items, result.n_raters, result.n_pairs) == (80, 4, 319)
    assert result.conf_low < result.estimate < result.conf_high


def test_retest_matches_long_tables_by_label():
    first = {"item": ["a", "b", "c", "a"], "participant": ["x", "x", "x", "y"], "rating": [1, 2, 3, 9]}
    second = {"item": ["c", "b", "a", "z"], "participant": ["x", "x", "x", "x"], "rating": [3, 3, 1, 7]}
    expected = stats.pearsonr([1, 2, 3], [1, 3, 3]).statistic
    assert rel.test_retest(first, second, conf_level=None).estimate == pytest.approx(expected)
    crossed = {
        "item": [*second["item"], "d", "a"],
        "participant": [*second["participant"], "x", "y"],
        "rating": [*second["rating"], 2, 8],
    }
    once = {"item": [*first["item"], "d"], "participant": [*first["participant"], "y"], "rating": [1, 2, 3, 9, 4]}
    assert rel.test_retest(once, crossed, conf_level=None).n_items == 3  # nobody rated item d twice
    with pytest.raises(InputError, match="no common raters"):
        rel.test_retest(first, {**second, "participant": ["q"] * 4})


def test_pairs_without_variation_are_left_out_and_said():
    ratings = [[1, 1, 2], [2, 2, 2], [3, 2, 2], [4, 4, 2]]
    gamma = rel.goodman_kruskal_gamma(ratings, conf_level=None, pooled=False)
    assert gamma.estimate == 1
    assert gamma.n_pairs == 1
    assert "2 of 3 pairs" in gamma.note


@pytest.mark.parametrize("coefficient", [rel.goodman_kruskal_gamma, rel.kendall_tau, rel.pearson, rel.spearman])
def test_no_value_says_why(coefficient):
    with pytest.raises(InputError, match="no two raters have enough common items on which both vary"):
        coefficient([[1, 2], [2, 2], [3, 2]])
    with pytest.raises(InputError, match="no two raters rated a common item"):
        coefficient([[1, None], [None, 2]])


def test_words_have_no_correlation_without_an_order():
    words = [["low", "mid"], ["mid", "mid"], ["high", "high"]]
    with pytest.raises(InputError, match="needs categories with an order"):
        rel.goodman_kruskal_gamma(words)
    with pytest.raises(InputError, match="needs numbers"):
        rel.pearson(words)
    numbers = [[1, 2], [2, 2], [3, 3]]
    ordered = rel.spearman(words, scale=["low", "mid", "high"], conf_level=None)
    assert ordered.estimate == pytest.approx(rel.spearman(numbers, conf_level=None).estimate)


def test_no_complete_items():
    ratings = [[1, 2, None], [2, None, 3], [None, 1, 3]]
    with pytest.raises(InputError, match="at least two items that all 3 raters rated; there are 0"):
        rel.kendall_w(ratings)
