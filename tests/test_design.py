"""The promises of every design, over sizes that nobody picked by hand."""

import csv
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordbridge import design
from ordbridge.design.colouring import equitable_colouring
from ordbridge.errors import InputError

REFERENCE = Path(__file__).resolve().parents[1] / "../shared/reference/designs"


def counts(table, *columns):
    return Counter(zip(*(table[name].to_pylist() for name in columns), strict=True))


def properties(table):
    return {row["property"]: row for row in design.check(table).to_pylist()}


@st.composite
def possible_sizes(draw):
    items = draw(st.integers(1, 40))
    return {
        "items": items,
        "ratings_per_text": draw(st.integers(1, 6)),
        "systems": draw(st.integers(1, 7)),
        "texts_per_participant": draw(st.integers(1, items)),
        "seed": draw(st.integers(0, 2**32)),
    }


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(possible_sizes())
def test_counterbalanced_keeps_its_promises(size):
    table = design.counterbalanced(**size)
    systems, hand = size["systems"], size["texts_per_participant"]
    ratings = size["items"] * systems * size["ratings_per_text"]
    assert table.column_names == ["participant", "item", "system", "order"]
    per_text = counts(table, "item", "system")
    assert len(per_text) == size["items"] * systems
    assert set(per_text.values()) == {size["ratings_per_text"]}
    assert max(counts(table, "participant", "item").values()) == 1
    by_participant = counts(table, "participant")
    # Nobody rates more than `hand` texts, so no design has fewer participants than this.
    assert max(by_participant.values()) <= hand
    assert len(by_participant) == math.ceil(ratings / hand)
    *others, last = (by_participant[name] for name in sorted(by_participant))
    assert set(others) <= {hand} and last == (ratings % hand or hand)
    per_system = counts(table, "participant", "system")
    names = sorted(set(table["system"].to_pylist()))
    for (participant,) in by_participant:
        seen = [per_system[participant, system] for system in names]
        assert max(seen) - min(seen) <= 1
    assert bool(table.schema.metadata) == bool(ratings % hand)
    check_order(table)


def check_order(table):
    """Each participant's orders are 1, 2, … without a gap, and the rows come in that order."""
    orders = {}
    for participant, order in zip(table["participant"].to_pylist(), table["order"].to_pylist(), strict=True):
        orders.setdefault(participant, []).append(order)
    assert all(order == list(range(1, len(order) + 1)) for order in orders.values())


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 6), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=150))
def test_colouring_is_equitable_on_any_bipartite_multigraph(colours, edges):
    left, right = np.array(edges).T
    colour = equitable_colouring(left, right, colours)
    for side in (left, right):
        for vertex in set(side):
            at_vertex = np.bincount(colour[side == vertex], minlength=colours)
            assert len(at_vertex) == colours and np.ptp(at_vertex) <= 1


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 3), st.data())
def test_latin_squares_are_balanced_per_rater_over_systems_and_items(systems, per_system, per_text, data):
    repeats = data.draw(st.integers(1, systems))
    table = design.latin_square(systems, systems * per_system, systems * per_text, repeats, seed=3)
    assert set(counts(table, "participant", "item").values()) == {repeats}
    assert set(counts(table, "participant", "system").values()) == {per_system * repeats}
    assert set(counts(table, "item", "system").values()) == {per_text * repeats}
    assert max(counts(table, "participant", "item", "system").values()) == 1
    assert table.num_rows == systems * per_system * systems * per_text * repeats
    check_order(table)


@pytest.mark.parametrize(
    ("systems", "items", "raters", "each_system", "per_text"), [(11, 22, 22, 2, 2), (8, 112, 8, 14, 1)]
)
def test_layouts_of_belz_and_kow(systems, items, raters, each_system, per_text):
    table = design.latin_square(systems, items, raters)
    assert table.num_rows == items * raters
    assert set(counts(table, "participant", "item").values()) == {1}
    assert set(counts(table, "participant", "system").values()) == {each_system}
    assert len(counts(table, "participant", "system")) == raters * systems
    assert set(counts(table, "item", "system").values()) == {per_text}
    assert len(counts(table, "item", "system")) == items * systems


def test_latin_squares_come_in_the_order_of_their_repeats():
    table = design.latin_square(3, 6, 3, repeats=2).to_pandas()
    halves = table.assign(half=(table.order > 6).astype(int)).groupby(["participant", "half"]).item.nunique()
    assert set(halves) == {6}


@given(st.integers(1, 12), st.integers(1, 6), st.integers(1, 4))
@settings(deadline=None, max_examples=50)
def test_crossed_is_everything_once(items, raters, systems):
    table = design.crossed(items, raters, systems)
    cells = counts(table, "participant", "item", "system")
    assert len(cells) == table.num_rows == items * raters * systems
    check_order(table)


@pytest.mark.parametrize("items", [50, 100, 500])
@pytest.mark.parametrize("ratings", [3, 10])
def test_howcroft2021_equals_the_published_tables_row_by_row(items, ratings):
    path = REFERENCE / f"design_i{items}_r{ratings}.csv"
    if not path.is_file():
        pytest.skip("the published designs are not here")
    with path.open() as file:
        published = [
            (row["item"], int(row["model"]), int(row["list"]), int(row["participant"])) for row in csv.DictReader(file)
        ]
    ours = design.howcroft2021(items, ratings)
    assert (
        list(zip(*(ours[c].to_pylist() for c in ("item", "system", "list", "participant")), strict=True)) == published
    )


@pytest.mark.parametrize("items", [20, 30, 40, 50, 60, 70, 110, 200])
def test_the_published_rule_shows_nobody_an_item_twice(items):
    table = design.howcroft2021(items, 2)
    assert max(counts(table, "participant", "item").values()) == 1
    assert set(counts(table, "participant").values()) == {20}
    assert set(counts(table, "item", "system").values()) == {2}
    assert set(counts(table, "participant", "system").values()) == {10}


def test_designs_are_repeatable_and_depend_on_the_seed():
    for build in (
        lambda seed: design.counterbalanced(20, 2, texts_per_participant=7, seed=seed),
        lambda seed: design.latin_square(4, 8, 4, seed=seed),
        lambda seed: design.crossed(6, 3, seed=seed),
    ):
        assert build(1).equals(build(1))
        assert not build(1).equals(build(2))


def test_a_seed_means_the_same_design_on_every_machine():
    table = design.counterbalanced(5, 1, texts_per_participant=5, seed=42)
    texts = [
        item[-2:] + system for item, system in zip(*(table[c].to_pylist() for c in ("item", "system")), strict=True)
    ]
    assert texts == ["02B", "04A", "05B", "03A", "01B", "01A", "03B", "04B", "05A", "02A"]


def test_an_uneven_division_is_said():
    table = design.counterbalanced(50, 3, texts_per_participant=21)
    note = table.schema.metadata[b"note"].decode()
    assert note == "300 ratings do not divide into hands of 21 texts: the last of 15 participants rates only 6"
    row = properties(table)["texts per participant"]
    assert (row["lowest"], row["highest"], row["balanced"]) == (6, 21, False)
    assert "P15 with 6" in row["words"]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: design.counterbalanced(20, 3), "nearest possible: texts_per_participant=20, or items=25"),
        (lambda: design.counterbalanced(0, 3), "items=0 must be an integer ≥ 1"),
        (lambda: design.counterbalanced(50, 2.5), "ratings_per_text=2.5 must be an integer"),
        (lambda: design.counterbalanced(50, True), "ratings_per_text=True must be an integer"),
        (lambda: design.counterbalanced(50, 3, seed=-1), "seed=-1 must be an integer ≥ 0"),
        (lambda: design.latin_square(8, 100, 8), "items=100 is not a multiple of the 8 systems.*: 96 or 104"),
        (lambda: design.latin_square(8, 112, 3), "raters=3 is not a multiple of the 8 systems.*possible: 8$"),
        (lambda: design.latin_square(4, 8, 8, repeats=5), "nearest possible: repeats=4"),
        (lambda: design.crossed(5, 0), "raters=0"),
        (lambda: design.howcroft2021(55, 3), "nearest possible: 50 or 60"),
        (lambda: design.howcroft2021(10, 3), "nearest possible: 20"),
        (lambda: design.from_ratings({"participant": [1], "item": [2]}), "no column 'system' for the system"),
        (lambda: design.check({"participant": [1], "item": [2], "system": [None]}), "system is missing in 1 of 1 rows"),
        (
            lambda: design.check(pa.table({c: pa.array([], "int64") for c in ("participant", "item", "system")})),
            "no rows",
        ),
    ],
)
def test_bad_requests_get_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_from_ratings_reads_the_design_of_a_simulated_study_back():
    table = design.counterbalanced(12, 2, systems=3, texts_per_participant=6)
    shuffled = table.to_pandas().sample(frac=1, random_state=0).rename(columns={"participant": "who"})
    back = design.from_ratings(shuffled.assign(rating=3), participant="who")
    assert back.sort_by([("participant", "ascending"), ("order", "ascending")]).to_pydict() == table.to_pydict()
    without = design.from_ratings(table.drop_columns("order"))
    assert without.equals(table)


def test_check_finds_what_is_unbalanced():
    whole = design.crossed(4, 3).to_pandas()
    assert all(row["balanced"] for name, row in properties(whole).items() if not name.startswith("times"))
    row = properties(whole)["times a participant sees an item"]
    assert row["words"] == "in 12 of 12 cases a participant sees an item more than once, always under another system"
    holes = whole[~((whole.participant == "P02") & (whole.system == "B"))]
    found = properties(holes)
    assert found["ratings per text"]["words"].startswith("uneven: 2 to 3")
    assert found["systems per participant"]["lowest"] == 1
    imbalance = found["system imbalance within participant"]
    assert imbalance["highest"] == 4 and "participant P02" in imbalance["words"] and not imbalance["balanced"]
    twice = properties(pd.concat([whole, whole[:1]]))["times a participant sees an item"]
    assert twice["highest"] == 3 and twice["words"].endswith("in 1 of them under the same system")


def test_check_counts_connected_components():
    for items, parts in ((50, 1), (100, 5), (500, 25)):
        assert properties(design.howcroft2021(items, 3))["connected components"]["lowest"] == parts
    assert properties(design.counterbalanced(100, 3, texts_per_participant=20))["connected components"]["lowest"] == 1


def test_check_ignores_levels_of_a_categorical_that_no_row_has():
    table = design.crossed(4, 3).to_pandas().astype({"system": pd.CategoricalDtype(["C", "B", "A"])})
    assert properties(table)["ratings per text"]["balanced"]


def test_a_design_of_one_of_each_is_a_design():
    for table in (design.counterbalanced(1, 1, systems=1, texts_per_participant=1), design.crossed(1, 1, 1)):
        assert table.to_pydict() == {"participant": ["P01"], "item": ["Item01"], "system": ["A"], "order": [1]}


def test_many_systems_get_names_that_sort_as_counted():
    names = design.crossed(1, 1, 30)["system"].to_pylist()
    assert sorted(names) == [f"S{n:02d}" for n in range(1, 31)]
