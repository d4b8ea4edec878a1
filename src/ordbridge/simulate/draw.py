"""From a design and a truth to ratings, many times over and repeatably."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.design.inspect import encode, from_ratings
from ordbridge.errors import InputError
from ordbridge.models.links import LINKS
from ordbridge.simulate.truth import Truth
from ordbridge.support.arguments import choice
from ordbridge.support.naming import arg

Seed = int | np.random.SeedSequence | np.random.Generator
VARIANTS = ("corrected", "published")


def ratings(design: Any, truth: Truth, seed: Seed, variant: str = "corrected", latent: bool = False) -> pa.Table:
    """Draw what the participants of a design would answer if ``truth`` were true.

    Parameters
    ----------
    design
        A table with ``participant, item, system``, in any form that :func:`ordbridge.reading.tables.to_arrow` takes.
        Its systems, sorted (or in the order of a categorical), are those of the truth: the first has no effect.
    truth
        Effects, thresholds and deviations.
    seed
        A whole number, a :class:`numpy.random.SeedSequence`, or a :class:`numpy.random.Generator`, which moves on. The
        same seed gives the same ratings on any machine.
    variant
        ``corrected``, or ``published`` for the misplaced participant effects of the code of Howcroft & Rieser (2021).
    latent
        Whether to add the latent quality behind each rating.

    Returns
    -------
    pyarrow.Table
        ``participant, item, system, rating`` (and ``latent``), in the order of the design.

    Examples
    --------
    >>> from ordbridge.design import crossed
    >>> truth = Truth(effects=(1.0,), thresholds=(-1, 0, 1), item_sd=(0.5, 0.2))
    >>> ratings(crossed(items=2, raters=1), truth, seed=1).to_pydict()
    {'participant': ['P01', 'P01', 'P01', 'P01'], 'item': ['Item01', 'Item02', 'Item01', 'Item02'],
     'system': ['B', 'A', 'A', 'B'], 'rating': [3, 2, 3, 4]}
    """
    simulator = Simulator(design, truth, variant)
    rating, quality = simulator.draw(seed)
    columns = {**simulator.columns, "rating": rating}
    return pa.table({**columns, "latent": quality} if latent else columns)


class Simulator:
    """A design and a truth made ready for drawing many datasets; see :func:`ratings` for the parameters.

    Examples
    --------
    >>> from ordbridge.design import crossed
    >>> simulator = Simulator(crossed(items=2, raters=1), Truth(effects=(1.0,), thresholds=(-1, 0, 1)))
    >>> rating, latent = simulator.draw(seed=1)
    >>> rating
    array([3, 3, 3, 4])
    """

    def __init__(self, design: Any, truth: Truth, variant: str = "corrected") -> None:
        choice("variant", variant, VARIANTS)
        table = from_ratings(design)
        self.truth = truth
        self.columns = {name: table[name] for name in ("participant", "item", "system")}
        system, labels = encode(table["system"])
        if len(labels) != truth.systems:
            raise InputError(
                f"the design has {len(labels)} systems and the truth {truth.systems}; "
                "effects need one number for every system after the first"
            )
        participant, participants = encode(table["participant"])
        item, items = encode(table["item"])
        if variant == "published":
            participant = _as_published(table["participant"], len(participants))
        self._participants, self._items = len(participants), len(items)
        # Deviations are kept as one table level × system, so that a single look-up a row finds intercept and slope.
        self._participant_cell = participant * truth.systems + system
        self._item_cell = item * truth.systems + system
        self._fixed = (truth.mean + np.r_[0.0, truth.effects])[system]
        self._residual_scale = truth.spread[system] if truth.residual_spread else None
        # Exchangeable systems get their normals in the order of the table, so that another name draws nothing else.
        order = _appearance(system) if truth.slope_coding == "exchangeable" else slice(None)
        self._participant_root = (truth.coding() @ truth.factor("participant"))[order]
        self._item_root = (truth.coding() @ truth.factor("item"))[order]

    def draw(self, seed: Seed, thresholds: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw one dataset: the rating and the latent quality of every row of the design.

        Parameters
        ----------
        seed
            As for :func:`ratings`.
        thresholds
            The thresholds of this dataset, in place of a draw from the truth's distribution (studies that are to
            share their thresholds).

        Returns
        -------
        tuple of numpy.ndarray
            Ratings (1 … k, or 0 … 100, or the interval rating itself) and latent qualities.
        """
        # Effects, deviations and coding do not change what is drawn, so truths are compared on the same random draws.
        random = stream(seed)
        cuts = self._thresholds(random) if thresholds is None else self._given(thresholds)
        item = random.standard_normal((self._items, self.truth.systems))
        participant = random.standard_normal((self._participants, self.truth.systems))
        residual = LINKS[self.truth.link].draw(random, len(self._fixed))
        latent = self.latent(_times(participant, self._participant_root), _times(item, self._item_root), residual)
        return self._rate(latent, cuts), latent

    def latent(self, participant: np.ndarray, item: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Add up the latent quality of each row from given deviations.

        Parameters
        ----------
        participant, item
            The deviation of each participant, and of each item, (rows, sorted as in the design) under each system
            (columns).
        residual
            One number per row of the design.
        """
        latent = self._fixed + participant.ravel()[self._participant_cell]
        latent += item.ravel()[self._item_cell]
        if self._residual_scale is not None:
            residual = self._residual_scale * residual
        latent += residual if self.truth.scale != "interval" else self.truth.residual_sd * residual
        return latent

    def _thresholds(self, random: np.random.RandomState) -> np.ndarray:
        if self.truth.threshold_distribution is not None:
            return self.truth.threshold_distribution.draw(random)
        return np.array(self.truth.thresholds or ())

    def _given(self, thresholds: np.ndarray) -> np.ndarray:
        cuts = np.asarray(thresholds, dtype=float)
        wanted = (self.truth.categories or 1) - 1
        if cuts.shape != (wanted,) or not (np.diff(cuts) >= 0).all():
            raise InputError(f"thresholds has {cuts.tolist()}; this truth needs {wanted} of them in ascending order")
        return cuts

    def _rate(self, latent: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        if self.truth.scale == "interval":
            return latent.copy()
        if self.truth.scale == "vas":
            return np.interp(latent, *vas_line(thresholds))
        rating = np.ones(len(latent), dtype=np.int64)
        for threshold in thresholds:
            rating += latent > threshold
        return rating


def vas_line(thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners (latent, mark) of the map from latent quality to the line 0–100; it is flat outside.

    Examples
    --------
    >>> vas_line(np.array([-1.0, 0.0, 1.0]))
    (array([-2., -1.,  0.,  1.,  2.]), array([  0.,  25.,  50.,  75., 100.]))
    """
    end = np.diff(thresholds).mean() if len(thresholds) > 1 else 1.0
    corners = np.r_[thresholds[0] - end, thresholds, thresholds[-1] + end]
    return corners, np.linspace(0.0, 100.0, len(corners))


def _times(normals: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Return ``normals @ root.T``, added up in a fixed order: matrix libraries differ in the last digit."""
    product = normals[:, :1] * root[:, 0]
    for column in range(1, root.shape[1]):
        product += normals[:, column : column + 1] * root[:, column]
    return product


def _appearance(system: np.ndarray) -> np.ndarray:
    """Return for each system the how-manieth it is in the rows of a table."""
    first = np.unique(system, return_index=True)[1]
    return np.argsort(np.argsort(first))


def stream(seed: Seed) -> np.random.RandomState:
    """Return a stream whose numbers NumPy has promised never to change (NEP 19), unlike those of ``Generator``."""
    if isinstance(seed, np.random.Generator):
        return np.random.RandomState(seed.bit_generator)
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0
    if not whole and not isinstance(seed, np.random.SeedSequence):
        raise InputError(f"{arg('seed', seed)} must be an integer ≥ 0, a SeedSequence or a Generator")
    return np.random.RandomState(np.random.PCG64(seed))


def _as_published(participant: pa.ChunkedArray, levels: int) -> np.ndarray:
    """Return the level whose effect each row gets in R's ``effects[participant]``, with participants counted from 0.

    R counts from 1 and drops index 0, so the vector of effects is shorter than the data, and adding it to a vector of
    full length recycles it from the start.
    """
    if not pa.types.is_integer(participant.type):
        raise InputError(
            f"{arg('variant', 'published')} indexes by participant, which must be numbered as in design.howcroft2021"
        )
    index = participant.to_numpy()
    if index.min() < 0 or index.max() > levels or not index.max():
        raise InputError(
            f"{arg('variant', 'published')} indexes {levels} effects by participant, so these must be numbered 0 … "
            f"{levels}; the design has {index.min()} … {index.max()}"
        )
    return np.resize(index[index > 0] - 1, len(index))
