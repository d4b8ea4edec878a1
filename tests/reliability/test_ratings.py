"""Long tables and matrices become the same items × raters table, or one sentence says why not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ordbridge import reliability as rel
from ordbridge.errors import InputError

LONG = {"item": ["b", "a", "b", "c"], "participant": ["x", "x", "y", "y"], "rating": [2, 1, 4, 5]}


def test_long_table_of_any_kind_and_matrix_are_the_same():
    matrix = rel.prepare([[1, None], [2, 4], [None, 5]])
    for table in (LONG, pd.DataFrame(LONG), pl.DataFrame(LONG)):
        ratings = rel.prepare(table)
        assert ratings.items == ("a", "b", "c")
        assert ratings.raters == ("x", "y")
        assert ratings.codes.tolist() == matrix.codes.tolist()
        assert ratings.categories == matrix.categories == (1, 2, 4, 5)
        assert ratings.n_missing == 2
    np.testing.assert_array_equal(matrix.values, [[1, np.nan], [2, 4], [np.nan, 5]])


def test_missing_ratings_of_a_long_table_are_gaps_and_unseen_items_vanish():
    table = pd.DataFrame({"item": [1, 1, 2], "participant": ["x", "y", "x"], "rating": [3.0, np.nan, None]})
    ratings = rel.prepare(table)
    assert ratings.items == (1,)
    assert ratings.raters == ("x",)


def test_ordered_categories_keep_their_order_and_their_unused_levels():
    levels = pd.CategoricalDtype(["bad", "fair", "good"], ordered=True)
    table = pd.DataFrame({**LONG, "rating": pd.Series(["good", "bad", "bad", "good"], dtype=levels)})
    ratings = rel.prepare(table)
    assert ratings.categories == ("bad", "fair", "good")
    assert ratings.ordered
    assert not rel.prepare({**LONG, "rating": ["good", "bad", "bad", "good"]}).ordered


def test_scale_adds_unused_categories():
    assert rel.prepare(LONG, scale=(1, 5)).categories == (1, 2, 3, 4, 5)
    assert rel.prepare([[0.5, 2.0]], scale=(0, 100)).categories == (0, 0.5, 2.0, 100)


@pytest.mark.parametrize(
    ("table", "options", "sentence"),
    [
        (
            LONG,
            {"participant": "judge"},
            "there is no column 'judge' for the participant; the table has: item, participant, rating",
        ),
        (
            {**LONG, "item": ["b", "b", "b", "c"], "criterion": ["x", "y", "x", "x"]},
            {},
            "rater 'x' has several ratings of item 'b', and there is a column 'criterion'",
        ),
        ({**LONG, "item": ["b", None, "b", "c"]}, {}, "column 'item' is empty in row 2"),
        ({**LONG, "rating": [None] * 4}, {}, "there are no ratings"),
        (LONG, {"scale": (1, 4)}, r"rating 5 \(item 'c', rater 'y'\) is outside the scale 1, 4"),
        (LONG, {"scale": (5, 1)}, "from lowest to highest"),
        (LONG, {"scale": ["a", "b"]}, "the scale has words"),
        (LONG, {"scale": (3,)}, "lowest and highest"),
        ({**LONG, "rating": [1.0, 2.0, float("inf"), 1.0]}, {}, "infinite"),
        ([[1, "a"], [2, "b"]], {}, "mixes words and numbers"),
        ([[1, 2], [3]], {}, "one row per item"),
        ([1, 2, 3], {}, "one row per item"),
    ],
)
def test_what_cannot_be_used_says_why(table, options, sentence):
    with pytest.raises(InputError, match=sentence):
        rel.prepare(table, **options)


def test_a_negative_rating_has_no_ratio():
    with pytest.raises(InputError, match="true zero, but there is a rating of -1"):
        rel.krippendorff_alpha([[-1, 2], [2, 2]], level="ratio")
