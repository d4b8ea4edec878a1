"""Code in a formula is never run: sixty and more attempts, and a marker file that must not appear."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.bridge import call

SLOTS = [
    "{} ~ x + (1 | g)",
    "y ~ {} + (1 | g)",
    "y ~ x + ({} | g)",
    "y ~ x + (1 | {})",
    "y ~ x:{} + (1 | g)",
    "y ~ log({}) + (1 | g)",
    "y ~ poly(x, {}) + (1 | g)",
]
PAYLOADS = [
    "I(system('touch MARK'))",
    'I(system("touch MARK"))',
    "system('touch MARK')",
    "base::system('touch MARK')",
    "file.create('MARK')",
    "I(file.create(`MARK`))",
    "(function() file.create('MARK'))()",
    "eval(parse(text='file.create(\"MARK\")'))",
    "do.call(file.create, list('MARK'))",
    "{file.create('MARK')}",
    "x[file.create('MARK')]",
    "x$`MARK`",
    "x@y",
    "x <- file.create('MARK')",
    "x = file.create('MARK')",
    "`system`('touch MARK')",
    "get('system')('touch MARK')",
    "x; file.create('MARK')",
    "x\nfile.create('MARK')",
    "\\(z) file.create('MARK')",
    "if (file.create('MARK')) x",
    "x %in% file.create('MARK')",
    "`x` |> file.create('MARK')",
    "?file.create",
    "!file.create('MARK')",
    "x == file.create('MARK')",
    "quote(file.create('MARK'))",
    "offset(x)",
    "I(x, file.create('MARK'))",
    'r"(x)"',
    "..1",
    "T & file.create('MARK')",
]
ATTACKS = [slot.format(payload) for payload in PAYLOADS for slot in SLOTS]


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return pd.DataFrame({"y": [1, 2, 3, 1, 2, 3] * 4, "x": range(24), "g": list("abcd") * 6})


def test_there_are_enough() -> None:
    assert len(set(ATTACKS)) >= 60


@pytest.mark.parametrize("model", ["clmm", "lmer"])
def test_nothing_is_executed(model: str, data: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    marker = tmp_path / "marker"
    for attack in ATTACKS:
        with pytest.raises(ob.FormulaError, match=r"position|clmm|lmer"):
            getattr(ob, model)(attack.replace("MARK", str(marker)), data)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.needs_r
def test_names_of_columns_are_names_and_not_code(data: pd.DataFrame, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    evil = f"system('touch {marker}')"
    fit = ob.lm(f"y ~ `{evil}`", data.rename(columns={"x": evil}))
    assert fit.estimates.terms[1] == f"`{evil}`"
    assert not marker.exists()


@pytest.mark.needs_r
def test_the_marker_would_appear_if_code_ran(tmp_path: Path) -> None:
    """The proof above is worth something: R in this process can create the file."""
    marker = tmp_path / "marker"
    call("as_formula", {"text": f"file.create('{marker}')"})
    assert marker.exists()
