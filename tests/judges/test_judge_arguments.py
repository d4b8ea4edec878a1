"""What was asked for and cannot be had is refused, not left out."""

from __future__ import annotations

from typing import Any

import pytest

import ordbridge as ob


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"covariates": ["length"]}, r"covariates=\['length'\]: no such column, or it has several values for one text"),
        ({"epsilon": 2}, "epsilon=2 must lie between 0 and 1"),
        ({"epsilon": -0.1}, "epsilon=-0.1 must lie between 0 and 1"),
    ],
)
def test_what_was_asked_for_is_refused_in_the_data(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ob.InputError, match=sentence):
        ob.judges.analyse(ob.datasets.judged(), **options)
