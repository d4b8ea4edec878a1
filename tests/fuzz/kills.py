"""Signals at random moments of commands that compute through R: the program ends in time, says so, and loses nothing.

    python tests/fuzz/kills.py --kills 50 --seed 1

Every command is started, and SIGTERM or SIGINT sent after a random time: to the program alone, as a batch system may
do, or to all its processes, as a terminal does. It must end within five seconds with 143 or 130, say that it was
stopped, show no traceback and leave no process. All that it had told to be done must be in its store. A command that
was done before the signal came ends with 0. The time counts from the moment when ordbridge listens to signals: before
that, Python itself is starting. A case is known by its number, so that ``--only 17`` repeats it.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ordbridge.design import crossed
from ordbridge.power import load
from ordbridge.reading.tables import write
from ordbridge.simulate import Truth, ratings

SECONDS = 5.0  # within which the program must have ended
LONGEST = 25.0  # seconds until the signal comes
GONE = 5.0  # seconds within which its workers are gone, too
BAD = ("Traceback", "Exception ignored", "Error", "leaked", "cffi")


class Command(NamedTuple):
    """A command, and what it keeps while it runs."""

    name: str
    words: list[str]
    store: str = ""
    short: bool = False
    """Whether it ends by itself: the signal then comes in the second half of the time that it takes."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    seconds: float
    said: str
    printed: str
    left: list[str]


def prepare(folder: Path) -> None:
    """Write the ratings that the commands read: enough for R to be busy for a while, and few for a short end."""
    for name, items, raters, effects in (("large", 60, 30, (0.5, 1.0)), ("small", 10, 6, (0.5,))):
        sd = (0.5, 0.3, 0.3)[: len(effects) + 1]
        truth = Truth(effects=effects, thresholds=(-1.0, 0.0, 1.0, 2.0), participant_sd=sd, item_sd=sd)
        design = crossed(items=items, raters=raters, systems=len(effects) + 1)
        write(ratings(design, truth, seed=1), folder / f"{name}.csv")


def commands(folder: Path) -> list[Command]:
    """Return the commands, each of which runs longer than the latest signal unless it is the short one."""
    large, small = str(folder / "large.csv"), str(folder / "small.csv")
    slopes = "rating ~ system + (system | participant) + (system | item)"
    grid = [
        "--preset",
        "howcroft2021",
        "--items",
        "50",
        "--ratings-per-text",
        "3",
        "--effect",
        "0.4",
        "--datasets",
        "400",
    ]
    return [
        Command("fit", ["fit", large, "--model", "clmm", "--formula", slopes, "--engine", "r"]),
        Command("compare", ["compare", large, "--engine", "r", "--formula", slopes]),
        Command(
            "compare, bootstrap",
            [
                "compare",
                small,
                "--engine",
                "r",
                "--estimand",
                "latent",
                "--test",
                "bootstrap",
                "--draws",
                "100000",
                "--jobs",
                "2",
            ],
            "--store draws",
        ),
        Command(
            "compare, to its end",
            ["compare", small, "--engine", "r", "--formula", "rating ~ system + (1 | item)"],
            short=True,
        ),
        Command(
            "plan",
            ["plan", small, "--engine", "r", "--effect-points", "0.3", "--jobs", "2"],
            "--store plan-fits",
        ),
        Command("power", ["power", *grid, "--engine", "r", "--models", "lmer", "clmm", "--jobs", "2"], "--store fits"),
        Command(
            "reproduce howcroft2021",
            [
                "reproduce",
                "howcroft2021",
                "--engine",
                "r",
                "--datasets",
                "100",
                "--jobs",
                "2",
                "--figure",
                "2",
                "--out",
                "paper",
            ],
            "--store paper-fits",
        ),
        Command(
            "reproduce card2020",
            ["reproduce", "card2020", "--items", "50", "--jobs", "2", "--out", "card"],
            "--store card-fits",
        ),
    ]


def started(words: list[str], folder: Path) -> subprocess.Popen[str]:
    """Start a command in a session of its own, so that its processes are known."""

    def listen() -> None:  # a job in the background, or under nohup, would not
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "ordbridge", *words],
            stdout=out,
            stderr=err,
            text=True,
            cwd=folder,
            start_new_session=True,
            preexec_fn=listen,
        )


def processes_of(session: int) -> list[str]:
    """Return the living processes of a session."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = entry.read_text().rpartition(")")[2].split()[:4]
            words = (entry.parent / "cmdline").read_text().replace("\0", " ")
        except (OSError, ValueError):
            continue
        if int(own) == session and state != "Z":
            found.append(f"{entry.parent.name} {words}")
    return found


def listens(process: int) -> bool:
    """Tell whether a process has a handler for SIGTERM."""
    try:
        found = re.search(r"^SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{process}/status").read_text(), re.M)
    except OSError:
        return True  # it has ended
    return found is None or bool(int(found[1], 16) >> (signal.SIGTERM - 1) & 1)


def killed(command: Command, folder: Path, after: float, number: int, group: bool) -> Ended:
    """Start a command, send it a signal, and see how it ends."""
    process = started([*command.words, *command.store.split()], folder)
    while not listens(process.pid) and process.poll() is None:
        time.sleep(0.01)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        (os.killpg if group else os.kill)(process.pid, number)
    began = time.monotonic()
    try:
        process.wait(20)
        seconds = time.monotonic() - began
        until = time.monotonic() + GONE
        while (left := processes_of(process.pid)) and time.monotonic() < until:
            time.sleep(0.1)
    except subprocess.TimeoutExpired:
        seconds, left = float("inf"), ["the program itself"]
    finally:
        for one in processes_of(process.pid):
            os.kill(int(one.split()[0]), signal.SIGKILL)
        process.wait()
    return Ended(process.returncode, seconds, (folder / "err").read_text(), (folder / "out").read_text(), left)


def kept(store: Path) -> int | None:
    """Return how many results a store has; None where nothing is told about it."""
    if store.is_file():
        return store.read_text().count("\n")
    if (store / "manifest.json").is_file():
        return int(load(store).fits.num_rows)
    return None


def wrong(ended: Ended, number: int, command: Command, folder: Path) -> list[str]:
    """Say what is wrong about an end."""
    if ended.code == 0 and ended.printed and not ended.said.strip().endswith("stopped"):
        return [f"left behind: {ended.left}"] if ended.left else []
    found = []
    if ended.code != 128 + number:
        found.append(f"exit code {ended.code}")
    if ended.seconds > SECONDS:
        found.append(f"{ended.seconds:.1f} s")
    if any(word in ended.said for word in BAD):
        found.append("a traceback or the like")
    if "stopped" not in ended.said:
        found.append("no word")
    if ended.left:
        found.append(f"left behind: {ended.left}")
    told = [int(one.replace(",", "")) for one in re.findall(r"([\d,]+)(?: of |/)[\d,]+ (?:fits|draws)", ended.said)]
    have = kept(folder / command.store.split()[-1]) if command.store else None
    if told and have is not None and have < max(told):
        found.append(f"told of {max(told)} results and kept {have}")
    return found


def main() -> int:
    """Kill, and count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--longest", type=float, default=LONGEST)
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as temporary:
        prepare(Path(temporary))
        listed = commands(Path(temporary))
        for case in range(args.kills) if args.only is None else [args.only]:
            draw = random.Random(f"{args.seed} {case}")
            command = listed[case % len(listed)]
            number = draw.choice((signal.SIGTERM, signal.SIGINT))
            folder = Path(temporary) / str(case)
            folder.mkdir()
            span = (0.0, args.longest)
            if command.short:
                began = time.monotonic()
                started(command.words, folder).wait()
                span = ((time.monotonic() - began) / 2, time.monotonic() - began)
            after, group = draw.uniform(*span), draw.random() < 0.5
            ended = killed(command, folder, after, number, group)
            problems = wrong(ended, number, command, folder)
            slowest = max(slowest, ended.seconds)
            counts["wrong" if problems else "done before" if ended.code == 0 else "right"] += 1
            whom = "all" if group else "one"
            print(
                f"{case}: {command.name}, {number.name} to {whom} after {after:.1f} s: {ended.code} in "
                f"{ended.seconds:.1f} s {'; '.join(problems)}",
                flush=True,
            )
            if problems:
                print(ended.said[-2000:], flush=True)
    print(f"{dict(counts)}; slowest end {slowest:.1f} s")
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
