"""Agreement coefficients against published tables, independent implementations and definitions written out."""

import itertools
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from ordbridge import reliability as rel
from ordbridge.errors import InputError

FLICKR = Path(__file__).resolve().parents[2] / "../shared/data/flickr8k.csv"

# Fleiss (1971), table 1: numbers of six psychiatrists who gave each of 30 patients one of five diagnoses.
FLEISS_1971 = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
""".split()  # noqa: SIM905

# Krippendorff (2011), example C, also Gwet's "cac.raw4raters": 12 units, 4 observers, with gaps.
KRIPPENDORFF_2011 = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ],
    dtype=float,
).T
KRIPPENDORFF_2011[KRIPPENDORFF_2011 == 0] = np.nan

# Gwet (2014), table "abstractors": pregnancies of 100 women classified by two abstractors.
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])


def raw(cross_table):
    """Undo a cross table: one row an item, one column a rater."""
    cells = [(a + 1, b + 1) for a, b in itertools.product(range(len(cross_table)), repeat=2)]
    return np.repeat(cells, np.asarray(cross_table).ravel(), axis=0)


def simulated(n_items=60, n_raters=4, n_categories=5, gaps=0.0, seed=3):
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(n_items, 1)) + rng.normal(scale=0.8, size=(n_items, n_raters))
    ratings = np.digitize(quality, np.linspace(-1.2, 1.2, n_categories - 1)) + 1.0
    ratings[rng.random(ratings.shape) < gaps] = np.nan
    return ratings


def test_fleiss_1971_table():
    rows = [[category + 1 for category, n in enumerate(row) for _ in range(int(n))] for row in FLEISS_1971]
    kappa = rel.fleiss_kappa(rows)
    assert kappa.value == pytest.approx(0.430, abs=5e-4)
    assert (kappa.n_items, kappa.n_raters, kappa.n_pairs, kappa.n_missing) == (30, 6, 15, 0)
    assert kappa.low < kappa.value < kappa.high


def test_fleiss_and_percent_against_statsmodels():
    ratings = simulated()
    counts, _ = aggregate_raters(ratings)
    assert rel.fleiss_kappa(ratings, draws=0).value == pytest.approx(fleiss_kappa(counts), abs=1e-12)
    agreeing = (counts**2 - counts).sum() / (counts.sum(1) * (counts.sum(1) - 1)).sum()
    assert rel.percent_agreement(ratings, draws=0).value == pytest.approx(agreeing, abs=1e-12)


@pytest.mark.parametrize(("weights", "name"), [(None, None), ("linear", "linear"), ("quadratic", "quadratic")])
def test_cohen_is_the_mean_of_statsmodels_over_pairs_with_common_items(weights, name):
    ratings = simulated(gaps=0.2)
    expected = []
    for a, b in itertools.combinations(range(4), 2):
        both = ratings[~np.isnan(ratings[:, [a, b]]).any(axis=1)][:, [a, b]].astype(int)
        table = np.zeros((5, 5))
        np.add.at(table, (both[:, 0] - 1, both[:, 1] - 1), 1)
        expected.append(cohens_kappa(table, wt=name, return_results=False))
    kappa = rel.cohen_kappa(ratings, weights=weights, draws=0)
    assert kappa.value == pytest.approx(np.mean(expected), abs=1e-12)
    assert kappa.n_pairs == 6
    assert "mean over pairs" in kappa.definition


def test_gwet_published_values_of_two_raters():
    ratings = raw(ABSTRACTORS)
    assert rel.cohen_kappa(ratings, draws=0).value == pytest.approx(0.7964094, abs=5e-8)
    assert rel.gwet_ac(ratings, draws=0).value == pytest.approx(0.8493305, abs=5e-8)
    assert rel.percent_agreement(ratings, draws=0).value == pytest.approx(0.89, abs=1e-12)
    assert rel.fleiss_kappa(ratings, draws=0).value == pytest.approx(0.7962397, abs=5e-8)  # Scott's π
    assert rel.krippendorff_alpha(ratings, level="nominal", draws=0).value == pytest.approx(0.7972585, abs=5e-8)
    assert rel.cohen_kappa(ratings, weights="linear", draws=0).value == pytest.approx(0.843, abs=5e-4)
    assert rel.cohen_kappa(ratings, weights="quadratic", draws=0).value == pytest.approx(0.892, abs=5e-4)
    for weights, published in (("linear", 0.900), ("quadratic", 0.940), ("ordinal", 0.925)):
        assert rel.gwet_ac(ratings, weights=weights, draws=0).value == pytest.approx(published, abs=5e-4)


def test_gwet_published_values_with_gaps():
    published = {None: 0.775, "linear": 0.859, "quadratic": 0.914, "ordinal": 0.899}
    for weights, value in published.items():
        assert rel.gwet_ac(KRIPPENDORFF_2011, weights=weights, draws=0).value == pytest.approx(value, abs=5e-4)
    assert rel.fleiss_kappa(KRIPPENDORFF_2011, draws=0).value == pytest.approx(0.761, abs=5e-4)
    assert rel.percent_agreement(KRIPPENDORFF_2011, draws=0).value == pytest.approx(0.818, abs=5e-4)


def test_categories_that_nobody_used_count_for_gwet():
    used = rel.gwet_ac([[1, 1], [2, 2], [2, 1]], draws=0)
    offered = rel.gwet_ac([[1, 1], [2, 2], [2, 1]], scale=(1, 5), draws=0)
    share = np.array([0.5, 0.5])
    expected = (share * (1 - share)).sum() / 4
    assert offered.value == pytest.approx((2 / 3 - expected) / (1 - expected))
    assert offered.value > used.value


def test_krippendorff_published_values():
    for level, published in (("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)):
        alpha = rel.krippendorff_alpha(KRIPPENDORFF_2011, level=level)
        assert alpha.value == pytest.approx(published, abs=5e-4)
        assert alpha.n_items == 11  # the twelfth unit has one rating
        assert alpha.low < alpha.value <= alpha.high


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_krippendorff_against_the_krippendorff_package(level, gaps):
    ratings = simulated(gaps=gaps)
    expected = krippendorff.alpha(ratings.T, level_of_measurement=level)
    assert rel.krippendorff_alpha(ratings, level=level, draws=0).value == pytest.approx(expected, abs=1e-12)


def test_davies_fleiss_by_its_definition():
    ratings = simulated().astype(int)
    observed, expected = [], []
    for a, b in itertools.combinations(ratings.T, 2):
        observed.append((a == b).mean())
        expected.append(sum((a == k).mean() * (b == k).mean() for k in range(1, 6)))
    by_hand = (np.mean(observed) - np.mean(expected)) / (1 - np.mean(expected))
    assert rel.davies_fleiss_kappa(ratings, draws=0).value == pytest.approx(by_hand, abs=1e-12)


def test_davies_fleiss_of_two_raters_is_cohen_and_not_fleiss():
    ratings = simulated(n_raters=2, gaps=0.1)
    davies = rel.davies_fleiss_kappa(ratings, draws=0).value
    assert davies == pytest.approx(rel.cohen_kappa(ratings, draws=0).value, abs=1e-12)
    assert abs(davies - rel.fleiss_kappa(ratings, draws=0).value) > 1e-4


@pytest.mark.skipif(not FLICKR.is_file(), reason="the shared rating files are not here")
def test_flickr_as_published_and_as_named():
    ratings = rel.prepare(FLICKR)
    davies = rel.davies_fleiss_kappa(ratings)
    assert davies.value == pytest.approx(0.5259, abs=5e-5)
    assert rel.fleiss_kappa(ratings, draws=0).value == pytest.approx(0.5167, abs=5e-5)
    assert rel.goodman_kruskal_gamma(ratings, draws=0).value == pytest.approx(0.98875, abs=5e-6)
    assert (davies.n_items, davies.n_raters) == (5822, 3)


@pytest.mark.parametrize(
    ("ratings", "sentence"),
    [
        ([[1], [2]], "at least two raters; there is one"),
        ([[1, 2]], "at least two items; there is 1"),
        ([[3, 3], [3, 3]], "all 4 ratings are 3"),
        ([[1, None], [None, 2], [3, None]], "no two raters rated a common item"),
    ],
)
@pytest.mark.parametrize(
    "coefficient",
    [rel.cohen_kappa, rel.fleiss_kappa, rel.davies_fleiss_kappa, rel.krippendorff_alpha, rel.gwet_ac],
)
def test_what_has_no_value_says_why(coefficient, ratings, sentence):
    with pytest.raises(InputError, match=sentence):
        coefficient(ratings)


def test_perfect_agreement_by_chance_leaves_no_kappa():
    with pytest.raises(InputError, match="one category"):
        rel.cohen_kappa([[1, 1, None], [1, 1, None], [None, None, 2]])


def test_constant_ratings_agree_perfectly_before_chance_is_considered():
    assert rel.percent_agreement([[3, 3], [3, 3]]).value == 1.0


def test_unknown_options_are_named():
    with pytest.raises(InputError, match="weights='cubic' is not known"):
        rel.cohen_kappa([[1, 2], [2, 2]], weights="cubic")
    with pytest.raises(InputError, match="level='likert' is not a level"):
        rel.krippendorff_alpha([[1, 2], [2, 2]], level="likert")
    with pytest.raises(InputError, match="ordinal level needs categories with an order"):
        rel.cohen_kappa([["a", "b"], ["b", "b"]], weights="linear")
