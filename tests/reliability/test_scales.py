"""Comparison of scales against R, statsmodels and scipy, on simulated and Latin-square designs."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multicomp import pairwise_tukeyhsd

from ordbridge import reliability as rel
from ordbridge.errors import InputError
from ordbridge.reliability import scales


def crossed(seed=1, n_systems=5, n_items=8, n_raters=6, effect=0.6):
    rng = np.random.default_rng(seed)
    cells = [(f"S{s}", f"I{i}", f"R{r}") for s in range(n_systems) for i in range(n_items) for r in range(n_raters)]
    table = pd.DataFrame(cells, columns=["system", "item", "rater"])
    table["quality"] = effect * table["system"].str[1:].astype(int) + rng.normal(size=len(table))
    table["kind"] = np.where(table["item"].str[1:].astype(int) % 2, "long", "short")
    return table


def two_scales(**options):
    table = crossed(**options)
    return table.assign(rating=np.clip(np.round(3 + table["quality"]), 1, 7)), table.assign(
        rating=40 + 10 * table["quality"]
    )


def test_reliability_is_kendalls_w_over_texts():
    seven, slider = two_scales()
    rows = scales.compare(seven, slider, draws=50).reliability.to_pylist()
    wide = slider.pivot(index=["system", "item"], columns="rater", values="rating").to_numpy()
    friedman = stats.friedmanchisquare(*wide)
    assert rows[1]["over"] == "texts"
    assert (rows[1]["n_ranked"], rows[1]["n_raters"]) == (40, 6)
    assert rows[1]["kendall_w"] == pytest.approx(friedman.statistic / (6 * 39))
    assert rows[1]["p_value"] == pytest.approx(friedman.pvalue)
    assert rows[1]["conf_low"] < rows[1]["kendall_w"] < rows[1]["conf_high"]


def test_in_a_latin_square_w_is_over_the_systems():
    table = crossed(n_systems=5, n_items=5, n_raters=5)
    numbers = table[["system", "item", "rater"]].map(lambda label: int(label[1:]))
    square = table[(numbers["system"] + numbers["item"] + numbers["rater"]) % 5 == 0].assign(
        rating=lambda t: t["quality"]
    )
    row = scales.compare(square, square, names=("x", "y"), draws=0).reliability.to_pylist()[0]
    means = square.pivot_table(index="system", columns="rater", values="rating").to_numpy()
    assert row["over"] == "systems"
    assert row["kendall_w"] == pytest.approx(stats.friedmanchisquare(*means).statistic / (5 * 4))


def test_w_is_over_the_systems_when_most_texts_were_not_rated_by_all():
    _, slider = two_scales()
    numbers = slider[["item", "rater"]].map(lambda label: int(label[1:]))
    few_complete = slider[(numbers["item"] < 3) | (numbers["rater"] != 0)]
    many_complete = slider[(numbers["item"] < 5) | (numbers["rater"] != 0)]
    result = scales.compare(few_complete, many_complete, draws=0).reliability.to_pylist()
    assert [row["over"] for row in result] == ["systems", "texts"]
    assert result[1]["n_ranked"] == 25


def test_interchangeability_is_the_correlation_of_system_means():
    seven, slider = two_scales()
    rows = scales.compare(seven, slider, draws=0).interchangeability.to_pylist()
    means = [table.groupby("system")["rating"].mean() for table in (seven, slider)]
    assert rows[0]["estimate"] == pytest.approx(stats.pearsonr(*means).statistic)
    assert rows[0]["p_value"] == pytest.approx(stats.pearsonr(*means).pvalue)
    assert rows[1]["estimate"] == pytest.approx(stats.spearmanr(*means).statistic)
    assert rows[0]["n_systems"] == 5


def test_tukey_against_statsmodels_and_the_count():
    seven, slider = two_scales(effect=0.25)
    result = scales.compare(seven, slider, draws=0)
    reference = pairwise_tukeyhsd(slider["rating"], slider["system"])
    ours = [row for row in result.differences.to_pylist() if row["scale"] == "b"]
    assert [row["p_value"] for row in ours] == pytest.approx(reference.pvalues, abs=1e-5)
    row = result.sensitivity.to_pylist()[1]
    assert (row["significant"], row["of"]) == (int(reference.reject.sum()), 10)
    assert 0 < row["significant"] < 10
    assert row["posthoc"].startswith("Tukey")


def test_f_ratios_of_factors():
    seven, slider = two_scales()
    rows = scales.compare(seven, slider, text_type="kind", draws=0).factors.to_pylist()
    assert [(row["scale"], row["factor"]) for row in rows] == [
        (scale, factor) for scale in "ab" for factor in ("system", "rater", "text type")
    ]
    for row, column in zip(rows[3:], ("system", "rater", "kind"), strict=True):
        groups = [part["rating"] for _, part in slider.groupby(column)]
        assert row["F"] == pytest.approx(stats.f_oneway(*groups).statistic)
        assert row["df1"] == len(groups) - 1
        assert row["df2"] == 240 - len(groups)


def test_anova_tukey_and_holm_against_r():
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    _, slider = two_scales(effect=0.25, n_items=4, n_raters=3)
    code = f"""
    y <- c({",".join(map(repr, slider["rating"].tolist()))})
    s <- factor(c({",".join(f"'{name}'" for name in slider["system"])}))
    fit <- aov(y ~ s)                                        # R 4.2.2
    cat(format(c(summary(fit)[[1]][["F value"]][1], TukeyHSD(fit)$s[, "p adj"],
        na.omit(c(pairwise.t.test(y, s, p.adjust.method = "holm")$p.value))), digits = 15))
    """
    printed = subprocess.run(["Rscript", "--vanilla", "-e", code], capture_output=True, text=True, check=True).stdout
    f, *p_values = map(float, printed.split())
    tukey = scales.compare(slider, slider, names=("x", "y"), draws=0)
    holm = scales.compare(slider, slider, names=("x", "y"), posthoc="holm", draws=0)
    assert tukey.sensitivity["F"][0].as_py() == pytest.approx(f, rel=1e-10)
    assert tukey.differences["p_value"].to_pylist()[:10] == pytest.approx(
        p_values[:10], abs=1e-6
    )  # two ptukey's differ
    assert holm.differences["p_value"].to_pylist()[:10] == pytest.approx(p_values[10:], rel=1e-9)


def test_no_difference_is_counted_without_a_significant_anova():
    _, slider = two_scales(effect=0.0, seed=3)
    row = scales.compare(slider, slider, names=("x", "y"), draws=0).sensitivity.to_pylist()[0]
    assert row["p_value"] > 0.05
    assert row["significant"] == 0
    assert "not significant" in row["note"]


def test_layout_of_the_paper():
    seven, slider = two_scales()
    layout = scales.compare(seven, slider, text_type="kind", names=("VDS-7", "VAS"), draws=0).as_in_paper()
    assert [table.column_names[0] for table in layout.values()] == ["scale", "scales", "scale", "scale"]
    *_, factors = layout.values()
    assert factors.column_names == ["scale", "system", "rater", "text type"]
    assert factors["scale"].to_pylist() == ["VDS-7", "VAS"]
    assert factors["system"][0].as_py().endswith("**")
    assert layout["Sensitivity (significant differences between systems)"]["significant"][0].as_py().endswith("/10")


def test_stability_is_pearson_of_ratings_given_twice():
    _, run1 = two_scales()
    run2 = run1.assign(rating=run1["rating"] + np.random.default_rng(3).normal(scale=4, size=len(run1))).iloc[5:]
    expected = stats.pearsonr(run1["rating"].iloc[5:], run2["rating"])
    result = scales.stability(run1.sample(frac=1, random_state=1), run2)
    assert result.value == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue, rel=1e-6)
    assert result.n_pairs == 235
    assert isinstance(result, rel.Coefficient)


def test_validity_takes_a_mapping_or_a_table():
    _, slider = two_scales()
    outside = {"S0": 0.41, "S1": 0.48, "S2": 0.50, "S3": 0.66, "S4": 0.71, "human": 0.9}
    means = slider.groupby("system")["rating"].mean()
    expected = stats.pearsonr(means, list(outside.values())[:5])
    for measure in (outside, pd.DataFrame({"system": list(outside), "value": list(outside.values())})):
        result = scales.validity(slider, measure)
        assert result.value == pytest.approx(expected.statistic)
        assert result.p_value == pytest.approx(expected.pvalue)
        assert result.n_systems == 5
        assert result.stars == "**"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda a, b: scales.compare(a, b, system="model"), "there is no column 'model' for the system"),
        (lambda a, b: scales.compare(a, b, posthoc="lsd"), "posthoc='lsd' is not known"),
        (lambda a, b: scales.compare(a, b, names=("x", "x")), "two different names"),
        (lambda a, b: scales.compare(a, b, alpha=5), "alpha=5"),
        (lambda a, b: scales.compare(a, b.assign(system="X" + b["system"])), "0 systems in common"),
        (lambda a, b: scales.compare(a, b.assign(rating="good")), "must be numbers"),
        (lambda a, b: scales.compare(a, b.assign(rating=np.nan)), "missing or infinite"),
        (lambda a, b: scales.compare(a, b.assign(rating=3.0)), "all ratings within each system are equal"),
        (lambda a, b: scales.compare(a[a["rater"] == "R0"], b), "the rater needs at least two levels"),
        (lambda a, b: scales.compare(a.assign(item=None), b), "column 'item' of scale 'a' has empty cells"),
        (
            lambda a, b: scales.validity(a, {"S0": 1, "S1": 2}),
            "2 systems in common; a correlation of means needs at least 3",
        ),
        (lambda a, b: scales.validity(a, dict.fromkeys(["S0", "S1", "S2"], 1)), "do not differ"),
        (lambda a, b: scales.validity(a.assign(rating=2), {"S0": 1, "S1": 2, "S2": 3}), "do not differ"),
        (lambda a, b: scales.stability(a, b.assign(rater="X" + b["rater"])), "no common raters"),
    ],
)
def test_what_cannot_be_compared_says_why(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call(*two_scales())
