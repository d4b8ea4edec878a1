"""Failures of the machine say nothing about a fit: they leave no row, and are tried again."""

from __future__ import annotations

import os
import signal
import warnings

import pytest
import stub
from stub import same

from ordbridge.power import Grid, runner
from ordbridge.power.backends import discard_workers
from ordbridge.power.faults import is_of_the_machine


@pytest.fixture
def few() -> Grid:
    return Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=[0.62])


@pytest.fixture(autouse=True)
def fresh_workers(tmp_path, monkeypatch):
    """Let the workers of a test see its environment, and those of the next one theirs."""
    monkeypatch.setenv("STUB_ATTEMPTS", str(tmp_path / "attempts"))
    discard_workers()
    yield
    discard_workers()


def test_what_is_of_the_machine():
    words = (
        "cannot allocate vector of size 8.9 Gb",
        "Unable to allocate 3.1 GiB for an array with shape (20000, 20000)",
        "std::bad_alloc",
        "libR.so: failed to map segment from shared object: Cannot allocate memory",
        "can't start new thread",
        "cannot open file 'x': Too many open files",
    )
    for text in words:
        assert is_of_the_machine(RuntimeError(text)), text
    for error in (MemoryError(), OSError(24, "Too many open files"), OSError(12, "")):
        assert is_of_the_machine(error)
    for error in (ValueError("Singular matrix"), FileNotFoundError(2, "No such file"), RuntimeError("")):
        assert not is_of_the_machine(error)


@pytest.mark.slow
def test_a_fit_without_memory_leaves_no_row_and_is_done_on_resuming(few, run_stub, tmp_path):
    with pytest.warns(UserWarning, match=r"^1 of 20 fits could not be done because of the machine \(MemoryError\)"):
        short = run_stub(few, stub.without_memory, store=tmp_path / "run")
    assert short.fits.num_rows == 19 and short.missing == 1
    assert set(short.fits["status"].to_pylist()) <= {"ok", "warning"}
    assert short.power()["n_failed"].to_pylist() == [0, 0]
    whole = run_stub(few, store=tmp_path / "run")
    assert same(whole, run_stub(few)) and not whole.missing


@pytest.mark.slow
def test_memory_that_is_short_for_a_moment_is_not_noticed(few, run_stub, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(run_stub(few, stub.without_memory_once, store=tmp_path / "run"), run_stub(few))


@pytest.mark.slow
def test_a_fit_whose_process_is_killed_from_outside_leaves_no_row(few, run_stub, tmp_path):
    with pytest.warns(UserWarning, match=r"because of the machine \(the worker process died \(SIGKILL\)\)"):
        killed = run_stub(few, stub.killed, jobs=2, store=tmp_path / "run")
    assert killed.fits.num_rows == 19 and killed.failures().num_rows == 0
    assert same(run_stub(few, store=tmp_path / "run"), run_stub(few))


@pytest.mark.slow
def test_a_crash_is_tried_again_on_resuming(few, run_stub, tmp_path):
    """Under a limit of memory OpenBLAS and others die of SIGSEGV, which nobody can tell from a fault of the fit."""
    crashed = run_stub(few, stub.poisoned, store=tmp_path / "run")
    assert crashed.failures()["n"].to_pylist() == [1]
    told = []
    again = run_stub(few, stub.poisoned, store=tmp_path / "run", progress=told.append)
    assert same(again, crashed) and told[-1].done == told[-1].total == 20 and told[-1].failures == 1
    whole = run_stub(few, store=tmp_path / "run", progress=told.append)
    assert same(whole, run_stub(few))
    assert told[-1].done == told[-1].total == 20 and told[-1].failures == 0


@pytest.mark.slow
def test_a_stopped_worker_does_not_hold_up_a_run_with_a_time_limit(few, run_stub, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "GRACE", 5.0)
    disturbed = run_stub(few, stub.stopped_once, jobs=2, timeout=5.0, store=tmp_path / "run")
    assert (tmp_path / "attempts").exists()
    assert same(disturbed, run_stub(few))


@pytest.mark.slow
def test_a_stopped_worker_is_named_and_can_go_on(few, run_stub, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "SILENCE", 0.3)
    said = []

    def let_go_on(message, *_, **__):
        said.append(str(message))
        os.kill(int(said[-1].rpartition(" ")[2]), signal.SIGCONT)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", let_go_on)
        disturbed = run_stub(few, stub.stopped_once, store=tmp_path / "run")
    assert len(said) == 1 and "has been stopped (SIGSTOP) and the run waits for it; let it go on: kill -CONT" in said[0]
    assert same(disturbed, run_stub(few))


@pytest.mark.slow
def test_a_fit_that_ignores_its_time_limit_is_ended_from_outside(few, run_stub, tmp_path, monkeypatch):
    """Compiled code does not look at the clock: what is over its time is ended with its process, and recorded."""
    monkeypatch.setattr(runner, "GRACE", 1.0)
    run = run_stub(few, stub.hangs, datasets=4, timeout=5.0, store=tmp_path / "run")
    late = [row for row in run.fits.to_pylist() if row["status"] == "timeout"]
    assert [(row["replicate"], row["model"]) for row in late] == [(3, "lm")]
    assert late[0]["message"] == "lm ran longer than 5 seconds: rating ~ system"
    assert run.fits.num_rows == 8
