from __future__ import annotations

import os
import signal
from pathlib import Path

import pyarrow.compute as pc
import pytest
import stub
from stub import same

from ordbridge.errors import InputError
from ordbridge.power import run

pytest.importorskip("distributed")


def test_local_cluster_with_a_worker_killed_in_the_middle(grid, run_stub):
    import distributed

    quiet = run_stub(grid, sims=20)
    killed = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:

        def kill(progress):
            if not killed and 0 < progress.done < progress.total:
                nanny = next(iter(cluster.workers.values()))
                killed.append(nanny.pid)
                os.kill(nanny.pid, signal.SIGKILL)

        options = {"backend": "dask", "scheduler": cluster.scheduler_address, "progress": kill}
        disturbed = run_stub(grid, stub.slow, sims=20, **options)
    assert killed
    assert same(disturbed, quiet)


def test_r_inside_dask_workers(grid):
    """Dask runs tasks outside a worker's main thread, where R must work as well: the same table as from loky."""
    import distributed

    models = {"lm": {}, "clm": {}, "lmer": "rating ~ system + (1 | item)"}
    options = {"models": models, "sims": 3, "seed": 7, "engine": "ordinal"}
    expected = run(grid, jobs=2, **options).fits
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        found = run(grid, backend="dask", scheduler=cluster.scheduler_address, **options).fits
        with distributed.Client(cluster) as client:
            assert list(client.run(_r_is_loaded).values()) == [True, True]
    assert set(found["status"].to_pylist()) <= {"ok", "warning"}
    exact = pc.invert(pc.equal(found["model"], "lmer"))  # R's lmer is repeatable to about 1e-8 only
    keys = ["cell", "replicate", "model", "engine", "term", "status", "message"]
    assert found.select(keys).equals(expected.select(keys))
    for name in ("estimate", "std_error", "statistic", "df", "p_value", "loglik"):
        assert found[name].filter(exact).equals(expected[name].filter(exact)), name
        assert found[name].to_numpy() == pytest.approx(expected[name].to_numpy(), rel=1e-6, nan_ok=True), name


def _r_is_loaded() -> bool:
    return "libR.so" in Path("/proc/self/maps").read_text()


def test_a_cluster_of_our_own_even_if_slow_to_say_goodbye(grid, run_stub, monkeypatch):
    import distributed

    close, patience = distributed.LocalCluster.close, []

    def late(cluster, timeout=None):
        patience.append(timeout)
        close(cluster)
        raise TimeoutError

    monkeypatch.setattr(distributed.LocalCluster, "close", late)
    assert same(run_stub(grid, backend="dask", jobs=2), run_stub(grid))
    assert patience[0] == 10


def test_a_poisoned_fit_does_not_stop_dask(grid, run_stub, tmp_path, monkeypatch):
    from ordbridge.power import Grid

    monkeypatch.setenv("STUB_ATTEMPTS", str(tmp_path / "attempts"))
    few = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=[0.62])
    fits = run_stub(few, stub.poisoned, sims=6, backend="dask", jobs=2).fits.to_pylist()
    assert [(r["replicate"], r["model"]) for r in fits if r["status"] == "crashed"] == [(3, "lm")]
    assert len(fits) == 12


def test_a_scheduler_that_is_not_there(grid, run_stub, monkeypatch):
    import distributed

    def nobody(*_, **__):
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", nobody)
    with pytest.raises(InputError, match="no Dask scheduler at tcp://nowhere:1"):
        run_stub(grid, backend="dask", scheduler="tcp://nowhere:1")
