"""Power studies: a grid of simulated studies, fitted in parallel, stored as they come, read off with intervals."""

from ordbridge.power.api import run
from ordbridge.power.audit import Audit
from ordbridge.power.grid import Cell, Grid
from ordbridge.power.models import Model
from ordbridge.power.planned import Planned
from ordbridge.power.planning import plan
from ordbridge.power.progress import Progress
from ordbridge.power.result import Run, load
from ordbridge.power.study import Study, read_study

__all__ = ["Audit", "Cell", "Grid", "Model", "Planned", "Progress", "Run", "Study", "load", "plan", "read_study", "run"]
