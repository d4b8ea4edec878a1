"""Where lmer's p-values differ from lmerTest's, R stopped early: at the fast optimum lmerTest says the same.

lme4 ends its search when the deviance hardly changes, or in an optimum that its bound at zero creates. Both the p-value
and Satterthwaite's degrees of freedom depend on where that is.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ordbridge import design, fast, papers, simulate
from ordbridge.models.prepare import prepare

pytestmark = [
    pytest.mark.needs_r,
    pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no Rscript"),
]

FORMULA = "rating ~ system + (system | participant) + (system | item)"
CODE = """
suppressMessages(library(lmerTest))
nowhere <- lmerControl(optimizer = NULL, calc.derivs = FALSE)
formula <- rating ~ system + (system | participant) + (system | item)
for (line in readLines("starts.txt")) {
  words <- strsplit(line, " ")[[1]]
  d <- read.csv(paste0(words[1], ".csv"), stringsAsFactors = TRUE)
  for (fit in suppressMessages(suppressWarnings(list(
      lmer(formula, d), lmer(formula, d, start = as.numeric(words[-1]), control = nowhere))))) {
    t <- coef(summary(fit))["systemB", ]
    cat(sprintf("%.15g", c(logLik(fit), t["df"], t["Pr(>|t|)"])), "")
  }
  cat("\\n")
}
"""


def test_lmertest_agrees_at_the_fast_optimum(tmp_path: Path) -> None:
    starts, ours = [], []
    for seed, setting in enumerate(("representative", "low", "low", "extra-low", "high")):
        plan = design.counterbalanced(20, 3, systems=2, texts_per_participant=12, seed=seed)
        table = simulate.ratings(plan, papers.howcroft2021.settings[setting].shift(effect=0.3), seed)
        table.to_pandas().to_csv(tmp_path / f"{seed}.csv", index=False)
        problem = prepare("lmer", FORMULA, table, REML=True, ddf="Satterthwaite")
        starts.append(" ".join([str(seed), *(f"{value:.17g}" for value in fast.start(problem))]))
        found = fast.fit(problem)
        at = found.terms.index("systemB")
        ours.append((found.loglik, found.df[at], found.p_value[at]))
    (tmp_path / "starts.txt").write_text("\n".join(starts) + "\n")
    (tmp_path / "run.R").write_text(CODE)
    done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=tmp_path, capture_output=True, text=True, check=True)
    answers = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    own, there, fitted = answers[:, :3], answers[:, 3:], np.array(ours)

    np.testing.assert_allclose(fitted[:, 0], there[:, 0], rtol=0, atol=1e-9)  # log likelihood
    np.testing.assert_allclose(fitted[:, 1], there[:, 1], rtol=1e-4)  # df
    np.testing.assert_allclose(fitted[:, 2], there[:, 2], rtol=1e-5)  # p
    assert (fitted[:, 0] >= own[:, 0] - 1e-9).all()
    apart = np.abs(fitted[:, 2] / own[:, 2] - 1) > 1e-4
    assert apart.any()  # otherwise these data show nothing
    assert (fitted[apart, 0] > own[apart, 0] + 1e-9).all()


TWO_SEARCHES = """
suppressMessages(library(lmerTest))
d <- read.csv("ratings.csv")
for (search in c("nloptwrap", "Nelder_Mead")) {
  said <- ""
  fit <- withCallingHandlers(
    suppressMessages(lmer(rating ~ system + (system | participant) + (system | item), d, REML = FALSE,
                          control = lmerControl(optimizer = search))),
    warning = function(w) { said <<- conditionMessage(w); invokeRestart("muffleWarning") })
  p <- coef(summary(fit))["system", "Pr(>|t|)"]
  cat(sprintf("%.15g", c(logLik(fit), p)), grepl("negative eigenvalue", said), "\\n")
}
"""


def test_another_search_of_r_ends_at_the_fast_optimum(tmp_path: Path) -> None:
    """A dataset of the published grid on which lme4's default search is held at a zero that its bound creates."""
    from ordbridge.power import Grid

    axes = {"variance": "extra-low", "items": 100, "ratings_per_text": 3, "effect": 0.155, "variant": "corrected"}
    (cell,) = Grid(preset="howcroft2021", **axes).cells
    rating = simulate.Simulator(cell.design, cell.truth, cell.variant).draw(cell.stream(42, 162))[0]
    table = cell.design.to_pandas().assign(rating=rating)
    table["system"] = (table["system"] == max(cell.systems)).astype(int)
    table.to_csv(tmp_path / "ratings.csv", index=False)
    found = fast.fit(prepare("lmer", FORMULA, table, REML=False, ddf="Satterthwaite"))
    p = found.p_value[found.terms.index("system")]
    (tmp_path / "run.R").write_text(TWO_SEARCHES)
    done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=tmp_path, capture_output=True, text=True, check=True)
    default, simplex = (line.split() for line in done.stdout.splitlines())
    assert default[2] == "TRUE" and float(default[0]) < found.loglik - 5  # lmerTest itself says that this is no optimum
    assert simplex[2] == "FALSE" and float(simplex[0]) == pytest.approx(found.loglik, abs=1e-5)
    assert float(simplex[1]) == pytest.approx(p, rel=1e-4)
    assert float(default[1]) > 1.5 * p
