"""R under Python: start it once, send vectors, get vectors back. The only place that knows rpy2."""

from ordbridge.bridge.session import Answer, call, require

__all__ = ["Answer", "call", "require"]
