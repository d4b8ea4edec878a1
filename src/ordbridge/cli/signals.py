"""Signals that ask the program to end: it says what is kept, and is gone within five seconds whatever it is doing.

The first signal raises :class:`Stopped` in the main thread; later ones change nothing. Where Python can only ignore an
exception, as in the callback of a weak reference, it is not shown and raised again. A library may swallow it, and
compiled code may keep the main thread from noticing the signal at all. So the system's own handler also wakes a thread,
which ends the process when the time is over. What a run has stored by then is whole at every moment.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any

PATIENCE = 3.0  # seconds that the program has to end by itself
AGAIN = 0.05  # seconds until an exception that was ignored is raised again
NUMBERS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # Ctrl-C, what batch systems send, and a terminal that is closed


class Stopped(KeyboardInterrupt):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number


class GracefulShutdown:
    """Listens while it is entered; ``code`` is the exit code that a signal asks for, None before there was one.

    ``patience`` is how many seconds the program has to end by itself.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        self.patience = PATIENCE
        self._raises, self._ignored = True, False
        self._over = threading.Event()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> GracefulShutdown:
        """Listen to the signals that nobody else listens to."""
        if threading.current_thread() is threading.main_thread():
            usual = (signal.SIG_DFL, signal.default_int_handler)
            self._before = {n: handler for n in NUMBERS if (handler := signal.getsignal(n)) in usual}
        if self._before:
            self._receiver, self._sender = socket.socketpair()
            self._sender.setblocking(False)
            threading.Thread(target=self._watch, name="ordbridge-shutdown", daemon=True).start()
            self._wakeup = signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
            self._hook, sys.unraisablehook = sys.unraisablehook, self._note_ignored
            for number in self._before:
                signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave signals to whom they were left before."""
        self._over.set()
        if self._before:
            for number, handler in self._before.items():
                signal.signal(number, handler)
            sys.unraisablehook = self._hook
            signal.set_wakeup_fd(self._wakeup)
            self._sender.close()  # which ends the thread

    def only_note(self) -> None:
        """Raise nothing from now on: the command is done, and what is left to do must not be cut short."""
        self._raises = False

    def leave(self, code: int) -> None:
        """End the process without the slow end of the interpreter, in which a signal would kill it silently."""
        if self.code not in (None, code):
            self._tell("ordbridge: stopped")
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code if self.code is None else self.code)

    def _handle(self, number: int, _: Any) -> None:
        first = self.code is None
        self.code = self.code or 128 + number
        if self._raises and (first or self._ignored):
            self._ignored = False
            raise Stopped(self.code - 128)

    def _note_ignored(self, what: Any) -> None:
        if isinstance(what.exc_value, Stopped):
            self._ignored = True  # and raised again by the thread, elsewhere
        else:
            self._hook(what)

    def _watch(self) -> None:
        """Wait for a signal in the system's handler, which Python's may follow late or never."""
        with self._receiver:
            while not (arrived := set(NUMBERS) & set(given := self._receiver.recv(64))):
                if not given:
                    return
            end = time.monotonic() + self.patience
            while not self._over.wait(AGAIN):
                if time.monotonic() > end:
                    self._tell("ordbridge: stopped, without waiting for the computation")
                    os._exit(self.code or 128 + min(arrived))
                if self._ignored:
                    os.kill(os.getpid(), min(arrived))

    def _tell(self, text: str) -> None:
        with suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)
