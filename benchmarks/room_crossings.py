"""How far a command walks through the house: files, functions and rooms that it enters, and calls from room to room.

    python benchmarks/room_crossings.py FOLDER

FOLDER is one that ``benchmarks/same_numbers.py record`` has filled with ratings. A crossing is a call of a function of
one room from a function of another; what is called through pandas or R does not count.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

COMMANDS = {
    "compare, R, HTML": "compare two.csv --quiet --html walk.html",
    "reliability, HTML": "reliability two.csv --html walk.html",
    "plan, HTML": "plan --preset howcroft2021 --variance low --effect 0.6 --items 20 40 --ratings-per-text 3 --jobs 1 "
    "--texts-per-participant 10 --max-per-design 40 --null-datasets 40 --store walk --quiet --html walk.html",
}


def walk(words: list[str]) -> tuple[int, int, int, Counter[tuple[str, str]]]:
    """Run a command and return what it entered, and its crossings by the two rooms."""
    import ordbridge
    from ordbridge.cli import main

    house = str(Path(ordbridge.__file__).parent) + os.sep
    rooms: dict[str, str] = {}
    entered: set[Any] = set()
    crossings: Counter[tuple[str, str]] = Counter()

    def room(file: str) -> str:
        if file not in rooms:
            inside = file.removeprefix(house) if file.startswith(house) else ""
            rooms[file] = inside.split(os.sep)[0].removesuffix(".py")
        return rooms[file]

    def see(frame: FrameType, event: str, _: object) -> None:
        function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # not the body of a module or a class
        if event == "call" and function and (here := room(frame.f_code.co_filename)):
            entered.add(frame.f_code)
            there = room(frame.f_back.f_code.co_filename) if frame.f_back else ""
            if there and there != here:
                crossings[there, here] += 1

    sys.setprofile(see)
    try:
        main(words)
    finally:
        sys.setprofile(None)
    files = {code.co_filename for code in entered}
    return len(files), len(entered), len({room(file) for file in files}), crossings


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    wanted = sys.argv[2:] or list(COMMANDS)
    for name in wanted:
        with open(os.devnull, "w") as nowhere:
            shown, sys.stdout = sys.stdout, nowhere
            try:
                files, functions, rooms, crossings = walk(COMMANDS[name].split())
            finally:
                sys.stdout = shown
        print(f"{name}: {files} files, {functions} functions, {rooms} rooms, {crossings.total()} crossings")
        for (one, other), number in crossings.most_common(8):
            print(f"    {one} -> {other}: {number}")
