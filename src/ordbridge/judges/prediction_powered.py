"""Means of systems, and their differences, from few ratings by people and many by a judge.

Prediction-powered inference: the judge's mean over all texts, corrected by what people say about the judge on the texts
that they rated. It is unbiased whatever the judge does, and the weight λ of the judge is tuned, so that a useless judge
gets none. The variance knows that texts of one item belong together and that people rate many texts (``crossed``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.judges.contrasts import contrast
from ordbridge.judges.judged import Columns, Judged, read_judged
from ordbridge.reliability.jackknife import raters_as
from ordbridge.render.layout import Section, ShownTable
from ordbridge.results import Finding, Result, found, worst_first
from ordbridge.support.arguments import choice, proportion
from ordbridge.support.formatting import interval_text
from ordbridge.support.naming import arg

SELECTED = 3.0  # standard errors between the judge's ratings of texts that people rated and of the others
FEWEST = 3  # texts of a system that people must have rated
_NUMBERS = [
    (name, pa.float64())
    for name in ("estimate", "conf_low", "conf_high", "people_only", "people_low", "people_high", "weight", "gain")
]
_COUNTS = [("n_people", pa.int64()), ("n_judge", pa.int64())]
_MEANS = pa.schema([("system", pa.string()), *_NUMBERS, *_COUNTS])
_PAIR = [("system_a", pa.string()), ("system_b", pa.string())]
_DIFFERENCES = pa.schema([*_PAIR, *_NUMBERS, ("p_value", pa.float64()), *_COUNTS])
_CATEGORIES = pa.schema([("system", pa.string()), ("at_least", pa.string()), *_NUMBERS, *_COUNTS])


@dataclass(frozen=True, repr=False)
class JudgeEstimates(Result):
    """Result of :func:`estimate`.

    Attributes
    ----------
    means
        One row per system: ``estimate`` with its interval from people and judge together, ``people_only`` with its
        interval, the ``weight`` λ of the judge, the ``gain`` (how many times as many ratings people alone would need
        for the same variance), and how many texts people (``n_people``) and the judge alone (``n_judge``) rated.
    differences
        The same for every two systems, with a p-value.
    superiority
        The same for the probability that a text of ``system_a`` is rated above one of ``system_b``, ties counted half:
        a difference of ordinal ratings that needs no distances; the p-value is that of one half.
    categories
        The same for the share of ratings at or above each category, where there are at most ten.
    judge, raters
        The judge; whether people are a sample (random) or all there are (fixed).
    conf_level
        Level of the intervals.
    """

    kind: ClassVar[str] = "judge-estimates"
    title = "What do people and the judge say together?"
    means: pa.Table
    differences: pa.Table
    superiority: pa.Table
    categories: pa.Table
    judge: str
    raters: str
    conf_level: float = 0.95
    findings: tuple[Finding, ...] = ()

    @property
    def answer(self) -> str:  # type: ignore[override]
        """What the judge's ratings are worth."""
        rows = self.differences.to_pylist() or self.means.to_pylist()
        if not any(row["n_judge"] for row in rows):
            return f"{self.judge} adds nothing to the means: people rated every text that it rated."
        if len(rows) == 1 and rows[0]["conf_low"] is not None:
            row = rows[0]
            what = f"{row['system_a']} − {row['system_b']}" if "system_a" in row else f"The mean of {row['system']}"
            ends = interval_text(row, self.conf_level, "{:.2f}".format)
            return (
                f"{what} is {row['estimate']:.2f} ({ends}) with {self.judge}, {row['people_only']:.2f} from people "
                f"alone: worth {row['gain']:.1f} times as many ratings."
            )
        gains = sorted(row["gain"] for row in rows)
        what = "differences" if self.differences.num_rows else "means"
        return (
            f"With {self.judge}, each human rating counts for {gains[0]:.1f} to {gains[-1]:.1f} ({len(rows)} {what})."
        )

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {name: getattr(self, name) for name in ("means", "differences", "superiority", "categories")}

    def main(self) -> Sequence[ShownTable]:
        """Return the differences, or the mean where there is one system."""
        table = self.differences if self.differences.num_rows else self.means
        wanted = (
            "system",
            "system_a",
            "system_b",
            "estimate",
            "conf_low",
            "conf_high",
            "p_value",
            "people_only",
            "gain",
        )
        names = [name for name in wanted if name in table.column_names]
        return [ShownTable(table.select(names))]

    def sections(self) -> Sequence[Section]:
        """Return means, differences and shares."""
        titled = (
            (self.means, "Means"),
            (self.differences, "Differences"),
            (self.superiority, "Probability that a text of the first system is rated above one of the second"),
        )
        grids = [ShownTable(table, caption) for table, caption in titled if table.num_rows]
        parts = [Section("Means from people and judge together", tuple(grids))]
        if self.categories.num_rows:
            parts.append(
                Section("Shares of ratings at or above each category", (ShownTable(self.categories),), folded=True)
            )
        return parts


def estimate(
    data: Any,
    judge: str | None = None,
    *,
    raters: str | None = None,
    conf_level: float = 0.95,
    **columns: Any,
) -> JudgeEstimates:
    r"""Estimate means of systems and their differences from few ratings by people and many by a judge.

    With Y the mean of people's ratings of a text and f the judge's rating, n texts that both rated and N that only the
    judge did,

    .. math:: \hat\theta = \bar Y_n - \lambda (\bar f_n - \bar f_N)

    is unbiased for any λ, if the n texts are a random choice. λ makes its estimated variance smallest: 0 for a judge
    who tells nothing. For independent texts and ratings the interval is that of Angelopoulos et al. (PPI++). Otherwise
    its variance is over clusters of texts (those of an item) and, where people are a sample, over people, from
    components of variance (Henderson), and the interval is Student's with Satterthwaite's degrees of freedom; one that
    is not narrower than that of people alone is not used.

    Parameters
    ----------
    data, judge, **columns
        See :func:`ordbridge.judges.alt_test`. Words with an order (``scale=``) are taken by their position; the shares
        at or above each category do not need distances.
    raters
        ``"random"``: other people could have rated; ``"fixed"``: these people are all there are. By default
        random, of two people fixed.
    conf_level
        Level of the intervals.

    Returns
    -------
    JudgeEstimates

    References
    ----------
    Angelopoulos, A. N., Bates, S., Fannjiang, C., Jordan, M. I., & Zrnic, T. (2023). Prediction-powered inference.
    Science 382, 669–674. Angelopoulos, A. N., Duchi, J. C., & Zrnic, T. (2023). PPI++: efficient prediction-powered
    inference. arXiv:2311.01453. Henderson, C. R. (1953). Biometrics 9, 226–252.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> quality = rng.normal(3, 1, 300)
    >>> people, judge = quality[:60] + rng.normal(scale=0.5, size=60), quality + 0.8 + rng.normal(scale=0.5, size=300)
    >>> table = {"item": [*range(60), *range(300)], "participant": [*map(str, range(60)), *["gpt"] * 300],
    ...          "rating": [*people, *judge], "kind": ["human"] * 60 + ["judge"] * 300}
    >>> row = estimate(table).means.to_pylist()[0]
    >>> row["conf_low"] < 3 < row["conf_high"], row["gain"] > 1.5  # the judge is 0.8 too high, and helps
    (True, True)
    """
    proportion("conf_level", conf_level)
    choice("raters", raters, (None, "random", "fixed"))
    read = read_judged(data, judge, Columns(**columns))
    if read.level == "nominal":
        raise InputError(
            f"means need numbers or ordered categories; give all words from lowest to highest ({arg('scale')})"
        )
    about = raters_as(read.humans.rated_by(1), raters)
    random = about == "random"
    noticed: list[Finding] = []
    systems = [name for name in read.systems if _enough(read, name, noticed)]
    if not systems:
        raise InputError(f"no system has {FEWEST} texts that both people and the judge rated")
    points = dict.fromkeys(systems, read.humans.points)
    means = [{"system": name, **contrast(read, {name: 1.0}, points, random, conf_level).row} for name in systems]
    differences, superiority = [], []
    for one, other in combinations(systems, 2):
        apart = contrast(read, {one: 1.0, other: -1.0}, points, random, conf_level)
        differences.append(
            {"system_a": one, "system_b": other, **apart.row, "p_value": apart.p_value(apart.row["estimate"])}
        )
        superiority.append({"system_a": one, "system_b": other, **_superior(read, one, other, random, conf_level)})
    categories = _at_least(read, systems, random, conf_level) if len(read.humans.categories) <= 10 else []
    noticed += _selection(read, systems)
    unjudged = int(((read.judge_code < 0) & (read.humans.per_item > 0)).sum())
    if unjudged:
        noticed.append(found("unjudged-texts", n=unjudged))
    return JudgeEstimates(
        pa.Table.from_pylist(means, schema=_MEANS),
        pa.Table.from_pylist(differences, schema=_DIFFERENCES),
        pa.Table.from_pylist(superiority, schema=_DIFFERENCES),
        pa.Table.from_pylist(categories, schema=_CATEGORIES),
        read.name,
        about,
        conf_level,
        worst_first(noticed),
    )


def _at_least(read: Judged, systems: list[str], random: bool, conf_level: float) -> list[dict[str, Any]]:
    """Return the share of ratings at or above each category but the lowest."""
    rows = []
    for name in systems:
        for code in range(1, len(read.humans.categories)):
            above = {name: (np.arange(len(read.humans.categories)) >= code).astype(float)}
            row = contrast(read, {name: 1.0}, above, random, conf_level).row
            rows.append({"system": name, "at_least": str(read.humans.categories[code]), **row, **_as_shares(row)})
    return rows


def _superior(read: Judged, one: str, other: str, random: bool, conf_level: float) -> dict[str, Any]:
    r"""Return the probability of a higher rating: what a rating counts is the share of the others that it beats.

    With p the shares of people's ratings, :math:`W = \sum_k p^a_k (P^b_{<k} + p^b_k/2)` is linear in those of each
    system. Its derivatives are the values of a contrast, whose error is that of W (delta method), and by which the
    judge corrects it.
    """
    beaten = {name: _beaten(read, name) for name in (one, other)}
    above = contrast(read, {one: 1.0, other: -1.0}, {one: beaten[other], other: beaten[one]}, random, conf_level)
    alone = (above.row["people_only"] + 1) / 2
    shift = alone - above.row["people_only"]
    moved = {
        key: None if (end := above.row[key]) is None else end + shift
        for key in ("estimate", "conf_low", "conf_high", "people_only", "people_low", "people_high")
    }
    row = above.row | moved
    return row | _as_shares(row) | {"p_value": above.p_value(row["estimate"] - 0.5)}


def _beaten(read: Judged, name: str) -> np.ndarray:
    """Return, for each category, the share of people's ratings of a system that are below it, and half of the ties."""
    humans = read.humans
    mine = (read.system_of == name)[humans.row] & (read.judge_code >= 0)[humans.row]
    each = 1 / humans.per_item[humans.row[mine]]  # every text counts once
    shares = np.bincount(humans.code[mine], each, minlength=len(humans.categories))
    shares = shares / shares.sum()
    return np.asarray(np.cumsum(shares) - shares / 2)


def _enough(read: Judged, name: str, noticed: list[Finding]) -> bool:
    both = (read.judge_code >= 0) & (read.humans.per_item > 0) & (read.system_of == name)
    if both.sum() < FEWEST:
        noticed.append(found("system-left-out", name, n=int(both.sum())))
        return False
    if not ((read.judge_code >= 0) & (read.humans.per_item == 0) & (read.system_of == name)).any():
        noticed.append(found("judge-adds-nothing", name))
    return True


def _selection(read: Judged, systems: list[str]) -> list[Finding]:
    """Return where the texts that people rated do not look like a random choice."""
    noticed = []
    for name in systems:
        mine = (read.judge_code >= 0) & (read.system_of == name)
        labelled, others = (
            read.judge[mine & (read.humans.per_item > 0)],
            read.judge[mine & (read.humans.per_item == 0)],
        )
        if len(others) < 2 or len(labelled) < 2:
            continue
        error = np.sqrt(labelled.var(ddof=1) / len(labelled) + others.var(ddof=1) / len(others))
        if error > 0 and abs(labelled.mean() - others.mean()) > SELECTED * error:
            rated, rest = float(labelled.mean()), float(others.mean())
            noticed.append(found("texts-not-random", name, rated=rated, others=rest))
    return noticed


def _as_shares(row: dict[str, Any]) -> dict[str, Any]:
    """Return the ends of intervals of a share, which are between 0 and 1."""
    return {
        key: None if end is None else float(min(1.0, max(0.0, end)))
        for key, end in row.items()
        if key.endswith(("_low", "_high"))
    }
