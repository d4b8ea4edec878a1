"""Command lines that nobody means: whatever is typed, there is a result or one sentence.

    python tests/fuzz/command_lines.py --cases 2000 --seed 1

Every case is a command with some of its options, each with a value from a list of odd ones, on a small file that may be
odd, too. It runs in this process, in a folder of its own, with the native engine; what takes longer than 20 seconds is
cut short and counted. A case is named by its number, so that ``--only 17`` repeats it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import files

from ordbridge import cli
from ordbridge.cli import exits, unforeseen

SECONDS = 20
LEFT_OUT = {"app", "doctor", "reproduce", "validate"}  # a server, and commands of R
OPTIONS_LEFT_OUT = {"--scheduler", "--backend", "--bayes", "--help", "--jobs", "--engine", "--version"}
WORDS = (
    "", " ", "0", "-1", "1", "2", "3", "0.5", "1e999", "-1e999", "nan", "inf", "1e-320", "9" * 400, "9" * 5000, "²",
    "٣", "a", "b", "x", "rating", "system", "item", "participant", "row", "none", "all", "any", "pairs", "smallest",
    "\udcff", "a\x00b", "é", "a" * 3000, "{system}", "{", "{system}_{system}", "{0}", "{system}_{criterion}",
    "rating ~ system", "~", "rating ~ system + (1 | item)", "rating ~ I(1e999*rating)", "rating ~ 0",
    "rating ~ (1 | rating)", "1GB", "A=B", "=", "out.csv", "out.parquet", "out.html", "out.png", "out.json",
    "out.tex", "no/such/x.csv", "/dev/null", ".", "/", "~", "~nobody/x", "-", "--", "ratings.csv", "table.json",
    "empty.csv", "header.csv", "broken.xlsx", "truth.toml", "words.csv", "wide.csv", "study.toml", "plan.json",
)  # fmt: skip
NUMBERS = ("0", "1", "2", "3", "5", "20", "-1", "0.5", "0.05", "0.9", "1.5", "100", "nan", "inf", "1e-9", "1e9")
PLAIN = (
    "participant",
    "item",
    "system",
    "rating",
    "a",
    "bb",
    "p1",
    "ratings.csv",
    "out.csv",
    "out.html",
    "out.png",
    "1",
    "5",
)
RATINGS = "participant,item,system,rating\n" + "".join(
    f"p{p},t{i},{s},{1 + (p * 7 + i * 3 + len(s) + p * i) % 5}\n"
    for p in range(4)
    for i in range(5)
    for s in ("a", "bb")
)
FILES = {
    "ratings.csv": RATINGS,
    "words.csv": RATINGS.replace(",1\n", ",bad\n").replace(",2\n", ",poor\n").replace(",3\n", ",good\n"),
    "header.csv": "participant,item,system,rating\n",
    "one.csv": "participant,item,system,rating\na,b,c,1\n",
    "empty.csv": "",
    "table.json": '[{"participant": "a", "item": "t", "system": "x", "rating": 4}]',
    "wide.csv": "item,A,B\nt1,1,2\nt2,3,4\nt3,5,1\n",
    "broken.xlsx": "PK\x03\x04",
    "truth.toml": "effects = [0.3]\nthresholds = [-1, 0, 1]\n",
    "study.toml": 'preset = "howcroft2021"\n[grid]\nvariance = "low"\nitems = 20\nratings_per_text = 2\neffect = 0.6\n',
    "again.csv": RATINGS,
    "plan.json": files.seeds_of_plan()[0].decode(),
}
SOUND = {
    "read": "ratings.csv",
    "check": "ratings.csv",
    "compare": "ratings.csv",
    "fit": "ratings.csv --model clm --formula rating~system",
    "design counterbalanced": "--items 4 --ratings-per-text 2 --texts-per-participant 4",
    "design crossed": "--items 4 --raters 3",
    "design latin-square": "--systems 2 --items 4 --raters 4",
    "design howcroft2021": "--items 20 --ratings-per-text 2",
    "design from-ratings": "ratings.csv",
    "simulate": "--truth truth.toml --design ratings.csv --out out.csv",
    "power": "--preset howcroft2021 --variance low --items 20 --ratings-per-text 2 --effect 0.6 --models lm "
    "--datasets 1 --quiet",
    "plan": "ratings.csv --effect-points 0.5 --items 25 --ratings-per-text 3 --datasets 8 --quiet",
    "stop": "ratings.csv --plan plan.json",
    "reliability": "ratings.csv",
    "judges": "ratings.csv --judge p1",
    "interval": "3 4",
    "scales": "ratings.csv again.csv",
    "settings": "ratings.csv",
}
"""A command line of each command that works, or nearly; odd options follow it."""


class _TooLong(BaseException):
    """Not an Exception, so that nothing on the way takes it for a failure of its own."""


def parsers(parser: argparse.ArgumentParser, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with its parser."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield before, parser
    for name, one in inner[0].choices.items() if inner else ():
        if name not in LEFT_OUT:
            yield from parsers(one, (*before, name))


def whole_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, which the command line makes and does not give away."""
    found: list[argparse.ArgumentParser] = []
    real = argparse.ArgumentParser.parse_args

    def keep(self: Any, *_: Any, **__: Any) -> Any:
        found.append(self)
        raise SystemExit

    argparse.ArgumentParser.parse_args = keep  # type: ignore[method-assign,assignment]
    try:
        with contextlib.suppress(SystemExit):
            cli._read([])
    finally:
        argparse.ArgumentParser.parse_args = real  # type: ignore[method-assign]
    return found[0]


def line_of(draw: random.Random, commands: list[tuple[tuple[str, ...], Any]]) -> list[str]:
    """Return a command line."""
    words, parser = draw.choice(commands)
    line = [*words, *SOUND.get(" ".join(words), "").split()]
    if draw.random() < 0.25:
        line = [draw.choice((*FILES, draw.choice(WORDS))) if word in FILES else word for word in line]
    options = [a for a in parser._actions if a.option_strings and not OPTIONS_LEFT_OUT & set(a.option_strings)]
    for action in draw.sample(options, min(len(options), draw.choice((0, 1, 1, 2, 3)))):
        line.append(draw.choice(action.option_strings))
        if action.nargs == 0:
            continue
        usual = [str(choice) for choice in action.choices or (NUMBERS if action.type in (int, float) else PLAIN)]
        for _ in range(draw.choice((1, 1, 2, 3)) if action.nargs in ("+", "*") else 1):
            line.append(draw.choice(usual) if draw.random() < 0.7 else draw.choice(WORDS))
    if any("--engine" in action.option_strings for action in parser._actions):
        line += ["--engine", "fast"]
    if any("--jobs" in action.option_strings for action in parser._actions):
        line += ["--jobs", "1"]
    return line


def run(line: list[str], folder: Path) -> tuple[int, str]:
    """Run a command line in a folder; return its exit code and what is wrong with how it ended, if anything is."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    caught: list[str] = []

    def keep(error: BaseException) -> str:
        caught.append("".join(traceback.format_exception(error)))
        return "unforeseen"

    def end(*_: Any) -> None:
        raise _TooLong

    said, errors = io.StringIO(), io.StringIO()
    before, real = Path.cwd(), unforeseen.sentence
    os.chdir(folder)
    unforeseen.sentence = keep  # type: ignore[assignment]
    signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = cli.main(line)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else exits.FAILED
    except _TooLong:
        return -1, ""
    except Exception as error:
        return exits.UNFORESEEN, "".join(traceback.format_exception(error))
    finally:
        signal.alarm(0)
        os.chdir(before)
        unforeseen.sentence = real
    if code == exits.UNFORESEEN:
        return code, caught[0] if caught else "unforeseen"
    if "Traceback" in errors.getvalue():
        return code, errors.getvalue()
    if code == exits.BAD_INPUT and not errors.getvalue().strip():
        return code, "bad input, and nothing is said"
    return code, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    commands = list(parsers(whole_parser()))
    codes: Counter[int] = Counter()
    wrong: dict[str, str] = {}
    for case in range(args.cases) if args.only is None else [args.only]:
        line = line_of(random.Random(f"{args.seed} {case}"), commands)
        with tempfile.TemporaryDirectory() as folder:
            code, why = run(line, Path(folder))
        codes[code] += 1
        if why and (last := why.strip().splitlines()[-1][:150]) not in wrong:
            wrong[last] = why
            print(f"case {case}: {line!r}\n{why}", flush=True)
    print(f"exit codes: {dict(sorted(codes.items()))} (-1: cut short); {len(wrong)} kinds of wrong ends")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
