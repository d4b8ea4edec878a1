"""Logs that the harnesses themselves wrote, where an environment with them is named.

``ORDBRIDGE_INSPECT_AI`` and ``ORDBRIDGE_LM_EVAL`` name the Python of an environment with inspect_ai (and pandas) or
lm_eval; the scripts beside the reference tables run there.
"""

from __future__ import annotations

import os
import subprocess

import pandas as pd
import pytest

import ordbridge as ob

pytestmark = pytest.mark.slow


def write(shared, folder, variable, script, *arguments):
    python = os.environ.get(variable)
    if not python:
        pytest.skip(f"{variable} names no Python with the harness")
    command = [python, str((shared / "tools" / script).resolve()), *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=250)


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_inspect_ai(shared, tmp_path, kind):
    write(shared, tmp_path, "ORDBRIDGE_INSPECT_AI", "make_inspect_logs.py", kind)
    truth = pd.read_csv(tmp_path / "truth_inspect.csv")
    table = ob.logs.read(tmp_path / f"logs_{kind}").to_pandas()
    exact = table[table["scorer"] == "exact"].copy()
    exact["model"] = exact["model"].str.removeprefix("mockllm/")
    exact["item"] = [
        int(s.rpartition("-")[2]) - (t == "sums") for s, t in zip(exact["sample"], exact["task"], strict=True)
    ]
    both = exact.merge(truth, left_on=["task", "model", "item", "epoch"], right_on=["task", "model", "sample", "epoch"])
    assert len(both) == len(exact) == (360 if kind == "eval" else 48)
    expected = both["ok"].astype(float).where(~both["state"].isin(["error", "noanswer"]))
    assert both["score"].fillna(-1).tolist() == expected.where(both["state"] != "noanswer", 0.0).fillna(-1).tolist()
    named = {"error": "error", "limit": "limit", "noanswer": "no answer"}
    assert both["error"].fillna("").tolist() == [named.get(one, "") for one in both["state"]]
    if kind == "eval":
        rows = {row["task"]: row for row in ob.logs.compare(tmp_path / "logs_eval", scorer="exact").pairs.to_pylist()}
        assert round(-rows["letters"]["difference"], 1) == 10.3 and round(-rows["sums"]["difference"], 1) == 1.1
        assert round(-rows["letters"]["conf_high"], 1) == -7.2 and round(-rows["letters"]["conf_low"], 1) == 27.9


def test_lm_eval(shared, tmp_path):
    import json

    write(shared, tmp_path, "ORDBRIDGE_LM_EVAL", "make_lm_eval_logs.py")
    found = ob.logs.compare(tmp_path / "out", scorer=["acc", "exact_match,first", "exact_match,maj@3"])
    assert found.pairs["items"].to_pylist() == [40, 40, 40]
    for row in found.scores.to_pylist():
        results = next((tmp_path / "out" / row["model"].replace("/", "__")).glob("results_*.json"))
        said = json.loads(results.read_text())["results"][row["task"]]
        name = row["scorer"] if "," in row["scorer"] else f"{row['scorer']},none"
        assert row["estimate"] == pytest.approx(100 * said[name])
