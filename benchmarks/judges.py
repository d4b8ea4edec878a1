"""What the judges' room promises, by simulation: coverage of the estimates, size and power of the alternative test.

Run it from the project's root: ``python benchmarks/judges.py [estimate] [alternative] [--datasets 400]``. The tables of
docs/judges.md come from here.

People see the quality of a text (item + system × item, standard deviations 0.8 and 0.6) with a severity of their own
(0.4) and noise (0.8), and use five categories. Judges see it, too: a good one with noise 0.6; a biased one, who adds a
point to the second system; a noisy one (noise 3); an adversarial one, who sees the opposite. True values are those
of 400,000 texts.
"""

from __future__ import annotations

import argparse
import warnings
from functools import cache
from itertools import product

import numpy as np

from ordbridge import judges

CUTS = (-1.2, -0.4, 0.4, 1.2)
EFFECT = 0.4
JUDGES = ("good", "biased", "noisy", "adversarial")


def rated(seen: np.ndarray) -> np.ndarray:
    return np.digitize(seen, CUTS) + 1


def qualities(items: int, rng: np.random.Generator) -> np.ndarray:
    """Return items × two systems."""
    return 0.8 * rng.normal(size=(items, 1)) + 0.6 * rng.normal(size=(items, 2)) + np.array([0.0, EFFECT])


def judged(quality: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    noise = rng.normal(size=quality.shape)
    return rated(
        {
            "good": quality + 0.6 * noise,
            "biased": quality + np.array([0.0, 1.0]) + 0.6 * noise,
            "noisy": quality + 3 * noise,
            "adversarial": -quality + 0.6 * noise,
        }[kind]
    )


@cache
def truth() -> dict[str, float]:
    """Return the true mean and share of ratings from 4 on of A, A − B, and the probability that A is rated higher."""
    rng = np.random.default_rng(0)
    quality = qualities(400_000, rng)
    a, b = rated(quality + np.sqrt(0.4**2 + 0.8**2) * rng.normal(size=quality.shape)).T
    shares = [np.bincount(side, minlength=6)[1:] / len(side) for side in (a, b)]
    above = shares[0] @ (np.cumsum(shares[1]) - shares[1] / 2)
    return {"mean": a.mean(), "share": (a >= 4).mean(), "difference": a.mean() - b.mean(), "superiority": above}


def study(items: int, by_people: int, raters: int, per_text: int, kind: str, rng: np.random.Generator) -> dict:
    """Return a long table: the judge rates all items, people the first ones, each person all systems of an item."""
    quality = qualities(items, rng)
    severity = 0.4 * rng.normal(size=raters)
    item, system, who, rating = [], [], [], []
    for i in range(by_people):
        for person in rng.permutation(raters)[:per_text]:
            item += [i, i]
            system += ["A", "B"]
            who += [f"P{person}"] * 2
            rating += rated(quality[i] + severity[person] + 0.8 * rng.normal(size=2)).tolist()
    n = len(item)
    return {
        "item": item + np.repeat(np.arange(items), 2).tolist(),
        "system": system + ["A", "B"] * items,
        "participant": who + ["gpt"] * (2 * items),
        "rating": rating + judged(quality, kind, rng).ravel().tolist(),
        "kind": ["human"] * n + ["judge"] * (2 * items),
    }


def covers(row: dict, true: float, who: str = "conf") -> bool:
    return row[f"{who}_low"] <= true <= row[f"{who}_high"]


def estimate(sims: int) -> None:
    true = truth()
    print("| judge | items, rated by people | people × per text | mean of A | people only | share of A from 4 on "
          "| A − B | people only | A above B | width of A − B | people only | wider than people only |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for (items, by_people), (raters, per_text), kind in product(
        ((300, 20), (300, 60)), ((3, 3), (30, 2), (2, 2), (8, 8)), JUDGES
    ):
        if raters in (2, 8) and kind != "good":
            continue
        rng = np.random.default_rng(1)
        found = []
        for _ in range(sims):
            got = judges.estimate(study(items, by_people, raters, per_text, kind, rng), raters="random")
            mean, share = got.means.to_pylist()[0], got.categories.to_pylist()[2]
            difference, above = got.differences.to_pylist()[0], got.superiority.to_pylist()[0]
            assert share["system"] == "A" and share["at_least"] == "4"
            widths = [difference[f"{who}_high"] - difference[f"{who}_low"] for who in ("conf", "people")]
            found.append(
                (
                    covers(mean, true["mean"]),
                    covers(mean, true["mean"], "people"),
                    covers(share, true["share"]),
                    covers(difference, true["difference"]),
                    covers(difference, true["difference"], "people"),
                    covers(above, true["superiority"]),
                    *widths,
                    widths[0] > widths[1] + 1e-9,
                )
            )
        cells = " | ".join(f"{cell:.2f}" for cell in np.mean(found, axis=0))
        print(f"| {kind} | {items}, {by_people} | {raters} × {per_text} | {cells} |", flush=True)


EPSILON = 0.1


def annotated(
    items: int, texts: int, people: int, judge_noise: float, differ: float, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return ratings of items with several texts each; the judge errs on items and on texts alike, people as they are.

    ``differ`` is how much people differ in their noise (the standard deviation of its logarithm).
    """
    item = np.repeat(np.arange(items), texts)
    n = len(item)
    quality = 0.7 * rng.normal(size=items)[item] + 0.7 * rng.normal(size=n)
    noise = 0.8 * np.exp(differ * rng.normal(size=people))
    seen = [rated(quality + sd * rng.normal(size=n)) for sd in noise]
    shared = np.sqrt(0.5) * (rng.normal(size=items)[item] + rng.normal(size=n))
    seen.append(rated(quality + judge_noise * shared))
    who = [*(f"P{p}" for p in range(people)), "gpt"]
    return {
        "item": np.tile(item, people + 1),
        "criterion": np.tile(np.arange(n) % texts, people + 1),
        "participant": np.repeat(who, n),
        "rating": np.concatenate(seen),
        "kind": np.repeat(["human"] * people + ["judge"], n),
    }


@cache
def noise_for(difference: float, people: int, differ: float) -> float:
    """Return the judge's noise for which a person does as well more often than the judge by this difference."""
    low, high = 0.05, 3.0
    for _ in range(10):
        middle, rng = (low + high) / 2, np.random.default_rng(5)
        found = [mean_difference(annotated(100, 1, people, middle, differ, rng)) for _ in range(200)]
        low, high = (middle, high) if np.mean(found) < difference else (low, middle)
    return (low + high) / 2


def mean_difference(table: dict[str, np.ndarray]) -> float:
    """Return the mean over people of d, for a table in which everybody rated everything: plain arrays are faster."""
    ratings = table["rating"].reshape(-1, len(table["rating"]) // len(np.unique(table["participant"])))
    people, judge = ratings[:-1].astype(float), ratings[-1]
    found = []
    for at in range(len(people)):
        others = np.delete(people, at, axis=0)
        person, machine = (((x - others) ** 2).sum(axis=0) for x in (people[at], judge))
        found.append((person <= machine).mean() - (machine <= person).mean())
    return float(np.mean(found))


def alternative(sims: int) -> None:
    print("| truth | people | items × criteria | people differ | one person's test: published | clustered | passes: "
          "published | clustered | may stand in (people a sample) |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for difference, (people, items, texts), differ in product(
        (EPSILON, EPSILON - 0.15), ((5, 100, 1), (5, 20, 5), (5, 60, 5), (12, 60, 5)), (0.0, 0.4)
    ):
        noise = noise_for(difference, people, differ)
        rng = np.random.default_rng(2)
        found = []
        for _ in range(sims):
            got = judges.alt_test(annotated(items, texts, people, noise, differ, rng), epsilon=EPSILON)
            p, clustered = (got.annotators[name].to_numpy() for name in ("p_value", "p_clustered"))
            found.append(((p < 0.05).mean(), (clustered < 0.05).mean(), got.passed, got.clustered.passed,
                          got.clustered.replaces))  # fmt: skip
        cells = " | ".join(f"{value:.3f}" for value in np.mean(found, axis=0))
        truth = "border: ε" if difference == EPSILON else f"ε − {EPSILON - difference:.2f}"
        print(f"| {truth} | {people} | {items} × {texts} | {'yes' if differ else 'no'} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", default=["estimate", "alternative"])
    parser.add_argument("--datasets", type=int, default=400)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for what in args.what:
        {"estimate": estimate, "alternative": alternative}[what](args.datasets)


if __name__ == "__main__":
    main()
