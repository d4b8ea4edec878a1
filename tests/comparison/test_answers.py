"""Right answers from designs of every kind, or one sentence."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge.comparison import CompareOptions, latent
from ordbridge.models.inference.resampling import DrawPlan
from ordbridge.reading import RatingTable
from ordbridge.results import found as noticed
from ordbridge.results import has

ROLES = ("participant", "item", "system", "criterion")


def as_read(ratings: pd.DataFrame, levels: tuple[str, ...] | None = None) -> RatingTable:
    """The ratings as ob.read hands them on, also without participants or items."""
    table = pa.Table.from_pandas(ratings, preserve_index=False)
    for name in ROLES:
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))
    recognised = {name: f"column {name!r}" for name in (*ROLES, "rating") if name in table.column_names}
    return RatingTable(table, recognised, (), levels, np.arange(table.num_rows) + 1)


def compared(ratings: pd.DataFrame, **options: object) -> ob.comparison.Comparison:
    whole = {"participant", "item"} <= set(ratings.columns)
    seldom = {"test", "correct", "draws", "seed", "link", "store", "jobs"} & set(options)
    seldom = {name: options.pop(name) for name in seldom}
    given = CompareOptions(**{"draws": 19, **seldom})
    return ob.compare(ratings if whole else as_read(ratings), engine="fast", **options, options=given)


def said(found: ob.comparison.Comparison) -> list[str]:
    return [one.text for one in found.findings]


def consistent(found: ob.comparison.Comparison) -> None:
    """No interval contradicts its p-value, no probability its difference, no letter a p-value."""
    for row in found.pairs.to_pylist():
        differs = row["p_adjusted"] < found.alpha
        if row["conf_low"] is not None:  # an exact test of ratings that never vary has no interval
            assert differs == (row["conf_low"] > 0 or row["conf_high"] < 0)
            assert differs == (row["superiority_low"] > 0.5 or row["superiority_high"] < 0.5)
        assert row["p_adjusted"] >= row["p_value"]
    for criterion in found.criteria:
        shown = {row["system"]: row["letters"] for row in found.rows("ranking", criterion)}
        for row in found.rows("pairs", criterion):
            if shown[row["system_a"]] is not None:
                assert bool(set(shown[row["system_a"]]) & set(shown[row["system_b"]])) == (
                    row["p_adjusted"] >= found.alpha
                )


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.slow
def test_ten_studies_with_a_known_ranking(study, seed):
    """From 2 to 6 systems, a logit apart, in an order of their own: found in every study, and each pair different."""
    random = np.random.default_rng(seed)
    quality = random.permutation(np.arange(2 + seed % 5) * 1.0)
    found = compared(study(quality=tuple(quality), raters=20, items=20, seed=seed, slope=0.2 * (seed % 3)))
    truth = [list("ABCDEFGH")[k] for k in np.argsort(-quality)]
    assert found.ranking["system"].to_pylist() == truth
    mean = {row["system"]: row["estimate"] for row in found.ranking.to_pylist()}
    for row in found.pairs.to_pylist():
        assert (
            row["difference"] == pytest.approx(mean[row["system_a"]] - mean[row["system_b"]]) and row["difference"] > 0
        )
        assert row["superiority"] > 0.5
    assert all(p < 0.05 for p in found.pairs["p_adjusted"].to_pylist())
    consistent(found)


@pytest.mark.slow
def test_systems_that_do_not_differ_share_a_letter(study):
    shares = 0
    for seed in range(20):
        found = compared(study(quality=(0.0, 0.0, 1.5), raters=15, items=12, seed=100 + seed))
        consistent(found)
        shown = dict(zip(found.ranking["system"].to_pylist(), found.ranking["letters"].to_pylist(), strict=True))
        assert shown["C"] == "a"
        shares += shown["A"] == shown["B"]
    assert shares >= 16  # at 5 %, fewer happen once in 300 times


def test_the_sentence_names_systems_direction_and_size(study):
    found = compared(study(quality=(0.0, 1.0)))
    row = found.pairs.to_pylist()[0]
    low, high = f"{row['conf_low']:.2f}", f"{row['conf_high']:.2f}"
    wanted = f"B is rated {row['difference']:.2f} points higher than A (95% CI {low} to {high}, p < .001)"
    assert found.sentences[0].startswith(wanted)
    assert f"{100 * row['superiority']:.0f}% of the time" in found.sentences[0]
    against = compared(study(quality=(0.0, 1.0)), reference="B")
    low, high = high, low
    assert f"A is rated {row['difference']:.2f} points lower than B (95% CI {high} to {low}" in against.answer


BOTH = "rating ~ system + (1 | participant) + (1 | participant:system) + (1 | item) + (1 | item:system)"


@pytest.mark.parametrize(
    ("change", "models", "formulas"),
    [
        (
            lambda d: d.drop(columns="participant"),
            ["lmer", "clmm"],
            ["rating ~ system + (1 | item) + (1 | item:system)", "rating ~ system + (system | item)"],
        ),
        (
            lambda d: d.drop(columns="item"),
            ["lmer", "clmm"],
            [
                "rating ~ system + (1 | participant) + (1 | participant:system)",
                "rating ~ system + (system | participant)",
            ],
        ),
        (lambda d: d[["system", "rating"]], ["lm", "clm"], ["rating ~ system"] * 2),
        (lambda d: d[d.participant == "p3"], ["lmer", "clmm"], ["rating ~ system + (1 | item)"] * 2),
        (
            lambda d: d[d.participant.isin(["p1", "p2"])],
            ["lmer", "clmm"],
            [
                "rating ~ system + participant + (1 | item) + (1 | item:system)",
                "rating ~ system + participant + (system | item)",
            ],
        ),
        (lambda d: d[d.item == "i1"], ["lmer", "clmm"], ["rating ~ system + (1 | participant)"] * 2),
        (lambda d: d.assign(rating=(d.rating > 3).astype(int)), ["lmer", "clmm"], None),
        (lambda d: d.assign(rating=np.where(d.rating > 3, "yes", "no")), ["lmer", "clmm"], None),
        (lambda d: d.assign(rating=d.rating > 3), ["lmer", "clmm"], None),
        (lambda d: d.assign(rating=17.3 * d.rating + np.arange(len(d)) % 7), ["lmer"], [BOTH]),
        (lambda d: d.assign(system=d.system.map({"A": 1, "B": 2, "C": 10})), ["lmer", "clmm"], None),
        (lambda d: d.sample(frac=0.4, random_state=1), ["lmer", "clmm"], None),
        (lambda d: d.assign(rating=d.rating.where(np.arange(len(d)) % 9 > 0)), ["lmer", "clmm"], None),
        (lambda d: d.assign(rating=d.rating / 2), ["lmer", "clmm"], None),
        (lambda d: d.assign(item=d.item + d.system), ["lmer", "clmm"], None),
        (
            lambda d: d.assign(participant=[f"q{k}" for k in range(len(d))]),
            ["lmer", "clmm"],
            ["rating ~ system + (1 | item) + (1 | item:system)", "rating ~ system + (system | item)"],
        ),
        (
            lambda d: d.assign(system=d.system.map({"A": "A | é", "B": "`B`; x", "C": "C_{x}&<b>%"})),
            ["lmer", "clmm"],
            None,
        ),
        (lambda d: d.assign(rating=d.rating.where(d.system != "C", 5)), ["lmer"], None),  # separated: no latent model
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.slow
def test_designs_of_every_kind(study, change, models, formulas):
    data = change(study())
    found = compared(data)
    assert found.models["model"].to_pylist() == models
    if formulas is not None:
        assert found.models["formula"].to_pylist() == formulas
    top = found.ranking["system"].to_pylist()[0]
    best = data.assign(rating=pd.factorize(data.rating, sort=True)[0]).groupby("system").rating.mean().idxmax()
    assert top == str(best)
    consistent(found)
    for text in (found.markdown(), found.latex(), found._repr_html_(), str(found)):
        assert "nan" not in text.lower()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d[d.system == "A"], "there is only one system, 'A'"),
        (
            lambda d: d[(d.participant == "p1") & (d.system == "A") | (d.participant == "p2") & (d.system == "B")],
            "2 participants, and each rated one system only",
        ),
        (lambda d: d.assign(rating=d.rating.map(lambda r: "abcde"[r - 1] * 3)), "order|levels"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(study, change, words):
    with pytest.raises(ob.InputError, match=words):
        compared(change(study()))


def test_six_ratings_still_have_an_answer_in_points_but_none_on_the_latent_scale(study):
    few = study().iloc[:6]
    found = compared(few)
    assert found.pairs["latent_p_value"].to_pylist() == [None] * 3
    assert any("parameters for 6 ratings" in note for note in said(found))
    consistent(found)
    none = compared(few, estimand="latent")
    assert not none.criteria and none.pairs.num_rows == 0 and "parameters for 6 ratings" in str(none)
    assert none.findings[0].severity == "error" and none.findings[0].code == "no-answer"
    assert "parameters for 6 ratings" in none._repr_html_() and "There is no answer" in none.markdown()


@pytest.mark.slow
def test_with_few_raters_the_latent_test_is_a_bootstrap_with_its_own_interval(study):
    data = study(quality=(0.0, 0.4), raters=4, items=25, slope=0.5)
    found = compared(data, draws=99, estimand="latent")
    assert found.models["test"].to_pylist() == ["bootstrap"]
    assert "system | participant" in found.models["formula"].to_pylist()[0]
    assert any("Bartlett's correction (99 simulated datasets): with 4 participants" in note for note in said(found))
    # the same as the test of the fit
    fit = found.fits[None]
    tested = fit.test("system", method="bartlett", draws=99).to_pylist()[0]
    [row] = found.pairs.to_pylist()
    assert row["p_value"] == pytest.approx(tested["p_value"], rel=1e-9)
    assert row["latent_p_value"] == pytest.approx(fit.tidy()["p_value"].to_pylist()[-1])  # as R prints it
    # its interval ends where the likelihood ratio of R's kind, over Bartlett's factor, reaches the quantile
    factor = fit.test("system", method="lrt").to_pylist()[0]["statistic"] / tested["statistic"]
    level = stats.chi2.cdf(factor * stats.chi2.isf(0.05, 1), 1)
    profile = fit.confint("profile", conf_level=level).to_pylist()
    sign = 1 if row["system_a"] == "B" else -1
    [ends] = [
        (one["conf_low"], one["conf_high"]) for one in profile if one["term"] == "systemB" and one["effect"] == "fixed"
    ]
    assert sorted([sign * row["conf_low"], sign * row["conf_high"]]) == pytest.approx(ends, rel=1e-4)
    consistent(found)
    many = compared(study(quality=(0.0, 0.4), raters=14, slope=0.5), estimand="latent")
    assert many.models["test"].to_pylist() == ["t"]


def test_draws_that_pairs_share_are_independent(study, monkeypatch, tmp_path):
    """From the same random numbers two draws of each of 28 pairs have a mean of .4, and p of 4e-5 where it is .01."""
    made = []

    class Watched(latent.Together):
        def __init__(self, works, how):
            made.extend(works)
            super().__init__(works, how)

    monkeypatch.setattr(latent, "Together", Watched)
    data = study(quality=np.linspace(0, 1, 8), raters=4, items=12, seed=2)
    found = compared(data, draws=49, estimand="latent", store=tmp_path, jobs=1)
    assert len(made) == 25 and found.models["draws"].to_pylist() == [50]
    drawn = np.array([work.null.response(0).values for work in made])
    assert max(np.mean(drawn[a] == drawn[b]) for a in range(25) for b in range(a)) < 0.6
    # a pair without draws of its own has R's likelihood ratio over the mean of all draws, too
    mean = np.mean([float(line.split(",")[2]) for line in (tmp_path / "draws.csv").read_text().splitlines()])
    for row in found.pairs.to_pylist():
        signs = {row["system_a"]: 1.0, row["system_b"]: -1.0}
        contrast = {f"system{name}": sign for name, sign in signs.items() if name != "A"}
        ratio = found.fits[None].test(contrast, method="lrt").to_pylist()[0]["statistic"]
        assert row["p_value"] == pytest.approx(stats.chi2.sf(ratio / mean, 1), rel=1e-4)


def test_between_participants_each_system_has_its_own_spread(study):
    data = study(quality=(0.0, 1.5), raters=12)
    own = data.participant.str[1:].astype(int) % 2 == (data.system == "B")
    found = compared(data[own])
    assert found.pairs["test"].to_pylist() == ["t"]
    consistent(found)
    # everyone saw one system: the linear mixed model with a variance of participants for each
    table = data[own].assign(first=lambda d: (d.system == "A") * 1.0, second=lambda d: (d.system == "B") * 1.0)
    formula = "rating ~ system + (0 + first | participant) + (0 + second | participant) + (system | item)"
    wanted = ob.lmer(formula, table, engine="fast").tidy().to_pylist()[1]
    assert found.pairs["p_value"].to_pylist() == pytest.approx([wanted["p_value"]], rel=1e-4)


@pytest.mark.slow
def test_criteria_are_analysed_one_by_one_and_corrected_together(study):
    fluency = study(quality=(0.0, 0.45), seed=5).assign(criterion="fluency")
    meaning = study(quality=(0.0, 0.0), seed=6).assign(criterion="meaning")
    together = compared(pd.concat([fluency, meaning]))
    apart = compared(pd.concat([fluency, meaning]), correct="none")
    assert together.criteria == ("fluency", "meaning")
    alone = compared(fluency.drop(columns="criterion"))
    assert apart.rows("pairs", "fluency")[0]["p_adjusted"] == alone.pairs["p_adjusted"][0].as_py()
    p = together.rows("pairs", "fluency")[0]
    assert p["p_adjusted"] == pytest.approx(2 * p["p_value"])  # the smaller of two, by Holm
    assert "Holm over 2 criteria" in str(together) and "over 2 criteria" not in str(apart)
    consistent(together)


def test_one_criterion_without_an_answer_leaves_the_others(study):
    data = study().assign(criterion="fluency")
    alone = data[data.system == "A"].assign(criterion="length")
    found = compared(pd.concat([data, alone]))
    assert found.criteria == ("fluency",)
    assert found.findings[0].text.startswith("length: not usable: there is only one system")


def test_model_formula_and_test_can_be_chosen(study):
    data = study()
    linear = compared(data, model="lmer")
    assert linear.models["model"].to_pylist() == ["lmer"] and linear.models["test"].to_pylist() == ["t"]
    simple = compared(data, formula="rating ~ system + (1 | participant)")
    assert simple.models["formula"].to_pylist() == ["rating ~ system + (1 | participant)"] * 2
    assert compared(data, model="lm").models["formula"].to_pylist() == ["rating ~ system"]
    ratio = compared(data, formula="rating ~ system", test="lrt", estimand="latent")
    consistent(ratio)
    plain = compared(data, formula="rating ~ system", test="wald", estimand="latent")
    assert ratio.pairs["p_value"].to_pylist()[2] == pytest.approx(plain.pairs["p_value"].to_pylist()[2], rel=0.5)
    for options, words in (
        ({"formula": "rating ~ item"}, "does not name the column 'system'"),
        ({"reference": "Z"}, "reference='Z' is not a system; the systems are 'A', 'B', 'C'"),
        ({"model": "clm", "test": "t", "estimand": "latent"}, "test='t' is for lm, lmer and clmm"),
        ({"test": "bootstrap"}, "test='bootstrap' is a test of the latent scale; add estimand='latent'"),
        ({"model": "lmer", "estimand": "latent"}, "model='lmer' has no latent scale"),
        ({"estimand": "median"}, "estimand='median' is not known"),
        ({"adjust": "dunnett"}, "adjust='dunnett' needs reference="),
        ({"adjust": "tuckey"}, "adjust='tuckey' is not known"),
        ({"draws": 3}, "draws=3 must be an integer ≥ 19"),
    ):
        with pytest.raises(ob.InputError, match=words):
            compared(data, **options)


def test_two_systems_have_the_numbers_of_the_linear_mixed_model(study):
    """Expected ratings, difference, interval and p-value are lmer's, with Satterthwaite's degrees of freedom."""
    for data in (study((0.0, 0.6)), study((0.0, 0.6)).assign(rating=lambda d: 17.3 * d.rating + np.arange(len(d)) % 7)):
        found = compared(data)
        fit = ob.lmer("rating ~ system + (system | participant) + (system | item)", data, engine="fast")
        rows = {row["level"]: row for row in fit.means("system", adjust="none").table.to_pylist()}
        for row in found.ranking.to_pylist():
            assert row["estimate"] == pytest.approx(rows[row["system"]]["estimate"])
            assert row["conf_low"] == pytest.approx(rows[row["system"]]["conf_low"])
        [row] = found.pairs.to_pylist()
        assert row["p_value"] == pytest.approx(rows[None]["p_value"], rel=1e-6)
        assert row["df"] == pytest.approx(rows[None]["df"], rel=1e-6)


def test_of_three_systems_the_larger_of_two_p_values_counts(study):
    """That of the pair's own model, and that of the model of all systems, each as lmer gives it."""
    data = study((0.0, 0.3, 0.5), raters=5, slope=0.4)
    together = ob.lmer(BOTH, data, engine="fast").means("system", adjust="none").table.to_pylist()
    joint = {(row["system_a"], row["system_b"]): row["p_value"] for row in together if row["what"] == "difference"}
    deciding = set()
    for row in compared(data).pairs.to_pylist():
        a, b = sorted((row["system_a"], row["system_b"]))
        pair = data[data.system.isin([a, b])]
        fit = ob.lmer("rating ~ system + (system | participant) + (system | item)", pair, engine="fast")
        own = fit.tidy()["p_value"].to_pylist()[1]
        assert row["p_value"] == pytest.approx(max(own, joint[a, b]), rel=1e-5)
        deciding.add(own > joint[a, b])
    assert deciding  # which of them decides differs from study to study


def test_superiority_of_a_slider_is_the_share_of_pairs_of_ratings(study):
    """With normal ratings Φ(d/√(v₁ + v₂)) is the share of pairs of texts by different people; simulated here."""
    random = np.random.default_rng(3)
    n = 40
    u, v = random.normal(0, 5, n), random.normal(0, 5, n)
    rows = [
        (f"p{p}", f"i{i}", s, 50 + u[p] + v[i] + 6 * (s == "B") + random.normal(0, 8))
        for p in range(n)
        for i in random.choice(n, 10, replace=False)
        for s in "AB"
    ]
    found = compared(pd.DataFrame(rows, columns=["participant", "item", "system", "rating"]))
    sd = np.sqrt(25 + 25 + 64)
    draws = random.normal(0, sd, (2, 200_000))
    share = (draws[0] + 6 > draws[1]).mean()
    assert found.pairs["superiority"][0].as_py() == pytest.approx(share, abs=0.04)  # 40 people, 40 items


def test_a_fit_that_did_not_converge_is_replaced_or_gives_no_answer(study, monkeypatch):
    from dataclasses import replace

    from ordbridge.models import api

    data, fitted = study(slope=1.0), api.clmm

    def fails(formula, *args, **options):
        fit = fitted(formula, *args, **options)
        bad = "system |" in formula or fails.always
        return replace(fit, estimates=replace(fit.estimates, converged=False)) if bad else fit

    monkeypatch.setattr(api, "clmm", fails)
    fails.always = False
    found = compared(data)
    assert found.models["formula"].to_pylist()[1] == "rating ~ system + (1 | participant) + (1 | item)"
    assert any("did not converge" in note for note in said(found))
    fails.always = True
    none = compared(data, estimand="latent")
    assert not none.criteria and "no model could be fitted that can be trusted" in str(none)
    without = compared(data)  # differences in points stay
    assert without.criteria and without.pairs["latent_p_value"].to_pylist() == [None] * 3
    assert any("no model could be fitted that can be trusted" in note for note in said(without))


def test_errors_in_the_ratings_stop_the_comparison(study, monkeypatch):
    from ordbridge.comparison import api

    flaw = noticed("outside-scale", n=2, low=1.0, high=5.0, shown="99", rows=[3, 4])
    monkeypatch.setattr(api, "check", lambda ratings: SimpleNamespace(findings=(flaw,)))
    found = compared(study())
    assert not found.criteria and "2 ratings outside the scale 1 to 5: 99 (rows 3, 4)" in " ".join(str(found).split())
    assert compared(study(), force=True).criteria == (None,)


def test_copied_rows_count_once_and_repeated_ratings_as_often_as_they_were_given(study):
    data = study(quality=(0.0, 1.0))
    copied = compared(pd.concat([data, data.iloc[:30]]))
    assert copied.pairs.equals(compared(data).pairs)
    assert has(copied.findings, "duplicated-rows")
    again = compared(pd.concat([data, study(quality=(0.0, 1.0), seed=2)]))  # some of them are equal by chance
    assert again.design["ratings"].to_pylist() == [2 * len(data)]


@pytest.mark.slow
def test_a_balanced_study_of_many_systems_shares_one_correction(study):
    """With one variance for all differences, and all systems for everyone, the draws of all pairs are one bootstrap."""
    data = study(quality=(0.0, 0.2, 0.4, 1.0), raters=5, items=10, slope=0.3)
    found = compared(data, draws=48, estimand="latent")
    assert "(1 | participant:system)" in found.models["formula"][0].as_py()
    assert found.models["test"].to_pylist() == ["bootstrap"] and found.models["draws"].to_pylist() == [48]
    from ordbridge.models.inference import bootstrap, resampling
    from ordbridge.models.inference.hypothesis import hypothesis

    fit = found.fits[None]
    drawn = {}
    for k, row in enumerate(found.pairs.to_pylist()):
        weights = {
            f"system{name}": sign for name, sign in ((row["system_a"], 1.0), (row["system_b"], -1.0)) if name != "A"
        }
        comparison, observed, _ = bootstrap.prepare(fit, hypothesis(fit, weights), latent.seed_of(0, k))
        drawn[row["system_a"], row["system_b"]] = observed, list(resampling.results(comparison, DrawPlan(8)))
    factor = np.nanmean([ratio for _, ratios in drawn.values() for ratio in ratios])
    for row in found.pairs.to_pylist():
        assert row["p_value"] == pytest.approx(
            stats.chi2.sf(drawn[row["system_a"], row["system_b"]][0] / factor, 1), rel=1e-3
        )


@pytest.mark.slow
def test_draws_end_early_where_the_rest_cannot_change_a_decision(study):
    from ordbridge.comparison.latent import FIRST, _is_clear

    equal = study(quality=(0.0, 0.0), raters=4, items=12)
    clear = ob.compare(equal, engine="fast", estimand="latent")
    assert clear.models["test"].to_pylist() == ["bootstrap"] and clear.models["draws"].to_pylist() == [FIRST]
    assert compared(equal, draws=60, estimand="latent").models["draws"].to_pylist() == [60]
    for statistic, wanted in ((3.84, False), (0.5, True), (2.5, False), (30.0, True), (11.0, False)):
        answer = {"statistic": statistic, "draws": FIRST, "failed": 0}
        assert _is_clear(answer, (0.05 / 6, 0.05)) is wanted, statistic


def test_large_studies_have_fewer_draws():
    from ordbridge.comparison.latent import DRAWS, FEWEST_DRAWS, draws_for

    assert draws_for(500) == draws_for(6000) == DRAWS == 199
    assert draws_for(12_000) == 99 and draws_for(10**9) == FEWEST_DRAWS == 49


def test_of_two_systems_with_errors_the_one_with_fewer_is_called_better(study):
    counted = study(quality=(0.0, 1.0)).rename(columns={"rating": "errors"})
    answer = ob.compare(counted, rating="errors", engine="fast").answer
    assert answer.startswith("A is better: rated ") and "points lower than B" in answer


def test_long_names_of_many_systems_are_counted_in_the_answer() -> None:
    table = ob.datasets.summaries()
    names = {name: f"{name}-checkpoint-0000012000-seed-7" for name in table["system"].unique()}
    table["system"] = table["system"].map(names)
    table["rating"] = [1 + n * 7 % 5 for n in range(len(table))]
    assert "No clear difference between 4 systems" in ob.compare(table, engine="fast").answer
