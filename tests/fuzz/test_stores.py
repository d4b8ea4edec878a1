"""The corpus of the fuzzer over stores: cases that have failed once, and some of every kind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from stores import Fuzzer

FAILED_ONCE = (11, 13, 33, 35, 46, 58, 69, 94, 99, 107, 120, 157, 210)


@pytest.fixture(scope="module")
def fuzzer() -> Iterator[Fuzzer]:
    made = Fuzzer()
    yield made
    made.close()


@pytest.mark.parametrize("number", sorted({*FAILED_ONCE, *range(300, 336)}))
@pytest.mark.slow
def test_the_table_is_right_or_there_is_a_sentence(fuzzer: Fuzzer, number: int) -> None:
    fuzzer.check(number)
    precious = fuzzer.home / "precious"
    if precious.exists():  # where this case has put it
        assert precious.read_text() == "precious"
