"""From any file to ratings that can be trusted: read it, check it, describe it; readers of published ratings."""

from ordbridge.data.checking import check
from ordbridge.data.checks import Checks
from ordbridge.data.description import describe
from ordbridge.data.published import read_alttest, read_flickr8k, read_huse, read_nem, read_pplm, read_qgstec
from ordbridge.data.rating_table import RatingTable
from ordbridge.data.reading import columns_of, read

__all__ = [
    "Checks",
    "RatingTable",
    "check",
    "columns_of",
    "describe",
    "read",
    "read_alttest",
    "read_flickr8k",
    "read_huse",
    "read_nem",
    "read_pplm",
    "read_qgstec",
]
