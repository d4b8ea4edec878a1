"""What people have in Python: a list of dictionaries, a Series, an index with names, polars; and what they get back."""

from __future__ import annotations

import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ordbridge as ob
from ordbridge.results import Result

STUDY = ob.datasets.summaries()
KEYS = ["worker_id", "doc", "system"]

SAME = {
    "records": STUDY.to_dict("records"),
    "dict of lists": STUDY.to_dict("list"),
    "index": STUDY.set_index("worker_id"),
    "MultiIndex": STUDY.set_index(["worker_id", "doc"]),
    "Series with a MultiIndex": STUDY.set_index(KEYS)["rating"],
    "a pivot table": STUDY.pivot(index=["doc", "system"], columns="worker_id", values="rating"),
    "polars": pl.from_pandas(STUDY),
    "arrow": pa.Table.from_pandas(STUDY),
}


@pytest.mark.parametrize("form", SAME)
def test_every_form_is_read_as_the_same_ratings(form: str) -> None:
    found = ob.read(SAME[form]).to_pandas()[["participant", "item", "system", "rating"]]
    wanted = STUDY.set_axis(["participant", "item", "system", "rating"], axis=1)
    assert sorted(map(tuple, found.astype(str).to_numpy())) == sorted(map(tuple, wanted.astype(str).to_numpy()))


@pytest.mark.parametrize("form", ["records", "MultiIndex"])
def test_models_take_them_too(form: str) -> None:
    fit = ob.clmm("rating ~ system + (1 | worker_id) + (1 | doc)", SAME[form], engine="fast")
    assert fit.problem.n_rows == 640


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (STUDY["rating"], r"reset_index\(\)"),
        (STUDY.set_index(KEYS).unstack("worker_id"), r"reset_index\(\)"),
        (pl.from_pandas(STUDY).lazy(), r"data\.collect\(\)"),
        ([1, 2, 3], "a list of dictionaries"),
        (None, "data is a NoneType"),
    ],
    ids=["Series", "columns in levels", "lazy", "list", "None"],
)
def test_what_cannot_be_ratings_gets_a_hint(data: object, hint: str) -> None:
    for analyse in (ob.compare, lambda source: ob.clmm("rating ~ system + (1 | doc)", source)):
        with pytest.raises(ob.InputError, match=hint):
            analyse(data)


def test_the_hint_for_columns_in_levels_works() -> None:
    data = STUDY.set_index(KEYS).unstack("worker_id")
    long = data.stack(list(range(data.columns.nlevels)), future_stack=True).rename("rating").reset_index()
    assert len(ob.read(long.dropna()).table) == 640


def test_a_named_index_that_is_also_a_column_is_left() -> None:
    data = STUDY.assign(doc2=STUDY["doc"]).set_index("doc2").rename_axis("doc")
    assert len(ob.read(data).table) == 640


def test_systems_called_1_2_3_are_asked_about() -> None:
    numbers = STUDY.assign(system=STUDY["system"].map({name: k for k, name in enumerate(STUDY["system"].unique(), 1)}))
    with pytest.warns(ob.StatisticalWarning, match=r"'system' \(1, 2, 3, 4\) is taken as a quantity.*factor\(system\)"):
        ob.clmm("rating ~ system + (1 | worker_id)", numbers, engine="fast")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ob.StatisticalWarning)
        ob.clmm("rating ~ factor(system) + (1 | worker_id)", numbers, engine="fast")
        ob.clmm("rating ~ system + (1 | worker_id)", STUDY, engine="fast")


def _results() -> list[Result]:
    fit = ob.clmm("rating ~ system + (1 | worker_id) + (1 | doc)", STUDY, engine="fast")
    judged = ob.judges.analyse(ob.datasets.judged(), judge="gpt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raters = ob.reliability(STUDY)
    return [
        ob.compare(STUDY, engine="fast"),
        raters,
        fit,
        fit.means("system"),
        ob.read(STUDY),
        ob.check(STUDY),
        judged,
        *judged.parts,
        ob.compare(ob.datasets.preferences(), engine="fast"),
    ]


@pytest.mark.slow
def test_results_can_be_read_and_taken_elsewhere() -> None:
    for result in _results():
        for shown in (repr(result), str(result), result.summary()):
            assert shown.strip() and "pyarrow" not in shown and "object at 0x" not in shown, result.kind
        assert isinstance(result.to_pandas(), pd.DataFrame) and len(result.to_pandas()), result.kind
        assert pl.DataFrame(result).height == len(result.to_pandas())
        assert result.to_latex() == result.latex()
        with pytest.raises(ob.InputError, match="no table 'nothing'; there are"):
            result.to_pandas("nothing")
