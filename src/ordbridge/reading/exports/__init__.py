"""What tools and platforms export: each module knows one of them, and turns it into a sheet with hints."""

from ordbridge.reading.exports.formats import FORMATS, export_of_json, export_of_sheet

__all__ = ["FORMATS", "export_of_json", "export_of_sheet"]
