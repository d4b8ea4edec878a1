"""Signals while other processes are started, or R is at work: they wait, and children do not hear Ctrl-C at all.

A terminal sends Ctrl-C to all processes, and it is the first of them that ends the others.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class WaitingSignals:
    """Keeps Python's signal handlers waiting while something must not be cut in two, as R at work.

    A handler that raises an exception inside a callback of rpy2 would raise it for nobody: it is printed and lost. In
    the midst of starting a worker, the worker would be lost. So the signals are noted, and their handlers called
    afterwards. With ``interrupt`` the work was not finished, and KeyboardInterrupt is raised whatever the handlers do.
    """

    def __init__(self, interrupt: bool = False) -> None:
        self._interrupt = interrupt
        self._noted: list[int] = []
        self._waits = True
        self._handlers: dict[int, Callable[[int, Any], Any]] = {}
        if threading.current_thread() is threading.main_thread():  # where Python runs the handlers
            for number in SIGNALS:
                handler = signal.getsignal(number)
                handler = getattr(handler, "waiting", handler)  # one of ours that was not taken away in time
                if callable(handler):
                    self._handlers[number] = handler

    def note(self) -> None:
        """Let the handlers wait; to be called again whenever somebody else has changed them."""
        for number, handler in self._handlers.items():
            signal.signal(number, self._noting(handler))

    def _noting(self, handler: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
        def noting(number: int, frame: Any) -> None:
            if self._waits:
                self._noted.append(number)
            else:
                handler(number, frame)

        noting.waiting = handler  # type: ignore[attr-defined]
        return noting

    def __enter__(self) -> WaitingSignals:
        """Let them wait."""
        self.note()
        return self

    def __exit__(self, *_: object) -> None:
        """Call them."""
        self._waits = False  # a handler may raise its exception from here on, even before it is back in its place
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        for number in self._noted:
            self._handlers[number](number, None)
        if self._noted and self._interrupt:
            raise KeyboardInterrupt


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
    """Start workers: none hears Ctrl-C, and none is lost because a signal came in the midst of it.

    Python's own helper for worker processes lets Ctrl-C through again when it starts, so it is started first.
    """
    from multiprocessing import resource_tracker

    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()
    with WaitingSignals(), deaf_to_ctrl_c():
        yield
