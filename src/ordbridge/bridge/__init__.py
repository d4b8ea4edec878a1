"""R under Python: start it once, send vectors, get vectors back. The only place that knows rpy2."""

from ordbridge.bridge.session import call, require

__all__ = ["call", "require"]
