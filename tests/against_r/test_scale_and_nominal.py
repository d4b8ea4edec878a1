"""Scale and nominal effects, weights and offsets beside plain R: one Rscript fits, predicts and tests everything.

clm, its predictions and its tests: 1e-6, because both sides stop near the same optimum. clmm2 searches with
differences, so its log likelihoods agree to 1e-5. With scale effects its Laplace approximation is wrong (it curves less
than its own likelihood does), so there both sides integrate by quadrature. Crossed random effects are compared with a
template for TMB by ``benchmarks/scale_accuracy.py``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.bridge import rscript

pytestmark = [pytest.mark.needs_r, pytest.mark.filterwarnings("ignore::ordbridge.errors.StatisticalWarning")]

OPTIONS = {
    "scale": ("rating ~ temp + contact", {"scale": "~ temp"}),
    "nominal": ("rating ~ temp", {"nominal": "~ contact"}),
    "both": ("rating ~ temp", {"scale": "~ temp", "nominal": "~ contact"}),
    "equidistant": ("rating ~ temp", {"scale": "~ contact", "nominal": "~ contact", "threshold": "equidistant"}),
    "aliased": ("rating ~ temp + contact", {"nominal": "~ contact", "link": "probit"}),
    "several": ("rating ~ temp + contact", {"scale": "~ temp * contact", "link": "cloglog"}),
    "numbers": ("rating ~ temp", {"scale": "~ known", "weights": "weight", "offset": "known", "link": "loglog"}),
    "zeros": ("rating ~ temp + contact", {"weights": "zeros", "offset": "known", "link": "probit"}),
}
MIXED = {
    "nominal": ("rating ~ temp + (1 | judge)", {"nominal": "~ contact"}, 1),
    "scale": ("rating ~ temp + contact + (1 | judge)", {"scale": "~ temp", "link": "probit"}, 15),
    "both": ("rating ~ temp + (1 | judge)", {"scale": "~ temp", "nominal": "~ contact", "weights": "weight"}, 15),
}
PLAIN = """
suppressPackageStartupMessages(library(ordinal))
data <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
data$rating <- ordered(data$rating); data$judge <- factor(data$judge)
say <- function(name, values) cat(sprintf("%s\\t%.17g\\n", name, as.numeric(values)), sep = "")
fits <- list(
  scale = clm(rating ~ temp + contact, scale = ~temp, data = data),
  nominal = clm(rating ~ temp, nominal = ~contact, data = data),
  both = clm(rating ~ temp, scale = ~temp, nominal = ~contact, data = data),
  equidistant = clm(rating ~ temp, scale = ~contact, nominal = ~contact, threshold = "equidistant", data = data),
  aliased = clm(rating ~ temp + contact, nominal = ~contact, link = "probit", data = data),
  several = clm(rating ~ temp + contact, scale = ~temp * contact, link = "cloglog", data = data),
  numbers = clm(rating ~ temp + offset(known), scale = ~known, weights = weight, link = "loglog", data = data),
  zeros = clm(rating ~ temp + contact + offset(known), weights = zeros, link = "probit", data = data))
for (name in names(fits)) {
  fit <- fits[[name]]
  table <- coef(summary(fit)); table <- table[!is.na(table[, 1]), ]
  for (k in c(1, 2, 4)) say(paste(name, c("estimate", "std_error", "", "p_value")[k]), table[, k])
  say(paste(name, "loglik"), fit$logLik); say(paste(name, "edf"), fit$edf); say(paste(name, "bic"), BIC(fit))
  new <- data[c(1, 20, 40, 70), c("temp", "contact", "known")]
  say(paste(name, "predicted"), t(suppressWarnings(predict(fit, newdata = new)$fit)))
}
for (name in c("scale", "nominal", "both")) for (what in c("mean.class", "prob")) {
  spec <- if (what == "prob") ~ rating | temp else ~ temp
  means <- as.data.frame(emmeans::emmeans(fits[[name]], spec, mode = what))
  say(paste(name, what), means[order(means$temp), ][[if (what == "prob") "prob" else "mean.class"]])
  say(paste(name, what, "SE"), means[order(means$temp), "SE"])
}
say("test contact lrt", anova(clm(rating ~ temp, data = data), fits$nominal)$LR.stat[2])
say("profile", confint(fits$scale))
mixed <- list(
  nominal = clmm2(rating ~ temp, nominal = ~contact, random = judge, data = data, link = "logistic",
                  control = clmm2.control(gradTol = 1e-9)),  # by default it finds modes to 1e-4 only
  scale = clmm2(rating ~ temp + contact, scale = ~temp, random = judge, data = data, link = "probit", nAGQ = 15),
  both = clmm2(rating ~ temp, scale = ~temp, nominal = ~contact, random = judge, data = data, weights = weight,
               link = "logistic", nAGQ = 15))
for (name in names(mixed)) say(paste("mixed", name), mixed[[name]]$logLik)
"""


@pytest.fixture(scope="module")
def data(wine: pd.DataFrame) -> pd.DataFrame:
    random = np.random.default_rng(3)
    number = np.arange(len(wine))
    return wine.assign(
        rating=wine["rating"].astype(int),
        weight=random.uniform(0.4, 1.8, len(wine)).round(2),
        zeros=np.where(number % 6 == 5, 0, 1 + number % 3),
        known=random.normal(0, 0.5, len(wine)).round(2),
    )


@pytest.fixture(scope="module")
def plain(data: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    folder: Path = tmp_path_factory.mktemp("plain")
    data.to_csv(folder / "data.csv", index=False)
    (folder / "plain.R").write_text(PLAIN)
    found: dict[str, list[float]] = {}
    for line in rscript.run(folder / "plain.R", folder / "data.csv").splitlines():
        name, value = line.split("\t")
        found.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize("engine", ["r", "fast"])
@pytest.mark.parametrize("name", OPTIONS)
def test_clm(name: str, engine: str, data: pd.DataFrame, plain: dict[str, np.ndarray]) -> None:
    formula, options = OPTIONS[name]
    fit = ob.clm(formula, data, engine=engine, **options)
    e = fit.estimates
    for what in ("estimate", "std_error", "p_value"):
        np.testing.assert_allclose(getattr(e, what), plain[f"{name} {what}"], rtol=1e-5, atol=1e-7)
    assert e.loglik == pytest.approx(plain[f"{name} loglik"][0], abs=1e-8)
    assert e.edf == plain[f"{name} edf"][0]
    assert fit.glance()["bic"][0].as_py() == pytest.approx(plain[f"{name} bic"][0], abs=1e-6)
    new = data.iloc[[0, 19, 39, 69]].drop(columns=["rating", "weight", "zeros"])
    predicted = np.array([list(row.values()) for row in fit.predict(new).to_pylist()])
    np.testing.assert_allclose(predicted.ravel(), plain[f"{name} predicted"], atol=1e-6)


@pytest.mark.parametrize("name", ["scale", "nominal", "both"])
def test_means_are_those_of_emmeans(name: str, data: pd.DataFrame, plain: dict[str, np.ndarray]) -> None:
    formula, options = OPTIONS[name]
    fit = ob.clm(formula, data, engine="fast", **options)
    for on, what, rows in (("rating", "mean.class", "mean"), ("probability", "prob", "probability")):
        table = [row for row in fit.means("temp", on=on).table.to_pylist() if row["what"] == rows]
        np.testing.assert_allclose([row["estimate"] for row in table], plain[f"{name} {what}"], atol=1e-6)
        np.testing.assert_allclose([row["std_error"] for row in table], plain[f"{name} {what} SE"], atol=1e-5)


def test_a_nominal_term_is_tested_as_anova_does(data: pd.DataFrame, plain: dict[str, np.ndarray]) -> None:
    formula, options = OPTIONS["nominal"]
    row = ob.clm(formula, data, engine="fast", **options).test("contact", method="lrt").to_pylist()[0]
    assert row["df"] == 4
    assert row["statistic"] == pytest.approx(plain["test contact lrt"][0], abs=1e-6)


def test_profile_intervals_are_those_of_confint(data: pd.DataFrame, plain: dict[str, np.ndarray]) -> None:
    formula, options = OPTIONS["scale"]
    table = ob.clm(formula, data, engine="fast", **options).confint("profile").to_pylist()
    own = [row for row in table if row["effect"] in ("fixed", "scale")]
    limits = [row["conf_low"] for row in own] + [row["conf_high"] for row in own]
    np.testing.assert_allclose(limits, plain["profile"], atol=2e-3)  # R interpolates between steps of its own


@pytest.mark.parametrize("name", MIXED)
def test_clmm_with_one_random_intercept_is_clmm2(name: str, data: pd.DataFrame, plain: dict[str, np.ndarray]) -> None:
    formula, options, nodes = MIXED[name]
    fit = ob.clmm(formula, data, nAGQ=nodes, engine="fast", **options)
    assert fit.estimates.loglik == pytest.approx(plain[f"mixed {name}"][0], abs=1e-5)


def test_weights_and_offset_of_a_clmm_through_r(data: pd.DataFrame) -> None:
    """By quadrature, for which it matters less that R finds modes to 1e-4 only."""
    both = [
        ob.clmm("rating ~ temp + (1 | judge)", data, nAGQ=10, weights="weight", offset="known", engine=engine)
        for engine in ("r", "fast")
    ]
    r, fast = (fit.estimates for fit in both)
    assert r.loglik == pytest.approx(fast.loglik, abs=1e-6)
    np.testing.assert_allclose(r.estimate, fast.estimate, atol=1e-4)
