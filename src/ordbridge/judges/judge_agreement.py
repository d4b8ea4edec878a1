"""How a judge agrees with people, beside how people agree with each other; whom it favours; where it fails."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.judges.clusters import jackknife, regression, student
from ordbridge.judges.judged import Columns, Judged, read_judged
from ordbridge.judges.leave_one_out import LeftOut, leave_each_out
from ordbridge.reliability.jackknife import raters_as
from ordbridge.render import figures
from ordbridge.render.layout import Figures, Section, ShownPicture, ShownTable
from ordbridge.results import Finding, Result, found, worst_first
from ordbridge.support.arguments import choice, proportion
from ordbridge.support.columns import columns
from ordbridge.support.formatting import interval_text, r_text

WORST = 10
SIGNIFICANT = 0.05
COVARIATES = ("length", "position")
MOST_CATEGORIES = 15  # of a cumulative link model; beyond, ratings are numbers
MOST_RATINGS = 5000  # of the calibration
_ENDS = ("estimate", "conf_low", "conf_high")


@dataclass(frozen=True, repr=False)
class JudgeAgreement(Result):
    """Result of :func:`agreement`.

    Attributes
    ----------
    footing
        One row per measure (equal ratings; agreement corrected for chance; correlation): of the judge with people
        (``judge``), of a person with the same people on the same texts (``person``), and the ``difference``, each with
        its interval.
    systems
        How far the judge is above people on each system (``bias``), and how much more than on the others (``favours``),
        with its interval and p-value; at the nominal level the share of equal ratings instead. Without rows where there
        is one system.
    favours_p
        Test that the judge treats all systems alike; ``None`` without systems.
    covariates
        How the judge's bias changes with length, position and other columns that were named.
    calibration
        For each rating by the judge: how many texts, people's mean rating of them, and what the model expects.
    slope
        How people's ratings follow the judge's, in the model of the calibration: ``model``, ``estimate`` (log odds of a
        higher rating per point of the judge, or points), its interval.
    worst
        The texts on which the judge is furthest from people.
    judge, level, raters
        What was asked: the judge, the level of measurement, and whether people are a sample (random) or all there are.
    conf_level
        Level of the intervals.
    texts
        The judge's rating of each text and the mean of people's, where there is a calibration.
    """

    kind: ClassVar[str] = "judge-agreement"
    footing: pa.Table
    systems: pa.Table
    favours_p: float | None
    covariates: pa.Table
    calibration: pa.Table
    slope: dict[str, Any] | None
    worst: pa.Table
    judge: str
    level: str
    raters: str
    conf_level: float = 0.95
    findings: tuple[Finding, ...] = ()
    texts: pa.Table | None = None

    @property
    def title(self) -> str:  # type: ignore[override]
        """The question."""
        return f"Does {self.judge} agree with people?"

    @property
    def people(self) -> str:
        """Whom the intervals are about: people, or these people only."""
        return "people" if self.raters == "random" else "these people"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """How the judge agrees with people, beside how they agree with each other."""
        row = next(row for row in self.footing.to_pylist() if row["measure"] == "agreement")
        ends = {end: row[f"difference_{end.removeprefix('conf_')}"] for end in ("conf_low", "conf_high")}
        return (
            f"{self.judge} agrees with {self.people} {in_comparison(row)} they agree with each other: "
            f"{r_text(row['judge'])} against {r_text(row['person'])}, difference {r_text(row['difference'])} "
            f"({interval_text(ends, self.conf_level)})."
        )

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {name: getattr(self, name) for name in ("footing", "systems", "covariates", "calibration", "worst")}

    def main(self) -> Sequence[ShownTable]:
        """Return agreement of the judge and of a person with the same people."""
        shown = ["measure", "judge", "person", "difference", "difference_low", "difference_high"]
        names = {"difference_low": "from", "difference_high": "to"}
        return [ShownTable(self.footing.select(shown), "Each person left out in turn, the judge instead", names)]

    def sections(self) -> Sequence[Section]:
        """Return the picture, and the tables behind it."""
        slope = [] if self.slope is None else [
            f"People's ratings follow the judge's by {self.slope['estimate']:.2f} "
            f"({interval_text(self.slope, self.conf_level, '{:.2f}'.format)}) {self.slope['unit']}."
        ]  # fmt: skip
        titled = (
            (self.footing, "Each person left out in turn, the judge instead"),
            (self.systems, "How far the judge is above people, and whom it favours"),
            (self.covariates, "How its bias changes with other columns"),
            (self.calibration, "People's mean rating for each rating by the judge"),
            (self.worst, "Where it fails: the texts on which it is furthest from people"),
        )
        grids = [ShownTable(table, caption) for table, caption in titled if table.num_rows]
        parts = [Section("Bias and calibration of the judge", (*slope, *grids), folded=True)]
        return parts

    def picture(self) -> ShownPicture | None:
        """Return the picture of calibration and bias, where there is either."""
        said = f"Ratings of each text by {self.judge} and by people, and whom {self.judge} favours"
        return ShownPicture("judge", said) if self.figures() else None

    def figures(self) -> Figures:
        """Return the picture of calibration and bias, where there is either."""
        drawn = self.calibration.num_rows or self.systems.num_rows
        return Figures({"judge": lambda: figures.judge_against_people(self)} if drawn else {})


def in_comparison(row: dict[str, Any]) -> str:
    """Say of a row of ``footing`` how the judge compares with people: more than, less than, about as much as."""
    if row["difference_low"] > 0:
        return "more than"
    return "less than" if row["difference_high"] < 0 else "about as much as"


def agreement(
    data: Any,
    judge: str | None = None,
    *,
    covariates: Sequence[str] | None = None,
    raters: str | None = None,
    conf_level: float = 0.95,
    engine: str = "fast",
    **columns: Any,
) -> JudgeAgreement:
    """Compare how a judge agrees with people to how people agree with each other, and find its biases.

    Each person is left out in turn and the judge put in that person's place: both are compared with the same other
    people on the same texts. Agreement is :math:`1 - D_o/D_e`, the disagreement (unequal categories at the nominal
    level, else squared differences) over that of the same ratings in any order; correlation is with the mean of the
    others.

    Parameters
    ----------
    data, judge, **columns
        See :func:`ordbridge.judges.alt_test`.
    covariates
        Columns, one value for each text, with which the judge's bias may change; by default ``length`` and
        ``position`` where there are such. Numbers give a slope, words a mean for each.
    raters
        ``"random"``: intervals are about people like these; ``"fixed"``: about these only. By default random,
        of two people fixed.
    conf_level
        Level of the intervals, which are a jackknife over clusters of texts, and over people if they are random.
    engine
        Of the model of the calibration.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> true = np.repeat(rng.normal(size=40), 2)
    >>> seen = [np.clip(np.round(3 + true + rng.normal(scale=0.5, size=80)), 1, 5) for p in range(4)]
    >>> seen[3] += np.tile([0, 1], 40)  # the judge likes the second system
    >>> table = {"item": np.tile(np.repeat(np.arange(40), 2), 4), "system": ["A", "B"] * 160,
    ...          "participant": np.repeat(["a", "b", "c", "gpt"], 80), "rating": np.concatenate(seen)}
    >>> found = agreement(table, "gpt")
    >>> [one.text for one in found.findings], round(found.systems["favours"][1].as_py(), 1)
    (['The judge favours B by 0.54 points over the others (p < .001).'], 0.5)
    """
    proportion("conf_level", conf_level)
    choice("raters", raters, (None, "random", "fixed"))
    read = read_judged(data, judge, Columns(**columns))
    noticed: list[Finding] = []
    pairs = leave_each_out(read)
    about = raters_as(read.humans.rated_by(1), raters)
    bias, has = _bias(read)
    slope, calibration = _calibration(read, engine, conf_level, noticed)
    systems, p = _by_system(read, bias, has, conf_level)
    return JudgeAgreement(
        footing=_footing(read, pairs, about, conf_level),
        systems=systems,
        favours_p=p,
        covariates=_covariates(read, bias, has, covariates, conf_level),
        calibration=calibration,
        slope=slope,
        worst=_worst(read, bias, has),
        texts=_texts(read, calibration),
        judge=read.name,
        level=read.level,
        raters=about,
        conf_level=conf_level,
        findings=worst_first([*noticed, *_favours(read, systems, p)]),
    )


def _favours(read: Judged, systems: pa.Table, p: float | None) -> list[Finding]:
    """Return which system the judge favours or marks down, or that there is no favourite."""
    if p is None:
        return []
    if p >= SIGNIFICANT:
        return [found("no-favourite", judge=read.name, p=p)]
    # of two systems, which are apart by the same amount, the one that is favoured is named
    most = max(systems.to_pylist(), key=lambda row: (round(abs(row["favours"]), 9), row["favours"]))
    code = "favours-system" if most["favours"] > 0 else "marks-down-system"
    unit = "of equal ratings" if read.level == "nominal" else "points"
    return [found(code, judge=read.name, system=most["system"], size=abs(most["favours"]), unit=unit, p=p)]


def _footing(read: Judged, pairs: LeftOut, about: str, conf_level: float) -> pa.Table:
    """Return the measures of the judge, of people, and their difference."""
    names = ["equal ratings", "agreement"] + (["correlation"] if read.level != "nominal" else [])

    def statistic(keep: np.ndarray) -> np.ndarray:
        some = pairs.only(keep)
        sides = [_measures(read, some, codes, equal) for codes, equal in
                 ((some.judge, some.judge_equal), (some.person, some.person_equal))]  # fmt: skip
        judge, person = (np.array(side[: len(names)]) for side in sides)
        return np.concatenate([judge, person, judge - person])

    sides = [pairs.cluster] + ([pairs.rater] if about == "random" else [])
    ends = jackknife(statistic, sides, conf_level)
    k = len(names)
    rows = []
    for at, name in enumerate(names):
        row: dict[str, Any] = {"measure": name}
        for part, what in enumerate(("judge", "person", "difference")):
            one = ends[part * k + at]
            row |= {what: one["estimate"], f"{what}_low": one["conf_low"], f"{what}_high": one["conf_high"]}
        rows.append(row)
    return pa.Table.from_pylist(rows)


def _measures(read: Judged, some: LeftOut, codes: np.ndarray, equal: np.ndarray) -> list[float]:
    """Return equal ratings, agreement corrected for chance, and correlation with the mean of the others."""
    share_equal = float((equal / some.others).mean())
    value = read.humans.points
    x, others = value[codes], some.total / some.others
    if read.level == "nominal":
        q = len(value)
        mine = np.bincount(codes, minlength=q) / len(codes)
        theirs = _others_shares(read, some)
        chance = float(mine @ theirs)
        return [share_equal, (share_equal - chance) / (1 - chance) if chance < 1 else np.nan]
    squares = some.squares / some.others
    observed = (x**2 - 2 * x * others + squares).mean()
    expected = (x**2).mean() - 2 * x.mean() * others.mean() + squares.mean()
    spread = x.std() * others.std()
    correlation = ((x - x.mean()) * (others - others.mean())).mean() / spread if spread > 0 else np.nan
    return [share_equal, float(1 - observed / expected) if expected > 0 else np.nan, float(correlation)]


def _others_shares(read: Judged, some: LeftOut) -> np.ndarray:
    """Return how often the remaining people chose each category, each comparison counted once."""
    humans, q = read.humans, len(read.humans.categories)
    weight = np.bincount(some.text, weights=1 / some.others, minlength=len(humans.items))  # of every person's rating
    everyone = np.bincount(humans.code, weights=weight[humans.row], minlength=q)
    own = np.bincount(some.person, weights=1 / some.others, minlength=q)
    return (everyone - own) / len(some.text)


def _bias(read: Judged) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much the judge is above people on each text (nominal: share of equal ratings), and where."""
    has = (read.judge_code >= 0) & (read.humans.per_item > 0)
    if read.level == "nominal":
        same = read.humans.code == read.judge_code[read.humans.row]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.bincount(read.humans.row, weights=same, minlength=len(has)) / read.humans.per_item, has
    return read.judge - read.people, has


_SYSTEMS = pa.schema(columns("system: text; n_texts: count; bias favours conf_low conf_high p_value: number"))


def _by_system(read: Judged, bias: np.ndarray, has: np.ndarray, conf_level: float) -> tuple[pa.Table, float | None]:
    names = sorted(set(read.system_of[has].tolist()))
    if len(names) < 2:
        return _SYSTEMS.empty_table(), None
    rows, p = _levels(bias[has], read.system_of[has], names, read.cluster[has], conf_level)
    return pa.Table.from_pylist([{"system": row.pop("level"), **row} for row in rows], schema=_SYSTEMS), p


def _levels(
    y: np.ndarray, labels: np.ndarray, names: list[str], cluster: np.ndarray, conf_level: float
) -> tuple[list[dict[str, Any]], float | None]:
    """Return each level's mean and how far it is from the mean of all levels, and the test that all are alike."""
    from scipy.stats import f

    x = (labels[:, None] == np.array(names, dtype=object)[None, :]).astype(float)
    b, v, df = regression(y, x, cluster)
    k = len(names)
    contrast = np.eye(k) - 1 / k
    deviation, spread = contrast @ b, contrast @ v @ contrast.T
    rows: list[dict[str, Any]] = []
    for at, name in enumerate(names):
        one = student(float(deviation[at]), float(np.sqrt(max(spread[at, at], 0.0))), max(df, 1), conf_level)
        rows.append(
            {"level": str(name), "n_texts": int(x[:, at].sum()), "bias": float(b[at]), "favours": one.pop("estimate")}
            | one
        )
    rest = df - k + 2  # Hotelling's: the covariance is estimated from df + 1 clusters
    if rest < 1:
        return rows, None
    wald = float(deviation[:-1] @ np.linalg.pinv(spread[:-1, :-1]) @ deviation[:-1])
    return rows, float(f.sf(wald * rest / ((k - 1) * df), k - 1, rest))


_COVARIATES = pa.schema(
    [("column", pa.string()), ("level", pa.string())] + [(name, pa.float64()) for name in (*_ENDS, "p_value", "per_sd")]
)


def _covariates(
    read: Judged, bias: np.ndarray, has: np.ndarray, wanted: Sequence[str] | None, conf_level: float
) -> pa.Table:
    """Return how bias changes with columns of the texts; systems are held constant."""
    rows: list[dict[str, Any]] = []
    for name in wanted if wanted is not None else [c for c in COVARIATES if c in read.extras]:
        if name not in read.extras:
            raise InputError(f"column {name!r} is not there, or has several values for one text")
        values = read.extras[name]
        known = has & np.array([value is not None for value in values])
        systems = sorted(set(read.system_of[known].tolist()))
        dummies = (read.system_of[known][:, None] == np.array(systems, dtype=object)[None, :]).astype(float)
        if all(isinstance(value, (int, float)) for value in values[known]):
            x = values[known].astype(float)
            if np.ptp(x) == 0:
                raise InputError(f"column {name!r} has the same value everywhere, so nothing can change with it")
            b, v, df = regression(bias[known], np.column_stack([x - x.mean(), dummies]), read.cluster[known])
            one = student(float(b[0]), float(np.sqrt(v[0, 0])), max(df, 1), conf_level)
            rows.append({"column": name, "level": "", **one, "per_sd": float(b[0] * x.std())})
        else:
            words = values[known].astype(str).astype(object)
            within = bias[known] - dummies @ (dummies.T @ bias[known] / dummies.sum(axis=0))
            for row in _levels(within, words, sorted(set(words.tolist())), read.cluster[known], conf_level)[0]:
                rows.append({"column": name, "level": row["level"], "estimate": row["favours"],
                             **{key: row[key] for key in ("conf_low", "conf_high", "p_value")}})  # fmt: skip
    return pa.Table.from_pylist(rows, schema=_COVARIATES)


_CALIBRATION = pa.schema(
    [("judge", pa.string()), ("n_texts", pa.int64()), ("people", pa.float64()), ("expected", pa.float64())]
)


def _calibration(
    read: Judged, engine: str, conf_level: float, noticed: list[Finding]
) -> tuple[dict[str, Any] | None, pa.Table]:
    """Fit people's ratings on the judge's, and set what it expects beside what people gave."""
    both = (read.judge_code >= 0) & (read.humans.per_item > 0)
    codes = np.unique(read.judge_code[both])
    if read.level == "nominal" or len(codes) > MOST_CATEGORIES:
        if read.level != "nominal":
            noticed.append(found("many-judge-ratings", n=len(codes)))
        return None, _CALIBRATION.empty_table()
    slope: dict[str, Any] | None = None
    expected: dict[int, float] = {}
    if len(codes) > 1:
        try:
            slope, expected = _model(read, both, codes, engine, conf_level)
        except (FitError, InputError) as reason:
            noticed.append(found("no-calibration", text=str(reason)))
    else:
        noticed.append(found("constant-judge", judge=read.name))
    rows = [
        {
            "judge": str(read.humans.categories[code]),
            "n_texts": int((read.judge_code[both] == code).sum()),
            "people": float(read.people[both & (read.judge_code == code)].mean()),
            "expected": expected.get(int(code)),
        }
        for code in codes
    ]
    return slope, pa.Table.from_pylist(rows, schema=_CALIBRATION)


def _texts(read: Judged, calibration: pa.Table) -> pa.Table | None:
    """Return the ratings that the calibration is about: of each text the judge's, and the mean of people's."""
    both = (read.judge_code >= 0) & (read.humans.per_item > 0)
    return pa.table({"judge": read.judge[both], "people": read.people[both]}) if calibration.num_rows else None


def _model(
    read: Judged, both: np.ndarray, codes: np.ndarray, engine: str, conf_level: float
) -> tuple[dict[str, Any], dict[int, float]]:
    """Return the slope and the expected rating for each of the judge's, from a cumulative link mixed model."""
    from ordbridge.models.api import clm, clmm, lmer

    humans = read.humans
    rows = np.flatnonzero(both[humans.row])
    if len(rows) > MOST_RATINGS:
        rows = np.sort(np.random.default_rng(1).permutation(rows)[:MOST_RATINGS])
    judged = humans.points[read.judge_code]
    used = np.unique(humans.code[rows])
    table: dict[str, Any] = {
        "judge": judged[humans.row[rows]],
        "person": [f"p{r}" for r in humans.column[rows]],
        "text": [f"t{t}" for t in humans.row[rows]],
    }
    repeated = {name: len(set(table[name])) < len(rows) and len(set(table[name])) > 1 for name in ("person", "text")}
    bars = "".join(f" + (1 | {name})" for name, several in repeated.items() if several)
    new = {"judge": humans.points[codes], **{name: ["new"] * len(codes) for name in ("person", "text")}}
    ordinal = len(used) <= MOST_CATEGORIES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if ordinal:
            words = [f"c{code:03d}" for code in used]
            rating = pa.DictionaryArray.from_arrays(np.searchsorted(used, humans.code[rows]), words, ordered=True)
            fit = (clmm if bars else clm)(f"rating ~ judge{bars}", pa.table({**table, "rating": rating}), engine=engine)
            share_of = fit.predict(new, kind="marginal" if bars else "population")
            probabilities = np.column_stack([share_of[word].to_numpy() for word in words])
            means = probabilities @ humans.points[used]
        else:
            fit = lmer(f"rating ~ judge{bars}", {**table, "rating": read.values[rows]}, engine=engine)
            means = fit.predict(new, kind="population")["mean"].to_numpy()
    row = next(row for row in fit.tidy(conf_level=conf_level).to_pylist() if row["term"] == "judge")
    unit = "log odds of a higher rating by people, per point of the judge" if ordinal else "points per point"
    slope = {"model": f"rating ~ judge{bars}", "unit": unit, **{name: row[name] for name in (*_ENDS, "p_value")}}
    return slope, {int(code): float(mean) for code, mean in zip(codes, means, strict=True)}


def _worst(read: Judged, bias: np.ndarray, has: np.ndarray) -> pa.Table:
    """Return the texts on which the judge is furthest from people, those with more people first among equals."""
    number = read.humans.per_item
    distance = 1 - bias if read.level == "nominal" else np.abs(bias)
    order = [t for t in np.lexsort([-number, -np.where(has, distance, -np.inf)]) if has[t]][:WORST]
    columns: dict[str, Any] = {role: [str(v) for v in values[order]] for role, values in read.labels.items()}
    columns["judge"] = [str(read.humans.categories[code]) for code in read.judge_code[order]]
    if read.level != "nominal":
        columns["people"] = read.people[order]
        columns["difference"] = bias[order]
    else:
        columns["equal_ratings"] = bias[order]
    return pa.table({**columns, "n_people": number[order]})
