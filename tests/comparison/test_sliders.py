"""Sliders in ordinal models, with piles at the ends; engines on real files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.comparison import CompareOptions


def piled(seed: int, shift: float, decimals: int = 0) -> pd.DataFrame:
    """Two systems on a slider from 0 to 100, about half of the ratings at 100."""
    random = np.random.default_rng([51, seed])
    p, i, s = (one.ravel() for one in np.indices((15, 20, 2)))
    y = 4 + shift * s + random.normal(0, 0.5, 15)[p] + random.normal(0, 0.4, 20)[i] + random.normal(0, 0.8, len(s))
    names = {"participant": [f"p{k}" for k in p], "item": [f"i{k}" for k in i], "system": np.array(["A", "B"])[s]}
    return pd.DataFrame({**names, "rating": np.clip(np.round(25 * y, decimals), 0, 100)})


def latent(table: pd.DataFrame) -> ob.comparison.Comparison:
    return ob.compare(table, engine="fast", estimand="latent", force=True, options=CompareOptions(test="wald"))


@pytest.mark.slow
def test_a_slider_is_ordered_categories_on_the_latent_scale() -> None:
    table = piled(1, -0.4)
    found = latent(table)
    (model,) = found.models.to_pylist()
    assert model["model"] == "clmm" and (table.rating == 100).mean() > 0.3
    codes = pd.factorize(table.rating, sort=True)[0]
    fit = ob.clmm(model["formula"], table.assign(rating=codes), engine="fast")
    assert found.pairs["p_value"][0].as_py() == pytest.approx(fit.tidy()["p_value"].to_pylist()[-1], rel=1e-6)
    # only the order counts: squared ratings give the same answer, and means are those of the ratings as they are
    squared = latent(table.assign(rating=table.rating**2 / 100))
    assert squared.pairs["p_value"][0].as_py() == pytest.approx(found.pairs["p_value"][0].as_py(), rel=1e-6)
    means = table.groupby("system").rating.mean()
    assert {row["system"]: row["mean"] for row in found.ranking.to_pylist()} == pytest.approx(means.to_dict())


@pytest.mark.slow
def test_a_continuous_slider_is_cut_at_101_points() -> None:
    table = piled(2, -0.4, decimals=6)
    assert table.rating.nunique() > 101
    fine, whole = latent(table), latent(table.assign(rating=table.rating.round()))
    assert fine.pairs["difference"][0].as_py() == pytest.approx(whole.pairs["difference"][0].as_py(), rel=0.05)
    assert fine.fits[None].n_obs == 600 and len(fine.fits[None].tidy()) < 110


def test_no_expected_rating_is_beyond_the_end_of_a_slider() -> None:
    """Few raters, nearly all at 100: lmer's interval would go on; where nobody gave a 0 the ends are not known."""
    table = piled(5, -0.5)
    table = table[table.participant.isin(["p0", "p1", "p2"]) & table.item.isin(["i0", "i1", "i2", "i3"])].copy()
    table.loc[table.system == "A", "rating"] = [100] * 11 + [88]
    table.loc[table.index[-1], "rating"] = 0
    highest = [
        max(row["conf_high"] for row in ob.compare(one, engine="fast", model="lmer", force=True).ranking.to_pylist())
        for one in (table, table[table.rating > 0])
    ]
    assert highest[0] == 100 < highest[1]


def test_panels_of_sliders_say_which_criterion_they_are_about() -> None:
    table = piled(3, -0.4).rename(columns={"rating": "fluency"})
    table["coverage"] = piled(4, -0.2).rating
    ratings = ob.read(table, rating=["fluency", "coverage"])
    found = ob.compare(ratings, engine="fast", model="lmer", force=True)
    titles = [axes.get_title(loc="left") for axes in found.plot().axes]
    assert [title.strip() for title in titles] == ["fluency: expected rating", "coverage: expected rating"]


REAL: dict[str, dict[str, Any]] = {
    "deadpan_annotations.csv": {
        "participant": "expID,participant", "item": "composer,pieceID", "rating": ["arousal"],
    },
    "frank_human_annotations.json": {"rating": "Factuality"},
    "reprohum_defcomplex_results.xlsx": {},
}  # fmt: skip


@pytest.mark.needs_r
@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_r_and_the_native_engine_decide_alike(name: str, shared: Path) -> None:
    """`benchmarks/real_files.py` does this for every file; p-values of both searches are equal to a per cent."""
    file = shared / "data" / "real" / name
    if not file.exists():
        pytest.skip("the real files are not here")
    ratings = ob.read(file, **REAL[name])
    quick = CompareOptions(quick=True)
    by_r, native = (ob.compare(ratings, engine=engine, options=quick).pairs.to_pylist() for engine in ("r", "fast"))
    for one, other in zip(by_r, native, strict=True):
        assert [one["system_a"], one["system_b"]] == [other["system_a"], other["system_b"]]
        assert (one["p_adjusted"] < 0.05) == (other["p_adjusted"] < 0.05)
        assert one["p_adjusted"] == pytest.approx(other["p_adjusted"], rel=1e-2, abs=1e-12)
