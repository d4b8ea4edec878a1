"""The exit codes of all commands; docs/reference/command-line.md has them in a table."""

from __future__ import annotations

__all__ = ["BAD_INPUT", "FAILED", "INTERRUPTED", "NOT_CONVERGED", "OK", "TERMINATED", "UNFORESEEN"]

OK = 0
"""There is an answer."""
FAILED = 1
"""There is none: a check found errors, engines differ, fits are missing, R or the cluster is away, the disk is full."""
BAD_INPUT = 2
"""Something in the command or in a file is not usable; one sentence says what."""
NOT_CONVERGED = 3
"""The model was fitted and shown, but the optimiser did not converge: do not report these numbers."""
UNFORESEEN = 70
"""A fault of ordbridge; a report for its authors was written."""
INTERRUPTED = 130
"""Ctrl-C."""
TERMINATED = 143
"""SIGTERM, as batch systems send it; 129 is a terminal that was closed (SIGHUP)."""
