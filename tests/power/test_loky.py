"""A canary: the parts of loky that are not promised to stay, and that the backend needs."""

from __future__ import annotations

import inspect
import os
import signal

import pytest

from ordbridge.power.backends import LokyBackend, _is_usable, is_death


def test_the_pool_takes_what_the_backend_gives_it() -> None:
    from joblib.externals.loky import ProcessPoolExecutor

    assert {"max_workers", "timeout", "initializer", "initargs", "env"} <= set(
        inspect.signature(ProcessPoolExecutor).parameters
    )
    assert "kill_workers" in inspect.signature(ProcessPoolExecutor.shutdown).parameters


def test_the_flags_say_whether_a_pool_can_be_used() -> None:
    from joblib.externals.loky import ProcessPoolExecutor

    assert not _is_usable(None)
    pool = ProcessPoolExecutor(max_workers=1)
    try:
        assert _is_usable(pool)
        with pytest.raises(Exception, match="SIGKILL") as death:
            pool.submit(os.kill, pool.submit(os.getpid).result(), signal.SIGKILL).result()
        assert is_death(death.value)
        assert not _is_usable(pool), "a pool that lost a worker says so"
    finally:
        pool.shutdown(kill_workers=True)
    ended = ProcessPoolExecutor(max_workers=1)
    ended.shutdown(kill_workers=True)
    assert not _is_usable(ended), "a pool that was shut down says so"


def test_a_broken_pool_is_replaced() -> None:
    backend = LokyBackend(1)
    first = backend._executor
    backend.kill()
    backend.renew()
    assert backend._executor is not first
    backend.kill()
