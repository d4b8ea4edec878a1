"""One computation in a process of its own: what it says while it runs, and what it says in the end."""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # there is none on Windows
    resource = None  # type: ignore[assignment]

from ordbridge.app import analyses, next_study
from ordbridge.app.given import Given
from ordbridge.app.labels import labelled
from ordbridge.errors import BridgeError, ClusterError, FitError, InputError
from ordbridge.power.faults import is_of_the_machine
from ordbridge.support.naming import names_as
from ordbridge.support.progress import Progress
from ordbridge.support.writing import FULL

KINDS: dict[str, Callable[[Given], dict[str, Any]]] = {
    "recognise": analyses.recognise,
    "compare": analyses.compare_systems,
    "raters": analyses.check_raters,
    "pilot": next_study.pilot,
    "confirm": next_study.confirm,
    "plan": next_study.search,
}


def carry_out(
    connection: Connection,
    kind: str,
    study: str,
    uploads: tuple[tuple[str, ...], str | None, str | None],
    options: dict[str, Any],
    name: str,
    memory: float,
) -> None:
    """Do one thing and send progress, and in the end what was found, or a sentence that says why not."""
    folder = Path(study) / name
    if hasattr(os, "setsid"):
        os.setsid()  # so that it can be ended together with its workers
        os.nice(5)  # the page itself answers first
    limit_memory(memory)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)  # so that a job that is ended leaves nothing elsewhere
    os.chdir(study)

    def tell(progress: Progress | str) -> None:
        if isinstance(progress, Progress):
            left = progress.seconds_left
            connection.send({"done": progress.done, "total": progress.total, "what": progress.what, "left": left})
        else:
            connection.send({"text": str(progress)})

    try:
        with names_as(labelled), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say is in the results
            connection.send({"result": KINDS[kind](Given(*uploads, options, folder, tell))})
    except Exception as error:
        connection.send({"error": _sentence(error, memory)})


def limit_memory(gigabytes: float) -> None:
    """Let this process, and each of its workers, use no more memory than that, where the system can see to it.

    What counts is the memory that it can write to. Address space alone costs nothing, and libraries take much of it.
    """
    if resource is not None:
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        wanted = int(gigabytes * 2**30)
        resource.setrlimit(
            resource.RLIMIT_DATA, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most)
        )


def _sentence(error: Exception, memory: float) -> str:
    """Say why there is no result: the limit, the user's choices or data, the disk, or ordbridge itself."""
    if isinstance(error, MemoryError) or (isinstance(error, FitError) and is_of_the_machine(error)):
        return (
            f"this needs more than the {memory:g} GB of memory that a computation may use; "
            f"start ordbridge app --memory {2 * memory:g}, or take fewer ratings or a smaller study"
        )
    if isinstance(error, (InputError, FitError, BridgeError, ClusterError)):
        return str(error)
    return unforeseen(error)


def unforeseen(error: Exception) -> str:
    """Say what went wrong where nobody expected it: the disk, or ordbridge itself.

    Examples
    --------
    >>> import errno
    >>> unforeseen(OSError(errno.ENOSPC, "No space left on device"))
    'the disk with the temporary files is full; make room there and try again'
    >>> unforeseen(ZeroDivisionError("division by zero"))
    'something is wrong in ordbridge itself (ZeroDivisionError: division by zero)'
    """
    if isinstance(error, OSError) and error.errno in FULL:
        return "the disk with the temporary files is full; make room there and try again"
    return f"something is wrong in ordbridge itself ({type(error).__name__}: {error})"


def _end_with_the_server() -> None:
    """Wait until the program has ended, even if it was killed, and end too."""
    server = parent_process()
    if server is not None:
        wait([server.sentinel])
        if hasattr(os, "killpg"):
            os.killpg(0, 9)
        os._exit(1)
