"""The same comparisons by other programs, where they are installed: BradleyTerry2, choix, evalica, glm, ordinal.

Their recorded numbers stand in ``test_model.py`` and here: BradleyTerry2 1.1-2, choix 0.4.1, evalica 0.4.2, R 4.2.2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import ordbridge as ob
from ordbridge.bridge import rscript

COLUMNS = {"first": "first", "second": "second"}
SYSTEMS = list("ABCD")

BRADLEY_TERRY = """
suppressMessages(library(BradleyTerry2))
d <- read.csv("{file}")
d$win <- as.integer(d$y2 == 2)
d$p1 <- data.frame(team = factor(d$first, LETTERS[1:4]), at.home = 1)
d$p2 <- data.frame(team = factor(d$second, LETTERS[1:4]), at.home = 0)
for (formula in c(~ team, ~ team + at.home)) {{
    m <- BTm(cbind(win, 1 - win), p1, p2, formula, id = "team", data = d)
    cat(format(c(logLik(m), coef(m), sqrt(diag(vcov(m)))), digits = 12), "\\n")
}}
"""
CONSTANT = """
d <- read.csv("{file}")
d$y <- factor(d$y3)
m <- suppressWarnings(ordinal::clm(y ~ xB + xC + xD + rep(1, 367), data = d, threshold = "symmetric2"))
stopifnot(is.na(coef(m)[5]))
cat(format(logLik(m)[1], digits = 12))
"""
BY_GLM = """
d <- read.csv("{file}")
for (link in c("logit", "probit")) {{
    m <- glm(y2 == 2 ~ xB + xC + xD, binomial(link), d)
    cat(format(c(logLik(m), coef(m)[c(2:4, 1)]), digits = 12), "\\n")
}}
"""


def wins(pairs: pd.DataFrame) -> list[tuple[int, int]]:
    rows = zip(pairs["first"].map("ABCD".index), pairs["second"].map("ABCD".index), pairs["y2"], strict=True)
    return [(a, b) if y == 2 else (b, a) for a, b, y in rows]


def in_r(script: str, pairs: pd.DataFrame, folder: Path) -> list[list[float]]:
    file = folder / "pairs.csv"
    pairs.to_csv(file, index=False)
    code = folder / "code.R"
    code.write_text(script.format(file=file))
    return [[float(x) for x in line.split()] for line in rscript.run(code).splitlines()]


def test_choix(pairs: pd.DataFrame) -> None:
    choix = pytest.importorskip("choix")
    fit = ob.prefer(pairs, outcome="y2", engine="fast", **COLUMNS)
    theirs = choix.opt_pairwise(4, wins(pairs), alpha=0.0, tol=1e-12)
    assert list(fit.coef.values()) == pytest.approx(theirs - theirs[0], abs=1e-6)


def test_evalica(pairs: pd.DataFrame) -> None:
    evalica = pytest.importorskip("evalica")
    fit = ob.prefer(pairs, outcome="y2", engine="fast", **COLUMNS)
    winner = [evalica.Winner.X if y == 2 else evalica.Winner.Y for y in pairs["y2"]]
    found = evalica.bradley_terry(pairs["first"], pairs["second"], winner, tolerance=1e-12, limit=100_000)
    theirs = np.log(found.scores[SYSTEMS].to_numpy())
    assert list(fit.coef.values()) == pytest.approx(theirs - theirs[0], abs=1e-6)


@pytest.mark.needs_r
@pytest.mark.slow
def test_bradleyterry2(pairs: pd.DataFrame, tmp_path: Path) -> None:
    if rscript.run("-e", "cat(requireNamespace('BradleyTerry2', quietly = TRUE))") != "TRUE":
        pytest.skip("R's BradleyTerry2 is not installed")
    for position, theirs in zip((False, True), in_r(BRADLEY_TERRY, pairs, tmp_path), strict=True):
        fit = ob.prefer(pairs, outcome="y2", position=position, engine="fast", **COLUMNS)
        [place] = fit.terms.to_pylist() if position else [{"estimate": None, "std_error": None}]
        own = [fit.loglik, *list(fit.coef.values())[1:], place["estimate"]]
        own += [*fit.systems["std_error"].to_pylist()[1:], place["std_error"]]
        own = [value for value in own if value is not None]
        assert own == pytest.approx(theirs, abs=2e-6)  # glm stops at a relative change of 1e-8


@pytest.mark.needs_r
@pytest.mark.slow
def test_glm_with_a_constant_is_the_position(pairs: pd.DataFrame, tmp_path: Path) -> None:
    for link, theirs in zip(("logit", "probit"), in_r(BY_GLM, pairs, tmp_path), strict=True):
        fit = ob.prefer(pairs, outcome="y2", position=True, link=link, engine="fast", **COLUMNS)
        own = [fit.loglik, *list(fit.coef.values())[1:], fit.terms["estimate"][-1].as_py()]
        assert own == pytest.approx(theirs, abs=2e-6)


def test_davidson_and_half_wins_are_other_models(pairs: pd.DataFrame) -> None:
    """Davidson's likelihood written down: −371.7480; ties as two half wins: .2652 .6125 −.3886. Ours is Rao–Kupper."""
    X = pairs[["xB", "xC", "xD"]].to_numpy(dtype=float)
    y = pairs["y3"].to_numpy()

    def davidson(x: np.ndarray) -> float:
        eta, tie = X @ x[:3], np.exp(x[3])
        total = np.exp(eta / 2) + np.exp(-eta / 2) + tie
        return -float(np.log(np.choose(y - 1, [np.exp(-eta / 2), np.full(len(y), tie), np.exp(eta / 2)]) / total).sum())

    assert optimize.minimize(davidson, np.zeros(4), tol=1e-9).fun == pytest.approx(371.7479793, abs=1e-6)
    fit = ob.prefer(pairs, outcome="y3", engine="fast", **COLUMNS)
    assert fit.loglik == pytest.approx(-371.9936012, abs=1e-6)
    tie = y == 2
    halves = pd.DataFrame({
        "y": np.concatenate([np.where(y == 3, 2, 1), np.full(tie.sum(), 2)]),
        "w": np.concatenate([np.where(tie, 0.5, 1.0), np.full(tie.sum(), 0.5)]),
        **{name: np.concatenate([X[:, k], X[tie, k]]) for k, name in enumerate(("xB", "xC", "xD"))},
    })  # fmt: skip
    half = ob.clm("y ~ xB + xC + xD", halves, threshold="symmetric2", weights="w", engine="fast")
    assert [half.coef[name] for name in ("xB", "xC", "xD")] == pytest.approx(
        (0.2652266, 0.6125196, -0.388582), abs=1e-6
    )


NAMES = {  # how thresholds are called in R's ordinal, by the number of answers
    ("symmetric2", 3): ["spacing.1"],
    ("symmetric2", 4): ["spacing.1"],
    ("symmetric2", 5): ["spacing.1", "spacing.2"],
    ("symmetric", 3): ["central.1", "central.2"],
    ("symmetric", 4): ["central", "spacing.1"],
    ("symmetric", 5): ["central.1", "central.2", "spacing.1"],
}


@pytest.mark.needs_r
@pytest.mark.slow
@pytest.mark.parametrize(("threshold", "answers"), NAMES)
def test_thresholds_have_rs_names_and_values(threshold: str, answers: int, pairs: pd.DataFrame) -> None:
    by_r, native = (
        ob.clm(f"y{answers} ~ xB + xC + xD", pairs, threshold=threshold, engine=engine) for engine in ("r", "fast")
    )
    assert list(by_r.coef)[:-3] == list(native.coef)[:-3] == NAMES[threshold, answers]
    assert list(by_r.coef.values()) == pytest.approx(list(native.coef.values()), abs=1e-6)
    assert by_r.loglik == pytest.approx(native.loglik, abs=1e-8)


@pytest.mark.needs_r
@pytest.mark.slow
@pytest.mark.parametrize("threshold", ["symmetric2", "symmetric"])
def test_two_answers_are_refused_by_r(threshold: str, pairs: pd.DataFrame) -> None:
    with pytest.raises(ob.FitError, match="3 or more levels"):
        ob.clm("y2 ~ xB + xC + xD", pairs, threshold=threshold, engine="r")
    own = ob.prefer(pairs, outcome="y2", engine="r", **COLUMNS)  # by mirrored rows
    assert own.settings["mirrored"] and own.loglik == pytest.approx(-237.3157626, abs=1e-6)


@pytest.mark.needs_r
@pytest.mark.slow
def test_two_answers_with_raters_by_rs_clmm(pairs: pd.DataFrame) -> None:
    """clmm takes two categories, of mirrored rows too: the same log likelihood and strengths as natively."""
    two = pairs[pairs["first"].isin(["A", "B", "C"]) & pairs["second"].isin(["A", "B", "C"])]
    options = {"outcome": "y2", "rater": "rater", "random": "slopes", **COLUMNS}
    by_r, native = (ob.prefer(two, engine=engine, **options) for engine in ("r", "fast"))
    assert by_r.settings["engine"] == "r" and by_r.loglik == pytest.approx(native.loglik, abs=1e-6)
    assert list(by_r.coef.values()) == pytest.approx(list(native.coef.values()), abs=1e-4)


@pytest.mark.needs_r
@pytest.mark.slow
def test_a_constant_column_is_dropped_by_r(pairs: pd.DataFrame, tmp_path: Path) -> None:
    """Why the position is the centre of the thresholds, and not a column of ones."""
    [told] = in_r(CONSTANT, pairs, tmp_path)
    assert told == [-371.993601213]  # as without the column, which is dropped
    plain, free = (ob.prefer(pairs, outcome="y3", position=position, engine="r", **COLUMNS) for position in (0, 1))
    ratio = 2 * (free.loglik - plain.loglik)
    assert ratio == pytest.approx(2 * (371.9936012 - 370.8727396), abs=1e-5)
    assert stats.chi2.sf(ratio, 1) == pytest.approx(0.1343, abs=1e-3)
    assert free.terms["estimate"][-1].as_py() == pytest.approx((0.6296202 - 0.3304450) / 2, abs=1e-5)


@pytest.mark.slow
def test_arena_without_raters_as_in_evalica(folder: Path) -> None:
    """llmfao: 639 of 1711 pairs differ by Bonferroni where raters and prompts are left out; position .102 (.020)."""
    votes = pd.read_csv(folder / "llmfao_crowd_pairs.csv")
    fit = ob.prefer(votes, outcome="y3", random="none", engine="fast", **COLUMNS)
    strengths = np.array([fit.coef[name] for name in sorted(fit.coef)])
    V = np.asarray(fit.covariance)
    a, b = np.triu_indices(59, 1)
    z = (strengths[a] - strengths[b]) / np.sqrt(V[a, a] + V[b, b] - 2 * V[a, b])
    assert (2 * stats.norm.sf(np.abs(z)) * len(a) < 0.05).sum() == 639
    table = pd.read_csv(folder / "scores_llmfao.csv").set_index("system")
    names = pd.read_csv(folder / "llmfao_systems.csv")["system"]
    naive = pd.Series({names[int(name)]: value for name, value in fit.coef.items()})
    assert (naive - naive.mean() - table["naive"]).abs().max() < 2e-4
    free = ob.prefer(votes, outcome="y3", random="none", position=True, engine="fast", **COLUMNS).terms.to_pylist()[-1]
    assert free["estimate"] == pytest.approx(0.102, abs=5e-4) and free["std_error"] == pytest.approx(0.020, abs=5e-4)


@pytest.mark.slow
def test_scores_of_rankings_of_corrections(folder: Path) -> None:
    """JFLEG: the order of TrueSkill as published (human 2.60, NMT .21, NUS −.20, AMU −.46, CAMB −.51, input −1.64)."""
    votes = pd.read_csv(folder / "jfleg_pairs.csv")
    scores = pd.read_csv(folder / "scores_jfleg.csv").set_index("system")
    fit = ob.prefer(votes, outcome="y3", random="none", engine="fast", **COLUMNS)
    own = pd.Series(fit.coef)
    assert (own - own.mean() - scores["naive_score"]).abs().max() < 1e-4
    assert own.sort_values(ascending=False).index.tolist() == ["turk", "NMT", "NUS", "AMU", "CAMB", "orig"]
    V, S = np.asarray(fit.covariance), len(own)
    centred = (np.eye(S) - 1 / S) @ V @ (np.eye(S) - 1 / S)
    assert np.sqrt(np.diag(centred)) == pytest.approx(scores["naive_se"].loc[sorted(own.index)], abs=1e-4)
