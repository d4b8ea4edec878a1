"""What is true in a simulated study: effects, thresholds, and how raters and items differ."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from ordbridge.errors import InputError
from ordbridge.models.links import LINKS
from ordbridge.reading.source import text_of, toml_of
from ordbridge.simulate.parameters import ascending, correlation, deviations, spreads
from ordbridge.simulate.threshold_distribution import ThresholdDistribution
from ordbridge.support.arguments import choice, number, numbers
from ordbridge.support.naming import arg
from ordbridge.support.writing import write_text

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

CODINGS = ("treatment", "centred", "exchangeable")
SCALES = ("ordinal", "vas", "interval")
DIGITS = 12  # of numbers that are measured from another system


@dataclass(frozen=True)
class Truth:
    """The model that simulated ratings come from.

    The latent quality of a text for a rater is ``effect + rater + item + residual``, where rater and item each have an
    intercept and one slope for every system after the first. How it becomes a rating is the ``scale``:

    ``ordinal``
        Category ``j`` if it lies in (threshold ``j - 1``, threshold ``j``], as in ``clmm``.
    ``vas``
        A mark on a line from 0 to 100 that refines the ordinal scale: with ``k`` categories, threshold ``j`` sits at
        ``100 j / k`` and latent quality is spread evenly between neighbours; the two open ends continue with the mean
        distance between thresholds (1 if there is only one) and stop at 0 and 100. So cutting the line into ``k`` equal
        parts gives back the ordinal ratings of the same seed, and all that differs between the scales is resolution.
    ``interval``
        ``mean`` plus the latent quality itself, with normal residuals of standard deviation ``residual_sd``: the normal
        model of Card et al. (2020).

    Parameters
    ----------
    effects
        One number per system after the first: how far its latent quality is above the first system's.
    thresholds, threshold_distribution
        One of the two for ``ordinal`` and ``vas``: fixed thresholds, or a distribution drawn from once a study.
    participant_sd, item_sd
        Standard deviations over raters and over items: intercept and slope, the slope's for all systems alike, or one
        for every system after the first.
    participant_corr, item_corr
        Correlation of the intercept with each slope; given the intercept, the slopes are then independent. Or the full
        correlation matrix of the intercept and the slopes.
    slope_coding
        What slopes are multiplied with. ``treatment``: 1 for their own system, 0 for others, so that only the first
        system is free of them. ``centred``: ``1/k`` less, with ``k`` systems. Two systems (−½ and +½) then vary alike;
        more do where their slopes correlate ½ with each other. ``exchangeable``: every system has a deviation of its
        own, so that all systems vary alike and any two differ as much as any other two. Default: ``exchangeable`` for
        three or more systems, unless slopes have standard deviations of their own or a matrix of correlations;
        otherwise ``treatment``. Effects are always differences from the first system.
    link
        Distribution of the residual, by R's name of the link.
    scale
        ``ordinal``, ``vas`` or ``interval``.
    mean, residual_sd
        For ``interval``: mean rating of the first system, standard deviation of the residual.
    residual_spread
        One number per system after the first: how many times as wide as the first system's its residual is, as the
        scale effects of ``clm`` and ``clmm`` say it. Default: all alike.

    Notes
    -----
    With standard deviations σ of the intercept and τ of the slope, and their correlation ρ, the deviations of a rater
    (or item) under ``exchangeable`` systems have the covariance

        Σ = (σ² + ρστ) J + ½ τ² I

    with J a matrix of ones. That is the mean of the ``treatment`` covariance of two systems over both orders: the
    difference of any two systems has the standard deviation τ, and slopes as R codes them (differences from the first
    system) correlate ½ with each other and −τ / (2 √(σ² + ρστ + ½τ²)) with the intercept.

    References
    ----------
    Howcroft & Rieser (2021); Card et al. (2020); Christensen (2022), *ordinal: Regression models for ordinal data*.

    Examples
    --------
    >>> truth = Truth(effects=(0.3,), thresholds=(-1, 0, 1), participant_sd=(0.5, 0.2), item_sd=(0.6, 0.4))
    >>> truth.shift(effect=0.6).effects
    (0.6,)
    >>> Truth.from_toml(truth.to_toml()) == truth
    True
    """

    effects: tuple[float, ...]
    thresholds: tuple[float, ...] | None = None
    threshold_distribution: ThresholdDistribution | None = None
    participant_sd: tuple[float, ...] = (0.0, 0.0)
    item_sd: tuple[float, ...] = (0.0, 0.0)
    participant_corr: float | tuple[tuple[float, ...], ...] = 0.0
    item_corr: float | tuple[tuple[float, ...], ...] = 0.0
    slope_coding: str | None = None
    link: str = "probit"
    scale: str = "ordinal"
    mean: float = 0.0
    residual_sd: float = 1.0
    residual_spread: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check every field, and turn lists into tuples."""
        object.__setattr__(self, "effects", numbers("effects", self.effects))
        usual = self.slope_coding is None
        if usual:
            object.__setattr__(self, "slope_coding", "treatment")
        for name, known in (("slope_coding", CODINGS), ("link", tuple(LINKS)), ("scale", SCALES)):
            choice(name, getattr(self, name), known)
        for group in ("participant", "item"):
            for name, checked in ((f"{group}_sd", deviations), (f"{group}_corr", correlation)):
                object.__setattr__(self, name, checked(name, getattr(self, name), self.systems))
        for name in ("mean", "residual_sd"):
            object.__setattr__(self, name, number(name, getattr(self, name)))
        object.__setattr__(self, "residual_spread", spreads(self.residual_spread, self.systems))
        if usual and self.systems > 2 and not self._told_apart:
            object.__setattr__(self, "slope_coding", "exchangeable")
        if self.slope_coding == "exchangeable":
            self._check_exchangeable()
        self._check_scale()

    @property
    def _told_apart(self) -> list[str]:
        """What says that the slopes of some systems are unlike those of others."""
        apart = [name for name in ("participant_sd", "item_sd") if len(set(getattr(self, name)[1:])) > 1]
        return apart + [name for name in ("participant_corr", "item_corr") if isinstance(getattr(self, name), tuple)]

    def _check_exchangeable(self) -> None:
        if apart := self._told_apart:
            raise InputError(
                f"{arg('slope_coding', 'exchangeable')} has systems that vary alike, but {apart[0]} tells them apart; "
                f"give the intercept's and one slope's, or {arg('slope_coding', 'treatment')}"
            )
        for group in ("participant", "item"):
            shared, own = self._alike(group)
            if self.systems * shared + own < 0:
                sd, corr = (arg(name, getattr(self, name)) for name in (f"{group}_sd", f"{group}_corr"))
                raise InputError(
                    f"no {self.systems} systems can vary alike with {sd} and {corr}; give a correlation nearer to 0"
                )

    def _alike(self, group: str) -> tuple[float, float]:
        """Return the covariance of two systems, and the variance that each has beyond it, of ``exchangeable`` ones."""
        (intercept, slope), corr = getattr(self, f"{group}_sd")[:2], getattr(self, f"{group}_corr")
        return intercept**2 + corr * intercept * slope, slope**2 / 2

    def _check_scale(self) -> None:
        if self.residual_sd < 0:
            raise InputError(f"{arg('residual_sd', self.residual_sd)} is negative; a standard deviation is 0 or more")
        given = [name for name in ("thresholds", "threshold_distribution") if getattr(self, name) is not None]
        if self.scale == "interval":
            if given:
                raise InputError(f"{arg('scale', 'interval')} has no thresholds; leave {given[0]} out")
            if self.link != "probit":
                raise InputError(f"{arg('scale', 'interval')} has normal residuals; leave {arg('link', self.link)} out")
            return
        if (self.mean, self.residual_sd) != (0.0, 1.0):
            raise InputError(
                f"mean and residual_sd belong to {arg('scale', 'interval')}; thresholds and link set them for "
                f"{self.scale!r}"
            )
        if len(given) != 1:
            raise InputError(
                f"{arg('scale', self.scale)} needs either thresholds or threshold_distribution; "
                f"{'both were' if given else 'neither was'} given"
            )
        if self.thresholds is not None:
            object.__setattr__(self, "thresholds", ascending(self.thresholds))
        elif not isinstance(self.threshold_distribution, ThresholdDistribution):
            kind = type(self.threshold_distribution).__name__
            raise InputError(f"threshold_distribution is a {kind}; give a ThresholdDistribution")

    @property
    def systems(self) -> int:
        """How many systems there are."""
        return len(self.effects) + 1

    @property
    def categories(self) -> int | None:
        """How many categories the thresholds make; None for ``interval``."""
        if self.thresholds is not None:
            return len(self.thresholds) + 1
        return self.threshold_distribution.categories if self.threshold_distribution else None

    def coding(self) -> np.ndarray:
        """Return the matrix (system × random effects) that random effects are multiplied with.

        These are the intercept and the slopes, or one deviation per system if systems are ``exchangeable``.
        """
        k = self.systems
        if self.slope_coding == "exchangeable":
            return np.eye(k)
        slopes = np.eye(k)[:, 1:] - (1 / k if self.slope_coding == "centred" else 0.0)
        return np.column_stack([np.ones(k), slopes])

    def factor(self, group: str) -> np.ndarray:
        """Return L, with L Lᵀ the covariance of the random effects of ``group``, "participant" or "item"."""
        if self.slope_coding == "exchangeable":  # the symmetric root, which treats all systems alike
            shared, own = self._alike(group)
            k = self.systems
            root = math.sqrt(own)
            return root * np.eye(k) + (math.sqrt(max(0.0, k * shared + own)) - root) / k
        sd, corr = getattr(self, f"{group}_sd"), getattr(self, f"{group}_corr")
        return np.diag(_per_system(sd, self.systems)) @ _root(corr, self.systems)

    def covariance(self, group: str) -> np.ndarray:
        """Return the covariance (system × system) of one rater's, or one item's, deviations under each system."""
        root = self.coding() @ self.factor(group)
        return root @ root.T

    @property
    def spread(self) -> np.ndarray:
        """How wide the residual of each system is, the first one's being 1."""
        return np.r_[1.0, self.residual_spread or np.ones(self.systems - 1)]

    def shift(self, *, effect: float | Sequence[float] | None = None, **changes: Any) -> Truth:
        """Return this truth with one thing changed: the effect (or all effects), or any other field.

        Examples
        --------
        >>> truth = Truth(effects=0.3, thresholds=(-1, 0, 1))
        >>> truth.shift(slope_coding="centred").slope_coding
        'centred'
        """
        known = {field.name for field in fields(self)}
        for name in changes:
            if name not in known:
                raise InputError(f"a truth has no {name!r} to change; it has: effect, {', '.join(sorted(known))}")
        if effect is not None:
            effects = changes["effects"] = numbers("effect", effect)
            if len(effects) != len(self.effects):
                raise InputError(
                    f"effect has {len(effects)} numbers; give {len(self.effects)}, one for each system after the first"
                )
        for one, other in (("thresholds", "threshold_distribution"), ("threshold_distribution", "thresholds")):
            if changes.get(one) is not None:
                changes.setdefault(other, None)
        return replace(self, **changes)

    def with_systems(self, count: int) -> Truth:
        """Return this truth of two systems as one of more, of which any two are like these two, in either order.

        Their effects, and how much wider their residuals are, are the second system's.

        Examples
        --------
        >>> two = Truth(effects=0.3, thresholds=(-1, 0, 1), item_sd=(0.6, 0.4))
        >>> two.with_systems(3).covariance("item").round(2).tolist()
        [[0.44, 0.36, 0.36], [0.36, 0.44, 0.36], [0.36, 0.36, 0.44]]
        """
        if self.systems != 2:
            raise InputError(f"a truth of {self.systems} systems does not say how more of them vary; give one of two")
        changes: dict[str, Any] = {"effects": self.effects * (count - 1)}
        changes["residual_spread"] = self.residual_spread * (count - 1)
        for group in ("participant", "item"):
            (first, shared), (_, second) = self.covariance(group)
            variance = (first + second) / 2
            slope = math.sqrt(max(0.0, 2 * (variance - shared)))
            if self.slope_coding == "centred":
                alone = shared >= 0  # otherwise the intercept is one system's, which correlates with the slope
                sd = math.sqrt(shared if alone else variance)
                changes |= {f"{group}_sd": (sd, slope), f"{group}_corr": 0.0 if alone else -slope / (2 * sd)}
            elif isinstance(corr := getattr(self, f"{group}_corr"), tuple):
                changes[f"{group}_corr"] = corr[0][1]
        return replace(self, **changes, slope_coding="exchangeable")

    def without_effects(self) -> Truth:
        """Return this truth with all systems at one latent quality.

        That is the first one's; of ``exchangeable`` systems, of which none is the first, it is their mean.

        Examples
        --------
        >>> Truth(effects=(0.0, 0.6), thresholds=(-1, 0, 1)).without_effects().thresholds
        (-1.2, -0.2, 0.8)
        """
        nothing = self.shift(effect=[0.0] * len(self.effects))
        if self.slope_coding != "exchangeable":
            return nothing
        mean = sum(self.effects) / self.systems
        return replace(nothing, **self._measured_from(mean))

    def _measured_from(self, origin: float, unit: float = 1.0) -> dict[str, Any]:
        """Return thresholds, or the mean of an interval scale, as they are from another origin and in another unit."""

        def measured(value: float, start: float = 0.0) -> float:
            return round(float((value - start) / unit), DIGITS)

        if self.scale == "interval":
            return {"mean": round(float(self.mean + origin), DIGITS)}
        if self.thresholds is not None:
            return {"thresholds": tuple(measured(value, origin) for value in self.thresholds)}
        drawn = self.threshold_distribution
        if drawn is None:
            raise InputError("a scale with categories needs thresholds or a threshold_distribution")
        lowest = (measured(drawn.lowest[0], origin), measured(drawn.lowest[1]))
        distance = (measured(drawn.distance[0]), measured(drawn.distance[1]))
        return {"threshold_distribution": ThresholdDistribution(lowest, distance, drawn.categories)}

    def in_order(self, places: Sequence[int]) -> Truth:
        """Return the same truth with its ``exchangeable`` systems in another order, by their places in this one.

        What is measured from the first system (effects, thresholds, mean) or by its residual is measured from and by
        the new first one.

        Examples
        --------
        >>> truth = Truth(effects=(0.2, 0.5), thresholds=(-1, 0, 1), item_sd=(0.6, 0.4))
        >>> turned = truth.in_order((2, 0, 1))
        >>> turned.effects, turned.thresholds
        ((-0.5, -0.3), (-1.5, -0.5, 0.5))
        """
        if self.slope_coding != "exchangeable":
            raise InputError(
                f"systems with {arg('slope_coding', self.slope_coding)} do not vary alike and have one order"
            )
        if sorted(places) != list(range(self.systems)):
            raise InputError(f"{arg('places', tuple(places))} must have each of 0 to {self.systems - 1} once")
        quality, spread = np.r_[0.0, self.effects][list(places)], self.spread[list(places)]
        unit = 1.0 if self.scale == "interval" else float(spread[0])

        def measured(values: Any) -> tuple[float, ...]:
            return tuple(round(float(value / unit), DIGITS) for value in values)

        changes = {
            **self._measured_from(float(quality[0]), unit),
            "effects": measured(quality[1:] - quality[0]),
            "participant_sd": measured(self.participant_sd),
            "item_sd": measured(self.item_sd),
            "residual_spread": tuple(round(float(width / spread[0]), DIGITS) for width in spread[1:]),
        }
        if self.scale == "interval":
            changes["residual_sd"] = round(float(self.residual_sd * spread[0]), DIGITS)
        return replace(self, **changes)

    @classmethod
    def from_fit(cls, fit: Fit, participant: str = "participant", item: str = "item") -> Truth:
        """Take the estimates of a fitted ``clmm``, ``clm``, ``lmer`` or ``lm`` as the truth of the next study.

        Parameters
        ----------
        fit
            A fit whose fixed effects are those of the systems, coded 0/1 or as R's treatment contrasts.
        participant, item
            The grouping factors of the fit that stand for raters and for items; one that the model lacks has no spread.
        """
        from ordbridge.simulate.from_fit import truth_from_fit

        return truth_from_fit(fit, participant, item)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, and the effects, as plain lists and numbers."""
        full = asdict(self)
        defaults = {field.name: field.default for field in fields(self)}
        defaults["slope_coding"] = "treatment" if self.systems <= 2 else None  # more systems always say theirs
        return {name: _plain(value) for name, value in full.items() if value != defaults[name]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Truth:
        """Build a truth from what :meth:`to_dict` returns, or from a table of a TOML file."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise InputError(f"a truth has no {name!r}; it has: {', '.join(known)}")
        if "effects" not in values:
            raise InputError("a truth needs effects: one number for every system after the first")
        values = dict(values)
        distribution = values.get("threshold_distribution")
        if isinstance(distribution, Mapping):
            if set(distribution) != {"lowest", "distance", "categories"}:
                raise InputError("threshold_distribution needs lowest, distance and categories, and nothing else")
            values["threshold_distribution"] = ThresholdDistribution(**distribution)
        return cls(**values)

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return this truth as TOML, and write it to ``path`` if there is one."""
        text = tomli_w.dumps(self.to_dict())
        if path is not None:
            write_text(path, text)
        return text

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Truth:
        """Read a truth from a TOML file, or from TOML text (a string with an equals sign)."""
        text, where = str(source), "the text"
        if not (isinstance(source, str) and "=" in source):
            text, where = text_of(source), str(source)
        return cls.from_dict(toml_of(text, where))


def _per_system(sd: tuple[float, ...], systems: int) -> np.ndarray:
    return np.array([sd[0], *([sd[1]] * (systems - 1) if len(sd) == 2 else sd[1:])])


def _root(corr: float | tuple[tuple[float, ...], ...], systems: int) -> np.ndarray:
    """Return the lower triangular root of the correlation matrix."""
    if isinstance(corr, tuple):
        return np.linalg.cholesky(np.array(corr))
    root = np.eye(systems) * math.sqrt(1 - corr**2)
    root[:, 0] = corr
    root[0, 0] = 1.0
    return root


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (tuple, list)) else value
