"""The whole analysis: tables, readings, warnings, flags, checklist, and the page made of them."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordbridge import reliability as rel
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.reliability.analysis import coefficients_for
from ordbridge.reliability.cautions import MISLEADING, cautions
from ordbridge.reliability.interpretation import benchmark, landis_koch, rosenthal

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared rating files are not here")


def long(matrix, **extra):
    matrix = np.asarray(matrix, dtype=float)
    items, raters = np.indices(matrix.shape)
    table = pd.DataFrame({"item": items.ravel(), "participant": [f"P{r + 1}" for r in raters.ravel()]})
    return table.assign(rating=matrix.ravel(), **extra)


def simulated(shifts, noise=0.5, n=60, seed=2):
    """Raters who see the same quality and differ in level."""
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(n, 1)) + np.asarray(shifts) + rng.normal(scale=noise, size=(n, len(shifts)))
    return np.clip(np.round(3 + seen), 1, 5)


def codes(result, *wanted):
    """Return the codes of findings; with some named, what these are about."""
    if not wanted:
        return [one.code for one in result.findings]
    return [one.subject for one in result.findings if one.code in wanted]


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticalWarning)
        return rel.analyse(*args, **options)


def test_consistent_raters_who_use_the_scale_differently():
    table = long(simulated([-0.8, 0, 0.8], noise=0.5, n=200))
    result = quietly(table, raters="fixed")
    assert result.answer.startswith("These 3 raters agree ")
    (read,) = [one for one in result.findings if one.code == "rank-alike-levels-differ"]
    assert (read.values["agreement"], read.values["correlation"]) == ("low", "high")
    assert read.text.startswith("These 3 raters rank the items alike but use the scale differently.")
    assert "rank-alike-agreement-unclear" in codes(quietly(table))
    assert quietly(table).answer.startswith("Agreement is too uncertain to label: ")


def test_raters_who_agree_and_raters_who_do_neither():
    assert "agree-and-rank-alike" in codes(quietly(long(simulated([0, 0], noise=0.1))))
    noise = np.random.default_rng(1).integers(1, 6, size=(60, 8))
    assert "neither-agree-nor-rank-alike" in codes(quietly(long(noise)))


@pytest.mark.slow
def test_every_value_is_the_functions_own_and_is_called_the_same():
    matrix = simulated([0, 0.5, -0.5])
    for level in ("nominal", "ordinal", "interval", "ratio"):
        result = quietly(long(matrix), level=level)
        listed = result.coefficients.to_pylist()
        assert len(listed) == len(coefficients_for(level))
        for row, (name, _, function, options) in zip(listed, coefficients_for(level), strict=True):
            direct = function(matrix, **options)
            assert row["coefficient"] == direct.name == name
            assert row["estimate"] == direct.estimate
            assert (row["conf_low"], row["conf_high"]) == (direct.conf_low, direct.conf_high)


def test_interpretations_by_kind():
    rows = {row["coefficient"]: row for row in quietly(long(simulated([0, 0.5]))).interpretations.to_pylist()}
    kappa, gamma, w = rows["Fleiss' κ"], rows["Goodman & Kruskal's γ"], rows["Kendall's W"]
    direct = rel.fleiss_kappa(simulated([0, 0.5])), rel.goodman_kruskal_gamma(simulated([0, 0.5]))
    assert direct[0].lower_bound < kappa["estimate"]
    assert kappa["landis_koch"] == landis_koch(direct[0].lower_bound)
    assert kappa["krippendorff"] == "below minimum"
    assert kappa["rosenthal"] is None
    assert gamma["rosenthal"] == rosenthal(direct[1].lower_bound)
    assert gamma["landis_koch"] is None
    assert {w["krippendorff"], w["landis_koch"], w["rosenthal"]} == {None}  # unrelated raters already have W = 1/m


def test_pairs_have_kappa_and_gamma_of_their_common_items():
    matrix = simulated([0, 0.5, -0.5])
    matrix[:20, 0] = np.nan
    matrix[20:, 2] = np.nan
    pairs = quietly(long(matrix)).pairs.to_pylist()
    assert [(row["participant_a"], row["participant_b"], row["n_common"]) for row in pairs] == [
        ("P1", "P2", 40),
        ("P2", "P3", 20),
    ]
    assert pairs[0]["kappa"] == pytest.approx(rel.cohen_kappa(matrix[:, :2], conf_level=None).estimate)
    assert pairs[0]["gamma"] == pytest.approx(rel.goodman_kruskal_gamma(matrix[:, :2], conf_level=None).estimate)


def test_a_rater_who_correlates_with_nobody_is_flagged_for_that_criterion_only():
    good = simulated([0, 0, 0, 0], n=80)
    bad = good.copy()
    bad[:, 3] = np.random.default_rng(5).integers(1, 6, 80)
    table = pd.concat([long(good, criterion="fluency"), long(bad, criterion="grammar")])
    flagged = [row for row in quietly(table, criterion="criterion").raters.to_pylist() if row["flagged"]]
    assert [(row["criterion"], row["participant"], row["reason"]) for row in flagged] == [
        ("grammar", "P4", "inconsistent")
    ]


def test_groups_of_raters_are_compared():
    matrix = simulated([0, 0, 0, 0])
    table = long(matrix)
    table["native"] = table["participant"].map({"P1": "yes", "P2": "yes", "P3": "no", "P4": "no"})
    result = quietly(table, group="native")
    rows = [row for row in result.coefficients.to_pylist() if row["coefficient"] == "Fleiss' κ"]
    assert [(row["group"], row["n_raters"]) for row in rows] == [("all raters", 4), ("no", 2), ("yes", 2)]
    assert rows[2]["estimate"] == pytest.approx(rel.fleiss_kappa(matrix[:, :2], conf_level=None).estimate)
    assert {(row["group_a"], row["group_b"]) for row in result.pairs.to_pylist()} == {
        ("yes", "yes"),
        ("yes", "no"),
        ("no", "no"),
    }
    table.loc[0, "native"] = "no"
    with pytest.raises(InputError, match="rater 'P1' is in two groups"):
        quietly(table, group="native")


def test_each_criterion_has_its_own_lines_whatever_its_name():
    """Names of criteria with the signs at which sentences used to be cut."""
    table = long(simulated([0, 0], noise=0.1))
    two = pd.concat([table.assign(criterion="a (b): c"), table.assign(criterion="d; e")])
    result = quietly(two)
    first, _, second, _ = result.answer.splitlines()
    assert first.startswith("a (b): c: these 2 raters agree almost perfectly (Krippendorff's alpha .9")
    assert second.startswith("d; e: these 2 raters agree almost perfectly (")
    assert codes(result, "agree-and-rank-alike") == ["a (b): c", "d; e"]


def test_a_group_of_one_is_warned_of_and_left_out():
    table = long(simulated([0, 0, 0]))
    table["native"] = np.where(table["participant"] == "P3", "no", "yes")
    with pytest.warns(StatisticalWarning, match=r"no: the group has one rater \('P3'\)"):
        result = rel.analyse(table, group="native", conf_level=None)
    assert "no" not in result.coefficients["group"].to_pylist()
    assert codes(result, "one-rater-group") == ["no"]


def test_ratings_on_a_line_are_read_at_their_level():
    """Nominal κ of a slider is near 0 whatever the raters do; the reading is about α at the interval level."""
    rng = np.random.default_rng(4)
    line = np.round(50 + 15 * rng.normal(size=(80, 1)) + rng.normal(size=(80, 3)), 1)
    result = quietly(long(line), level="interval")
    assert "agree-and-rank-alike" in codes(result)
    assert "Krippendorff's alpha 1.00 (95% CI .99 to 1.00, interval)" in result.answer
    assert rel.conger_kappa(line, conf_level=None).estimate < 0.2


def test_nothing_is_read_from_an_estimate_alone():
    few = [[1, 2], [2, 2], [2, 3], [3, 3], [1, 1], [3, 3], [2, 1]]
    alpha, gamma = rel.krippendorff_alpha(few), rel.goodman_kruskal_gamma(few)
    assert rosenthal(gamma.estimate) == "very large"
    assert benchmark(gamma, "rosenthal") == "small"
    assert benchmark(alpha, "landis_koch") == "slight"
    assert benchmark(alpha, "krippendorff") == "too uncertain"
    assert "agreement-and-ranking-unclear" in codes(quietly(long(few)))
    without = quietly(long(simulated([0, 0, 0], noise=0.1)), conf_level=None)
    assert "agreement-and-ranking-unclear" in codes(without)
    assert without.answer.startswith("Agreement has no interval: Krippendorff's alpha .9")


def test_a_negative_correlation_is_called_negative():
    one = simulated([0], noise=0.3)[:, 0]
    noise = np.random.default_rng(2).integers(0, 2, len(one))
    result = quietly(long(np.column_stack([one, np.clip(6 - one - noise, 1, 5)])))
    assert "raters-contradict" in codes(result)
    words = {row["coefficient"]: row["rosenthal"] for row in result.interpretations.to_pylist()}
    assert words["Goodman & Kruskal's γ"].startswith("negative, ")


def test_a_text_is_an_item_of_a_system():
    one, other = simulated([0, 0, 0], seed=1), simulated([0, 0, 0], seed=2)
    table = pd.concat([long(one, system="A"), long(other, system="B")])
    result = quietly(table)
    assert rel.fleiss_kappa(table).n_items == 120
    assert rel.fleiss_kappa(table).estimate == pytest.approx(rel.fleiss_kappa(np.vstack([one, other])).estimate)
    assert result.counted == "3 raters, 120 texts (item × system); every text rated by all."
    assert "120 texts (item × system)" in result.checklist["answer"][0].as_py()


def test_use_of_categories():
    rows = quietly(long([[1, 1], [1, 2], [3, 3]])).categories.to_pylist()
    assert [(row["participant"], row["category"], row["count"]) for row in rows[:3]] == [
        ("P1", "1", 2),
        ("P1", "2", 0),
        ("P1", "3", 1),
    ]
    assert rows[0]["share"] == pytest.approx(2 / 3)
    slider = np.random.default_rng(1).integers(0, 101, size=(50, 2))
    rows = quietly(long(slider), level="interval", scale=(0, 100)).categories.to_pylist()
    assert [row["category"] for row in rows[:10]] == [f"{low} to {low + 10}" for low in range(0, 100, 10)]
    counts, _ = np.histogram(slider[:, 0], bins=np.arange(0, 101, 10))
    assert [row["count"] for row in rows[:10]] == counts.tolist()


def test_warnings_of_what_makes_coefficients_lie():
    def kinds(matrix):
        return [one.code for one in cautions(rel.prepare(matrix))]

    fine = simulated([0, 0, 0])
    assert kinds(fine.tolist()) == []
    assert kinds(np.sort(fine, axis=1).tolist()) == ["sorted-within-items"]
    assert (
        kinds(
            (fine[:, :2] + [0, 2]).tolist()
            + [
                [
                    5,
                    1,
                ]
            ]
            * 2
        )
        == []
    )
    assert kinds(np.column_stack([fine[:, 0], fine[:, 1], fine[:, 0] + 1]).tolist()) == ["never-above"]
    assert kinds(fine[:20].tolist()) == ["few-shared-items"]
    dominant = np.where(np.random.default_rng(1).random((60, 2)) < 0.95, 1, 2)
    assert kinds(dominant.tolist()) == ["dominant-category"]
    apart = fine.copy()
    apart[:30, 0] = np.nan
    apart[30:, 1] = np.nan
    assert kinds(apart.tolist()) == ["no-common-items"]


def test_sorted_ratings_are_not_read_as_consistent_raters():
    table = long(np.sort(simulated([0, 0, 0]), axis=1))
    with pytest.warns(StatisticalWarning, match="P1 is never above rater P2 on 60 common items"):
        result = rel.analyse(table, conf_level=None)
    assert not any("correlation" in one.values for one in result.findings)  # none is read
    assert len(result.answer.splitlines()) == 1  # and nothing is said of averages over raters


def test_coefficients_without_a_value_say_why():
    matrix = simulated([0, 0, 0])
    matrix[::3, 0] = matrix[1::3, 1] = matrix[2::3, 2] = np.nan
    rows = {row["coefficient"]: row for row in quietly(long(matrix)).coefficients.to_pylist()}
    assert rows["Kendall's W"]["estimate"] is None
    assert "needs at least two items that all 3 raters rated" in rows["Kendall's W"]["note"]
    assert rows["Goodman & Kruskal's γ"]["estimate"] is not None


@pytest.mark.parametrize(
    ("table", "options", "sentence"),
    [
        (long([[1], [2]]), {}, "the analysis needs at least two raters"),
        (long([[1, 2]]), {}, "the analysis needs at least two items"),
        (long([[3, 3], [3, 3]]), {}, "all 4 ratings are 3"),
        (long([[1, 2], [2, 2]]), {"level": "likert"}, "level='likert' is not a level"),
        (long([[1, 2], [2, 2]]), {"criterion": "aspect"}, "there is no column 'aspect' for the criterion"),
        (long([[1, 2], [2, 2]]), {"group": "native"}, "there is no column 'native' for the group of raters"),
        (long([[1, 2], [2, 2]]), {"scale": (1, 5), "rating": "score"}, "there is no column 'score' for the rating"),
        (long([[1, 2], [2, 7]]), {"scale": (1, 5)}, "outside the scale 1 to 5"),
        (long([[1, 2], [-2, 2]]), {"level": "ratio"}, "true zero"),
        (
            long([[1, 2], [2, 2]]).assign(rating=["a", "b", "b", "b"]),
            {},
            "words whose order is not known",
        ),
    ],
)
def test_what_cannot_be_analysed_says_why(table, options, sentence):
    with pytest.raises(InputError, match=sentence):
        quietly(table, **options)


def test_the_checklist_answers_what_data_can_tell_and_leaves_lines_for_the_rest():
    matrix = simulated([0, 0, 0])
    matrix[0, 0] = np.nan
    rows = {row["what"]: row["answer"] for row in quietly(long(matrix)).checklist.to_pylist()}
    answers = " ".join(answer for answer in rows.values() if answer)
    for part in (
        "60 items × 3 raters",
        "1 of 180 cells empty",
        "ordinal",
        "95% jackknife intervals, about raters like these (raters random)",
        "Landis & Koch",
        "Rosenthal",
    ):
        assert part in answers
    assert "each rater's own distribution" in rows["Coefficient: Conger's κ"]
    empty = [what for what, answer in rows.items() if answer is None]
    assert any("independently" in what for what in empty)
    assert any("instructions" in what for what in empty)


@needs_data
@pytest.mark.slow
def test_flickr_is_recognised_as_sorted():
    with pytest.warns(StatisticalWarning, match="never above rater P002 on 5,822 common items"):
        result = rel.analyse(DATA / "flickr8k.csv")
    values = dict(
        zip(result.coefficients["coefficient"].to_pylist(), result.coefficients["estimate"].to_pylist(), strict=True)
    )
    assert values["Conger's κ"] == pytest.approx(0.5259, abs=5e-5)  # nothing is missing: Davies & Fleiss' κ
    assert rel.goodman_kruskal_gamma(DATA / "flickr8k.csv", pooled=False).estimate == pytest.approx(0.98875, abs=5e-6)


@needs_data
def test_flickr_shuffled_within_items_has_the_lower_gamma():
    ratings = rel.prepare(DATA / "flickr8k.csv")
    shuffled = np.random.default_rng(1).permuted(ratings.values, axis=1)
    assert rel.goodman_kruskal_gamma(shuffled, conf_level=None).estimate == pytest.approx(0.88, abs=0.01)
    assert not cautions(rel.prepare(shuffled))


@pytest.mark.slow
@needs_data
def test_question_types_are_dominated_by_one_category():
    result = quietly(DATA / "qgstec_reeval3.csv", item="text_id", criterion="criterion")
    assert len(result.ratings) == 5
    assert codes(result, *MISLEADING) == ["QuestionType"]
    assert codes(result, "dominant-category") == ["QuestionType"]


@pytest.mark.parametrize(("raters", "who"), [(None, "Raters "), ("fixed", "These 3 raters ")])
def test_the_answer_says_whom_it_is_about_and_how_reliable_averages_are(raters, who):
    result = quietly(long(simulated([0, 0, 0], noise=0.1, n=200)), raters=raters)
    agreement, averages = result.answer.splitlines()
    assert agreement.startswith(f"{who}agree almost perfectly: Krippendorff's alpha .9")
    split = result.generalizability["all ratings"]
    assert averages == (
        f"Averages over all 3 raters ({split.of('item', 'relative', 3):.2f}) and single ratings "
        f"({split.of('item', 'relative', 1):.2f}) are reliable."
    ).replace("(0", "(")
    rows = {row["measure"]: row for row in result.overview.to_pylist()}
    single = rows["reliability of a single rating"]
    assert (single["conf_low"], single["conf_high"]) == split.interval("item", "relative", 1)


def test_nothing_is_fitted_after_the_analysis_has_returned(monkeypatch, tmp_path):
    result = quietly(long(simulated([0, 0.4, -0.4])))

    def refuse(*_, **__):
        raise AssertionError("fitted while printing")

    monkeypatch.setattr("ordbridge.fast.engine.fit", refuse)
    monkeypatch.setattr("ordbridge.reliability.analysis.generalizability", refuse)
    assert result.answer.splitlines()[0][:20] in str(result).replace("\n", " ")
    result.report(tmp_path / "report.html")
    assert result.latex() and result.markdown() and result.to_dict() and result._repr_html_()


def test_the_module_is_the_function_and_reads_what_read_takes(tmp_path):
    import ordbridge as ob

    table = long(simulated([0, 0.4, -0.4]))
    renamed = table.rename(columns={"item": "doc", "participant": "worker_id", "rating": "score"})
    renamed.to_csv(tmp_path / "scores.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = [
            rel.analyse(table),
            ob.reliability(str(tmp_path / "scores.csv")),
            ob.reliability(ob.read(renamed)),
            ob.reliability(renamed, participant="worker_id", item="doc", rating="score"),
        ]
    for result in results[1:]:
        assert result.coefficients.equals(results[0].coefficients)
    assert isinstance(results[0], ob.reliability.Reliability)


@pytest.mark.slow
def test_the_interval_of_a_crowd_is_as_wide_as_it_has_to_be():
    """Fleiss' κ of 150 items, each rated by 3 of 60: the estimates of other studies say how wide that is."""
    rng = np.random.default_rng(1)
    estimates, widths = [], []
    for _ in range(150):
        seen = rng.normal(size=(150, 1)) + rng.normal(scale=0.5, size=60) + rng.normal(scale=0.7, size=(150, 60))
        ratings = np.digitize(seen, [-1.2, -0.4, 0.4, 1.2]) + 1.0
        ratings[np.argsort(np.argsort(rng.random(ratings.shape), axis=1), axis=1) >= 3] = np.nan
        kappa = rel.fleiss_kappa(ratings)
        estimates.append(kappa.estimate)
        widths.append(kappa.conf_high - kappa.conf_low)
    assert 0.9 < np.mean(widths) / (2 * 1.96 * np.std(estimates, ddof=1)) < 1.25


def test_without_raters_there_is_no_agreement() -> None:
    texts = [{"item": f"t{i}", "system": s, "rating": 1 + (i + (s == "B")) % 5} for i in range(9) for s in "AB"]
    with pytest.raises(InputError, match="agreement is between raters"):
        rel.analyse(texts)


def test_slips_are_corrected_before_raters_are_judged() -> None:
    table = long([[40, 50, 60], [70, 80, 90], [100, 90, 75]] * 12 + [[40, 50, 99999]])
    with pytest.raises(InputError, match="outside the scale"):
        rel.analyse(table)


def test_raters_of_ratings_with_slips_are_judged_if_that_is_asked_for() -> None:
    table = long([[40, 50, 60], [70, 80, 90], [100, 90, 75]] * 12 + [[40, 50, 99999]])
    found = rel.analyse(table, force=True)
    assert any(one.code == "outside-scale" for one in found.findings)
