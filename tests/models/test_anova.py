"""The likelihood ratio test refuses what an optimiser that stopped too early leaves behind."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.errors import InputError


@pytest.mark.parametrize(("lost", "refused"), [(0.5, True), (2e-3, True), (1e-9, False)])
def test_a_larger_model_that_ended_below_the_smaller_one(ratings: pd.DataFrame, lost: float, refused: bool) -> None:
    small, large = (ob.clmm(f"rating ~ {part} + (1 | participant)", ratings, engine="fast") for part in ("1", "system"))
    stopped = replace(large, estimates=replace(large.estimates, loglik=small.estimates.loglik - lost))
    if refused:
        with pytest.raises(InputError, match=f"log likelihood {lost:.3g} below that of the nested"):
            ob.anova(small, stopped)
    else:
        assert ob.anova(small, stopped).to_pylist()[1]["p_value"] == pytest.approx(1.0)
