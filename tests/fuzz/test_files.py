"""A short walk of the fuzzer of files, without guidance: the seeds, and some that keep their structure."""

from __future__ import annotations

import contextlib
import random

import files
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("target", files.TARGETS)
def test_seeds_and_their_mutations_end_in_a_result_or_one_sentence(target, tmp_path):
    case, seeds, mutator = files.TARGETS[target]
    draw = random.Random(f"1 {target}")
    kept = [seed for seed in seeds() if len(seed) <= files.LARGEST]
    assert kept
    for seed in kept[:10]:
        case(seed, tmp_path)
    for _ in range(25):
        data = draw.choice(kept)
        if mutator is None:
            place = draw.randrange(len(data))
            data = data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]
        else:
            with contextlib.suppress(Exception):  # not every mutation is JSON, TOML or text again
                data = mutator(draw, data)
        case(data, tmp_path)
