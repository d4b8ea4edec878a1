"""Any false pair with many systems: the model of all systems alone, and with pairs' own models where they spread more.

    python benchmarks/many_systems_size.py [--studies 150]

Ratings of studies in which all systems have the same expected rating. Systems spread alike; or every other system
has twice, four times or nine times the variances of single ratings and of interactions with raters and items; or two
systems of all hardly vary, as references do; or one has nine times the variances. First stands the test of all systems
alone; then a pair that spreads more than so many times the mean of all systems has the larger of two p-values.
``found`` is the share of real differences found where systems are apart. All p-values have Holm's correction.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from ordbridge.comparison.fitting import linear_fitter
from ordbridge.comparison.points import compare_pair, expected_ratings, spreads
from ordbridge.models.inference.adjust import adjusted_p

LIMITS = (1.33, 1.5, 1.6, 1.75)
DESIGNS = {  # systems, raters, items, systems of each item that are rated
    "6 × 5 raters × 40 items": (6, 5, 40, 6),
    "12 × 10 raters × 20 items": (12, 10, 20, 12),
    "24 × 24 raters × 16 items, 8 each": (24, 24, 16, 8),
}


def variances(spread: str, systems: int) -> np.ndarray:
    """Return by what the variances of each system are multiplied."""
    if spread == "two hardly vary":
        return np.r_[0.05, 0.05, np.ones(systems - 2)]
    if spread == "one nine times":
        return np.r_[9.0, np.ones(systems - 1)]
    more = {"equal": 1.0, "every other twice": 2.0, "every other four times": 4.0, "every other nine times": 9.0}
    return np.where(np.arange(systems) % 2 == 1, more[spread], 1.0)


SPREADS = ("equal", "every other twice", "every other four times", "every other nine times", "two hardly vary",
           "one nine times")  # fmt: skip


def study(
    seed: int, systems: int, raters: int, items: int, each: int, spread: str, step: float
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return ratings, and codes of systems, raters and items."""
    random = np.random.default_rng([seed, systems, raters])
    shown = np.array([np.sort((np.arange(each) * (systems // each) + i) % systems) for i in range(items)])
    rater, item, place = (one.ravel() for one in np.indices((raters, items, each)))
    system = shown[item, place]
    own = np.sqrt(variances(spread, systems))
    latent = 0.5 * random.normal(size=raters)[rater] + 0.5 * random.normal(size=items)[item] + step * system
    latent = latent + 0.3 * (own * random.normal(size=(raters, systems)))[rater, system]
    latent = latent + 0.4 * (own * random.normal(size=(items, systems)))[item, system]
    latent = latent + own[system] * random.normal(size=len(system))
    return 50 + 10 * latent, system, {"participant": rater, "item": item}


def rejected(rating: np.ndarray, system: np.ndarray, groups: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return which pairs differ by the test of all systems, then by each limit."""
    fitter = linear_fitter("fast", None, [])
    k = int(system.max()) + 1
    means = expected_ratings(rating, system, [str(one) for one in range(k)], groups, fitter)
    pairs = [(i, j) for i in range(k) for j in range(i)]
    joint = np.array([test.p_value for i, j in pairs if (test := means.pair(i, j)) is not None])
    spread = spreads(rating, system, groups)
    wider = np.array([(spread[i] + spread[j]) / 2 / spread.mean() for i, j in pairs])
    larger = joint.copy()
    for at in np.flatnonzero(wider > LIMITS[0]):
        i, j = pairs[at]
        rows = (system == i) | (system == j)
        its = {name: codes[rows] for name, codes in groups.items()}
        one = compare_pair(rating[rows], system[rows] == i, its, 100.0, fitter)
        if one.test != "none":
            larger[at] = max(joint[at], one.p_value)
    by_limit = [np.where(wider > limit, larger, joint) for limit in LIMITS]
    return [adjusted_p(one, "holm") < 0.05 for one in (joint, *by_limit)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=150)
    asked = parser.parse_args()
    limits = " | ".join(map(str, LIMITS))
    print(f"| systems and design | spread | all systems | {limits} | found: all systems | {limits} |")
    print("|---" * (4 + 2 * len(LIMITS)) + "|")
    for name, design in DESIGNS.items():
        for spread in SPREADS:
            null = [rejected(*study(seed, *design, spread, 0.0)) for seed in range(asked.studies)]
            real = [rejected(*study(seed, *design, spread, 3.0 / design[0])) for seed in range(asked.studies // 5)]
            cells = [f"{np.mean([one[test].any() for one in null]):.3f}" for test in range(len(LIMITS) + 1)]
            cells += [f"{np.mean([one[test].mean() for one in real]):.3f}" for test in range(len(LIMITS) + 1)]
            print(f"| {name} | {spread} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
