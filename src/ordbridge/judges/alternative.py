"""The alternative annotator test: may a judge stand in for a person? As published, and with clusters respected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.judges.judged import Columns, Judged, read_judged
from ordbridge.judges.leave_one_out import LeftOut, Score, indicators, leave_each_out
from ordbridge.render.layout import ShownTable
from ordbridge.results import Finding, Result, found
from ordbridge.support.arguments import proportion, whole
from ordbridge.support.formatting import interval_text, p_text, r_text
from ordbridge.support.naming import arg

HALF = 0.5
FEWEST_PEOPLE, MOST_PEOPLE, ENOUGH_LEFT = 4, 50, 0.8  # of the jackknife over people, and of its comparisons


@dataclass(frozen=True)
class ClusteredAltTest:
    """The same test with clusters respected, and what it says about people like these.

    Attributes
    ----------
    winning_rate, passed
        As in the published test, from standard errors over clusters of texts.
    difference, conf_low, conf_high, p_value
        How much more often a person does as well as the judge than the judge as the person, averaged over people who
        are a sample of people; its interval, and the test that it is below ε.
    replaces
        Whether that test rejects: the judge may stand in for a person like these.
    n_clusters, n_raters
        Clusters of texts, and people.
    """

    winning_rate: float
    passed: bool
    difference: float
    conf_low: float
    conf_high: float
    p_value: float
    replaces: bool
    n_clusters: int
    n_raters: int


@dataclass(frozen=True, repr=False)
class AltTest(Result):
    """Result of :func:`alt_test`.

    Attributes
    ----------
    winning_rate
        Share of people against whom the judge wins, ω; the test is passed from one half on.
    advantage_probability
        How often the judge does at least as well as a person, averaged over people, ρ.
    passed
        Whether ω ≥ 0.5.
    annotators
        One row per person (``participant``): ``n_texts``, ``judge_at_least`` and ``person_at_least`` (how often each
        does at least as well as the other), ``difference``, ``p_value``, ``p_adjusted`` (Benjamini & Yekutieli),
        ``wins``, and ``p_clustered``.
    clustered
        The test that respects clusters of texts and takes people for a sample; ``None`` if there are too few.
    judge, epsilon, score
        What was asked.
    skipped
        People with too few texts.
    n_texts, n_dropped
        Texts that entered, and texts that were left out because too few people, or not the judge, rated them.
    conf_level
        Level of the interval in ``clustered``.
    """

    kind: ClassVar[str] = "alternative-annotator-test"
    winning_rate: float
    advantage_probability: float
    passed: bool
    annotators: pa.Table
    clustered: ClusteredAltTest | None
    judge: str
    epsilon: float
    score: str
    skipped: tuple[str, ...]
    n_texts: int
    n_dropped: int
    conf_level: float = 0.95
    findings: tuple[Finding, ...] = ()

    @property
    def title(self) -> str:  # type: ignore[override]
        """The question."""
        return f"Can {self.judge} stand in for a person?"

    @property
    def verdict(self) -> str:
        """``"PASSED"`` or ``"FAILED"``, as published."""
        return "PASSED" if self.passed else "FAILED"

    @property
    def yes_or_no(self) -> str:
        """``"Yes"`` or ``"No"``; ``"Not clearly"`` where the published test and the one over clusters disagree."""
        if self.clustered is not None and self.clustered.replaces != self.passed:
            return "Not clearly"
        return "Yes" if self.passed else "No"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """Whether the judge passes; and whether it may stand in for people like these."""
        n = self.annotators.num_rows
        said = (
            f"{self.judge} {'passes' if self.passed else 'fails'} the alternative annotator test (ε = "
            f"{self.epsilon:g}): it wins against {round(self.winning_rate * n)} of {n} people (ω = "
            f"{self.winning_rate:.2f}, ρ = {self.advantage_probability:.2f})."
        )
        if self.clustered is None:
            return said
        apart = self.clustered
        may = (
            "It may stand in for a person like these" if apart.replaces else "It is not shown to stand in for a person"
        )
        ends = interval_text(vars(apart), self.conf_level)
        below = f"{'' if apart.replaces else 'not '}significantly below ε"
        return f"{said}\n{may}: difference {r_text(apart.difference)} ({ends}), {below} ({p_text(apart.p_value)})."

    @property
    def counted(self) -> str:  # type: ignore[override]
        """How many texts and people entered."""
        groups = "" if self.clustered is None else f" in {self.clustered.n_clusters:,} clusters"
        return f"{self.annotators.num_rows} people, {self.n_texts:,} texts{groups}; {self.n_dropped:,} texts left out."

    @property
    def tables(self) -> dict[str, pa.Table]:
        """One row per person."""
        return {"annotators": self.annotators}

    def main(self) -> Sequence[ShownTable]:
        """Return how often the judge does as well as each person."""
        shown = self.annotators.drop_columns(["p_value", "p_clustered"])
        return [ShownTable(shown, names={"judge_at_least": "judge as well", "person_at_least": "person as well"})]


def alt_test(
    data: Any,
    judge: str | None = None,
    epsilon: float = 0.2,
    *,
    score: str | Score | None = None,
    q: float = 0.05,
    min_raters: int = 2,
    min_texts: int = 30,
    conf_level: float = 0.95,
    **columns: Any,
) -> AltTest:
    r"""Test whether a judge may stand in for a person (alternative annotator test).

    Each person h is left out in turn, and h and the judge are scored against the people who remain, on every text that
    h rated. With :math:`d` = [h does at least as well] − [the judge does at least as well] (ties give both), a t test
    asks whether the mean of d is below ε, the price of a person that a judge saves. Benjamini & Yekutieli's procedure
    over people gives the winning rate ω, and the judge passes from one half on.

    The published test takes texts as independent and people as all there are. ``.clustered`` respects both: standard
    errors are over clusters of texts (by default those of one item: its systems and criteria), and the mean of d over
    people has the variance of other people and of other clusters.

    Parameters
    ----------
    data
        Long table: one row per rating, of people and of the judge (``kind`` = ``"judge"``).
    judge
        Which judge; may be left out if there is one.
    epsilon
        How much less often than a person the judge may do as well; the authors suggest 0.2 for experts, 0.15 for
        skilled people, 0.1 for crowd workers.
    score
        ``"accuracy"`` (share of equal annotations), ``"rmse"`` (minus the root of the mean squared difference), or a
        function of an annotation and the list of the others', higher is better. By default accuracy for words and rmse
        for numbers and ordered categories.
    q
        False discovery rate.
    min_raters, min_texts
        People that a text needs, and texts that a person needs.
    conf_level
        Level of the interval in ``.clustered``.
    **columns
        See :class:`ordbridge.judges.Columns`: ``participant``, ``item``, ``system``, ``rating``, ``criterion``,
        ``kind``, ``cluster``, ``level``, ``scale``.

    Returns
    -------
    AltTest

    References
    ----------
    Calderon, N., Reichart, R., & Dror, R. (2025). The alternative annotator test for LLM-as-a-judge: how to
    statistically justify replacing human annotators with LLMs. ACL 2025, 16051–16081.
    Benjamini, Y., & Yekutieli, D. (2001). The control of the false discovery rate in multiple testing under
    dependency. Annals of Statistics 29, 1165–1188.
    Cameron, A. C., Gelbach, J. B., & Miller, D. L. (2011). Robust inference with multiway clustering. Journal of
    Business & Economic Statistics 29, 238–249.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> true = rng.integers(1, 6, 60)
    >>> who = ["a", "b", "c", "gpt"]
    >>> seen = [np.clip(true + rng.integers(-1, 2, 60) * (name != "gpt"), 1, 5) for name in who]
    >>> table = {"item": np.tile(np.arange(60), 4), "participant": np.repeat(who, 60),
    ...          "rating": np.concatenate(seen), "kind": np.repeat(["human", "human", "human", "judge"], 60)}
    >>> found = alt_test(table, epsilon=0.1)
    >>> found.verdict, found.winning_rate, round(found.advantage_probability, 2)
    ('PASSED', 1.0, 0.92)
    """
    proportion("epsilon", epsilon, ends=True)
    proportion("q", q)
    proportion("conf_level", conf_level)
    read = read_judged(data, judge, Columns(**columns))
    how = _score(score, read)
    pairs = leave_each_out(read, whole("min_raters", min_raters, least=2))
    judge_wins, person_wins = indicators(read, pairs, how)
    n = np.bincount(pairs.rater, minlength=len(read.humans.raters))
    enough = n >= whole("min_texts", min_texts, least=2)
    skipped = tuple(str(name) for name, kept in zip(read.humans.raters, enough, strict=True) if not kept)
    if not enough.any():
        raise InputError(
            f"nobody rated {min_texts} texts beside others and the judge (the most is {n.max()}); collect more, or ask "
            f"for fewer ({arg('min_texts')})"
        )
    kept = enough[pairs.rater]
    pairs, judge_wins, person_wins = pairs.only(kept), judge_wins[kept], person_wins[kept]
    people = np.flatnonzero(enough)
    rows = []
    for person in people:
        mine = pairs.rater == person
        d = person_wins[mine] - judge_wins[mine]
        rows.append(
            {
                "participant": str(read.humans.raters[person]),
                "n_texts": int(mine.sum()),
                "judge_at_least": float(judge_wins[mine].mean()),
                "person_at_least": float(person_wins[mine].mean()),
                "difference": float(d.mean()),
                "p_value": _below(d, np.arange(len(d)), epsilon),
                "p_clustered": _below(d, pairs.cluster[mine], epsilon),
            }
        )
    adjusted, clustered = (_adjusted(np.array([row[name] for row in rows])) for name in ("p_value", "p_clustered"))
    wins = adjusted <= q
    for row, p, win in zip(rows, adjusted, wins, strict=True):
        row["p_adjusted"], row["wins"] = float(p), bool(win)
    order = ("participant", "n_texts", "judge_at_least", "person_at_least", "difference", "p_value", "p_adjusted",
             "wins", "p_clustered")  # fmt: skip
    texts = len(np.unique(pairs.text))
    return AltTest(
        winning_rate=float(wins.mean()),
        advantage_probability=float(np.mean([row["judge_at_least"] for row in rows])),
        passed=bool(wins.mean() >= HALF),
        annotators=pa.Table.from_pylist([{name: row[name] for name in order} for row in rows]),
        clustered=_of_a_sample(
            pairs,
            person_wins - judge_wins,
            people,
            clustered <= q,
            _variance_without_each(read, people, how, len(pairs.text)),
            epsilon,
            q,
            conf_level,
        ),
        judge=read.name,
        epsilon=float(epsilon),
        score=how if isinstance(how, str) else getattr(how, "__name__", "score"),
        skipped=skipped,
        n_texts=texts,
        n_dropped=int((read.humans.per_item > 0).sum()) - texts,
        conf_level=conf_level,
        findings=(found("people-left-out", participants=skipped, n=min_texts),) if skipped else (),
    )


def _score(score: str | Score | None, read: Judged) -> str | Score:
    if score is None:
        return "accuracy" if read.level == "nominal" else "rmse"
    if isinstance(score, str):
        if score not in ("accuracy", "rmse"):
            raise InputError(f"{arg('score', score)} is not known; use 'accuracy', 'rmse' or a function")
        if score == "rmse" and read.level == "nominal":
            raise InputError(
                f"{arg('score', 'rmse')} needs numbers or ordered categories ({arg('scale')}), but the ratings are "
                "words"
            )
        return score
    if not isinstance(score, Callable):  # type: ignore[arg-type]
        raise InputError(f"{arg('score', score)} is neither 'accuracy' nor 'rmse' nor a function")
    return score


def _below(d: np.ndarray, cluster: np.ndarray, epsilon: float) -> float:
    """Return the p-value of the t test that a mean is below ε, with its standard error over clusters."""
    from scipy.stats import t

    _, at = np.unique(cluster, return_inverse=True)
    groups = int(at.max()) + 1
    if groups < 2:
        return 1.0
    mean = float(d.mean())
    variance = groups / (groups - 1) * (np.bincount(at, d - mean) ** 2).sum() / len(d) ** 2
    if variance <= 0:
        return 0.0 if mean < epsilon else 1.0
    return float(t.cdf((mean - epsilon) / np.sqrt(variance), groups - 1))


def _adjusted(p: np.ndarray) -> np.ndarray:
    """Return p-values corrected by Benjamini & Yekutieli's procedure."""
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method="by"))


def _variance_without_each(read: Judged, people: np.ndarray, how: str | Score, n: int) -> float:
    """Return the jackknife variance over people of the mean difference; 0 where it cannot be had.

    A person is a comparison of their own and a part of everybody else's, so that both are left out together.
    """
    m = len(people)
    if not FEWEST_PEOPLE <= m <= MOST_PEOPLE or not isinstance(how, str):  # a user's function may be slow
        return 0.0
    values = []
    for left in people:
        rest = replace(read, humans=read.humans.only(read.humans.column != left))
        try:
            pairs = leave_each_out(rest)
        except InputError:
            return 0.0
        if len(pairs.text) < ENOUGH_LEFT * n * (m - 1) / m:  # few people rated a text: hardly any would be left
            return 0.0
        judge_wins, person_wins = indicators(rest, pairs, how)
        mine = np.isin(pairs.rater, people)
        rater = np.searchsorted(people, pairs.rater[mine])
        number = np.bincount(rater, minlength=m)
        means = np.bincount(rater, (person_wins - judge_wins)[mine], minlength=m)[number > 0] / number[number > 0]
        values.append(means.mean())
    return float((m - 1) / m * ((np.array(values) - np.mean(values)) ** 2).sum())


def _of_a_sample(
    pairs: LeftOut,
    d: np.ndarray,
    people: np.ndarray,
    wins: np.ndarray,
    over_people: float,
    epsilon: float,
    q: float,
    conf_level: float,
) -> ClusteredAltTest | None:
    """Test the mean over people, with the variance of other people and of other clusters of texts."""
    from scipy.stats import t

    rater = np.searchsorted(people, pairs.rater)
    m = len(people)
    _, cluster = np.unique(pairs.cluster, return_inverse=True)
    groups = int(cluster.max()) + 1
    if m < 3 or groups < 3:
        return None
    n = np.bincount(rater)
    means = np.bincount(rater, d) / n
    mean = float(means.mean())
    inside = (d - means[rater]) / n[rater] / m
    cells = np.unique(rater * groups + cluster, return_inverse=True)[1]
    over_people = max(over_people, float(((means - mean) ** 2).sum() / (m * (m - 1))))
    over_clusters = groups / (groups - 1) * float((np.bincount(cluster, inside) ** 2).sum())
    both = float((np.bincount(cells, inside) ** 2).sum())
    total = max(over_people + over_clusters - both, over_people, over_clusters)
    if total <= 0:
        return None
    df = (over_people + over_clusters) ** 2 / (over_people**2 / (m - 1) + over_clusters**2 / (groups - 1))
    error = np.sqrt(total)
    width = float(t.ppf((1 + conf_level) / 2, df)) * error
    p = float(t.cdf((mean - epsilon) / error, df))
    return ClusteredAltTest(
        winning_rate=float(wins.mean()),
        passed=bool(wins.mean() >= HALF),
        difference=mean,
        conf_low=max(-1.0, float(mean - width)),
        conf_high=min(1.0, float(mean + width)),
        p_value=p,
        replaces=p < q,
        n_clusters=groups,
        n_raters=m,
    )
