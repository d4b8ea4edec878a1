"""The one R of this process: started at the first call, vanilla, shared by all threads, one call at a time."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ordbridge.bridge import remedies
from ordbridge.errors import BridgeError, InputError
from ordbridge.support.child_processes import SIGNALS, WaitingSignals, deaf_to_ctrl_c
from ordbridge.support.temp_cleanup import private_folder

SCRIPTS = ("baseline.R", "probe.R")  # run by Rscript; the other files hold functions
LOCALES = ("C.UTF-8", "en_US.UTF-8", "C.utf8")
_starting = threading.Lock()
_session: _Session | None = None


class Answer(NamedTuple):
    """What came back from R: a status (``ok``, ``error`` or ``timeout``), the value, and everything that R reported."""

    status: str
    value: Any
    error: str
    stage: str
    conditions: tuple[tuple[str, str, str], ...]


def call(function: str, arguments: Mapping[str, Any], timeout: float | None = None) -> Answer:
    """Call one of the functions in ``r/`` and return its answer.

    Parameters
    ----------
    function
        Its name.
    arguments
        Its arguments: numbers, text, arrays, and nested lists and mappings of them.
    timeout
        Seconds after which R gives up; it can still be used.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C was pressed, or another signal came that Python listens to; R has stopped and can still be used.
    ordbridge.InputError
        The R function refused its input with a sentence for the user.
    """
    session = _get_session()
    with session.lock, session.interruptible():
        answer = session.evaluate(function, arguments, float("inf") if timeout is None else float(timeout))
    if answer["status"] == ["interrupt"]:
        raise KeyboardInterrupt
    if answer["status"] == ["refused"]:
        raise InputError(answer["error"][0])
    said = zip(answer["said_stage"], answer["said_kind"], answer["said_text"], strict=True)
    return Answer(answer["status"][0], answer["value"], answer["error"][0], answer["stage"][0], tuple(said))


def require(*packages: str) -> None:
    """Load packages of R, or say which is missing and how to install it."""
    session = _get_session()
    for package in packages:
        if package in session.loaded:
            continue
        with session.lock, session.interruptible():
            found = session.load(package)
        if not found:
            raise BridgeError(f"R has no package {package!r}; install it: {remedies.for_packages()}")
        session.loaded.add(package)


def _get_session() -> _Session:
    global _session
    with _starting:
        if _session is None:
            with WaitingSignals() as waiting, deaf_to_ctrl_c():  # half-way, R would be left half started
                _session = _Session(waiting)
        elif _session.process != os.getpid():
            raise BridgeError(
                "R was started before this process was forked and cannot be shared; start workers with loky or spawn"
            )
        return _session


def r_folder() -> Path:
    """Return the folder with the R functions: inside an installed wheel, or at the project's root."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "r", package.parents[1] / "r"):
        if (folder / "conditions.R").is_file():
            return folder
    raise BridgeError(f"the R functions of ordbridge are missing next to {package}; install ordbridge again")


def choose_rpy2_mode() -> None:
    """Keep rpy2 from complaining on the console where its compiled interface was not built: the other one serves."""
    if importlib.util.find_spec("_rinterface_cffi_api") is None:
        os.environ.setdefault("RPY2_CFFI_MODE", "ABI")


@contextmanager
def _sheltered_environment() -> Iterator[None]:
    """Shelter R from the user's files, and later child processes from R's library path.

    On its way to R, rpy2 runs an Rscript that would read profile and environment files, and it sets R's
    LD_LIBRARY_PATH, with which another Python may load the wrong libpython. This process does not need that path: its
    loader read it at the start. What R and rpy2 write to temporary files goes into a folder that is removed even if
    this process is killed.
    """
    files = ("R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER")
    before = {name: os.environ.get(name) for name in (*files, "LD_LIBRARY_PATH", "TMPDIR")}
    os.environ.update({**dict.fromkeys(files, os.devnull), "TMPDIR": str(private_folder())})
    folder, tempfile.tempdir = tempfile.tempdir, str(private_folder())  # which Python has looked up once and for all
    try:
        yield
    finally:
        tempfile.tempdir = folder
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _Session:
    def __init__(self, waiting: WaitingSignals) -> None:
        choose_rpy2_mode()
        if os.name == "posix" and not os.environ.get("R_HOME") and shutil.which("R") is None:
            raise BridgeError(remedies.no_r())  # before rpy2 says it on the console, in its own words
        try:
            with warnings.catch_warnings(), _sheltered_environment():
                warnings.simplefilter("ignore")  # on starting outside the main thread, where Ctrl-C does not arrive
                import rpy2.rinterface as ri
                from rpy2.rinterface_lib import callbacks, embedded, openrlib

                if openrlib.R_HOME is None:
                    raise BridgeError(remedies.no_r())
                # A user's profile, saved workspace or environment file must not change results.
                options: Any = ("rpy2", "--vanilla", "--quiet", "--no-save")
                embedded.set_initoptions(options)
                ri.initr()
                waiting.note()  # rpy2 has set a handler
        except BridgeError:
            raise
        except Exception as error:
            raise BridgeError(remedies.explain(error)) from None
        self.process = os.getpid()
        self.lock = openrlib.rlock
        self.loaded: set[str] = set()
        self._evaluate: Any = ri.evalr
        self._rlib, self._callbacks = openrlib.rlib, callbacks
        self._relay: _InterruptRelay | None = None
        with self.lock:
            self._prepare()

    def _prepare(self) -> None:
        evaluate = self._evaluate
        evaluate('invisible(Sys.setenv(LANGUAGE = "en"))')
        evaluate('invisible(Sys.setlocale("LC_COLLATE", "C"))')
        for locale in LOCALES:  # names of columns may hold any letter
            if evaluate(f'suppressWarnings(Sys.setlocale("LC_CTYPE", "{locale}"))')[0]:
                break
        self.functions = evaluate('new.env(parent = asNamespace("stats"))')
        source = evaluate("function(file, env) sys.source(file, env, keep.source = FALSE)")
        for file in sorted(r_folder().glob("*.R")):
            if file.name not in SCRIPTS:
                source(str(file), self.functions)
        # captured() takes its expression unevaluated, so that conditions are caught where they arise.
        self._captured = evaluate(
            "function(env) function(name, arguments, timeout)"
            " env$captured(do.call(env[[name]], arguments, quote = TRUE), timeout)"
        )(self.functions)

    def evaluate(self, function: str, arguments: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        from ordbridge.bridge.values import from_r, to_r

        answer: dict[str, Any] = from_r(self._captured(to_r(function), to_r(arguments), to_r(timeout)))
        return answer

    def load(self, package: str) -> bool:
        """Load a package's namespace without attaching it."""
        found = self._evaluate("function(p) suppressWarnings(suppressMessages(requireNamespace(p, quietly = TRUE)))")
        return bool(found(package)[0])

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a signal stop R, where Python's own handling would wait for the end of the call."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        if self._relay is None:
            self._relay = _InterruptRelay(self._rlib)
        with WaitingSignals(interrupt=True), self._relay.listening(), self._without_a_word():
            yield

    @contextmanager
    def _without_a_word(self) -> Iterator[None]:
        """Keep to ourselves the empty line that R writes when it is interrupted, which rpy2 would log."""
        before, self._callbacks.consolewrite_warnerror = self._callbacks.consolewrite_warnerror, lambda _: None
        try:
            yield
        finally:
            self._callbacks.consolewrite_warnerror = before


class _InterruptRelay:
    """Tells R of a signal while the main thread is inside R and cannot run Python's signal handlers.

    Python's C-level handler writes the signal's number to a socket at once; a thread that waits there sets R's flag.
    """

    def __init__(self, rlib: Any) -> None:
        self._rlib = rlib
        self._receiver, self._sender = socket.socketpair()
        self._sender.setblocking(False)
        self._active, self._before = False, -1
        self._guard = threading.Lock()
        threading.Thread(target=self._watch, name="ordbridge-interrupts", daemon=True).start()

    def _watch(self) -> None:
        while numbers := self._receiver.recv(64):
            with self._guard:
                if self._active and set(SIGNALS) & set(numbers):
                    self._rlib.R_interrupts_pending = 1
            if self._before >= 0:
                with suppress(OSError):
                    os.write(self._before, numbers)  # for who listened before

    @contextmanager
    def listening(self) -> Iterator[None]:
        self._before = signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        self._active = True
        try:
            yield
        finally:
            with self._guard:  # a signal that comes too late must not stop the next call
                self._active = False
                self._rlib.R_interrupts_pending = 0
            signal.set_wakeup_fd(self._before)
