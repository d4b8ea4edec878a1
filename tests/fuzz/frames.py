"""Random data frames: whatever a table holds, there is a result that says what is wrong with it, or one sentence.

    python tests/fuzz/frames.py --first 0 --cases 2000 --engines r fast

Every case draws a table whose columns hold anything that a data frame can hold, and gives it to one job: a fit of one
of the four models, a coefficient or analysis of reliability, or a reader of files. Only the errors of the package may
come out, with one sentence each; a fit must not have a null p-value or a likelihood that is not a number without a
condition that says why. A case is named by its number, so that ``--first 17 --cases 1`` repeats it. At the end a table
says how many cases of each job there were, and how they ended.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import math
import re
import signal
import sys
import tempfile
import traceback
import uuid
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import ordbridge as ob
from ordbridge import reliability
from ordbridge.reading import tables

OWN = (ob.InputError, ob.FitError, ob.BridgeError)
SECONDS = 120
SAID: list[str] = []  # every sentence, for those who want to read them
Random = np.random.Generator

NAMES = (
    "x",
    "my x",
    "",
    " ",
    "x`y",
    'x"y',
    "x\\y",
    "x\ny",
    "x\0y",
    "if",
    "NULL",
    "(weights)",
    "T",
    "1x",
    "x" * 3000,
    "é",
    "\u202ex",
    "\x1b[31mx",
    7,
    2.5,
    None,
    ("a", "b"),
    True,
)
ODD = (
    None,
    float("nan"),
    float("inf"),
    -0.0,
    0,
    1,
    2.5,
    True,
    "a",
    "",
    "\0",
    "a\0b",
    "\ud800",
    b"a",
    10**30,
    -(2**63),
    1j,
    [1],
    (1, 2),
    {"a": 1},
    {1},
    decimal.Decimal("1.1"),
    Fraction(1, 3),
    datetime.date(2020, 1, 1),
    datetime.timedelta(1),
    uuid.UUID(int=1),
    object,
    Ellipsis,
)
ODD_WORDS = ("", " ", "a", "a\0", "a\0b", "\n", "é", "e\u0301", "NA", "\x1b[31m", "`", "x" * 9999)
ARROW_LISTS = pd.ArrowDtype(pa.list_(pa.int8()))


def pick(random: Random, options: Sequence[Any], n: int) -> list[Any]:
    return [options[int(random.integers(len(options)))] for _ in range(n)]


def gaps(random: Random, values: Sequence[Any]) -> list[Any]:
    return [None if random.random() < 0.1 else value for value in values]


def categories(random: Random, n: int) -> pd.Categorical:
    kinds = (["b", "a", "c"], [3, 1, 2], [2.5, 0.5], [pd.Timestamp(1), pd.Timestamp(2)], [True, False], ["", " "])
    levels = kinds[int(random.integers(len(kinds)))]
    return pd.Categorical(pick(random, levels, n), categories=levels, ordered=bool(random.integers(2)))


COLUMNS: dict[str, Callable[[Random, int], Any]] = {
    "ratings": lambda r, n: r.integers(1, 6, n),
    "two values": lambda r, n: r.integers(0, 2, n),
    "groups": lambda r, n: r.integers(0, 2 + n // 5, n),
    "floats": lambda r, n: r.normal(size=n),
    "floats with gaps": lambda r, n: np.where(r.random(n) < 0.2, np.nan, r.normal(size=n)),
    "infinite": lambda r, n: np.where(r.random(n) < 0.1, np.inf, r.normal(size=n)),
    "huge floats": lambda r, n: r.normal(size=n) * 10.0 ** r.integers(-320, 308),
    "tiny differences": lambda r, n: 1 + r.normal(size=n) * 1e-15,
    "constant": lambda r, n: np.full(n, 3.0),
    "constant but one": lambda r, n: np.r_[1.0, np.zeros(n - 1)],
    "index": lambda r, n: np.arange(n),
    "huge integers": lambda r, n: pd.Series([int(v) * 10**40 + 1 for v in r.integers(-9, 9, n)], dtype=object),
    "longer integers": lambda r, n: pd.Series([int(v) * 10**80 + 1 for v in r.integers(-9, 9, n)], dtype=object),
    "unsigned": lambda r, n: r.integers(0, 2**64, n, dtype=np.uint64),
    "small integers": lambda r, n: r.integers(-128, 127, n).astype(np.int8),
    "half floats": lambda r, n: r.normal(size=n).astype(np.float16),
    "long floats": lambda r, n: r.normal(size=n).astype(np.longdouble),
    "truth values": lambda r, n: r.random(n) < 0.5,
    "nullable truth": lambda r, n: pd.array(gaps(r, (r.random(n) < 0.5).tolist()), dtype="boolean"),
    "nullable integers": lambda r, n: pd.array(gaps(r, r.integers(1, 4, n).tolist()), dtype="Int64"),
    "words": lambda r, n: pick(r, ("a", "b", "c"), n),
    "numbers as words": lambda r, n: pick(r, ("1", "2", "3", " 4", "5,5"), n),
    "odd words": lambda r, n: pick(r, ODD_WORDS, n),
    "all different words": lambda r, n: [f"w{i}" for i in range(n)],
    "categories": categories,
    "empty categories": lambda r, n: pd.Categorical([None] * n, categories=["a", "b"]),
    "missing": lambda r, n: [None] * n,
    "not numbers": lambda r, n: np.full(n, np.nan),
    "mixed": lambda r, n: pd.Series(pick(r, ODD, n), dtype=object),
    "words and numbers": lambda r, n: pd.Series(pick(r, ("a", 1, 2.5, None), n), dtype=object),
    "complex": lambda r, n: r.normal(size=n) + 1j,
    "bytes": lambda r, n: pd.Series(pick(r, (b"a", b"b\0", b"\xff"), n), dtype=object),
    "lists": lambda r, n: pd.Series([[1] * int(k) for k in r.integers(0, 3, n)], dtype=object),
    "dicts": lambda r, n: pd.Series([{"a": int(k)} for k in r.integers(0, 3, n)], dtype=object),
    "decimals": lambda r, n: pd.Series([decimal.Decimal(int(k)) / 7 for k in r.integers(0, 9, n)], dtype=object),
    "fractions": lambda r, n: pd.Series([Fraction(int(k), 7) for k in r.integers(0, 9, n)], dtype=object),
    "times": lambda r, n: pd.to_datetime(r.integers(0, 10**18, n)),
    "times with zones": lambda r, n: pd.to_datetime(r.integers(0, 3, n), utc=True),
    "time spans": lambda r, n: pd.to_timedelta(r.integers(0, 10**9, n)),
    "periods": lambda r, n: pd.period_range("2020", periods=n, freq="M"),
    "intervals": lambda r, n: pd.cut(r.normal(size=n), 3),
    "interval index": lambda r, n: pd.interval_range(0, n),
    "sparse": lambda r, n: pd.arrays.SparseArray(r.integers(0, 2, n)),
    "arrow words": lambda r, n: pd.array(pick(r, ("a", "b"), n), dtype=pd.ArrowDtype(pa.large_string())),
    "arrow lists": lambda r, n: pd.array([[int(k)] for k in r.integers(0, 3, n)], dtype=ARROW_LISTS),
    "dates": lambda r, n: pd.Series([datetime.date(2020, 1, int(k)) for k in r.integers(1, 28, n)], dtype=object),
    "identifiers": lambda r, n: pd.Series([uuid.UUID(int=int(k)) for k in r.integers(0, 3, n)], dtype=object),
    "objects": lambda r, n: pd.Series([object() for _ in range(n)], dtype=object),
}
LIKELY = (
    "ratings",
    "ratings",
    "ratings",
    "two values",
    "floats",
    "words",
    "words",
    "categories",
    "truth values",
    "nullable integers",
)


def column(random: Random, n: int, oddity: float = 0.5) -> tuple[str, Any]:
    kinds = tuple(COLUMNS) if random.random() < oddity else LIKELY
    kind = kinds[int(random.integers(len(kinds)))]
    return kind, COLUMNS[kind](random, n)


def frame(random: Random, names: Sequence[Any], wanted: dict[str, str] | None = None) -> tuple[Any, str]:
    """Draw a table with these columns and others, as one of the kinds that people hold; return it with its story."""
    n = int(random.choice((1, 2, 3, 5, 12, 30, 60), p=(0.01, 0.02, 0.03, 0.04, 0.3, 0.3, 0.3)))
    kinds, series = [], []
    oddity = float(random.choice((0.0, 0.1, 0.2, 0.6)))
    for name in names:
        kind, values = column(random, n, oddity)
        if wanted and name in wanted:
            kind = wanted[name]
            values = COLUMNS[kind](random, n)
        kinds.append(kind)
        series.append(pd.Series(values).reset_index(drop=True))
    made = pd.concat(series, axis=1) if series else pd.DataFrame(index=range(n))
    made.columns = pd.Index(list(names), dtype=object)
    if random.random() < 0.1:
        made.index = pd.Index(pick(random, ("i", 1, None), n), dtype=object)
    form = int(random.integers(12))
    story = f"{n} rows, {dict(zip(map(repr, names), kinds, strict=True))}, form {form}"
    if form == 0 and made.columns.is_unique:
        return {name: made[name].tolist() for name in made.columns}, story
    if form == 1 and made.columns.is_unique:
        return {name: made[name].to_numpy() for name in made.columns}, story
    if form == 2:
        try:
            return pa.Table.from_pandas(made.rename(columns=str), preserve_index=False), story
        except Exception:  # what Arrow cannot hold cannot be given as Arrow
            return made, story
    if form == 3:
        import polars

        try:
            return polars.from_pandas(made), story
        except BaseException:  # polars panics
            return made, story
    return made, story


FORMULAS = (
    ("y ~ x", False),
    ("y ~ x + z", False),
    ("y ~ x * z", False),
    ("y ~ 0 + x", False),
    ("y ~ 1", False),
    ("y ~ 0", False),
    ("y ~ factor(x)", False),
    ("y ~ poly(x, 2)", False),
    ("y ~ log(x) + z", False),
    ("log(y) ~ x", False),
    ("ordered(y) ~ x", False),
    ("y ~ I(x / z)", False),
    ("y ~ scale(x)", False),
    ("y ~ x - 1", False),
    ("y ~ x + (1 | g)", True),
    ("y ~ x + (x | g)", True),
    ("y ~ x + (x || g) + (1 | h)", True),
    ("y ~ 1 + (1 | g:h)", True),
    ("y ~ x + (1 | g) + (1 | h)", True),
    ("y ~ z + (0 + x | g)", True),
    ("y ~ 0 + (1 | g)", True),
    ("y ~ x + (1 | x)", True),
)


def fit_something(random: Random, engines: Sequence[str]) -> tuple[Callable[[], None], str]:
    mixed = bool(random.integers(2))
    model = ("clmm" if random.integers(2) else "lmer") if mixed else ("clm" if random.integers(2) else "lm")
    formulas = [text for text, bars in FORMULAS if bars == mixed]
    formula = formulas[int(random.integers(len(formulas)))]
    names: list[Any] = ["y", "x", "z", "g", "h", "unused"]
    if random.random() < 0.1:
        names += pick(random, NAMES, 2)
    odd = NAMES[int(random.integers(len(NAMES)))]
    if random.random() < 0.15 and isinstance(odd, str):
        names[1] = odd
        formula = formula.replace("x", "`" + odd.replace("\\", "\\\\").replace("`", "\\`") + "`", 1)
    wanted = {"y": "ratings", "g": "groups", "h": "groups"} if random.random() < 0.6 else None
    data, story = frame(random, names, wanted)
    engine = engines[int(random.integers(len(engines)))]
    options: dict[str, Any] = {"engine": engine, "timeout": 60}
    if model in ("clm", "clmm") and random.random() < 0.3:
        options["link"] = str(random.choice(("probit", "cloglog", "cauchit", "loglog")))
    if model == "lm" and random.random() < 0.1:
        options["timeout"] = None

    def job() -> None:
        fit = getattr(ob, model)(formula, data, **options)
        look_at(fit)
        fit.predict()
        fit.predict(data)

    return job, f"{model} {formula[:80]!r} {options}, {story}"


def look_at(fit: Any) -> None:
    """Refuse a fit that hides what is wrong with it."""
    table = fit.tidy().to_pylist()
    assert len(table) == len(fit.estimates.terms), "not one row per term"
    silent = not fit.estimates.findings and fit.converged
    for row in table:
        p = row.get("p_value", 0.5)
        bad = p is None or not math.isfinite(p)
        assert not (bad and silent and row["effect"] == "fixed"), row
    log_likelihood = fit.glance().to_pylist()[0]["loglik"]
    known = log_likelihood is not None and math.isfinite(log_likelihood)
    if silent:
        assert known, f"log likelihood {log_likelihood}"
    assert str(fit)


COEFFICIENTS = (
    "percent_agreement",
    "fleiss_kappa",
    "conger_kappa",
    "gwet_ac",
    "brennan_prediger",
    "krippendorff_alpha",
    "goodman_kruskal_gamma",
    "kendall_tau",
    "kendall_w",
    "pearson",
    "spearman",
    "icc",
    "cronbach_alpha",
    "stability",
)


def rate_something(random: Random, engines: Sequence[str]) -> tuple[Callable[[], None], str]:
    kind = int(random.integers(6))
    if kind == 0:
        n = int(random.integers(0, 12))
        values = column(random, max(n, 1))[1]
        held = (list(values), np.asarray(values, dtype=object), values, pd.Series(values))[int(random.integers(4))]
        if random.random() < 0.5:
            return lambda: check_number(reliability.t_interval(held)), f"t_interval {held!r}"
        return lambda: check_number(reliability.raters_needed(held, margin=1.0)), f"raters_needed {held!r}"
    if kind == 1:
        one, other = pick(random, (*ODD, 50, 60.0), 2)
        scale = pick(random, ((0, 100), None, (1, float("inf")), (None, 3), (5, 1), ("a", "b")), 1)[0]
        story = f"arf {one!r} {other!r} {scale!r}"
        return lambda: check_number(reliability.arf_interval(one, other, scale=scale)), story
    scale = pick(
        random,
        (None, None, None, (1, 5), (1, float("inf")), (0, 10**9), ("a", "b", "c"), (1, "a"), (float("nan"), 3), "abc"),
        1,
    )[0]
    if kind == 2:
        rows, width = int(random.integers(0, 8)), int(random.integers(0, 5))
        cells = [
            pick(random, (*ODD, 1, 2, 3, 4, 5, 1, 2, 3) if random.random() < 0.2 else (1, 2, 3, None), width)
            for _ in range(rows)
        ]
        name = COEFFICIENTS[int(random.integers(len(COEFFICIENTS)))]
        story = f"{name} {cells!r} scale={scale!r}"
        if name == "stability":  # which a matrix cannot tell
            return lambda: check_number(reliability.prepare(cells)), story
        return lambda: check_number(getattr(reliability, name)(cells, scale=scale)), story
    more = pick(random, ("system", "criterion", "group", 3), int(random.integers(3)))
    names = ["item", "participant", "rating", *more]
    data, story = frame(random, names)
    if kind == 3:
        name = COEFFICIENTS[int(random.integers(len(COEFFICIENTS)))]
        return lambda: check_number(getattr(reliability, name)(data)), f"{name}, {story}"
    if kind == 4:
        story = f"generalizability, {story}"
        return lambda: check_number(reliability.generalizability(data, scale=scale, draws=2)), story
    level = str(random.choice(("nominal", "ordinal", "interval", "ratio")))
    group = "group" if random.random() < 0.3 else None
    criterion = "criterion" if random.random() < 0.3 else None
    options = {"level": level, "scale": scale, "group": group, "criterion": criterion}
    return lambda: check_number(reliability.analyse(data, **options)), f"analyse {options}, {story}"


def check_number(result: Any) -> None:
    assert result is not None
    assert str(result)


def read_something(random: Random, engines: Sequence[str]) -> tuple[Callable[[], None], str]:
    kind = int(random.integers(5))
    names = pick(random, ("item", "participant", "system", "rating", "fluency", "x", "", 1), int(random.integers(1, 6)))
    data, story = frame(random, names)
    ending = str(random.choice((".csv", ".tsv", ".txt", ".parquet", ".feather", ".xlsx", ".json", ".jsonl", ".ods")))
    if kind == 0:
        return lambda: check_number(ob.read(data)), f"read, {story}"
    if kind == 1:
        return lambda: check_number(ob.check(data)), f"check, {story}"
    content = contents(random, data, ending)
    reader = (tables.read, ob.read, ob.check)[kind - 2]

    def job() -> None:
        with tempfile.TemporaryDirectory(prefix="frames-") as folder:
            path = Path(folder) / f"ratings{ending}"
            path.write_bytes(content)
            check_number(reader(path))

    return job, f"{reader.__name__} {ending} {content[:200]!r}, {story}"


def contents(random: Random, data: Any, ending: str) -> bytes:
    """Return the bytes of a file that holds the table, or held it before something happened to it."""
    made = data if isinstance(data, pd.DataFrame) else pd.DataFrame({"item": [1, 2], "rating": [3, 4]})
    with tempfile.TemporaryDirectory(prefix="frames-") as folder:
        path = Path(folder) / "it"
        try:
            if ending in (".parquet", ".feather"):
                getattr(made.rename(columns=str).reset_index(drop=True), f"to_{ending[1:]}")(path)
            elif ending in (".xlsx", ".ods"):
                made.to_excel(path, index=False, engine="openpyxl" if ending == ".xlsx" else "odf")
            elif ending in (".json", ".jsonl"):
                made.to_json(path, orient="records", lines=ending == ".jsonl")
            else:
                made.to_csv(path, index=False, sep="\t" if ending == ".tsv" else pick(random, ",;\t", 1)[0])
            content = path.read_bytes()
        except Exception:  # what pandas cannot write is no file
            content = b"item,rating\n1,2\n"
    harm = int(random.integers(8))
    if harm == 0:
        content = content[: int(random.integers(len(content) + 1))]
    if harm == 1 and content:
        changed = bytearray(content)
        for _ in range(int(random.integers(1, 9))):
            changed[int(random.integers(len(changed)))] = int(random.integers(256))
        content = bytes(changed)
    if harm == 2:
        content = random.bytes(int(random.integers(300)))
    if harm == 3:
        content = content.decode("latin-1").encode("utf-16")
    return content


JOBS = ((fit_something, 0.55), (rate_something, 0.25), (read_something, 0.2))


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"over {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(number: int, engines: Sequence[str] = ("fast",)) -> tuple[str, str]:
    """Run one case and return what it was and how it ended; raise an AssertionError if it went wrong."""
    random = np.random.default_rng(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make = JOBS[int(random.choice(len(JOBS), p=[share for _, share in JOBS]))][0]
        job, story = make(random, engines)
        try:
            with time_limit(SECONDS):
                job()
        except OWN as error:
            said = str(error)
            SAID.append(said)
            assert said.strip() and "\n" not in said and len(said) < 6000, f"{story}\nnot one sentence: {said!r}"
            return kind_of(story), type(error).__name__
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            raise AssertionError(f"case {number}: {story}\n{traceback.format_exc()}") from error
    return kind_of(story), "result"


def kind_of(story: str) -> str:
    """Return the job of a case: a model with its engine, reliability, or reading."""
    first = re.split(r"[ ,]", story, maxsplit=1)[0]
    if first in ("clm", "clmm", "lm", "lmer"):
        engine = "r" if "'engine': 'r'" in story else "fast"
        return f"{first}, engine {engine}"
    return "reading and checking" if first in ("read", "check") else "reliability"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--engines", nargs="+", default=["fast"])
    args = parser.parse_args()
    endings: dict[str, Counter[str]] = defaultdict(Counter)
    failed = []
    for number in range(args.first, args.first + args.cases):
        if "r" in args.engines:
            print("case", number, file=sys.stderr, flush=True)  # R may take the process with it
        try:
            kind, ended = check(number, args.engines)
        except AssertionError as error:
            kind, ended = "WRONG", "WRONG"
            failed.append(number)
            print(str(error)[-2500:], "\n", flush=True)
        endings[kind][ended] += 1
    for kind in sorted(endings):
        print(f"{kind:25s} {sum(endings[kind].values()):5d}: {dict(endings[kind])}")
    whole = sum(endings.values(), Counter())
    print(f"{args.cases} cases from {args.first}: {whole['result']} results, ", end="")
    print(f"{whole.total() - whole['result'] - len(failed)} sentences; wrong: {failed}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
