"""What the intervals cover and whom the flags find, by simulation; the tables of docs/reliability.md come from here.

Run it from the project's root: ``python benchmarks/reliability_simulated.py [coverage|tests|gaps|icc|flags …]``;
``--datasets 400`` is the number of studies (0: those kept), ``--raters fixed --sizes 50`` gives only these rows. They
are kept in ``--store``, so that a run that was stopped goes on where it was.

Raters see the quality of an item plus their own severity plus noise, and cut what they see into five categories (or
give it as it is, for the ICC). Where raters are random, a coefficient's true value is an integral over qualities and
severities (Gauss–Hermite); where they are fixed, it is that of the same raters and 5000 items. Fifty fixed raters take
part in ten studies each, because their true values take longer than the studies do.
"""

from __future__ import annotations

import argparse
import functools
import json
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import f, norm

from ordbridge import reliability as rel
from ordbridge.errors import InputError
from ordbridge.reliability.flags import standing
from ordbridge.reliability.intraclass import _generalised

CUTS = (-1.2, -0.4, 0.4, 1.2)
COEFFICIENTS = {
    "Krippendorff's α, ordinal": functools.partial(rel.krippendorff_alpha, level="ordinal"),
    "Fleiss' κ": rel.fleiss_kappa,
    "Gwet's AC1": rel.gwet_ac,
    "Goodman & Kruskal's γ": rel.goodman_kruskal_gamma,
    "Spearman's ρ": rel.spearman,
    "ICC(2,1)": rel.icc,
}


class People:
    """Raters of one kind: standard deviations of their severity and of their noise, and where they cut their scale."""

    def __init__(self, severity: float, noise: float, cuts: tuple[float, ...] = CUTS) -> None:
        self.severity, self.noise, self.cuts = severity, noise, cuts

    def raters(self, m: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the severities of m raters."""
        return rng.normal(scale=self.severity, size=m)

    def rate(self, n: int, raters: np.ndarray | int, rng: np.random.Generator, per: int | None = None) -> np.ndarray:
        """Let these raters, or so many new ones, see n items, or so many of them, at random, each item."""
        quality = rng.normal(size=(n, 1))
        level = self.raters(raters, rng) if isinstance(raters, int) else raters
        seen = quality + level + rng.normal(scale=self.noise, size=(n, len(level)))
        if per is None or per == len(level):
            return seen
        keep = np.argsort(rng.random(seen.shape), axis=1)[:, :per]
        some = np.full(seen.shape, np.nan)
        np.put_along_axis(some, keep, np.take_along_axis(seen, keep, axis=1), axis=1)
        return some


def categories(seen: np.ndarray, cuts: tuple[float, ...] = CUTS) -> np.ndarray:
    return np.where(np.isnan(seen), np.nan, np.digitize(seen, cuts) + 1.0)


def on_its_scale(name: str, seen: np.ndarray, cuts: tuple[float, ...] = CUTS) -> np.ndarray:
    return np.round(seen, 3) if name.startswith("ICC") else categories(seen, cuts)


def nodes(n: int) -> tuple[np.ndarray, np.ndarray]:
    at, weight = np.polynomial.hermite_e.hermegauss(n)
    return at, weight / weight.sum()


def shares(mean: np.ndarray | float, sd: float, cuts: tuple[float, ...]) -> np.ndarray:
    """Return the probabilities of the categories (last axis) of what is seen."""
    edges = np.array([-np.inf, *cuts, np.inf])
    return np.diff(norm.cdf((edges - np.asarray(mean)[..., None]) / sd), axis=-1)


@functools.cache
def in_the_population(severity: float, noise: float, cuts: tuple[float, ...] = CUTS) -> dict[str, float]:
    """Return the true values for raters and items without number."""
    quality, weight = nodes(80)
    given = shares(quality, float(np.hypot(severity, noise)), cuts)  # of an item, by any rater
    share = shares(0.0, float(np.sqrt(1 + severity**2 + noise**2)), cuts)
    same, chance = weight @ (given**2).sum(axis=1), (share**2).sum()
    ac_chance = (share * (1 - share)).sum() / (len(share) - 1)
    rank = np.cumsum(share) - share / 2
    within, all_in_all = weight @ (given @ rank**2 - (given @ rank) ** 2), share @ rank**2 - (share @ rank) ** 2
    level, level_weight = nodes(24)
    own = shares(quality[:, None] + severity * level, noise, cuts)  # quality × severity × category
    concordant = discordant = rho = 0.0
    for (a, w_a), (b, w_b) in product(enumerate(level_weight), repeat=2):
        table = np.einsum("q,qk,ql->kl", weight, own[:, a], own[:, b])
        k, m = np.indices(table.shape)
        above = np.array([[table[(k > i) & (m > j)].sum() for j in range(5)] for i in range(5)])
        across = np.array([[table[(k > i) & (m < j)].sum() for j in range(5)] for i in range(5)])
        concordant += w_a * w_b * (table * above).sum()
        discordant += w_a * w_b * (table * across).sum()
        sides = [table.sum(axis=axis) for axis in (1, 0)]
        x, y = (np.cumsum(side) - side / 2 - 0.5 for side in sides)
        rho += w_a * w_b * (x @ table @ y) / np.sqrt((sides[0] @ x**2) * (sides[1] @ y**2))
    return {
        "Krippendorff's α, ordinal": float(1 - within / all_in_all),
        "Fleiss' κ": float((same - chance) / (1 - chance)),
        "Gwet's AC1": float((same - ac_chance) / (1 - ac_chance)),
        "Goodman & Kruskal's γ": float((concordant - discordant) / (concordant + discordant)),
        "Spearman's ρ": float(rho),
        "ICC(2,1)": 1 / (1 + severity**2 + noise**2),
    }


def _kept(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def studies(store: Path, people: People, n: int, m: int, per: int, raters: str, wanted: int) -> list[dict]:
    """Return studies with the interval, estimate and true value of every coefficient; make those that are missing."""
    store.mkdir(parents=True, exist_ok=True)
    path = store / f"{raters}_{n}_{per}_of_{m}_{people.severity}_{people.noise}_{people.cuts[0]}.jsonl"
    done = _kept(path)
    wanted = wanted or len(done)
    each = 10 if m >= 50 and raters == "fixed" else 1
    with path.open("a") as out:
        for study in range(len(done), wanted):
            seed = [n, m, per, round(100 * people.severity), study]
            if raters == "fixed":
                who = people.raters(m, np.random.default_rng([6, *seed[:4], study // each]))
                truth, seen = _of_these(people, tuple(who)), people.rate(n, who, np.random.default_rng([8, *seed]), per)
            else:
                truth = in_the_population(people.severity, people.noise, people.cuts)
                seen = people.rate(n, m, np.random.default_rng([7, *seed]), per)
            row = {}
            for name, function in COEFFICIENTS.items():
                try:
                    found = function(on_its_scale(name, seen, people.cuts), raters=raters)
                except InputError:  # too few common items, or none that all raters rated
                    continue
                if found.conf_low is not None:
                    row[name] = [found.conf_low, found.conf_high, found.estimate, truth[name]]
            done.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
    return done[:wanted]


@functools.lru_cache(maxsize=1)
def _of_these(people: People, who: tuple[float, ...]) -> dict[str, float]:
    long = people.rate(5000, np.array(who), np.random.default_rng(0))
    return {
        name: f(on_its_scale(name, long, people.cuts), conf_level=None).estimate for name, f in COEFFICIENTS.items()
    }


def show(done: list[dict], label: str, widths: bool) -> None:
    cells = []
    for name in COEFFICIENTS:
        rows = np.array([study[name] for study in done if name in study]).reshape(-1, 4)
        if len(rows) < len(done) / 2:
            cells.append("–")
            continue
        low, high, estimate, truth = rows.T
        cells.append(f"{((low <= truth) & (truth <= high)).mean():.2f}".removeprefix("0"))
        if widths:
            cells[-1] += f" ({(high - low).mean() / (2 * norm.ppf(0.975) * estimate.std(ddof=1)):.2f})"
    print(f"{label} | {len(done)} | " + " | ".join(cells) + " |", flush=True)


def heading() -> None:
    print("| raters | items × raters | severity, noise | studies | " + " | ".join(COEFFICIENTS) + " |")
    print("|---|---|---|---|" + "---|" * len(COEFFICIENTS))


KINDS = ((0.5, 0.7), (0.25, 0.4))
# Items of SD 0.5 or 1.4 with mean 0.8 or 1.45, raters of SD 0.4, noise of SD 1 and cuts at -1.6, -1.1, -0.6 and 0, on
# which tests of few raters were tried out; here in SDs of the items
SKEWED = {
    0.5: (0.8, 2.0, (-4.8, -3.8, -2.8, -1.6)),
    1.4: (0.286, 0.714, (-2.179, -1.821, -1.464, -1.036)),
}
CROWDS = ((150, 3, 60), (200, 3, 8), (200, 5, 50))


def coverage(args: argparse.Namespace) -> None:
    heading()
    for raters, m, n, kind in product(args.raters, args.sizes, (20, 200), KINDS):
        wanted = args.datasets // (4 if m >= 50 else 1)
        done = studies(args.store, People(*kind), n, m, m, raters, wanted)
        show(done, f"| {raters} | {n} × {m} | {kind[0]}, {kind[1]}", widths=False)


def tests(args: argparse.Namespace) -> None:
    """Print coverage for designs on which tests of few raters were tried out first."""
    heading()
    for (n, m), kind in product(((40, 3), (40, 5), (60, 9), (40, 30)), KINDS):
        done = studies(args.store, People(*kind), n, m, m, "random", args.datasets)
        show(done, f"| random | {n} × {m} | {kind[0]}, {kind[1]}", widths=False)
    for (n, m), (items, kind) in product(((40, 3), (40, 5), (60, 9), (40, 30)), SKEWED.items()):
        done = studies(args.store, People(*kind), n, m, m, "random", args.datasets)
        show(done, f"| random | {n} × {m} | skewed, items {items}", widths=False)


def gaps(args: argparse.Namespace) -> None:
    """Print coverage and, in brackets, the mean width over what is needed: that of the estimates' own spread."""
    heading()
    for (n, per, m), kind in product(CROWDS, KINDS):
        done = studies(args.store, People(*kind), n, m, per, "random", args.datasets)
        show(done, f"| random | {n} × {per} of {m} | {kind[0]}, {kind[1]}", widths=True)
    for (n, per, m), (items, kind) in product(CROWDS, SKEWED.items()):
        done = studies(args.store, People(*kind), n, m, per, "random", args.datasets)
        show(done, f"| random | {n} × {per} of {m} | skewed, items {items}", widths=True)


def icc(args: argparse.Namespace) -> None:
    """Print what two intervals of ICC(2,1) cover: the generalised one, and that of F by McGraw & Wong (1996)."""
    print("| items × raters | severity, noise | studies | generalised (width) | F (width) |\n|---|---|---|---|---|")
    for m, n, (severity, noise) in product((2, 3, 5, 8, 50), (10, 20, 200), (*KINDS, (0.0, 0.7), (1.0, 0.5), (0.5, 3))):
        random, found = np.random.default_rng([4, m, n, round(100 * severity)]), []
        for _ in range(args.datasets):
            df = np.array([n - 1, m - 1, (n - 1) * (m - 1)])
            mean = np.array([noise**2 + m, noise**2 + n * severity**2, noise**2])
            b, j, e = mean * random.chisquare(df) / df
            found.append([*_generalised(b, np.nan, j, e, n, m, 0.95), *_by_f(b, j, e, n, m)])
        true, ends = 1 / (1 + severity**2 + noise**2), np.array(found).reshape(-1, 2, 2)
        covered = ((ends[..., 0] <= true) & (true <= ends[..., 1])).mean(axis=0)
        width = np.ptp(ends, axis=2).mean(axis=0)
        cells = [f"{c:.3f} ({w:.2f})".removeprefix("0") for c, w in zip(covered, width, strict=True)]
        print(f"| {n} × {m} | {severity}, {noise} | {args.datasets} | " + " | ".join(cells) + " |", flush=True)


def _by_f(b: float, j: float, e: float, n: int, k: int) -> tuple[float, float]:
    """Return the interval of table 7 of McGraw & Wong."""
    r = (b - e) / (b + (k - 1) * e + k * (j - e) / n)
    a, c = k * r / (n * (1 - r)), 1 + k * r * (n - 1) / (n * (1 - r))
    v = (a * j + c * e) ** 2 / ((a * j) ** 2 / (k - 1) + (c * e) ** 2 / ((n - 1) * (k - 1)))
    low, high, rest = f.ppf(0.975, n - 1, v), f.ppf(0.975, v, n - 1), k * j + (k * n - k - n) * e
    return n * (b - low * e) / (low * rest + n * b), n * (high * b - e) / (rest + n * high * b)


LATENT = {2: (0.3,), 5: (-2.0, -0.7, 0.7, 2.0)}  # thresholds, on the logit scale
LATENT_STUDIES = ((40, 8, 1.0, 0.5), (60, 4, 1.8, 0.5))  # items, raters, standard deviations of both


def components(args: argparse.Namespace) -> None:
    """Print what intervals of latent reliabilities (``model="clmm"``) cover, of one rater and of five."""
    print(
        "| items × raters | item, rater SD | categories | studies | "
        "relative, 1 | relative, 5 | absolute, 1 | absolute, 5 |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for (n, m, item_sd, rater_sd), k in product(LATENT_STUDIES, LATENT):
        true = _split({"item": item_sd**2, "participant": rater_sd**2, "residual": np.pi**2 / 3})
        hits = []
        for row in _latent_studies(args.store, n, m, item_sd, rater_sd, k, args.datasets):
            found = _split(row["est"], draws=pa.table(row["draws"]), per_text=float(m), latent=True)
            ends = [(found.interval("item", kind, size), true.of("item", kind, size)) for kind, size in KINDS_OF_MEANS]
            hits.append([low <= value <= high for (low, high), value in ends])
        cells = [f"{share:.2f}".removeprefix("0") for share in np.mean(hits, axis=0)]
        print(f"| {n} × {m} | {item_sd}, {rater_sd} | {k} | {len(hits)} | " + " | ".join(cells) + " |", flush=True)


KINDS_OF_MEANS = (("relative", 1), ("relative", 5), ("absolute", 1), ("absolute", 5))


def _split(variances: dict[str, float], **more: Any) -> rel.Generalizability:
    table = pa.table({"component": list(variances), "variance": list(variances.values())})
    return rel.Generalizability(table, table, **more)


def _latent_studies(
    store: Path, n: int, m: int, item_sd: float, rater_sd: float, k: int, wanted: int
) -> list[dict[str, Any]]:
    """Return the components of simulated ratings and of their draws; make those that are missing."""
    store.mkdir(parents=True, exist_ok=True)
    path = store / f"c_{n}_{m}_{k}_{item_sd}_{rater_sd}.jsonl"
    done = _kept(path)
    wanted = wanted or len(done)
    with path.open("a") as out:
        for study in range(len(done), wanted):
            rng = np.random.default_rng([3, n, m, k, study])
            seen = item_sd * rng.normal(size=(n, 1)) + rater_sd * rng.normal(size=m) + rng.logistic(size=(n, m))
            found = rel.generalizability(np.digitize(seen, LATENT[k]) + 1, model="clmm", draws=100, seed=study)
            names, variances = (found.components[name].to_pylist() for name in ("component", "variance"))
            done.append({"est": dict(zip(names, variances, strict=True)), "draws": found.draws.to_pydict()})
            out.write(json.dumps(done[-1]) + "\n")
            out.flush()
    return done[:wanted]


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
        times = max(10, args.datasets // (1 + m // 10))
        alike, found = [], {name: [] for name in SPAMMERS}
        for _ in range(times):
            seen = people.rate(n, m, rng, per)
            alike.append(_flagged(categories(seen)).mean())
            for name in SPAMMERS:
                found[name].append(_flagged(spam(seen, 0, name, rng))[0])
        cells = [f"{np.mean(values):.2f}" for values in found.values()]
        what = f"{n} × {m}" if per == m else f"{n} × {per} of {m}"
        print(f"| {what} | {kind[0]}, {kind[1]} | {np.mean(alike):.3f} | " + " | ".join(cells) + " |", flush=True)


def _flagged(ratings: np.ndarray) -> np.ndarray:
    found = standing(rel.prepare(ratings), "ordinal")
    return found.flagged_leniency | found.flagged_consistency


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", default=["coverage", "tests", "gaps", "icc", "components", "flags"])
    parser.add_argument("--datasets", type=int, default=400)
    parser.add_argument("--raters", nargs="+", default=["random", "fixed"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[3, 5, 8, 50])
    parser.add_argument(
        "--store", type=Path, default=Path("build/reliability_simulated"), help="where studies are kept"
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for what in args.what:
        {"coverage": coverage, "tests": tests, "gaps": gaps, "icc": icc, "components": components, "flags": flags}[
            what
        ](args)


if __name__ == "__main__":
    main()
