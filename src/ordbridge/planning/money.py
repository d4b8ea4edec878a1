"""What a study costs: ratings, participants, a platform's fee, and what a participant earns in an hour."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ordbridge.checks import number, share
from ordbridge.errors import InputError

__all__ = ["Prices", "prices_of"]


@dataclass(frozen=True)
class Prices:
    """What things cost, and how many participants are recruited for each that counts."""

    rating: float = 1.0
    participant: float = 0.0
    fee: float = 0.0
    """What the platform takes, as a share of all payments."""
    currency: str = ""
    loss: float = 0.0
    """The share of participants whose ratings cannot be used."""
    minutes: float | None = None
    """How long one rating takes."""
    counted: bool = False
    """Whether there are no prices, so that ratings are counted."""

    def of(self, ratings: int, participants: int) -> float:
        """Return the price of a study, with the ratings that will be lost.

        Examples
        --------
        >>> Prices(rating=0.1, participant=1.0, fee=0.25).of(ratings=100, participants=4)
        17.5
        """
        kept = 1 - self.loss
        return (self.rating * ratings + self.participant * participants) * (1 + self.fee) / kept

    def recruited(self, participants: int) -> int:
        """Return how many participants to recruit so that about this many are left.

        Examples
        --------
        >>> Prices(loss=0.1).recruited(27)
        30
        """
        return math.ceil(round(participants / (1 - self.loss), 9))

    def say(self, amount: float) -> str:
        """Write an amount of money.

        Examples
        --------
        >>> Prices(currency="£").say(1234.5), Prices(currency="EUR").say(20), Prices().say(20)
        ('£1,234.50', 'EUR 20.00', '20.00')
        """
        gap = " " if self.currency[-1:].isalpha() else ""
        return f"{self.currency}{gap}{amount:,.2f}"

    def wage(self, texts: int) -> str:
        """Say how long a participant works and what that is in an hour; nothing where it is not known."""
        if self.minutes is None or self.counted or not texts:
            return ""
        pay, minutes = self.rating * texts + self.participant, self.minutes * texts
        return (
            f"A participant rates {texts} texts in about {minutes:.0f} minutes and is paid {self.say(pay)}: "
            f"{self.say(60 * pay / minutes)} an hour."
        )


def prices_of(
    cost: Mapping[str, float] | None, currency: str = "", loss: float = 0.0, minutes: float | None = None
) -> Prices:
    """Check prices: ``rating``, ``participant`` and ``fee``; without any, the ratings are counted."""
    for name, value in (cost or {}).items():
        if name not in ("rating", "participant", "fee"):
            raise InputError(f"cost has {name!r}; it may have rating, participant and fee")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise InputError(f"the cost of a {name} is {value!r}; give a number from 0 on")
    lost = share("loss", loss, ends=True)
    if lost > 0.9:
        raise InputError(f"loss={lost:g} leaves less than a tenth of the ratings; give the share that is lost")
    taken = None if minutes is None else number("minutes", minutes)
    if taken is not None and taken <= 0:
        raise InputError(f"minutes={taken:g} must be above 0: how long one rating takes")
    if not cost:
        return Prices(loss=lost, minutes=taken, counted=True)
    if not any(value for name, value in cost.items() if name != "fee"):
        raise InputError("all costs are 0, so no design is cheaper than another; give a price")
    rating, participant, fee = (float(cost.get(name, 0.0)) for name in ("rating", "participant", "fee"))
    return Prices(rating, participant, fee, str(currency), lost, taken)
