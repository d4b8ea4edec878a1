"""Comparisons as they are analysed: coded systems, answers, raters and items; what cannot be analysed is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ordbridge.errors import InputError
from ordbridge.preferences.tied import Comparisons
from ordbridge.reading import read, tables
from ordbridge.reading.preferences import Preferences, PreferencesFound
from ordbridge.reading.selecting import column_named
from ordbridge.reading.sheet import Sheet
from ordbridge.results.finding import Finding, found
from ordbridge.support.formatting import enumerated, listed
from ordbridge.support.linked import linked
from ordbridge.support.naming import arg, in_python

__all__ = ["PairTable", "one_sided", "pair_table", "require_answers", "require_connected"]

WORDS = {"a": 1, "b": -1, "tie": 0}
FEWEST_LEVELS = 3  # of a random grouping
BOTH_ORDERS = 0.05  # share of comparisons in the rarer order of their pair


@dataclass(frozen=True, eq=False)
class PairTable:
    """One row per comparison of two systems.

    Attributes
    ----------
    systems
        Their names.
    first, second
        The systems of each row as places in ``systems``; the first was shown first, as far as the file says.
    y
        The answer: 0 (the second is much better) to ``categories`` − 1 (the first is).
    rater, item
        Places in ``raters`` and ``items``; ``None`` where the file does not say.
    kind
        ``"pairs"``, ``"ranks"``, ``"best-worst"`` (of two systems) or ``"best-worst sets"`` (of more).
    cells, place
        All columns of the file or table, and the place of each row there; ``None`` where a row is not one comparison.
    """

    systems: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray
    y: np.ndarray
    categories: int
    rater: np.ndarray | None = None
    item: np.ndarray | None = None
    raters: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    criterion: np.ndarray | None = None
    criteria: tuple[str, ...] = ()
    kind: str = "pairs"
    source: str = "the table"
    columns: dict[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    cells: Mapping[str, Any] = field(default_factory=dict)
    place: np.ndarray | None = None

    @property
    def n(self) -> int:
        """The number of comparisons."""
        return len(self.y)

    @property
    def in_sets(self) -> bool:
        """Whether the pairs were made from rankings, or from the best and the worst of several."""
        return self.kind in ("ranks", "best-worst sets")

    @property
    def points(self) -> np.ndarray:
        """What the first system of each row gets: 1 for a win, ½ for a tie, 0."""
        return np.asarray(0.5 + 0.5 * np.sign(2 * self.y - (self.categories - 1)))

    def rows(self, keep: np.ndarray) -> PairTable:
        """Return some of the rows, with the systems, raters and items that these have."""
        systems, pair = np.unique(np.concatenate([self.first[keep], self.second[keep]]), return_inverse=True)
        half = len(pair) // 2
        rater, raters = _some(self.rater, self.raters, keep)
        item, items = _some(self.item, self.items, keep)
        return replace(
            self,
            systems=tuple(self.systems[k] for k in systems),
            first=pair[:half],
            second=pair[half:],
            y=self.y[keep],
            rater=rater,
            raters=raters,
            item=item,
            items=items,
            criterion=None if self.criterion is None else self.criterion[keep],
            place=None if self.place is None else self.place[keep],
        )

    def by(self, column: str) -> PairTable:
        """Return the table with an answer of its own for each value of a column; rows without one are left out.

        Examples
        --------
        >>> votes = {"a": ["x", "y"], "b": ["y", "x"], "vote": ["a", "a"], "language": ["de", "en"]}
        >>> pair_table(votes, first="a", second="b", outcome="vote").by("language").criteria
        ('de', 'en')
        """
        if self.place is None:
            raise InputError(f"{arg('by')} needs rows that compare a first and a second system; {self.source} has none")
        name = column_named(Sheet(dict(self.cells), np.arange(0), self.source), column, arg("by"))
        values = tables.to_arrow({name: self.cells[name]})[name].to_pylist()
        mine = [values[int(k)] for k in self.place]
        keep = np.array([k for k, value in enumerate(mine) if value is not None], dtype=np.int64)
        kept = self.rows(keep)
        before = ["" if kept.criterion is None else kept.criteria[k] for k in
                  (np.zeros(kept.n, dtype=int) if kept.criterion is None else kept.criterion)]  # fmt: skip
        labels = [", ".join(filter(None, (one, str(mine[k])))) for one, k in zip(before, keep, strict=True)]
        criteria = sorted(set(labels))
        return replace(kept, criterion=np.array([criteria.index(one) for one in labels]), criteria=tuple(criteria))

    def points_matrix(self) -> np.ndarray:
        """Return the points of each system (row) against each other one (column)."""
        S = len(self.systems)
        out = np.zeros((S, S))
        np.add.at(out, (self.first, self.second), self.points)
        np.add.at(out, (self.second, self.first), 1.0 - self.points)
        return out

    def position_identified(self) -> bool:
        """Tell whether what is shown first can be told from the systems."""
        S = len(self.systems)
        met = np.unique(np.column_stack([self.first, self.second]), axis=0)
        X = np.zeros((len(met), S))
        X[np.arange(len(met)), met[:, 0]] = 1.0
        X[np.arange(len(met)), met[:, 1]] -= 1.0
        return bool(np.linalg.matrix_rank(np.column_stack([X, np.ones(len(met))])) > np.linalg.matrix_rank(X))

    def shown_both_ways(self) -> bool:
        """Tell whether pairs were shown in both orders often enough to separate position from strength."""
        S = len(self.systems)
        shown = np.zeros((S, S))
        np.add.at(shown, (self.first, self.second), 1.0)
        return bool(np.minimum(shown, shown.T).sum() >= 2 * BOTH_ORDERS * self.n)

    def coded(self, groups: Sequence[str] = (), position: bool = False, link: str = "logit") -> Comparisons:
        """Return the rows for the native engine, with these groupings (``"rater"``, ``"item"``) random."""
        levels = tuple(np.asarray(getattr(self, name), dtype=np.int64) for name in groups)
        y, categories = used_categories(self.y, self.categories)
        return Comparisons(
            self.first.astype(np.int64), self.second.astype(np.int64), y, categories, len(self.systems), levels,
            position, link,
        )  # fmt: skip


def used_categories(y: np.ndarray, categories: int) -> tuple[np.ndarray, int]:
    """Leave out answers that nobody gave, on both sides of the scale alike, so that it stays symmetric.

    Examples
    --------
    >>> used_categories(np.array([0, 2, 2]), 3)  # no ties
    (array([0, 1, 1]), 2)
    >>> used_categories(np.array([0, 1, 2]), 5)  # nobody said that the first is better: its answers stay
    (array([0, 1, 2]), 5)
    """
    counts = np.bincount(y, minlength=categories)
    used = (counts + counts[::-1]) > 0
    code = np.cumsum(used) - 1
    return code[y], int(used.sum())


def _some(
    codes: np.ndarray | None, labels: tuple[str, ...], keep: np.ndarray
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    if codes is None:
        return None, ()
    used, code = np.unique(codes[keep], return_inverse=True)
    return code, tuple(labels[k] for k in used)


def pair_table(
    data: Any,
    first: str | None = None,
    second: str | None = None,
    outcome: str | None = None,
    rater: str | None = None,
    item: str | None = None,
    categories: int | None = None,
    **reading: Any,
) -> PairTable:
    """Return the comparisons of a file, of a table, or of what the reader found.

    Parameters
    ----------
    data
        What :func:`ordbridge.read` takes, comparisons that it found, or a table.
    first, second, outcome
        Columns of a table: the systems, and the answer. Answers are ``"a"``, ``"b"`` and ``"tie"``, the name of the
        better system, or integers: 1 (second much better) to K (first much better), or −k to k.
    rater, item
        Columns.
    categories
        How many answers the scale has, where integers do not say it.
    **reading
        Further options of :func:`ordbridge.read`.
    """
    if isinstance(data, PairTable):
        return data
    if isinstance(data, Preferences):
        return _of_reader(data)
    if first is None and second is None and outcome is None:
        roles = {"participant": rater, "item": item} | reading
        try:
            ratings = read(data, **{name: value for name, value in roles.items() if value is not None})
        except PreferencesFound as refusal:
            if refusal.preferences is None:
                raise InputError(
                    f"the comparisons do not say which systems were compared; give {arg('first')}, {arg('second')} and "
                    f"{arg('outcome')}, or {arg('systems')} with the names of both"
                ) from None
            return _of_reader(refusal.preferences)
        raise InputError(
            f"no comparisons were recognised in {ratings.source}; name the columns system_a, system_b and winner, "
            f"or in Python give {in_python('first')}, {in_python('second')} and {in_python('outcome')}"
        )
    if first is None or second is None or outcome is None:
        raise InputError(
            f"{arg('first')}, {arg('second')} and {arg('outcome')} belong together: give all three columns"
        )
    table = tables.to_arrow(data)
    a, b = (_texts(table, name, role) for name, role in ((first, "first"), (second, "second")))
    answers = tables.column(table, outcome, role="outcome").to_pylist()
    signed, count, left_out = _answers(answers, a, b, categories)
    labels = {
        role: None if name is None else _texts(table, name, role) for role, name in (("rater", rater), ("item", item))
    }
    made = _coded(a, b, signed, count, labels, None)
    columns = {"systems": f"{first}, {second}", "outcome": outcome}
    columns |= {role: name for role, name in (("participant", rater), ("item", item)) if name is not None}
    cells = dict(zip(table.column_names, table.columns, strict=True))
    return replace(made, columns=columns, findings=_left_out(left_out, len(answers)), cells=cells)


def _texts(table: Any, name: str, role: str) -> list[str | None]:
    return [None if value is None else str(value) for value in tables.column(table, name, role=role).to_pylist()]


def _left_out(rows: int, n: int) -> tuple[Finding, ...]:
    return (found("no-verdict", n=rows, all=n),) if rows else ()


def _of_reader(data: Preferences) -> PairTable:
    table = data.table
    a, b = table["system_a"].to_pylist(), table["system_b"].to_pylist()
    if not data.systems:
        raise InputError(f"{data.source} does not name the systems; give {arg('systems')} with the names of a and b")
    answers = table["outcome"].to_pylist()
    signed: list[int | None] = [None if one is None else WORDS[one] for one in answers]
    count = 3
    if data.grades:
        most = max(abs(one) for one in data.grades if one is not None)
        ties = 0 in data.grades
        count = 2 * most + ties
        signed = [one if one is None or ties else 2 * one - (1 if one > 0 else -1) for one in data.grades]
    labels = {role: table[role].to_pylist() for role in ("rater", "item")}
    criterion = table["criterion"].to_pylist()
    if _same_split(criterion, labels["item"]):
        criterion = [None] * len(criterion)  # the number of the question, which is the item
    made = _coded(a, b, signed, count, labels, criterion)
    return replace(
        made, kind=data.kind, source=data.source, columns=dict(data.columns), cells=data.cells,
        place=None if not data.rows or made.place is None else np.array(data.rows)[made.place],
        findings=_left_out(sum(one is None for one in signed), len(signed)),
    )  # fmt: skip


def _same_split(criterion: list[str | None], item: list[str | None]) -> bool:
    named = {one for one in criterion if one is not None}
    both = {(one, other) for one, other in zip(criterion, item, strict=True) if one is not None}
    return len(named) > 1 and len(both) == len(named) == len({other for _, other in both})


def _answers(
    answers: list[Any], a: list[str | None], b: list[str | None], categories: int | None
) -> tuple[list[int | None], int, int]:
    """Return signed answers (positive: the first is better), the number of categories, and how many are missing."""
    present = [one for one in answers if one is not None and one == one]
    missing = len(answers) - len(present)
    numbers = [float(one) for one in present if isinstance(one, (int, float)) and not isinstance(one, bool)]
    if present and len(numbers) == len(present):
        if any(one != round(one) for one in numbers):
            raise InputError("graded answers must be integers: 1 (second much better) to K, or −k to k")
        low, high = int(min(numbers)), int(max(numbers))
        if low < 0:
            count = categories or 2 * max(-low, high) + 1
            code = [None if one is None or one != one else int(one) for one in answers]
            return code, count, missing
        if low == 0 or (categories is None and low > 1):
            raise InputError(
                f"answers from {low} to {high} do not say how many there are. Code them 1 (second much better) to K "
                f"and give {arg('categories')} with the number"
            )
        count = high if categories is None else int(categories)
        if high > count or count < 2:
            raise InputError(
                f"the answer {high} is not one of {count} categories; give {arg('categories')} of at least 2"
            )
        centre = count + 1
        doubled = [None if one is None or one != one else 2 * int(one) - centre for one in answers]
        if count % 2:
            return [None if one is None else one // 2 for one in doubled], count, missing
        return doubled, count, missing
    signed: list[int | None] = []
    for place, (one, x, y) in enumerate(zip(answers, a, b, strict=True)):
        if one is None or one != one:
            signed.append(None)
            continue
        word = str(one).strip()
        if word in (x, y):
            signed.append(1 if word == x else -1)
        elif word.lower() in WORDS:
            signed.append(WORDS[word.lower()])
        else:
            raise InputError(
                f"row {place + 1}: the answer {word!r} is neither a, b or tie nor {x!r} or {y!r}; correct it, or give "
                "graded answers as integers"
            )
    return signed, 3, missing


def _coded(
    a: list[str | None],
    b: list[str | None],
    signed: list[int | None],
    categories: int,
    labels: dict[str, list[str | None] | None],
    criterion: list[str | None] | None,
) -> PairTable:
    keep = [k for k, (x, y, one) in enumerate(zip(a, b, signed, strict=True)) if None not in (x, y, one)]
    same = [k + 1 for k in keep if a[k] == b[k]]
    if same:
        rows = enumerated(same, 5)
        raise InputError(
            f"a system is compared with itself in {len(same)} row{'s' if len(same) > 1 else ''} ({rows}): correct or "
            "leave them out"
        )
    if not keep:
        raise InputError("no comparison has two systems and an answer")
    names = tuple(dict.fromkeys(str(x) for pair in ((a[k], b[k]) for k in keep) for x in pair))
    place = {name: k for k, name in enumerate(sorted(names))}
    values = np.array([signed[k] for k in keep], dtype=np.int64)
    y = (values + categories - 1) // 2 if categories % 2 == 0 else values + (categories - 1) // 2
    coded: dict[str, Any] = {}
    for role, column in labels.items():
        codes, levels = _levels(column, keep, role)
        coded[role], coded[f"{role}s"] = codes, levels
    codes, criteria = (None, ()) if criterion is None else _levels(criterion, keep, "criterion")
    return PairTable(
        tuple(place), np.array([place[str(a[k])] for k in keep]), np.array([place[str(b[k])] for k in keep]), y,
        categories, **coded, criterion=codes, criteria=criteria, place=np.array(keep),
    )  # fmt: skip


def _levels(column: list[str | None] | None, keep: list[int], role: str) -> tuple[np.ndarray | None, tuple[str, ...]]:
    if column is None or all(column[k] is None for k in keep):
        return None, ()
    gaps = [k + 1 for k in keep if column[k] is None]
    if gaps:
        raise InputError(f"the {role} is missing in row {gaps[0]}; fill it in, or leave these {len(gaps)} rows out")
    levels = tuple(dict.fromkeys(str(column[k]) for k in keep))
    place = {name: k for k, name in enumerate(levels)}
    return np.array([place[str(column[k])] for k in keep]), levels


def require_answers(table: PairTable) -> None:
    """Refuse comparisons that are all ties: nobody prefers anything."""
    if (table.points == 0.5).all():
        raise InputError(
            f"all {table.n} answers are ties, so no system is preferred to another; there is nothing to estimate"
        )


def require_connected(table: PairTable) -> None:
    """Refuse systems that no chain of comparisons connects: nothing can be said about these against those."""
    part = linked(table.first, table.second, len(table.systems))
    count = part.max() + 1
    if count == 1:
        return
    groups = [[table.systems[k] for k in np.flatnonzero(part == one)] for one in range(count)]
    said = " | ".join(enumerated(group, 6) for group in groups[:4]) + (" | …" if count > 4 else "")
    raise InputError(
        f"the comparisons fall into {count} groups of systems that were never compared with each other: {said}. "
        "Compare some across the groups, or analyse each group by itself"
    )


def one_sided(table: PairTable) -> tuple[list[int], list[int], list[int]]:
    """Return systems that always win against the others, those that can be estimated, and those that always lose.

    Strengths have finite estimates only where each of two parts of the systems got points against the other.

    References
    ----------
    Ford, L. R. (1957). Solution of a ranking problem from binary comparisons. American Mathematical Monthly 64(8),
    28–33.
    """
    got = table.points_matrix() > 0
    count, part = csgraph.connected_components(sparse.csr_matrix(got), directed=True, connection="strong")
    if count == 1:
        return [], list(range(len(table.systems))), []
    core = int(np.argmax(np.bincount(part)))
    inside = np.flatnonzero(part == core)
    reach = csgraph.shortest_path(sparse.csr_matrix(got), unweighted=True)
    others = [k for k in range(len(table.systems)) if k not in inside]
    above = [k for k in others if np.isfinite(reach[k, inside[0]])]
    return above, list(inside), [k for k in others if k not in above]


def random_groupings(table: PairTable, ranked: bool) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Return which of rater and item are random, and why others are not.

    A grouping needs three levels, and some of them more than one comparison; items that are ranked need two rankings,
    because the pairs of a ranking never contradict each other.
    """
    chosen, said = [], []
    for role in ("rater", "item"):
        codes = getattr(table, role)
        levels = len(getattr(table, f"{role}s"))
        if codes is None:
            said.append(found("preferences-no-column", role=role))
        elif levels < FEWEST_LEVELS:
            said.append(found("preferences-few-levels", role=role, n=levels))
        elif ranked and role == "item" and not _ranked_twice(table):
            said.append(found("items-ranked-once", n=levels))
        elif table.n < 1.2 * levels:
            said.append(found("preferences-once", role=role))
        else:
            chosen.append(role)
    return tuple(chosen), tuple(said)


def _ranked_twice(table: PairTable) -> bool:
    """Tell whether most items were ranked by two raters or more."""
    if table.rater is None or table.item is None:
        return False
    both = np.unique(np.column_stack([table.item, table.rater]), axis=0)
    return bool((np.bincount(both[:, 0]) >= 2).mean() > 0.5)


def said_systems(names: Sequence[str]) -> str:
    """Name some systems in a sentence."""
    return listed(list(names)) if len(names) <= 5 else enumerated(names, 5)
