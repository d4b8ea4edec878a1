"""Type-I error, coverage and power of ``ordbridge compare LOGS``: python benchmarks/log_size.py [--datasets N].

Answers are right with probability logit⁻¹(μ + item + model × item), items with SD 2, model × item with SD 1; both
models together have an accuracy of .57 or .89, and with an effect differ by 10 or 5 points. The command's own choice
(McNemar's mid-p test with one epoch, otherwise paired t) stands beside the paired t, and beside evalstats' default
where ``--evalstats PYTHON`` names a Python that has it; all see the same datasets. The first dataset of each cell goes
through the whole command. A test that rejects more often without an effect also does so with one, so the power of the
paired t at the command's type-I error is printed as well. Results are kept in ``--out`` cell by cell, and a second call
goes on there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy import optimize, stats
from scipy.special import expit

from ordbridge.logs.analysis import LogQuestion, compare_table, compared
from ordbridge.logs.record import EvalLog
from ordbridge.logs.table import as_table

CELLS = [(accuracy, epochs, items) for accuracy in (0.57, 0.89) for epochs in (1, 4) for items in (20, 50, 200)]
EFFECT = {0.57: 0.10, 0.89: 0.05}
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
EVALSTATS = """
import sys, json, warnings
import numpy as np, pandas as pd, evalstats
warnings.simplefilter("ignore")
rows = []
for a, b in zip(*np.load(sys.argv[1]).values()):
    n, e = a.shape
    item, run = np.repeat(np.arange(n), e), np.tile(np.arange(e), n)
    frame = pd.concat([pd.DataFrame({"model": m, "item": item, "run": run, "score": y.ravel().astype(float)})
                       for m, y in (("a", a), ("b", b))])
    frame = frame.drop(columns="run") if e == 1 else frame
    try:
        one = next(iter(evalstats.compare_models(evalstats.load_from(frame)).pairwise.results.values()))
        rows.append([one.p_value, one.ci_low, one.ci_high])
    except Exception:
        rows.append([1.0, -1.0, 1.0])
print(json.dumps(rows))
"""


@cache
def intercept(accuracy: float) -> float:
    """Return μ of a model with this accuracy."""
    mean = lambda mu: float((expit(mu + np.sqrt(5) * NODES) * WEIGHTS).sum() / WEIGHTS.sum()) - accuracy  # noqa: E731
    return float(optimize.brentq(mean, -20, 20))


def answers(rng: np.random.Generator, items: int, epochs: int, both: tuple[float, float]) -> list[np.ndarray]:
    """Return the answers of two models, a row for each item."""
    item = rng.normal(0, 2, items)
    share = [expit(intercept(one) + item + rng.normal(0, 1, items)) for one in both]
    return [rng.random((items, epochs)) < one[:, None] for one in share]


def by_command(pair: list[np.ndarray]) -> tuple[float, float, float]:
    """Return p-value and interval of ``compare``, in shares."""
    logs = []
    for name, right in zip("ab", pair, strict=True):
        items, epochs = right.shape
        log = EvalLog("made", "inspect_ai", name, "task")
        for sample in range(items):
            for epoch in range(epochs):
                log.add(str(sample), epoch + 1, "exact", float(right[sample, epoch]), None, None)
        logs.append(log)
    row = compare_table(as_table(logs, ()), LogQuestion()).pairs.to_pylist()[0]
    return row["p_value"], row["conf_low"] / 100, row["conf_high"] / 100


def by_choice(pair: list[np.ndarray]) -> tuple[float, float, float]:
    """Return the same by the function that chooses the test for the command."""
    items, epochs = pair[0].shape
    mean = {name: right.mean(axis=1) for name, right in zip("ab", pair, strict=True)}
    scores = SimpleNamespace(
        task="task", mean=mean, items=np.arange(items), cluster=None, binary=True, percent=True, one_epoch=epochs == 1
    )
    found = compared(scores, "a", "b")  # type: ignore[arg-type]
    return found.p_value, *found.interval(0.05)  # type: ignore[return-value, misc]


def by_t(pairs: list[list[np.ndarray]]) -> np.ndarray:
    """Return p-values and intervals of scipy's paired t, a row for each dataset."""
    a, b = (np.array([pair[side].mean(axis=1) for pair in pairs]) for side in (0, 1))
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = stats.ttest_rel(a, b, axis=1)
        ends = found.confidence_interval()
    return np.column_stack([np.nan_to_num(found.pvalue, nan=1.0), np.nan_to_num(ends.low), np.nan_to_num(ends.high)])


def by_evalstats(python: str, pairs: list[list[np.ndarray]]) -> list[list[float]]:
    """Return p-values and intervals of evalstats' default."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.npz"
        np.savez(file, a=np.array([one[0] for one in pairs]), b=np.array([one[1] for one in pairs]))
        done = subprocess.run([python, "-c", EVALSTATS, str(file)], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout.strip().splitlines()[-1]))


def cell(
    accuracy: float, epochs: int, items: int, datasets: int, python: str | None, few: int
) -> dict[str, list[float]]:
    """Return rejections without an effect, coverage with one, power, for each way to compare."""
    found: dict[str, list[float]] = {}
    rejected: dict[str, list[float]] = {}
    of_t = []
    for effect in (0.0, EFFECT[accuracy]):
        rng = np.random.default_rng([int(100 * accuracy), epochs, items, int(100 * effect)])
        both = (accuracy + effect / 2, accuracy - effect / 2)
        pairs = [answers(rng, items, epochs, both) for _ in range(datasets)]
        if not np.allclose(by_command(pairs[0]), by_choice(pairs[0]), rtol=0, atol=1e-12):
            raise SystemExit("the command has another answer")
        ways = {"compare": [by_choice(pair) for pair in pairs], "paired t": by_t(pairs)}
        if python:
            ways["evalstats"] = by_evalstats(python, pairs[:few])  # type: ignore[assignment]
        of_t.append(ways["paired t"][:, 0])  # type: ignore[call-overload]
        for way, rows in ways.items():
            p, low, high = np.array(rows).T
            rejected.setdefault(way, []).append(float((p < 0.05).mean()))
            covered = float(((low <= effect + 1e-12) & (high >= effect - 1e-12)).mean())
            found.setdefault(way, []).append(covered)
    numbers = {way: [rejected[way][0], *found[way], rejected[way][1]] for way in found}
    size = rejected["compare"][0]
    return numbers | {"paired t at this size": [size, np.nan, np.nan, power_at(size, *of_t)]}


def power_at(size: float, null: np.ndarray, effect: np.ndarray) -> float:
    """Return the power of a test at this type-I error, from its p-values; between two steps of it, on the line."""
    steps = np.unique(np.concatenate([[0.0], null, [1.0]]))
    sizes, powers = (np.searchsorted(np.sort(p), steps, side="right") / len(p) for p in (null, effect))
    return float(np.interp(size, *(np.concatenate([[0.0], share]) for share in (sizes, powers))))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", type=int, default=4000)
    parser.add_argument("--evalstats", metavar="PYTHON")
    parser.add_argument("--few", type=int, default=600, help="datasets of evalstats")
    parser.add_argument("--out", default="log_size.json")
    args = parser.parse_args()
    kept = Path(args.out)
    done = json.loads(kept.read_text()) if kept.exists() else {}
    for accuracy, epochs, items in CELLS:
        key = f"{accuracy} {epochs} {items}"
        if key not in done:
            done[key] = cell(accuracy, epochs, items, args.datasets, args.evalstats, args.few)
            kept.write_text(json.dumps(done, indent=1))
    print("| accuracy | epochs | items | | type I | coverage, no effect | coverage, effect | power |\n|" + "---|" * 8)
    worst_size, worst_cover, short = 0.0, 1.0, []
    for key, ways in done.items():
        for way, numbers in ways.items():
            print(f"| {' | '.join(key.split())} | {way} | {' | '.join(f'{one:.3f}' for one in numbers)} |")
        size, null, cover, power = ways["compare"]
        worst_size, worst_cover = max(worst_size, size), min(worst_cover, null, cover)
        error = float(np.sqrt(2 * power * (1 - power) / args.datasets))
        if power < (fair := ways["paired t at this size"][3]) - 2 * error:
            short.append(f"{key}: {power:.3f} against {fair:.3f}")
    print(f"\ncompare: largest type-I error {worst_size:.3f}, smallest coverage {worst_cover:.3f}")
    print(
        "power below that of the paired t at the same type-I error, by more than two standard errors:",
        "; ".join(short) or "nowhere",
    )


if __name__ == "__main__":
    main()
