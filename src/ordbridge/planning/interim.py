"""After a batch of participants: whether the study stops, or goes on; and what it says when it has stopped.

The statistic of a look is compared with a boundary. Looks at the planned numbers of participants have the boundary of
the plan, which was simulated. Any other look has the one that the spending function of Lan and DeMets allows
(:func:`ordbridge.planning.stopping.spent_by`), and from then on so have the planned ones. In terms of normal theory the
simulated boundary is its own multiple of the normal one, the same at every look; all statistics are divided by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.planning.after_stopping import adjusted
from ordbridge.planning.ledger import Ledger, TakenLook, digest_of
from ordbridge.planning.looks import score_of
from ordbridge.planning.planned_test import Score, usable
from ordbridge.planning.protocol import Protocol, model_of
from ordbridge.planning.stopping import boundary_that_spends, crossing_probabilities, spent_by
from ordbridge.results import Finding, Result, found
from ordbridge.support.formatting import p_text

NEAR = 0.1  # of the planned participants of a look: so many more or fewer are the planned look all the same


@dataclass(frozen=True, repr=False)
class Decision(Result):
    """What a look at the data says.

    Attributes
    ----------
    code
        ``"early"`` (before the first look), ``"go on"``, ``"found"`` (the boundary was crossed), ``"last"`` (it was the
        last look, and the boundary was not crossed) or ``"ended"`` (the study had stopped before).
    look
        The number of the planned look; 0 before the first one, None if this look was not planned.
    taken
        How many looks there have been, this one included; planned ones that nobody recorded count.
    stop
        Whether the study ends here.
    found
        Whether the boundary was crossed.
    z, critical
        The statistic of the planned test, and its boundary at this look; None before the first look, and the boundary
        also where a look had none of the level left to use.
    participants, ratings
        What there is so far.
    system_a, system_b
        The pair that is tested, the one that was expected to be higher first.
    answer, findings
        The decision in words, and where the data differ from the planned look.
    p_value
        Of a study that has stopped: corrected for its looks, in the stage-wise ordering
        (:func:`ordbridge.planning.after_stopping.adjusted`).
    estimate, conf_low, conf_high
        Of a study that has stopped: the median-unbiased estimate of how far ``system_a`` is above ``system_b``, and
        its interval of level 1 − alpha.
    unit
        What the estimate is in: ``"latent"`` units, or rating ``"points"``.
    """

    kind: ClassVar[str] = "decision"
    title = "Stop the study, or go on?"
    code: str
    look: int | None
    taken: int
    stop: bool
    found: bool
    z: float | None
    critical: float | None
    participants: int
    ratings: int
    system_a: str
    system_b: str
    answer: str = field()  # not the empty one of all results
    findings: tuple[Finding, ...] = ()
    p_value: float | None = None
    estimate: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    unit: str = "latent"

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What there is so far."""
        return f"{self.participants:,} participants, {self.ratings:,} ratings so far."

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All numbers in one row."""
        hidden = ("answer", "findings")
        names = [one.name for one in fields(self) if one.name not in hidden]
        return {"decision": pa.Table.from_pylist([{name: getattr(self, name) for name in names}])}


class Boundary(NamedTuple):
    """The boundary of a look, by normal theory."""

    value: float
    """Infinite if the look has nothing of the level left to use."""
    look: int | None
    """Which planned look this is; None if it is none."""
    last: bool
    planned: int
    """How many planned looks have been passed."""
    as_planned: bool
    """Whether all looks so far were planned."""
    times: tuple[float, ...]
    critical: tuple[float, ...]
    """Of all looks so far, this one included if it counts."""


def decide(ratings: pa.Table, protocol: Protocol, *, engine: str = "r", ledger: Ledger | None = None) -> Decision:
    """Say whether a study stops after the ratings so far, and record the look.

    Parameters
    ----------
    ratings
        One row per rating: ``participant, item, system, rating``.
    protocol
        The plan, made with ``looks``.
    engine
        Who fits the planned model.
    ledger
        The looks that have been taken; this one is added to them, unless it is too early for one. Default: none is
        known, and none is kept.

    Notes
    -----
    A look is a planned one if there are as many participants as planned for it, or a tenth more or fewer; nine tenths
    of the planned participants, or more, are the last look. Planned looks that nobody recorded count as taken. After
    the study has stopped, later ratings do not change the answer.

    References
    ----------
    Lan, K. K. G. & DeMets, D. L. (1983). Discrete sequential boundaries for clinical trials. *Biometrika* 70, 659–663.

    Jennison, C. & Turnbull, B. W. (2000). *Group sequential methods with applications to clinical trials*. Chapman &
    Hall, chapters 2, 7 and 8.
    """
    if not protocol.looks:
        raise InputError(
            "this plan has no looks, so the study goes on to its planned end; ordbridge plan makes plans with looks"
        )
    ((low, high),) = protocol.pairs
    table = usable(ratings, (low, high))
    _check_columns(table)
    ledger = Ledger(protocol) if ledger is None else ledger
    digest = digest_of(table)
    people = len(set(table["participant"].to_pylist()))
    if (known := _known(ledger.looks(), digest, people, table.num_rows)) is not None:
        return known
    first = protocol.looks[0]["participants"]
    if people < (1 - NEAR) * first:
        answer = f"Go on: the first look is at {first} participants, and there are {people}."
        return Decision("early", 0, 0, False, False, None, None, people, table.num_rows, high, low, answer)
    score = score_of(model_of(protocol, high), table, engine, low)
    if score is None:
        raise FitError("the planned model cannot be fitted to these ratings; ordbridge compare FILE says why")
    with ledger.alone():
        looks = ledger.looks()
        if (known := _known(looks, digest, people, table.num_rows)) is not None:
            return known
        at = next_boundary(protocol, looks[-1] if looks else None, people)
        decision = _decision(protocol, at, score, people, table.num_rows)
        critical = tuple(None if math.isinf(value) else value for value in at.critical)
        when = datetime.now(UTC).isoformat(timespec="seconds")
        ledger.add(TakenLook(digest, when, engine, at.planned, at.as_planned, at.times, critical, asdict(decision)))
    return decision


def _check_columns(table: pa.Table) -> None:
    if "participant" not in table.column_names:
        raise InputError("the ratings have no column participant, by which looks are counted; say which one it is")
    criteria = set(table["criterion"].to_pylist()) if "criterion" in table.column_names else set()
    if len(criteria) > 1:
        raise InputError(
            f"a plan with looks is for one criterion, and the ratings have {len(criteria)}; keep the rows of one"
        )


def _known(looks: Sequence[TakenLook], digest: str, people: int, ratings: int) -> Decision | None:
    """Return the answer that these ratings have had, or that of the look that ended the study."""
    for look in looks:
        if look.digest == digest:
            return _answer(look)
    if not looks or not looks[-1].stopped:
        return None
    end = _answer(looks[-1])
    ended = found("study-ended", ended=end.participants, participants=people)
    return replace(end, code="ended", participants=people, ratings=ratings, findings=(ended,))


def _answer(look: TakenLook) -> Decision:
    try:
        findings = tuple(Finding(**one) for one in look.decision["findings"])
        answer = Decision(**{**look.decision, "findings": findings})
        for name in ("z", "critical", "p_value", "estimate", "conf_low", "conf_high"):
            float(getattr(answer, name) or 0)
        if not isinstance(answer.answer, str) or not all(one.text for one in findings):
            raise TypeError
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError("a look in the ledger is damaged; restore the ledger, for it counts the looks") from None
    return answer


def next_boundary(protocol: Protocol, before: TakenLook | None, people: int) -> Boundary:
    """Return the boundary of a look at so many participants, after the looks before it."""
    rows = protocol.looks
    planned, as_planned = (before.planned, before.as_planned) if before else (0, True)
    times, critical = (before.times, before.boundaries) if before else ((), ())
    end = rows[-1]["participants"]
    last = people >= (1 - NEAR) * end
    here = len(rows) if last else _matching(rows, planned, people)
    passed = here - 1 if here else sum(row["participants"] < people for row in rows)
    if as_planned:  # planned looks that nobody recorded have been taken all the same
        times += tuple(row["share"] for row in rows[planned:passed])
        critical += tuple(row["normal"] for row in rows[planned:passed])
    time = rows[here - 1]["share"] if here else (people / end)
    if times and time <= times[-1]:
        return Boundary(math.inf, None, False, planned, as_planned, times, critical)
    if here and as_planned:
        value = rows[here - 1]["normal"]
    else:
        spent = float(crossing_probabilities(times, critical).sum()) if times else 0.0
        allowed = spent_by(time, alpha=protocol.alpha, shape=str(protocol.shape))
        value = boundary_that_spends(allowed - spent, (*times, time), critical)
    passed = max(planned, here, passed)
    return Boundary(value, here or None, last, passed, as_planned and here > 0, (*times, time), (*critical, value))


def _matching(rows: Sequence[dict[str, Any]], planned: int, people: int) -> int:
    """Return the number of the planned look that is about at so many participants, of those not yet passed; or 0."""
    off = {
        number: abs(people - row["participants"])
        for number, row in enumerate(rows, 1)
        if number > planned and abs(people - row["participants"]) <= NEAR * row["participants"]
    }
    return min(off, key=lambda number: off[number], default=0)


def _decision(protocol: Protocol, at: Boundary, score: Score, people: int, ratings: int) -> Decision:
    ((low, high),) = protocol.pairs
    wider = protocol.looks[0]["critical"] / protocol.looks[0]["normal"]
    z, critical = score.z, at.value * wider
    crossed = abs(z) > critical
    decision = Decision(
        code="found" if crossed else "last" if at.last else "go on",
        look=at.look,
        taken=len(at.times),
        stop=crossed or at.last,
        found=crossed,
        z=z,
        critical=None if math.isinf(critical) else critical,
        participants=people,
        ratings=ratings,
        system_a=high,
        system_b=low,
        answer="",
        findings=tuple(_noticed(protocol, at, people, score)),
        unit="points" if protocol.link is None else "latent",
    )
    if decision.stop:
        corrected = adjusted(at.times, at.critical, z / wider, score.error_of_z * wider, protocol.alpha)
        decision = replace(decision, **asdict(corrected))
    return replace(decision, answer=_words(decision, protocol))


def _noticed(protocol: Protocol, at: Boundary, people: int, score: Score) -> Iterator[Finding]:
    if not score.converged:
        yield found("planned-model-not-converged")
    if at.look is None:
        yield found("no-level-left" if math.isinf(at.value) else "unplanned-look")
        return
    planned = protocol.looks[at.look - 1]["participants"]
    if people != planned:
        yield found("look-size-differs", look=at.look, planned=planned, participants=people)
    if not at.as_planned:
        yield found("boundary-after-unplanned-looks")


def _words(d: Decision, protocol: Protocol) -> str:
    looks, high, low = protocol.looks, d.system_a, d.system_b
    boundary = "no boundary" if d.critical is None else f"boundary {d.critical:.2f}"
    which = f"look {d.look} of {len(looks)}" if d.look else "an unplanned look"
    against = f"|z| {abs(d.z or 0.0):.2f}, {boundary}, {which}"
    if not d.stop:
        following = next(row["participants"] for row in looks if row["participants"] > d.participants)
        return f"Go on to {following} participants: {against}."
    better, worse = (high, low) if (d.z or 0.0) > 0 else (low, high)
    verdict = (
        f"Stop: {better} is rated higher than {worse} ({against})."
        if d.found
        else f"Stop: no clear difference between {high} and {low} at the last look ({against})."
    )
    unit = "rating points" if d.unit == "points" else "latent units"
    return (
        f"{verdict}\nAdjusted for the looks: {high} is {d.estimate:+.2f} {unit} above {low} "
        f"({1 - protocol.alpha:.0%} CI {d.conf_low:.2f} to {d.conf_high:.2f}, {p_text(d.p_value or 0.0)})."
    )
