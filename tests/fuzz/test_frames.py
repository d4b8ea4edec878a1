"""The corpus of the fuzzer over data frames: some of every kind, and what has failed once, each by itself."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge import reliability
from ordbridge.reading import tables

sys.path.insert(0, str(Path(__file__).parent))

import frames


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_a_result_or_a_sentence(first: int) -> None:
    for number in range(first, first + 50):
        frames.check(number, ("fast",))


@pytest.mark.needs_r
@pytest.mark.slow
def test_a_result_or_a_sentence_through_r() -> None:
    for number in range(5000, 5040):
        frames.check(number, ("r",))


class TestFailedOnce:
    """Small enough to read."""

    def test_columns_that_a_formula_does_not_use_may_hold_anything(self) -> None:
        data = pd.DataFrame({"y": [1.0, 2.5, 2.0, 4.0], "x": [1, 2, 3, 4]})
        data["odd"] = [1j, "a", object(), None]
        fit = ob.lm("y ~ x", data, engine="fast")
        assert fit.predict(data).num_rows == 4
        with pytest.raises(ob.InputError, match="column 'odd' holds values of the kinds complex, object, str"):
            ob.lm("y ~ odd", data, engine="fast")

    def test_so_may_those_that_reliability_does_not_use(self) -> None:
        data = pd.DataFrame({"item": [1, 1, 2, 2] * 3, "participant": list("abab") * 3, "rating": [1, 2, 3, 3] * 3})
        data["item"] = np.repeat(range(6), 2)
        data["odd"] = [1j, "a"] * 6
        assert reliability.krippendorff_alpha(data).estimate is not None

    def test_a_name_with_nul_does_not_reach_polars(self) -> None:
        polars = pytest.importorskip("polars")
        with pytest.raises(ob.InputError, match="has a NUL character; rename it"):
            tables.to_arrow(polars.DataFrame({"a\0b": [1, 2]}))

    def test_a_category_of_anything_is_its_values(self) -> None:
        polars = pytest.importorskip("polars")
        made = polars.DataFrame({"item": [1, 1, 2, 2], "participant": ["a", "b"] * 2, "rating": ["x", "y", "x", "x"]})
        made = made.with_columns(polars.col("rating").cast(polars.Categorical))
        assert reliability.prepare(made).categories == ("x", "y")

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore::ordbridge.StatisticalWarning")
    def test_criteria_and_groups_of_a_frame_of_polars(self) -> None:
        polars = pytest.importorskip("polars")
        rows = [
            (i, p, c, 1 + (i + len(c) + (p > "b")) % 4) for i in range(6) for p in "abcd" for c in ("style", "sense")
        ]
        names = ["item", "participant", "criterion", "rating"]
        data = pd.DataFrame(rows, columns=names).assign(group=lambda d: d.participant.replace({"b": "a", "d": "c"}))
        expected, found = (
            reliability.analyse(frame, criterion="criterion", group="group").coefficients
            for frame in (data, polars.from_pandas(data))
        )
        assert found.num_rows and found.to_pylist() == expected.to_pylist()

    def test_names_in_a_damaged_file_need_not_be_unicode(self, tmp_path: Path) -> None:
        data = pd.DataFrame({"item": [1, 2], "ratingratingrating": [3, 4]})
        data.to_feather(tmp_path / "good.feather")
        broken = (tmp_path / "good.feather").read_bytes().replace(b"ratingratingrating", b"rat\xf1ngratingrating")
        (tmp_path / "bad.feather").write_bytes(broken)
        for reader in (tables.read, ob.read):
            with pytest.raises(ob.InputError, match=r"bad\.feather: it is damaged"):
                reader(tmp_path / "bad.feather")

    def test_numbers_of_every_length(self) -> None:
        data = {"y": np.arange(5, dtype=np.longdouble), "whole": [10**30, np.int64(3), None, 5, 6]}
        table = tables.to_arrow(pd.DataFrame(data))
        assert table["y"].to_pylist() == [0, 1, 2, 3, 4]
        assert table["whole"].to_pylist()[:2] == [10**30, 3]

    @pytest.mark.parametrize(
        ("scale", "sentence"),
        [((1, float("inf")), "must be finite"), ((0, 10**9), "more than 5,000 points"), ((1, "a"), "has words")],
    )
    def test_a_scale_without_an_end(self, scale: tuple, sentence: str) -> None:
        with pytest.raises(ob.InputError, match=sentence):
            reliability.prepare([[1, 2], [3, 2]], scale=scale)

    def test_a_criterion_of_a_kind_that_arrow_cannot_tell_apart(self) -> None:
        who, what = list("abab") * 2, [1, 1, 2, 2] * 2
        data = {"item": what, "participant": who, "rating": [1, 2, 3, 3, 2, 2, 3, 1]}
        data["criterion"] = [uuid.UUID(int=k // 4) for k in range(8)]
        with pytest.raises(ob.InputError, match="there is a column 'criterion': give criterion='criterion'"):
            reliability.generalizability(data, draws=2)
        assert len(reliability.analyse(data, criterion="criterion").ratings) == 2  # read as text

    @pytest.mark.parametrize(
        "scores", [["a", "b"], [1j, 2j], [[1, 1], [1], []], np.array([1j, 2.0]), pd.Categorical(["x", "y"]), [None, 1]]
    )
    def test_scores_that_are_no_numbers(self, scores: object) -> None:
        for ask in (reliability.t_interval, lambda given: reliability.raters_needed(given, margin=1)):
            with pytest.raises(ob.InputError, match=r"not all numbers|give a (finite )?number"):
                ask(scores)

    def test_an_error_is_one_line_whatever_the_names_are(self) -> None:
        with pytest.raises(ob.InputError) as caught:
            ob.lm("y ~ x", {"y": [1, 2], "a\n\x1b[31mb": [1, 2], "n" * 90_000: [1, 2]}, engine="fast")
        assert "a\\n\\x1b[31mb" in str(caught.value)
        assert str(caught.value).isprintable() and len(str(caught.value)) < 2100
