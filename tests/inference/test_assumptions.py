"""Do thresholds move alike, are residuals equally wide? R's tests for clm, the same for clmm, words, a picture."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.models.inference import Assumptions

PLAIN = """
suppressPackageStartupMessages(library(ordinal))
data <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
data$rating <- ordered(data$rating); data$gappy <- ordered(data$gappy)
fits <- list(clm(rating ~ system * wide + length, data = data), clm(rating ~ system, scale = ~wide, data = data),
             clm(rating ~ system, nominal = ~wide, link = "probit", data = data), clm(gappy ~ system, data = data))
for (i in seq_along(fits)) for (what in c("nominal", "scale")) {
  table <- suppressWarnings(get(paste0(what, "_test"))(fits[[i]]))
  for (term in rownames(table)) {
    numbers <- unlist(table[term, c("Df", "logLik", "AIC", "LRT", "Pr(>Chi)")])
    cat(i, what, term, sprintf("%.12g", numbers), "", sep = "\\t")
  }
  cat("\\n")
}
"""
MODELS = [
    ("rating ~ system * wide + length", {}),
    ("rating ~ system", {"scale": "~ wide"}),
    ("rating ~ system", {"nominal": "~ wide", "link": "probit"}),
    ("gappy ~ system", {}),
]


@pytest.fixture(scope="module")
def spread() -> pd.DataFrame:
    truth = ob.simulate.Truth(
        effects=(0.4, 0.1), thresholds=(-1.2, -0.3, 0.5, 1.4), item_sd=(0.7, 0.0), residual_spread=(1.8, 1.0)
    )
    return ob.simulate.ratings(ob.design.crossed(items=30, raters=8, systems=3), truth, seed=5).to_pandas()


@pytest.fixture(scope="module")
def moved() -> pd.DataFrame:
    """System B is better than A at the lower end of the scale and as good at the upper end."""
    random = np.random.default_rng(2)
    system = np.arange(1200) % 2
    cuts = np.where(system[:, None], [-1.8, -0.4, 0.9], [-0.8, 0.1, 0.9])
    rating = 1 + (random.logistic(size=1200)[:, None] > cuts).sum(axis=1)
    return pd.DataFrame({"rating": rating, "system": np.array(["A", "B"])[system], "rater": np.arange(1200) // 60})


@pytest.fixture(scope="module")
def gappy(four: pd.DataFrame) -> pd.DataFrame:
    """Nobody rates system B 3, so its thresholds cross if they may: R's fit is invalid."""
    return four.assign(gappy=four["rating"].where((four["system"] != "B") | (four["rating"] != 3), 2))


@pytest.fixture(scope="module")
def plain(gappy: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str, str], list[float]]:
    from ordbridge.bridge import rscript

    folder = tmp_path_factory.mktemp("tests")
    gappy.to_csv(folder / "data.csv", index=False)
    (folder / "plain.R").write_text(PLAIN)
    words = rscript.run(folder / "plain.R", folder / "data.csv").replace("\n", "").split("\t")[:-1]
    rows = [words[k : k + 8] for k in range(0, len(words), 8)]
    return {(int(i), what, term): [np.nan if v == "NA" else float(v) for v in rest] for i, what, term, *rest in rows}


@pytest.mark.needs_r
@pytest.mark.filterwarnings("ignore::ordbridge.errors.ConvergenceWarning")
@pytest.mark.parametrize("engine", ["r", "fast"])
def test_tables_are_those_of_r(engine: str, gappy: pd.DataFrame, plain: dict) -> None:
    """Tolerance 1e-5: two searches stop near the same optimum. Where R has no test, there is none, and it is said."""
    compared = 0
    for i, (formula, options) in enumerate(MODELS, start=1):
        found = ob.clm(formula, gappy, engine=engine, **options).assumptions()
        for what in ("nominal", "scale"):
            table = getattr(found, f"{what}_test").to_pylist()
            assert [row["term"] for row in table] == [term for j, kind, term in plain if (j, kind) == (i, what)]
            for row in table:
                mine = [row[name] for name in ("df", "loglik", "aic", "statistic", "p_value")]
                mine = [np.nan if value is None else value for value in mine]
                np.testing.assert_allclose(mine, plain[i, what, row["term"]], rtol=1e-5, atol=1e-5)
                compared += 1
    assert compared == len(plain) > 12
    assert np.isnan(plain[4, "nominal", "system"][0]) and "ot all thresholds are increasing" in str(table_note(found))


def table_note(found: Assumptions) -> str | None:
    return found.nominal_test["note"][1].as_py()


def test_unequal_spread_is_found_and_named(spread: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ system + (1 | item)", spread, link="probit", engine="fast")
    found = fit.assumptions()
    row = found.scale_test.to_pylist()[1]
    larger = ob.clmm("rating ~ system + (1 | item)", spread, link="probit", scale="~ system", engine="fast")
    statistic = 2 * (larger.estimates.loglik - fit.estimates.loglik)
    assert row["statistic"] == pytest.approx(statistic, abs=1e-6)
    assert row["p_value"] == pytest.approx(stats.chi2.sf(statistic, 2), rel=1e-6)
    assert "Do the levels of system spread differently? Yes" in found.sentences[1]
    b, c = (r for r in found.spread.to_pylist() if r["level"] in "BC")
    assert b["conf_low"] < 1.8 < b["conf_high"] and c["conf_low"] < 1.0 < c["conf_high"]
    zeta = larger.tidy().to_pylist()[-2]
    assert (b["estimate"], b["conf_low"]) == pytest.approx((np.exp(zeta["estimate"]), np.exp(zeta["conf_low"])))


def test_thresholds_that_move_on_their_own_are_found(moved: pd.DataFrame) -> None:
    for found in (
        ob.clm("rating ~ system", moved, engine="fast").assumptions(),
        ob.clm("rating ~ 1", moved, nominal="~ system", engine="fast").assumptions(),  # where they already do
    ):
        assert 'Does "better" mean the same at every point of the scale? No: system moves' in found.sentences[0]
        rows = {(row["level"], row["threshold"]): row for row in found.thresholds.to_pylist()}
        for key, cut in {("A", "1|2"): -0.8, ("B", "1|2"): -1.8, ("A", "3|4"): 0.9, ("B", "3|4"): 0.9}.items():
            assert rows[key]["conf_low"] < cut < rows[key]["conf_high"]
        alike = [rows["A", t]["moved_alike"] - rows["B", t]["moved_alike"] for t in ("1|2", "2|3", "3|4")]
        assert max(alike) - min(alike) < 1e-9


def test_nothing_is_found_where_nothing_is() -> None:
    """Under the model itself both tests reject about one study in twenty: 6 or fewer of 40 with probability .99."""
    rejected = np.zeros(2)
    for seed in range(40):
        random = np.random.default_rng(seed)
        system = np.arange(160) % 2
        latent = 0.5 * system + random.normal(size=160)
        data = {"rating": 1 + (latent[:, None] > [-0.8, 0.1, 1.0]).sum(axis=1), "system": np.array(["A", "B"])[system]}
        found = ob.clm("rating ~ system", data, link="probit", engine="fast").assumptions()
        rejected += [t["p_value"][1].as_py() < 0.05 for t in (found.nominal_test, found.scale_test)]
    assert (rejected <= 6).all()


def test_a_picture_of_thresholds(moved: pd.DataFrame) -> None:
    found = ob.clm("rating ~ system", moved, engine="fast").assumptions()
    panel = ob.figures.thresholds(found).axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["A", "B"]
    assert sorted(text.get_text() for text in panel.texts)[:6] == ["1|2", "1|2", "2|3", "2|3", "3|4", "3|4"]
    with pytest.raises(InputError, match="there are no thresholds to draw"):
        ob.figures.thresholds(ob.clm("rating ~ 1", moved, engine="fast").assumptions())


def test_numbered_systems_are_levels_and_factors_can_be_chosen(moved: pd.DataFrame, four: pd.DataFrame) -> None:
    numbered = moved.assign(system=(moved["system"] == "B").astype(int))
    assert ob.clm("rating ~ system", numbered, engine="fast").assumptions().spread["level"].to_pylist() == ["0", "1"]
    fit = ob.clm("rating ~ system + wide", four, engine="fast")
    assert (fit.assumptions().factor, fit.assumptions("wide").factor) == ("system", "wide")
    with pytest.raises(InputError, match="'length' is not a factor of this model"):
        fit.assumptions("length")
    with pytest.raises(InputError, match="these assumptions are those of clm and clmm; lm has no thresholds"):
        ob.lm("score ~ system", four, engine="fast").assumptions()


def test_a_threshold_without_ratings_beyond_has_no_place() -> None:
    data = {"rating": [1, 2, 3, 1, 2, 3, 2, 1, 3, 1, 2, 2, 1, 2, 1, 2], "system": list("AAAAAAAABBBBBBBB")}
    data["rating"][8] = 2  # nobody rates B 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ob.clm("rating ~ system", data, engine="fast").assumptions()
    rows = {(row["level"], row["threshold"]): row["estimate"] for row in found.thresholds.to_pylist()}
    assert rows["B", "2|3"] is None and rows["B", "1|2"] is not None
    assert "system B is never rated 3" in found.nominal_test["note"][1].as_py()
