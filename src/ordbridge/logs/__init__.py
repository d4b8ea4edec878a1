"""Logs of evaluation harnesses: which model is better, by how much, and what the next run needs."""

from ordbridge.logs.api import compare, read
from ordbridge.logs.recognise import is_log
from ordbridge.logs.result import LogComparison

__all__ = ["LogComparison", "compare", "is_log", "read"]
