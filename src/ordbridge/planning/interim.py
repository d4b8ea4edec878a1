"""After a batch of participants: whether the study stops, or goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.planning.looks import with_reference, z_of
from ordbridge.planning.protocol import Protocol
from ordbridge.power.models import Model

__all__ = ["Decision", "decide"]

NEAR = 0.1  # of the planned participants of a look: fewer make it too early


@dataclass(frozen=True)
class Decision:
    """What a look at the data says.

    Attributes
    ----------
    look
        Its number; 0 before the first one.
    stop
        Whether the study ends here.
    found
        Whether the boundary was crossed.
    z, critical
        The statistic of the planned test, and the boundary of its size at this look; None before the first look.
    participants, ratings
        What there is so far.
    sentence
        The decision.
    notes
        Where the data differ from the planned look.
    """

    look: int
    stop: bool
    found: bool
    z: float | None
    critical: float | None
    participants: int
    ratings: int
    sentence: str
    notes: tuple[str, ...] = ()


def decide(ratings: pa.Table, protocol: Protocol, *, engine: str = "r") -> Decision:
    """Say whether a study stops after the ratings so far.

    The look is the last one whose planned number of participants has been reached (nine tenths of it will do).

    Parameters
    ----------
    ratings
        One row per rating: ``participant, item, system, rating``.
    protocol
        The plan, made with ``looks``.
    engine
        Who fits the planned model.

    References
    ----------
    Jennison, C. & Turnbull, B. W. (2000). *Group sequential methods with applications to clinical trials*. Chapman &
    Hall, chapter 2.
    """
    if not protocol.looks:
        raise InputError(
            "this plan has no looks, so the study goes on to its planned end; plan it with looks "
            "(ordbridge plan --looks 3, or planning.plan with looks=3)"
        )
    ((low, high),) = protocol.pairs
    people = len(set(ratings["participant"].to_pylist()))
    reached = [row for row in protocol.looks if people >= (1 - NEAR) * row["participants"]]
    so_far = {"participants": people, "ratings": ratings.num_rows}
    if not reached:
        first = protocol.looks[0]["participants"]
        sentence = f"Go on: the first look is at {first} participants, and there are {people}."
        return Decision(0, False, False, None, None, sentence=sentence, **so_far)
    row, last = reached[-1], len(reached) == len(protocol.looks)
    z = z_of(_model(protocol, high), with_reference(ratings, low), engine)
    if z is None:
        raise FitError("the planned model cannot be fitted to these ratings; ordbridge compare FILE --plan says why")
    found = abs(z) > row["critical"]
    notes: tuple[str, ...] = ()
    if people != row["participants"]:
        planned = f"Look {row['look']} was planned at {row['participants']} participants, and there are {people}"
        notes = (f"{planned}; its boundary is used as it was planned.",)
    sentence = _sentence(row, z, found=found, last=last, low=low, high=high, looks=protocol.looks)
    return Decision(row["look"], found or last, found, z, row["critical"], sentence=sentence, notes=notes, **so_far)


def _model(protocol: Protocol, high: str) -> Model:
    options: dict[str, Any] = {}
    if protocol.link is not None:
        options["link"] = protocol.link
    if protocol.REML is not None:
        options["REML"] = protocol.REML
    return Model(protocol.model, protocol.formula, f"system{high}", **options)


def _sentence(
    row: dict[str, Any], z: float, *, found: bool, last: bool, low: str, high: str, looks: tuple[dict[str, Any], ...]
) -> str:
    against = f"|z| is {abs(z):.2f}, the boundary of look {row['look']} of {len(looks)} is {row['critical']:.2f}"
    if found:
        better, worse = (high, low) if z > 0 else (low, high)
        return f"Stop: {better} is rated higher than {worse} ({against})."
    if last:
        return f"Stop: this was the last look, and no difference between {high} and {low} was found ({against})."
    following = looks[row["look"]]["participants"]
    return f"Go on to {following} participants: {against}."
