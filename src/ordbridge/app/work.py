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

from ordbridge.app import analyses, next_study
from ordbridge.app.given import Given
from ordbridge.app.wording import on_page
from ordbridge.errors import BridgeError, ClusterError, FitError, InputError
from ordbridge.progress import Progress

__all__ = ["KINDS", "carry_out"]

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
    file: str | None,
    second: str | None,
    options: dict[str, Any],
    name: str,
) -> None:
    """Do one thing and send progress, and in the end what was found, or a sentence that says why not."""
    folder = Path(study) / name
    if hasattr(os, "setsid"):
        os.setsid()  # so that it can be ended together with its workers
        os.nice(5)  # the page itself answers first
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say is in the results
            connection.send({"result": KINDS[kind](Given(file, second, options, folder, tell))})
    except (InputError, FitError, BridgeError, ClusterError) as refusal:
        connection.send({"error": on_page(str(refusal))})
    except MemoryError:
        connection.send({"error": "there is not enough memory for this; try fewer ratings or a smaller study"})
    except Exception as error:
        connection.send({"error": f"something is wrong in ordbridge itself ({type(error).__name__}: {error})"})


def _end_with_the_server() -> None:
    """Wait until the program has ended, even if it was killed, and end too."""
    server = parent_process()
    if server is not None:
        wait([server.sentinel])
        if hasattr(os, "killpg"):
            os.killpg(0, 9)
        os._exit(1)
