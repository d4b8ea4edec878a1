from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
import stub
from stub import same

from ordbridge.errors import BridgeError, InputError
from ordbridge.power import Grid, Progress, load
from ordbridge.power.fit_table import FITS
from ordbridge.power.models import resolve
from ordbridge.power.queue import Queue
from ordbridge.power.worker import FitTask


@pytest.mark.slow
def test_every_fit_leaves_a_row(grid, run_stub, tmp_path):
    run = run_stub(grid, store=tmp_path / "run")
    assert run.fits.schema.equals(FITS)
    keys = [(r["cell"], r["replicate"], r["model"]) for r in run.fits.to_pylist()]
    assert keys == [(cell.label, i, model) for cell in grid.cells for i in range(10) for model in ("lm", "clm")]
    assert set(run.fits["status"].to_pylist()) == {"ok", "warning"}
    again = load(tmp_path / "run")
    assert again.fits.equals(run.fits)
    assert again.power().equals(run.power())


@pytest.mark.slow
def test_all_models_see_the_same_dataset(grid, run_stub):
    fits = run_stub(grid).fits.to_pandas()
    loglik = fits.pivot(index=["cell", "replicate"], columns="model", values="loglik")
    difference = loglik["lm"] - loglik["clm"]  # minus the sum of ratings, coded from 1 for lm and from 0 for clm
    assert loglik["lm"].nunique() > 20
    assert set(difference) <= {-120.0, -180.0}


@pytest.mark.slow
def test_one_or_two_jobs_and_resumed_ten_times(grid, run_stub, tmp_path):
    one = run_stub(grid, jobs=1)
    two = run_stub(grid, jobs=2)
    for sims in range(1, 11):
        pieces = run_stub(grid, jobs=1 + sims % 2, datasets=sims, store=tmp_path / "pieces")
    assert same(one, two)
    assert same(one, pieces)


@pytest.mark.slow
def test_more_cells_and_replicates_change_nothing(grid, run_stub):
    small = run_stub(grid, datasets=5).fits.drop_columns(["seconds"]).to_pylist()
    wider = Grid(preset="howcroft2021", variance=["high", "low"], items=[30, 20], ratings_per_text=3, effect=[0.62, 0])
    large = run_stub(wider, datasets=8).fits.drop_columns(["seconds"]).to_pylist()
    assert all(row in large for row in small)
    assert len(large) == 8 * 8 * 2


@pytest.mark.slow
def test_a_poisoned_fit_is_tried_twice_alone_and_recorded(grid, run_stub, tmp_path, monkeypatch):
    monkeypatch.setenv("STUB_ATTEMPTS", str(tmp_path / "attempts"))
    _fresh_workers()
    few = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=[0.62])
    run = run_stub(few, stub.poisoned, jobs=2)
    rows = run.fits.to_pylist()
    crashed = [row for row in rows if row["status"] == "crashed"]
    assert [(row["replicate"], row["model"]) for row in crashed] == [(3, "lm")]
    assert "SIGSEGV" in crashed[0]["message"] and crashed[0]["p_value"] is None
    assert len(rows) == 20
    assert len((tmp_path / "attempts").read_text().splitlines()) == 3  # in its batch, and twice alone
    kept = [row | {"seconds": 0} for row in rows if row not in crashed]
    calm = [row | {"seconds": 0} for row in run_stub(few).fits.to_pylist()]
    assert kept == [row for row in calm if (row["replicate"], row["model"]) != (3, "lm")]
    assert run.failures()["n"].to_pylist() == [1]


@pytest.mark.slow
def test_workers_that_never_live_stop_the_run(grid, run_stub, tmp_path):
    with pytest.raises(BridgeError, match="die or fail one after the other"):
        run_stub(grid, stub.hopeless, store=tmp_path / "run")
    assert set(load(tmp_path / "run").fits["status"].to_pylist()) == {"crashed"}


@pytest.mark.slow
def test_a_killed_worker_is_replaced(grid, run_stub, tmp_path, monkeypatch):
    monkeypatch.setenv("STUB_ATTEMPTS", str(tmp_path / "mark"))
    _fresh_workers()
    disturbed = run_stub(grid, stub.dies_once, jobs=2)
    assert (tmp_path / "mark").exists()
    assert same(disturbed, run_stub(grid))


def test_timeouts_and_errors_are_recorded(grid, run_stub):
    late = run_stub(grid, stub.times_out, datasets=2, models=["lm"])
    assert set(late.fits["status"].to_pylist()) == {"timeout"}
    wrong = run_stub(grid, stub.goes_wrong, datasets=2, models=["lm"])
    assert set(wrong.fits["status"].to_pylist()) == {"error"}
    (group,) = wrong.failures().to_pylist()
    assert group["n"] == 8 and group["message"] == "division by zero"
    table = wrong.power()
    assert table["power"].null_count == table.num_rows
    assert set(table["note"].to_pylist()) == {"every fit failed: division by zero"}


def test_a_missing_r_stops_the_run(grid, run_stub):
    with pytest.raises(BridgeError, match="no R"):
        run_stub(grid, stub.no_r)


@pytest.mark.slow
def test_progress(grid, run_stub, tmp_path):
    told: list[Progress] = []
    run_stub(grid, stub.slow, datasets=20, store=tmp_path / "run", progress=told.append)
    assert told[0].done == 0 and told[-1].done == told[-1].total == 160
    assert any(p.rate > 0 and p.seconds_left is not None for p in told)
    told.clear()
    run_stub(grid, datasets=20, store=tmp_path / "run", progress=told.append)
    assert [(p.done, p.failures) for p in told] == [(160, 0)]


@pytest.mark.slow
def test_a_second_run_on_the_store_does_nothing_new(grid, run_stub, tmp_path):
    run_stub(grid, store=tmp_path / "run")
    parts = sorted((tmp_path / "run" / "fits").iterdir())
    run_stub(grid, stub.no_r, store=tmp_path / "run")  # would fail if anything were sent to a worker
    assert sorted((tmp_path / "run" / "fits").iterdir()) == parts


def test_small_cells_first_in_batches_that_grow_and_shrink(grid):
    models = resolve(["lm"], grid.cells)
    todo = {cell: (1000, iter([(FitTask(i, models[0], "r"),) for i in range(1000)])) for cell in grid.cells}
    queue = Queue(todo, models, seed=1, timeout=None, jobs=2)
    sizes, rows = [], []
    while batch := queue.next():
        sizes.append(len(batch.fits))
        rows.append(batch.cell.design.num_rows)
        queue.learn(batch, len(batch.fits) * rows[-1] / 18_000)
    assert rows == sorted(rows)
    assert sum(sizes) == 4000
    assert sizes[:2] == [1, 300] and sizes[-1] < 20  # two seconds of work; at the end less
    assert queue.seconds_left() == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"datasets": 0}, "datasets=0 must be"),
        ({"seed": -1}, "seed=-1 must be"),
        ({"seed": True}, "seed=True must be"),
        ({"alpha": 1.5}, "alpha=1.5"),
        ({"audit": 2}, "audit=2"),
        ({"timeout": 0}, "timeout=0"),
        ({"jobs": 0}, "jobs=0"),
        ({"engine": "julia"}, "engine='julia'"),
        ({"backend": "spark"}, "backend='spark'"),
        ({"models": []}, "is not a list of models"),
        ({"models": "lm"}, "is not a list of models"),
        ({"models": ["glm"]}, "there is no model 'glm'"),
        ({"models": {"lm": {"formla": "x"}}}, "no option 'formla'"),
        ({"models": {"lm": "rating ~ sytem"}}, "there is no column 'sytem'"),
        ({"models": {"lmer": "rating ~ system"}}, "no random effects"),
    ],
)
def test_refusals(grid, run_stub, options, sentence):
    with pytest.raises(InputError, match=sentence):
        run_stub(grid, **options)


def test_models_by_name_formula_and_option(grid):
    models = resolve(
        {"clmm": {}, "simple": {"kind": "clmm", "formula": "rating ~ system + (1 | item)", "link": "logit"}}, grid.cells
    )
    assert [m.name for m in models] == ["clmm", "simple"]
    assert models[0].formula == "rating ~ system + (system | participant) + (system | item)"
    assert (models[0].link, models[1].link, models[0].term) == ("probit", "logit", "system")


def test_lmer_is_fitted_as_users_fit_it_and_the_paper_as_published(grid):
    """``ob.lmer`` has REML; the published code of Howcroft & Rieser has REML = FALSE, and their preset keeps it."""
    from ordbridge.papers import howcroft2021
    from ordbridge.simulate import Truth

    own = Grid(truth=Truth(effects=0.3, thresholds=(-1, 1)), design="crossed", items=6, ratings_per_text=4)
    assert [resolve(["lmer"], g.cells, None, g.preset)[0].REML for g in (own, grid)] == [True, False]
    assert Grid.from_dict(grid.to_dict()).preset == "howcroft2021"
    assert resolve({"lmer": {"REML": True}}, grid.cells, None, grid.preset)[0].REML
    for name, one in {**howcroft2021._main(("corrected",), ("low",), False), **howcroft2021._questions()}.items():
        assert not resolve(howcroft2021.models, one.cells, None, one.preset)[2].REML, name


def test_three_systems_need_a_term():
    from ordbridge.simulate import Truth

    truth = Truth(effects=(0.0, 0.5), thresholds=(-1.0, 1.0))
    cells = Grid(truth=truth, design="crossed", items=6, ratings_per_text=4).cells
    with pytest.raises(InputError, match="systemB or systemC"):
        resolve(["clm"], cells)
    assert resolve(["clm"], cells, "systemC")[0].term == "systemC"
    vas = [dataclasses.replace(c, content=c.content.replace('"truth": {', '"truth": {"scale": "vas", ')) for c in cells]
    with pytest.raises(InputError, match="scale='vas'"):
        resolve(["clm"], vas, "systemC")


def _fresh_workers() -> None:
    """End the workers of earlier tests, so that new ones see this test's environment."""
    from ordbridge.power.backends import discard_workers

    discard_workers()


@pytest.mark.slow
def test_a_run_leaves_joblib_usable(grid, run_stub):
    """Power runs and a user's own parallel code take turns in one program."""
    from math import sqrt

    from joblib import Parallel, delayed

    assert Parallel(2)(delayed(sqrt)(i) for i in (1, 4)) == [1, 2]
    run_stub(grid, jobs=2)
    assert Parallel(2)(delayed(sqrt)(i) for i in (9, 16)) == [3, 4]
    run_stub(grid, jobs=2)


def test_the_time_left_grows_with_the_size_of_cells_as_measured(grid):
    """Small cells come first, so the time of large ones is a guess until two sizes are known; here it is a square."""

    @dataclasses.dataclass(frozen=True)
    class Sized:
        design: SimpleNamespace

        def __hash__(self) -> int:
            return self.design.num_rows

    cells = [Sized(SimpleNamespace(num_rows=rows)) for rows in (100, 400, 4000)]
    (model,) = resolve(["lm"], grid.cells)
    todo = {cell: (10, iter([(FitTask(i, model, "r"),) for i in range(10)])) for cell in cells}
    queue = Queue(todo, [model], seed=1, timeout=None, jobs=1)
    seconds = {cell: (cell.design.num_rows / 100) ** 2 for cell in cells}
    first = queue.next()
    queue.learn(first, seconds[cells[0]])
    assert 9 + 10 + 10 < queue.seconds_left() < 9 * 1 + 10 * 4 + 10 * 40  # more than one size, less than in proportion
    while (batch := queue.next()).cell == cells[0]:
        queue.learn(batch, len(batch.fits) * seconds[cells[0]])
    queue.learn(batch, len(batch.fits) * seconds[cells[1]])
    left = 10 - len(batch.fits)
    assert queue.seconds_left() == pytest.approx(left * seconds[cells[1]] + 10 * seconds[cells[2]])
