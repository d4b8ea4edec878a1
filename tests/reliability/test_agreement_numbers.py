"""Agreement coefficients on tables small enough for pencil and paper, and on scales with unequal steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from ordbridge import reliability as rel
from ordbridge.errors import InputError

# Four items, three raters, gaps. Pairs of ratings that agree: 1 of 3, 1 of 1, none to compare, 1 of 3.
# Mean shares of the categories over the items: 3/12, 4/12, 5/12; their squares sum to 25/72.
WITH_GAPS = [[1, 1, 2], [2, 2, None], [3, None, None], [1, 3, 3]]

# Gwet (2014), "abstractors": 100 women by two raters, 89 on the diagonal, 11 between the second and third category.
# Mean shares are 0.13, 0.255 and 0.615, so Σπ(1 − π) = 0.1131 + 0.189975 + 0.236775 = 0.53985.
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])


CORRECTED = (
    rel.cohen_kappa,
    rel.fleiss_kappa,
    rel.conger_kappa,
    rel.davies_fleiss_kappa,
    rel.gwet_ac,
    rel.brennan_prediger,
)


def raw(values: tuple[Any, ...]) -> list[list[Any]]:
    """One row per woman, one column per abstractor, in these categories."""
    return [[values[a], values[b]] for a in range(3) for b in range(3) for _ in range(ABSTRACTORS[a, b])]


def number(coefficient: Callable[..., rel.Coefficient], ratings: Any, **options: Any) -> float:
    return coefficient(ratings, conf_level=None, **options).estimate


def test_gaps_by_hand():
    assert number(rel.percent_agreement, WITH_GAPS) == pytest.approx(5 / 9, abs=1e-14)
    assert number(rel.fleiss_kappa, WITH_GAPS) == pytest.approx((5 / 9 - 25 / 72) / (1 - 25 / 72), abs=1e-14)  # 15/47
    chance = (1 - 25 / 72) / 2
    assert number(rel.gwet_ac, WITH_GAPS) == pytest.approx((5 / 9 - chance) / (1 - chance), abs=1e-14)  # 33/97
    assert number(rel.brennan_prediger, WITH_GAPS) == pytest.approx((5 / 9 - 1 / 3) / (1 - 1 / 3), abs=1e-14)


def test_conger_with_gaps_by_hand():
    """The raters' own shares are (2, 1, 1)/4, (1, 1, 1)/3 and (0, 1, 1)/2: pairs meet by chance in 1/3, 1/4 and 1/3."""
    chance = (1 / 3 + 1 / 4 + 1 / 3) / 3
    assert number(rel.conger_kappa, WITH_GAPS) == pytest.approx((5 / 9 - chance) / (1 - chance), abs=1e-14)  # 9/25


def test_a_rater_with_one_rating_has_a_distribution_for_conger():
    """Shares (2, 1)/3, (1, 2)/3 and (1, 0): chance 4/9, 2/3 and 1/3; the items agree in 1, 1 and 1/3."""
    observed, chance = (1 + 1 + 1 / 3) / 3, (4 / 9 + 2 / 3 + 1 / 3) / 3
    found = number(rel.conger_kappa, [[1, 1, None], [2, 2, None], [1, 2, 1]])
    assert found == pytest.approx((observed - chance) / (1 - chance), abs=1e-14)  # 4/7


def test_davies_fleiss_with_gaps_by_hand():
    """Each pair on its common items: observed 2/3, 0, 1/2; expected 1/3, 0, 1/4."""
    observed, expected = (2 / 3 + 0 + 1 / 2) / 3, (1 / 3 + 0 + 1 / 4) / 3
    kappa = number(rel.davies_fleiss_kappa, WITH_GAPS)
    assert kappa == pytest.approx((observed - expected) / (1 - expected), abs=1e-14)  # 7/29


def test_davies_fleiss_of_pairs_that_share_one_item():
    """Observed 3/4, 0 and 0, expected 1/2, 0 and 0: (1/4 − 1/6) / (1 − 1/6)."""
    ratings = [[1, 1, None], [2, 2, 1], [1, 1, None], [2, 1, None]]
    assert number(rel.davies_fleiss_kappa, ratings) == pytest.approx((1 / 4 - 1 / 6) / (1 - 1 / 6), abs=1e-14)


def test_davies_fleiss_leaves_out_a_pair_without_common_items():
    """First and third rater never meet; the others: observed 3/4 and 1/2, expected 1/2 and 1/2."""
    ratings = [[1, 1, None], [2, 2, None], [1, 1, None], [2, 1, None], [None, 1, 1], [None, 2, 1]]
    assert number(rel.davies_fleiss_kappa, ratings) == pytest.approx((5 / 8 - 1 / 2) / (1 - 1 / 2), abs=1e-14)


@pytest.mark.parametrize("coefficient", CORRECTED)
def test_one_item_in_another_category(coefficient):
    """Without this item chance agreement is perfect and nothing has a value; with it κ is hardly below 0.

    Observed 11/12. Cohen: expected 11/12. Fleiss: shares 23/24 and 1/24, expected 530/576.
    """
    ratings = [[1, 1]] * 11 + [[1, 2]]
    expected = {rel.fleiss_kappa: 530 / 576, rel.gwet_ac: 46 / 576, rel.brennan_prediger: 1 / 2}.get(
        coefficient, 11 / 12
    )
    found = coefficient(ratings)
    assert found.estimate == pytest.approx((11 / 12 - expected) / (1 - expected), abs=1e-12)


@pytest.mark.parametrize("coefficient", [rel.percent_agreement, rel.davies_fleiss_kappa])
def test_an_item_with_one_rating_does_not_enter(coefficient):
    """It has nothing to be compared with, so it is not counted either; with it go its two empty cells."""
    found = coefficient(WITH_GAPS, conf_level=None)
    assert (found.n_items, found.n_raters, found.n_missing) == (3, 3, 1)


@pytest.mark.parametrize("coefficient", [rel.fleiss_kappa, rel.conger_kappa, rel.gwet_ac, rel.brennan_prediger])
def test_an_item_with_one_rating_enters_the_shares(coefficient):
    found = coefficient(WITH_GAPS, conf_level=None)
    assert (found.n_items, found.n_missing) == (4, 3)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("values", [(1, 2, 3), (1, 2, 5), (0, 50, 60)])
@pytest.mark.parametrize("coefficient", [rel.cohen_kappa, rel.conger_kappa])
def test_weights_of_cohen_follow_the_values_of_the_categories(coefficient, weights, values):
    expected = cohens_kappa(ABSTRACTORS, weights=np.array(values), wt=weights or "linear", return_results=False)
    if weights is None:
        expected = cohens_kappa(ABSTRACTORS, return_results=False)
    assert number(coefficient, raw(values), weights=weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("weights", "near", "far"),
    [
        (None, 0, 0),
        ("linear", 3 / 4, 1 / 4),  # distances 1, 3 and 4 of the categories 1, 2 and 5, over 4
        ("quadratic", 15 / 16, 7 / 16),  # 1, 9 and 16, over 16
        ("ordinal", 2 / 3, 2 / 3),  # positions: 1 step of C(2, 2) = 1 over C(3, 2) = 3
    ],
)
def test_weights_by_hand(weights, near, far):
    """``near`` is the weight of categories 1 and 2, ``far`` of 2 and 5; 1 and 5 have none."""
    weights = json.loads(json.dumps(weights))  # equal to the word in the code, but not the same object
    observed = 0.89 + 0.11 * far
    all_weights = 3 + 2 * near + 2 * far
    chance = {
        rel.gwet_ac: all_weights / (3 * 2) * 0.53985,
        rel.brennan_prediger: all_weights / 3**2,
        rel.fleiss_kappa: (1 - 0.53985) + 2 * near * 0.13 * 0.255 + 2 * far * 0.255 * 0.615,
    }
    for coefficient, expected in chance.items():
        found = number(coefficient, raw((1, 2, 5)), weights=weights)
        assert found == pytest.approx((observed - expected) / (1 - expected), abs=1e-12)


@pytest.mark.parametrize("coefficient", [rel.cohen_kappa, rel.conger_kappa, rel.gwet_ac])
@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_words_stand_at_their_positions(coefficient, weights):
    words = number(coefficient, raw(("poor", "fair", "good")), weights=weights, scale=["poor", "fair", "good"])
    assert words == pytest.approx(number(coefficient, raw((1, 2, 3)), weights=weights), abs=1e-14)


@pytest.mark.parametrize(
    "coefficient",
    [rel.percent_agreement, *CORRECTED],
)
def test_a_long_table_with_names_of_its_own_is_the_same_as_the_matrix(coefficient):
    long = {
        "woman": [woman for woman in range(100) for _ in "ab"],
        "abstractor": ["a", "b"] * 100,
        "pregnancy": [label for row in raw(("ectopic", "abnormal", "normal")) for label in row],
    }
    found = number(coefficient, long, item="woman", participant="abstractor", rating="pregnancy")
    assert found == pytest.approx(number(coefficient, raw((1, 2, 3))), abs=1e-14)


def test_weights_need_an_order_and_ac1_does_not():
    words = raw(("ectopic", "abnormal", "normal"))
    assert number(rel.gwet_ac, words) == pytest.approx(0.8493305, abs=5e-8)  # as published
    with pytest.raises(InputError, match="needs categories with an order"):
        rel.gwet_ac(words, weights="linear")


def test_perfect_agreement_is_one_and_opposite_ratings_are_minus_one():
    same, opposite = [[1, 1], [2, 2]] * 6, [[1, 2], [2, 1]] * 6
    for coefficient in CORRECTED:
        assert number(coefficient, same) == pytest.approx(1, abs=1e-14)
        assert number(coefficient, opposite) == pytest.approx(-1, abs=1e-14)
    assert number(rel.percent_agreement, opposite) == 0


def test_the_definition_says_which_variant_was_computed():
    two, three = raw((1, 2, 3)), [[*row, row[0]] for row in raw((1, 2, 3))]
    assert "mean over pairs" not in rel.cohen_kappa(two).definition
    assert "mean over pairs" in rel.cohen_kappa(three).definition
    for coefficient in (rel.cohen_kappa, rel.conger_kappa, rel.fleiss_kappa, rel.gwet_ac, rel.brennan_prediger):
        plain, weighted = coefficient(two), coefficient(two, weights="linear")
        assert "linear weights" in weighted.definition and "linear weights" in weighted.name
        assert "weights" not in plain.definition and "weights" not in plain.name
    assert rel.gwet_ac(two).name == "Gwet's AC1" and rel.gwet_ac(two, weights="linear").name.startswith("Gwet's AC2")


def test_one_common_item_is_enough_for_a_share_and_none_is_not():
    assert number(rel.percent_agreement, [[1, 1], [2, None], [None, 3]]) == 1
    with pytest.raises(InputError, match="percent agreement has no value here: no two raters rated a common item"):
        rel.percent_agreement([[1, None], [2, None], [None, 3]])
    for coefficient in CORRECTED:  # not because of chance
        with pytest.raises(InputError, match="has no value here: no two raters rated a common item"):
            coefficient([[1, None], [2, None], [None, 3]])
