"""ordbridge beside plain Rscript on the same data: no difference beyond 1e-10 relative.

Both sides run the same functions of R on the same numbers, so the tolerance only leaves room for the last digits.
Seen with R 4.2.2, ordinal 2022.11-16, lmerTest 3.1-3, lme4 1.1-31.
"""

from __future__ import annotations

import pandas as pd
import pytest

from ordbridge.cli import main
from ordbridge.models import validation

pytestmark = pytest.mark.needs_r


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, validation.Case]:
    return {f"{case.model}: {case.name}": case for case in validation.builtin(tmp_path_factory.mktemp("cases"))}


NAMES = [
    "clm: wine",
    "clm: wine, scale and nominal",
    "clm: wine, weights and offset",
    "clmm: wine, logit",
    "clmm: wine, probit",
    "clmm: wine, nAGQ 10",
    "clm: soup",
    "clmm: soup",
    "lmer: sleepstudy",
    "lmer: sleepstudy, uncorrelated",
    "lm: sleepstudy",
    "lmer: carrots",
    "lmer: ham",
    "lmer: ham, Kenward-Roger",
    "clmm: crossed, interaction",
    "clmm: crossed, slopes",
    "clmm: crossed, three groups",
    "clm: crossed, equidistant",
    "lmer: crossed, interaction",
    "lmer: crossed, three groups",
    "lm: crossed",
]


def test_the_names_are_those_of_the_set(cases: dict[str, validation.Case]) -> None:
    assert list(cases) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_no_difference(name: str, cases: dict[str, validation.Case]) -> None:
    row = validation.validate(cases[name])
    assert row["largest_difference"] <= validation.TOLERANCE, row
    assert row["numbers"] >= 12


def test_a_difference_is_seen(cases: dict[str, validation.Case], monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = validation._numbers
    monkeypatch.setattr(validation, "R_RUNS", 1)
    monkeypatch.setattr(
        validation, "_numbers", lambda fit: numbers(fit) | {"loglik": fit.estimates.loglik * (1 + 1e-9)}
    )
    row = validation.validate(cases["clm: wine"])
    assert not row["same"] and row["where"] == "loglik"


def test_validate_a_file_of_ones_own(
    ratings: pd.DataFrame, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    file = f"{tmp_path}/mine.csv"
    ratings.to_csv(file, index=False)
    formula = "rating ~ system + (1 | participant)"
    assert main(["validate", file, "--model", "clmm", "--formula", formula, "--link", "probit"]) == 0
    assert "no difference beyond 1e-10" in capsys.readouterr().out
