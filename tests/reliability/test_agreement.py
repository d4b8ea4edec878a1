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
    assert kappa.estimate == pytest.approx(0.430, abs=5e-4)
    assert (kappa.n_items, kappa.n_raters, kappa.n_pairs, kappa.n_missing) == (30, 6, 15, 0)
    assert kappa.conf_low < kappa.estimate < kappa.conf_high


def test_fleiss_and_percent_against_statsmodels():
    ratings = simulated()
    counts, _ = aggregate_raters(ratings)
    assert rel.fleiss_kappa(ratings, conf_level=None).estimate == pytest.approx(fleiss_kappa(counts), abs=1e-12)
    agreeing = (counts**2 - counts).sum() / (counts.sum(1) * (counts.sum(1) - 1)).sum()
    assert rel.percent_agreement(ratings, conf_level=None).estimate == pytest.approx(agreeing, abs=1e-12)


@pytest.mark.parametrize(("weights", "name"), [(None, None), ("linear", "linear"), ("quadratic", "quadratic")])
def test_cohen_is_the_mean_of_statsmodels_over_pairs_with_common_items(weights, name):
    ratings = simulated(gaps=0.2)
    expected, sizes = [], []
    for a, b in itertools.combinations(range(4), 2):
        both = ratings[~np.isnan(ratings[:, [a, b]]).any(axis=1)][:, [a, b]].astype(int)
        table = np.zeros((5, 5))
        np.add.at(table, (both[:, 0] - 1, both[:, 1] - 1), 1)
        expected.append(cohens_kappa(table, wt=name, return_results=False))
        sizes.append(len(both))
    kappa = rel.cohen_kappa(ratings, weights=weights, conf_level=None)
    assert kappa.estimate == pytest.approx(np.average(expected, weights=sizes), abs=1e-12)
    assert kappa.n_pairs == 6
    assert "mean over pairs" in kappa.definition


def test_gwet_published_values_of_two_raters():
    ratings = raw(ABSTRACTORS)
    assert rel.cohen_kappa(ratings, conf_level=None).estimate == pytest.approx(0.7964094, abs=5e-8)
    assert rel.gwet_ac(ratings, conf_level=None).estimate == pytest.approx(0.8493305, abs=5e-8)
    assert rel.percent_agreement(ratings, conf_level=None).estimate == pytest.approx(0.89, abs=1e-12)
    assert rel.fleiss_kappa(ratings, conf_level=None).estimate == pytest.approx(0.7962397, abs=5e-8)  # Scott's π
    assert rel.krippendorff_alpha(ratings, level="nominal", conf_level=None).estimate == pytest.approx(
        0.7972585, abs=5e-8
    )
    assert rel.cohen_kappa(ratings, weights="linear", conf_level=None).estimate == pytest.approx(0.843, abs=5e-4)
    assert rel.cohen_kappa(ratings, weights="quadratic", conf_level=None).estimate == pytest.approx(0.892, abs=5e-4)
    for weights, published in (("linear", 0.900), ("quadratic", 0.940), ("ordinal", 0.925)):
        assert rel.gwet_ac(ratings, weights=weights, conf_level=None).estimate == pytest.approx(published, abs=5e-4)


def test_gwet_published_values_with_gaps():
    published = {None: 0.775, "linear": 0.859, "quadratic": 0.914, "ordinal": 0.899}
    for weights, value in published.items():
        assert rel.gwet_ac(KRIPPENDORFF_2011, weights=weights, conf_level=None).estimate == pytest.approx(
            value, abs=5e-4
        )
    assert rel.fleiss_kappa(KRIPPENDORFF_2011, conf_level=None).estimate == pytest.approx(0.761, abs=5e-4)
    assert rel.percent_agreement(KRIPPENDORFF_2011, conf_level=None).estimate == pytest.approx(0.818, abs=5e-4)


def test_conger_with_gaps_by_its_definition():
    """Chance agreement is the mean over all pairs of raters, each with the distribution of all that he rated."""
    ratings = simulated(gaps=0.5)
    own = [np.bincount(column[~np.isnan(column)].astype(int), minlength=6)[1:] for column in ratings.T]
    shares = [counts / counts.sum() for counts in own]
    chance = np.mean([a @ b for a, b in itertools.combinations(shares, 2)])
    observed = rel.percent_agreement(ratings, conf_level=None).estimate
    expected = (observed - chance) / (1 - chance)
    assert rel.conger_kappa(ratings, conf_level=None).estimate == pytest.approx(expected, abs=1e-12)


IRRCAC = {  # of simulated(gaps): Conger, Fleiss, Gwet, Brennan & Prediger by irrCAC 0.4.4, which needs an older scipy
    (0.0, None): (0.22677707154936, 0.22466342147963, 0.23460718421594, 0.23263888888889),
    (0.0, "linear"): (0.42174103510858, 0.42086212569924, 0.47340300485136, 0.46527777777778),
    (0.0, "quadratic"): (0.58856589668433, 0.58831126896997, 0.65643551850448, 0.64583333333333),
    (0.0, "ordinal"): (0.53842681412933, 0.53801623720438, 0.60470201635799, 0.59424603174603),
    (0.5, None): (0.24503364876237, 0.2380816841653, 0.24284629763298, 0.24189814814815),
    (0.5, "linear"): (0.44439658077527, 0.43897047213011, 0.46294719926173, 0.45891203703704),
    (0.5, "quadratic"): (0.61525280208637, 0.6122883609533, 0.64309471842219, 0.63773148148148),
    (0.5, "ordinal"): (0.5652522457076, 0.56164068622054, 0.59189671934703, 0.58664021164021),
}


@pytest.mark.parametrize(("gaps", "weights"), IRRCAC)
def test_coefficients_with_gaps_and_weights_are_those_of_irrcac(gaps, weights):
    ratings = simulated(gaps=gaps)
    ratings = ratings[~np.isnan(ratings).all(axis=1)]
    ours = (rel.conger_kappa, rel.fleiss_kappa, rel.gwet_ac, rel.brennan_prediger)
    for coefficient, expected in zip(ours, IRRCAC[gaps, weights], strict=True):
        found = coefficient(ratings, weights=weights, scale=(1, 5), conf_level=None).estimate
        assert found == pytest.approx(expected, abs=1e-10)


def test_conger_is_cohens_kappa_of_two_and_davies_and_fleiss_of_complete_ratings():
    ratings = simulated()
    for weights in (None, "linear", "quadratic"):
        two = ratings[:, :2]
        assert rel.conger_kappa(two, weights=weights, conf_level=None).estimate == pytest.approx(
            rel.cohen_kappa(two, weights=weights, conf_level=None).estimate, abs=1e-12
        )
    assert rel.conger_kappa(ratings, conf_level=None).estimate == pytest.approx(
        rel.davies_fleiss_kappa(ratings, conf_level=None).estimate, abs=1e-12
    )


def test_a_crowd_whose_pairs_share_few_items_keeps_its_agreement():
    """300 items, each rated by 5 of 200 raters who are right in 95 %: means over pairs fell to .22 and .34."""
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 5, 300)
    ratings = np.full((300, 200), np.nan)
    for i in range(300):
        who = rng.choice(200, 5, replace=False)
        ratings[i, who] = np.where(rng.random(5) < 0.95, truth[i], rng.integers(1, 5, 5))
    fleiss, conger = rel.fleiss_kappa(ratings), rel.conger_kappa(ratings)
    assert conger.estimate == pytest.approx(fleiss.estimate, abs=0.01)
    assert conger.conf_low < conger.estimate < conger.conf_high
    assert conger.estimate > 0.85
    with pytest.raises(InputError, match="no two raters have 10 common items"):
        rel.cohen_kappa(ratings)
    with pytest.raises(InputError, match="no two raters have 10 common items"):
        rel.goodman_kruskal_gamma(ratings)
    assert rel.goodman_kruskal_gamma(ratings, min_common=2, conf_level=None).estimate > 0.8


def test_categories_that_nobody_used_count_for_gwet():
    used = rel.gwet_ac([[1, 1], [2, 2], [2, 1]], conf_level=None)
    offered = rel.gwet_ac([[1, 1], [2, 2], [2, 1]], scale=(1, 5), conf_level=None)
    share = np.array([0.5, 0.5])
    expected = (share * (1 - share)).sum() / 4
    assert offered.estimate == pytest.approx((2 / 3 - expected) / (1 - expected))
    assert offered.estimate > used.estimate


def test_krippendorff_published_values():
    for level, published in (("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)):
        alpha = rel.krippendorff_alpha(KRIPPENDORFF_2011, level=level)
        assert alpha.estimate == pytest.approx(published, abs=5e-4)
        assert alpha.n_items == 11  # the twelfth unit has one rating
        assert alpha.conf_low < alpha.estimate <= alpha.conf_high


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_krippendorff_against_the_krippendorff_package(level, gaps):
    ratings = simulated(gaps=gaps)
    expected = krippendorff.alpha(ratings.T, level_of_measurement=level)
    assert rel.krippendorff_alpha(ratings, level=level, conf_level=None).estimate == pytest.approx(expected, abs=1e-12)


def test_davies_fleiss_by_its_definition():
    ratings = simulated().astype(int)
    observed, expected = [], []
    for a, b in itertools.combinations(ratings.T, 2):
        observed.append((a == b).mean())
        expected.append(sum((a == k).mean() * (b == k).mean() for k in range(1, 6)))
    by_hand = (np.mean(observed) - np.mean(expected)) / (1 - np.mean(expected))
    assert rel.davies_fleiss_kappa(ratings, conf_level=None).estimate == pytest.approx(by_hand, abs=1e-12)


def test_davies_fleiss_of_two_raters_is_cohen_and_not_fleiss():
    ratings = simulated(n_raters=2, gaps=0.1)
    davies = rel.davies_fleiss_kappa(ratings, conf_level=None).estimate
    assert davies == pytest.approx(rel.cohen_kappa(ratings, conf_level=None).estimate, abs=1e-12)
    assert abs(davies - rel.fleiss_kappa(ratings, conf_level=None).estimate) > 1e-4


@pytest.mark.skipif(not FLICKR.is_file(), reason="the shared rating files are not here")
def test_flickr_as_published_and_as_named():
    ratings = rel.prepare(FLICKR)
    davies = rel.davies_fleiss_kappa(ratings)
    assert davies.estimate == pytest.approx(0.5259, abs=5e-5)
    assert rel.fleiss_kappa(ratings, conf_level=None).estimate == pytest.approx(0.5167, abs=5e-5)
    assert rel.goodman_kruskal_gamma(ratings, pooled=False, conf_level=None).estimate == pytest.approx(
        0.98875, abs=5e-6
    )
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
    with pytest.raises(InputError, match="no two raters have enough common items on which both vary"):
        rel.cohen_kappa([[1, 1, None], [1, 1, None], [None, None, 2]], min_common=1)


def test_constant_ratings_agree_perfectly_before_chance_is_considered():
    assert rel.percent_agreement([[3, 3], [3, 3]]).estimate == 1.0


def test_unknown_options_are_named():
    with pytest.raises(InputError, match="weights='cubic' is not known"):
        rel.cohen_kappa([[1, 2], [2, 2]], weights="cubic")
    with pytest.raises(InputError, match="level='likert' is not a level"):
        rel.krippendorff_alpha([[1, 2], [2, 2]], level="likert")
    with pytest.raises(InputError, match="ordinal level needs categories with an order"):
        rel.cohen_kappa([["a", "b"], ["b", "b"]], weights="linear")
