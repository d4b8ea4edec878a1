"""All pairwise tables beside emmeans in plain R: four models, both engines, ordered factors, interactions, functions.

One Rscript fits everything. Tolerances are relative, on estimates, standard errors, statistics and limits (ten times
as much for p-values where the two sides do not run the same code):

- engine R: 1e-6, because both sides run the same code; 1e-4 for clmm, whose standard errors R takes from differences:
  rescaled predictors change their last digits.
- engine fast: lm and clm 1e-6. lmer 1e-5, with lmerTest asked at the native optimum (``optimizer = NULL``), because
  lme4 stops its search early. clmm 2e-3, for the same reason and for R's differences.

Seen with R 4.2.2, emmeans 1.8.4-1, ordinal 2022.11-16, lmerTest 3.1-3, lme4 1.1-31.
"""

from __future__ import annotations

import subprocess
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge import fast
from ordbridge.bridge import rscript
from ordbridge.models.prepare import prepare
from ordbridge.results import findings_of, has

pytestmark = [pytest.mark.needs_r, pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")]


class Case(NamedTuple):
    model: str
    formula: str
    factor: str
    adjust: str
    engine: str

    def __str__(self) -> str:
        return f"{self.engine} {self.model} {self.formula}, {self.factor}, {self.adjust}"


ASKED = [
    ("lm", "z ~ s", "s", "tukey"),
    ("lm", "z ~ s * x", "s", "holm"),
    ("lm", "z ~ s * w + x", "s", "none"),
    ("lm", "z ~ dose + w", "dose", "tukey"),
    ("lm", "z ~ dose * s", "dose", "bonferroni"),
    ("lm", "z ~ s + scale(x)", "s", "sidak"),
    ("lm", "z ~ s * poly(x, 2)", "s", "fdr"),
    ("lm", "z ~ s + factor(k)", "s", "holm"),
    ("lm", "z ~ s + factor(k)", "k", "tukey"),
    ("lm", "z ~ s * I(x^2) + log(x)", "s", "tukey"),
    ("lm", "z ~ s + warm", "warm", "none"),
    ("lm", "log(z + 20) ~ s + w", "s", "tukey"),
    ("clm", "y ~ s", "s", "holm"),
    ("clm", "y ~ s * x", "s", "tukey"),
    ("clm", "y ~ dose", "dose", "holm"),
    ("clm", "y ~ dose * w", "dose", "tukey"),
    ("clm", "y ~ dose + scale(x)", "dose", "none"),
    ("clm", "y ~ s + poly(x, 2)", "s", "bonferroni"),
    ("clm", "y ~ s * log(x) + factor(k)", "s", "sidak"),
    ("clm", "y ~ s + I(x^2) + warm", "s", "fdr"),
    ("lmer", "z ~ s + (1 | p)", "s", "holm"),
    ("lmer", "z ~ s * x + (1 | p) + (1 | i)", "s", "tukey"),
    ("lmer", "z ~ dose + (1 | p)", "dose", "tukey"),
    ("lmer", "z ~ dose * w + (1 | p)", "dose", "none"),
    ("lmer", "z ~ s + scale(x) + (1 | p)", "s", "bonferroni"),
    ("lmer", "z ~ s * poly(x, 2) + (1 | p)", "s", "holm"),
    ("lmer", "z ~ s + factor(k) + (x | p)", "s", "tukey"),
    ("lmer", "z ~ dose + log(x) + I(x^2) + (1 | p) + (1 | i)", "dose", "sidak"),
    ("clmm", "y ~ s + (1 | p)", "s", "tukey"),
    ("clmm", "y ~ s * x + (1 | p)", "s", "holm"),
    ("clmm", "y ~ dose + (1 | p)", "dose", "tukey"),
    ("clmm", "y ~ dose * w + (1 | p)", "dose", "none"),
    ("clmm", "y ~ s + scale(x) + (1 | p)", "s", "fdr"),
    ("clmm", "y ~ s + poly(x, 2) + (1 | p) + (1 | i)", "s", "sidak"),
    ("clmm", "y ~ s + factor(k) + log(x) + (1 | p)", "s", "holm"),
]
CASES = [Case(*asked, engine) for asked in ASKED for engine in ("r", "fast")]
TOLERANCE = {"r": {"clmm": 1e-4}, "fast": {"lmer": 1e-5, "clmm": 2e-3}}
INTERACTING = [case for case in CASES if f"{case.factor} *" in case.formula]


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    """Twelve raters, sixteen items; every effect is large enough to keep its variance off the boundary."""
    rng = np.random.default_rng(11)
    p, i = (v.ravel() for v in np.meshgrid(range(12), range(16), indexing="ij"))
    n = p.size
    s, dose, k, w = (p + i) % 3, rng.integers(0, 3, n), rng.integers(1, 4, n), rng.integers(0, 2, n)
    x = rng.normal(size=n)
    x = np.round(5 + (x - x.mean()) / x.std(ddof=1), 4)  # so that rescaling leaves it nearly as it is
    z = 0.5 * s + 0.4 * (dose == 1) + 0.3 * x + 0.3 * x * (s == 2) + 0.4 * w + rng.normal(0, 0.9, 12)[p]
    z = z + rng.normal(0, 0.7, 16)[i] + rng.normal(0, 0.5, 12)[p] * (x - 5) + rng.normal(size=n)
    return pd.DataFrame(
        {
            "s": np.array(["A", "B", "C"])[s],
            "w": np.array(["u", "v"])[w],
            "dose": pd.Categorical.from_codes(dose, ["lo", "mid", "hi"], ordered=True),
            "k": k,
            "warm": rng.random(n) < 0.5,
            "x": x,
            "p": [f"p{v:02d}" for v in p],
            "i": [f"i{v:02d}" for v in i],
            "y": 1 + np.digitize(z, np.quantile(z, [0.2, 0.45, 0.75])),
            "z": np.round(z, 4),
        }
    )


SETUP = """
invisible(Sys.setlocale("LC_COLLATE", "C"))
suppressMessages({library(emmeans); library(lmerTest)})
d <- read.csv("data.csv", stringsAsFactors = TRUE)
d$dose <- factor(d$dose, levels = c("lo", "mid", "hi"), ordered = TRUE)
d$y <- ordered(d$y)
d$warm <- d$warm == "True"
for (package in c("emmeans", "ordinal", "lmerTest", "lme4")) cat(package, as.character(packageVersion(package)), "\\n")
cat(R.version.string, "\\n")
nowhere <- lmerControl(optimizer = NULL, calc.derivs = FALSE)
ask <- function(id, fit, factor, adjust) {
  said <- character()
  table <- withCallingHandlers({
    means <- emmeans(fit, factor, lmer.df = "satterthwaite", lmerTest.limit = Inf, pbkrtest.limit = Inf)
    summary(contrast(means, "pairwise", adjust = adjust), infer = c(TRUE, TRUE), adjust = adjust)
  }, message = function(m) { said <<- c(said, conditionMessage(m)); invokeRestart("muffleMessage") })
  table <- as.data.frame(table)
  names <- names(table)
  rows <- data.frame(id = id, contrast = as.character(table$contrast), estimate = table$estimate, std_error = table$SE,
    df = table$df, statistic = table[[grep("ratio$", names)]], p_value = table$p.value,
    conf_low = table[[grep("^lower|LCL$", names)]], conf_high = table[[grep("^upper|UCL$", names)]],
    note = trimws(gsub("\\n", " ", paste(said, collapse = ""))))
  for (column in c("estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"))
    rows[[column]] <- sprintf("%.17g", rows[[column]])
  write.table(rows, "answers.csv", sep = ",", append = id > 0, col.names = id == 0, row.names = FALSE)
}
"""
PLAIN = {
    "lm": "lm({formula}, d)",
    "clm": "ordinal::clm({formula}, data = d)",
    "clmm": "ordinal::clmm({formula}, data = d)",
    "lmer": "lmer({formula}, d)",
}


@pytest.fixture(scope="module")
def answers(data: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """What emmeans says to every case, from one run of plain R."""
    folder = tmp_path_factory.mktemp("emmeans")
    data.to_csv(folder / "data.csv", index=False)
    lines = [SETUP]
    for number, case in enumerate(CASES):
        fit = PLAIN[case.model].format(formula=case.formula)
        if case.model == "lmer" and case.engine == "fast":
            problem = prepare("lmer", case.formula, data, REML=True, ddf="Satterthwaite")
            theta = ", ".join(f"{value:.17g}" for value in fast.start(problem))
            fit = f"lmer({case.formula}, d, start = c({theta}), control = nowhere)"
        lines += [f"fit <- suppressMessages(suppressWarnings({fit}))"]
        lines += [f'ask({number}, fit, "{case.factor}", "{case.adjust}")']
    (folder / "run.R").write_text("\n".join(lines) + "\n")
    command = [rscript.find(), "--vanilla", "run.R"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    print(done.stdout)  # the versions
    return pd.read_csv(folder / "answers.csv", keep_default_na=False)


def fitted(case: Case, data: pd.DataFrame) -> ob.Fit:
    return getattr(ob, case.model)(case.formula, data, engine=case.engine)


def test_there_are_enough() -> None:
    assert len(CASES) >= 40 and len(set(map(str, CASES))) == len(CASES)
    assert len(INTERACTING) >= 10


@pytest.mark.parametrize("number", range(len(CASES)), ids=[str(case) for case in CASES])
def test_the_same_table(number: int, data: pd.DataFrame, answers: pd.DataFrame) -> None:
    case = CASES[number]
    expected = answers[answers["id"] == number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.StatisticalWarning)
        found = fitted(case, data).contrasts(case.factor, adjust=case.adjust)
    assert found.num_rows == len(expected) == (1 if case.factor == "warm" else 3)
    if case.factor in ("s", "dose"):  # emmeans writes the levels of numbers and truth values with their column's name
        sides = zip(found["system_a"].to_pylist(), found["system_b"].to_pylist(), strict=True)
        assert [" - ".join(pair) for pair in sides] == expected["contrast"].tolist()
    rtol = TOLERANCE[case.engine].get(case.model, 1e-6)
    df = np.where(np.isinf(expected["df"].astype(float)), np.nan, expected["df"].astype(float))
    tails = rtol if rtol == 1e-6 else 10 * rtol  # a p-value and a df amplify what differs in the standard error
    np.testing.assert_allclose(found["df"].to_numpy(), df, rtol=tails)
    for name in ("estimate", "std_error", "statistic", "conf_low", "conf_high"):
        here = found["difference" if name == "estimate" else name].to_numpy()
        there = expected[name].astype(float).to_numpy()
        np.testing.assert_allclose(here, there, rtol=rtol, atol=rtol * np.abs(there).max(), err_msg=name)
    here, there = found["p_adjusted"].to_numpy(), expected["p_value"].astype(float).to_numpy()
    np.testing.assert_allclose(here, there, rtol=tails, atol=1e-9)  # ptukey has about ten digits


@pytest.mark.parametrize("case", INTERACTING, ids=str)
def test_emmeans_note_on_interactions_is_kept(case: Case, data: pd.DataFrame, answers: pd.DataFrame) -> None:
    (note,) = set(answers.loc[answers["id"] == CASES.index(case), "note"])
    assert "interactions" in note  # emmeans says so in plain R
    with pytest.warns(ob.StatisticalWarning, match="averages over it may mislead"):
        table = fitted(case, data).contrasts(case.factor, adjust=case.adjust)
    notes = [one.what for one in findings_of(table)]
    assert [line for line in notes if "may be misleading due to involvement in interactions" in line]


@pytest.mark.parametrize("engine", ["r", "fast"])
@pytest.mark.parametrize(
    ("model", "formula"), [("lm", "z ~ s + x * w"), ("clm", "y ~ s + x"), ("lmer", "z ~ s + (1|p)")]
)
def test_without_an_interaction_there_is_no_warning(model: str, formula: str, engine: str, data: pd.DataFrame) -> None:
    fit = getattr(ob, model)(formula, data, engine=engine)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = fit.contrasts("s")
    assert not has(findings_of(table), "means-over-interaction")
