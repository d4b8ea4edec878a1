"""Data that come with R's packages, through ordbridge and through plain R: every number of every fit.

lme4's cake, Penicillin, Pastes, VerbAgg (20 people) and InstEval (a few hundred ratings), ordinal's soup and income,
MASS's housing; counts and percentages become rows. Plain R exports the data and fits all models in one run.

Tolerances, relative: engine R 1e-8, lmer 1e-6 (lme4 adds in an order that depends on where memory lies), clmm with a
numeric predictor 1e-4 (R's standard errors come from differences, in which the predictor's scale matters). Engine fast:
see ``NATIVE``; R's optimisers stop early, so its log likelihood may not be below R's.

Seen with R 4.2.2, lme4 1.1-31, lmerTest 3.1-3, ordinal 2022.11-16, MASS 7.3-58.2.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.bridge import rscript

pytestmark = [pytest.mark.needs_r, pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")]


class Case(NamedTuple):
    data: str
    model: str
    formula: str
    options: dict[str, Any] = {}  # noqa: RUF012
    tolerance: float = 1e-8
    native: str | None = ""  # the formula as the native engine knows it; None where it has no such model

    def __str__(self) -> str:
        return f"{self.data} {self.model} {self.formula} {self.options or ''}".strip()


NESTED = "strength ~ 1 + (1 | batch) + (1 | batch:cask)"
CASES = [
    Case("cake", "lm", "angle ~ recipe * temperature"),
    Case("cake", "lmer", "angle ~ recipe * temperature + (1 | recipe:replicate)", {}, 1e-6),
    Case("cake", "lmer", "angle ~ recipe + temp + (1 | replicate) + (1 | recipe:replicate)", {"REML": False}, 1e-6),
    Case("cake", "lmer", "angle ~ recipe * temp + (1 | recipe:replicate)", {"ddf": "Kenward-Roger"}, 1e-6, None),
    Case("Penicillin", "lmer", "diameter ~ 1 + (1 | plate) + (1 | sample)", {}, 1e-6),
    Case("Penicillin", "lmer", "diameter ~ 1 + (1 | plate) + (1 | sample)", {"REML": False}, 1e-6),
    Case("Pastes", "lmer", "strength ~ 1 + (1 | batch/cask)", {}, 1e-6, NESTED),
    Case("Pastes", "lmer", "strength ~ 1 + (1 | batch) + (1 | sample)", {"REML": False}, 1e-6),
    Case("VerbAgg", "clm", "resp ~ Anger + Gender + btype * situ + mode", {"link": "probit"}),
    Case("VerbAgg", "clmm", "resp ~ btype + situ + mode + (1 | id)"),
    Case("VerbAgg", "clmm", "resp ~ btype + mode + (1 | id) + (1 | item)", {"link": "probit"}),
    Case("VerbAgg", "clmm", "resp ~ Anger + Gender + mode + (1 | id)", {}, 1e-4),
    Case("InstEval", "lmer", "y ~ service + studage + (1 | s) + (1 | d)", {}, 1e-6),
    Case("InstEval", "lmer", "y ~ service + age + (age || d) + (1 | s)", {"REML": False}, 1e-6),
    Case("InstEval", "clm", "rating ~ service * studage", {"link": "cloglog"}),
    Case("InstEval", "clmm", "rating ~ service + (1 | d)"),
    Case("soup", "clm", "SURENESS ~ PROD * DAY + GENDER + SOUPFREQ", {"link": "loglog"}),
    Case("soup", "clm", "SURENESS ~ PRODID + LOCATION", {"threshold": "symmetric"}),
    Case("soup", "clmm", "SURENESS ~ PROD + COLD + (1 | RESP)", {"link": "probit"}),
    Case("income", "clm", "income ~ year", {"link": "logit"}),
    Case("income", "clm", "income ~ year", {"link": "cloglog", "threshold": "equidistant"}),
    Case("housing", "clm", "Sat ~ Infl + Type + Cont", {"link": "logit"}),
    Case("housing", "clm", "Sat ~ Infl * Type + Cont", {"link": "probit"}),
    Case("housing", "lm", "score ~ Infl + Type * Cont"),
]
NATIVE = {"lm": (1e-9, 1e-9), "clm": (1e-6, 1e-6), "lmer": (1e-4, 5e-3), "clmm": (2e-3, 1e-2)}  # numbers, p and SDs
# With one scalar random effect R's search for modes stops early unless it is told to go on; then the optimum is better,
# but the differences that its standard errors come from are noise (3 % on InstEval). So each is taken where it is good.
TIGHT = 1000

R_DATA = """
invisible(Sys.setlocale("LC_COLLATE", "C"))
suppressMessages(library(lmerTest))
for (package in c("lme4", "lmerTest", "ordinal")) cat(package, as.character(packageVersion(package)), "\\n")
of <- function(package, name) {
  holder <- new.env()
  data(list = name, package = package, envir = holder)
  holder[[name]]
}
cake <- of("lme4", "cake"); Penicillin <- of("lme4", "Penicillin"); Pastes <- of("lme4", "Pastes")
VerbAgg <- subset(of("lme4", "VerbAgg"), as.integer(id) <= 20)
InstEval <- of("lme4", "InstEval")
busy <- names(sort(-table(InstEval$d)))[1:15]
InstEval <- subset(InstEval, d %in% busy)
often <- names(which(table(InstEval$s) >= 6))
InstEval <- subset(InstEval, s %in% often[seq(1, length(often), by = 7)])
InstEval$rating <- ordered(InstEval$y)
InstEval$age <- as.integer(as.character(InstEval$studage))
soup <- of("ordinal", "soup"); income <- of("ordinal", "income")
income <- income[rep(seq_len(nrow(income)), round(10 * income$pct)), ]
sets <- c("cake", "Penicillin", "Pastes", "VerbAgg", "InstEval", "soup", "income")
if (requireNamespace("MASS", quietly = TRUE)) {
  housing <- of("MASS", "housing")
  housing <- housing[rep(seq_len(nrow(housing)), housing$Freq), ]
  housing$score <- as.integer(housing$Sat)
  sets <- c(sets, "housing")
}
for (name in sets) {
  table <- droplevels(get(name))
  assign(name, table)
  write.csv(table, paste0(name, ".csv"), row.names = FALSE, na = "")
  for (column in Filter(function(column) is.factor(table[[column]]), names(table)))
    cat(paste(c(name, column, is.ordered(table[[column]]), levels(table[[column]])), collapse = "\t"), "\n", sep = "",
        file = "levels.tsv", append = TRUE)
}
keep <- function(id, what, values, labels = names(values)) for (i in seq_along(values))
  cat(paste(id, what, labels[i], sprintf("%.17g", values[i]), sep = "\\t"), "\\n", sep = "", file = "numbers.tsv",
      append = TRUE)
tight <- ordinal::clmm.control(gradTol = 1e-10, innerCtrl = "noWarn")
ask <- function(id, fit, ddf = "Satterthwaite") {
  mixed <- inherits(fit, "merMod")
  table <- suppressWarnings(if (mixed) coef(summary(fit, ddf = ddf)) else coef(summary(fit)))
  keep(id, "estimate", table[, 1], rownames(table)); keep(id, "std_error", table[, 2], rownames(table))
  keep(id, "p_value", table[, ncol(table)], rownames(table)); keep(id, "loglik", as.numeric(logLik(fit)), "")
  keep(id, "n_obs", nobs(fit), "")
  if (mixed) {
    v <- as.data.frame(lme4::VarCorr(fit), order = "lower.tri")
    v <- v[is.na(v$var2), ]
    keep(id, "sd", sort(v$sdcor), seq_len(nrow(v)))
    keep(id, "df", table[, 3], rownames(table))
  }
  if (inherits(fit, "clmm")) {
    sds <- unlist(lapply(fit$ST, function(ST) sqrt(diag(tcrossprod(ST)))))
    keep(id, "sd", sort(sds), seq_along(sds))
  }
}
"""


def plain(number: int, case: Case, tight: bool = False) -> str:
    """Return the lines of R that fit a case."""
    options = {name: value for name, value in case.options.items() if name != "ddf"}
    words = "".join(
        f", {name} = {str(value).upper() if isinstance(value, bool) else repr(value)}"
        for name, value in options.items()
    )
    function = {"lm": "lm", "lmer": "lmer", "clm": "ordinal::clm", "clmm": "ordinal::clmm"}[case.model]
    call = f"{function}({case.formula}, data = {case.data}{words}{', control = tight' if tight else ''})"
    ddf = f", ddf = '{case.options['ddf']}'" if "ddf" in case.options else ""
    return f"if (exists('{case.data}')) ask({number}, suppressMessages(suppressWarnings({call})){ddf})"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data as plain R wrote them, and its numbers."""
    folder = tmp_path_factory.mktemp("audit")
    lines = [plain(i, case) for i, case in enumerate(CASES)]
    lines += [plain(TIGHT + i, case, tight=True) for i, case in enumerate(CASES) if case.model == "clmm"]
    (folder / "run.R").write_text("\n".join([R_DATA, *lines]) + "\n")
    command = [rscript.find(), "--vanilla", "run.R"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    print(done.stdout)
    return folder


@pytest.fixture(scope="module")
def expected(folder: Path) -> pd.DataFrame:
    names = ["id", "what", "label", "value"]
    return pd.read_csv(folder / "numbers.tsv", sep="\t", names=names, dtype={"label": str}, keep_default_na=False)


def read(folder: Path, name: str) -> pd.DataFrame:
    """Return the data with R's levels in R's order."""
    if not (folder / f"{name}.csv").exists():
        pytest.skip("R has no package MASS: install r-base-recommended")
    lines = [line.split("\t") for line in (folder / "levels.tsv").read_text().splitlines()]
    factors = {column: (ordered == "TRUE", levels) for data, column, ordered, *levels in lines if data == name}
    table = pd.read_csv(folder / f"{name}.csv", dtype={column: str for column in factors})
    for column, (ordered, levels) in factors.items():
        table[column] = pd.Categorical(table[column], levels, ordered=ordered)
    return table


def numbers(fit: ob.Fit) -> dict[str, np.ndarray]:
    """Return what R wrote down, in R's order."""
    e = fit.estimates
    in_r = np.array([effect == "threshold" for effect in e.effects])
    order = np.concatenate([np.flatnonzero(in_r), np.flatnonzero(~in_r)])
    found = {name: getattr(e, name)[order] for name in ("estimate", "std_error", "p_value")}
    found |= {"loglik": np.array([e.loglik]), "n_obs": np.array([fit.n_obs])}
    if e.random:
        found["sd"] = np.sort(fit.varcorr()["sd"].to_numpy())
    if fit.problem.model == "lmer":
        found["df"] = e.df
    return found


@pytest.mark.parametrize("number", range(len(CASES)), ids=map(str, CASES))
def test_the_bridge_gives_the_numbers_of_r(number: int, folder: Path, expected: pd.DataFrame) -> None:
    case = CASES[number]
    fit = getattr(ob, case.model)(case.formula, read(folder, case.data), **case.options)
    theirs = expected[expected["id"] == number]
    for name, values in numbers(fit).items():
        there = theirs[theirs["what"] == name]
        if name in ("estimate", "std_error", "p_value"):
            assert there["label"].tolist() == list(fit.estimates.terms), name
        np.testing.assert_allclose(values, there["value"], rtol=case.tolerance, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    "number",
    [i for i, c in enumerate(CASES) if c.native is not None],
    ids=[str(c) for c in CASES if c.native is not None],
)
def test_the_native_engine_gives_the_numbers_of_r(number: int, folder: Path, expected: pd.DataFrame) -> None:
    case = CASES[number]
    exact, loose = NATIVE[case.model]
    formula = case.native or case.formula
    fit = getattr(ob, case.model)(formula, read(folder, case.data), engine="fast", **case.options)
    for name, values in numbers(fit).items():
        there_at = number + TIGHT if case.model == "clmm" and name in ("estimate", "loglik", "sd") else number
        there = expected.loc[(expected["id"] == there_at) & (expected["what"] == name), "value"].to_numpy()
        if name == "loglik":
            assert values[0] >= there[0] - 1e-6 and values[0] == pytest.approx(there[0], rel=1e-6)
            continue
        rtol = exact if name in ("estimate", "std_error", "n_obs") else loose
        np.testing.assert_allclose(values, there, rtol=rtol, atol=rtol * 1e-2 * np.abs(there).max(), err_msg=name)
