"""The alternative annotator test: published rows, the definition written out, clusters, and bad input."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

import ordbridge as ob
from ordbridge.errors import InputError

SHARED = Path(__file__).resolve().parents[2] / "../shared"
EPSILON = {"wax": 0.1, "cebab_stars": 0.1, "10k_prompts": 0.15}


def annotated(n=60, people=4, texts=1, seed=1, judge_noise=0.5, gaps=0.0):
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(n):
        for text in range(texts):
            quality = rng.normal()
            for who, noise in [*((f"P{p}", 0.8) for p in range(people)), ("gpt", judge_noise)]:
                if who == "gpt" or rng.random() >= gaps:
                    seen = int(np.digitize(quality + noise * rng.normal(), [-1, 0, 1])) + 1
                    rows.append((f"I{item}", f"C{text}", who, seen, "judge" if who == "gpt" else "human"))
    return pd.DataFrame(rows, columns=["item", "criterion", "participant", "rating", "kind"])


def by_definition(table, epsilon, accuracy=False):
    """Winning rate and advantage probability, one comparison after the other."""
    table = table.assign(text=table["item"] + table["criterion"])
    people = (
        table[table["kind"] == "human"]
        .groupby("text")
        .apply(lambda t: dict(zip(t["participant"], t["rating"], strict=True)))
    )
    judge = table[table["kind"] == "judge"].set_index("text")["rating"]

    def score(own, others):
        return np.mean([own == o for o in others]) if accuracy else -np.sqrt(np.mean([(own - o) ** 2 for o in others]))

    p_values, wins = [], []
    for who in sorted(set(table["participant"]) - {"gpt"}):
        d, w = [], []
        for text, given in people.items():
            if who in given and len(given) > 1:
                others = [rating for name, rating in given.items() if name != who]
                person, machine = score(given[who], others), score(judge[text], others)
                d.append((person >= machine) - int(machine >= person))
                w.append(machine >= person)
        p_values.append(ttest_1samp(d, epsilon, alternative="less").pvalue)
        wins.append(np.mean(w))
    ranks, m = np.argsort(p_values), len(p_values)
    limit = 0.05 / np.sum(1 / np.arange(1, m + 1))
    passed = [k + 1 for k, at in enumerate(ranks) if p_values[at] <= (k + 1) / m * limit]
    return (max(passed) if passed else 0) / m, float(np.mean(wins)), p_values


@pytest.mark.parametrize("dataset", EPSILON)
def test_published_rows(dataset):
    """Six judges each, at the two decimals that are published."""
    folder = SHARED / "data" / "alttest"
    if not folder.is_dir():
        pytest.skip("the shared data are not here")
    table = ob.reading.read_alttest(folder / f"{dataset}_human.json", folder / f"{dataset}_llm.json")
    with (SHARED / "reference" / "alttest_published.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] == dataset]
    assert len(rows) == 6
    for row in rows:
        found = ob.judges.alt_test(table, judge=row["judge"], epsilon=EPSILON[dataset])
        assert (found.verdict, f"{found.winning_rate:.2f}", f"{found.advantage_probability:.2f}") == (
            row["verdict"], row["winning_rate"], row["advantage_probability"],
        )  # fmt: skip


@pytest.mark.parametrize(("gaps", "accuracy", "seed"), [(0.0, False, 1), (0.4, False, 2), (0.4, True, 3)])
def test_it_is_the_definition(gaps, accuracy, seed):
    table = annotated(n=120, gaps=gaps, seed=seed)
    found = ob.judges.alt_test(table, epsilon=0.1, score="accuracy" if accuracy else None)
    rate, advantage, p_values = by_definition(table, 0.1, accuracy)
    assert found.winning_rate == rate
    assert found.advantage_probability == pytest.approx(advantage, abs=1e-12)
    assert found.annotators["p_value"].to_pylist() == pytest.approx(p_values, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.15, 0.2])
def test_other_kinds_of_annotations_and_of_gaps(epsilon):
    """Yes and no, and numbers that are names, go by equality; a person with few texts is only one of the others."""
    table = annotated(n=130, people=5, gaps=0.3, seed=7)
    rare = (table["participant"] == "P4") & ~table["item"].isin([f"I{k}" for k in range(25)])
    unjudged = (table["kind"] == "judge") & table["item"].isin([f"I{k}" for k in range(100, 110)])
    table = table[~rare & ~unjudged]
    known = table[table["item"].isin(set(table.loc[table["kind"] == "judge", "item"]))]
    for ratings in (known["rating"], known["rating"] > 2):
        found = ob.judges.alt_test(table.assign(rating=ratings.reindex(table.index, fill_value=ratings.iloc[0])),
                                   epsilon=epsilon, level="nominal")  # fmt: skip
        p_values = by_definition(known.assign(rating=ratings), epsilon, accuracy=True)[2]
        assert found.skipped == ("P4",)
        assert found.annotators["p_value"].to_pylist() == pytest.approx(p_values[:4], rel=1e-9)


def test_words_are_scored_by_equality_and_a_function_may_score():
    table = annotated(n=80)
    words = table.assign(rating=table["rating"].map({1: "no", 2: "rather not", 3: "rather", 4: "yes"}))
    plain = ob.judges.alt_test(words, epsilon=0.1)
    assert plain.score == "accuracy"
    mine = ob.judges.alt_test(words, epsilon=0.1, score=lambda own, others: float(np.mean([own == o for o in others])))
    assert mine.annotators["p_value"].to_pylist() == plain.annotators["p_value"].to_pylist()
    ordered = ob.judges.alt_test(words, epsilon=0.1, scale=["no", "rather not", "rather", "yes"])
    assert ordered.advantage_probability == ob.judges.alt_test(table, epsilon=0.1).advantage_probability


def test_without_clusters_both_tests_of_a_person_are_the_same_and_with_them_they_differ():
    alone = ob.judges.alt_test(annotated(n=80), epsilon=0.1).annotators
    assert alone["p_clustered"].to_pylist() == pytest.approx(alone["p_value"].to_pylist(), rel=1e-9)
    table = annotated(n=40, texts=5)
    repeated = pd.concat([table[table["criterion"] == "C0"].assign(criterion=f"C{k}") for k in range(5)])
    found = ob.judges.alt_test(repeated, epsilon=0.1)
    once = ob.judges.alt_test(table[table["criterion"] == "C0"], epsilon=0.1)
    assert found.clustered.n_clusters == 40
    # The same answers five times over are no new evidence: the clustered p-values are those of one copy.
    assert found.annotators["p_clustered"].to_pylist() == pytest.approx(
        once.annotators["p_value"].to_pylist(), rel=1e-9
    )
    assert min(found.annotators["p_value"].to_pylist()) < min(once.annotators["p_value"].to_pylist())


def test_people_as_a_sample_by_hand():
    """Over people: a jackknife of the whole test; over items: what each adds; less single comparisons."""
    from scipy.stats import t

    m, n = 5, 50
    table = annotated(n=n, people=m)
    result = ob.judges.alt_test(table, epsilon=0.1)
    found, rows = result.clustered, result.annotators.to_pylist()
    assert found.difference == pytest.approx(np.mean([row["difference"] for row in rows]), abs=1e-12)
    without = [
        np.mean(ob.judges.alt_test(table[table["participant"] != f"P{p}"]).annotators["difference"].to_pylist())
        for p in range(m)
    ]
    jackknife = (m - 1) / m * ((np.array(without) - np.mean(without)) ** 2).sum()
    means = np.array([row["difference"] for row in rows])
    people = max(jackknife, means.var(ddof=1) / m)
    wide = table.pivot(index="item", columns="participant", values="rating")
    names = [f"P{p}" for p in range(m)]
    d = np.empty((n, m))
    for at, who in enumerate(names):
        others = wide[[name for name in names if name != who]].to_numpy()
        person, judge = (((wide[[x]].to_numpy() - others) ** 2).sum(axis=1) for x in (who, "gpt"))
        d[:, at] = (person <= judge).astype(float) - (judge <= person)
    inside = (d - d.mean(axis=0)) / n / m
    items, both = n / (n - 1) * (inside.sum(axis=1) ** 2).sum(), (inside**2).sum()
    variance = max(people + items - both, people, items)
    df = (people + items) ** 2 / (people**2 / (m - 1) + items**2 / (n - 1))
    assert found.p_value == pytest.approx(t.cdf((found.difference - 0.1) / np.sqrt(variance), df), rel=1e-9)
    assert found.conf_low < found.difference < found.conf_high
    assert found.replaces == (found.p_value < 0.05)


def test_rare_people_and_texts_are_left_out_and_said():
    table = annotated(n=60)
    rare = pd.DataFrame(
        [(f"I{i}", "C0", "rare", 2, "human") for i in range(10)]
        + [("I99", "C0", "P0", 2, "human"), ("I99", "C0", "gpt", 2, "judge")],
        columns=table.columns,
    )
    found = ob.judges.alt_test(pd.concat([table, rare]), epsilon=0.1)
    assert found.skipped == ("rare",)
    assert (found.n_texts, found.n_dropped) == (60, 1)


@pytest.mark.slow
def test_size_and_power():
    """A judge like a person ties on average, which is ε = 0; at the border one test in twenty rejects."""
    rejected = {0.8: [], 0.3: []}
    for noise, found in rejected.items():
        for seed in range(60):
            result = ob.judges.alt_test(annotated(n=60, people=4, seed=seed, judge_noise=noise), epsilon=0.0)
            found.append((result.passed, result.clustered.replaces))
    assert np.mean(rejected[0.8], axis=0).max() <= 0.1
    assert np.mean(rejected[0.3], axis=0).min() >= 0.4  # half of the studies pass, and five in six as a sample


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda t: t, {"judge": "claude"}, "there is no judge 'claude'; the table has gpt"),
        (lambda t: t.drop(columns="kind"), {}, "has no column 'kind', so the judge must be named"),
        (lambda t: t.drop(columns="kind"), {"judge": "bert"}, "no participant is called 'bert'"),
        (lambda t: t[t["kind"] == "human"], {}, "no row has kind = 'judge'"),
        (lambda t: t[t["kind"] == "judge"], {}, "all ratings are the judge's"),
        (lambda t: t[t["participant"].isin(["P0", "gpt"])], {}, "rated by the judge and by 2 people"),
        (lambda t: t.head(50), {}, "nobody rated 30 texts beside others"),
        (lambda t: t, {"epsilon": "small"}, "must lie between 0 and 1"),
        (lambda t: t, {"score": "f1"}, "score='f1' is not known"),
        (lambda t: t.assign(rating=t["rating"].astype(str) + "!"), {"score": "rmse"}, "needs numbers or ordered"),
        (lambda t: pd.concat([t, t[t["kind"] == "judge"].assign(participant="llama")]), {}, "several judges"),
    ],
)
def test_bad_input_is_one_sentence(change, options, said):
    with pytest.raises(InputError, match=said):
        ob.judges.alt_test(change(annotated()), **options)
