"""``plan``: how many items and ratings reach a power, what a fixed design reaches, and what it can detect."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ordbridge.deprecated import renamed_arguments
from ordbridge.leftovers import scratch_folder
from ordbridge.notebooks import bar_in_notebook
from ordbridge.planning.answer import answer
from ordbridge.planning.question import ask
from ordbridge.planning.result import Plan
from ordbridge.planning.simulation import simulate
from ordbridge.progress import Progress
from ordbridge.simulate import Truth

__all__ = ["plan"]


@renamed_arguments(budget="datasets")
def plan(
    truth: Truth | None = None,
    *,
    preset: str | None = None,
    variance: str | None = None,
    pilot: Any = None,
    effect: float | Sequence[float] | str | None = None,
    effect_points: float | Sequence[float] | None = None,
    superiority: float | Sequence[float] | None = None,
    systems: int | None = None,
    names: Sequence[str] | None = None,
    target: float = 0.8,
    alpha: float = 0.05,
    model: str = "clmm",
    formula: str | None = None,
    test: str | tuple[str, str] | None = None,
    vary: Mapping[str, Any] | None = None,
    design: Any = None,
    texts_per_participant: int = 25,
    cost: Mapping[str, float] | None = None,
    currency: str = "",
    spend: float | None = None,
    loss: float = 0.0,
    minutes: float | None = None,
    engine: str = "fast",
    seed: int = 0,
    datasets: int | None = None,
    most: int | None = None,
    null: int | None = None,
    calibrate: bool | None = None,
    goal: str = "difference",
    margin: float | None = None,
    on: str = "rating",
    draws: int = 40,
    criteria: int = 1,
    correlation: float = 0.5,
    looks: int | None = None,
    shape: str = "obrien-fleming",
    jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    progress: Callable[[str], object] | None = None,
    progress_of_fits: Callable[[Progress], object] | None = None,
) -> Plan:
    """Find the smallest, or cheapest, design that reaches a power, and its type-I error.

    Three questions, depending on what is left open. Several designs in ``vary``: which of them reach the target. One
    design and an effect: its power. One design and ``effect="smallest"``: the smallest effect that it detects.

    Parameters
    ----------
    truth, preset, pilot
        What is true, one of three: a :class:`ordbridge.simulate.Truth`; ``"howcroft2021"`` with its ``variance``
        setting; or ratings of a pilot study (``participant, item, system, rating``), whose estimates are the truth.
    variance
        The setting of the preset: ``"low"``, ``"representative"``, ….
    effect
        How far the second system is above the first in latent units, or one number for every system after the first.
        Default: that of the truth, or of the pilot with a warning. Or ``"smallest"``.
    effect_points, superiority
        The effect in rating points, or as the probability that a text of the system is rated above one of the first
        (ties split), instead; they are converted through the truth (:mod:`ordbridge.simulate.effect_units`).
    systems, names
        How many systems there are, if more than in the truth, which then all vary like its second one; and what they
        are called, the first one first. Default: the names of the pilot, or A, B, ….
    target, alpha
        The power to reach, and the level of the test.
    model, formula
        The model of the analysis, as in :class:`ordbridge.power.Model`.
    test
        With more than two systems: a pair of their names, ``"any"`` for a likelihood ratio test of any difference,
        ``"pairs"`` for all pairs with Holm's correction (every pair that truly differs must be found), or
        ``("reference", name)`` for every system against one, with Holm's correction.
    vary
        ``items`` and ``ratings_per_text``: a number or a list each.
    design
        A fixed design instead: a table ``participant, item, system``.
    texts_per_participant
        How many texts a participant rates in the counterbalanced designs.
    cost
        Price of a ``rating`` and of a ``participant``, and the ``fee`` of the platform as a share of all payments. The
        cheapest design is recommended; without it the one with the fewest ratings.
    currency, spend
        What prices are in, for the words; and how much money there is: the answer then also has the design with the
        most power that it buys.
    loss
        The share of participants whose ratings will be lost: so many more are recruited and paid.
    minutes
        How long one rating takes; the answer then has what a participant earns in an hour.
    engine
        ``"fast"``, or ``"r"``.
    seed
        The same seed gives the same plan, with any number of jobs and after any interruption.
    datasets, most
        How many datasets are simulated in all, and for one design. A fixed design gets ``most``. Default: 1000 and 500;
        400 and 200 for mixed models of more than two systems, which take much longer to fit.
    null
        How many datasets without any difference are simulated besides, of a design: for the type-I error of the test,
        and for its critical value. Default: 800, for mixed models of more than two systems 400; up to five
        times as many at an alpha below .05; 0 for none. They are
        fitted by the native engine, whose p-values are R's, unless it cannot fit the model.
    calibrate
        Whether power is that of a test that keeps its level: p has to fall below a critical value, which each design
        has from twice as many datasets without a difference as with one, ``null`` at most
        (:mod:`ordbridge.power.calibration`). Default: yes, unless ``null`` is below 200. A linear model whose mean
        ratings differ at latent effect 0 is taken at alpha.
    goal, margin, on
        What the study is to show: a ``"difference"``; or of two systems ``"equivalence"`` or ``"non-inferiority"`` with
        a ``margin`` on the ``"rating"`` or the ``"latent"`` scale, at a true ``effect`` within the margin, such as 0
        (:class:`ordbridge.power.Model`).
    draws
        From a pilot: how many draws from the sampling distribution of its estimates.
    criteria, correlation
        How many criteria every text is rated on, each with this effect; and how the tests of two of them are assumed
        to correlate. Power is the share of studies that find the difference on every criterion after Holm's correction
        over criteria (:mod:`ordbridge.planning.criteria`).
    looks, shape
        How often the data are looked at in the course of the study, which may stop at each look, and the shape of the
        boundary, ``"obrien-fleming"`` or ``"pocock"`` (:func:`ordbridge.planning.sequential`).
    jobs
        Worker processes; −1 for one per core.
    store
        A folder in which every fit is kept: the same call continues where it was stopped.
    progress
        Called with a line of text now and then; ``print`` will do. In a notebook there is a line by default.
    progress_of_fits
        Called twice a second while the datasets of a design are simulated, as in :func:`ordbridge.power.run`.

    Returns
    -------
    Plan

    Notes
    -----
    Where there is a closed form (:func:`ordbridge.planning.preview`: differences tested by ``clmm`` and ``lmer`` with
    all random slopes), it proposes which designs to simulate, corrected by what has been simulated. Each of these is
    simulated until the exact interval of its power is on one side of the target or ``most`` datasets are spent. The
    interval is the usual one for a fixed number of datasets; looking at it five or six times makes it a little too
    narrow for designs whose power is very close to the target. A design is recommended only if it was shown to reach
    the target by 200 datasets (``most``, if that is fewer) or more, and by all together where larger designs came out
    lower (:func:`ordbridge.planning.evidence.verdict`). The answer says what is undecided.

    References
    ----------
    Green, P. & MacLeod, C. J. (2016). SIMR: an R package for power analysis of generalized linear mixed models by
    simulation. *Methods in Ecology and Evolution* 7, 493–498.
    Hoenig, J. M. & Heisey, D. M. (2001). The abuse of power. *The American Statistician* 55, 19–24.

    Examples
    --------
    >>> truth = Truth(effects=(1.0,), thresholds=(-1, 0, 1), item_sd=(0.3, 0.1))
    >>> found = plan(truth, model="lm", vary={"items": [10, 40, 80], "ratings_per_text": 2}, texts_per_participant=10)
    >>> found.recommended["items"]
    40
    """
    question = ask(
        truth=truth,
        preset=preset,
        variance=variance,
        pilot=pilot,
        effect=effect,
        effect_points=effect_points,
        superiority=superiority,
        systems=systems,
        names=names,
        target=target,
        alpha=alpha,
        model=model,
        formula=formula,
        test=test,
        vary=vary,
        design=design,
        texts_per_participant=texts_per_participant,
        cost=cost,
        currency=currency,
        spend=spend,
        loss=loss,
        minutes=minutes,
        engine=engine,
        seed=seed,
        datasets=datasets,
        most=most,
        null=null,
        calibrate=calibrate,
        goal=goal,
        margin=margin,
        on=on,
        draws=draws,
        criteria=criteria,
        correlation=correlation,
        looks=looks,
        shape=shape,
    )
    folder = scratch_folder() if store is None else nullcontext(Path(store))
    with folder as place, bar_in_notebook(progress) as tell:
        findings = simulate(question, place, jobs, tell, progress_of_fits)
    return answer(question, findings)
