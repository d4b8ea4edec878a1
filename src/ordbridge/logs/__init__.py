"""Logs of evaluation harnesses: which model is better, by how much, and what the next run needs."""

from ordbridge.logs.api import compare, read
from ordbridge.logs.judged import ratings
from ordbridge.logs.planned import LogPlan, plan
from ordbridge.logs.recognise import is_log
from ordbridge.logs.result import LogComparison

__all__ = ["LogComparison", "LogPlan", "compare", "is_log", "plan", "ratings", "read"]
