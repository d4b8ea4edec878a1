"""The five links, numbered as the compiled core numbers them (``src/core/links.hpp`` has the formulas)."""

from __future__ import annotations

__all__ = ["LINKS"]

LINKS = {"probit": 0, "logit": 1, "cloglog": 2, "loglog": 3, "cauchit": 4}
