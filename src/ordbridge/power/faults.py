"""Failures of the machine, kept apart from failures of a fit.

A fit that ended because memory was short or because somebody killed its process says nothing about the model. Such a
fit leaves no row: it is tried once more in the same run, and again when the run is continued.
"""

from __future__ import annotations

import errno
import re
import signal

ERRNOS = (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.EIO)
MACHINE = (  # as Python, numpy, R, the loader and the C++ library say it
    r"cannot allocate|Unable to allocate|memory exhausted|out of memory|bad_alloc|can't start new thread"
    r"|Resource temporarily unavailable|Too many open files|No space left on device|Input/output error"
    r"|failed to map segment"
)
"""What the messages of such failures have in them, as a regular expression."""

KILLED = r"\((?:SIGKILL|SIGTERM|SIGHUP|SIGINT|SIGQUIT|SIGSTOP|SIGXCPU|SIGPWR)\)"
"""Signals that come from outside; what a process does to itself, such as SIGSEGV, is not among them."""


class MachineFault(Exception):  # noqa: N818 (not an error of the program)
    """A fit could not be done here and now; nothing is known about it."""


def is_of_the_machine(error: BaseException) -> bool:
    """Tell whether a fit failed because of the machine.

    Examples
    --------
    >>> is_of_the_machine(MemoryError()), is_of_the_machine(RuntimeError("cannot allocate vector of size 8.9 Gb"))
    (True, True)
    >>> is_of_the_machine(ZeroDivisionError("division by zero"))
    False
    """
    if isinstance(error, MachineFault | MemoryError | ImportError):
        return True
    if isinstance(error, OSError) and error.errno in ERRNOS:
        return True
    return re.search(MACHINE, str(error), re.IGNORECASE) is not None


def cause_of_death(error: BaseException) -> str:
    """Say what ended a worker, without process numbers, so that equal causes have equal messages.

    Examples
    --------
    >>> cause_of_death(RuntimeError("A worker process has died. The exit codes of the workers are {SIGSEGV(-11)}"))
    'the worker process died (SIGSEGV)'
    """
    names = "|".join(sorted((one.name for one in signal.Signals), key=len, reverse=True))
    found = re.search(rf"\b({names})\b", str(error))
    return f"the worker process died{f' ({found.group()})' if found else ''}"
