"""Intraclass correlations and Cronbach's α against Shrout & Fleiss (1979), statsmodels and the definition."""

import numpy as np
import pytest

from ordbridge import reliability as rel
from ordbridge.errors import InputError

# Shrout & Fleiss (1979), table 2: six targets, four judges; table 4 has the six coefficients.
JUDGES = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_shrout_and_fleiss_1979():
    published = {"1,1": 0.17, "2,1": 0.29, "3,1": 0.71, "1,k": 0.44, "2,k": 0.62, "3,k": 0.91}
    for form, value in published.items():
        record = rel.icc(JUDGES, form=form)
        assert record.estimate == pytest.approx(value, abs=5e-3)
        assert record.name == f"ICC({form})"
        assert record.conf_low <= record.estimate <= record.conf_high


def test_interval_of_two_way_random_is_the_generalised_one():
    """Tian & Cappelleri (2004), with random draws: items, raters and residual each have a χ²."""
    rng = np.random.default_rng(1)
    x = np.array(JUDGES, dtype=float)
    n, k = x.shape
    rows, columns = x.mean(axis=1, keepdims=True), x.mean(axis=0, keepdims=True)
    sums = k * rows.var() * n, n * columns.var() * k, ((x - rows - columns + x.mean()) ** 2).sum()
    b, j, e = (total / rng.chisquare(df, 400_000) for total, df in zip(sums, (5, 3, 15), strict=True))
    by_hand = np.quantile((b - e) / (b + (k - 1) * e + k * (j - e) / n), [0.025, 0.975])
    record = rel.icc(JUDGES, form="2,1")
    assert [record.conf_low, record.conf_high] == pytest.approx(by_hand, abs=0.01)
    assert rel.icc(JUDGES, form="2,1") == record  # no random draws


@pytest.mark.slow
def test_interval_of_two_way_random_covers_with_three_raters():
    """McGraw & Wong's interval covered .83 of such studies."""
    rng, hits = np.random.default_rng(2), []
    for _ in range(300):
        seen = rng.normal(size=(200, 1)) + rng.normal(scale=0.5, size=3) + rng.normal(scale=0.7, size=(200, 3))
        record = rel.icc(seen)
        hits.append(record.conf_low <= 1 / 1.74 <= record.conf_high)
    assert np.mean(hits) > 0.915  # .95 less 2.8 standard errors


def test_mean_squares_of_an_independent_anova():
    import pandas as pd
    import statsmodels.api as sm
    from statsmodels.formula.api import ols

    rng = np.random.default_rng(4)
    ratings = rng.normal(size=(30, 1)) + rng.normal(size=(1, 5)) + rng.normal(size=(30, 5))
    long = pd.DataFrame(ratings).stack().reset_index(name="y").set_axis(["item", "rater", "y"], axis=1)
    table = sm.stats.anova_lm(ols("y ~ C(item) + C(rater)", long).fit())
    b, j, e = (table["sum_sq"] / table["df"]).to_numpy()
    assert rel.icc(ratings, form="2,1", conf_level=None).estimate == pytest.approx(
        (b - e) / (b + 4 * e + 5 * (j - e) / 30)
    )
    assert rel.icc(ratings, form="3,1", conf_level=None).estimate == pytest.approx((b - e) / (b + 4 * e))


def test_cronbach_by_its_definition():
    ratings = np.array(JUDGES, dtype=float)
    by_hand = 4 / 3 * (1 - ratings.var(axis=0, ddof=1).sum() / ratings.sum(axis=1).var(ddof=1))
    assert rel.cronbach_alpha(JUDGES, conf_level=None).estimate == pytest.approx(by_hand, abs=1e-12)


def test_incomplete_items_are_left_out_and_said():
    record = rel.icc([*JUDGES, [1, None, 2, 3]], conf_level=None)
    assert record.n_items == 6
    assert "1 of 7 items" in record.note


def test_what_has_no_value_says_why():
    with pytest.raises(InputError, match="form='4,1' is not a form"):
        rel.icc(JUDGES, form="4,1")
    with pytest.raises(InputError, match="same mean rating"):
        rel.icc([[1, 2], [2, 1], [1, 2]])
    with pytest.raises(InputError, match="needs numbers"):
        rel.cronbach_alpha([["a", "b"], ["b", "b"]])
