"""Studies that may stop early."""

import numpy as np
import pytest

from ordbridge.design import counterbalanced
from ordbridge.errors import InputError
from ordbridge.planning.looks import sequential
from ordbridge.power.models import Model
from ordbridge.simulate import Truth

TRUTH = Truth(effects=0.8, thresholds=(-1, 0, 1))
CLM = Model("clm", "rating ~ system", "systemB", link="probit")


def study(**options):
    table = counterbalanced(items=24, ratings_per_text=3, texts_per_participant=12)
    return sequential(table, TRUTH, CLM, **{"looks": 3, "datasets": 200, "null": 999, **options})


@pytest.mark.slow
def test_with_independent_ratings_the_boundary_is_that_of_normal_theory():
    """A clm of ratings without raters or items: 999 studies give the constant to about .12 (two standard errors)."""
    for shape in ("obrien-fleming", "pocock"):
        looks = study(shape=shape, datasets=10).looks
        np.testing.assert_allclose(looks["critical"], looks["normal"], rtol=0.08)


@pytest.mark.slow
def test_the_level_is_kept_and_the_effect_is_found_early():
    found = study()
    assert sum(found.looks["stops_null"].to_pylist()) == pytest.approx(0.05, abs=0.002)  # by construction
    assert found.looks["stops"][0].as_py() + found.looks["stops"][1].as_py() > 0.3
    assert found.expected_ratings < found.looks["ratings"][2].as_py()
    assert found.conf_low <= found.power <= found.conf_high
    assert f"power {found.power:.0%}" in found.answer


@pytest.mark.slow
def test_a_run_goes_on_where_it_stopped(tmp_path):
    file = tmp_path / "draws.csv"
    short = {"datasets": 20, "null": 40, "looks": 2}
    first = study(**short, store=tmp_path)
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:25]) + "\n")
    again = study(**short, store=tmp_path)
    assert again.looks.equals(first.looks) and again.power == first.power
    assert len(file.read_text().splitlines()) == len(lines)


def test_too_few_participants_get_one_sentence():
    with pytest.raises(InputError, match="the first look needs at least 3 participants"):
        study(looks=9)
