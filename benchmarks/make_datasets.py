"""Write the studies of ``ob.datasets``: python benchmarks/make_datasets.py FOLDER.

They are simulated, so that their licence is ours. Sizes, spreads of raters and items, ties and a slider that ends at
100 are as in published human evaluations of texts. A test draws them again and compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd


def _allotted(random: np.random.Generator, items: int, people: int, each: int) -> list[list[int]]:
    """Return who rates each item: people in random order, all of them equally often."""
    rounds = [random.permutation(people) for _ in range(items * each // people)]
    return [sorted(int(p) for p in group) for order in rounds for group in np.split(order, people // each)]


def summaries() -> pd.DataFrame:
    """Return 4 systems × 40 documents, each document rated by 4 of 8 workers on a scale from 1 to 5."""
    random = np.random.default_rng(20261)
    quality = {"human": 1.25, "abstractive": 0.75, "extractive": 0.25, "lead": 0.15}
    severity = np.array([0.5, 0.3, 0.2, 0.1, -0.1, -0.2, -0.3, -1.6])  # w08 is stricter than the others
    tastes = random.normal(0, 0.2, (8, 4))
    documents = random.normal(0, 0.5, 40)
    texts = random.normal(0, 0.35, (40, 4))
    rows = []
    for d, workers in enumerate(_allotted(random, 40, 8, 4)):
        for s, (system, good) in enumerate(quality.items()):
            for w in workers:
                latent = good + severity[w] + tastes[w, s] + documents[d] + texts[d, s] + random.normal()
                rating = 1 + int(sum(latent > edge for edge in (-1.5, -0.5, 0.5, 1.6)))
                rows.append((f"w{w + 1:02d}", f"doc{d + 1:02d}", system, rating))
    return pd.DataFrame(rows, columns=["worker_id", "doc", "system", "rating"])


def dialogue() -> pd.DataFrame:
    """Return 3 systems × 24 contexts, each context rated by 5 of 10 people with two sliders from 0 to 100."""
    random = np.random.default_rng(202652)
    means = {"fluency": {"rules": 62.0, "retrieval": 81.0, "neural": 84.0},
             "relevance": {"rules": 66.0, "retrieval": 48.0, "neural": 70.0}}  # fmt: skip
    people = random.normal(0, 7, (10, 2))
    contexts = random.normal(0, 6, (24, 2))
    rows = []
    for c, chosen in enumerate(_allotted(random, 24, 10, 5)):
        for system in means["fluency"]:
            for p in chosen:
                sliders = [
                    float(np.clip(means[name][system] + people[p, k] + contexts[c, k] + random.normal(0, 15), 0, 100))
                    for k, name in enumerate(means)
                ]
                rows.append((f"p{p + 1:02d}", f"context{c + 1:02d}", system, *(round(slider) for slider in sliders)))
    return pd.DataFrame(rows, columns=["participant", "item", "system", *means])


def preferences() -> pd.DataFrame:
    """Return 3 systems, 40 prompts, 6 judges: each judge compares each prompt's texts of one pair; ties allowed."""
    random = np.random.default_rng(20263)
    strength = {"small": 0.0, "medium": 0.7, "large": 1.0}
    names = list(strength)
    pairs = [(0, 1), (1, 2), (0, 2)]
    tastes, prompts = random.normal(0, 0.3, (6, 3)), random.normal(0, 0.4, (40, 3))
    rows = []
    for k in range(40):
        for j in range(6):
            a, b = pairs[(k + j) % 3]
            if random.random() < 0.5:
                a, b = b, a
            ahead = [strength[names[s]] + tastes[j, s] + prompts[k, s] for s in (a, b)]
            latent = ahead[0] - ahead[1] + 0.15 + random.logistic()  # what stands first has a small advantage
            winner = names[a] if latent > 0.4 else names[b] if latent < -0.4 else "tie"
            rows.append((f"judge{j + 1}", f"prompt{k + 1:02d}", names[a], names[b], winner))
    return pd.DataFrame(rows, columns=["judge", "prompt", "system_a", "system_b", "winner"])


def judged() -> pd.DataFrame:
    """Return the study of summaries with a judge, which rated every text where people rated half of them.

    It favours abstractive summaries.
    """
    random = np.random.default_rng(20264)
    everything = summaries().assign(kind="human")
    people = everything[everything["doc"] <= "doc20"]
    means = everything.groupby(["doc", "system"])["rating"].mean()
    rows = []
    for (doc, system), mean in means.items():
        rating = 0.8 * mean + 0.9 + 0.5 * (system == "abstractive") + random.normal(0, 0.6)
        rows.append(("gpt", doc, system, int(np.clip(round(rating), 1, 5)), "judge"))
    return pd.concat([people, pd.DataFrame(rows, columns=people.columns)], ignore_index=True)


STUDIES = {"summaries": summaries, "judged": judged, "dialogue": dialogue, "preferences": preferences}

if __name__ == "__main__":
    for name, draw in STUDIES.items():
        draw().to_csv(Path(sys.argv[1]) / f"{name}.csv", index=False)
