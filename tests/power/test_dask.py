from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pyarrow.compute as pc
import pytest
import stub
from stub import same

from ordbridge.errors import ClusterError
from ordbridge.power import dask_backend, load, run

pytest.importorskip("distributed")


@pytest.mark.slow
def test_local_cluster_with_a_worker_killed_in_the_middle(grid, run_stub):
    import distributed

    quiet = run_stub(grid, datasets=20)
    killed = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:

        def kill(progress):
            if not killed and 0 < progress.done < progress.total:
                nanny = next(iter(cluster.workers.values()))
                killed.append(nanny.pid)
                os.kill(nanny.pid, signal.SIGKILL)

        options = {"backend": cluster.scheduler_address, "progress": kill}
        disturbed = run_stub(grid, stub.slow, datasets=20, **options)
    assert killed
    assert same(disturbed, quiet)


@pytest.mark.needs_r
def test_r_inside_dask_workers(grid):
    """Dask runs tasks outside a worker's main thread, where R must work as well: the same table as from loky."""
    import distributed

    models = {"lm": {}, "clm": {}, "lmer": "rating ~ system + (1 | item)"}
    options = {"models": models, "datasets": 3, "seed": 7, "engine": "r"}
    expected = run(grid, jobs=2, **options).fits
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        found = run(grid, backend=cluster.scheduler_address, **options).fits
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


@pytest.mark.slow
def test_a_cluster_of_our_own_even_if_slow_to_say_goodbye(grid, run_stub, monkeypatch):
    import distributed

    close, patience = distributed.LocalCluster.close, []

    def late(cluster, timeout=None):
        patience.append(timeout)
        close(cluster)
        raise TimeoutError

    monkeypatch.setattr(distributed.LocalCluster, "close", late)
    before = dict(os.environ)
    assert same(run_stub(grid, backend="dask", jobs=2), run_stub(grid))
    assert patience[0] == 10
    assert dict(os.environ) == before, "Dask's nannies change the environment of this process"


@pytest.mark.slow
def test_a_poisoned_fit_does_not_stop_dask(grid, run_stub, tmp_path, monkeypatch):
    from ordbridge.power import Grid

    monkeypatch.setenv("STUB_ATTEMPTS", str(tmp_path / "attempts"))
    few = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=[0.62])
    fits = run_stub(few, stub.poisoned, datasets=6, backend="dask", jobs=2).fits.to_pylist()
    assert [(r["replicate"], r["model"]) for r in fits if r["status"] == "crashed"] == [(3, "lm")]
    assert len(fits) == 12


@pytest.mark.slow
def test_a_scheduler_that_is_not_there(grid, run_stub, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_backend, "CONNECT_SECONDS", 1)
    sentence = r"no Dask scheduler at tcp://127.0.0.1:1 \(.*\); 0 of 80 fits are stored in .*run$"
    with pytest.raises(ClusterError, match=sentence):
        run_stub(grid, backend="tcp://127.0.0.1:1", store=tmp_path / "run")
    run_stub(grid, store=tmp_path / "run")


CLUSTER = """
import sys
from distributed import Nanny, Scheduler, Worker
import asyncio
async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard_address="127.0.0.1:0") as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(main())
"""


@pytest.fixture
def cluster(tmp_path):
    """Start a scheduler and a worker as programs of their own, as on a cluster; return address and both."""
    where = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(Path(stub.__file__).parent)}}
    scheduler = subprocess.Popen([sys.executable, "-c", CLUSTER], stdout=subprocess.PIPE, text=True, **where)
    address = scheduler.stdout.readline().strip()
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, *options]
    worker = subprocess.Popen(command, stderr=subprocess.DEVNULL, **where)
    yield address, scheduler, worker
    for program in (worker, scheduler):
        program.kill()
        program.wait()
    scheduler.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gone", "sentence"),
    [
        ("scheduler", "no longer answers"),
        ("worker", "are gone"),
    ],
)
def test_a_cluster_that_dies_is_one_sentence_and_the_same_call_goes_on(
    grid, run_stub, tmp_path, monkeypatch, cluster, gone, sentence
):
    monkeypatch.setattr(dask_backend, "PATIENCE", 5.0)
    address, scheduler, worker = cluster
    killed = []

    def kill(progress):
        if not killed and progress.done:
            killed.append(time.monotonic())
            {"scheduler": scheduler, "worker": worker}[gone].kill()

    options = {"backend": address, "datasets": 20, "store": tmp_path / "run"}
    with pytest.raises(ClusterError, match=rf"{address} {sentence}; \d+ of 160 fits are stored in") as error:
        run_stub(grid, stub.slow, progress=kill, **options)
    assert killed
    stored = int(str(error.value).rpartition(";")[2].split()[0])
    assert 0 < load(tmp_path / "run").fits.num_rows == stored < 160
    assert same(run_stub(grid, datasets=20, store=tmp_path / "run"), run_stub(grid, datasets=20))


@pytest.mark.slow
def test_the_command_says_how_to_go_on_without_the_cluster(tmp_path, monkeypatch, capsys):
    from ordbridge.cli import main

    monkeypatch.setattr(dask_backend, "CONNECT_SECONDS", 1)
    arguments = ["power", "--preset", "howcroft2021", "--variance", "low", "--items", "20", "--ratings-per-text", "3"]
    arguments += ["--engine", "fast", "--models", "lm", "--datasets", "2", "--store", str(tmp_path / "run"), "--quiet"]
    monkeypatch.setattr(sys, "argv", ["ordbridge", *arguments])
    assert main([*arguments, "--backend", "tcp://127.0.0.1:1"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("ordbridge power: there is no Dask scheduler at tcp://127.0.0.1:1 (")
    assert (
        "fits are stored in" in said
        and "To continue, with a cluster that answers or without one:\nordbridge power" in said
    )
    assert said.count("\n") == 2


STRANGER = """
import sys
from distributed import Client, Security
def write(path): open(path, "w").write("a stranger was here")
for address in (sys.argv[1], sys.argv[1].replace("tls://", "tcp://")):
    for security in (None, Security.temporary()):
        try:
            with Client(address, security=security, timeout=3) as client:
                client.run_on_scheduler(write, sys.argv[2])
                client.run(write, sys.argv[2])
        except Exception as error:
            print(type(error).__name__)
"""


@pytest.mark.slow
def test_nobody_else_can_use_a_cluster_of_our_own(tmp_path):
    """Its ports are open to all users of the machine, so that it must know its own workers."""
    import urllib.error
    import urllib.request

    backend = dask_backend.DaskBackend(1, None)
    try:
        address = backend._cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        command = [sys.executable, "-c", STRANGER, address, str(tmp_path / "mark")]
        tried = subprocess.run(command, capture_output=True, text=True, check=True)
        assert len(tried.stdout.splitlines()) == 4, tried.stdout
        assert not (tmp_path / "mark").exists()
        server = backend._cluster.scheduler.http_server
        ports = [s.getsockname() for s in server._sockets.values()]
        assert ports and all(host == "127.0.0.1" and port != 8787 for host, port in ports)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{ports[0][1]}/info/main/workers.html")
        assert backend.answer(backend.submit(abs, -3)) == 3, "our own client can"
    finally:
        backend.close()


def test_tls_without_certificates_is_a_sentence(grid, run_stub, tmp_path, monkeypatch):
    def connect(*_, **__):
        raise TypeError("TLS expects a `ssl_context` argument of type ssl.SSLContext")

    monkeypatch.setattr("distributed.Client", connect)
    with pytest.raises(ClusterError, match=r"the Dask scheduler at tls://127.0.0.1:9 cannot be used \(TLS expects"):
        run_stub(grid, store=tmp_path / "run", backend="tls://127.0.0.1:9")


def _told(python: str = "3.11.7", ordbridge: str = "0.2.0", distributed: str = "2026.1.0") -> dict:
    return {"host": {"python": python}, "packages": {"ordbridge": ordbridge, "distributed": distributed}}


def _backend(workers: dict, scheduler: dict) -> dask_backend.DaskBackend:
    backend = dask_backend.DaskBackend.__new__(dask_backend.DaskBackend)
    told = {"client": _told(), "scheduler": scheduler, "workers": workers}
    backend._address, backend._client = "tcp://there", SimpleNamespace(get_versions=lambda packages: told)
    return backend


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (_told(ordbridge="0.1.0"), r"the worker tcp://b has ordbridge 0\.1\.0, and here is 0\.2\.0; install the same"),
        (_told(python="3.13.1"), r"the worker tcp://b has Python 3\.13, and here is 3\.11"),
        ({"host": {}, "packages": {}}, r"the worker tcp://b has Python unknown"),
    ],
)
def test_workers_of_another_version_are_a_sentence(other, said):
    with pytest.raises(ClusterError, match=said):
        _backend({"tcp://a": _told(python="3.11.9"), "tcp://b": other}, _told())._compare_versions()


def test_a_scheduler_of_another_version_is_a_warning():
    with pytest.warns(UserWarning, match=r"has distributed 2020\.1\.0 and this program 2026\.1\.0"):
        _backend({}, _told(distributed="2020.1.0"))._compare_versions()


@pytest.mark.parametrize("error", [ImportError("no module"), KeyError("compression"), TypeError("x")])
def test_a_scheduler_that_speaks_otherwise_is_a_sentence(error, monkeypatch):
    import distributed

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(distributed, "Client", fail)
    with pytest.raises(ClusterError, match="the Dask scheduler at tcp://there cannot be used"):
        dask_backend.DaskBackend(1, "tcp://there")


@pytest.mark.slow
def test_nothing_of_dask_is_said_under_quiet(tmp_path):
    words = [
        "--preset",
        "howcroft2021",
        "--variance",
        "low",
        "--items",
        "20",
        "--ratings-per-text",
        "3",
        "--effect",
        "0.62",
    ]
    words += ["--models", "lm", "--engine", "fast", "--datasets", "4", "--jobs", "1", "--backend", "dask", "--quiet"]
    command = [sys.executable, "-m", "ordbridge", "power", *words, "--store", "run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
