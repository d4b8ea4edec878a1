"""Old names work for this release, and say the new one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import resolve_name

import pyarrow as pa
import pytest

import ordbridge as ob
from ordbridge.papers.reproduction import Part, Reproduction, claims_table

RENAMED = {
    "ordbridge.datasets": "ordbridge.data",
    "ordbridge.datasets.read_pplm": "ordbridge.data.read_pplm",
    "ordbridge.plots": "ordbridge.figures",
    "ordbridge.pages": "ordbridge.report",
    "ordbridge.paper": "ordbridge.report",
    "ordbridge.power.plan": "ordbridge.planning.plan",
    "ordbridge.power.Planned": "ordbridge.planning.Plan",
    "ordbridge.reliability.plots": "ordbridge.figures",
    "ordbridge.reliability.report": "ordbridge.report.write_report",
    "ordbridge.papers.howcroft2021.Cell": "ordbridge.papers.howcroft2021.GridCell",
    "ordbridge.papers.card2020.Cell": "ordbridge.papers.card2020.TableCell",
}


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_is_the_new_one_with_a_warning(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, _, name = old.rpartition(".")
    monkeypatch.delitem(vars(import_module(module)), name, raising=False)  # once imported, a module is found at once
    with pytest.warns(
        DeprecationWarning, match=f"{old} is now {new}; the old name will be removed in the next release"
    ) as said:
        found = getattr(import_module(module), name)
    assert found is resolve_name(new)
    assert said[0].filename == __file__  # the line that uses the old name, not ours


def test_what_the_old_modules_had_is_in_the_new_ones() -> None:
    had = {
        "plots": ("implied_difference", "plan_contours", "power_curves", "scale_views"),
        "pages": ("page", "write_report"),
        "paper": ("kind_of", "latex", "main_table", "markdown", "methods", "references"),
    }
    for module, names in had.items():
        with pytest.warns(DeprecationWarning):
            found = getattr(ob, module)
        for name in names:
            assert callable(getattr(found, name)) and name in found.__all__
    assert {"Page", "cell", "without_empty_columns"} <= set(ob.report.__all__)
    assert {"categories_used", "pairs_heatmap", "ratings_by_item"} <= set(ob.figures.__all__)


def test_a_reproduction_still_writes_itself(tmp_path) -> None:
    counts = Part("counts", "Counts", pa.table({"n": [1]}))
    with pytest.warns(DeprecationWarning, match=r"Reproduction\.write is now ordbridge\.report\.write_folder"):
        written = Reproduction("A title", "A paper", (), claims_table([]), (counts,)).write(tmp_path / "out")
    assert [path.name for path in written] == ["counts.parquet", "counts.csv", "report.html"]


def test_a_name_that_never_was_is_no_attribute() -> None:
    for module in (ob, ob.power, ob.reliability, ob.papers.card2020):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            module.nothing  # noqa: B018
