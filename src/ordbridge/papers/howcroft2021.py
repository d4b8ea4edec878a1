"""Howcroft & Rieser (2021): the settings of their simulation, their claims, and the simulation run again.

"What happens if you treat ordinal ratings as interval data? Human evaluations in NLP are even more under-powered than
you think", EMNLP 2021, with the numbers of the published code where the text says otherwise. How the claims are judged
is in :mod:`ordbridge.papers.howcroft_evidence`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ordbridge.errors import InputError
from ordbridge.models.engines import engine_name
from ordbridge.papers.past_studies import settings_from
from ordbridge.papers.reproduction import Claim, Reproduction
from ordbridge.simulate import ThresholdDistribution, Truth
from ordbridge.simulate.draw import Seed, stream
from ordbridge.simulate.presets import HOWCROFT2021
from ordbridge.support.arguments import number_of_workers, whole
from ordbridge.support.naming import arg
from ordbridge.support.temp_cleanup import scratch_folder

if TYPE_CHECKING:
    from ordbridge.power import Grid, Progress

__all__ = [
    "GridCell",
    "cells",
    "claims",
    "effects",
    "figures",
    "items",
    "ratings",
    "reproduce",
    "settings",
    "settings_from",
    "simulations",
    "threshold_distribution",
    "thresholds",
]

settings = HOWCROFT2021.settings
"""The five variance settings at effect 0: ``settings["low"].shift(effect=0.31)`` is the truth of a cell.

Standard deviations of intercept and slope, uncorrelated, slopes on a 0/1 coding; "representative" is "General" in the
paper's figures.
"""

threshold_distribution = HOWCROFT2021.thresholds
"""As in the published code; its own comment says −1.79 (0.17) and 0.62 (0.20)."""

effects, items, ratings = HOWCROFT2021.effects, HOWCROFT2021.items, HOWCROFT2021.ratings
simulations = 100


class GridCell(NamedTuple):
    """One cell of the published grid."""

    setting: str
    items: int
    ratings: int
    effect: float

    @property
    def truth(self) -> Truth:
        """The truth that its datasets come from."""
        return settings[self.setting].shift(effect=self.effect)


def cells(*names: str) -> Iterator[GridCell]:
    """Go through the 24 cells of each of the settings named, or of all five.

    Examples
    --------
    >>> len(list(cells())), next(cells("low"))
    (120, GridCell(setting='low', items=50, ratings=3, effect=0.155))
    """
    for name in names or settings:
        settings[name]
        yield from (GridCell(name, *rest) for rest in product(items, ratings, effects))


def thresholds(replicates: int, seed: Seed) -> np.ndarray:
    """Draw the thresholds of a run, one row per replicate: as published, all cells of a run share them.

    Hand row ``i`` to :meth:`ordbridge.simulate.Simulator.draw` for replicate ``i`` of every cell.

    Examples
    --------
    >>> thresholds(100, seed=42).shape
    (100, 5)
    """
    random = stream(seed)
    return np.array([threshold_distribution.draw(random) for _ in range(replicates)])


REFERENCE = (
    "Howcroft, D. M. & Rieser, V. (2021). What happens if you treat ordinal ratings as interval data? Human "
    "evaluations in NLP are even more under-powered than you think. EMNLP 2021, 8932-8939."
)

figures = {"2": ("low", "representative", "high"), "3": tuple(settings), "all": tuple(settings)}
"""The settings of each figure."""

models = {"lm": {}, "clm": {}, "lmer": {"REML": HOWCROFT2021.REML}, "clmm": {}}
"""As published: the linear mixed model is fitted by maximum likelihood."""

DECIDING_SIZES = ((100, 3), (50, 10))
"""Items and ratings where, in the settings of Figure 2, the open questions are decided: no power is near 0 or 1."""
DECIDING_EFFECTS = (-0.31, 0.0, 0.31)

centred_thresholds = ThresholdDistribution(
    lowest=(-2 * threshold_distribution.distance[0], threshold_distribution.lowest[1]),
    distance=threshold_distribution.distance,
    categories=threshold_distribution.categories,
)
"""The published distances, moved so that on average the middle threshold is 0, the mean of the first system."""

_CLAIMS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
claims = {name: Claim(*claim) for name, claim in _CLAIMS.items()}
"""What the paper says, and what it leaves open."""


def reproduce(
    variants: Sequence[str] = ("corrected",),
    figure: str = "all",
    *,
    datasets: int = simulations,
    questions: int | None = None,
    both_signs: bool = False,
    engine: str = "r",
    start: str | None = None,
    audit: float = 0.0,
    seed: int = 42,
    jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], object] | None = None,
    tell: Callable[[str], object] | None = None,
) -> Reproduction:
    """Run the published simulation again, with effect 0, and judge what the paper claims and what it leaves open.

    Parameters
    ----------
    variants
        ``"corrected"``, ``"published"`` (the misplaced participant effects of the published code), or both.
    figure
        ``"2"``: three settings; ``"3"`` or ``"all"``: five.
    datasets
        Datasets per cell; published: 100.
    questions
        Datasets of the cells that decide a claim or an open question; default: ``datasets``, 0 leaves them out.
    both_signs
        Whether to run the negative effects −0.155 … −0.62 as well, with the first of the variants.
    engine, audit, seed, jobs
        As for :func:`ordbridge.power.run`. Through R the grid takes days; it first says how long.
    start
        ``"fast"`` lets R's clmm start at the native optimum, which makes it about four times faster.
    store
        Folder where every fit is kept; the same call continues where it stopped, and a larger one adds to it.
    progress, tell
        Called with the progress of each run, and with lines of text.

    Notes
    -----
    The published code draws thresholds once per replicate for all cells, here every dataset has its own: cells are
    independent, and each has the same distribution as published.

    Examples
    --------
    >>> reproduce(figure="4")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: there is no figure '4' to run; choose one of: 2, 3, all
    """
    from ordbridge import power
    from ordbridge.papers import howcroft_evidence

    engine = engine_name(engine)
    _check(variants, figure, datasets, questions)
    main = _main(variants, figures[figure], both_signs)
    grids = {**main, **({**_deciding(variants[0], figures[figure]), **_questions()} if questions != 0 else {})}
    counts = {name: datasets if name in main or questions is None else questions for name in grids}
    fitted = {**models, "clmm": {**models["clmm"], **({"start": start} if start else {})}}
    mixed = {kind: fitted[kind] for kind in ("lmer", "clmm")}
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder()) if store is None else Path(store)
        if engine == "r" and tell is not None:
            tell(_how_long(grids, counts, fitted, seed, jobs, folder))
        runs = {}
        for number, (name, grid) in enumerate(grids.items(), 1):
            if tell is not None:
                tell(f"run {number} of {len(grids)}: {name}, {len(grid.cells)} cells × {counts[name]} counts")
            options: dict[str, Any] = {
                "seed": seed,
                "engine": engine,
                "audit": audit,
                "jobs": jobs,
                "progress": progress,
            }
            chosen = fitted if name in main else mixed
            runs[name] = power.run(grid, chosen, counts[name], store=folder / name, **options)
        return howcroft_evidence.reproduction(runs, variants, figure)


def _check(variants: Sequence[str], figure: str, datasets: int, questions: int | None) -> None:
    if isinstance(variants, str) or not variants or not {*variants} <= {"corrected", "published"}:
        raise InputError(f"{arg('variants', variants)} must be a list of 'corrected', 'published' or both")
    if figure not in figures:
        raise InputError(f"there is no figure {figure!r} to run; choose one of: {', '.join(figures)}")
    for name, value in (("datasets", datasets), ("questions", questions)):
        if value is not None:
            whole(name, value, least=int(name == "datasets"))


def _main(variants: Sequence[str], names: Sequence[str], both_signs: bool) -> dict[str, Grid]:
    """Return the published grid with effect 0, one run per variant and setting, so that more can be added later."""
    from ordbridge.power import Grid

    negative = tuple(-effect for effect in reversed(effects))
    grids = {}
    for variant, name in product(variants, names):
        signs = {"": (0.0, *effects), **({"-negative": negative} if both_signs and variant == variants[0] else {})}
        for sign, values in signs.items():
            grids[f"{variant}-{name}{sign}"] = Grid(
                preset="howcroft2021",
                variance=name,
                items=items,
                ratings_per_text=ratings,
                effect=values,
                variant=variant,
            )
    return grids


def _deciding(variant: str, names: Sequence[str]) -> dict[str, Grid]:
    """Return the cells of Figure 2 with 50 and 100 items, on which the claims about half the items and 80 % depend."""
    from ordbridge.power import Grid

    return {
        f"deciding-{variant}-{name}": Grid(
            preset="howcroft2021",
            variance=name,
            items=(50, 100),
            ratings_per_text=ratings,
            effect=effects,
            variant=variant,
        )
        for name in names
        if name in figures["2"]
    }


def _questions() -> dict[str, Grid]:
    """Return the deciding cells of each size: both codings of the slopes, thresholds as published and centred."""
    from ordbridge.power import Grid

    return {
        f"questions-{place}-{n_items}x{n_ratings}": Grid(
            truth=truths,
            design="howcroft2021",
            items=n_items,
            ratings_per_text=n_ratings,
            effect=DECIDING_EFFECTS,
            slope_coding=("treatment", "centred"),
        )
        for (n_items, n_ratings), (place, truths) in product(DECIDING_SIZES, _placed().items())
    }


def _placed() -> dict[str, dict[str, Truth]]:
    chosen = {name: settings[name] for name in figures["2"]}
    moved = {f"{n}, centred thresholds": t.shift(threshold_distribution=centred_thresholds) for n, t in chosen.items()}
    return {"published-thresholds": chosen, "centred-thresholds": moved}


def _how_long(
    grids: Mapping[str, Grid], datasets: Mapping[str, int], fitted: Mapping, seed: int, jobs: int, folder: Path
) -> str:
    """Say how long everything takes through R, from one dataset of each of the two smallest sizes.

    Their times differ more by chance than by size, so how time grows with size is not taken from them.
    """
    from ordbridge import power
    from ordbridge.power.queue import GROWTH
    from ordbridge.support.progress import duration

    sample = []
    for n_items, n_ratings in ((50, 3), (100, 3)):  # larger ones would take longer than the first results may
        grid = power.Grid(
            preset="howcroft2021", variance="representative", items=n_items, ratings_per_text=n_ratings, effect=0.31
        )
        place = folder / f"timing-{n_items}x{n_ratings}"
        fits = power.run(grid, fitted, 1, seed, engine="r", jobs=1, store=place).fits
        sample.append(sum(fits["seconds"].to_pylist()) / grid.cells[0].design.num_rows ** GROWTH)
    seconds = np.mean(sample) * sum(
        datasets[name] * cell.design.num_rows**GROWTH for name, grid in grids.items() for cell in grid.cells
    )
    workers = number_of_workers(jobs)
    return (
        f"through R, {sum(datasets[n] * len(g.cells) for n, g in grids.items())} datasets will take about "
        f"{duration(seconds / workers)} from the beginning with {workers} worker process{'es' if workers > 1 else ''} "
        "(timed on two datasets)"
    )
