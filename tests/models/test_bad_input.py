"""Every bad input gets one clear sentence: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob

pytestmark = pytest.mark.needs_r

Change = Callable[[pd.DataFrame], Any]
CLMM = "rating ~ system + (1 | participant)"

CASES: dict[str, tuple[str, str, dict[str, Any], Change, str]] = {
    "no such column": (
        "clmm", "rating ~ sistem + (1 | item)", {}, lambda d: d,
        "position 10: there is no column 'sistem'; the table has: participant, item, system, length, rating",
    ),
    "empty table": ("clmm", CLMM, {}, lambda d: d.iloc[:0], "the table has no rows"),
    "one category": (
        "clmm", CLMM, {}, lambda d: d.assign(rating=3),
        "the response 'rating' has only one category, '3'; two or more are needed",
    ),
    "non-integer response": (
        "clm", "rating ~ system", {}, lambda d: d.assign(rating=d.rating + 0.5),
        "which is not a whole number; an ordinal model needs categories: round it, or fit lmer",
    ),
    "missing response": (
        "clm", "rating ~ system", {}, lambda d: d.assign(rating=np.nan), "the response 'rating' is missing in every row"
    ),
    "text response": (
        "clm", "rating ~ system", {}, lambda d: d.assign(rating=np.where(d.rating > 2, "good", "bad")),
        "data['rating'] = pd.Categorical(data['rating'], categories=['bad', 'good'], ordered=True)",
    ),
    "truth values as response": (
        "clm", "rating ~ system", {}, lambda d: d.assign(rating=d.rating > 2), "holds truth values; make it integers"
    ),
    "two levels in a group": (
        "clmm", "rating ~ length + (1 | system)", {}, lambda d: d,
        "the grouping factor system has 2 levels; random effects need at least 3: make it a fixed effect",
    ),
    "too many random effects (clmm)": (
        "clmm", "rating ~ system + (system | row)", {}, lambda d: d.assign(row=[f"r{i}" for i in range(len(d))]),
        "(system | row) has 240 random effects for 120 observations; simplify it",
    ),
    "too many random effects (lmer)": (
        "lmer", "rating ~ system + (system | row)", {}, lambda d: d.assign(row=[f"r{i}" for i in range(len(d))]),
        "(system | row) has 240 random effects for 120 observations; simplify it",
    ),
    "constant predictor": (
        "lm", "rating ~ length", {}, lambda d: d.assign(length=7.0),
        "the predictor 'length' is 7.0 in every row; leave it out of the formula",
    ),
    "constant factor": (
        "lm", "rating ~ system", {}, lambda d: d.assign(system="A"), "the predictor 'system' is A in every row"
    ),
    "missing predictor": (
        "lmer", "rating ~ length + (1 | item)", {}, lambda d: d.assign(length=np.nan),
        "the column 'length' is missing in every row; leave it out of the formula",
    ),
    "infinite value": (
        "lm", "rating ~ length", {}, lambda d: d.assign(length=[np.inf, *d.length[1:]]),
        "column 'length' has an infinite value in row 1; correct it or make it missing",
    ),
    "duplicated column": (
        "lm", "rating ~ length", {}, lambda d: pd.concat([d, d[["length"]]], axis=1),
        "the table has more than one column named 'length'; rename one of them",
    ),
    "wrong link": (
        "clm", "rating ~ system", {"link": "probbit"}, lambda d: d,
        "link='probbit' is not known; choose one of 'logit', 'probit', 'cloglog', 'loglog', 'cauchit'",
    ),
    "wrong threshold": (
        "clm", "rating ~ system", {"threshold": "loose"}, lambda d: d, "threshold='loose' is not known; choose one of"
    ),
    "wrong ddf": ("lmer", CLMM, {"ddf": "exact"}, lambda d: d, "ddf='exact' is not known; choose one of"),
    "wrong engine": ("clmm", CLMM, {"engine": "stan"}, lambda d: d, "engine='stan' is not known; choose one of"),
    "wrong nAGQ": ("clmm", CLMM, {"nAGQ": 0}, lambda d: d, "nAGQ=0 is not a number of quadrature points"),
    "wrong REML": ("lmer", CLMM, {"REML": "yes"}, lambda d: d, "REML='yes' is neither True nor False"),
    "wrong timeout": ("lm", "rating ~ system", {"timeout": -1}, lambda d: d, "timeout=-1 is not a number of seconds"),
    "no random effects": (
        "clmm", "rating ~ system", {}, lambda d: d, "the formula has no random effects; add (1 | group), or fit clm"
    ),
    "random effects in clm": ("clm", CLMM, {}, lambda d: d, "clm has no random effects such as (1 | participant)"),
    "text for a linear model": (
        "lm", "system ~ length", {}, lambda d: d, "the response 'system' is not numeric, but lm needs numbers"
    ),
    "arithmetic as ordinal response": (
        "clm", "log(rating) ~ system", {}, lambda d: d, "the response log(rating) is not a column of categories"
    ),
    "no complete row": (
        "lmer", "rating ~ length + (1 | item)", {},
        lambda d: d.assign(length=d.length.where(d.index % 2 == 0), rating=d.rating.where(d.index % 2 == 1)),
        "no row is complete",
    ),
    "dates": (
        "lm", "rating ~ day", {}, lambda d: d.assign(day=pd.Timestamp("2021-01-01")),
        "column 'day' has the type timestamp",
    ),
    "not a table": ("lm", "rating ~ length", {}, lambda d: 7, "data is a int; give a pandas or polars DataFrame"),
    "no such file": ("lm", "rating ~ length", {}, lambda d: "nowhere.csv", "there is no file nowhere.csv"),
    "formula is no text": ("lm", None, {}, lambda d: d, "the formula is a NoneType"),  # type: ignore[dict-item]
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_clear_sentence(name: str, ratings: pd.DataFrame) -> None:
    model, formula, options, change, sentence = CASES[name]
    with pytest.raises(ob.InputError) as refusal:
        getattr(ob, model)(formula, change(ratings), **options)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_unknown_term_names_the_terms(ratings: pd.DataFrame) -> None:
    fit = ob.lm("rating ~ system", ratings)
    with pytest.raises(ob.InputError, match=r"there is no term 'sys'; the terms are '\(Intercept\)', 'systemB'"):
        fit.p_value("sys")


def test_the_callers_data_is_not_changed(ratings: pd.DataFrame) -> None:
    before = ratings.copy(deep=True)
    ob.clmm(CLMM, ratings)
    pd.testing.assert_frame_equal(ratings, before)


def test_a_number_beyond_every_float_is_refused_where_it_stands():
    with pytest.raises(ob.FormulaError, match=r"position 7: the number 1e999 is beyond every number"):
        ob.lm("y ~ I(1e999*x)", {"y": [1.0, 2.0, 3.0], "x": [1, 2, 4]}, engine="fast")


@pytest.mark.parametrize("formula", ["y ~ x", "y ~ `\ud800`"])
def test_a_column_whose_name_is_half_a_character_is_refused(formula):
    with pytest.raises(ob.InputError, match="is not valid Unicode; rename it"):
        ob.lm(formula, {"y": [1.0, 2.0, 3.0], "x": [1, 2, 4], "\ud800": [1, 2, 3]}, engine="fast")
