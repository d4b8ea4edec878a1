"""What goes into a paper: the table with letters and stars, the differences, the methods paragraph, references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge.comparison.family import NAMES
from ordbridge.comparison.wording import corrected_by, units
from ordbridge.escaping import for_latex, for_markdown
from ordbridge.formats import listed, p_text, stars
from ordbridge.models.kinds import KINDS
from ordbridge.report import manuscript, paragraphs

if TYPE_CHECKING:
    from ordbridge.comparison.result import Comparison

__all__ = ["caption", "latex", "main_table", "markdown", "methods", "pairs_table", "references"]

TESTS = {
    "wald": "Wald's z test",
    "t": "t tests with {df} degrees of freedom",
    "t of a clmm": "Wald's tests with Student's t in place of the normal distribution, whose degrees of freedom are "
    "Satterthwaite's in the linear mixed model with the same terms",
    "lrt": "likelihood ratio tests, with the intervals that belong to them (Miettinen 1976)",
    "bootstrap": (
        "likelihood ratio tests with Bartlett's correction by a parametric bootstrap ({draws} draws), with the "
        "intervals that belong to them (Miettinen 1976)"
    ),
}
REFERENCES = {
    "holm": "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of "
    "Statistics 6, 65–70.",
    "dunnett": "Dunnett, C. W. (1955). A multiple comparison procedure for comparing several treatments with a "
    "control. Journal of the American Statistical Association 50, 1096–1121.",
    "fdr": "Benjamini, Y. & Hochberg, Y. (1995). Controlling the false discovery rate. Journal of the Royal "
    "Statistical Society B 57, 289–300.",
    "letters": "Piepho, H.-P. (2004). An algorithm for a letter-based representation of all-pairwise comparisons. "
    "Journal of Computational and Graphical Statistics 13, 456–466.",
    "bootstrap": "Halekoh, U. & Højsgaard, S. (2014). A Kenward-Roger approximation and parametric bootstrap methods "
    "for tests in linear mixed models: the R package pbkrtest. Journal of Statistical Software 59(9).",
    "lrt": "Miettinen, O. (1976). Estimability and estimation in case-referent studies. American Journal of "
    "Epidemiology 103, 226–235.",
    "slopes": "Matuschek, H., Kliegl, R., Vasishth, S., Baayen, H. & Bates, D. (2017). Balancing Type I error and "
    "power in linear mixed models. Journal of Memory and Language 94, 305–315.",
    "superiority": "Agresti, A. & Kateri, M. (2017). Ordinal probability effect measures for group comparisons in "
    "multinomial cumulative link models. Biometrics 73, 214–219.",
}


@dataclass(frozen=True)
class Look:
    """How a format writes what is not plain text."""

    text: Callable[[str], str]
    bold: Callable[[str], str]
    raised: Callable[[str], str]


PLAIN = Look(str, str, lambda text: f" {text}" if text else "")
MARKDOWN = Look(
    lambda text: for_markdown(text, in_table=True),
    lambda text: f"**{text}**",
    lambda text: f"<sup>{text}</sup>" if text else "",
)
LATEX = Look(for_latex, r"\textbf{{{}}}".format, lambda text: rf"\textsuperscript{{{text}}}" if text else "")


def main_table(comparison: Comparison) -> pa.Table:
    """Return a row for each system: its expected rating, interval and letters or stars on each criterion."""
    head, rows = _ratings(comparison, PLAIN)
    return pa.table({name: [row[k] for row in rows] for k, name in enumerate(head)})


def pairs_table(comparison: Comparison) -> pa.Table:
    """Return a row for each pair: its difference with interval, corrected p-value, and chance of being rated above."""
    head, rows = _differences(comparison, PLAIN)
    return pa.table({name: [row[k] for row in rows] for k, name in enumerate(head)})


def caption(comparison: Comparison) -> str:
    """Return what stands above the table."""
    designs = [comparison.rows("design", criterion)[0] for criterion in comparison.criteria]
    scales = dict.fromkeys(design["scale"] for design in designs)
    what = "Shares" if units(designs[0]).is_share else "Expected ratings"
    scale = f" on a scale {next(iter(scales))}" if len(scales) == 1 else ""
    n = comparison.asked["comparisons"]
    how = f"{NAMES[comparison.asked['adjust']]}, {n} comparison{'' if n == 1 else 's'}"
    text = f"{what}{scale}, with {100 * comparison.asked['conf_level']:g} % intervals."
    if comparison.asked["reference"] is not None:
        marks = "* p < .05, ** p < .01, *** p < .001"
        return f"{text} Differences from {comparison.asked['reference']}: {marks} ({how})."
    level = f"{comparison.alpha:.2g}".removeprefix("0")
    return f"{text} Systems that share a letter cannot be told apart (p ≥ {level}; {how})."


def markdown(comparison: Comparison) -> str:
    """Return the tables, the methods paragraph and references in Markdown."""
    parts = [f"**{for_markdown(caption(comparison))}**{_bold(comparison)}"]
    for head, rows in (_ratings(comparison, MARKDOWN), _differences(comparison, MARKDOWN)):
        lines = [head, [":--"] + ["--:"] * (len(head) - 1), *rows]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    parts += [for_markdown(methods(comparison)), "\n".join(f"- {for_markdown(one)}" for one in references(comparison))]
    return "\n\n".join(parts)


def latex(comparison: Comparison, title: str = "", label: str = "tab:systems") -> str:
    """Return the tables, the methods paragraph and references in LaTeX."""
    ratings = _tabular(*_ratings(comparison, LATEX))
    pairs = _tabular(*_differences(comparison, LATEX))
    above = for_latex(title or f"{caption(comparison)}{_bold(comparison)}")
    below = for_latex(_pairs_caption(comparison))
    tables = [
        [r"\begin{table}", r"\centering", *ratings, rf"\caption{{{above}}}", rf"\label{{{label}}}", r"\end{table}"],
        [r"\begin{table}", r"\centering", *pairs, rf"\caption{{{below}}}", rf"\label{{{label}-pairs}}", r"\end{table}"],
    ]
    paragraphs = [methods(comparison), *references(comparison)]
    return "\n\n".join(["\n".join(lines) for lines in tables] + [for_latex(text) for text in paragraphs])


def methods(comparison: Comparison) -> str:
    """Return the methods paragraph: who rated what, which model, which tests, which correction."""
    parts = [_study(comparison), *_models(comparison), _tests(comparison)]
    excluded = [note for note in comparison.notes if "did not converge" in note or "could not be fitted" in note]
    return " ".join([*parts, *(f"{note}." for note in excluded)])


def references(comparison: Comparison) -> list[str]:
    """Return the references of the methods paragraph."""
    asked, tests = comparison.asked, set(comparison.models["test"].to_pylist())
    found: dict[str, None] = {}
    for fit in comparison.fits.values():
        found |= dict.fromkeys(manuscript.references(fit))
    if any("(1 | " not in formula or "system |" in formula for formula in comparison.models["formula"].to_pylist()):
        found[REFERENCES["slopes"]] = None
    for key in ("bootstrap", "lrt"):
        if key in tests or (key == "lrt" and "bootstrap" in tests):
            found[REFERENCES[key]] = None
    if asked["adjust"] in REFERENCES:
        found[REFERENCES[asked["adjust"]]] = None
    if asked["reference"] is None:
        found[REFERENCES["letters"]] = None
    found[REFERENCES["superiority"]] = None
    return list(found)


def _bold(comparison: Comparison) -> str:
    return "" if comparison.asked["reference"] is not None else " Bold: not below any other."


def _ratings(comparison: Comparison, look: Look) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table of systems, in the order of the first criterion."""
    criteria = comparison.criteria
    first = comparison.rows("ranking", criteria[0])
    systems = list(dict.fromkeys(row["system"] for row in (*first, *comparison.ranking.to_pylist())))
    head = ["System", *(look.text(criterion or _what(comparison)) for criterion in criteria)]
    rows = []
    reference = comparison.asked["reference"]
    for system in systems:
        name = f"{system} (reference)" if system == reference else system
        cells = [look.text(name)]
        for criterion in criteria:
            found = [row for row in comparison.rows("ranking", criterion) if row["system"] == system]
            cells.append(_rating(comparison, criterion, found[0], look) if found else "–")
        rows.append(cells)
    return head, rows


def _what(comparison: Comparison) -> str:
    return "Share" if units(comparison.design.to_pylist()[0]).is_share else "Rating"


def _rating(comparison: Comparison, criterion: str | None, row: dict[str, Any], look: Look) -> str:
    unit = units(comparison.rows("design", criterion)[0])
    number = look.text(unit.value(row["estimate"]))
    mark = row["letters"] or ""
    if comparison.asked["reference"] is not None:
        pairs = {pair["a"]: pair["adjusted"] for pair in comparison.rows("pairs", criterion)}
        mark = stars(pairs.get(row["system"]))
    elif "a" in mark:
        number = look.bold(number)
    interval = ""
    if row["conf_low"] is not None:
        interval = " " + look.text(f"[{unit.value(row['conf_low'])}, {unit.value(row['conf_high'])}]")
    return f"{number}{interval}{look.raised(mark)}"


def _differences(comparison: Comparison, look: Look) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table of pairs."""
    several = comparison.criteria != (None,)
    level = f"{100 * comparison.asked['conf_level']:g} %"
    head = ["Pair", *(["Criterion"] if several else []), "Difference", f"{level} interval", "p", "P(first above)"]
    rows = []
    for row in comparison.pairs.to_pylist():
        unit = units(comparison.rows("design", row["criterion"])[0])
        interval = (
            "–" if row["conf_low"] is None else f"{unit.value(row['conf_low'])} to {unit.value(row['conf_high'])}"
        )
        p = p_text(row["adjusted"]).removeprefix("p ").removeprefix("= ")
        cells = [f"{row['a']} – {row['b']}", *([row["criterion"] or ""] if several else [])]
        cells += [unit.value(row["difference"]), interval]
        shown = [look.text(cell) for cell in cells]
        shown += [look.text(p) + look.raised(stars(row["adjusted"])), look.text(_chance(row))]
        rows.append(shown)
    return [look.text(name) for name in head], rows


def _chance(row: dict[str, Any]) -> str:
    ends = (row["superiority_low"], row["superiority_high"])
    interval = "" if None in ends else f" [{100 * ends[0]:.0f}, {100 * ends[1]:.0f}]"
    return f"{100 * row['superiority']:.0f} %{interval}"


def _tabular(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    body = [" & ".join(row) + r" \\" for row in rows]
    columns = "l" + "r" * (len(head) - 1)
    top = " & ".join(head) + r" \\"
    return [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", top, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]


def _pairs_caption(comparison: Comparison) -> str:
    level = f"{100 * comparison.asked['conf_level']:g} %"
    return (
        f"Differences between systems in rating points with {level} intervals and corrected p-values "
        f"({corrected_by(comparison)}), and the probability that a text of the first is rated above one of the second, "
        "ties split. * p < .05, ** p < .01, *** p < .001."
    )


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


def _models(comparison: Comparison) -> list[str]:
    """Say which models were fitted, once where all criteria have the same."""
    told: dict[str, list[str]] = {}
    for row in comparison.models.to_pylist():
        fit = comparison.fits[row["criterion"]]
        link = f" with {fit.problem.link} link" if fit.problem.ordinal else ""
        kind = KINDS[row["model"]].name
        text = f"a {kind}{link}, {row['formula']}, fitted with {paragraphs.fitted_with(fit)}"
        told.setdefault(text, []).append(row["criterion"] or "")
    sentences = []
    for text, criteria in told.items():
        who = f"Ratings of {listed(criteria)}" if len(told) > 1 else "Ratings"
        sentences.append(f"{who} were analysed by {text}.")
    if any("(" in row for row in comparison.models["formula"].to_pylist()) and comparison.asked["formula"] is None:
        sentences.append(
            "Random effects are those that the design identifies; slopes of groups with thirty levels or more were "
            "left out where a likelihood ratio test did not support them (p > .2; Matuschek et al. 2017)."
        )
    return sentences


def _tests(comparison: Comparison) -> str:
    asked = comparison.asked
    used: dict[str, None] = {}
    for row in comparison.models.to_pylist():
        df = "Satterthwaite's" if row["model"] == "lmer" else "the residual"
        test = "t of a clmm" if (row["test"], row["model"]) == ("t", "clmm") else row["test"]
        used[TESTS[test].format(draws=row["draws"], df=df)] = None
    which = f"Systems were compared with {asked['reference']}" if asked["reference"] else "All systems were compared"
    n = asked["comparisons"]
    family = f"{n} comparison{'' if n == 1 else 's'}"
    start = f"Expected ratings are for new participants and items. {which} by {listed(list(used))}"
    if asked["adjust"] == "none":
        return f"{start}, without a correction for multiple comparisons."
    return (
        f"{start}, and p-values were corrected for multiple comparisons ({corrected_by(comparison)}, {family}); each "
        "interval has the level at which its pair was tested."
    )
