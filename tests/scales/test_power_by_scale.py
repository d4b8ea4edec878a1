"""Which scale detects more from the same latent quality."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.scales.power_by_scale import on_scale
from ordbridge.simulate import Simulator, Truth

TRUTH = Truth(effects=(0.5,), thresholds=(-1.2, -0.3, 0.2, 1.1), participant_sd=(0.4, 0.1), item_sd=(0.4, 0.1))


@pytest.fixture(scope="module")
def design() -> object:
    return ob.design.counterbalanced(items=40, ratings_per_text=3, texts_per_participant=20)


@pytest.mark.parametrize("k", [2, 3, 5, 7, 10])
def test_k_categories_are_the_slider_cut_into_k_parts(k: int, design: object) -> None:
    marks, _ = Simulator(design, on_scale(TRUTH, "vas")).draw(7)
    categories, _ = Simulator(design, on_scale(TRUTH, f"ordinal:{k}")).draw(7)
    np.testing.assert_array_equal(categories, np.clip(np.ceil(marks * k / 100), 1, k))


def test_the_truths_own_scale_comes_back() -> None:
    assert on_scale(TRUTH, "ordinal:5").thresholds == pytest.approx(TRUTH.thresholds)


@pytest.mark.needs_r
def test_two_categories_detect_less(design: object, tmp_path: Path) -> None:
    scales = ob.scales
    arguments = {"scales": ["ordinal:2", "ordinal:7", "vas"], "models": ["lm", "clm"], "datasets": 150, "seed": 3}
    table = scales.power(TRUTH, design, **arguments, store=tmp_path / "runs")
    power = {(row["scale"], row["model"]): row["power"] for row in table.to_pylist()}
    assert set(power) == {
        ("ordinal:2", "lm"), ("ordinal:2", "clm"), ("ordinal:7", "lm"), ("ordinal:7", "clm"), ("vas", "lm"),
    }  # fmt: skip
    assert power["ordinal:2", "lm"] < power["ordinal:7", "lm"]
    again = scales.power(TRUTH, design, **arguments, store=tmp_path / "runs")
    assert again.equals(table)


@pytest.mark.parametrize(
    ("scale", "sentence"),
    [
        ("likert", "there is no scale 'likert'; write 'ordinal:k'"),
        ("ordinal:1", "there is no scale 'ordinal:1'"),
    ],
)
def test_unknown_scales(scale: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        on_scale(TRUTH, scale)


def test_thresholds_must_be_fixed() -> None:
    with pytest.raises(InputError, match="needs a truth with fixed thresholds"):
        on_scale(ob.papers.howcroft2021.settings["low"], "vas")


def test_an_ordinal_model_cannot_analyse_a_slider(design: object) -> None:
    with pytest.raises(InputError, match="none of the models clm can analyse the scale 'vas'; add lmer"):
        ob.scales.power(TRUTH, design, scales=["vas"], models=["clm"], datasets=2)
