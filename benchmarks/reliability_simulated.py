"""What the intervals cover and whom the flags find, by simulation; the tables of docs/reliability.md come from here.

Run it from the project's root: ``python benchmarks/reliability_simulated.py [coverage] [gaps] [flags] [--sims 400]``;
``--raters fixed --sizes 50`` gives only these rows of the coverage.

Raters see the quality of an item plus their own severity plus noise, and cut what they see into five categories (or
give it as it is, for the ICC). A coefficient's true value is its mean over 12 times 60 raters of 1000 items of the same
kind, or that of the same raters and 5000 items where raters are fixed. Fifty fixed raters take part in ten studies
each, because their true values take longer than the studies do; of fifty raters half as many studies are simulated.
"""

from __future__ import annotations

import argparse
import functools
import warnings
from itertools import product

import numpy as np

from ordbridge import reliability as rel
from ordbridge.errors import InputError
from ordbridge.reliability.flags import standing

CUTS = (-1.2, -0.4, 0.4, 1.2)
COEFFICIENTS = {
    "Krippendorff's α, ordinal": functools.partial(rel.krippendorff_alpha, level="ordinal"),
    "Fleiss' κ": rel.fleiss_kappa,
    "Conger's κ": rel.conger_kappa,
    "Gwet's AC1": rel.gwet_ac,
    "Goodman & Kruskal's γ": rel.goodman_kruskal_gamma,
    "Spearman's ρ": rel.spearman,
    "ICC(2,1)": rel.icc,
}


class People:
    """Raters of one kind: standard deviations of their severity and of their noise."""

    def __init__(self, severity: float, noise: float) -> None:
        self.severity, self.noise = severity, noise

    def raters(self, m: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the severities of m raters."""
        return rng.normal(scale=self.severity, size=m)

    def rate(self, n: int, raters: np.ndarray, rng: np.random.Generator, gaps: float = 0.0) -> np.ndarray:
        """Let the raters see n items, and leave out a share of the ratings."""
        seen = rng.normal(size=(n, 1)) + raters + rng.normal(scale=self.noise, size=(n, len(raters)))
        return np.where(rng.random(seen.shape) < gaps, np.nan, seen)


def categories(seen: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(seen), np.nan, np.digitize(seen, CUTS) + 1.0)


def on_its_scale(name: str, seen: np.ndarray) -> np.ndarray:
    return np.round(seen, 3) if name.startswith("ICC") else categories(seen)


@functools.cache
def in_the_population(severity: float, noise: float) -> dict[str, float]:
    rng, people = np.random.default_rng(0), People(severity, noise)
    found: dict[str, list[float]] = {name: [] for name in COEFFICIENTS}
    for _ in range(12):
        seen = people.rate(1000, people.raters(60, rng), rng)
        for name, function in COEFFICIENTS.items():
            found[name].append(function(on_its_scale(name, seen), conf_level=None).estimate)
    return {name: float(np.mean(values)) for name, values in found.items()}


def covered(
    people: People, n: int, m: int, raters: str, gaps: float, sims: int, seed: int, studies_each: int = 1
) -> dict[str, str]:
    """Return the share of intervals that hold the true value; the same raters take part in ``studies_each`` studies."""
    rng = np.random.default_rng(seed)
    hits: dict[str, list[bool]] = {name: [] for name in COEFFICIENTS}
    truth = in_the_population(people.severity, people.noise) if raters == "random" else {}
    who = np.empty(0)
    for study in range(sims):
        new = study % studies_each == 0
        if new:
            who = people.raters(m, rng)
        seen = people.rate(n, who, rng, gaps)
        if raters == "fixed" and new:
            long = people.rate(5000, who, rng)
            truth = {name: f(on_its_scale(name, long), conf_level=None).estimate for name, f in COEFFICIENTS.items()}
        for name, function in COEFFICIENTS.items():
            if gaps and name.startswith("ICC"):
                continue
            try:
                found = function(on_its_scale(name, seen), raters=raters)
            except InputError:
                continue
            if found.conf_low is not None:
                hits[name].append(found.conf_low <= truth[name] <= found.conf_high)
    return {name: f"{np.mean(hit):.2f}".lstrip("0") if hit else "–" for name, hit in hits.items()}


def heading() -> None:
    print("| raters | items × raters | severity, noise | " + " | ".join(COEFFICIENTS) + " |")
    print("|---|---|---|" + "---|" * len(COEFFICIENTS))


def coverage(args: argparse.Namespace) -> None:
    heading()
    for raters, m, n, kind in product(args.raters, args.sizes, (20, 200), ((0.5, 0.7), (0.25, 0.4))):
        many = m >= 50
        studies_each = 10 if many and raters == "fixed" else 1
        found = covered(People(*kind), n, m, raters, 0.0, args.sims // (1 + many), 1, studies_each)
        print(f"| {raters} | {n} × {m} | {kind[0]}, {kind[1]} | " + " | ".join(found.values()) + " |", flush=True)


def gaps(args: argparse.Namespace) -> None:
    heading()
    for m, n, per in ((8, 200, 3), (50, 200, 5)):
        found = covered(People(0.5, 0.7), n, m, "random", 1 - per / m, args.sims // 2, 2)
        print(f"| random | {n} × {per} of {m} | 0.5, 0.7 | " + " | ".join(found.values()) + " |", flush=True)


SPAMMERS = ("random", "constant", "reversed", "one step up")


def spam(seen: np.ndarray, column: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    ratings = categories(seen)
    gaps = np.isnan(ratings[:, column])
    planted = {
        "random": rng.integers(1, 6, len(seen)).astype(float),
        "constant": np.full(len(seen), 3.0),
        "reversed": 6 - ratings[:, column],
        "one step up": np.minimum(ratings[:, column] + 1, 5),
    }[kind]
    ratings[:, column] = np.where(gaps, np.nan, planted)
    return ratings


def flags(args: argparse.Namespace) -> None:
    print("| items × raters | severity, noise | flagged of exchangeable raters | " + " | ".join(SPAMMERS) + " |")
    print("|---|---|---|" + "---|" * len(SPAMMERS))
    for (m, n, per), kind in product(
        ((4, 80, 4), (8, 50, 8), (8, 200, 8), (20, 200, 5), (93, 800, 5), (200, 2000, 5)),
        ((0.0, 0.7), (0.4, 0.7)),
    ):
        rng, people = np.random.default_rng(3), People(*kind)
        times = max(10, args.sims // (1 + m // 10))
        alike, found = [], {name: [] for name in SPAMMERS}
        for _ in range(times):
            seen = people.rate(n, people.raters(m, rng), rng)
            if per < m:
                keep = np.argsort(rng.random(seen.shape), axis=1)[:, :per]
                full, seen = seen, np.full(seen.shape, np.nan)
                np.put_along_axis(seen, keep, np.take_along_axis(full, keep, axis=1), axis=1)
            alike.append(_flagged(categories(seen)).mean())
            for name in SPAMMERS:
                found[name].append(_flagged(spam(seen, 0, name, rng))[0])
        cells = [f"{np.mean(values):.2f}" for values in found.values()]
        what = f"{n} × {m}" if per == m else f"{n} × {per} of {m}"
        print(f"| {what} | {kind[0]}, {kind[1]} | {np.mean(alike):.3f} | " + " | ".join(cells) + " |", flush=True)


def _flagged(ratings: np.ndarray) -> np.ndarray:
    found = standing(rel.prepare(ratings), "ordinal")
    return found.flagged_severity | found.flagged_consistency


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", default=["coverage", "gaps", "flags"])
    parser.add_argument("--sims", type=int, default=400)
    parser.add_argument("--raters", nargs="+", default=["random", "fixed"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[3, 8, 50])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for what in args.what:
        {"coverage": coverage, "gaps": gaps, "flags": flags}[what](args)


if __name__ == "__main__":
    main()
