"""Results as data: an answer, findings with stable codes, tables."""

from ordbridge.results.finding import Finding, findings_of, findings_table, found, has, with_findings, worst_first
from ordbridge.results.result import Result

__all__ = ["Finding", "Result", "findings_of", "findings_table", "found", "has", "with_findings", "worst_first"]
