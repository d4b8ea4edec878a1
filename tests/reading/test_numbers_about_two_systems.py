"""One number about two systems (CMOS) is a comparison, never a rating of the first, whatever its column is called."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import ordbridge as ob

SYSTEMS = list(itertools.permutations(("base", "new", "large"), 2))


def cmos(folder: Path, header: str, low: int = -3, high: int = 3) -> Path:
    rows = [f"l{k % 10},u{k % 20},{','.join(SYSTEMS[k % 6])},{low + (5 * k + k // 7) % (high - low + 1)}"
            for k in range(240)]  # fmt: skip
    file = folder / "cmos.csv"
    file.write_text("\n".join([header, *rows]))
    return file


@pytest.mark.parametrize("name", ["cmos", "comparative_mos", "score", "rating"])
@pytest.mark.parametrize("both", ["first,second", "system_a,system_b", "left,right"])
@pytest.mark.parametrize("roles", [{}, {"participant": "none"}])
def test_either_end_may_prefer_the_first(tmp_path: Path, both: str, name: str, roles: dict[str, str]) -> None:
    file = cmos(tmp_path, f"listener,utterance,{both},{name}")
    with pytest.raises(ob.InputError, match=f"{name} of cmos.csv has answers from -3 to 3, which do not say which"):
        ob.read(file, **roles)


def test_a_scale_from_one_to_seven(tmp_path: Path) -> None:
    file = cmos(tmp_path, "listener,utterance,first,second,rating", 1, 7)
    with pytest.raises(ob.InputError, match="has answers from 1 to 7, which do not say which"):
        ob.read(file, participant="none")


def test_two_languages_are_no_systems(tmp_path: Path) -> None:
    file = tmp_path / "languages.csv"
    pairs = list(itertools.permutations(("de", "en", "fr"), 2))
    rows = [f"r{k % 4},{','.join(pairs[k // 8 % 6])},s{k // 8},{'AB'[k // 4 % 2]},{1 + (3 * k + k // 5) % 5}"
            for k in range(192)]  # fmt: skip
    file.write_text("\n".join(["rater,source,target,segment,system,score", *rows]))
    assert ob.read(file).table["system"].unique().to_pylist() == ["A", "B"]
