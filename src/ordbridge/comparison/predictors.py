"""What stands in a model beside the system: blocks that were given or recognised, covariates, the order of trials."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.comparison.blocks import ROLES
from ordbridge.comparison.points import ExpectedRatings, Fitter
from ordbridge.errors import FitError, FitTimeout, InputError
from ordbridge.formula import quote
from ordbridge.reading.flaws.design import BLOCKS
from ordbridge.reading.vocabulary import name_words
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed
from ordbridge.support.formatting import listed
from ordbridge.support.linked import linked

SESSIONS = {"experiment", "session", "datasets", "languages", "domains", "lp", "langpair", "sitzung"}
LANGUAGES = {"language", "languages", "lang", "lp", "langpair", "sprache", "langue", "idioma"}
ORDERS = {"order", "position", "trial", "trialnumber"}
DOCUMENTS = {"doc", "document", "article", "passage", "dialogue", "dialog", "conversation", "story", "prompt"}
DOCUMENTS |= {f"{word}id" for word in DOCUMENTS}
LEAST_DOCUMENTS = 3  # of each system, for their differences to have a variance
DOCUMENT = "document"
"""The group of items that belong together."""
MOST_BLOCKS = 30  # values of a column that is recognised as a block
UNEVEN = 0.05  # difference between systems in the share of a block, from which on it is in the model
MOST_PLACES = 2_000  # of a recognised order
UNLIKE = 0.2  # share of an order's variance that lies between systems, from which on both are mixed
APART = 0.999  # the same share where they cannot be told apart at all
MOST_RATINGS = 50_000  # with more of them no further model is fitted for an order that nobody asked for
LEVEL = 0.05  # below it, an effect is said to be there
TRIAL = "trial_order"
"""The place of a rating among those of its participant, in the order of the file."""


@dataclass(frozen=True)
class Blocks:
    """Recognised blocks of one part of a comparison."""

    columns: tuple[str, ...] = ()
    """Those on which systems are unevenly spread: they belong into the model."""
    findings: tuple[Finding, ...] = ()


def recognised_blocks(table: pa.Table, skip: Collection[str]) -> Blocks:
    """Find datasets, languages, domains, experiments and sessions by their names, and say what becomes of them.

    Systems that were rated on other blocks, or on the same ones in other shares, differ by their blocks: the block
    is then a fixed effect. Where no block links the systems, that is impossible and is said. Blocks that all systems
    have alike do not bias a difference; that they are pooled is said.

    Parameters
    ----------
    table
        Ratings of systems.
    skip
        Columns that have another part already.

    Examples
    --------
    >>> table = pa.table({"system": ["A", "A", "B", "B", "B"], "dataset": ["x", "y", "x", "x", "x"]})
    >>> recognised_blocks(table, ()).columns
    ('dataset',)
    """
    columns: list[str] = []
    said: list[Finding] = []
    for name in table.column_names:
        words = {*name_words(name)}
        if name in ROLES or name in skip or not words & (BLOCKS | SESSIONS):
            continue
        if words & LANGUAGES and _of_people(table, name):
            continue
        counts, labels, systems = _counts(table, name)
        if not 2 <= len(labels) <= MOST_BLOCKS:
            continue
        shares = counts / counts.sum(axis=1, keepdims=True)
        if np.ptp(shares, axis=0).max() <= UNEVEN:
            severity = "warning" if words & LANGUAGES else "note"
            said.append(noticed("blocks-pooled", severity=severity, n=len(labels), block=name))
        elif _linked(counts > 0) and not _copies_item(table, name):
            columns.append(name)
            lone = [one for one, seen in zip(systems, counts > 0, strict=True) if not seen.all()]
            what = f"{listed(lone[:3])} {'was' if len(lone) == 1 else 'were'} not rated in every {name}" if lone else (
                f"systems were not rated equally often in each {name}"
            )  # fmt: skip
            said.append(noticed("block-in-model", block=name, what=what))
        else:
            said.append(noticed("block-confounded", block=name))
    finest = [name for name in columns if not any(_nested(table, name, other, columns) for other in columns)]
    said = [one for one in said if one.code != "block-in-model" or one.values["block"] in finest]
    return Blocks(tuple(finest), tuple(said))


def _nested(table: pa.Table, coarse: str, fine: str, columns: Sequence[str]) -> bool:
    """Tell whether a block says nothing beside a finer one: the domain, where each dataset has one domain."""
    if coarse == fine:
        return False
    pairs, kinds, own = (
        len(table.select([*names]).group_by([*names]).aggregate([])) for names in ((coarse, fine), (fine,), (coarse,))
    )
    same = own == kinds  # two names of one thing: the first one stays
    return pairs == kinds and (not same or columns.index(fine) < columns.index(coarse))


def _counts(table: pa.Table, name: str) -> tuple[np.ndarray, list[str], list[str]]:
    known = table.filter(pc.and_(pc.is_valid(table[name]), pc.is_valid(table["system"])))
    try:
        values = np.array(known[name].cast(pa.string()).to_pylist(), dtype=object).astype(str)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.zeros((0, 0)), [], []
    labels, code = np.unique(values, return_inverse=True)
    systems, system = np.unique(np.array(known["system"].to_pylist(), dtype=object).astype(str), return_inverse=True)
    counts = np.zeros((len(systems), len(labels)))
    np.add.at(counts, (system, code), 1)
    return counts, labels.tolist(), systems.tolist()


def _linked(seen: np.ndarray) -> bool:
    """Tell whether blocks link all systems."""
    system, block = np.nonzero(seen)
    part = linked(system, len(seen) + block, sum(seen.shape))
    return len(set(part[: len(seen)].tolist())) == 1


def _of_people(table: pa.Table, name: str) -> bool:
    """Tell whether a column says something about raters, such as their first language, and not about texts."""
    if not {"participant", "item"} <= {*table.column_names}:
        return False

    def several(role: str) -> bool:
        pairs = table.select([role, name]).group_by([role, name]).aggregate([])
        return len(pairs) > len(pairs[role].unique())

    return not several("participant") and several("item")


def _copies_item(table: pa.Table, name: str) -> bool:
    """Tell whether a column has as many values as there are items."""
    return "item" in table.column_names and len(table[name].unique()) >= len(table["item"].unique())


def recognised_document(table: pa.Table, skip: Collection[str]) -> str | None:
    """Return the column that says which items belong together, such as sentences of a document.

    A system that is good in one sentence of a document is so in others, too: documents, not sentences, are then what
    new ones are like, and they have random effects beside those of items.

    Examples
    --------
    >>> items = [f"{doc}{k}" for doc in "abc" for k in range(2)]
    >>> rows = {"item": items * 2, "doc_id": [one[0] for one in items] * 2, "system": ["A"] * 6 + ["B"] * 6}
    >>> recognised_document(pa.table(rows), ())
    'doc_id'
    """
    if not {"item", "system"} <= {*table.column_names}:
        return None
    for name in table.column_names:
        if name in ROLES or name in skip or not {*name_words(name)} & DOCUMENTS or table[name].null_count:
            continue

        def pairs(*columns: str) -> pa.Table:
            return table.select([*columns]).group_by([*columns]).aggregate([])

        items, documents = len(pairs("item")), len(pairs(name))
        if len(pairs("item", name)) != items or not LEAST_DOCUMENTS <= documents <= items / 2:
            continue
        fewest = pc.min(pc.value_counts(pairs("system", name)["system"]).field("counts")).as_py()
        if fewest >= LEAST_DOCUMENTS:
            return name
    return None


def recognised_orders(table: pa.Table, skip: Collection[str]) -> tuple[str, ...]:
    """Return numeric columns that say where in a session something was rated, or where it stood on the page.

    Examples
    --------
    >>> recognised_orders(pa.table({"page_order": [1, 2, 3], "length": [5, 8, 9]}), ())
    ('page_order',)
    """
    found: list[str] = []
    for name in table.column_names if table.num_rows <= MOST_RATINGS else ():
        kind = table.schema.field(name).type
        if name in ROLES or name in skip or not {*name_words(name)} & ORDERS:
            continue
        if (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and 2 <= len(table[name].unique()) <= MOST_PLACES:
            found.append(name)
    return tuple(found)


def order_mixed(name: str, table: pa.Table) -> Finding | None:
    """Say where systems were not seen in the same places: then a difference may be one of place."""
    known = table.filter(pc.is_valid(table[name]))
    place = known[name].cast(pa.float64()).to_numpy()
    systems, code = np.unique(np.array(known["system"].to_pylist(), dtype=object).astype(str), return_inverse=True)
    means = np.bincount(code, place) / np.bincount(code)
    if not place.size or np.ptp(place) == 0 or (share := float(means[code].var() / place.var())) < UNLIKE:
        return None
    low, high = int(means.argmin()), int(means.argmax())
    return noticed(
        "order-confounded" if share > APART else "order-mixed",
        name=name, first=str(systems[low]), low=float(means[low]), last=str(systems[high]), high=float(means[high]),
    )  # fmt: skip


def with_trial_order(table: pa.Table) -> pa.Table:
    """Return ratings with the place of each among those of its participant, from 1 on, in the order of the file."""
    if "participant" not in table.column_names:
        raise InputError("the order of trials is that of each participant's ratings, and there is no participant")
    seen: dict[object, int] = {}
    places = []
    for person in table["participant"].to_pylist():
        seen[person] = seen.get(person, 0) + 1
        places.append(float(seen[person]))
    return table.append_column(TRIAL, pa.array(places))


def with_predictors(ratings: pa.Table, blocks: Sequence[str], covariates: Sequence[str]) -> pa.Table:
    """Return the ratings with blocks as names and covariates as centred numbers, without rows that lack one."""
    for name in (*blocks, *covariates):
        if name not in ratings.column_names or name in ROLES:
            others = [other for other in ratings.column_names if other not in ROLES]
            raise InputError(f"{name!r} is not a further column; there are {', '.join(others) or 'none'}")
        ratings = ratings.filter(pc.is_valid(ratings[name]))
    for name in (*blocks, *covariates):
        column = ratings[name].cast(pa.string())
        if name in covariates:
            try:
                numbers = ratings[name].cast(pa.float64())
            except pa.ArrowInvalid:
                raise InputError(
                    f"the covariate {name!r} has values that are not numbers; give it as a block"
                ) from None
            column = pc.subtract(numbers, pc.mean(numbers))
        ratings = ratings.set_column(ratings.column_names.index(name), name, column)
    return ratings


def interaction(block: str, means: ExpectedRatings, numbers: pa.Table, fitter: Fitter) -> Finding:
    """Test whether differences between systems depend on a block, or change with a covariate."""
    try:
        p = _test(means, numbers, fitter, [], f"system:{quote(block)}")
    except FitTimeout:
        raise
    except (FitError, InputError, np.linalg.LinAlgError) as failure:
        return noticed("block-untested", block=block, reason=str(failure).rstrip("."))
    return noticed("block-interaction" if p < LEVEL else "no-block-interaction", block=block, p=p)


def slope(name: str, means: ExpectedRatings, numbers: pa.Table, fitter: Fitter) -> Finding | None:
    """Say by how much ratings change with a number that is in the model, or that is put into it for this test."""
    from scipy import stats

    try:
        formula = _formula(means, [] if quote(name) in means.formula.split(" + ") else [quote(name)])
        fit = means.fit if formula == means.formula else fitter("lmer" if "|" in formula else "lm", formula, numbers)
        place = None if fit is None else fit.estimates.position(name)
        if fit is None or place is None:
            return None
        e = fit.estimates
        estimate, error, df = (float(one[place]) for one in (e.estimate, e.std_error, e.df))
    except FitTimeout:
        raise
    except (FitError, InputError, np.linalg.LinAlgError):
        return None
    p = float(2 * stats.t.sf(abs(estimate / error), df if np.isfinite(df) else np.inf))
    return noticed("covariate-effect" if p < LEVEL else "no-covariate-effect", name=name, estimate=estimate, p=p)


def _formula(means: ExpectedRatings, more: Sequence[str]) -> str:
    if not means.formula:
        raise FitError(means.problem or "there is no model of all systems")
    return means.formula.replace("rating ~ system", " + ".join(["rating ~ system", *more]), 1)


def _test(means: ExpectedRatings, numbers: pa.Table, fitter: Fitter, more: Sequence[str], term: str) -> float:
    formula = _formula(means, [*more, term])
    fit = fitter("lmer" if "|" in formula else "lm", formula, numbers)
    return float(fit.test(term, method="f").to_pylist()[0]["p_value"])
