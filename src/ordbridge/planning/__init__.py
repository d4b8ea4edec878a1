"""Planning: how many items and ratings reach a power, what a design reaches, and what it can detect."""

from ordbridge.planning.api import plan
from ordbridge.planning.closed_form import preview
from ordbridge.planning.interim import Decision, decide
from ordbridge.planning.ledger import Ledger, ledger_beside
from ordbridge.planning.looks import Sequential, sequential
from ordbridge.planning.money import Costs
from ordbridge.planning.options import Designs, Effect, PlannedAnalysis, Simulation
from ordbridge.planning.protocol import Protocol, read_protocol, sheet_of, write_protocol
from ordbridge.planning.registered import preregistration
from ordbridge.planning.result import Plan
from ordbridge.planning.stopping import boundaries

__all__ = [
    "Costs",
    "Decision",
    "Designs",
    "Effect",
    "Ledger",
    "Plan",
    "PlannedAnalysis",
    "Protocol",
    "Sequential",
    "Simulation",
    "boundaries",
    "decide",
    "ledger_beside",
    "plan",
    "preregistration",
    "preview",
    "read_protocol",
    "sequential",
    "sheet_of",
    "write_protocol",
]
