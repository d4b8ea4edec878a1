"""Reports: a page from any result, and what goes into a paper (methods paragraph, references, tables)."""

from ordbridge.report.build import page, write_folder, write_report
from ordbridge.report.fitted import FitWithContrasts
from ordbridge.report.html import Page, cell, without_empty_columns
from ordbridge.report.manuscript import kind_of, latex, main_table, markdown, methods, references

__all__ = [
    "FitWithContrasts",
    "Page",
    "cell",
    "kind_of",
    "latex",
    "main_table",
    "markdown",
    "methods",
    "page",
    "references",
    "without_empty_columns",
    "write_folder",
    "write_report",
]
