"""How far a run of many fits is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Progress:
    """How far a run is; as text it is one line.

    Examples
    --------
    >>> print(Progress(done=1500, total=12000, rate=41.7, seconds_left=252.0, failures=3))
    1500 of 12000 fits, 41.7 per second, 4 min 12 s left, 3 failed
    >>> print(Progress(done=0, total=12000, rate=0.0, seconds_left=None, failures=0))
    0 of 12000 fits
    """

    done: int
    total: int
    rate: float
    """Fits per second, since this start."""
    seconds_left: float | None
    """None before the first fit is back."""
    failures: int
    """Errors, timeouts and crashes so far, also those of earlier starts."""
    what: str = "fits"
    """What is counted."""

    def __str__(self) -> str:
        """Write one line."""
        parts = [f"{self.done} of {self.total} {self.what}"]
        if self.rate >= 1:
            parts.append(f"{self.rate:.3g} per second")
        if self.seconds_left is not None and self.done < self.total:
            parts.append(f"{duration(self.seconds_left)} left")
        if self.failures:
            parts.append(f"{self.failures} failed")
        return ", ".join(parts)


def part_of(progress: Callable[[Progress], None] | None, part: int, parts: int) -> Callable[[Progress], None] | None:
    """Return what is told the progress of one of several equal parts and tells that of all.

    Examples
    --------
    >>> part_of(print, 1, 3)(Progress(done=5, total=10, rate=1.0, seconds_left=5.0, failures=0))
    15 of 30 fits, 1 per second, 15 s left
    """
    if progress is None or parts == 1:
        return progress

    def told(one: Progress) -> None:
        done, total = one.done + part * one.total, parts * one.total
        progress(replace(one, done=done, total=total, seconds_left=(total - done) / one.rate if one.rate else None))

    return told


def of_parts(done: int, total: int, seconds: float) -> Progress:
    """Return how far a run of a few long parts is after so many seconds.

    Examples
    --------
    >>> print(of_parts(1, 4, 10.0))
    1 of 4 parts, 30 s left
    """
    rate = done / seconds if seconds else 0.0
    return Progress(done, total, rate, (total - done) / rate if rate else None, 0, "parts")


def duration(seconds: float) -> str:
    """Write a duration with its two largest units.

    Examples
    --------
    >>> duration(59.6), duration(3700), duration(200_000)
    ('1 min 0 s', '1 h 1 min', '2 d 7 h')
    """
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return f"{days} d {h} h"
    if hours:
        return f"{h} h {m} min"
    return f"{m} min {s} s" if minutes else f"{s} s"
