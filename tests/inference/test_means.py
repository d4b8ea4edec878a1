"""``fit.means`` and ``fit.equivalence``.

Beside emmeans (``mode="mean.class"``, ``"prob"``, ``"latent"`` of a clm; lm and lmer as they are) to 1e-5: emmeans
takes its derivatives by differences, too. For clmm, where emmeans has none, ratings are simulated from the fit, and
means lie within four Monte Carlo standard errors. Seen with R 4.2.2, emmeans 1.8.4-1, ordinal 2022.11-16.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge.bridge import rscript

pytestmark = [pytest.mark.needs_r, pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")]

CODE = """
suppressMessages({library(ordinal); library(emmeans); library(lmerTest)})
data <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
data$ordered <- factor(data$rating, ordered = TRUE)
show <- function(name, object, ...) {
  table <- as.data.frame(summary(object, infer = c(TRUE, TRUE), ...))
  number <- vapply(table, is.numeric, TRUE)
  rows <- apply(table[number], 1, function(row) paste(format(row, digits = 12), collapse = ","))
  cat(name, ";", paste(rows, collapse = ";"), "\\n", sep = "")
}
add <- clm(ordered ~ system + wide + length, data = data, link = "probit")
means <- emmeans(add, ~ system, mode = "mean.class")
show("mean", means); show("pairs", pairs(means), adjust = "tukey"); show("holm", pairs(means), adjust = "holm")
show("prob", emmeans(add, ~ ordered | system, mode = "prob"))
latent <- emmeans(add, ~ system, mode = "latent")
show("latent", latent); show("latentpairs", pairs(latent), adjust = "none")
crossed <- clm(ordered ~ system * wide, data = data)
show("by", pairs(emmeans(crossed, ~ system | wide, mode = "mean.class"), adjust = "sidak"), adjust = "sidak")
linear <- lm(score ~ system + wide + length, data)
show("lm", emmeans(linear, ~ system)); show("lmpairs", pairs(emmeans(linear, ~ system)), adjust = "tukey")
mixed <- lmer(score ~ system + (1 | participant) + (1 | item), data)
mixed <- emmeans(mixed, ~ system, lmer.df = "satterthwaite")
show("lmer", mixed); show("lmerpairs", pairs(mixed), adjust = "none")
"""


@pytest.fixture(scope="module")
def r(four: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    folder = tmp_path_factory.mktemp("means")
    code, data = folder / "means.R", folder / "four.csv"
    code.write_text(CODE)
    four.to_csv(data, index=False)
    lines = [line.split(";") for line in rscript.run(code, Path(data)).splitlines()]
    return {name: np.array([[float(cell) for cell in row.split(",")] for row in rows]) for name, *rows in lines}


def numbers(table: object, what: str) -> np.ndarray:
    """Estimate, standard error, df, limits, statistic and p-value, in emmeans' order."""
    frame = getattr(table, "table", table).to_pandas()  # type: ignore[attr-defined]
    frame = frame[frame["what"] == what].copy()
    frame["df"] = frame["df"].fillna(np.inf)
    return frame[["estimate", "std_error", "df", "conf_low", "conf_high", "statistic", "p_adjusted"]].to_numpy(float)


@pytest.fixture(scope="module")
def add(four: pd.DataFrame) -> ob.Fit:
    return ob.clm("rating ~ system + wide + length", four, link="probit", engine="fast")


def test_expected_ratings_and_differences_in_points(add: ob.Fit, r: dict[str, np.ndarray]) -> None:
    found = add.means("system", adjust="tukey")
    assert found.table["level"].to_pylist()[:5] == ["A", "B", "C", "D", None]
    assert found.table.select(["system_a", "system_b"]).to_pylist()[4] == {"system_a": "A", "system_b": "B"}
    assert numbers(found, "mean")[:, :5] == pytest.approx(r["mean"][:, :5], rel=1e-5)
    assert numbers(found, "difference") == pytest.approx(r["pairs"], rel=1e-4, abs=1e-5)
    holm = add.means("system")
    assert numbers(holm, "difference") == pytest.approx(r["holm"], rel=1e-4, abs=1e-5)


def test_means_and_differences_stand_apart_and_print(add: ob.Fit) -> None:
    found = add.means("system", adjust="tukey")
    assert found.means["level"].to_pylist() == list("ABCD")
    assert found.differences["estimate"].to_pylist() == found.table["estimate"].to_pylist()[4:]
    assert found.differences.num_rows == 6 and "Differences" in str(found) and "pyarrow" not in str(found)


def test_probabilities(add: ob.Fit, r: dict[str, np.ndarray]) -> None:
    found = add.means("system", on="probability")
    assert numbers(found, "probability")[:, :5] == pytest.approx(r["prob"][:, :5], rel=1e-4, abs=1e-6)


def test_latent(add: ob.Fit, r: dict[str, np.ndarray]) -> None:
    found = add.means("system", on="latent", adjust="none")
    assert numbers(found, "mean")[:, :5] == pytest.approx(r["latent"][:, :5], rel=1e-5)
    assert numbers(found, "difference") == pytest.approx(r["latentpairs"], rel=1e-5)


@pytest.mark.parametrize("engine", ["r", "fast"])
def test_within_levels_of_another_factor(engine: str, four: pd.DataFrame, r: dict[str, np.ndarray]) -> None:
    fit = ob.clm("rating ~ system * wide", four, engine=engine)
    found = fit.means("system", by="wide", adjust="sidak")
    assert found.table["wide"].to_pylist()[:4] == ["long"] * 4
    assert numbers(found, "difference") == pytest.approx(r["by"], rel=1e-4, abs=1e-5)
    with pytest.warns(ob.StatisticalWarning, match="System interacts with wide") as warned:
        fit.means("system")
    assert warned[0].filename == __file__  # the line that asked, not the library


def test_linear_models(four: pd.DataFrame, r: dict[str, np.ndarray]) -> None:
    fit = ob.lm("score ~ system + wide + length", four, engine="fast").means("system", adjust="tukey")
    assert numbers(fit, "mean")[:, :5] == pytest.approx(r["lm"][:, :5], rel=1e-6)
    assert numbers(fit, "difference") == pytest.approx(r["lmpairs"], rel=1e-5)
    mixed = ob.lmer("score ~ system + (1 | participant) + (1 | item)", four, engine="fast").means(
        "system", adjust="none"
    )
    assert numbers(mixed, "mean")[:, :5] == pytest.approx(r["lmer"][:, :5], rel=1e-4)
    assert numbers(mixed, "difference") == pytest.approx(r["lmerpairs"], rel=1e-4)


def test_clmm_by_simulation(four: pd.DataFrame) -> None:
    """Means are over new participants and items, whose slopes add variance to B, C and D."""
    fit = ob.clmm("rating ~ system + (1 + system | participant) + (1 | item)", four, link="logit", engine="fast")
    ratings, chosen = fit.means("system"), fit.means("system", on="probability")
    random, n = np.random.default_rng(4), 400_000
    e = fit.estimates
    beta = np.concatenate([[0.0], e.estimate[len(e.levels) - 1 :]])
    drawn = {}
    for k, system in enumerate("ABCD"):
        z = {"participant": np.array([1.0, *(np.arange(1, 4) == k)]), "item": np.ones(1)}
        latent = beta[k] + random.logistic(size=n)
        for term in e.random:
            latent += random.multivariate_normal(np.zeros(len(term.terms)), term.covariance, n) @ z[term.group]
        drawn[system] = 1 + (latent[:, None] > e.cutpoints).sum(axis=1)
    for row in ratings.table.to_pylist()[:4]:
        assert row["estimate"] == pytest.approx(drawn[row["level"]].mean(), abs=4 * drawn[row["level"]].std() / n**0.5)
    for row in chosen.table.to_pylist():
        if row["what"] == "probability":
            share = np.mean(drawn[row["level"]] == int(row["category"]))
        else:
            one, other = (drawn[row[side]] for side in ("system_a", "system_b"))
            share = np.mean(one > other) + 0.5 * np.mean(one == other)
        assert row["estimate"] == pytest.approx(share, abs=4 * 0.5 / n**0.5)


def test_superiority_is_tested_against_a_coin(add: ob.Fit) -> None:
    found = [
        row
        for row in add.means("system", on="probability", adjust="none").table.to_pylist()
        if row["what"] == "superiority"
    ]
    assert len(found) == 6
    for row in found:
        z = (row["estimate"] - 0.5) / row["std_error"]
        assert row["p_value"] == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_bootstrap_limits(four: pd.DataFrame, tmp_path: Path) -> None:
    """Of a clm they are those of the delta method within Monte Carlo error; in any number of processes."""
    fit = ob.clm("rating ~ system", four, engine="fast")
    delta = numbers(fit.means("system", adjust="none"), "mean")
    table = fit.means("system", method="bootstrap", draws=399, jobs=2, store=tmp_path / "draws").table
    found = numbers(table, "mean")
    assert found[:, 3:5] == pytest.approx(delta[:, 3:5], abs=0.35 * delta[:, 1].max())
    assert table["p_value"].null_count == table.num_rows
    assert fit.means("system", method="bootstrap", draws=399, store=tmp_path / "draws").table.equals(table)


def test_equivalence_is_statsmodels_tost(four: pd.DataFrame) -> None:
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    two = four[four["system"].isin(["A", "B"])]
    fit = ob.lm("score ~ system", two, engine="fast")
    a, b = (two.loc[two["system"] == system, "score"].to_numpy() for system in "AB")
    for margin in (0.2, 0.5, 0.9):
        p, above, below = weightstats.ttost_ind(a, b, -margin, margin, usevar="pooled")
        [row] = fit.equivalence("system", margin=margin).to_pylist()
        assert [row["p_value"], row["p_above"], row["p_below"]] == pytest.approx([p, above[1], below[1]], rel=1e-9)
        assert row["equivalent"] == (p < 0.05) == (-margin < row["conf_low"] and row["conf_high"] < margin)


def test_size_of_equivalence_at_the_margin() -> None:
    """Where the difference is the margin itself, 5 % of clm studies are called equivalent: 400 studies, four errors."""
    random = np.random.default_rng(8)
    cuts, shift, called, n = np.array([-1.0, 0.0, 1.0, 2.0]), 0.35, 0, 400

    def mean(quality: float) -> float:
        return 1.0 + float(stats.norm.sf(cuts - quality).sum())

    margin = mean(shift) - mean(0.0)
    system = np.repeat([0, 1], 150)
    for _ in range(n):
        rating = 1 + ((shift * system + random.normal(size=300))[:, None] > cuts).sum(axis=1)
        data = pd.DataFrame({"rating": rating, "system": np.array(["A", "B"])[system]})
        fit = ob.clm("rating ~ system", data, link="probit", engine="fast")
        called += fit.equivalence("system", margin=margin)["equivalent"][0].as_py()
    assert abs(called / n - 0.05) < 4 * (0.05 * 0.95 / n) ** 0.5


def test_refusals(four: pd.DataFrame) -> None:
    linear, ordinal = (ob.lm("score ~ system", four, engine="fast"), ob.clm("rating ~ system", four, engine="fast"))
    for call, sentence in (
        (lambda: linear.means("system", on="probability"), "lm has no categories"),
        (lambda: linear.means("length"), "'length' is not a factor of this model"),
        (lambda: linear.means("system", by="system"), "'system' is in by, too"),
        (lambda: linear.means("system", adjust="fisher"), "adjust='fisher'"),
        (lambda: ordinal.equivalence("system", margin=-1), "margin=-1 must be above 0"),
        (lambda: ordinal.equivalence("system", margin=1, on="probability"), "on='probability'"),
    ):
        with pytest.raises(ob.InputError, match=sentence):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ordinal.means("system")
