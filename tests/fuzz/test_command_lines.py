"""A short walk of the fuzzer of command lines."""

from __future__ import annotations

import random

import command_lines
import pytest


@pytest.mark.needs_r
@pytest.mark.slow
def test_command_lines_end_in_a_result_or_one_sentence(tmp_path):
    commands = list(command_lines.parsers(command_lines.whole_parser()))
    for case in range(30):
        line = command_lines.line_of(random.Random(f"0 {case}"), commands)
        folder = tmp_path / str(case)
        folder.mkdir()
        code, why = command_lines.run(line, folder)
        assert not why, line
        assert code in (-1, 0, 1, 2, 3), line
