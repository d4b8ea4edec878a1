"""Where R fails from its own start, the message names the start that may do better; and a fit in a notebook."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.models import api
from ordbridge.results import has

FORMULA = "rating ~ system + (1 | participant)"


def test_a_fit_of_r_that_failed_names_the_other_start(ratings: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    native = api.engine_module("fast")

    class Fails:
        """R, that does not converge."""

        fails = False

        def fit(self, problem):
            if self.fails:
                raise ob.FitError("R could not fit it")
            return replace(native.fit(problem), converged=False)

        def matrices(self, *arguments):
            return native.matrices(*arguments)

    r = Fails()
    monkeypatch.setattr(api, "engine_module", lambda name: r)
    monkeypatch.setattr("ordbridge.models.fitted.engine_module", lambda name: r)
    with pytest.warns(ob.ConvergenceWarning):
        fit = ob.clmm(FORMULA, ratings)
    assert has(fit.findings, "other-start")
    with pytest.warns(ob.ConvergenceWarning):
        started = ob.clmm(FORMULA, ratings, start="fast")
    assert not has(started.findings, "other-start")
    r.fails = True
    with pytest.raises(ob.FitError, match=r"R could not fit it; R started from its own values; start='fast'"):
        ob.clmm(FORMULA, ratings)


def test_a_fit_in_a_notebook_is_a_table(ratings: pd.DataFrame) -> None:
    fit = ob.clmm(FORMULA, ratings, engine="fast")
    html = fit._repr_html_()
    assert "<td>systemB</td>" in html and "1|2" not in html
    failed = replace(fit, estimates=replace(fit.estimates, converged=False))._repr_html_()
    assert "There is no answer: the fit did not converge" in failed
