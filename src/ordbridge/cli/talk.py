"""What commands say while they run: on stderr, so that stdout has results only."""

from __future__ import annotations

import codecs
import io
import os
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ordbridge.cli import exits
from ordbridge.cli.signals import Stopped
from ordbridge.support.escaping import for_ascii, visible

if TYPE_CHECKING:
    from ordbridge.support.progress import Progress

FIRST_SECONDS, PLAIN_SECONDS = 5.0, 10.0  # before the first line and between two, where there is no terminal


def speak_ascii_where_needed() -> None:
    """Let output that is not Unicode replace what it cannot show, and a terminal of the C locale have ASCII."""
    codecs.register_error("ordbridge", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if _locale() in ("C", "POSIX") and stream.isatty() and "PYTHONIOENCODING" not in os.environ:
            stream.reconfigure(encoding="ascii", errors="ordbridge")
        elif not stream.encoding.lower().replace("-", "").startswith("utf"):
            stream.reconfigure(errors="ordbridge")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return for_ascii(error.object[error.start : error.end]), error.end


def _locale() -> str:
    """Return the locale that the user asked for; Python itself sets LC_CTYPE to C.UTF-8 where it is C."""
    given = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or ""
    return os.environ.get("LANG", "") if given == "C.UTF-8" and not os.environ.get("LC_ALL") else given


def tell(text: str) -> None:
    """Say a line."""
    print(visible(text), file=sys.stderr, flush=True)


def stopped(store: str, error: BaseException) -> int:
    """Say how to continue after Ctrl-C or the like, and return the exit code."""
    tell(f"stopped; finished fits are kept in {store}. {how_to_continue()}")
    return error.code if isinstance(error, Stopped) else exits.INTERRUPTED


def how_to_continue(how: str = "") -> str:
    """Return the command that is running, as an invitation."""
    return f"To continue{how}:\n{shlex.join(['ordbridge', *sys.argv[1:]])}"


@contextmanager
def plainly() -> Iterator[None]:
    """Show warnings, such as a damaged part, as plain lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: tell(f"warning: {message}")
        yield


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yield what shows the progress of a power run: a bar on a terminal, else a line now and then."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        with Bar(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("starting")
            yield lambda p: bar.update(task, completed=p.done, total=p.total, description=str(p))
    else:
        last = time.monotonic() - PLAIN_SECONDS + FIRST_SECONDS
        told = False

        def line(progress: Progress) -> None:
            nonlocal last, told
            now = time.monotonic()
            if now - last >= PLAIN_SECONDS or (told and progress.done >= progress.total):
                last, told = now, True
                tell(str(progress))

        yield line
