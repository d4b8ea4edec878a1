"""Fits on plain arrays give what the same fits on tables give."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.fast import prepare

FORMULAS = {
    "clm": "rating ~ system",
    "lm": "rating ~ system",
    "clmm": "rating ~ system + (system | participant) + (system | item)",
    "lmer": "rating ~ system + (system | participant) + (system | item)",
}


@pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
@pytest.mark.parametrize("model", FORMULAS)
def test_arrays_and_tables_agree(model: str, ratings: pd.DataFrame) -> None:
    x = (ratings["system"] == "B").to_numpy(dtype=float)[:, None]
    Z = np.column_stack([np.ones(len(x)), x])
    mixed = ([ratings["participant"], ratings["item"]], [Z, Z]) if model in ("clmm", "lmer") else ((), ())
    ready = prepare(model, x, *mixed)
    fit = getattr(ob, model)(FORMULAS[model], ratings, engine="fast")
    for _ in range(2):  # nothing is left behind by the first fit
        found = ready.fit(ratings["rating"].to_numpy())
        assert found.p_value[0] == pytest.approx(fit.p_value("systemB"), rel=1e-9)
        assert found.loglik == pytest.approx(fit.estimates.loglik, abs=1e-9)
        assert (found.converged, found.singular) == (fit.converged, fit.singular)


def test_bad_arrays_are_refused() -> None:
    x, group = np.arange(12.0)[:, None], np.repeat(np.arange(4), 3)
    one = np.ones((12, 1))
    with pytest.raises(InputError, match="there is no model 'glm'"):
        prepare("glm", x)
    with pytest.raises(InputError, match="linearly dependent"):
        prepare("lm", np.column_stack([x, 2 * x]))
    with pytest.raises(InputError, match="missing or infinite"):
        prepare("lm", np.where(x > 3, np.nan, x))
    with pytest.raises(InputError, match="use engine='ordinal'"):
        prepare("clmm", x, [group] * 3, [one] * 3)
    with pytest.raises(InputError, match="need 12 rows"):
        prepare("clmm", x, [group[:5]], [one])
    with pytest.raises(InputError, match="two or more categories"):
        prepare("clm", x).fit(np.ones(12))


def test_importing_the_engine_does_not_import_numba() -> None:
    code = "import sys, ordbridge.fast; sys.exit('numba' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_compiled_code_is_cached_between_processes() -> None:
    code = """
import numpy as np, time
from ordbridge.fast import prepare
from ordbridge.fast.laplace import evaluate
group = np.repeat(np.arange(6), 8)
prepare("clmm", np.tile([0.0, 1.0], 24)[:, None], [group], [np.ones((48, 1))]).fit(np.arange(48) % 3)
hits = sum(evaluate.stats.cache_hits.values())
raise SystemExit(0 if hits else 3)
"""
    codes = [subprocess.run([sys.executable, "-c", code], check=False).returncode for _ in range(2)]
    assert codes[1] == 0


@pytest.mark.parametrize("cold", [False, True])
def test_the_engine_knows_whether_it_is_compiled(cold: bool, tmp_path: Path) -> None:
    one, group = np.ones((48, 1)), np.repeat(np.arange(6), 8)
    for model in ("clmm", "lmer"):
        prepare(model, np.tile([0.0, 1.0], 24)[:, None], [group], [one]).fit(np.arange(48) % 3)
    environment = os.environ | ({"NUMBA_CACHE_DIR": str(tmp_path)} if cold else {})
    code = "from ordbridge import fast; raise SystemExit(fast.is_compiled())"
    assert subprocess.run([sys.executable, "-c", code], check=False, env=environment).returncode == (not cold)
