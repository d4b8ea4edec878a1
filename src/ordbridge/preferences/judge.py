"""A model's choices beside people's: the alternative annotator test, win rates from both, and its bias of position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.judges import AltTest, JudgeEstimates, alt_test, estimate
from ordbridge.preferences.analysis import LARGEST
from ordbridge.preferences.fitting import restricted
from ordbridge.preferences.table import PairTable, one_sided, pair_table
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.values import as_numbers
from ordbridge.render.layout import Section, ShownTable
from ordbridge.results.finding import Finding, found
from ordbridge.results.result import Result
from ordbridge.support.formatting import enumerated, p_text
from ordbridge.support.naming import arg

__all__ = ["PreferenceJudge", "judge_preferences"]


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceJudge(Result):
    """What a judge's choices are worth beside people's.

    Attributes
    ----------
    test
        The alternative annotator test; ``None`` where there is too little for it.
    rates
        Win rates from people and judge together; ``None`` where there is too little for them.
    bias
        bias (``position`` or ``length``), estimate (log odds, of being shown first or of each standard deviation of
        extra length; null where it is infinite), std_error, p_value, share (of points that what is shown first gets).
    length
        What was counted as length.
    """

    kind: ClassVar[str] = "preference judge"
    judge: str
    test: AltTest | None
    rates: JudgeEstimates | None
    bias: pa.Table
    findings: tuple[Finding, ...] = ()
    length: str = ""

    def __repr__(self) -> str:
        """Say in one line what was found."""
        return f"<{self.judge} beside people: {self.answer}>"

    @property
    def title(self) -> str:  # type: ignore[override]
        """The question."""
        return f"Can {self.judge} choose in place of a person?"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """Whether the judge passes, and what it prefers for no good reason."""
        lines = [] if self.test is None else [self.test.answer]
        for row in self.bias.to_pylist():
            if row["p_value"] < 0.05:
                more = row["share"] > 0.5 if row["estimate"] is None else row["estimate"] > 0
                what = {"position": "first text" if more else "second text",
                        "length": "longer text" if more else "shorter text"}[row["bias"]]  # fmt: skip
                lines.append(f"{self.judge} prefers the {what} ({p_text(row['p_value'])}).")
        return "\n".join(lines) or f"No clear bias of {self.judge}."

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What the length of a text is."""
        return self.length

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        found = {"bias": self.bias}
        if self.test is not None:
            found["annotators"] = self.test.annotators
        if self.rates is not None:
            found["win_rates"] = self.rates.means
        return found

    def main(self) -> Sequence[ShownTable]:
        """Return win rates from people and judge together, and the judge's bias."""
        names = {"system": "pair", "estimate": "win rate"}
        shown = (
            [] if self.rates is None else [ShownTable(self.rates.means, "Win rates of the first, ties split", names)]
        )
        return [*shown, ShownTable(self.bias, "Bias of the judge")] if self.bias.num_rows else shown

    def sections(self) -> Sequence[Section]:
        """Return the test by person."""
        return [] if self.test is None else [Section("Person by person", tuple(self.test.main()))]


def judge_preferences(
    data: Any,
    judge: str,
    *,
    epsilon: float = 0.2,
    conf_level: float = 0.95,
    lengths: tuple[str, str] | None = None,
    **columns: Any,
) -> PreferenceJudge:
    """Compare a judge's choices with people's.

    The alternative annotator test asks on every item and pair whether the judge agrees with the other people as often
    as a person does. Prediction-powered win rates correct the judge's by what people say where both chose.

    Parameters
    ----------
    data, **columns
        Comparisons of people and judge, as for :func:`ordbridge.prefer`; rater and item are needed.
    judge
        The name of the judge among the raters.
    epsilon
        Of the alternative annotator test: 0.2 for experts, 0.15 for skilled people, 0.1 for crowd workers.
    conf_level
        Level of the intervals.
    lengths
        Columns with the lengths of the first and second text, or with the texts, whose characters are counted: does the
        judge prefer the longer one, of systems that are equally good?

    References
    ----------
    Calderon, N., Reichart, R. & Dror, R. (2025). The alternative annotator test for LLM-as-a-judge. ACL 2025.
    Angelopoulos, A. N., Duchi, J. C. & Zrnic, T. (2023). PPI++: efficient prediction-powered inference.
    """
    table = pair_table(data, **columns)
    if table.rater is None or table.item is None:
        raise InputError(f"a judge is compared with people on the same items: give {arg('rater')} and {arg('item')}")
    if judge not in table.raters:
        raise InputError(f"no rater is called {judge!r}; there are {', '.join(table.raters[:20])}")
    mine = table.rater == table.raters.index(judge)
    if mine.all():
        raise InputError("all choices are the judge's: there are no people to compare it with")
    longer, counted = _extra_length(table, lengths)
    long = _long(table, table.rater, table.item, mine)
    said: list[Finding] = []
    test: AltTest | None = None
    rates: JudgeEstimates | None = None
    roles: dict[str, Any] = {
        "participant": "participant",
        "item": "item",
        "rating": "rating",
        "kind": "kind",
        "cluster": "cluster",
    }
    try:
        choices = long.set_column(long.column_names.index("rating"), "rating", long["choice"])
        test = alt_test(choices, judge, epsilon, score="accuracy", conf_level=conf_level, level="nominal", **roles)
    except (InputError, FitError) as why:
        said.append(found("no-alternative-test", text=str(why)))
    try:
        rates = estimate(long, judge, conf_level=conf_level, system="pair", level="interval", **roles)
    except (InputError, FitError) as why:
        said.append(found("no-judge-means", text=str(why)))
    bias = _bias(table, mine, longer)
    if longer is not None and "length" not in bias["bias"].to_pylist():
        said.append(found("no-length-bias"))
    return PreferenceJudge(judge, test, rates, bias, tuple(said), counted)


def _long(table: PairTable, rater: np.ndarray, item: np.ndarray, judge: np.ndarray) -> pa.Table:
    """Return one row per rater, item and pair: the points of the pair's first system.

    Where a rater was asked twice, as judges are in both orders, points are averaged and the first choice is the choice.
    """
    S = len(table.systems)
    flip = table.first > table.second
    low, high = np.where(flip, table.second, table.first), np.where(flip, table.first, table.second)
    points = np.where(flip, 1 - table.points, table.points)
    cell = ((rater.astype(np.int64) * (int(item.max()) + 1) + item) * S + low) * S + high
    _, first, code = np.unique(cell, return_index=True, return_inverse=True)
    mean = np.bincount(code, points) / np.bincount(code)
    pair = [f"{table.systems[low[k]]} – {table.systems[high[k]]}" for k in first]
    cluster = [table.items[item[k]] for k in first]
    return pa.table({
        "participant": [table.raters[rater[k]] for k in first],
        "item": [f"{one}: {both}" for one, both in zip(cluster, pair, strict=True)],
        "cluster": cluster,
        "pair": pair,
        "rating": mean,
        "choice": ["tie" if value == 0.5 else "first" if value > 0.5 else "second" for value in points[first]],
        "kind": np.where(judge[first], "judge", "human").tolist(),
    })  # fmt: skip


def _extra_length(table: PairTable, lengths: tuple[str, str] | None) -> tuple[np.ndarray | None, str]:
    """Return how much longer the first text is, in standard deviations, and what was counted."""
    if lengths is None:
        return None, ""
    for name in lengths:
        if name not in table.cells:
            known = enumerated(table.cells, 20)
            raise InputError(f"no column is called {name!r} for lengths" + (f"; there are {known}" if known else ""))
    if table.place is None:
        raise InputError("lengths need a file with one comparison per row, and columns for the first and second system")
    cells = [_picked(table.cells[name], table.place) for name in lengths]
    gaps = sum(is_missing(one) for column in cells for one in column)
    if gaps:
        raise InputError(f"{' and '.join(lengths)} are empty in {gaps} places; fill them in, or leave these rows out")
    numbers = [as_numbers(column)[0] for column in cells]
    if all(np.isfinite(one).all() for one in numbers):
        first, second = numbers
        counted = f"Length: {lengths[0]}, {lengths[1]}."
    else:
        first, second = (np.array([len(str(one)) for one in column], dtype=float) for column in cells)
        counted = f"Length: characters of {lengths[0]}, {lengths[1]}."
    extra = first - second
    if not extra.std() > 0:
        raise InputError(f"the difference between {lengths[0]} and {lengths[1]} is the same in all rows")
    return np.asarray(extra / extra.std()), counted


def _picked(column: Any, places: np.ndarray) -> list[str | None]:
    cells = column.to_pylist() if isinstance(column, pa.ChunkedArray) else column
    return [None if cells[k] is None else str(cells[k]) for k in places]


def _bias(table: PairTable, mine: np.ndarray, longer: np.ndarray | None) -> pa.Table:
    """Return what the judge prefers beyond the systems: the first place, and length."""
    rows: list[dict[str, Any]] = []
    own = table.rows(mine)
    finite = not any(one_sided(own)[k] for k in (0, 2))
    if own.shown_both_ways():
        rows.append({"bias": "position", "share": float(own.points.mean())} | _position_bias(own, finite))
    if longer is not None and finite and (found := _length_bias(own, longer[mine])) is not None:
        rows.append({"bias": "length"} | found)
    fields = [(name, pa.float64()) for name in ("estimate", "std_error", "p_value", "share")]
    return pa.Table.from_pylist(rows, pa.schema([("bias", pa.string()), *fields]))


def _length_bias(own: PairTable, longer: np.ndarray) -> dict[str, float] | None:
    """Return log odds by extra length, beside strengths: of mirrored rows, so that cut-points stay symmetric."""
    from scipy import stats

    from ordbridge.models.api import clm

    S = len(own.systems)
    X = np.zeros((own.n, S))
    X[np.arange(own.n), own.first] = 1.0
    X[np.arange(own.n), own.second] -= 1.0
    columns = {f"x{k}": X[:, k] for k in range(1, S)} | {"longer": longer}
    mirrored = {name: np.concatenate([column, -column]) for name, column in columns.items()}
    mirrored["y"] = np.concatenate([own.y, own.categories - 1 - own.y]).astype(int)
    mirrored["w"] = np.full(2 * own.n, 0.5)
    try:
        fitted = clm(f"y ~ {' + '.join(columns)}", mirrored, weights="w", engine="fast")
    except (FitError, InputError):
        return None
    k = list(fitted.estimates.terms).index("longer")
    error = float(np.sqrt(fitted.estimates.vcov[k, k]))
    p = float(2 * stats.norm.sf(abs(fitted.coef["longer"]) / error))
    return {"estimate": fitted.coef["longer"], "std_error": error, "p_value": p}


def _position_bias(own: PairTable, finite: bool) -> dict[str, float]:
    """Return log odds of being shown first; where these are infinite an exact binomial test of the first place."""
    from scipy import stats

    if finite:
        try:
            fit = restricted(own.coded((), True), 0.0)
            value, error, _, p = fit.test(np.eye(len(fit.coefficients))[-1])
            if abs(value) < LARGEST and error < LARGEST:
                return {"estimate": value, "std_error": error, "p_value": p}
        except FitError:
            pass
    chosen = own.points[own.points != 0.5]
    return {"p_value": float(stats.binomtest(int(chosen.sum()), len(chosen)).pvalue) if len(chosen) else 1.0}
