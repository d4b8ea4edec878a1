"""What goes into a paper: the table with letters and stars, the differences, the methods paragraph, references."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge.comparison.family import NAMES
from ordbridge.comparison.points import MANY
from ordbridge.comparison.wording import Units, corrected_by, pair_sentences, units
from ordbridge.models import fit_words
from ordbridge.models.kinds import KINDS
from ordbridge.render.layout import ShownTable
from ordbridge.results.citations import COMPARISONS as REFERENCES
from ordbridge.support.escaping import shortened
from ordbridge.support.formatting import listed, p_text, stars

if TYPE_CHECKING:
    from ordbridge.comparison.result import Comparison

MOST_MEANS = 12  # that are told in the results
MANY_SYSTEMS = 12  # more of them are shown in clusters, and all in the report
MOST_CLUSTERS, LINES_EACH = 12, 2  # lines for clusters, of which the sentences on each criterion take some
LINE, NAMED = 62, 36  # characters for the columns of a cluster, and for its names: the rest counts how many more
FEW_SYSTEMS = 5  # with more of them the table says which places each can have
TESTS = {
    "points": {
        "t": "t tests with Satterthwaite's degrees of freedom",
        "welch": "Welch's t tests",
        "exact": "exact sign-flip or permutation tests, where a system always had the same rating",
    },
    "latent": {
        "wald": "Wald's z test",
        "t": "Wald's tests with Student's t in place of the normal distribution, whose degrees of freedom are "
        "Satterthwaite's in the linear mixed model with the same terms",
        "lrt": "likelihood ratio tests, with profile likelihood intervals",
        "bootstrap": "likelihood ratio tests with Bartlett's correction from {draws} simulated datasets, with the "
        "profile likelihood intervals that belong to them",
    },
}


def caption(comparison: Comparison, stars: bool = True) -> str:
    """Return what stands above the table, which has stars for p-values or the p-values themselves."""
    designs = [comparison.rows("design", criterion)[0] for criterion in comparison.criteria]
    scales = dict.fromkeys(design["scale"] for design in designs)
    what = "Shares" if units(designs[0], comparison.settings["estimand"]).is_share else _quantity(comparison)
    scale = f" on a scale {next(iter(scales))}" if len(scales) == 1 else ""
    n, corrected = comparison.settings["comparisons"], NAMES[comparison.settings["adjust"]]
    how = f"; {corrected}, {n} comparisons" if n > 1 else ""
    text = f"{what}{scale}, with {100 * comparison.settings['conf_level']:g}% intervals."
    if comparison.settings["reference"] is not None:
        marks = f"* p < .05, ** p < .01, *** p < .001{how}" if stars else f"with p-values{how}"
        return f"{text} Differences from {comparison.settings['reference']}: {marks}."
    level = f"{comparison.alpha:.2g}".removeprefix("0")
    shared = f"Systems that share a letter do not differ significantly (p ≥ {level}{how})."
    return f"{text} {shared} Bold: no system is significantly better." if stars else f"{text} {shared}"


def ranking_grid(comparison: Comparison) -> ShownTable:
    """Return the systems of the only criterion in columns: rating, interval, and letters of groups or stars."""
    [criterion] = comparison.criteria
    unit = units(comparison.rows("design", criterion)[0], comparison.settings["estimand"])
    rows = comparison.rows("ranking", criterion)
    reference = comparison.settings["reference"]
    marks = {row["system_a"]: stars(row["p_adjusted"]) for row in comparison.rows("pairs", criterion)}
    table = {
        "system": [row["system"] for row in rows],
        _what(comparison).lower(): [unit.value(row["estimate"]) for row in rows],
        f"{100 * comparison.settings['conf_level']:g}% CI": [_interval(row, unit) for row in rows],
    }
    if reference is None:
        table["group"] = [row["letters"] for row in rows]
        if len(rows) > FEW_SYSTEMS:
            table["rank"] = [f"{row['rank_low']} to {row['rank_high']}" for row in rows]
    else:
        table[f"against {reference}"] = [marks.get(row["system"], "") for row in rows]
    return ShownTable(pa.table(table))


def overview_grid(comparison: Comparison) -> ShownTable:
    """Return the systems of the only criterion with their distance from the best one, or from the reference."""
    [criterion] = comparison.criteria
    design = comparison.rows("design", criterion)[0]
    unit = units(design, comparison.settings["estimand"])
    rows, first = ranking_grid(comparison), comparison.rows("ranking", criterion)[0]["system"]
    other = comparison.settings["reference"] or first
    pairs = {}
    for row in comparison.rows("pairs", criterion):
        ends = (row["conf_low"], row["conf_high"])
        pairs[row["system_a"], row["system_b"]] = row
        turned = (
            {"conf_low": None, "conf_high": None} if None in ends else {"conf_low": -ends[1], "conf_high": -ends[0]}
        )
        pairs[row["system_b"], row["system_a"]] = {**row, "difference": -row["difference"], **turned}
    found = [pairs.get((system, other)) for system in rows.table["system"].to_pylist()]
    level = f"{100 * comparison.settings['conf_level']:g}%"
    title = f"difference from {shortened(other, 16)}"
    columns: dict[str, list[str]] = {
        name: rows.table[name].to_pylist() for name in rows.table.column_names if not name.startswith("against ")
    }
    columns |= {
        title: ["" if row is None else unit.value(row["difference"]) for row in found],
        f"{level} CI ": ["" if row is None else _interval(row, unit) for row in found],
        "p": ["" if row is None else _p(row["p_adjusted"]) for row in found],
    }
    return ShownTable(pa.table(columns), caption(comparison, stars=False))


def caption_of_picture(comparison: Comparison) -> str:
    """Say what the picture of the systems shows."""
    ordinal = comparison.shares.num_rows > 0
    return f"{'Categories chosen, and e' if ordinal else 'E'}xpected ratings"


def results(comparison: Comparison) -> str:
    """Return expected ratings and differences in sentences."""
    level = f"{100 * comparison.settings['conf_level']:g}% CI"
    sentences = []
    for criterion in comparison.criteria:
        unit = units(comparison.rows("design", criterion)[0], comparison.settings["estimand"])
        each = [
            f"{unit.rating(row['estimate'])} for {row['system']}"
            + ("" if row["conf_low"] is None else f" ({level} {_interval(row, unit)})")
            for row in comparison.rows("ranking", criterion)[:MOST_MEANS]
        ]
        of = "" if criterion is None else f" for {criterion}"
        sentences += [f"{_quantity(comparison)}{of}: {'; '.join(each)}.", *pair_sentences(comparison, criterion)]
    return " ".join(sentences)


def many_systems(comparison: Comparison) -> bool:
    """Tell whether there are so many systems that their clusters stand for them."""
    most = max(len(comparison.rows("ranking", criterion)) for criterion in comparison.criteria)
    return comparison.settings["reference"] is None and most > MANY_SYSTEMS


def within_terminal(comparison: Comparison, grid: ShownTable) -> list[ShownTable]:
    """Return the table below sentences on each criterion, shorter where they leave little room."""
    n, rows = len(comparison.criteria), grid.table.num_rows
    room = max(3, MOST_CLUSTERS - LINES_EACH * n)
    if many_systems(comparison):
        return [grid] if LINES_EACH * n < MOST_CLUSTERS - LINES_EACH else []
    if n == 1 or comparison.settings["reference"] is not None:
        return [grid]
    what = "A letter in common: no significant difference."
    if rows > room:
        what = f"{room - 1} of {rows} systems (all: --details). {what}"
        return [replace(grid, table=grid.table.slice(0, room - 1), caption=what)]
    return [replace(grid, caption=what)]


def clusters_grid(comparison: Comparison) -> ShownTable:
    """Return a row for each cluster of systems, best first: the first rows of each criterion."""
    found: dict[str, list[Any]] = {"criterion": [], "places": [], "rating": [], "systems": []}
    n = len(comparison.criteria)
    hidden, most = 0, min(10, max(1, (MOST_CLUSTERS - LINES_EACH * n) // n))
    for criterion in comparison.criteria:
        unit = units(comparison.rows("design", criterion)[0], comparison.settings["estimand"])
        rows = comparison.rows("ranking", criterion)
        groups = [[row for row in rows if row["cluster"] == k] for k in dict.fromkeys(row["cluster"] for row in rows)]
        hidden += max(0, len(groups) - most)
        for members in groups[:most]:
            ends = members[0], members[-1]
            found["criterion"].append(shortened(criterion or "", 16))
            found["places"].append(" to ".join(dict.fromkeys(str(row["rank"]) for row in ends)))
            found["rating"].append(" to ".join(dict.fromkeys(unit.value(row["estimate"]) for row in ends)))
            found["systems"].append([row["system"] for row in members])
    if comparison.criteria == (None,):
        del found["criterion"]
    room = LINE - sum(max(map(len, texts)) for name, texts in found.items() if name != "systems")
    found["systems"] = [_within(names, min(room, NAMED)) for names in found["systems"]]
    more = f" {hidden} further clusters are in the report." if hidden else ""
    caption = f"No system is clearly below the first of its cluster.{more} {again(comparison)}"
    return ShownTable(pa.table(found), caption.strip())


def again(comparison: Comparison) -> str:
    """Say how probably a repetition keeps the order of all pairs that differ."""
    known = [row for row in comparison.stability.to_pylist() if row["stable_ranking"] is not None]
    if not known:
        return ""
    where = [f" for {row['criterion']}" if row["criterion"] else "" for row in known]
    of = [f"{100 * row['stable_ranking']:.0f}%{place}" for row, place in zip(known, where, strict=True)]
    if len(of) > LINES_EACH:
        of = [f"{100 * min(row['stable_ranking'] for row in known):.0f}% or more on each criterion"]
    return f"Chance that a repetition keeps the order of all pairs that differ: {listed(of)}."


def _within(names: list[str], size: int) -> str:
    """Return as many names as fit, at least one, and how many more there are."""
    kept = [names[0]]
    for name in names[1:]:
        if len(", ".join([*kept, name])) > size:
            break
        kept.append(name)
    return ", ".join(kept) + (f" + {len(names) - len(kept)} more" if len(kept) < len(names) else "")


def ratings_grid(comparison: Comparison) -> ShownTable:
    """Return a row for each system: its expected rating and interval on each criterion, with letters or stars.

    Bold: no system is significantly better.
    """
    criteria = comparison.criteria
    first = comparison.rows("ranking", criteria[0])
    systems = list(dict.fromkeys(row["system"] for row in (*first, *comparison.ranking.to_pylist())))
    reference = comparison.settings["reference"]
    columns: dict[str, list[str]] = {"System": [f"{s} (reference)" if s == reference else s for s in systems]}
    bold, raised = set(), {}
    for criterion in criteria:
        name = criterion or _what(comparison)
        unit = units(comparison.rows("design", criterion)[0], comparison.settings["estimand"])
        rows = {row["system"]: row for row in comparison.rows("ranking", criterion)}
        marks = {row["system_a"]: stars(row["p_adjusted"]) for row in comparison.rows("pairs", criterion)}
        columns[name] = []
        for place, system in enumerate(systems):
            row = rows.get(system)
            columns[name].append("–" if row is None else _rating(row, unit))
            if row is None:
                continue
            if reference is None and "a" in (row["letters"] or ""):
                bold.add((place, name))
            raised[place, name] = marks.get(system, "") if reference is not None else row["letters"] or ""
    return ShownTable(pa.table(columns), caption(comparison), bold=frozenset(bold), raised=raised)


def _rating(row: dict[str, Any], unit: Units) -> str:
    interval = "" if row["conf_low"] is None else f" [{unit.value(row['conf_low'])}, {unit.value(row['conf_high'])}]"
    return f"{unit.value(row['estimate'])}{interval}"


def pairs_grid(comparison: Comparison) -> ShownTable:
    """Return a row for each pair: its difference with interval, corrected p-value, and chance of being rated above."""
    level = f"{100 * comparison.settings['conf_level']:g}%"
    rows = comparison.pairs.to_pylist()
    unit = {row["criterion"]: units(row, comparison.settings["estimand"]) for row in comparison.design.to_pylist()}
    columns = {
        "Pair": [f"{row['system_a']} – {row['system_b']}" for row in rows],
        "Criterion": [row["criterion"] for row in rows],
        "Difference": [unit[row["criterion"]].value(row["difference"]) for row in rows],
        f"{level} CI": [_interval(row, unit[row["criterion"]]) for row in rows],
        "p": [_p(row["p_adjusted"]) for row in rows],
        "P(first above)": [_chance(row) for row in rows],
    }
    if any(row["latent_p_value"] is not None for row in rows):
        columns["latent p"] = [_p(row["latent_p_value"]) for row in rows]
    raised = {(place, "p"): stars(row["p_adjusted"]) for place, row in enumerate(rows)}
    return ShownTable(pa.table(columns), _pairs_caption(comparison), raised=raised)


def _interval(row: dict[str, Any], unit: Units) -> str:
    return "–" if row["conf_low"] is None else f"{unit.value(row['conf_low'])} to {unit.value(row['conf_high'])}"


def _p(value: float | None) -> str:
    return "–" if value is None else p_text(value).removeprefix("p ").removeprefix("= ")


def methods(comparison: Comparison) -> str:
    """Return the methods paragraph: who rated what, which model, which tests, which correction."""
    return " ".join([_study(comparison), *_models(comparison), _tests(comparison)])


def references(comparison: Comparison) -> list[str]:
    """Return the references of the methods paragraph."""
    asked, models = comparison.settings, comparison.models.to_pylist()
    tests = {name for row in models if row["estimand"] == asked["estimand"] for name in row["test"].split(", ")}
    found: dict[str, None] = {}
    for fit in comparison.fits.values():
        found |= dict.fromkeys(fit_words.references(fit))
    if "latent" in {row["estimand"] for row in models if "|" in row["formula"]} and asked["formula"] is None:
        found[REFERENCES["slopes"]] = None
    if asked["estimand"] == "points" and asked["formula"] is None:
        found[REFERENCES["maximal"]] = None
    if "bootstrap" in tests:
        tests.add("lrt")
    found |= dict.fromkeys(REFERENCES[key] for key in ("t", "welch", "exact", "bootstrap", "lrt") if key in tests)
    if asked["adjust"] in REFERENCES and asked["comparisons"] > 1:
        found[REFERENCES[asked["adjust"]]] = None
    if asked["reference"] is None:
        found[REFERENCES["letters"]] = None
    found[REFERENCES["superiority"]] = None
    return list(found)


def _quantity(comparison: Comparison) -> str:
    if comparison.settings.get("magnitude"):
        return "Geometric means"
    return "Latent means" if comparison.settings["estimand"] == "latent" else "Expected ratings"


def _what(comparison: Comparison) -> str:
    return "Share" if units(comparison.design.to_pylist()[0], comparison.settings["estimand"]).is_share else "Rating"


def _chance(row: dict[str, Any]) -> str:
    ends = (row["superiority_low"], row["superiority_high"])
    interval = "" if None in ends else f" [{100 * ends[0]:.0f}, {100 * ends[1]:.0f}]"
    return f"{100 * row['superiority']:.0f}%{interval}"


def _pairs_caption(comparison: Comparison) -> str:
    level = f"{100 * comparison.settings['conf_level']:g}%"
    n = comparison.settings["comparisons"]
    corrected = f"corrected p-values ({corrected_by(comparison)})" if n > 1 else "p-values"
    return (
        f"Differences between systems {in_units(comparison)} with {level} intervals and {corrected}, "
        "and the probability that a text of the first is rated above one of the second. "
        f"* p < .05, ** p < .01, *** p < .001.{_latent_words(comparison)}"
    )


def counts(comparison: Comparison) -> str:
    """Say in short who rated what.

    The largest criterion speaks for all where they differ.
    """
    design = max(comparison.design.to_pylist(), key=lambda row: row["ratings"])
    counted = (("participants", "rater"), ("items", "item"))
    parts = [_count(design[name], word) for name, word in counted if design[name]]
    total = sum(row["ratings"] for row in comparison.design.to_pylist())
    parts_of = comparison.design.num_rows if comparison.settings["over"] == "parts" else 1
    largest = f" in the largest of {parts_of} parts" if parts_of > 1 else ""
    return f"{' × '.join(parts)}{largest}{', ' if parts else ''}{total:,} ratings"


def models(comparison: Comparison) -> str:
    """Say in short which models were fitted, and with what."""
    names = dict.fromkeys(KINDS[row["model"]].name for row in comparison.models.to_pylist() if row["formula"])
    with_ = dict.fromkeys(fit_words.fitted_with(fit) for fit in comparison.fits.values())
    return f"{listed(list(names)) if names else 'no model'}{f' ({listed(list(with_))})' if with_ else ''}"


def _study(comparison: Comparison) -> str:
    """Say who rated what."""
    sentences = []
    designs = comparison.design.to_pylist()
    same = all({**design, "criterion": None} == {**designs[0], "criterion": None} for design in designs)
    for design in designs[:1] if same else designs:
        who = _count(design["participants"], "participant")
        texts = f"texts of {design['systems']} systems"
        items = f" for {_count(design['items'], 'item')}" if design["items"] else ""
        per = []
        if design["ratings_per_text"]:
            per.append(f"{design['ratings_per_text']:g} per text")
        if design["ratings_per_participant"]:
            per.append(f"{design['ratings_per_participant']:g} per participant")
        rest = f"; {' and '.join(per)} in the median" if per else ""
        where = "" if design["criterion"] is None else f" for {design['criterion']}"
        on = f" on {listed(comparison.criteria)}," if same and len(designs) > 1 else where  # type: ignore[arg-type]
        each = " each" if same and len(designs) > 1 else ""
        rated = f"{who} rated {texts}{items}{on}" if who else f"{texts[0].upper()}{texts[1:]}{items} were rated{on}"
        sentences.append(f"{rated} on a scale {design['scale']} ({design['ratings']:,} ratings{each}{rest}).")
    return " ".join(sentences)


def _count(number: int | None, what: str) -> str:
    return "" if not number else f"{number:,} {what}{'' if number == 1 else 's'}"


def in_units(comparison: Comparison) -> str:
    """Say in which units differences are."""
    if comparison.settings.get("magnitude"):
        return "as ratios"
    return "on the latent scale" if comparison.settings["estimand"] == "latent" else "in rating points"


def _latent_words(comparison: Comparison) -> str:
    shown = any(row["latent_p_value"] is not None for row in comparison.pairs.to_pylist())
    return " Latent p: Wald's test of the ordinal model, uncorrected, which is about the latent scale." if shown else ""


def _models(comparison: Comparison) -> list[str]:
    """Say which models were fitted, once where all criteria have the same."""
    told: dict[tuple[str, str], list[str]] = {}
    for row in comparison.models.to_pylist():
        if not row["formula"]:
            continue
        fit = comparison.fits[row["criterion"]]
        link = f" with {fit.problem.link} link" if KINDS[row["model"]].ordinal else ""
        how = f"fitted with {fit_words.fitted_with(fit)}" if fit.problem.model == row["model"] else "fitted likewise"
        text = f"a {KINDS[row['model']].name}{link}, {row['formula']}, {how}"
        told.setdefault((row["estimand"], text), []).append(row["criterion"] or "")
    sentences = []
    for (estimand, text), criteria in sorted(told.items(), key=lambda one: one[0][1].endswith("likewise")):
        of = f" of {listed(criteria)}" if len(comparison.criteria) > 1 and len(told) > len(MODELS_OF) else ""
        sentences.append(f"{MODELS_OF[estimand]}{of} come from {text}.")
    if comparison.settings["formula"] is None and any("|" in formula for _, formula in told):
        sentences.append("Random effects are all that the design identifies (Barr et al. 2013).")
    if comparison.settings["estimand"] == "points" and any(row["systems"] > 2 for row in comparison.design.to_pylist()):
        sentences.append(
            "Each pair was also compared in a linear mixed model of its own ratings, and the larger p-value was used."
            if max(row["systems"] for row in comparison.design.to_pylist()) <= MANY
            else "Tests are those of the model of all systems; a pair of systems whose ratings vary more than those of "
            "all was also compared in a linear mixed model of its own, and the larger p-value was used."
        )
    return sentences


MODELS_OF = {"points": "Expected ratings and differences in points", "latent": "Latent differences"}


def _tests(comparison: Comparison) -> str:
    asked = comparison.settings
    used: dict[str, None] = {}
    for row in comparison.models.to_pylist():
        if row["estimand"] == asked["estimand"]:
            for name in filter(None, row["test"].split(", ")):
                used[TESTS[asked["estimand"]][name].format(draws=row["draws"])] = None
    which = f"Systems were compared with {asked['reference']}" if asked["reference"] else "All systems were compared"
    n = asked["comparisons"]
    start = f"Expected ratings are for new participants and items. {which} by {listed(list(used))}"
    if n == 1:
        return f"{start}."
    if asked["adjust"] == "none":
        return f"{start}, without a correction for multiple comparisons."
    return (
        f"{start}, and p-values were corrected for multiple comparisons ({corrected_by(comparison)}, {n} comparisons); "
        "intervals are adjusted to match the corrected tests."
    )
