"""Processes that are started here and do not hear Ctrl-C, which a terminal sends to all of them: this one ends them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["deaf_to_ctrl_c", "deaf_workers"]


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Let the processes that are started meanwhile never hear Ctrl-C; this one hears it afterwards.

    Python shows a traceback if it is pressed while it starts, long before a worker can say that it is not concerned.

    Examples
    --------
    >>> import subprocess, sys
    >>> code = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('still here')"
    >>> with deaf_to_ctrl_c():
    ...     print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
    still here
    """
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def deaf_workers() -> Iterator[None]:
    """Do the same where Python's own helper for worker processes may be started: that lets Ctrl-C through again."""
    from multiprocessing import resource_tracker

    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()
    with deaf_to_ctrl_c():
        yield
