"""Card's settings in our coding are the model of Card's code in theirs."""

import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ordbridge import cli, design
from ordbridge.errors import InputError
from ordbridge.papers import card2020
from ordbridge.papers.card2020 import TableCell
from ordbridge.reading import tables
from ordbridge.simulate import Simulator

# item slope, item intercept, worker slope, worker intercept, residual: for a system coded -1 and +1
PUBLISHED = {"low": (0.13, 0.01, 0.04, 0.01, 0.16), "high": (0.14, 0.04, 0.11, 0.01, 0.26)}


@pytest.mark.parametrize("setting", PUBLISHED)
def test_moments_equal_those_of_a_system_coded_minus_one_and_one(setting):
    item_slope, item, worker_slope, worker, sigma = PUBLISHED[setting]
    truth = card2020.truth(setting, 0.15)
    coded = np.array([[1, -1], [1, 1]])
    means = truth.mean + np.array([0.0, *truth.effects])
    np.testing.assert_allclose(means, coded @ [0.5, 0.15])
    np.testing.assert_allclose(truth.covariance("item"), coded @ np.diag([item**2, item_slope**2]) @ coded.T)
    np.testing.assert_allclose(truth.covariance("participant"), coded @ np.diag([worker**2, worker_slope**2]) @ coded.T)
    assert truth.residual_sd == sigma


def test_ratings_are_numbers_around_the_middle_of_the_scale():
    rating, _ = Simulator(design.crossed(500, 10), card2020.truth("low", 0.2)).draw(1)
    assert rating.mean() == pytest.approx(0.5, abs=0.05)
    assert rating.std() > 0.2


def test_the_grid():
    assert len(card2020.differences) * len(card2020.items) * len(card2020.workers) * len(card2020.settings) == 48


ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "../shared/reference/card2020_power.csv"


@pytest.mark.skipif(not REFERENCE.is_file(), reason="the published table is not here")
def test_published_powers_are_those_of_the_published_file():
    rows = tables.read(REFERENCE).to_pylist()
    table = {
        TableCell(r["settings"].split()[0].lower(), r["diff"], r["ex"], r["num.workers"]): float(r["power"])
        for r in rows
    }
    assert card2020.published == table


def test_the_committed_run_has_every_published_power():
    rows = tables.read(ROOT / "docs" / "reproduction" / "card2020" / "powers.csv").to_pylist()
    assert {TableCell(r["setting"], r["diff"], r["items"], r["workers"]): r["ours"] for r in rows} == card2020.published


def test_the_cell_before():
    assert TableCell("low", 0.05, 50, 3).before is None
    assert TableCell("low", 0.1, 50, 3).before == (500, 10)
    assert TableCell("high", 0.05, 50, 3).before == (500, 10)  # the low settings were run first
    assert TableCell("high", 0.15, 100, 10).before == (100, 3)
    assert TableCell("high", 0.0, 100, 10).before == TableCell("high", 0.05, 100, 10).before


@pytest.mark.needs_r
@pytest.mark.parametrize("cell", [TableCell("low", 0.05, 50, 3), TableCell("high", 0.1, 50, 3)])
def test_a_published_power_comes_out_to_the_last_digit(cell):
    statistic = card2020.fits(cell, tested=False)["statistic"].to_numpy()
    assert np.mean(statistic > 1.96) == card2020.published[cell]


@pytest.mark.needs_r
def test_pieces_are_parts_of_the_whole_and_p_values_are_two_sided():
    cell = TableCell("high", 0.05, 50, 3)
    whole, part = card2020.fits(cell, 1, 4), card2020.fits(cell, 3, 4)
    np.testing.assert_array_equal(whole["statistic"].to_numpy()[2:], part["statistic"].to_numpy())
    np.testing.assert_allclose(whole["estimate"].to_numpy() / whole["std_error"].to_numpy(), whole["statistic"])
    from scipy import stats

    expected = 2 * stats.t.sf(np.abs(whole["statistic"].to_numpy()), whole["df"].to_numpy())
    np.testing.assert_allclose(whole["p_value"].to_numpy(), expected, rtol=1e-6)


DIRECTLY = """
suppressMessages(library(lmerTest))
stage <- function(name) NULL
source(commandArgs(TRUE)[1])
sds <- c(.14, .04, .11, .01)
suppressWarnings({
  card_draw(card_design(50, 10), 200, 0, sds, .26)
  design <- card_design(100, 3)
  replicates <- card_draw(design, 200, .2, sds, .26)
})
for (i in 4:6) {
  design$resp <- replicates[[i]]
  fit <- suppressMessages(lmer(resp ~ model + (1 + model || worker) + (1 + model || item), design, REML = FALSE))
  cat(coef(summary(fit))["model", c("t value", "df", "Pr(>|t|)")], "\\n")
}
"""


@pytest.mark.needs_r
def test_p_values_of_refits_are_those_of_fits_of_their_own():
    """lmerTest evaluates the call of a fit again: after a refit, that must not find the first replicate's ratings.

    A refit starts at the first replicate's optimum, so both end within lme4's tolerance of each other: some 1e-4 in t
    and 1e-3 in df. With the wrong ratings the degrees of freedom were off by a factor of two.
    """
    command = ["Rscript", "--vanilla", "-e", DIRECTLY, str(ROOT / "r" / "card2020.R")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    t, df, p = np.array([line.split() for line in said.splitlines()], dtype=float).T
    ours = card2020.fits(TableCell("high", 0.2, 100, 3), 4, 6)
    np.testing.assert_allclose(ours["statistic"].to_numpy(), t, rtol=1e-3)
    np.testing.assert_allclose(ours["df"].to_numpy(), df, rtol=0.01)
    np.testing.assert_allclose(ours["p_value"].to_numpy(), p, rtol=0.02)


@pytest.mark.needs_r
def test_the_seed_is_the_published_one_unless_another_is_asked_for():
    cell = TableCell("high", 0.0, 50, 3)
    ours, published, other = (
        card2020.fits(cell, 1, 3, tested=False, **seed)["statistic"].to_numpy()
        for seed in ({}, {"seed": 101}, {"seed": 1})
    )
    np.testing.assert_array_equal(ours, published)
    assert (np.abs(ours - other) > 0.01).all()


def test_settings_that_share_their_draws_count_once():
    """200 replicates of one size, low and high: the interval of their mean is that of 200 and not of 400."""
    from scipy.stats import binomtest

    row = card2020._size(card2020.claims["size"], {("low", 50): 0.1, ("high", 50): 0.2})
    low, high = binomtest(30, 200).proportion_ci(0.95)
    assert row["ours"].startswith(f"0.150 [{low:.3f}, {high:.3f}]")
    rates = {0.05: "undecided", 0.03: "holds", 0.2: "does not hold"}
    assert {r: card2020._size(card2020.claims["size"], {("low", 50): r})["verdict"] for r in rates} == rates


def fake(cell, first, last):
    """Fits whose powers are known: as published at a difference, 10 % beyond ±1.96 without."""
    share = card2020.published.get(cell, 0.1)
    replicate = np.arange(first, last + 1)
    statistic = np.where(replicate <= round(200 * share), 2.5, 0.0)
    one = np.ones(len(replicate))
    return pa.table(
        {"replicate": replicate, "estimate": one, "std_error": one, "statistic": statistic, "df": one}
        | {"p_value": np.where(replicate <= 10, 0.01, 0.5)}
    )


def test_a_run_is_kept_resumed_and_compared(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(card2020, "fits", lambda *piece: calls.append(piece) or fake(*piece))
    chosen = list(card2020.cells(["high"], [0.05, 0.1], [50], [3]))
    result = card2020.reproduce(chosen, store=tmp_path / "fits")
    assert len(calls) == 3 * 10  # two cells and one without difference, 20 replicates per piece
    rows = result.tables["powers"].to_pylist()
    assert [(row["published"], row["ours"], row["equal"], row["two_sided"]) for row in rows] == [
        (0.235, 0.235, True, 0.05),
        (0.44, 0.44, True, 0.05),
    ]
    assert {row["false_abs_t"] for row in rows} == {0.1}
    judged = [*result.claims.to_pylist(), *result.left_open.to_pylist()]
    verdicts = {row["claim"].split()[0]: row["verdict"] for row in judged}
    assert verdicts == {"power": "undecided", "|t|": "undecided", "lmerTest's": "undecided"}
    assert [row["claim"].endswith("(3 workers)") for row in judged] == [False, True, True]
    assert result.claims.num_rows == 1, "the paper says nothing of false positives"
    (next((tmp_path / "fits").glob("high-diff0.1-*-replicates021-040.parquet"))).unlink()
    calls.clear()
    card2020.reproduce(chosen, store=tmp_path / "fits")
    assert calls == [(TableCell("high", 0.1, 50, 3), 21, 40)]


def test_all_48_equal_is_said_to_hold_and_one_other_not(monkeypatch):
    monkeypatch.setattr(card2020, "fits", fake)
    assert card2020.reproduce(false_positives=False).claims["verdict"].to_pylist() == ["holds"]
    monkeypatch.setitem(card2020.published, TableCell("low", 0.1, 50, 3), 0.9)
    monkeypatch.setattr(card2020, "fits", lambda *piece: fake(TableCell("high", *piece[0][1:]), *piece[1:]))
    assert card2020.reproduce(false_positives=False).claims["verdict"].to_pylist() == ["does not hold"]


def test_cells_outside_the_table_are_refused(tmp_path, capsys):
    with pytest.raises(InputError, match="items=60 is not in the published table"):
        list(card2020.cells(n_items=[60]))
    assert cli.main(["reproduce", "card2020", "--items", "60", "--out", str(tmp_path)]) == 2
    assert "choose from: 50, 100, 500" in capsys.readouterr().err
