"""Hostile names through R itself: no marker file appears, and the numbers are those under harmless names.

Every one of 366 names is a column and a level in every model here; more than 200 as columns and as levels go through
everything else that R is asked. To keep this short a formula adds many columns up: I(a + b + ...).
test_hostile_payloads.py shows that nothing of the names reaches R. Tolerance: R's code on the same numbers, so 1e-10;
lme4 adds in an order that depends on where memory lies, so 1e-7 for lmer.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path

import hostile_names as hostile
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ordbridge as ob
from ordbridge.bridge import rscript
from ordbridge.cli import main
from ordbridge.models import validation
from ordbridge.reading.tables import MISSING_CODES

pytestmark = [pytest.mark.needs_r, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def absolute(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A marker outside the working folder, by its whole path."""
    return tmp_path_factory.mktemp("elsewhere") / "MARKER"


@pytest.fixture(scope="module")
def names(absolute: Path) -> list[str]:
    return hostile.columns("MARKER", str(absolute))


@pytest.fixture
def nothing_ran(tmp_path: Path, absolute: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in an empty folder and find it empty afterwards, but for the files that the test itself wrote."""
    folder, data = tmp_path / "work", tmp_path / "data"
    folder.mkdir()
    data.mkdir()
    monkeypatch.chdir(folder)
    yield data
    assert list(folder.iterdir()) == []
    assert not absolute.exists()


CONTROL = """
names <- readLines("names.txt", encoding = "UTF-8")
marker <- readLines("marker.txt")
contexts <- list(identity, function(n) paste0("(", n, ")"), function(n) paste0("`", n, "`"),
                 function(n) paste0("'", n, "'"), function(n) paste0('"', n, '"'),
                 function(n) paste0("`", gsub("`", "\\\\\\\\`", n), "`"),
                 function(n) paste0("system(", deparse(paste("echo a", n)), ")"))
for (name in names) {
  ran <- FALSE
  for (context in contexts) {
    try(suppressWarnings(eval(parse(text = context(name)), new.env())), silent = TRUE)
    ran <- ran || any(file.exists(marker))
    unlink(marker, recursive = TRUE)
  }
  cat(if (ran) "ran" else "idle", "\\n", file = "answers.txt", append = TRUE)
}
"""


def test_every_piece_of_code_would_leave_a_marker(absolute: Path, tmp_path: Path) -> None:
    """The positive control: evaluated by R, bare, in quotes that were not escaped, or by a shell, each of them runs."""
    code = hostile.code("MARKER", str(absolute))
    (tmp_path / "names.txt").write_text("\n".join([*code, "harmless", "a b"]) + "\n")
    (tmp_path / "marker.txt").write_text(f"MARKER\n{absolute}\n")
    (tmp_path / "control.R").write_text(CONTROL)
    command = [rscript.find(), "--vanilla", "control.R"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    answers = (tmp_path / "answers.txt").read_text().split()
    assert [name for name, answer in zip(code, answers, strict=False) if answer != "ran"] == []
    assert answers[len(code) :] == ["idle", "idle"]
    assert not absolute.exists()


def test_lme4_itself_runs_the_name_of_a_grouping_factor(tmp_path: Path) -> None:
    """Why renaming is needed: plain lme4 writes `||` out as text and parses it again."""
    hostile.harmless().rename(columns={"zqg": "file.create('MARKER')"}).to_csv(tmp_path / "d.csv", index=False)
    code = "d <- read.csv('d.csv', check.names = FALSE); lme4::lmer(zqz ~ zqx + (zqx || `file.create('MARKER')`), d)"
    subprocess.run([rscript.find(), "--vanilla", "-e", code], cwd=tmp_path, check=False, capture_output=True)
    assert (tmp_path / "MARKER").exists()


OTHERS = 18  # columns beside the eight of every table, so that a formula has as many columns as there are levels
MODELS = {
    "lmer, two bars": ("lmer", "zqz ~ zqs + zqx + scale(zqw) + OTHERS + (zqx || zqg) + (1 | zqh)", {}),
    "lmer, one bar": ("lmer", "zqz ~ zqs + zqx + zqw + OTHERS + (zqx | zqg) + (1 | zqh)", {}),
    "lmer, Kenward-Roger": (
        "lmer",
        "zqz ~ zqs + zqx + zqw + OTHERS + (zqx | zqg) + (1 | zqh)",
        {"ddf": "Kenward-Roger"},
    ),
    "lmer, nested": ("lmer", "zqz ~ zqs + zqx + I(zqw^2) + OTHERS + (1 | zqg/zqs) + (1 | zqh)", {}),
    "clmm": ("clmm", "zqy ~ zqs + zqx + zqw + OTHERS + (1 | zqg)", {}),
    "clm": ("clm", "zqy ~ zqs + zqx + scale(zqw) + OTHERS + factor(zqh) + zqg", {}),
    "lm": ("lm", "zqz ~ zqs * zqx + poly(zqw, 2) + OTHERS + zqg + factor(zqh)", {}),
}
FULL = 9  # disguises that also go through contrasts, tests of terms and predictions, and pbkrtest, which is slow


def with_others(formula: str, others: int) -> str:
    """Put the sum of the other columns into a formula."""
    return formula.replace("OTHERS", f"I({' + '.join(hostile.crowd(others))})")


@pytest.fixture(scope="module", params=MODELS)
def harmless(request: pytest.FixtureRequest) -> ob.Fit:
    model, formula, options = MODELS[request.param]
    return getattr(ob, model)(with_others(formula, OTHERS), hostile.harmless(OTHERS), **options)


def close(mine: pa.Table, other: pa.Table, rtol: float) -> None:
    """Compare the numbers of two tables, column by column."""
    assert mine.num_columns == other.num_columns and mine.num_rows == other.num_rows
    for a, b in zip(mine.columns, other.columns, strict=True):
        if pa.types.is_floating(b.type):
            np.testing.assert_allclose(a.to_numpy(), b.to_numpy(), rtol=rtol, atol=rtol * 1e-2)


def bare(label: str) -> str:
    """Drop quotes: R writes the parts of `a b`:c with them and `a b` alone without."""
    return label.replace("`", "").replace("\\", "")


def check_labels(fit: ob.Fit, plain: ob.Fit, worn: hostile.Disguise) -> None:
    e, p = fit.estimates, plain.estimates
    levels = [worn.level[level] for level in p.levels]
    k = len(p.levels) - 1 if p.levels else 0
    assert list(e.levels) == levels
    assert list(e.terms) == [f"{a}|{b}" for a, b in itertools.pairwise(levels)] + [worn.term(t) for t in p.terms[k:]]
    for mine, other in zip(e.random, p.random, strict=True):
        assert bare(mine.group) == bare(worn.bare(other.group))
        assert mine.terms == tuple(worn.term(term) for term in other.terms)
        assert mine.levels == tuple(worn.bare(level) for level in other.levels)
    assert fit.ranef()["group"].to_pylist() == [r.group for r in e.random for _ in range(r.modes.size)]
    assert hostile.quote(worn.column["zqs"]) in fit.summary()


def check_fit(fit: ob.Fit, plain: ob.Fit, worn: hostile.Disguise, rtol: float) -> None:
    check_labels(fit, plain, worn)
    close(fit.tidy(), plain.tidy(), rtol)
    close(fit.varcorr(), plain.varcorr(), rtol)
    close(fit.ranef(), plain.ranef(), rtol)
    assert fit.estimates.loglik == pytest.approx(plain.estimates.loglik, rel=rtol)
    assert fit.p_value(hostile.quote(worn.column["zqx"])) == pytest.approx(plain.p_value("zqx"), rel=rtol)


def more(fit: ob.Fit, worn: hostile.Disguise | None = None) -> dict[str, pa.Table]:
    """Return contrasts, predictions for rows of the fit and new ones, and tests of terms."""
    new, factor = hostile.harmless(OTHERS).iloc[::5], "zqs"
    if worn is not None:
        new, factor = worn.wear(new), worn.column[factor]
    found = {kind: fit.predict(new, kind=kind) for kind in ("conditional", "marginal")}
    found |= {"contrasts": fit.contrasts(factor, adjust="tukey"), "fitted": fit.predict()}
    return found | ({"anova": ob.anova(fit)} if fit.problem.model == "lmer" else {})


def check_more(mine: dict[str, pa.Table], plain: dict[str, pa.Table], worn: hostile.Disguise, rtol: float) -> None:
    """Compare what :func:`more` returned: numbers, and labels of terms, contrasts and columns."""
    assert mine.keys() == plain.keys()
    for what, table in mine.items():
        close(table, plain[what], max(rtol, {"contrasts": 1e-8, "anova": 1e-6}.get(what, rtol)))
    for what, label in (("contrasts", "system_a"), ("contrasts", "system_b"), ("anova", "term")):
        if what in mine:
            labels = plain[what][label].to_pylist()
            assert mine[what][label].to_pylist() == [worn.term(text) for text in labels]
    for kind in ("conditional", "marginal"):
        assert mine[kind].column_names == [worn.bare(name) for name in plain[kind].column_names]


def test_nothing_runs_and_nothing_changes(harmless: ob.Fit, names: list[str], nothing_ran: Path) -> None:
    plain, table = harmless, hostile.harmless(OTHERS)
    answers = more(plain)
    model, formula = plain.problem.model, str(plain.problem.formula)
    options = {"ddf": plain.problem.ddf} if model == "lmer" else {}
    rtol = 1e-7 if model == "lmer" else 1e-10
    columns, levels = set(), set()
    for turn, worn in enumerate(hostile.disguises(names, names + hostile.CONTROL, len(formula), OTHERS)):
        if turn >= FULL and plain.problem.ddf == "Kenward-Roger":
            break
        fit = getattr(ob, model)(worn.formula(formula), worn.wear(table), **options)
        check_fit(fit, plain, worn, rtol)
        if turn < FULL:
            check_more(more(fit, worn), answers, worn, rtol)
            columns |= {worn.column[name] for name in worn.column if name in formula}
            levels |= set(worn.level.values())
        assert list(Path.cwd().iterdir()) == [], worn
    assert min(len(columns), len(levels)) > 200  # went through everything


@pytest.mark.parametrize("place", ["zqx", "zqs", "zqg"])
def test_very_long_names(place: str, nothing_ran: Path) -> None:
    table, formula = hostile.harmless(), "zqz ~ zqs + zqx + (1 | zqg)"
    plain = ob.lmer(formula, table)
    for name in hostile.LONG:
        worn = hostile.Disguise(
            {c: c for c in table} | {place: name}, {f"zl{i:02d}": f"{name}{i:02d}" for i in range(23)}
        )
        fit = ob.lmer(worn.formula(formula), worn.wear(table))
        check_labels(fit, plain, worn)
        close(fit.tidy(), plain.tidy(), 1e-7)
        close(fit.contrasts(worn.column["zqs"]), plain.contrasts("zqs"), 1e-6)


def as_file(names: list[str], file: Path, turn: int, others: int = 0) -> hostile.Disguise:
    """Write the data in disguise as CSV, where some levels would read as missing."""
    levels = [name for name in names + hostile.CONTROL if name not in (*MISSING_CODES, "\x00")]
    worn = next(itertools.islice(hostile.disguises(names, levels, turn, others), turn, None))
    table = hostile.harmless(others).astype({"zqy": str})
    worn.wear(table.assign(zqy=table["zqy"].str[2:].astype(int))).to_csv(file, index=False)
    return worn


MANY = 110  # other columns, so that two tables have 236 names of columns
VALIDATED = [(kind, turn) for kind in MODELS if kind != "lmer, one bar" for turn in (0, 1)]


@pytest.mark.parametrize(("kind", "turn"), VALIDATED, ids=[f"{kind} {turn}" for kind, turn in VALIDATED])
def test_validate(kind: str, turn: int, names: list[str], nothing_ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rscript's baseline gives the same numbers under the same names, and runs nothing."""
    monkeypatch.setattr(validation, "R_RUNS", 1)
    model, formula, options = MODELS[kind]
    worn = as_file(names, nothing_ran / "ratings.csv", turn, MANY)
    formula = worn.formula(with_others(formula, MANY))
    row = validation.validate(validation.Case(kind, nothing_ran / "ratings.csv", model, formula, options))
    # of a single run of lme4 with hundreds of columns; another column in place of one would differ in the first digit
    assert row["largest_difference"] <= (1e-6 if model == "lmer" else validation.TOLERANCE), row
    assert row["numbers"] >= 12


def test_r_does_not_break_a_long_term_into_lines() -> None:
    """R deparses a term in lines of 500 characters; both engines call it what the formula says."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.normal(size=40) for name in [*hostile.crowd(MANY), "zqz"]})
    fits = [ob.lm(with_others("zqz ~ OTHERS", MANY), table, engine=engine) for engine in ("r", "fast")]
    assert fits[0].estimates.terms == fits[1].estimates.terms
    assert len(fits[0].estimates.terms[1]) > 500


def test_the_command_line(names: list[str], nothing_ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = nothing_ran / "ratings.csv"
    for turn in (1, 8, 30):
        worn = as_file(names, file, turn)
        formula = worn.formula("zqz ~ zqs + zqx + (zqx || zqg)")
        contrasts = ["--contrasts", worn.column["zqs"]]
        assert main(["fit", str(file), "--model", "lmer", "--formula", formula, *contrasts, "--json", "-"]) == 0
        assert "converged" in capsys.readouterr().out


def test_names_meet_nothing_of_ours_in_one_table(names: list[str], nothing_ran: Path) -> None:
    """Thirty hostile columns at once, as many as a linear model of 64 rows can take."""
    rng = np.random.default_rng(0)
    for start in range(0, len(names), 30):
        chosen = names[start : start + 30]
        plain = pd.DataFrame({f"c{i:02d}": rng.normal(size=64) for i in range(len(chosen))}).assign(
            zqz=rng.normal(size=64)
        )
        odd = plain.rename(columns={f"c{i:02d}": name for i, name in enumerate(chosen)})
        fits = [
            ob.lm("zqz ~ " + " + ".join(map(hostile.quote, [c for c in table if c != "zqz"])), table)
            for table in (plain, odd)
        ]
        close(fits[1].tidy(), fits[0].tidy(), 1e-10)
        assert list(fits[1].estimates.terms[1:]) == [hostile.quote(name) for name in chosen]
