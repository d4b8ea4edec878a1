"""``plan``: how many items and ratings reach a power, what a fixed design reaches, and what it can detect."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ordbridge.planning.answer import answer
from ordbridge.planning.money import Costs
from ordbridge.planning.options import Designs, Effect, PlannedAnalysis, Simulation
from ordbridge.planning.question import ask
from ordbridge.planning.result import Plan
from ordbridge.planning.simulation import simulate
from ordbridge.render.notebook import bar_in_notebook
from ordbridge.support.progress import Progress
from ordbridge.support.temp_cleanup import scratch_folder


def plan(
    truth: Any,
    *,
    participant: str | None = None,
    item: str | None = None,
    system: str | None = None,
    rating: str | Sequence[str] | None = None,
    criterion: str | None = None,
    effect: float | Sequence[float] | str | Effect | None = None,
    analysis: PlannedAnalysis = PlannedAnalysis(),  # noqa: B008 - none of these can be changed
    designs: Designs = Designs(),  # noqa: B008
    costs: Costs = Costs(),  # noqa: B008
    target: float = 0.8,
    simulation: Simulation = Simulation(),  # noqa: B008
    jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    progress: Callable[[str | Progress], object] | None = None,
) -> Plan:
    """Find the smallest, or cheapest, design that reaches a power, and its type-I error.

    Three questions, depending on what is left open. Several designs: which of them reach the target. One design and an
    effect: its power. One design and ``effect="smallest"``: the smallest effect that it detects.

    Parameters
    ----------
    truth
        What is true: a :class:`ordbridge.simulate.Truth`, such as ``ob.papers.howcroft2021.settings["low"]``; or the
        ratings of a pilot study, whose estimates are the truth: a file, a table, or what :func:`ordbridge.read`
        returned.
    participant, item, system, rating, criterion
        Columns of the pilot, as for :func:`ordbridge.read`.
    effect
        How far the second system is above the first in latent units, or one number for every system after the first;
        or an :class:`Effect` in rating points or as a probability of being rated higher. Default: that of the truth, or
        of the pilot with a warning. Or ``"smallest"``.
    analysis
        The model, what is tested, at which level, with which looks at the data.
    designs
        Which numbers of items and of ratings per text to try, or a fixed design.
    costs
        Prices, and how much money there is. The cheapest design is recommended; without prices the one with the fewest
        ratings.
    target
        The power to reach.
    simulation
        How many datasets are simulated, by which engine, from which seed.
    jobs
        Worker processes; −1 for one per core.
    store
        A folder in which every fit is kept: the same call continues where it was stopped.
    progress
        Called now and then with a line of text, and twice a second with a :class:`ordbridge.power.Progress`. In a
        notebook there is a bar by default.

    Returns
    -------
    Plan

    Notes
    -----
    Where there is a closed form (:func:`ordbridge.planning.preview`: differences tested by ``clmm`` and ``lmer`` with
    all random slopes), it proposes which designs to simulate, corrected by what has been simulated. Each of these is
    simulated until the exact interval of its power is on one side of the target or ``max_per_design`` datasets are
    spent. The interval is the usual one for a fixed number of datasets; looking at it five or six times makes it a
    little too narrow for designs whose power is very close to the target. A design is recommended only if it was shown
    to reach the target by 200 datasets (``max_per_design``, if that is fewer) or more, and by all together where larger
    designs came out lower (:func:`ordbridge.planning.evidence.verdict`). The findings say what is undecided.

    References
    ----------
    Green, P. & MacLeod, C. J. (2016). SIMR: an R package for power analysis of generalized linear mixed models by
    simulation. *Methods in Ecology and Evolution* 7, 493–498.
    Hoenig, J. M. & Heisey, D. M. (2001). The abuse of power. *The American Statistician* 55, 19–24.

    Examples
    --------
    >>> from ordbridge.simulate import Truth
    >>> truth = Truth(effects=(1.0,), thresholds=(-1, 0, 1), item_sd=(0.3, 0.1))
    >>> found = plan(truth, analysis=PlannedAnalysis("lm"), designs=Designs([10, 40, 80], 2, texts_per_participant=10))
    >>> found.recommended["items"]
    40
    """
    roles = {"participant": participant, "item": item, "system": system, "rating": rating, "criterion": criterion}
    roles = {role: column for role, column in roles.items() if column is not None}
    question = ask(truth, roles, effect, analysis, designs, costs, target, simulation)
    folder = scratch_folder() if store is None else nullcontext(Path(store))
    with folder as place, bar_in_notebook(progress) as tell:
        shown = simulate(question, place, jobs, tell)
    return answer(question, shown)
