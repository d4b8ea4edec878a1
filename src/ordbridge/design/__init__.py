"""Who rates what under which system: every design is one table ``participant, item, system, order``."""

from ordbridge.design.annotators import sheets
from ordbridge.design.generate import counterbalanced, crossed, howcroft2021, latin_square
from ordbridge.design.inspect import check, from_ratings

__all__ = ["check", "counterbalanced", "crossed", "from_ratings", "howcroft2021", "latin_square", "sheets"]
