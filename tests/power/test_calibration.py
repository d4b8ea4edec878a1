"""Critical values from datasets without an effect, and power at them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.power import Grid
from ordbridge.power.calibration import adjusted_power, calibrated_difference, critical_value
from ordbridge.power.estimates import compare

RANDOM = 20_261


def two_sided(z: np.ndarray) -> np.ndarray:
    return 2 * norm.sf(np.abs(z))


@pytest.mark.parametrize(("m", "alpha"), [(99, 0.05), (19, 0.05), (250, 0.05), (99, 0.01)])
@pytest.mark.slow
def test_a_critical_value_has_the_size_that_it_should_have(m, alpha):
    """Of a p-value that is far too small: a new study without an effect falls below in ⌊alpha (m + 1)⌋ of m + 1."""
    random = np.random.default_rng(RANDOM)
    p = random.uniform(size=(4000, m + 1)) ** 3
    below = np.mean([row[0] < critical_value(row[1:], alpha).value for row in p])
    wanted = np.floor(alpha * (m + 1)) / (m + 1)
    assert abs(below - wanted) < 3.5 * np.sqrt(wanted / 4000)
    assert np.mean(p[:, 0] < alpha) > 3 * alpha  # what the same p-values do at their nominal level


def test_too_few_datasets_have_no_critical_value():
    assert np.isnan(critical_value(np.full(18, 0.001), 0.05).value)
    assert critical_value(np.full(19, 0.001), 0.05).value == 0.001


def test_a_missing_p_value_is_a_large_one():
    p = np.r_[np.arange(1, 98) / 1000, np.nan, np.nan]
    assert critical_value(p, 0.05) == critical_value(np.arange(1, 100) / 1000, 0.05)


@pytest.mark.parametrize(("n", "m", "shift"), [(200, 200, 1.5), (400, 1000, 2.8), (100, 2000, 1.0)])
def test_the_interval_covers_the_power_at_the_true_critical_value(n, m, shift):
    """A z statistic whose standard error is 30 % too small; an interval without the critical value's error is short."""
    random = np.random.default_rng(RANDOM)
    true = norm.sf(1.96 - shift) + norm.cdf(-1.96 - shift)
    covered, fixed = [], []
    for _ in range(600):
        p_null = two_sided(1.3 * random.standard_normal(m))
        p = two_sided(1.3 * (random.standard_normal(n) + shift))
        found = adjusted_power(p, critical_value(p_null, 0.05))
        low, high = found.interval()
        covered.append(low <= true <= high)
        low, high = found._replace(weight=1.0).interval()
        fixed.append(low <= true <= high)
    assert 0.935 <= np.mean(covered) <= 0.99
    if m <= 200:
        assert np.mean(fixed) < 0.85


@pytest.mark.slow
def test_the_interval_of_a_difference_covers_it():
    """Two statistics of the same studies, one of them with a standard error that is too small and more noise."""
    random = np.random.default_rng(RANDOM)

    def studies(n: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
        z, noise = random.standard_normal((2, n))
        return two_sided(1.4 * (z + shift)), two_sided((z + shift + 0.5 * noise) / np.sqrt(1.25))

    true = norm.sf(1.96 - 1.8) - norm.sf(1.96 - 1.8 / np.sqrt(1.25))
    covered = []
    for _ in range(120):
        null_a, null_b = studies(300, 0.0)
        a, b = studies(300, 1.8)
        at_a, at_b = (critical_value(p, 0.05).value for p in (null_a, null_b))
        row = compare(a < at_a, b < at_b)
        found = calibrated_difference(a, b, [(null_a, null_b)], 0.05, row)
        covered.append(found["conf_low"] <= true <= found["conf_high"])
    assert np.mean(covered) >= 0.90  # 95 % less two Monte Carlo errors


GRID = {"preset": "howcroft2021", "variance": "low", "items": 20, "ratings_per_text": 3}


def test_a_calibrated_run_has_size_nominal_and_adjusted_power(run_stub):
    run = run_stub(Grid(**GRID, effect=[0.31, 0.62]), datasets=30, null_datasets=60)
    fits = run.fits.to_pandas()
    assert list(run.manifest["null_cells"]) == ["null: variance=low items=20 ratings_per_text=3 effect=0"]
    assert run.power().column_names[-9:-1] == ["size", "size_low", "size_high", "critical_value", "adjusted_power",
                                               "adjusted_low", "adjusted_high", "size_n"]  # fmt: skip
    for row in run.power().to_pylist():
        null = fits[fits["cell"].str.startswith("null: ") & (fits["model"] == row["model"])]["p_value"].to_numpy()
        own = fits[(fits["cell"] == row["cell"]) & (fits["model"] == row["model"])]["p_value"].to_numpy()
        critical = np.sort(null)[2]  # the third of 60: 3/61 ≤ .05
        assert (row["n"], row["size_n"], row["measure"]) == (30, 60, "power")
        assert row["critical_value"] == critical and row["size"] == np.mean(null < 0.05)
        assert row["adjusted_power"] == np.mean(own < critical) and row["power"] == np.mean(own < 0.05)
        assert row["adjusted_low"] <= row["adjusted_power"] <= row["adjusted_high"]


def test_a_cell_without_an_effect_serves_as_the_null_of_the_others(run_stub):
    run = run_stub(Grid(**GRID, effect=[0, 0.62]), datasets=20, null_datasets=50)
    assert run.manifest["null_cells"] == {}
    nothing, something = (run.power().to_pylist()[i] for i in (0, 2))
    assert (nothing["n"], something["n"], something["size_n"]) == (50, 20, 50)
    assert something["size"] == nothing["power"] and nothing["adjusted_power"] is None


def test_nulls_are_added_to_a_run_that_is_there_and_stay(run_stub, tmp_path):
    grid, store = Grid(**GRID, effect=[0.62]), tmp_path / "run"
    plain = run_stub(grid, datasets=20, store=store)
    assert "size" not in plain.power().column_names
    before = plain.fits
    calibrated = run_stub(grid, datasets=20, store=store, null_datasets=20)
    assert calibrated.fits.num_rows == 2 * before.num_rows and calibrated.calibration == 20
    assert calibrated.fits.slice(0, before.num_rows).equals(before)  # nothing was fitted again
    again = run_stub(grid, datasets=25, store=store)
    assert list(again.manifest["null_cells"]) == list(calibrated.manifest["null_cells"]) != []
    assert again.calibration == 20 and again.power()["size_n"].to_pylist() == [20, 20]
    assert ob.power.load(store).power().equals(again.power())


@pytest.mark.slow
def test_nulls_do_not_depend_on_processes_or_on_when_they_were_asked_for(run_stub, tmp_path):
    grid = Grid(**GRID, effect=[0.62])
    run_stub(grid, datasets=6, store=tmp_path / "later")
    later = run_stub(grid, datasets=6, store=tmp_path / "later", null_datasets=30)
    at_once = run_stub(grid, datasets=6, null_datasets=30, jobs=2)
    assert at_once.power().equals(later.power())


@pytest.mark.slow
def test_models_are_compared_at_their_own_critical_values(run_stub):
    run = run_stub(Grid(**GRID, effect=[0, 0.62]), datasets=40, null_datasets=40)
    (row,) = run.compare("lm", "clm", calibrated=True).to_pylist()  # the null itself is left out
    power = {r["model"]: r["adjusted_power"] for r in run.power().to_pylist() if r["effect"]}
    assert (row["power_a"], row["power_b"]) == (power["lm"], power["clm"])
    assert row["p_value"] is None and row["conf_low"] <= row["difference"] <= row["conf_high"]


def test_what_is_not_calibrated_cannot_be_compared_so(run_stub):
    run = run_stub(Grid(**GRID, effect=[0.62]), datasets=3)
    with pytest.raises(InputError, match="no critical values; run it again with null_datasets="):
        run.compare("lm", "clm", calibrated=True)


def test_few_nulls_give_a_size_and_no_critical_value(run_stub):
    row = run_stub(Grid(**GRID, effect=[0.62]), datasets=5, null_datasets=10).power().to_pylist()[0]
    assert row["size"] is not None and row["critical_value"] is None and row["adjusted_power"] is None
