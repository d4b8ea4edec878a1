"""What an analysis of raters holds, and how it is laid out for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import pyarrow as pa

from ordbridge import __version__
from ordbridge.reliability import interpretation
from ordbridge.reliability.ratings import Ratings
from ordbridge.reliability.reading import ALL_RATINGS, where, who
from ordbridge.reliability.records import Coefficient
from ordbridge.reliability.variance_components import Generalizability
from ordbridge.render import figures
from ordbridge.render.layout import Block, Figures, OpenQuestion, Section, ShownPicture, ShownTable
from ordbridge.results import Finding, Result, citations
from ordbridge.support.formatting import interval_text, listed, r_text

RELIABLE = 0.8
"""From here on means are called reliable; a convention, as all such borders."""
MOST_PANELS, MOST_BARS, MOST_ROWS = 24, 100, 300

NAMES = {
    "n_items": "items",
    "n_raters": "raters",
    "n_pairs": "pairs",
    "n_common": "common items",
    "landis_koch": "Landis & Koch",
    "krippendorff": "Krippendorff",
    "rosenthal": "Rosenthal",
    "kappa": "Cohen's κ",
    "gamma": "γ",
    "mean_kappa": "mean κ",
    "mean_gamma": "mean γ",
}
_ADVERBS = {
    "poor": "poorly",
    "slight": "only slightly",
    "fair": "only fairly well",
    "moderate": "moderately",
    "substantial": "substantially",
    "almost perfect": "almost perfectly",
}


@dataclass(frozen=True, repr=False)
class Reliability(Result):
    """Tables about the reliability of ratings; see :func:`analyse`.

    Attributes
    ----------
    overview
        Per criterion and group of raters: agreement, correlation, and the reliability of single ratings and averages.
    coefficients
        Every coefficient per criterion and group of raters, with its interval, counts and exact definition.
    interpretations
        The highest words of Krippendorff, Landis & Koch (agreement) and Rosenthal (correlation) that hold with a
        probability of 95%.
    pairs
        Cohen's κ and Goodman & Kruskal's γ of every two raters with common items, side by side.
    raters
        Each rater's leniency (points above the others; below 0 is strict) and consistency, mean κ and γ with the
        others, and whether and why the rater is an outlier on this criterion, at a false discovery rate of 5%.
    categories
        How often each rater used each category.
    checklist
        What a paper has to report; ``answer`` is null where only people can answer.
    stability, accuracy
        How far raters repeat themselves, where they rated texts again, and how often they are right, where a gold
        standard is given; else without rows.
    generalizability
        Of each criterion the components of variance, and the reliability that more raters would give.
    ratings, level
        The ratings of each criterion, and their level of measurement.
    """

    kind: ClassVar[str] = "reliability"
    title = "Can these raters be trusted?"
    answer: str = field()
    overview: pa.Table
    coefficients: pa.Table
    interpretations: pa.Table
    pairs: pa.Table
    raters: pa.Table
    categories: pa.Table
    checklist: pa.Table
    stability: pa.Table
    accuracy: pa.Table
    generalizability: Mapping[str, Generalizability]
    ratings: Mapping[str, Ratings]
    level: str
    findings: tuple[Finding, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        names = ("coefficients", "interpretations", "pairs", "raters", "categories", "stability", "accuracy")
        found = {"summary": self.overview} | {name: getattr(self, name) for name in names}
        for name in ("components", "reliability", "icc"):
            parts = [
                table.add_column(0, "criterion", pa.array([criterion] * table.num_rows, pa.string()))
                for criterion, one in self.generalizability.items()
                if (table := one.tables.get(name)) is not None
            ]
            found |= {name: pa.concat_tables(parts)} if parts else {}
        return found | {"checklist": self.checklist}

    @property
    def counted(self) -> str:  # type: ignore[override]
        """How many raters and items there are, and who rated what."""
        rated, items, raters = self._counts()
        first = next(iter(self.ratings.values()))
        criteria = f", {len(self.ratings)} criteria" if len(self.ratings) > 1 else ""
        if all(one.crossed for one in self.ratings.values()):
            each = f"every {'item' if first.text == 'item' else 'text'} rated by all"
        else:
            each = f"{rated / sum(len(one.items) for one in self.ratings.values()):.1f}".removesuffix(".0")
            each = f"{rated:,} ratings, {each} per {first.text.split()[0]}"
        return f"{raters:,} raters, {items:,} {first.texts}{criteria}; {each}."

    def main(self) -> Sequence[ShownTable]:
        """Return agreement, correlation, and the reliability of ratings and their averages."""
        if len(self.ratings) > 1:
            return [ShownTable(self._a_line_for_each())]
        return [ShownTable(_without_constants(self.overview.drop_columns(["what"]), ("criterion", "group")))]

    def _a_line_for_each(self) -> pa.Table:
        """Return the same as ``summary``, with a line for each criterion and group of raters."""
        lines: dict[str, dict[str, Any]] = {}
        for row in self.overview.to_pylist():
            line = lines.setdefault(where(row), {"criterion": where(row)} | dict.fromkeys(MEASURES.values()))
            line[MEASURES[row["what"]]] = r_text(row["estimate"])
            if row["what"] in ("agreement", "average") and row["conf_low"] is not None:
                line[f"{MEASURES[row['what']]} CI"] = f"{r_text(row['conf_low'])} to {r_text(row['conf_high'])}"
        order = ["criterion", *(f"{name}{end}" for name in MEASURES.values() for end in ("", " CI"))]
        columns = [name for name in order if any(line.get(name) for line in lines.values())]
        return pa.table({name: pa.array([line.get(name) for line in lines.values()], pa.string()) for name in columns})

    def picture(self) -> ShownPicture:
        """Return the picture of agreement, correlation and reliability with their intervals."""
        return ShownPicture("summary", "Agreement, correlation and reliability of ratings and of their averages, "
                            "with 95% intervals" if self.settings.get("conf_level") else
                            "Agreement, correlation and reliability of ratings and of their averages")  # fmt: skip

    def results(self) -> str:
        """Return the coefficients that matter with their intervals."""
        sentences = []
        for row in self.overview.to_pylist():
            of = _of(where(row)) if len(self.ratings) > 1 else ""
            ends = ""
            if row["conf_low"] is not None:
                ends = f" (95% CI {r_text(row['conf_low'])} to {r_text(row['conf_high'])})"
            sentences.append(f"{row['measure'][0].upper()}{row['measure'][1:]}{of}: {r_text(row['estimate'])}{ends}.")
        return " ".join(sentences)

    told: ClassVar[frozenset[str]] = frozenset(
        {"rater-stricter", "rater-milder", "more-raters", "undefined-coefficients"}
    )

    def brief(self) -> Sequence[ShownTable]:
        """Return a correlation, severe and mild raters, and what more raters would give."""
        rows = []
        for row in self.overview.to_pylist():
            name = row["measure"].partition("correlation (")[2].rstrip(")")
            if name and row["estimate"] is not None:
                ends = row["conf_low"] is not None and self.settings.get("conf_level")
                about = f" ({interval_text(row, ends)})" if ends else ""
                rows.append((where(row), "correlation", f"{name} {r_text(row['estimate'])}{about}"))
        for one in self.findings:
            if one.code in ("rater-stricter", "rater-milder"):
                how = f"{one.code.removeprefix('rater-')} by {one.values['points']:.1f} points"
                rows.append((one.subject, "outlying rater", f"{one.values['participant']} ({how})"))
            elif one.code == "more-raters":
                n, gain = one.values["n"], r_text(one.values["estimate"])
                rows.append((one.subject, "more raters", f"{n} per text would bring the averages to {gain}"))
        rows.sort(key=lambda row: row[0])
        names = ("of", "about", "found")
        table = pa.table({name: [row[k] for row in rows] for k, name in enumerate(names)})
        return [ShownTable(table, names=dict.fromkeys(names, ""))] if rows else []

    def on_request(self) -> Mapping[str, Sequence[Block]]:
        """Return every coefficient."""
        return {"all_coefficients": self.paper_tables()}

    def paper_tables(self) -> Sequence[ShownTable]:
        """Return the coefficients with their intervals."""
        shown = ["criterion", "group", "coefficient", "estimate", "conf_low", "conf_high", "n_items", "n_raters"]
        return [ShownTable(_without_constants(self.coefficients.select(shown), ("criterion", "group")), names=NAMES)]

    def sections(self) -> Sequence[Section]:
        """Return pictures of the raters, all coefficients, and what else there is."""
        intervals = next(row["answer"] for row in self.checklist.to_pylist() if row["what"] == "Intervals")
        described = f"Intervals: {intervals}. Labels use the lower end of the interval; cut-offs are conventional."
        grids: list[Block] = [ShownTable(table, label, NAMES) for label, table in self._readable()]
        raters = ShownPicture("raters", "Leniency and consistency of each rater, with 95% intervals")
        found = [Section("Raters", (raters,)), Section("All coefficients", (*grids, described), folded=True)]
        for criterion, one in self.generalizability.items():
            (more,) = one.sections()
            blocks = [
                ShownPicture(_named("d-study", criterion), b.caption) if isinstance(b, ShownPicture) else b
                for b in more.blocks
            ]
            about = f"Averages are called reliable from {r_text(RELIABLE)} on."
            found.append(
                Section(f"{more.title}{_of(criterion)}", (one.answer, *blocks, *one.main(), about), folded=True)
            )
        for criterion, ratings in self.ratings.items():
            if blocks := list(self._pictures(criterion, ratings)):
                found.append(Section(f"Pictures of raters and pairs{_of(criterion)}", tuple(blocks), folded=True))
        for heading, table in (
            ("Every rater", self.raters),
            ("Every pair of raters", self.pairs),
            ("Coefficients with their counts and notes", self.coefficients.drop_columns(["definition"])),
            ("Stability", self.stability),
            ("Accuracy", self.accuracy),
        ):
            if table.num_rows:
                shown = ShownTable(_without_constants(table.slice(0, MOST_ROWS), ("criterion",)), names=NAMES)
                more_rows = [f"The first {MOST_ROWS} of {table.num_rows:,}."] if table.num_rows > MOST_ROWS else []
                found.append(Section(heading, (*more_rows, shown), folded=True))
        rows = self.checklist.to_pylist()
        answered = [row for row in rows if row["answer"] is not None]
        questions = [OpenQuestion(row["what"]) for row in rows if row["answer"] is None]
        known = ShownTable(pa.Table.from_pylist(answered, schema=self.checklist.schema), names={"answer": "here"})
        return [*found, Section("What papers forget to report", (known, *questions), folded=True)]

    def figures(self) -> Figures:
        """Return the pictures of raters, of what more raters would give, and of pairs."""
        draw: dict[str, Any] = {
            "summary": partial(figures.agreement_and_reliability, self.overview.to_pylist()),
            "raters": self.plot,
        }
        for criterion, ratings in self.ratings.items():
            if criterion in self.generalizability:
                draw[_named("d-study", criterion)] = partial(figures.d_study, self.generalizability[criterion])
            if ratings.ordered:
                draw[_named("ratings", criterion)] = partial(figures.ratings_by_item, self._least_consistent(criterion))
            if len(ratings.raters) <= MOST_BARS:
                draw[_named("categories", criterion)] = partial(figures.categories_used, ratings)
                draw[_named("pairs", criterion)] = partial(figures.pairs_heatmap, self.pairs, criterion)
        return Figures(draw)

    def plot(self, criterion: str | None = None) -> Any:
        """Draw each rater's leniency and consistency; without a criterion, a panel for each."""
        return figures.leniency_and_consistency(self.raters, criterion)

    def methods(self) -> str:
        """Return how reliability was described."""
        rated, items, raters = self._counts()
        first = next(iter(self.ratings.values()))
        criteria = f" on {len(self.ratings)} criteria" if len(self.ratings) > 1 else ""
        answers = {row["what"]: row["answer"] for row in self.checklist.to_pylist()}
        names = list(dict.fromkeys(name.partition(",")[0] for name in self._with_values()))
        intervals = "" if answers["Intervals"] == "none" else f" Intervals are {answers['Intervals']}."
        split = (
            " Components of variance come from a linear mixed model (Brennan 2001)." if self.generalizability else ""
        )
        return (
            f"{raters} raters gave {rated} ratings of {items} {first.texts}{criteria}, at the {self.level} level of "
            f"measurement. With ordbridge {__version__} we computed {listed(names)}.{intervals}{split} Agreement and "
            f"correlation were read together (Amidei et al. 2019)."
        )

    def references(self) -> list[str]:
        """Return the references of the coefficients."""
        cited = citations.of_coefficients(self._with_values())
        split = [citations.WORKS["brennan"]] if self.generalizability else []
        return [f"ordbridge {__version__}.", citations.WORKS["amidei"], *cited, *split]

    def _with_values(self) -> list[str]:
        """Return the names of the coefficients that have a value."""
        return [row["coefficient"] for row in self.coefficients.to_pylist() if row["estimate"] is not None]

    def _counts(self) -> tuple[int, int, int]:
        """Return the numbers of ratings, items and raters."""
        parts = self.ratings.values()
        items, raters = (
            len({str(name) for one in parts for name in getattr(one, side)}) for side in ("items", "raters")
        )
        return sum(len(one.code) for one in parts), items, raters

    def _readable(self) -> Iterator[tuple[str, pa.Table]]:
        """Yield, for each criterion and group, its name and the coefficients next to their interpretations."""
        key = ("criterion", "group", "coefficient")
        words = {tuple(row[name] for name in key): row for row in self.interpretations.to_pylist()}
        parts: dict[str, list[dict[str, Any]]] = {}
        for row in self.coefficients.to_pylist():
            read = words.get(tuple(row[name] for name in key), {})
            parts.setdefault(where(row), []).append(row | {name: read.get(name) for name in interpretation.SCALES})
        for label, rows in parts.items():
            yield label, pa.Table.from_pylist(rows, schema=_READABLE)

    def _pictures(self, criterion: str, ratings: Ratings) -> Iterator[Block]:
        if ratings.ordered:
            few = len(ratings.raters) > MOST_PANELS
            who_ = f"the {MOST_PANELS} least consistent raters" if few else "each rater"
            yield ShownPicture(_named("ratings", criterion), f"Ratings of {who_}, item by item")
        if len(ratings.raters) <= MOST_BARS:
            yield ShownPicture(_named("categories", criterion), "Categories used by each rater")
            yield ShownPicture(_named("pairs", criterion), "Pairs of raters; hatched: without a value")

    def _least_consistent(self, criterion: str) -> Ratings:
        ratings = self.ratings[criterion]
        if len(ratings.raters) <= MOST_PANELS:
            return ratings
        rows = [row for row in self.raters.to_pylist() if row["criterion"] == criterion]
        rows.sort(key=lambda row: (row["consistency"] is None, row["consistency"]))
        few = {row["participant"] for row in rows[:MOST_PANELS]}
        return ratings.of_raters([rater for rater in ratings.raters if str(rater) in few])


MEASURES = {"agreement": "α", "correlation": "correlation", "single rating": "one rating", "average": "averages"}
"""What the columns are called, where each criterion has a line."""

_READABLE = pa.schema(
    {
        "coefficient": pa.string(),
        **{name: pa.float64() for name in ("estimate", "conf_low", "conf_high")},
        **{name: pa.string() for name in interpretation.SCALES},
    }
)


def agreement_line(alpha: Coefficient, level: str, subject: str = "") -> str:
    """Say how far raters agree; the label holds for the lower end of the interval.

    Examples
    --------
    >>> from ordbridge.reliability import krippendorff_alpha
    >>> agreement_line(krippendorff_alpha([[1, 1], [2, 2], [3, 3], [4, 4], [1, 2]] * 10), "ordinal")
    "These 2 raters agree substantially: Krippendorff's alpha .89 (95% CI .71 to .95, ordinal)."
    """
    label = interpretation.benchmark(alpha, "landis_koch")
    value = f"Krippendorff's alpha {r_text(alpha.estimate)}"
    ends = {"conf_low": alpha.conf_low, "conf_high": alpha.conf_high}
    about = (
        f"{interval_text(ends, alpha.conf_level)}, {level}"
        if alpha.conf_low is not None and alpha.conf_level
        else level
    )
    said = f"{who(alpha)} agree {_ADVERBS[label]}" if label in _ADVERBS else "agreement is too uncertain to label"
    if alpha.lower_bound is None:
        said, value = "agreement has no interval", value
    if subject:
        return f"{subject}: {said} ({value}, {about})."
    return f"{said[0].upper()}{said[1:]}: {value} ({about})."


def averages_line(single: float, average: float, over: str, subject: str = "") -> str:
    """Say whether averages and single ratings are reliable.

    Examples
    --------
    >>> averages_line(0.5, 0.89, "all 8 raters")
    'Averages over all 8 raters are reliable (.89); single ratings are not (.50).'
    """
    mean, one = r_text(average), r_text(single)
    if single >= RELIABLE:
        said = f"averages over {over} ({mean}) and single ratings ({one}) are reliable."
    elif average >= RELIABLE:
        said = f"averages over {over} are reliable ({mean}); single ratings are not ({one})."
    else:
        said = f"neither averages over {over} ({mean}) nor single ratings ({one}) are reliable."
    return f"{subject}: {said}" if subject else f"{said[0].upper()}{said[1:]}"


def _named(picture: str, criterion: str) -> str:
    return picture if criterion == ALL_RATINGS else f"{picture}: {criterion}"


def _of(criterion: str) -> str:
    return "" if criterion == ALL_RATINGS else f" ({criterion})"


def _without_constants(table: pa.Table, names: tuple[str, ...]) -> pa.Table:
    """Return the table without those columns that say the same in every row."""
    return table.drop_columns([name for name in names if len(set(table[name].to_pylist())) < 2])
