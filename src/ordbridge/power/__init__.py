"""Power studies: a grid of simulated studies, fitted in parallel, stored as they come, read off with intervals."""

from ordbridge.deprecated import old_names
from ordbridge.power.api import run
from ordbridge.power.audit import Audit
from ordbridge.power.grid import Cell, Grid
from ordbridge.power.models import Model
from ordbridge.power.result import Run, load
from ordbridge.power.study import Study, read_study
from ordbridge.progress import Progress

__all__ = ["Audit", "Cell", "Grid", "Model", "Progress", "Run", "Study", "load", "read_study", "run"]

__getattr__ = old_names(__name__, {"plan": "ordbridge.planning.plan", "Planned": "ordbridge.planning.Plan"})
