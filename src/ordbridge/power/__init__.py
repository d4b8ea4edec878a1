"""Power studies: a grid of simulated studies, fitted in parallel, stored as they come, read off with intervals."""

from ordbridge.power.api import run
from ordbridge.power.audit import Audit
from ordbridge.power.grid import Cell, Grid
from ordbridge.power.models import Goal, Model
from ordbridge.power.result import Run, load
from ordbridge.power.study import Study, read_study
from ordbridge.support.progress import Progress

__all__ = ["Audit", "Cell", "Goal", "Grid", "Model", "Progress", "Run", "Study", "load", "read_study", "run"]
