"""What commands say on the way: on stderr, so that stdout has results only."""

from __future__ import annotations

import argparse
import shlex
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordbridge.power import Progress

__all__ = ["compiling", "plainly", "progress", "stopped", "tell"]

PLAIN_SECONDS = 10.0  # between two lines where there is no terminal
PATIENCE = 3.0  # seconds before a reason for waiting is given: bad input is refused sooner


def tell(text: str) -> None:
    """Say a line."""
    print(text, file=sys.stderr, flush=True)


def stopped(store: str) -> None:
    """Say how to go on after Ctrl-C."""
    tell(f"stopped; what is done is kept in {store}. To go on:\n{shlex.join(['ordbridge', *sys.argv[1:]])}")


@contextmanager
def compiling(args: argparse.Namespace) -> Iterator[None]:
    """Say that the native engine compiles itself, if this command uses it, has to wait for that, and has begun."""
    if "fast" not in (getattr(args, "engine", None), getattr(args, "start", None)) or getattr(args, "quiet", False):
        yield
        return
    timer = threading.Timer(PATIENCE, _say_if_compiling)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _say_if_compiling() -> None:
    from ordbridge import fast

    if not fast.is_compiled():
        tell("the native engine compiles itself now, once for this installation: a minute or two")


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

        with Bar(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True)) as bar:
            task = bar.add_task("starting")
            yield lambda p: bar.update(task, completed=p.done, total=p.total, description=str(p))
    else:
        last = float("-inf")

        def line(progress: Progress) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= PLAIN_SECONDS or progress.done >= progress.total:
                last = now
                tell(str(progress))

        yield line
