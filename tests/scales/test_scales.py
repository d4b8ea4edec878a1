"""Comparison of scales against R, statsmodels and scipy, on simulated and Latin-square designs."""

import subprocess

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multicomp import pairwise_tukeyhsd

from ordbridge import reliability as rel
from ordbridge import scales
from ordbridge.errors import InputError


def crossed(seed=1, n_systems=5, n_items=8, n_raters=6, effect=0.6):
    rng = np.random.default_rng(seed)
    cells = [(f"S{s}", f"I{i}", f"R{r}") for s in range(n_systems) for i in range(n_items) for r in range(n_raters)]
    table = pd.DataFrame(cells, columns=["system", "item", "participant"])
    table["quality"] = effect * table["system"].str[1:].astype(int) + rng.normal(size=len(table))
    table["kind"] = np.where(table["item"].str[1:].astype(int) % 2, "long", "short")
    return table


def two_scales(**options):
    table = crossed(**options)
    return table.assign(rating=np.clip(np.round(3 + table["quality"]), 1, 7)), table.assign(
        rating=40 + 10 * table["quality"]
    )


def noticed(result, code):
    """Return what findings with this code are about, and the systems that they name."""
    return [(one.subject, one.values["systems"]) for one in result.findings if one.code == code]


def test_reliability_is_kendalls_w_over_texts():
    seven, slider = two_scales()
    rows = scales.compare(seven, slider, conf_level=0.95).reliability.to_pylist()
    wide = slider.pivot(index=["system", "item"], columns="participant", values="rating").to_numpy()
    friedman = stats.friedmanchisquare(*wide)
    assert rows[1]["over"] == "texts"
    assert (rows[1]["n_ranked"], rows[1]["n_raters"]) == (40, 6)
    assert rows[1]["kendall_w"] == pytest.approx(friedman.statistic / (6 * 39))
    assert rows[1]["p_value"] == pytest.approx(friedman.pvalue)
    assert rows[1]["conf_low"] < rows[1]["kendall_w"] < rows[1]["conf_high"]


def test_in_a_latin_square_w_is_over_the_systems():
    table = crossed(n_systems=5, n_items=5, n_raters=5)
    numbers = table[["system", "item", "participant"]].map(lambda label: int(label[1:]))
    square = table[(numbers["system"] + numbers["item"] + numbers["participant"]) % 5 == 0].assign(
        rating=lambda t: t["quality"]
    )
    row = scales.compare(square, square, names=("x", "y"), conf_level=None).reliability.to_pylist()[0]
    means = square.pivot_table(index="system", columns="participant", values="rating").to_numpy()
    assert row["over"] == "systems"
    assert row["kendall_w"] == pytest.approx(stats.friedmanchisquare(*means).statistic / (5 * 4))


def test_w_is_over_the_systems_when_most_texts_were_not_rated_by_all():
    _, slider = two_scales()
    numbers = slider[["item", "participant"]].map(lambda label: int(label[1:]))
    few_complete = slider[(numbers["item"] < 3) | (numbers["participant"] != 0)]
    many_complete = slider[(numbers["item"] < 5) | (numbers["participant"] != 0)]
    result = scales.compare(few_complete, many_complete, conf_level=None).reliability.to_pylist()
    assert [row["over"] for row in result] == ["systems", "texts"]
    assert result[1]["n_ranked"] == 25


@pytest.mark.slow
def test_interchangeability_is_the_correlation_of_system_means():
    seven, slider = two_scales()
    rows = scales.compare(seven, slider, conf_level=None).interchangeability.to_pylist()
    means = [table.groupby("system")["rating"].mean() for table in (seven, slider)]
    assert rows[0]["estimate"] == pytest.approx(stats.pearsonr(*means).statistic)
    assert rows[0]["p_value"] == pytest.approx(stats.pearsonr(*means).pvalue)
    assert rows[1]["estimate"] == pytest.approx(stats.spearmanr(*means).statistic)
    assert rows[0]["n_systems"] == 5


@pytest.mark.slow
def test_tukey_against_statsmodels_and_the_count():
    seven, slider = two_scales(effect=0.25)
    result = scales.compare(seven, slider, conf_level=None)
    reference = pairwise_tukeyhsd(slider["rating"], slider["system"])
    ours = [row for row in result.differences.to_pylist() if row["scale"] == "b"]
    assert [row["p_adjusted"] for row in ours] == pytest.approx(reference.pvalues, abs=1e-5)
    row = result.sensitivity.to_pylist()[1]
    assert (row["significant"], row["of"]) == (int(reference.reject.sum()), 10)
    assert 0 < row["significant"] < 10
    assert row["posthoc"].startswith("Tukey")


def test_f_ratios_of_factors():
    seven, slider = two_scales()
    rows = scales.compare(seven, slider, text_type="kind", conf_level=None).factors.to_pylist()
    assert [(row["scale"], row["factor"]) for row in rows] == [
        (scale, factor) for scale in "ab" for factor in ("system", "rater", "text type")
    ]
    for row, column in zip(rows[3:], ("system", "participant", "kind"), strict=True):
        groups = [part["rating"] for _, part in slider.groupby(column)]
        assert row["F"] == pytest.approx(stats.f_oneway(*groups).statistic)
        assert row["df1"] == len(groups) - 1
        assert row["df2"] == 240 - len(groups)


@pytest.mark.needs_r
def test_anova_tukey_and_holm_against_r():
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
    tukey = scales.compare(slider, slider, names=("x", "y"), conf_level=None)
    holm = scales.compare(slider, slider, names=("x", "y"), posthoc="holm", conf_level=None)
    assert tukey.sensitivity["F"][0].as_py() == pytest.approx(f, rel=1e-10)
    assert tukey.differences["p_adjusted"].to_pylist()[:10] == pytest.approx(
        p_values[:10], abs=1e-6
    )  # two ptukey's differ
    assert holm.differences["p_adjusted"].to_pylist()[:10] == pytest.approx(p_values[10:], rel=1e-9)


def test_no_difference_is_counted_without_a_significant_anova():
    _, slider = two_scales(effect=0.0, seed=3)
    found = scales.compare(slider, slider, names=("x", "y"), conf_level=None)
    row = found.sensitivity.to_pylist()[0]
    assert row["p_value"] > 0.05
    assert row["significant"] == 0
    assert [(one.code, one.subject) for one in found.findings] == [
        ("anova-not-significant", "x"),
        ("anova-not-significant", "y"),
    ]


def test_layout_of_the_paper():
    seven, slider = two_scales()
    layout = scales.compare(seven, slider, text_type="kind", names=("VDS-7", "VAS"), conf_level=None).as_in_paper()
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
    assert result.estimate == pytest.approx(expected.statistic)
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
        assert result.estimate == pytest.approx(expected.statistic)
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
        (lambda a, b: scales.compare(a[a["participant"] == "R0"], b), "the rater needs at least two levels"),
        (lambda a, b: scales.compare(a.assign(item=None), b), "column 'item' of scale 'a' has empty cells"),
        (
            lambda a, b: scales.validity(a, {"S0": 1, "S1": 2}),
            "2 systems in common; a correlation of means needs at least 3",
        ),
        (lambda a, b: scales.validity(a, dict.fromkeys(["S0", "S1", "S2"], 1)), "do not differ"),
        (lambda a, b: scales.validity(a.assign(rating=2), {"S0": 1, "S1": 2, "S2": 3}), "do not differ"),
        (lambda a, b: scales.stability(a, b.assign(participant="X" + b["participant"])), "no common raters"),
    ],
)
def test_what_cannot_be_compared_says_why(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call(*two_scales())


def test_spearman_of_few_systems_has_an_exact_p_value():
    """Of the 24 orders of four systems two correlate perfectly, in one direction or the other."""
    four = two_scales(n_systems=4, effect=1.0)
    rho = scales.compare(*four, conf_level=None).interchangeability.to_pylist()[1]
    assert (rho["estimate"], rho["stars"]) == (pytest.approx(1), "")
    assert rho["p_value"] == pytest.approx(2 / 24)


@pytest.mark.slow
def test_undefined_w_and_lacking_systems_are_said_and_the_rest_goes_on():
    square = crossed(n_items=10, n_raters=6)
    numbers = square[["system", "item", "participant"]].apply(lambda column: column.str[1:].astype(int))
    square = square[(numbers["system"] + numbers["item"] + numbers["participant"]) % 5 == 0]
    lacking = square[~((square["system"] == "S4") & (square["participant"] == "R0"))].assign(
        rating=lambda t: t["quality"]
    )
    fine = square.assign(rating=square["quality"])
    result = scales.compare({"one": lacking, "two": fine}, conf_level=None)
    assert result.reliability["n_ranked"].to_pylist() == [4, 5]
    assert noticed(result, "systems-not-ranked") == [("one", ["S4"])]
    without = scales.compare({"one": lacking[lacking["system"] != "S1"], "two": fine}, conf_level=None)
    assert noticed(without, "systems-on-one-scale") == [("one and two", ["S1"])]
    assert without.interchangeability["n_systems"].to_pylist() == [4, 4]
    one_left = fine[(fine["participant"] != "R0") | (fine["system"] == "S4")]
    undefined = scales.compare({"one": one_left, "two": fine}, conf_level=None)
    assert undefined.reliability["kendall_w"][0].as_py() is None
    assert [one.subject for one in undefined.findings if one.code == "no-kendalls-w"] == ["one"]
    assert undefined.as_in_paper()["Reliability (Kendall's W)"]["W"][0].as_py() == "–"
    assert undefined.sensitivity.num_rows == 2


@pytest.mark.slow
def test_adjusted_f_is_that_of_an_additive_model():
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    _, slider = two_scales()
    unbalanced = slider.drop(
        slider.sample(60, random_state=1, weights=slider["quality"] - slider["quality"].min()).index
    )
    rows = scales.compare(unbalanced, slider, text_type="kind", conf_level=None).factors.to_pylist()
    expected = anova_lm(ols("rating ~ system + participant + kind", unbalanced).fit(), typ=2)
    for row, name in zip(rows[:3], ("system", "participant", "kind"), strict=True):
        assert not row["balanced"]
        assert row["F_partial"] == pytest.approx(expected.loc[name, "F"], rel=1e-9)
        assert row["p_partial"] == pytest.approx(expected.loc[name, "PR(>F)"], rel=1e-6)
    assert [row["balanced"] for row in rows[3:]] == [True] * 3
    expected = anova_lm(ols("rating ~ system + participant + kind", slider).fit(), typ=2)
    assert [row["F_partial"] for row in rows[3:]] == pytest.approx(expected["F"].to_list()[:3], rel=1e-9)


@pytest.mark.slow
def test_more_than_two_experiments_criteria_stability_and_validity_at_once():
    seven, slider = two_scales()
    rng = np.random.default_rng(3)
    other = slider.assign(rating=slider["rating"] + rng.normal(scale=5, size=len(slider)))
    tables = {"VDS-7": seven, "VAS(A)": slider, "VAS(B)": other}
    both = {
        name: pd.concat([t.assign(criterion="clarity"), t.assign(criterion="readability", rating=9 - t["rating"])])
        for name, t in tables.items()
    }
    outside = {f"S{i}": i / 10 for i in range(5)}
    result = scales.compare(both, criterion="criterion", again={"VAS(A)": both["VAS(B)"]}, outside=outside)
    assert result.interchangeability.num_rows == 2 * 3 * 2
    assert result.stability["criterion"].to_pylist() == ["clarity", "readability"]
    assert result.stability["estimate"][0].as_py() == pytest.approx(
        stats.pearsonr(slider["rating"], other["rating"])[0]
    )
    assert [round(r) for r in result.validity["estimate"].to_pylist()] == [1, 1, 1, -1, -1, -1]
    layout = result.as_in_paper()
    assert layout["Reliability (Kendall's W)"].num_rows == 6
    assert "Stability (Pearson's r of single ratings in two runs)" in layout


def test_criteria_are_not_mixed_and_lonely_ones_are_said():
    seven, slider = (pd.concat([t.assign(criterion="x"), t.assign(criterion="y")]) for t in two_scales())
    with pytest.raises(InputError, match=r"scale 'a' has 2 criteria \(x, y\), which cannot be compared as one"):
        scales.compare(seven, slider)
    only_x = slider[slider["criterion"] == "x"]
    result = scales.compare(seven, only_x, criterion="criterion", conf_level=None)
    assert result.means["criterion"].unique().to_pylist() == ["x"]
    assert [(one.code, one.subject, one.values["criteria"]) for one in result.findings] == [
        ("criteria-left-out", "a", ["y"])
    ]
    with pytest.raises(InputError, match="no criterion in common"):
        scales.compare(seven.assign(criterion="z"), only_x, criterion="criterion")


def test_the_rest_goes_on_where_correlations_need_more_systems():
    two = two_scales(n_systems=2)
    result = scales.compare(*two, outside={"S0": 1.0, "S1": 2.0, "S9": 3.0}, conf_level=None)
    assert result.reliability["kendall_w"].null_count == 0
    assert result.sensitivity["of"].to_pylist() == [1, 1]
    assert result.interchangeability["estimate"].null_count == result.validity["estimate"].null_count == 2
    codes = [one.code for one in result.findings]
    assert (codes.count("no-correlation-of-scales"), codes.count("no-validity")) == (1, 2)
    three = scales.compare(*two_scales(n_systems=4), outside={"S0": 1.0, "S1": 2.0, "S2": 3.0}, conf_level=None)
    assert noticed(three, "systems-not-in-measure") == [("a", ["S3"]), ("b", ["S3"])]


@pytest.mark.slow
def test_the_answer_says_on_which_scale_raters_agree_more():
    noise = np.random.default_rng(5).normal(scale=25, size=240)
    _, slider = two_scales(effect=1.5)
    found = scales.compare(slider, slider.assign(rating=slider["rating"] + noise), names=("clear", "noisy"))
    w = {row["scale"]: row for row in found.reliability.to_pylist()}
    difference = w["clear"]["kendall_w"] - w["noisy"]["kendall_w"]
    down = np.hypot(w["clear"]["kendall_w"] - w["clear"]["conf_low"], w["noisy"]["conf_high"] - w["noisy"]["kendall_w"])
    assert difference - down > 0
    assert found.answer.startswith("Raters agree more on clear than on noisy: ")
    assert f"difference {difference:.2f} (95% CI {difference - down:.2f} to ".replace(" 0.", " .") in found.answer
    same = scales.compare(slider, slider, names=("one", "other"))
    assert same.answer.startswith("No clear difference in agreement between one and other: ")
    assert "difference .00 (95% CI −" in same.answer


def test_agreement_of_other_numbers_of_raters_is_not_compared():
    _, slider = two_scales(effect=1.5)
    few = slider[slider["participant"].isin(["R0", "R1", "R2"])]
    found = scales.compare(slider, few, names=("six", "three"))
    assert "difference" not in found.answer and " on six" in found.answer and " on three" in found.answer
    assert found.side_by_side().column_names[:4] == ["scale", "agreement", "agreement_low", "agreement_high"]
    assert found.answer.split(":")[0].replace("'", "&#x27;") in found._repr_html_()


@pytest.mark.slow
def test_of_several_criteria_it_is_said_for_which_the_scales_differ():
    _, slider = two_scales(effect=1.5)
    both = pd.concat([slider.assign(kind="clarity"), slider.assign(kind="grammar")])
    noise = np.where(both["kind"] == "clarity", np.random.default_rng(5).normal(scale=25, size=len(both)), 0.0)
    found = scales.compare(both, both.assign(rating=both["rating"] + noise), criterion="kind", names=("a", "b"))
    clarity, grammar = found.answer.splitlines()
    assert clarity.startswith("clarity: raters agree more on a than on b: ")
    assert grammar.startswith("grammar: no clear difference in agreement between ")
    assert len(found.plot().axes) == 4
