"""What kind of ratings these are, and so which model they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.reading.tables import decode_dictionary
from ordbridge.support.naming import arg

MOST_CATEGORIES = 11  # as many as 0 to 10 has; beyond them ratings are treated as a slider
GRID = 101  # categories of a slider in an ordinal model
WIDE = 20  # a slider that few people used has few values, far apart
SLIDERS = ((0.0, 1.0), (0.0, 100.0))  # ends of sliders, both of which were used
FEW_ON_WIDE = 7  # such as 0, 25, 50, 75, 100: categories all the same
YES = (("no", "yes"), ("false", "true"), ("n", "y"), ("nein", "ja"), ("non", "oui"), ("bad", "good"), ("fail", "pass"))


@dataclass(frozen=True)
class Scale:
    """A rating scale: its categories with the numbers they count as, or its ends if it is a slider."""

    kind: str
    """``"ordinal"``, ``"two categories"``, ``"slider"``, or ``"magnitude"``, whose ratings are logarithms."""
    why: str
    """Why this kind, and so this model, in half a sentence."""
    labels: tuple[str, ...]
    """Categories, lowest first; none for a slider."""
    scores: tuple[float, ...]
    """What the categories count as; of a slider its lowest and highest rating."""

    @property
    def ordinal(self) -> bool:
        """Whether the ratings are categories."""
        return self.kind not in ("slider", "magnitude")

    @property
    def is_share(self) -> bool:
        """Whether an expected rating is the share of the higher of two categories."""
        return self.kind == "two categories" and self.scores == (0.0, 1.0)

    @property
    def ends(self) -> tuple[float, float]:
        """Between which numbers expected ratings lie; a slider has ends if it was used from 0 to 1 or to 100.

        Examples
        --------
        >>> [read_scale(pa.chunked_array([[low, *range(30, 50), 100]]))[0].ends for low in (0, 20)]
        [(0.0, 100.0), (-inf, inf)]
        """
        if self.ordinal or (self.kind == "slider" and self.scores in SLIDERS):
            return self.scores[0], self.scores[-1]
        return -np.inf, np.inf

    @property
    def in_words(self) -> str:
        """Where the scale runs: ``from 1 to 5``."""
        if self.kind == "magnitude":
            return f"of magnitudes from {np.exp(self.scores[0]):.4g} to {np.exp(self.scores[-1]):.4g}"
        if self.kind == "slider":
            return f"whose ratings run from {self.scores[0]:.4g} to {self.scores[-1]:.4g}"
        if len(self.labels) == 2:
            return f"of {self.labels[0]} and {self.labels[1]}"
        numbered = [f"{score:g}" for score in self.scores]
        if len(numbered) == 1:
            return f"of which only {self.labels[0]} was used"
        if list(self.labels) == numbered:
            return f"from {self.scores[0]:.4g} to {self.scores[-1]:.4g}"
        ends = [f"{number} ({label})" for number, label in zip(numbered, self.labels, strict=True)]
        return f"from {ends[0]} to {ends[-1]}"


def read_scale(values: pa.ChunkedArray, levels: Sequence[str] = ()) -> tuple[Scale, pa.Array]:
    """Return the scale of ratings, and the ratings as a model takes them.

    Parameters
    ----------
    values
        Numbers, truth values, an ordered categorical, or labels.
    levels
        The labels in their order, lowest first, where the ratings are labels.

    Returns
    -------
    tuple
        The scale, and the response: numbers of a slider, whole numbers or an ordered categorical otherwise.

    Examples
    --------
    >>> scale, response = read_scale(pa.chunked_array([["good", "poor", "fair"]]), ("poor", "fair", "good"))
    >>> response.to_pylist(), scale.in_words
    ([3, 1, 2], 'from 1 (poor) to 3 (good)')
    >>> read_scale(pa.chunked_array([[71.0, 3.5, 50.0, 98.0, 12.0, 33.0, 41.0, 66.0]]))[0].kind
    'slider'
    """
    kind = values.type
    if isinstance(kind, pa.DictionaryType):
        if kind.ordered and not levels:
            levels = values.unify_dictionaries().combine_chunks().dictionary.cast(pa.string()).to_pylist()
        values = decode_dictionary(values)
        kind = values.type
    if pa.types.is_boolean(kind):
        return _two(("no", "yes"), (0.0, 1.0)), pc.cast(values, pa.int64()).combine_chunks()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(pc.cast(values, pa.float64(), safe=False))
    if pa.types.is_null(kind):
        raise InputError("there is no rating: the column is empty")
    return _labels(pc.cast(values, pa.string()), [str(level) for level in levels])


def on_grid(response: pa.Array) -> pa.Array:
    """Return slider ratings as numbered categories: the values that occur, or 101 points if there are more.

    Piles at the ends are then categories like any other, and only the order of ratings counts.

    References
    ----------
    Liu, Q., Shepherd, B. E., Li, C. & Harrell, F. E. (2017). Modeling continuous response variables using ordinal
    regression. Statistics in Medicine 36, 4316–4335.

    Examples
    --------
    >>> on_grid(pa.array([0.0, 3.21, 100.0])).to_pylist()
    [0, 1, 2]
    >>> len(on_grid(pa.array([k / 7 for k in range(701)])).unique())
    101
    """
    numbers = response.to_numpy(zero_copy_only=False)
    used = np.unique(numbers[~np.isnan(numbers)])
    if used.size <= GRID:
        codes = np.searchsorted(used, numbers)
    else:
        codes = np.round((numbers - used[0]) / (used[-1] - used[0]) * (GRID - 1))
    return pa.array(np.nan_to_num(codes).astype(np.int64), mask=np.isnan(numbers))


def read_magnitudes(values: pa.ChunkedArray) -> tuple[Scale, pa.Array]:
    """Return the scale of magnitudes, which raters give as ratios to a modulus of their own, and their logarithms.

    Examples
    --------
    >>> read_magnitudes(pa.chunked_array([[50, 100, 200]]))[0].in_words
    'of magnitudes from 50 to 200'
    """
    try:
        numbers = pc.fill_null(pc.cast(decode_dictionary(values), pa.float64(), safe=False), np.nan).to_numpy()
    except pa.ArrowInvalid:
        raise InputError("magnitudes are numbers, and some ratings are not; leave magnitude out") from None
    known = numbers[~np.isnan(numbers)]
    if not known.size:
        raise InputError("there is no rating, so there is nothing to compare")
    if (below := int((known <= 0).sum())) > 0:
        raise InputError(
            f"{below} of {known.size} ratings are 0 or below, and magnitudes are ratios; "
            "correct these ratings, or leave magnitude out"
        )
    logs = np.log(numbers)
    ends = (float(np.nanmin(logs)), float(np.nanmax(logs)))
    return Scale("magnitude", "the ratings are magnitudes", (), ends), pa.array(logs, from_pandas=True)


def _numbers(values: pa.ChunkedArray) -> tuple[Scale, pa.Array]:
    numbers = pc.fill_null(values, np.nan).to_numpy()
    used = np.unique(numbers[~np.isnan(numbers)])
    if not used.size:
        raise InputError("there is no rating, so there is nothing to compare")
    slider = used.size > MOST_CATEGORIES or (used[-1] - used[0] > WIDE and used.size > FEW_ON_WIDE)
    if slider:
        why = f"the ratings have {used.size} different values from {used[0]:g} to {used[-1]:g}, as a slider gives them"
        ends = (float(used[0]) + 0.0, float(used[-1]) + 0.0)  # never -0
        return Scale("slider", why, (), ends), pa.array(numbers, from_pandas=True)
    labels = tuple(f"{value:g}" for value in used)
    scale = _two(labels, tuple(map(float, used))) if used.size == 2 else _ordinal(labels, tuple(map(float, used)))
    if (used == np.round(used)).all():
        return scale, pc.cast(values, pa.int64(), safe=False).combine_chunks()
    codes = np.searchsorted(used, numbers)  # NaN goes behind the last
    places = pa.array(codes, pa.int32(), mask=np.isnan(numbers))
    return scale, pa.DictionaryArray.from_arrays(places, pa.array(labels), ordered=True)


def _labels(values: pa.ChunkedArray, levels: Sequence[str]) -> tuple[Scale, pa.Array]:
    found = [value for value in pc.unique(values).to_pylist() if value is not None]
    if not levels:
        levels = _yes_and_no(found) if len(found) > 1 else found
    if not levels:
        raise InputError(
            f"the ratings are labels whose order is not known ({', '.join(map(repr, found[:12]))}); give them from "
            f"lowest to highest by {arg('levels', list(found))}, in the right order"
        )
    if unknown := [label for label in found if label not in levels]:
        raise InputError(
            f"the rating {unknown[0]!r} is not among {arg('levels', list(levels))}; add it where it belongs"
        )
    if not found:
        raise InputError("there is no rating, so there is nothing to compare")
    first = 0 if len(levels) == 2 else 1
    scores = tuple(float(first + k) for k in range(len(levels)))
    codes = pc.add(pc.index_in(values, value_set=pa.array(levels, pa.string())), first)
    scale = _two(tuple(levels), scores) if len(levels) == 2 else _ordinal(tuple(levels), scores)
    return scale, pc.cast(codes, pa.int64()).combine_chunks()


def _yes_and_no(found: Sequence[str]) -> tuple[str, ...]:
    """Return two labels of which one means yes in their order."""
    low = {label.strip().lower(): label for label in found}
    for pair in YES:
        if set(low) == set(pair):
            return low[pair[0]], low[pair[1]]
    return ()


def _two(labels: tuple[str, ...], scores: tuple[float, ...]) -> Scale:
    return Scale("two categories", "the ratings have two values", labels, scores)


def _ordinal(labels: tuple[str, ...], scores: tuple[float, ...]) -> Scale:
    what = f"{len(labels)} ordered categories" if len(labels) > 1 else "all the same"
    return Scale("ordinal", f"the ratings are {what}", labels, scores)
