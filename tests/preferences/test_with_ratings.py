"""Ratings and comparisons of the same systems: by TMB, by R from the likelihood written down, and what is said."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.bridge import rscript
from ordbridge.preferences.joint import Joint, Rated, fit_joint
from ordbridge.preferences.tied import Comparisons
from ordbridge.results.finding import has

COLUMNS = {"first": "first", "second": "second", "outcome": "y", "rater": "rater", "item": "item"}
TEMPLATE = Path(__file__).resolve().parents[2] / "benchmarks" / "preference_tmb.R"

PRINTED = ("loglik", "beta", "std_error", "log_sd", "log_sd_own")

# the likelihood of both, as it is defined, with nothing random
BY_HAND = """
p <- read.csv("pairs.csv"); g <- read.csv("ratings.csv")
loss <- function(x) {
    b <- c(0, x[1:2]); t <- exp(x[3]); k <- c(-Inf, x[4] + c(0, cumsum(exp(x[5:7]))), Inf)
    eta <- b[match(p$first, c("A", "B", "C"))] - b[match(p$second, c("A", "B", "C"))]
    cut <- c(-Inf, -t, t, Inf)
    mu <- b[match(g$system, c("A", "B", "C"))]
    -sum(log(plogis(cut[p$y + 1] - eta) - plogis(cut[p$y] - eta))) -
        sum(log(plogis(k[g$rating + 1] - mu) - plogis(k[g$rating] - mu)))
}
control <- list(reltol = 1e-15, maxit = 500)
fit <- optim(c(0, 0, -1, -1, 0, 0, 0), loss, method = "BFGS", hessian = TRUE, control = control)
cat(format(c(fit$value, fit$par[1:2], sqrt(diag(solve(fit$hessian)))[1:2]), digits = 12))
"""


def studies(shift: float = 0.0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return comparisons and ratings of three systems by eight raters; ``shift`` is added to C in ratings only."""
    rng = np.random.default_rng(7)
    raters, items, systems = 8, 12, 3
    strength = np.array([0, 0.6, 1.1])
    u, v = rng.normal(0, 0.5, (raters, systems)), rng.normal(0, 0.5, (items, systems))
    s, t = rng.normal(0, 0.7, raters), rng.normal(0, 0.4, items)
    pairs, ratings = [], []
    for r in range(raters):
        for i in range(items):
            a, b = rng.permutation(systems)[:2]
            eta = strength[a] - strength[b] + u[r, a] - u[r, b] + v[i, a] - v[i, b]
            pairs.append(("ABC"[a], "ABC"[b], int(np.searchsorted([-0.5, 0.5], eta + rng.logistic())) + 1, r, i))
            for k in range(systems):
                if rng.random() < 0.5:
                    eta = strength[k] + u[r, k] + v[i, k] + s[r] + t[i] + rng.logistic() + shift * (k == 2)
                    ratings.append(("ABC"[k], int(np.searchsorted([-1, 0, 1.2, 2], eta)) + 1, r, i))
    return (pd.DataFrame(pairs, columns=["first", "second", "y", "rater", "item"]),
            pd.DataFrame(ratings, columns=["system", "rating", "rater", "item"]))  # fmt: skip


@pytest.fixture(scope="module")
def both() -> tuple[pd.DataFrame, pd.DataFrame]:
    return studies()


def test_gradient_is_that_of_the_likelihood(both: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    p, g = both
    a, b = (p[name].map("ABC".index).to_numpy() for name in ("first", "second"))
    groups = tuple(p[name].to_numpy() for name in ("rater", "item"))
    pairs = Comparisons(a, b, p["y"].to_numpy() - 1, 3, 3, groups, position=True)
    of_ratings = tuple(g[name].to_numpy().copy() for name in ("rater", "item"))
    of_ratings[0][:9] = -1  # ratings of nobody
    rated = Rated(g["system"].map("ABC".index).to_numpy(), g["rating"].to_numpy() - 1, 5, of_ratings)
    for apart in (False, True):
        model = Joint(replace(pairs, link="probit" if apart else "logit"), rated, apart)
        x = model.first() + np.linspace(-0.2, 0.2, len(model.first()))
        slopes = [(model(x + h)[0] - model(x - h)[0]) / 2e-4 for h in 1e-4 * np.eye(len(x))]
        assert model(x)[1] == pytest.approx(slopes, rel=1e-5, abs=1e-5)


@pytest.mark.slow
def test_estimates_of_tmb(both: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """TMB 1.9.2, benchmarks/tmb_preferences.cpp; it stops a little off the optimum, hence 1e-5."""
    p, g = both
    fit = ob.prefer(p, ratings=g, **COLUMNS)
    assert fit.loglik == pytest.approx(-308.991679815, abs=1e-6)
    assert list(fit.coef.values())[1:] == pytest.approx((0.9174365, 1.2270920), abs=1e-5)
    assert fit.systems["std_error"].to_pylist()[1:] == pytest.approx((0.2449765, 0.2569610), abs=1e-5)
    assert fit.variances["std_dev"].to_pylist() == pytest.approx((0.0894374, 0.1595257, 0.3575652, 0.0), abs=1e-4)
    cuts = [row["estimate"] for row in fit.terms.to_pylist()]
    expected = (np.exp(-0.75067436), -0.7338110, 0.3003436, 1.5296527, 2.2920996)
    assert cuts == pytest.approx(expected, abs=1e-4)
    assert has(fit.findings, "ratings-agree") and not has(fit.findings, "ratings-disagree")
    assert "96 comparisons and 142 ratings" in fit.counted


@pytest.mark.needs_r
@pytest.mark.slow
def test_tmb_itself(both: tuple[pd.DataFrame, pd.DataFrame], pairs: pd.DataFrame, tmp_path: Path) -> None:
    """The same data through the template, where R's TMB is installed; its compiler takes most of the time."""
    if shutil.which("Rscript") is None or rscript.run("-e", "cat(requireNamespace('TMB', quietly = TRUE))") != "TRUE":
        pytest.skip("R's TMB is not installed")
    tied = pairs[["first", "second", "y5", "rater", "item"]].rename(columns={"y5": "y"})
    for name, table in (("pairs", both[0]), ("ratings", both[1]), ("tied", tied)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    for names in (("tied",), ("pairs", "ratings")):
        first, *more = (tmp_path / f"{name}.csv" for name in names)
        told = [line.split() for line in rscript.run(TEMPLATE, first, tmp_path, *more).splitlines()]
        found = {line[0]: [float(x) for x in line[1:]] for line in told if line[:1] and line[0] in PRINTED}
        options = {"ratings": both[1]} if more else {"engine": "fast", "random": "tied"}
        fit = ob.prefer(both[0] if more else tied, **COLUMNS, **options)
        assert fit.loglik == pytest.approx(found["loglik"][0], abs=1e-6)
        # TMB stops where its steps are small, a little off the optimum
        assert list(fit.coef.values())[1:] == pytest.approx(found["beta"], abs=5e-5)
        assert fit.systems["std_error"].to_pylist()[1:] == pytest.approx(found["std_error"], abs=5e-5)
        sds = [*found["log_sd"], *found.get("log_sd_own", [])]
        assert fit.variances["std_dev"].to_pylist() == pytest.approx(sds, abs=2e-4)


@pytest.mark.needs_r
@pytest.mark.slow
def test_the_likelihood_written_down_in_r(both: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path) -> None:
    for name, table in zip(("pairs", "ratings"), both, strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "by_hand.R").write_text(BY_HAND)
    done = subprocess.run(
        ["Rscript", "--vanilla", "by_hand.R"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    value, *rest = (float(x) for x in done.stdout.split())
    fit = ob.prefer(both[0], ratings=both[1], random="none", **COLUMNS)
    assert fit.loglik == pytest.approx(-value, abs=1e-6)
    estimates = [*list(fit.coef.values())[1:], *fit.systems["std_error"].to_pylist()[1:]]
    assert estimates == pytest.approx(rest, abs=1e-4)  # optim's derivatives are differences


@pytest.mark.slow
def test_ratings_that_say_something_else(tmp_path: Path) -> None:
    p, g = studies(shift=-3.0)
    for name, table in (("pairs", p), ("ratings", g)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    fit = ob.prefer(tmp_path / "pairs.csv", ratings=tmp_path / "ratings.csv", random="none", **COLUMNS)
    assert has(fit.findings, "ratings-disagree")
    alone = ob.prefer(p, random="none", engine="fast", **COLUMNS)
    assert fit.coef["C"] < alone.coef["C"] - 0.5


def test_ratings_decide_about_a_system_that_always_wins() -> None:
    votes = {"first": list("AABB"), "second": list("BBAA"), "y": list("aabb")}
    ratings = ob.read({"system": list("AAABBB"), "rating": [1, 3, 2, 1, 2, 1]}, participant="none", item="none")
    with pytest.raises(ob.InputError, match="no strength is finite"):
        ob.prefer(votes, first="first", second="second", outcome="y", engine="fast")
    fit = ob.prefer(votes, first="first", second="second", outcome="y", ratings=ratings)
    assert -15 < fit.coef["B"] < 0
    assert has(fit.findings, "ratings-no-column")


def test_words_and_a_scale_upside_down(both: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """Ratings as words, and numbers of errors: the same strengths."""
    p, g = both
    plain = ob.prefer(p, ratings=g, random="none", **COLUMNS).coef["C"]
    words = g.assign(rating=g["rating"].map(dict(enumerate(["very poor", "poor", "fair", "good", "very good"], 1))))
    assert ob.prefer(p, ratings=words, random="none", **COLUMNS).coef["C"] == pytest.approx(plain, abs=1e-6)
    errors = ob.read(g.assign(rating=6 - g["rating"]), lower_is_better=True)
    assert ob.prefer(p, ratings=errors, random="none", **COLUMNS).coef["C"] == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize(
    ("changed", "options", "sentence"),
    [
        ({"system": list("XYXY") * 3}, {}, "no system has both"),
        ({}, {"random": "slopes"}, "random effects are tied"),
        ({}, {"reference": "Q"}, "no system 'Q'"),
        ({"rating": [3] * 12}, {}, "all ratings are the same"),
        ({"system": None}, {}, "which system was rated"),
        ({"item": None}, {}, "ratings: nothing in the table says which item .* with ob.read"),
    ],
)
def test_what_cannot_be_put_together(changed: dict[str, Any], options: dict[str, Any], sentence: str) -> None:
    votes = {"first": list("ABAB"), "second": list("BABA"), "y": list("aaba")}
    ratings = {
        "rater": list("uvw") * 4,
        "item": list("1234") * 3,
        "system": list("AB") * 6,
        "rating": [1, 2, 3, 4] * 3,
    } | changed
    ratings = {name: column for name, column in ratings.items() if column is not None}
    with pytest.raises(ob.InputError, match=sentence):
        ob.prefer(votes, first="first", second="second", outcome="y", ratings=ratings, **options)


def test_two_criteria_are_one_too_many(tmp_path: Path) -> None:
    votes = {"first": list("ABAB"), "second": list("BABA"), "y": list("aaba")}
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"rater": list("uvw") * 8, "item": list("12345678") * 3, "system": list("AABB") * 6})
    table = table.assign(fluency=rng.integers(1, 6, 24), meaning=rng.integers(1, 6, 24))
    with pytest.raises(ob.InputError, match=r"2 criteria \(fluency, meaning\)"):
        ob.prefer(votes, first="first", second="second", outcome="y", ratings=table)
    fit = ob.prefer(votes, first="first", second="second", outcome="y", ratings=ob.read(table, rating="fluency"))
    assert fit.settings["ratings"] == 24


def test_systems_that_nothing_connects() -> None:
    votes = {"first": list("ABCD"), "second": list("BADC"), "y": list("aaaa")}
    ratings = {"rater": list("uuvvww"), "item": list("123456"), "system": list("ABABAB"), "rating": [1, 2, 2, 3, 3, 1]}
    with pytest.raises(ob.InputError, match="C, D: neither rated nor compared"):
        ob.prefer(votes, first="first", second="second", outcome="y", ratings=ratings)


def test_joint_without_pairs_of_use_is_a_clm() -> None:
    """Comparisons that say nothing about strengths leave the ratings' own clm."""
    rng = np.random.default_rng(3)
    system = np.repeat([0, 1], 60)
    y = np.searchsorted([-0.5, 0.7], 0.8 * system + rng.logistic(size=120))
    one = Comparisons(np.array([0]), np.array([1]), np.array([1]), 3, 2)
    tie = fit_joint(one, Rated(system, y, 3, ()))
    plain = ob.clm("y ~ x", {"y": y + 1, "x": system.astype(float)}, engine="fast")
    # one tie pulls a little: its share of the information
    assert tie.coefficients[0] == pytest.approx(plain.coef["x"], abs=0.02)
