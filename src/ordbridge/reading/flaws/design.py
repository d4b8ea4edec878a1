"""Who rated what: duplicates, systems and items that cannot be compared, parts without a link, too few of something."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.reading.coded_ratings import RatedStudy
from ordbridge.reading.vocabulary import is_aside, name_words, rank_of
from ordbridge.results.finding import Finding, found
from ordbridge.support.formatting import enumerated
from ordbridge.support.linked import linked
from ordbridge.support.naming import arg

__all__ = ["design_flaws"]

FEW_RATERS = 10  # below so many, Wald's test rejects too often (docs/inference.md)
FEW_ITEMS = 10
OVERLAP = 0.02  # share of comparisons in which the lower system wins, up to which systems are nearly separated
ENOUGH = 10  # ratings of a system before separation is looked for
WALD = ", and Wald tests of a clmm reject too often"
FEW_ADVICE = {
    True: "Use ordbridge compare or a bootstrap test, which allow for it.",
    False: "A random effect cannot be estimated from so few: the answer is about these.",
}
BLOCKS = {
    "dataset",
    "corpus",
    "domain",
    "language",
    "lang",
    "genre",
    "testset",
    "datensatz",
    "sprache",
    "langue",
    "idioma",
}
MOST_LABELS = 12  # of a column that may hold criteria


def design_flaws(study: RatedStudy) -> Iterator[Finding]:
    """Yield what is wrong with the design as it was carried out."""
    yield from _repeats(study)
    yield from _ranks(study)
    yield from _systems(study)
    yield from _links(study)
    yield from _few(study)
    yield from _separation(study)
    if len(study.criteria) > 1:
        shown = ", ".join(str(name) for name, _ in study.criteria[:6])
        yield found("several-criteria", n=len(study.criteria), shown=shown)


def _repeats(study: RatedStudy) -> Iterator[Finding]:
    """Find a participant's second rating of a text: a copied row, a repetition, or another criterion."""
    if study.text is None or "participant" not in study.names:
        return
    parts = [study.names["participant"].code, study.text]
    if "criterion" in study.names:
        parts.append(study.names["criterion"].code)
    key = _together(parts)
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    again = np.ones(len(key), dtype=bool)
    again[first] = False
    again &= np.all([part >= 0 for part in parts], axis=0)
    if not again.any():
        return
    column = _criterion_column(study, key)
    if column is not None:
        yield found("criteria-in-one-column", n=int(counts.max()), column=column)
        return
    if _told_apart(study, key):
        return  # an item has several texts of a system, and a column names them
    copies = again & _copied(study, key)
    if copies.sum() == again.sum():
        yield found("duplicated-rows", n=int(copies.sum()), rows=study.rows_of(copies))
        return
    yield found("repeated-ratings", n=int(again.sum()), rows=study.rows_of(again))


def _ranks(study: RatedStudy) -> Iterator[Finding]:
    """Find ranks: of the systems of an item every participant puts one first, one second, and so on."""
    if study.levels is not None or not {"participant", "item", "system"} <= study.names.keys():
        return
    for criterion, chosen in study.criteria:
        values = study.rating[chosen]
        group = _together([study.names[role].code[chosen] for role in ("participant", "item")])
        order = np.lexsort((values, group))
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        place = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
        several = len(order) > 1.5 * len(starts) and len(starts) >= ENOUGH
        if several and (values[order] == place + 1).all():
            yield found("ranks", criterion)


def _together(parts: list[np.ndarray]) -> np.ndarray:
    key = parts[0].astype(np.int64)
    for part in parts[1:]:
        key = np.unique(key * (part.max() + 2) + part + 1, return_inverse=True)[1]
    return key


def _criterion_column(study: RatedStudy, key: np.ndarray) -> str | None:
    """Return a column that tells the ratings of one participant and text apart, the same labels for nearly all."""
    if "criterion" in study.names:
        return None
    _, of_key, counts = np.unique(key, return_inverse=True, return_counts=True)
    if np.median(counts) < 2:
        return None
    for name in study.table.column_names:
        if name in ("participant", "item", "system", "rating") or is_aside(name):
            continue
        column = study.table[name]
        if not (pa.types.is_string(column.type) or pa.types.is_integer(column.type)) or column.null_count:
            continue
        labels = column.combine_chunks().dictionary_encode()
        if not 2 <= len(labels.dictionary) <= MOST_LABELS:
            continue
        code = labels.indices.to_numpy()
        if len(np.unique(of_key * len(labels.dictionary) + code)) == len(key):
            return str(name)
    return None


def _told_apart(study: RatedStudy, key: np.ndarray) -> bool:
    """Tell whether another column names what was rated, so that nobody rated the same thing twice."""
    for name in study.table.column_names:
        if rank_of("item", name) is None or name == "item":
            continue
        column = study.table[name].combine_chunks()
        if not pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type):
            code = np.asarray(pc.fill_null(column.dictionary_encode().indices, -1)).astype(np.int64)
            if len(np.unique(_together([key, code]))) == len(key):
                return True
    return False


def _copied(study: RatedStudy, key: np.ndarray) -> np.ndarray:
    """Return which ratings stand in a row that is equal to an earlier one in every column."""
    codes = [key]
    for name in study.table.column_names:
        column = study.table[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            codes.append(np.asarray(pc.fill_null(column.indices, -1)))
        elif pa.types.is_nested(column.type):
            continue
        else:
            codes.append(np.asarray(pc.fill_null(column.dictionary_encode().indices, -1)))
    whole = _together(codes)
    first = np.unique(whole, return_index=True)[1]
    copied = np.ones(len(key), dtype=bool)
    copied[first] = False
    return copied


def _systems(study: RatedStudy) -> Iterator[Finding]:
    systems = study.names.get("system")
    if systems is None:
        return
    if len(systems.labels) == 1:
        yield found("one-system", system=systems.labels[0])
        return
    items = study.names.get("item")
    if items is None:
        return
    named = (items.code >= 0) & (systems.code >= 0)
    pairs = np.unique(items.code[named] * len(systems.labels) + systems.code[named])
    per_item = np.bincount(pairs // len(systems.labels), minlength=len(items.labels))
    alone = per_item == 1
    if alone.all():
        yield found("items-within-systems")
    elif alone.any():
        lonely = np.flatnonzero(alone)
        shown = ", ".join(repr(items.labels[place]) for place in lonely[:3])
        yield found(
            "item-under-one-system", n=len(lonely), of=len(items.labels), shown=shown,
            rows=study.rows_of(np.isin(items.code, lonely)),
        )  # fmt: skip
    shared = [] if alone.all() else list(_unshared(study, pairs))
    yield from shared or _confounded(study)
    people = study.names.get("participant")
    if people is not None and len(people.labels) > len(systems.labels):
        named = (people.code >= 0) & (systems.code >= 0)
        seen = np.unique(people.code[named] * len(systems.labels) + systems.code[named])
        per_person = np.bincount(seen // len(systems.labels), minlength=len(people.labels))
        if (per_person == 1).all():
            yield found("participants-within-systems")


def _unshared(study: RatedStudy, pairs: np.ndarray) -> Iterator[Finding]:
    """Find groups of systems that share no item with each other, and the column that tells the groups apart."""
    systems, items = study.names["system"], study.names["item"]
    k = len(systems.labels)
    part = linked(pairs % k, k + pairs // k, k + len(items.labels))
    groups = [np.flatnonzero(part[:k] == one) for one in dict.fromkeys(part[:k].tolist())]
    if len(groups) < 2:
        return
    advice = "Compare systems on the same items only."
    of_rating = part[systems.code]
    for name in study.table.column_names:
        column = study.table[name]
        if not pa.types.is_string(column.type) or name in ("participant", "item", "system", "criterion"):
            continue
        codes = np.asarray(pc.fill_null(column.combine_chunks().dictionary_encode().indices, -1))
        if len(np.unique(codes)) == len(groups) == len(np.unique(codes * (part.max() + 1) + of_rating)):
            advice = f"Compare them within {name}, such as {arg('where', f'{name} == {column[0]}')}."
            break
    first, second = (", ".join(systems.labels[place] for place in group[:4]) for group in groups[:2])
    yield found("systems-share-no-items", first=first, second=second, advice=advice)


def _confounded(study: RatedStudy) -> Iterator[Finding]:
    """Find a column such as dataset or language whose labels are not the same for all systems."""
    systems = study.names["system"]
    for name in study.table.column_names:
        column = study.table[name]
        if not pa.types.is_string(column.type) or not {*name_words(name)} & BLOCKS:
            continue
        labels = column.combine_chunks().dictionary_encode()
        k = len(labels.dictionary)
        if not 2 <= k <= MOST_LABELS:
            continue
        codes = np.asarray(pc.fill_null(labels.indices, k)).astype(np.int64)
        seen = np.zeros((len(systems.labels), k + 1), dtype=bool)
        seen[systems.code, codes] = True
        if (seen != seen[0]).any():
            odd = next(place for place in range(len(seen)) if (seen[place] != seen[0]).any())
            yield found("systems-differ-in-block", column=name, one=systems.labels[0], other=systems.labels[odd])


def _links(study: RatedStudy) -> Iterator[Finding]:
    """Find raters and items that are linked to nothing else."""
    if "participant" not in study.names or "item" not in study.names:
        return
    people, items = study.names["participant"], study.names["item"]
    given = (people.code >= 0) & (items.code >= 0)
    n = len(people.labels)
    part = linked(people.code[given], n + items.code[given], n + len(items.labels))
    parts = part.max() + 1
    if parts < 2:
        return
    sizes = np.bincount(part[people.code[given]], minlength=parts)
    main = int(sizes.argmax())
    apart = np.flatnonzero(part[:n] != main)
    shown = ", ".join(repr(people.labels[place]) for place in apart[:3])
    more = f" and {len(apart) - 3} more" if len(apart) > 3 else ""
    yield found(
        "unlinked-parts", parts=int(parts), shown=f"{shown}{more}", rows=study.rows_of(np.isin(people.code, apart))
    )


def _few(study: RatedStudy) -> Iterator[Finding]:
    for role, least in (("participant", FEW_RATERS), ("item", FEW_ITEMS)):
        names = study.names.get(role)
        if names is None or len(names.labels) >= least:
            continue
        n = len(names.labels)
        yield found(f"few-{'raters' if role == 'participant' else 'items'}", n=n, wald=WALD, advice=FEW_ADVICE[n > 2])
    people = study.names.get("participant")
    if people is None or len(people.labels) < 3:
        return
    counts = people.counts
    rare = np.flatnonzero((counts <= 2) & (np.median(counts) >= 10))
    if rare.size:
        shown = ", ".join(repr(people.labels[place]) for place in rare[:3])
        yield found(
            "few-ratings", n=len(rare), usual=float(np.median(counts)), shown=shown,
            rows=study.rows_of(np.isin(people.code, rare)),
        )  # fmt: skip


def _separation(study: RatedStudy) -> Iterator[Finding]:
    """Find systems that are (nearly) always rated above or below another one, on common items if any have them."""
    systems, items = study.names.get("system"), study.names.get("item")
    if systems is None or len(systems.labels) < 2:
        return
    common = np.ones((len(systems.labels), len(systems.labels)), dtype=int)
    if items is not None:
        known = (items.code >= 0) & (systems.code >= 0)
        seen = np.zeros((len(items.labels), len(systems.labels)), dtype=int)
        seen[items.code[known], systems.code[known]] = 1
        shared = seen.T @ seen
        if np.triu(shared, 1).any():
            common = shared
    for criterion, chosen in study.criteria:
        if not study.is_categorical(chosen):  # the answer is in points, and needs no ordinal model
            continue
        values = [study.rating[chosen & (systems.code == place)] for place in range(len(systems.labels))]
        below: dict[str, list[str]] = {}
        for a in range(len(values)):
            for b in range(a + 1, len(values)):
                if min(len(values[a]), len(values[b])) < ENOUGH or not common[a, b]:
                    continue
                higher = _share_above(values[a], values[b])
                lower = _share_above(values[b], values[a])
                if min(higher, lower) <= OVERLAP and max(higher, lower) >= 1 - 5 * OVERLAP:
                    top, bottom = (a, b) if higher > lower else (b, a)
                    word = "always" if min(higher, lower) == 0 else "nearly always"
                    said = f"{systems.labels[top]!r} is {word} rated above"
                    below.setdefault(said, []).append(repr(systems.labels[bottom]))
        if below:
            shown = "; ".join(f"{said} {enumerated(names, 4)}" for said, names in list(below.items())[:4])
            yield found("separation", criterion, shown=shown)


def _share_above(one: np.ndarray, other: np.ndarray) -> float:
    """Return how often a rating of the one system is above one of the other."""
    sorted_other = np.sort(other)
    return float(np.searchsorted(sorted_other, one, side="left").mean() / len(other))
