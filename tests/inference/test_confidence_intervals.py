"""``fit.confint``: Wald, profile and bootstrap intervals.

R's ``confint`` interpolates its profiles by splines: of a clm it is exact to 1e-4, of an lmer to 1e-4 of the interval's
length. R has no intervals for a clmm with several random effects; its own Laplace likelihood (``ordinal:::getNLA``) is
maximised there with the number held at our limit, which must lose half the quantile of χ²(1): 1.9207, to 1e-3.
Seen with R 4.2.2, ordinal 2022.11-16, lme4 1.1-31.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge.bridge import rscript
from ordbridge.bridge.session import r_folder
from ordbridge.results import findings_of, has

pytestmark = [pytest.mark.needs_r, pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")]

CODE = """
suppressMessages({library(ordinal); library(lme4)})
show <- function(name, table) cat(name, rownames(table), format(as.vector(table), digits = 12), "\\n", sep = ";")
show("clm", confint(clm(rating ~ temp * contact, data = wine)))
show("probit", confint(clm(rating ~ temp + contact, data = wine, link = "probit"), level = 0.9))
data <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
show("slopes", confint(lmer(Reaction ~ Days + (Days | Subject), sleepstudy), quiet = TRUE, oldNames = FALSE))
show("crossed", confint(lmer(score ~ system + (1 | participant) + (1 | item), data), quiet = TRUE,
                        oldNames = FALSE))
"""
HELD = """
suppressMessages(library(ordinal))
limits <- as.numeric(commandArgs(TRUE))
rho <- clmm(rating ~ temp + contact + (temp | judge), data = wine, doFit = FALSE)
fit <- clmm(rating ~ temp + contact + (temp | judge), data = wine)
best <- fit$optRes$par
lost <- function(start, whole) {
  nll <- function(z) { value <- ordinal:::getNLA(rho, whole(z)); if (is.finite(value)) value else 1e6 }
  found <- nlminb(start, nll)
  found <- nlminb(found$par, nll)
  found$objective + fit$logLik
}
held <- function(k, value) lost(best[-k], function(z) append(z, value, k - 1))
row <- function(value) lost(c(best[1:7], 0.5), function(z) c(z[1:7], value * cos(z[8]), value * sin(z[8])))
cat(held(2, limits[1]), held(4, limits[2]), held(5, limits[3]), held(6, limits[4]), held(7, limits[5]), row(limits[6]))
"""


def ends(fit: ob.Fit, **options: object) -> dict[tuple, tuple[float, float]]:
    table = fit.confint(**options)  # type: ignore[arg-type]
    return {(row["group"], row["term"]): (row["conf_low"], row["conf_high"]) for row in table.to_pylist()}


@pytest.fixture(scope="module")
def r(four: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, tuple[float, float]]]:
    folder = tmp_path_factory.mktemp("intervals")
    code, data = folder / "intervals.R", folder / "four.csv"
    code.write_text(CODE)
    four.to_csv(data, index=False)
    found = {}
    for line in rscript.run(code, Path(data)).splitlines():
        name, *cells = line.rstrip(";").split(";")
        n = len(cells) // 3
        found[name] = {cells[i]: (float(cells[n + i]), float(cells[2 * n + i])) for i in range(n)}
    return found


@pytest.fixture(scope="module")
def sleepstudy(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    file = tmp_path_factory.mktemp("sleep") / "sleepstudy.csv"
    rscript.run(r_folder() / "baseline.R", "--export", "lme4::sleepstudy", file)
    return pd.read_csv(file)


@pytest.mark.parametrize("engine", ["r", "fast"])
def test_profile_of_clm(engine: str, wine: pd.DataFrame, r: dict) -> None:
    fit = ob.clm("rating ~ temp * contact", wine, engine=engine)
    found = ends(fit, method="profile")
    for term, expected in r["clm"].items():
        assert found[None, term] == pytest.approx(expected, abs=1e-4)
    assert list(found)[:4] == [(None, "1|2"), (None, "2|3"), (None, "3|4"), (None, "4|5")]
    wald = ends(fit, method="wald")
    assert abs(wald[None, "tempwarm"][1] - found[None, "tempwarm"][1]) > 0.03  # they are not the same
    said = fit.confint("profile")
    assert set(said["engine"].to_pylist()) == {"fast"}
    assert has(findings_of(said), "refitted-natively") == (engine == "r")


def test_profile_of_clm_at_another_level(wine: pd.DataFrame, r: dict) -> None:
    found = ends(
        ob.clm("rating ~ temp + contact", wine, link="probit", engine="fast"), method="profile", conf_level=0.9
    )
    for term, expected in r["probit"].items():
        assert found[None, term] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "formula", "sds"),
    [
        (
            "slopes",
            "Reaction ~ Days + (Days | Subject)",
            {"sd_(Intercept)|Subject": ("Subject", "(Intercept)"), "sd_Days|Subject": ("Subject", "Days")},
        ),
        (
            "crossed",
            "score ~ system + (1 | participant) + (1 | item)",
            {f"sd_(Intercept)|{group}": (group, "(Intercept)") for group in ("item", "participant")},
        ),
    ],
)
def test_profile_of_lmer(
    name: str, formula: str, sds: dict, four: pd.DataFrame, sleepstudy: pd.DataFrame, r: dict
) -> None:
    data = sleepstudy if name == "slopes" else four
    found = ends(ob.lmer(formula, data, engine="fast"), method="profile")
    keys = sds | {"sigma": ("Residual", None)}
    compared = [theirs for theirs in r[name] if not theirs.startswith("cor_")]
    assert len(compared) == len(found)
    for theirs in compared:
        low, high = r[name][theirs]
        assert found[keys.get(theirs, (None, theirs))] == pytest.approx((low, high), abs=1e-4 * (high - low)), theirs


def test_profile_of_clmm_is_where_r_s_likelihood_has_fallen(wine: pd.DataFrame, tmp_path: Path) -> None:
    found = ends(ob.clmm("rating ~ temp + contact + (temp | judge)", wine, engine="fast"), method="profile")
    limits = [found[None, "2|3"][0], found[None, "4|5"][1], found[None, "tempwarm"][1], found[None, "contactyes"][0]]
    limits += [found["judge", "(Intercept)"][1], found["judge", "tempwarm"][1]]
    assert found["judge", "tempwarm"][0] == 0.0
    (tmp_path / "held.R").write_text(HELD)
    lost = [float(word) for word in rscript.run(tmp_path / "held.R", *map(repr, limits)).split()]
    assert lost == pytest.approx([stats.chi2.ppf(0.95, 1) / 2] * 6, abs=1e-3)


def test_profile_of_lm_by_a_search(four: pd.DataFrame) -> None:
    """The likelihood of y − βx without x, and of residuals with a given σ."""
    fit = ob.lm("score ~ length", four, engine="fast")
    found = ends(fit, method="profile")
    y, x, n = four["score"].to_numpy(), four["length"].to_numpy(), len(four)
    for limit in found[None, "length"]:
        rss = np.var(y - limit * x) * n
        loglik = -n / 2 * (np.log(2 * np.pi * rss / n) + 1)
        assert fit.estimates.loglik - loglik == pytest.approx(stats.chi2.ppf(0.95, 1) / 2, abs=1e-6)
    X = np.column_stack([np.ones(n), x])
    rss = float(np.sum((y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2))
    for limit in found["Residual", None]:
        loglik = -n / 2 * np.log(2 * np.pi * limit**2) - rss / 2 / limit**2
        assert fit.estimates.loglik - loglik == pytest.approx(stats.chi2.ppf(0.95, 1) / 2, abs=1e-6)


def test_equidistant_thresholds(wine: pd.DataFrame) -> None:
    fit = ob.clm("rating ~ temp", wine, threshold="equidistant", engine="fast")
    found, wald = ends(fit, method="profile"), ends(fit, method="wald")
    assert found.keys() == wald.keys()
    for key, (low, high) in found.items():
        assert low < high and (low, high) == pytest.approx(wald[key], rel=0.2, abs=0.2)


def test_an_interval_without_an_end() -> None:
    """All ratings of B are the highest: nothing says how far it is above A."""
    data = {"rating": [1, 2, 3, 2, 1, 3, 3, 3, 3, 3], "system": list("AAAAAABBBB")}
    table = ob.clm("rating ~ system", data, engine="fast").confint("profile")
    row = table.to_pylist()[-1]
    assert row["conf_high"] is None and -1 < row["conf_low"] < 1.5
    assert has(findings_of(table), "no-end")


def test_bootstrap_intervals(four: pd.DataFrame, tmp_path: Path) -> None:
    """Of a linear model they are Wald's within Monte Carlo error: such quantiles of 999 draws are off by .1 SD."""
    fit = ob.lm("score ~ system", four, engine="fast")
    found, wald = ends(fit, method="bootstrap", seed=3), ends(fit, method="wald")
    se = dict(zip(fit.estimates.terms, fit.estimates.std_error, strict=True))
    for (_, term), limits in wald.items():
        assert found[None, term] == pytest.approx(limits, abs=0.35 * se[term])
    assert found["Residual", None][0] < float(fit.estimates.sigma or 0) < found["Residual", None][1]
    store = tmp_path / "draws"
    mixed = ob.clmm("rating ~ system + (1 | participant)", four, engine="fast")
    once = mixed.confint("bootstrap", draws=39, store=store)
    lines = (store / "draws.csv").read_text().splitlines()
    (store / "draws.csv").write_text("\n".join(lines[:30]))
    again = mixed.confint("bootstrap", draws=39, store=store, jobs=2)
    assert once.equals(again) and (store / "draws.csv").read_text().splitlines() == lines
    assert ("sd", "participant") in zip(once["effect"].to_pylist(), once["group"].to_pylist(), strict=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "likelihood"}, "method='likelihood' is not known"),
        ({"conf_level": 95}, "conf_level=95"),
        ({"method": "bootstrap", "draws": 5}, "draws=5 must be an integer ≥ 19"),
        ({"method": "bootstrap", "draws": 20, "conf_level": 0.99}, "20 draws are too few for intervals of 99%"),
    ],
)
def test_refusals(options: dict, sentence: str, four: pd.DataFrame) -> None:
    with pytest.raises(ob.InputError, match=sentence):
        ob.lm("score ~ system", four, engine="fast").confint(**options)
