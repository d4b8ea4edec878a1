"""R in this process: vanilla, silent, stoppable, usable from any thread, and alive afterwards."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.results import found

SLOW = "rating ~ system + (system | participant) + (system | item)"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )


def large() -> pd.DataFrame:
    random = np.random.default_rng(3)
    n = 4000
    participant, item = random.integers(0, 80, n), random.integers(0, 100, n)
    return pd.DataFrame(
        {
            "participant": [f"p{i}" for i in participant],
            "item": [f"i{i}" for i in item],
            "system": random.integers(0, 2, n),
            "rating": random.integers(1, 6, n),
        }
    )


def test_import_is_quick_and_starts_nothing() -> None:
    code = """
        import sys, time
        start = time.perf_counter()
        import ordbridge
        took = time.perf_counter() - start
        heavy = {"rpy2", "pandas", "scipy", "matplotlib", "joblib", "rich"} & set(sys.modules)
        print(took, sorted(heavy))
    """
    took, heavy = min(run(code).stdout.split(maxsplit=1) for _ in range(3))
    assert heavy.strip() == "[]"
    assert float(took) < 0.3  # measured without R; the least of three, as machines are shared


@pytest.mark.needs_r
def test_no_profile_or_workspace_is_read(tmp_path: Path) -> None:
    (tmp_path / ".Rprofile").write_text(
        f"file.create('{tmp_path}/profile-ran'); options(contrasts=c('contr.sum','contr.poly'))"
    )
    (tmp_path / ".Renviron").write_text("R_DEFAULT_PACKAGES=NULL\n")
    subprocess.run(["Rscript", "-e", f"y <- 'spoilt'; save.image('{tmp_path}/.RData')"], check=True)
    code = f"""
        import os; os.chdir({str(tmp_path)!r})
        import ordbridge as ob
        fit = ob.lm("y ~ x", {{"y": [1.0, 2.0, 4.0, 3.0], "x": list("abab")}})
        print(fit.estimates.terms, round(fit.estimates.estimate[1], 9))
    """
    done = run(code, HOME=str(tmp_path), R_PROFILE_USER=str(tmp_path / ".Rprofile"))
    assert done.stdout == "('(Intercept)', 'xb') 0.0\n", done.stderr
    assert done.stderr == ""
    assert not (tmp_path / "profile-ran").exists()


@pytest.mark.needs_r
def test_the_environment_of_child_processes_is_left_alone() -> None:
    code = """
        import os, ordbridge as ob
        before = dict(os.environ)
        ob.lm("y ~ x", {"y": [1.0, 2.0, 4.0], "x": [1, 2, 3]})
        names = ("LD_LIBRARY_PATH", "R_PROFILE_USER", "R_ENVIRON_USER")
        print([name for name in names if os.environ.get(name) != before.get(name)])
    """
    assert run(code).stdout == "[]\n"


@pytest.mark.needs_r
def test_warnings_and_messages_are_data_and_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    data = pd.DataFrame({"y": [1, 2, 3, 1, 2, 3, 2, 1], "x": range(8), "z": range(8)})
    fit = ob.clm("y ~ x + z", data)
    assert fit.estimates.dropped == ("z",)
    mixed = data.assign(g=list("aabbccdd"))
    with pytest.warns(ob.ConvergenceWarning):
        fit = ob.clmm("y ~ x + z + (1 | g)", mixed)
    words = "design is column rank deficient so dropping 1 coef"
    assert found("r-message", stage="fit", text=words) in fit.findings
    assert capfd.readouterr() == ("", "")


@pytest.mark.needs_r
def test_fits_from_many_threads_are_the_same(ratings: pd.DataFrame) -> None:
    fit = lambda _: ob.lmer("rating ~ system + (1 | participant)", ratings).estimates.p_value.tolist()  # noqa: E731
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(fit, range(12)))
    assert all(p == found[0] for p in found)
    assert found[0] == fit(0)


@pytest.mark.needs_r
def test_r_can_start_in_a_thread() -> None:
    code = """
        import threading, ordbridge as ob
        def work():
            print(ob.lm("y ~ x", {"y": [1.0, 2.0, 4.0], "x": [1, 2, 3]}).n_obs)
        thread = threading.Thread(target=work); thread.start(); thread.join()
        work()
    """
    done = run(code)
    assert done.stdout == "3\n3\n", done.stderr


@pytest.mark.needs_r
def test_a_forked_child_is_told() -> None:
    code = """
        import os, ordbridge as ob
        data = {"y": [1.0, 2.0, 4.0], "x": [1, 2, 3]}
        ob.lm("y ~ x", data)
        if os.fork() == 0:
            try:
                ob.lm("y ~ x", data)
            except ob.BridgeError as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
    """
    assert "start workers with loky or spawn" in run(code).stdout


@pytest.mark.needs_r
def test_workers_of_joblib(ratings: pd.DataFrame) -> None:
    from joblib import Parallel, delayed

    fits = Parallel(2)(delayed(ob.lm)("rating ~ system", ratings) for _ in range(4))
    here = ob.lm("rating ~ system", ratings)
    assert all(fit.tidy().equals(here.tidy()) for fit in fits)


@pytest.mark.needs_r
def test_a_fit_can_be_pickled(ratings: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ system + (1 | participant)", ratings)
    copy = pickle.loads(pickle.dumps(fit))
    assert copy.tidy().equals(fit.tidy())
    assert copy.predict().equals(fit.predict())


@pytest.mark.needs_r
def test_timeout_and_r_lives_on(ratings: pd.DataFrame) -> None:
    started = time.perf_counter()
    with pytest.raises(ob.FitTimeout, match="ran longer than 1 seconds"):
        ob.clmm(SLOW, large(), timeout=1)
    assert time.perf_counter() - started < 8
    assert ob.lm("rating ~ system", ratings).n_obs == 120


@pytest.mark.needs_r
def test_a_generous_timeout_changes_nothing(ratings: pd.DataFrame) -> None:
    formula = "rating ~ system + (1 | participant)"
    assert ob.clmm(formula, ratings, timeout=500).tidy().equals(ob.clmm(formula, ratings).tidy())


@pytest.fixture
def listening() -> Iterator[None]:
    """Python's own reaction to Ctrl-C, which a shell takes away from what it runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.needs_r
@pytest.mark.usefixtures("listening")
def test_ctrl_c_stops_a_fit_within_two_seconds(ratings: pd.DataFrame) -> None:
    ob.lm("rating ~ system", ratings)  # R is started
    sent: list[float] = []

    def interrupt() -> None:
        time.sleep(1.5)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        ob.clmm(SLOW, large())
    assert time.perf_counter() - sent[0] < 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert ob.lm("rating ~ system", ratings).n_obs == 120


@pytest.mark.needs_r
def test_an_error_of_r_names_stage_and_formula(ratings: pd.DataFrame) -> None:
    data = ratings.assign(length=-1.0)
    data.loc[0, "length"] = -2.0
    with pytest.raises(
        ob.FitError, match=r"R could not fit rating ~ log\(length\) \(lm, stage fit\): 0 \(non-NA\) cases"
    ):
        ob.lm("rating ~ log(length)", data)
