"""From a file of any kind to a sheet of cells: encoding, separator, header, workbook, records."""

from ordbridge.files.opening import KINDS, json_value, kind_of, open_sheet, sheets_of
from ordbridge.files.sheet import Sheet

__all__ = ["KINDS", "Sheet", "json_value", "kind_of", "open_sheet", "sheets_of"]
