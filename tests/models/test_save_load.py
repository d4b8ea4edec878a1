"""Fits that are saved, read again, updated; what is damaged or foreign is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.models.save_load import KEY

FITS = {
    "clm": {"formula": "rating ~ system", "scale": "~ system", "link": "probit"},
    "clmm": {"formula": "rating ~ system + length + (1 | participant)", "weights": "w"},
    "lm": {"formula": "rating ~ system * length"},
    "lmer": {"formula": "rating ~ system + (1 | `my item`)", "REML": False},
}


@pytest.fixture(scope="module")
def fits(ratings: pd.DataFrame) -> dict[str, ob.Fit]:
    data = ratings.assign(w=np.arange(len(ratings)) % 3 + 1.0, **{"my item": ratings["item"]})
    data.loc[3, "length"] = np.nan
    return {model: getattr(ob, model)(data=data, engine="fast", **options) for model, options in FITS.items()}


@pytest.mark.parametrize("model", FITS)
def test_a_fit_comes_back_bit_by_bit(fits: dict[str, ob.Fit], model: str, tmp_path: Path) -> None:
    fit = fits[model]
    again = ob.load(fit.save(tmp_path / "fit.arrow"))
    for table in ("tidy", "varcorr", "ranef", "glance"):
        assert getattr(again, table)() == getattr(fit, table)(), table
    assert again.findings == fit.findings
    assert repr(again) == repr(fit)
    assert np.array_equal(again.estimates.vcov, fit.estimates.vcov)
    assert again.predict() == fit.predict()
    assert again.test("system") == fit.test("system")
    assert again.simulate(2, seed=3) == fit.simulate(2, seed=3)
    assert again.update(". ~ . - system").coef == fit.update(". ~ . - system").coef


@pytest.mark.needs_r
def test_a_fit_of_r_comes_back_and_goes_on_in_r(ratings: pd.DataFrame, tmp_path: Path) -> None:
    fit = ob.lmer("rating ~ system + (1 | participant)", ratings)
    again = ob.load(fit.save(tmp_path / "fit.arrow"))
    assert again.engine == "r"
    assert again.contrasts("system").to_pylist() == fit.contrasts("system").to_pylist()


def test_update_says_what_it_needs(fits: dict[str, ob.Fit], ratings: pd.DataFrame) -> None:
    fit = fits["clmm"]
    smaller = fit.update(". ~ . - length")
    assert "length" not in smaller.coef and "systemB" in smaller.coef
    assert smaller.problem.weights == "w"
    assert set(fit.update(". ~ system + (1 | participant)").coef) == set(smaller.coef)
    with pytest.raises(InputError, match=r"'item'.*give data="):
        fit.update(". ~ . + (1 | item)")
    wider = fits["lm"].update(". ~ . + item", data=ratings)
    assert "itemi1" in wider.coef
    assert fits["lmer"].update(". ~ . - (1|`my item`) + (1 | system)").problem.formula.groups == ("system",)


def test_short_names_of_numbers(fits: dict[str, ob.Fit]) -> None:
    fit = fits["clm"]
    row = fit.glance().to_pylist()[0]
    assert (fit.aic, fit.bic, fit.loglik) == (row["aic"], row["bic"], row["loglik"])
    assert list(fit.coef)[-2:] == ["systemB", "scale: systemB"]
    assert fit.coef["systemB"] == fit.tidy()["estimate"][4].as_py()
    assert [label.get_text() for label in fit.plot().axes[0].get_yticklabels()] == ["system = B"]


def damaged(kept: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return what a stranger may have made of a file."""

    def other(**new: Any) -> dict[str, Any]:
        return {**kept, **new}

    estimates = kept["estimates"]
    return [
        ("other version", other(format=2)),
        ("no formula", {k: v for k, v in kept.items() if k != "formula"}),
        ("code for R", other(formula="rating ~ system('id')")),
        ("unknown engine", other(engine="os")),
        ("objects", other(estimates={**estimates, "estimate": {"dtype": "|O8", "shape": [1], "bytes": ""}})),
        ("short", other(estimates={**estimates, "estimate": {"dtype": "<f8", "shape": [9], "bytes": ""}})),
        ("other fields", other(estimates={**estimates, "more": 1})),
        ("no columns", other(columns={})),
        ("levels", other(columns={n: {**c, "levels": []} for n, c in kept["columns"].items()})),
        ("nested", other(estimates=json.loads("[" * 400 + "]" * 400))),
    ]


def test_what_is_damaged_or_foreign_is_refused(fits: dict[str, ob.Fit], tmp_path: Path) -> None:
    file = fits["clm"].save(tmp_path / "fit.arrow")
    with pa.memory_map(str(file)) as source:
        table = ipc.open_file(source).read_all()
    kept = json.loads(table.schema.metadata[KEY])
    for name, one in damaged(kept):
        bad = table.replace_schema_metadata({KEY: json.dumps(one)})
        with ipc.new_file(tmp_path / "bad.arrow", bad.schema) as out:
            out.write_table(bad)
        with pytest.raises(InputError, match=r"damaged fit|another version"):
            ob.load(tmp_path / "bad.arrow")
            pytest.fail(name)
    whole = file.read_bytes()
    for content in (b"", whole[:100], whole[: len(whole) // 2], b"\x80\x04\x95 pickle", whole[:-20] + b"x" * 20):
        (tmp_path / "bad.arrow").write_bytes(content)
        with pytest.raises(InputError, match="not a fit of ordbridge"):
            ob.load(tmp_path / "bad.arrow")
    with pytest.raises(InputError, match="there is no file"):
        ob.load(tmp_path / "none.arrow")
    with pytest.raises(InputError, match="is a folder"):
        ob.load(tmp_path)
