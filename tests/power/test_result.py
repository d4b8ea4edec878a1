from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.power import Grid
from ordbridge.power.audit import audit


@pytest.fixture(scope="module")
def run():
    grid = Grid(preset="howcroft2021", variance=["high", "low"], items=20, ratings_per_text=[3, 10], effect=[0, 0.62])
    return ob.power.run(grid, models=["lm", "clm"], datasets=12, seed=5, jobs=2)


@pytest.mark.needs_r
def test_fits_are_those_of_the_models_on_simulated_ratings():
    """All four models through R: the same numbers as the public functions give on the same dataset."""
    grid = Grid(preset="howcroft2021", variance="representative", items=20, ratings_per_text=3, effect=0.62)
    simple = "rating ~ system + (1 | participant)"  # the maximal model would take half a minute
    run = ob.power.run(grid, models={"lm": {}, "clm": {}, "lmer": {}, "clmm": simple}, datasets=1, seed=11)
    (cell,) = grid.cells
    data = ob.simulate.ratings(cell.design, cell.truth, cell.stream(11, 0))
    mixed = "rating ~ system + (system | participant) + (system | item)"
    with pytest.warns() as _:  # small data: singular fits are expected
        fits = {
            "lm": ob.lm("rating ~ system", data),
            "clm": ob.clm("rating ~ system", data, link="probit"),
            "lmer": ob.lmer(mixed, data, REML=False),
            "clmm": ob.clmm(simple, data, link="probit"),
        }
    for row in run.fits.to_pylist():
        (tidy,) = [t for t in fits[row["model"]].tidy().to_pylist() if t["term"] == "system"]
        for name in ("estimate", "std_error", "statistic", "df", "p_value"):
            assert row[name] == (tidy[name] and pytest.approx(tidy[name], rel=1e-12)), (row["model"], name)
        assert row["converged"] == fits[row["model"]].converged
        assert row["singular"] == fits[row["model"]].singular
    assert "lmerTest" in str(run.manifest["environments"])


@pytest.mark.needs_r
def test_a_slow_fit_in_r_is_stopped_and_the_run_goes_on():
    """A maximal clmm of the published size takes R a quarter of a minute; the same R then fits the rest as ever."""
    grid = Grid(preset="howcroft2021", variance="low", items=50, ratings_per_text=3, effect=0.31)
    models = {"clmm": {}, "lm": {}, "clm": {}}
    rows = ob.power.run(grid, models, datasets=2, seed=4, timeout=1.0).fits.to_pylist()
    assert [(r["model"], r["status"]) for r in rows] == [("clmm", "timeout"), ("lm", "ok"), ("clm", "ok")] * 2
    for row in rows[::3]:
        assert row["message"].startswith("clmm ran longer than 1 seconds and was stopped: rating ~ system + ")
        assert 1.0 <= row["seconds"] < 8 and row["p_value"] is None
    patient = ob.power.run(grid, {"lm": {}, "clm": {}}, datasets=2, seed=4).fits.drop_columns(["seconds"]).to_pylist()
    assert [{k: v for k, v in r.items() if k != "seconds"} for r in rows if r["model"] != "clmm"] == patient


@pytest.mark.needs_r
def test_workers_start_after_r_has_started_here():
    """R's library path must not reach them: they would load the wrong libpython and die."""
    from ordbridge.power.backends import discard_workers

    ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]})
    discard_workers()
    grid = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=0)
    assert ob.power.run(grid, ["lm"], datasets=2).fits["status"].to_pylist() == ["ok", "ok"]


@pytest.mark.needs_r
def test_power_table(run):
    table = run.power()
    fits = run.fits.to_pandas()
    for row in table.to_pylist():
        p = fits[(fits.cell == row["cell"]) & (fits.model == row["model"])].p_value
        assert row["power"] == pytest.approx((p < 0.05).mean())
        assert row["measure"] == ("type-I error" if row["effect"] == 0 else "power")
        assert (row["n"], row["n_ok"], row["n_failed"], row["note"]) == (12, 12, 0, None)
    told = {"engine": "r", "alpha": "0.05", "seed": "5", "audit": "none", "calibration": "none"}
    assert table.schema.metadata == {name.encode(): value.encode() for name, value in told.items()}
    assert sum(run.power(alpha=0.5)["power"].to_pylist()) > sum(table["power"].to_pylist())
    with pytest.raises(InputError, match="alpha=5"):
        run.power(alpha=5)


@pytest.mark.needs_r
def test_compare(run):
    wide = run.fits.to_pandas().pivot(index=["cell", "replicate"], columns="model", values="p_value") < 0.05
    for row in run.compare("clm", "lm").to_pylist():
        here = wide.loc[row["cell"]]
        assert row["difference"] == pytest.approx(here.clm.mean() - here.lm.mean())
        assert row["only_a"] == (here.clm & ~here.lm).sum()
    with pytest.raises(InputError, match="no model 'clmm'; it has: lm, clm"):
        run.compare("clmm", "lm")
    with pytest.raises(InputError, match="with itself"):
        run.compare("lm", "lm")


@pytest.mark.needs_r
def test_bias_is_against_what_each_model_estimates(run):
    rows = run.bias().to_pylist()
    for row in rows:
        if row["model"] == "clm":
            assert row["truth"] == row["effect"]
        else:
            (cell,) = [c for c in run.grid.cells if c.label == row["cell"]]
            assert row["truth"] == ob.simulate.implied(cell.truth).differences["difference"][0].as_py()
        assert row["bias"] == pytest.approx(row["mean_estimate"] - row["truth"])
    at_zero = [row["truth"] for row in rows if row["model"] == "lm" and row["effect"] == 0]
    assert all(truth < -0.05 for truth in at_zero)  # latent 0 is no difference of 0 in mean ratings


@pytest.mark.needs_r
def test_failures_of_a_clean_run(run):
    assert run.failures().to_pylist() == []
    assert run.failures().column_names[:5] == ["model", "engine", "status", "message", "n"]


def test_audit_of_known_rows():
    rows = [
        ("a", 0, "clmm", 0.0400, 0.0404, -10.0, -10.0),  # 1 % apart, same decision
        ("a", 1, "clmm", 0.0490, 0.0510, -11.0, -11.5),  # 4 %, other decision
        ("a", 2, "clmm", 0.2000, 0.2000, -12.0, -12.0),
        ("a", 3, "clmm", None, 0.0100, None, -13.0),  # only R has a p-value, and it is significant
        ("a", 0, "lm", 0.5, 0.5, -1.0, -1.0),
    ]
    names = ["cell", "replicate", "model", "p_value", "loglik", "engine", "message"]
    fast = [(c, i, m, p, ll, "fast", None) for c, i, m, p, _, ll, _ in rows]
    r = [(c, i, m, p, ll, "r", "failed to converge") for c, i, m, _, p, _, ll in rows]
    alone = [("a", 9, "clmm", 0.3, -5.0, "fast", None)]  # not in the audit's sample
    table = pa.table(dict(zip(names, map(list, zip(*fast, *alone, *r, strict=True)), strict=True)))
    found = audit(table, ["lm", "clmm"], 0.05)
    lm, clmm = found.summary.to_pylist()
    assert (lm["compared"], lm["largest"], lm["decisions_differ"]) == (1, 0.0, 0)
    assert (clmm["compared"], clmm["failed_fast_only"], clmm["failed_r_only"]) == (3, 1, 0)
    assert clmm["largest"] == pytest.approx(0.002 / 0.051) and clmm["median"] == pytest.approx(0.0004 / 0.0404)
    assert clmm["decisions_differ"] == 2 and clmm["over_1_percent"] == 1
    (case,) = found.cases.to_pylist()
    assert (case["replicate"], case["loglik"], case["loglik_r"]) == (1, -11.0, -11.5)
    assert case["message_r"] == "failed to converge"
    assert "1 over 1% (the fast engine's likelihood is higher in 1)" in str(found)
    assert "4 fits compared with R" in str(found) and "2 decisions differ" in str(found)
    assert "no dataset" in str(audit(table.slice(0, 2), ["lm"], 0.05))


@pytest.mark.needs_r
def test_a_fast_run_with_its_audit(tmp_path):
    """The native engine, and half of the datasets through R as well."""
    grid = Grid(preset="howcroft2021", variance="representative", items=20, ratings_per_text=3, effect=[0, 0.62])
    models = {"lm": {}, "clm": {}, "lmer": "rating ~ system + (1 | item)", "clmm": "rating ~ system + (1 | item)"}
    options = {"models": models, "datasets": 6, "seed": 3, "engine": "fast", "store": tmp_path / "run"}
    run = ob.power.run(grid, **options)
    alone, power = run.fits, run.power()
    assert power.schema.metadata[b"audit"] == b"none"
    assert ob.figures.power_curves(run).texts == []  # no small print in the picture
    run = ob.power.run(grid, **options, audit=0.5)
    fits = run.fits.to_pandas()
    r = fits[fits.engine == "r"]
    assert 0 < len(r) < 48 and len(r) % 4 == 0
    assert fits[fits.engine == "fast"].reset_index(drop=True).equals(alone.to_pandas())
    assert run.power().equals(power)
    found = run.audit()
    assert found.summary["compared"].to_pylist() == [len(r) // 4] * 4
    assert max(found.summary["largest"].to_pylist()) < 1e-3
    assert found.summary["decisions_differ"].to_pylist() == [0] * 4
    metadata = run.power().schema.metadata
    assert metadata[b"engine"] == b"fast" and b"0.5 of the datasets" in metadata[b"audit"]
    assert "compared with R" in run.page().html()
    with_r = ob.power.run(grid, models=models, datasets=6, seed=3)
    assert ob.power.load(tmp_path / "run").audit().summary.equals(found.summary)
    p = with_r.fits["p_value"].to_numpy()
    assert alone["p_value"].to_numpy() == pytest.approx(p, rel=1e-3)


def test_audited_datasets_are_a_share_fixed_by_the_seed():
    from ordbridge.power.assignment import Assignment
    from ordbridge.power.models import resolve

    grid = Grid(preset="howcroft2021", variance="low", items=50, ratings_per_text=3, effect=[0, 0.31])
    models = resolve(["lm"], grid.cells)

    def audited(share: float, seed: int = 1) -> np.ndarray:
        assignment = Assignment(grid, models, 1000, seed, "fast", audit=share)
        return np.array([assignment.audited(cell, i) for cell in grid.cells for i in range(1000)])

    two, ten = audited(0.02), audited(0.1)
    assert 20 <= two.sum() <= 60 and 150 <= ten.sum() <= 250
    assert not (two & ~ten).any(), "a larger share must keep the datasets of a smaller one"
    assert (audited(0.1, seed=2) != ten).any()
    assert audited(1.0).all() and not audited(0.0).any()


@pytest.mark.needs_r
def test_power_curves(run, tmp_path):
    figure = ob.figures.power_curves(run)
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    each = ("3 ratings per text", "10 ratings per text")
    assert titles == [f"{variance} variance\n{n}" for variance in ("low", "high") for n in each]  # the paper's order
    names = [text.get_text() for text in figure.axes[1].texts]
    assert names == ["lm", "clm"]  # at the right end of a row; all have 20 items
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2 and line.get_marker() == "o"]
    assert {line.get_linestyle() for line in lines} == {"None"}  # two points make no line
    powers = {row["model"]: [] for row in run.power().to_pylist()}
    for row in run.power().to_pylist():
        if (row["variance"], row["ratings_per_text"]) == ("low", 3):
            powers[row["model"]].append(row["power"])
    drawn = [list(line.get_ydata()) for line in lines if line.get_color() == "#000000"]
    assert drawn == [powers["lm"], powers["clm"]]
    for ending in ("png", "svg", "pdf"):
        figure.savefig(tmp_path / f"curves.{ending}")
        assert (tmp_path / f"curves.{ending}").stat().st_size > 5000
