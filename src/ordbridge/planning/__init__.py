"""Planning: how many items and ratings reach a power, what a design reaches, and what it can detect."""

from ordbridge.planning.api import plan
from ordbridge.planning.closed_form import preview
from ordbridge.planning.looks import Sequential, sequential
from ordbridge.planning.result import Plan
from ordbridge.planning.stopping import boundaries

__all__ = ["Plan", "Sequential", "boundaries", "plan", "preview", "sequential"]
