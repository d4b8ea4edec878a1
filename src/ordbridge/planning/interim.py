"""After a batch of participants: whether the study stops, or goes on; and what it says when it has stopped.

The statistic of a look is compared with a boundary. Looks at the planned numbers of participants have the boundary of
the plan, which was simulated. Any other look has the one that the spending function of Lan and DeMets allows
(:func:`ordbridge.planning.stopping.spent_by`), and from then on so have the planned ones. In terms of normal theory the
simulated boundary is its own multiple of the normal one, the same at every look; all statistics are divided by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.formats import p_text
from ordbridge.planning.after_stopping import adjusted
from ordbridge.planning.ledger import Ledger, TakenLook, digest_of
from ordbridge.planning.looks import score_of
from ordbridge.planning.planned_test import Score, usable
from ordbridge.planning.protocol import Protocol, model_of
from ordbridge.planning.stopping import boundary_that_spends, crossing_probabilities, spent_by

__all__ = ["CODES", "Boundary", "Decision", "decide", "next_boundary"]

NEAR = 0.1  # of the planned participants of a look: so many more or fewer are the planned look all the same
NOT_CONVERGED = "The planned model did not converge, so its test says little; look at the ratings themselves."
CODES = ("early", "go on", "found", "last", "ended")


@dataclass(frozen=True)
class Decision:
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
    sentence
        The decision.
    notes
        Where the data differ from the planned look.
    p_value
        Of a study that has stopped: corrected for its looks, in the stage-wise ordering
        (:func:`ordbridge.planning.after_stopping.adjusted`).
    estimate, conf_low, conf_high
        Of a study that has stopped: the median-unbiased estimate of how far the second system is above the first, and
        its interval of level 1 − alpha.
    unit
        What the estimate is in: ``"latent"`` units, or rating ``"points"``.
    """

    code: str
    look: int | None
    taken: int
    stop: bool
    found: bool
    z: float | None
    critical: float | None
    participants: int
    ratings: int
    sentence: str
    notes: tuple[str, ...] = ()
    p_value: float | None = None
    estimate: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    unit: str = "latent"


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
            "this plan has no looks, so the study goes on to its planned end; plan it with looks "
            "(ordbridge plan --looks 3, or planning.plan with looks=3)"
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
        sentence = f"Go on: the first look is at {first} participants, and there are {people}."
        return Decision("early", 0, 0, False, False, None, None, people, table.num_rows, sentence)
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
    note = (
        f"The study ended with {end.participants} participants; the ratings now (of {people} participants) do not "
        "change its answer."
    )
    return replace(end, code="ended", participants=people, ratings=ratings, notes=(note,))


def _answer(look: TakenLook) -> Decision:
    return Decision(**{**look.decision, "notes": tuple(look.decision["notes"])})


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
    found = abs(z) > critical
    decision = Decision(
        code="found" if found else "last" if at.last else "go on",
        look=at.look,
        taken=len(at.times),
        stop=found or at.last,
        found=found,
        z=z,
        critical=None if math.isinf(critical) else critical,
        participants=people,
        ratings=ratings,
        sentence="",
        notes=tuple(_notes(protocol, at, people, score)),
        unit="points" if protocol.link is None else "latent",
    )
    if decision.stop:
        corrected = adjusted(at.times, at.critical, z / wider, score.error_of_z * wider, protocol.alpha)
        decision = replace(decision, **asdict(corrected))
    return replace(decision, sentence=_sentence(decision, protocol, low, high))


def _notes(protocol: Protocol, at: Boundary, people: int, score: Score) -> list[str]:
    notes = [] if score.converged else [NOT_CONVERGED]
    if at.look is None and math.isinf(at.value):
        return [*notes, "Nothing of the level is left for this look, so the study cannot stop here."]
    if at.look is None:
        return [*notes, "This look was not planned: its boundary comes from the Lan–DeMets spending function."]
    planned = protocol.looks[at.look - 1]["participants"]
    if people != planned:
        notes.append(f"Look {at.look} was planned at {planned} participants, and there are {people}.")
    if not at.as_planned:
        notes.append("There were unplanned looks, so its boundary comes from the Lan–DeMets spending function.")
    return notes


def _sentence(d: Decision, protocol: Protocol, low: str, high: str) -> str:
    looks = protocol.looks
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
        else f"Stop: this was the last look, and no difference between {high} and {low} was found ({against})."
    )
    unit = "rating points" if d.unit == "points" else "latent units"
    return (
        f"{verdict} Adjusted for the looks, {p_text(d.p_value or 0.0)}; {high} is {d.estimate:+.2f} {unit} above {low} "
        f"({1 - protocol.alpha:.0%} CI {d.conf_low:.2f} to {d.conf_high:.2f}, median-unbiased)."
    )
