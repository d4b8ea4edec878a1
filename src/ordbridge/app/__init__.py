"""A local page to drop a file on: the same objects and reports as the command line, in a browser."""

from ordbridge.app.server import Server

__all__ = ["Server"]
