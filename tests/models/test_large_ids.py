"""Integers of any size are labels, not measurements: every rater keeps an own group and the exact name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ordbridge as ob

pytestmark = pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
ENGINES = ("r", "fast")


def ratings_of(ids: list[Any]) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = len(ids)
    z = np.round(np.repeat(rng.normal(0, 0.8, n), 4) + rng.normal(size=4 * n), 3)
    rater = pd.Series(np.repeat(np.array(ids, dtype=object), 4), dtype=object)
    x = np.tile([0.0, 1.0, 0.0, 1.0], n)
    item = np.tile(np.arange(4), n)
    return pd.DataFrame({"rater": rater, "x": x, "item": item, "z": z, "rating": 1 + np.digitize(z, [-1, 0, 1])})


CLOSE = [10**17 + 1 + 3 * k for k in range(40)]
APART = [10**17 + 400 * k for k in range(40)]
HUGE = [10**25 + k for k in range(40)]  # beyond 64 bits: text in a CSV file, or decimals
UNSIGNED = [2**63 + 1 + k for k in range(40)]


def csv(ids: list[int], folder: Path) -> str:
    ratings_of(ids).to_csv(folder / "ratings.csv", index=False)
    return str(folder / "ratings.csv")


def arrow(ids: list[int], kind: pa.DataType) -> pa.Table:
    table = pa.Table.from_pandas(ratings_of(ids).drop(columns="rater"))
    labels = [Decimal(v) for v in ids] if pa.types.is_decimal(kind) else ids
    return table.append_column("rater", pa.array(np.repeat(np.array(labels, dtype=object), 4).tolist(), kind))


def parquet(ids: list[int], kind: pa.DataType, folder: Path) -> str:
    pq.write_table(arrow(ids, kind), folder / "ratings.parquet")
    return str(folder / "ratings.parquet")


SOURCES: dict[str, tuple[list[int], Callable[[list[int], Path], Any]]] = {
    "pandas int64": (CLOSE, lambda ids, _: ratings_of(ids).astype({"rater": "int64"})),
    "pandas uint64": (UNSIGNED, lambda ids, _: ratings_of(ids).astype({"rater": "uint64"})),
    "pandas Int64": (APART, lambda ids, _: ratings_of(ids).astype({"rater": "Int64"})),
    "pandas categorical": (CLOSE, lambda ids, _: ratings_of(ids).astype({"rater": "category"})),
    "pandas objects": (HUGE, lambda ids, _: ratings_of(ids)),
    "polars": (CLOSE, lambda ids, _: pl.DataFrame(ratings_of(ids).astype({"rater": "int64"}).to_dict("list"))),
    "Arrow": (APART, lambda ids, _: arrow(ids, pa.int64())),
    "Arrow decimal": (HUGE, lambda ids, _: arrow(ids, pa.decimal128(38, 0))),
    "CSV": (CLOSE, csv),
    "CSV, steps of 400": (APART, csv),
    "CSV beyond 64 bits": (HUGE, csv),
    "CSV, unsigned": (UNSIGNED, csv),
    "Parquet": (CLOSE, lambda ids, folder: parquet(ids, pa.int64(), folder)),
    "Parquet decimal": (HUGE, lambda ids, folder: parquet(ids, pa.decimal128(38, 0), folder)),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_large_integers_are_exact_labels_from_every_source(source: str, tmp_path: Path) -> None:
    ids, make = SOURCES[source]
    data = make(ids, tmp_path)
    wanted = [str(value) for value in ids]
    fit = ob.lmer("z ~ x + (1 | rater)", data, engine="fast")
    assert fit.glance()["n_groups"].to_pylist()[0] == {"rater": 40}
    assert sorted(fit.ranef()["level"].to_pylist()) == sorted(wanted)
    known = fit.predict(data, kind="conditional")["mean"].to_numpy()
    assert not np.allclose(known, fit.predict(data, kind="population")["mean"].to_numpy())
    raters = ob.reliability.prepare(data, participant="rater").raters
    assert sorted(map(str, raters)) == sorted(wanted)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", ["lmer", "clmm"])
@pytest.mark.parametrize("ids", [CLOSE, APART], ids=["steps of 3", "steps of 400"])
def test_large_integers_are_exact_labels_in_every_mixed_model(model: str, engine: str, ids: list[int]) -> None:
    response = {"lmer": "z", "clmm": "rating"}[model]
    exact, named = ratings_of(ids).astype({"rater": "int64"}), ratings_of([f"r{v}" for v in ids])
    fits = [getattr(ob, model)(f"{response} ~ x + (1 | rater)", data, engine=engine) for data in (exact, named)]
    assert fits[0].glance()["n_groups"].to_pylist()[0] == {"rater": 40}
    effects = [dict(zip(f.ranef()["level"].to_pylist(), f.ranef()["estimate"].to_pylist(), strict=True)) for f in fits]
    assert {f"r{level}": pytest.approx(value, abs=1e-6) for level, value in effects[0].items()} == effects[1]
    assert fits[0].p_value("x") == pytest.approx(fits[1].p_value("x"), rel=1e-6)
    pair = exact.head(8)
    a, b = (f.predict(data.head(8)).to_pandas().to_numpy() for f, data in zip(fits, (pair, named), strict=True))
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_large_integers_are_exact_labels_in_reliability() -> None:
    data = ratings_of(CLOSE[:6]).astype({"rater": "int64"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ob.reliability.analyse(data, participant="rater")
    assert found.raters["participant"].to_pylist() == [str(value) for value in CLOSE[:6]]


@pytest.mark.parametrize("start", [100_000, 10**15, 4 * 10**15, 2**53 - 60])
def test_whole_numbers_that_a_float_holds_keep_all_their_digits(start: int) -> None:
    """R writes doubles with 15 digits, 100000 as 1e+05: two raters would share a label, and predictions mix them."""
    ids = [start + k for k in range(12)]
    data = ratings_of(ids).astype({"rater": "int64"})
    fit = ob.lmer("z ~ x + (1 | rater)", data, engine="fast")
    assert list(fit.estimates.random[0].levels) == [str(value) for value in ids]
    new = data.astype({"rater": "float64"})  # as pandas has them beside a missing value
    np.testing.assert_array_equal(fit.predict(new)["mean"].to_numpy(), fit.predict()["mean"].to_numpy())
    nested = ob.lmer("z ~ x + (1 | rater:x)", data, engine="fast")
    np.testing.assert_array_equal(nested.predict(data)["mean"].to_numpy(), nested.predict()["mean"].to_numpy())


def test_floats_that_have_lost_digits_are_refused_as_labels() -> None:
    """What pandas makes of long identifiers when one is missing: neighbours have become the same number."""
    data = ratings_of(CLOSE).astype({"rater": "float64"})
    for formula in ("z ~ x + (1 | rater)", "z ~ x + (1 | item:rater)"):
        with pytest.raises(ob.InputError, match=r"'rater' holds floats beyond 2\^53.*Int64"):
            ob.lmer(formula, data, engine="fast")


@pytest.mark.parametrize("engine", ENGINES)
def test_factors_of_whole_numbers_that_r_would_merge_are_refused(engine: str) -> None:
    data = ratings_of([10**15 + k for k in range(6)]).astype({"rater": "int64"})
    with pytest.raises(ob.InputError, match="'rater' holds whole numbers of more than 15 digits"):
        ob.lm("z ~ factor(rater)", data, engine=engine)
    assert ob.lm("z ~ scale(rater)", data, engine=engine).n_obs == 24  # as a quantity they are exact


@pytest.mark.parametrize("engine", ENGINES)
def test_fractions_that_print_alike_are_one_level(engine: str) -> None:
    """0.1 + 0.2 is 0.3, for R's factor() and for grouping factors."""
    data = ratings_of(list("abcdef")).assign(dose=np.tile([0.3, 0.1 + 0.2, 0.4, 0.5], 6))
    fixed = ob.lm("z ~ factor(dose)", data, engine=engine)
    assert fixed.estimates.terms == ("(Intercept)", "factor(dose)0.4", "factor(dose)0.5")
    assert fixed.predict(data).equals(fixed.predict())
    mixed = ob.lmer("z ~ x + (1 | dose)", data, engine=engine)
    assert mixed.estimates.random[0].levels == ("0.3", "0.4", "0.5")


@pytest.mark.parametrize("engine", ENGINES)
def test_combinations_with_the_same_label_are_refused(engine: str) -> None:
    data = ratings_of(["a", "a:b"]).assign(item=["b:c", "c"] * 4)
    with pytest.raises(ob.InputError, match=r"'a:b:c'.*rater:item.*rename"):
        ob.lmer("z ~ x + (1 | rater:item)", data, engine=engine)
