"""What a study costs: ratings, participants, a platform's fee, and what a participant earns in an hour."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ordbridge.errors import InputError
from ordbridge.support.arguments import number, proportion
from ordbridge.support.naming import arg


class Wage(NamedTuple):
    """What a participant is paid for a number of minutes, and what that is in an hour."""

    pay: float
    minutes: float
    hourly: float


@dataclass(frozen=True)
class Costs:
    """What things cost, and how many participants are recruited for each that counts.

    Parameters
    ----------
    rating, participant
        The price of a rating and of a participant. Without both, ratings are counted instead.
    fee
        What the platform takes, as a share of all payments.
    currency
        What prices are in, for the words.
    budget
        How much money there is: a plan then also finds the design with the most power that it buys.
    loss
        The share of participants whose ratings will be lost: so many more are recruited and paid.
    minutes
        How long one rating takes; the answer then has what a participant earns in an hour.
    """

    rating: float | None = None
    participant: float | None = None
    fee: float = 0.0
    currency: str = ""
    budget: float | None = None
    loss: float = 0.0
    minutes: float | None = None

    def __post_init__(self) -> None:
        """Check the prices."""
        for name in ("rating", "participant", "fee"):
            value = getattr(self, name)
            known = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf
            if value is not None and not known:
                raise InputError(f"the cost of a {name} is {value!r}; give a number from 0 on")
        if proportion("loss", self.loss, ends=True) > 0.9:
            raise InputError(f"a loss of {self.loss:g} leaves less than a tenth of the ratings; give the share lost")
        if self.minutes is not None and number("minutes", self.minutes) <= 0:
            raise InputError(f"{arg('minutes', self.minutes)} must be above 0: the time that a rating takes")
        if not self.counted and not (self.rating or self.participant):
            raise InputError("all costs are 0, so no design is cheaper than another; give a price")
        if self.budget is not None:
            number("budget", self.budget)
            if self.counted:
                raise InputError("a budget needs the price of a rating or of a participant")

    @property
    def counted(self) -> bool:
        """Whether there are no prices, so that ratings are counted."""
        return self.rating is None and self.participant is None

    def of(self, ratings: int, participants: int) -> float:
        """Return the price of a study, with the ratings that will be lost.

        Examples
        --------
        >>> Costs(rating=0.1, participant=1.0, fee=0.25).of(ratings=100, participants=4)
        17.5
        """
        if self.counted:
            return ratings / (1 - self.loss)
        paid = (self.rating or 0.0) * ratings + (self.participant or 0.0) * participants
        return paid * (1 + self.fee) / (1 - self.loss)

    def recruited(self, participants: int) -> int:
        """Return how many participants to recruit so that about this many are left.

        Examples
        --------
        >>> Costs(loss=0.1).recruited(27)
        30
        """
        return math.ceil(round(participants / (1 - self.loss), 9))

    def say(self, amount: float) -> str:
        """Write an amount of money; whole pounds without pence.

        Examples
        --------
        >>> Costs(currency="£").say(1234.5), Costs(currency="EUR").say(20), Costs().say(20)
        ('£1,234.50', 'EUR 20', '20')
        """
        gap = " " if self.currency[-1:].isalpha() else ""
        return f"{self.currency}{gap}{amount:,.2f}".removesuffix(".00")

    def wage(self, texts: int) -> Wage | None:
        """Return what a participant earns with so many texts; None where it is not known.

        Examples
        --------
        >>> round(Costs(rating=0.12, participant=1.5, minutes=0.5).wage(25).hourly, 2)
        21.6
        """
        if self.minutes is None or self.counted or not texts:
            return None
        pay, minutes = (self.rating or 0.0) * texts + (self.participant or 0.0), self.minutes * texts
        return Wage(pay, minutes, 60 * pay / minutes)
