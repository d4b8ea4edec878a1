"""R is told the same whatever a user calls columns and levels: nothing of a name can reach it.

What would go to R is recorded instead of sent. Under 366 hostile names it must be, to the last character, what it is
under harmless ones; and the harmless names, which occur nowhere else, are not in it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hostile_names as hostile
import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge import bridge
from ordbridge.bridge import rscript, session
from ordbridge.models import validation
from ordbridge.reading import tables

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = hostile.columns("MARKER", "/nowhere/MARKER")
LEVELS = NAMES + hostile.CONTROL + hostile.LONG


class Recorded(Exception):  # noqa: N818
    """Raised in place of R's answer."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Everything that was on its way to R; R itself cannot start."""
    found: list[Any] = []

    def record(function: str, arguments: Mapping[str, Any], timeout: float | None = None) -> None:
        found.append((function, plain(arguments)))
        raise Recorded

    def refuse() -> None:
        raise AssertionError("R was asked without bridge.call")

    for module in (bridge, session):
        monkeypatch.setattr(module, "call", record)
        monkeypatch.setattr(module, "require", lambda *packages: None)
    monkeypatch.setattr(session, "_get_session", refuse)
    return found


def plain(value: Any) -> Any:
    """Return an argument as nested lists, which can be compared."""
    if isinstance(value, np.ndarray):
        return [str(value.dtype.kind), *np.asarray(value).ravel().tolist()]
    if isinstance(value, Mapping):
        return [[str(key), plain(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)


FITS = {
    "lm": ("lm", "zqz ~ zqx + zqs * scale(zqw) + factor(zqg)", {}),
    "clm": ("clm", "zqy ~ zqs * zqx + I(zqw^2) + log(zqx + 10)", {}),
    "clmm": ("clmm", "zqy ~ zqs + poly(zqx, 2) + (zqx | zqg) + (1 | zqh)", {}),
    "clm, scale": ("clm", "zqy ~ zqs + zqx", {"scale": "~ zqs + zqw", "nominal": "~ zqx"}),
    "clm, weights": ("clm", "zqy ~ zqs + zqx", {"weights": "zqk", "offset": "zqw"}),
    "clmm, weights": ("clmm", "zqy ~ zqs + zqx + (1 | zqg)", {"weights": "zqk"}),
    "clmm, crossed": ("clmm", "zqy ~ zqs + zqx + (1 | zqg:zqs) + (zqs | zqh)", {}),
    "lmer": ("lmer", "zqz ~ zqs + zqx + zqw + (zqx | zqg) + (1 | zqh)", {}),
    "lmer, two bars": ("lmer", "zqz ~ zqs + zqx + (zqx + zqw || zqg) + (zqs || zqh)", {"ddf": "Kenward-Roger"}),
    "lmer, nested": ("lmer", "zqz ~ zqs * zqx + zqw + (1 | zqg/zqs) + (zqx || zqh/zqs)", {"REML": False}),
}


def tell(table: pd.DataFrame, disguise: hostile.Disguise | None, model: str, formula: str, options: dict) -> None:
    """Fit through R, as far as its door."""
    data = table if disguise is None else disguise.wear(table)
    formula = formula if disguise is None else disguise.formula(formula)
    options = options if disguise is None else disguise.options(options)
    with contextlib.suppress(Recorded):
        getattr(ob, model)(formula, data, **options)


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.slow
def test_fits(kind: str, sent: list[Any]) -> None:
    table = hostile.harmless()
    tell(table, None, *FITS[kind])
    (expected,) = sent
    assert not [text for text in strings(expected) if "zq" in text or "zl" in text]
    for rotation in range(len(hostile.COLUMNS)):  # every name in every place
        for disguise in hostile.disguises(NAMES, LEVELS, rotation):
            sent.clear()
            tell(table, disguise, *FITS[kind])
            assert sent == [expected], disguise


def questions(fit: ob.Fit, factor: str, new: Any) -> list[Callable[[], Any]]:
    """Return what a fit may ask of R later: contrasts, means, predictions, intervals and tests of terms."""
    through_r = dataclasses.replace(fit, engine="r")
    asks: list[Callable[[], Any]] = [
        lambda: fit.contrasts(factor),
        lambda: through_r.contrasts(factor, adjust="tukey"),
        lambda: through_r.predict(),
        lambda: through_r.predict(new, kind="marginal"),
    ]
    asks += [
        lambda: through_r.means(factor),
        lambda: through_r.equivalence(factor, margin=0.5),
        lambda: through_r.test(),
        lambda: through_r.test(method="lrt"),
        lambda: through_r.test(method="bootstrap", draws=2),
        lambda: through_r.simulate(),
    ]
    if fit.problem.model == "lmer":
        asks += [lambda: ob.anova(fit), lambda: ob.anova(through_r)]
        asks += [lambda: fit.test(method="f"), lambda: through_r.test(method="f")]
    return asks


ASKED = {
    "lm": ("lm", "zqz ~ zqx + zqs * scale(zqw)"),
    "clm": ("clm", "zqy ~ zqs * zqx + I(zqw^2)"),
    "clmm": ("clmm", "zqy ~ zqs + zqx + (1 | zqg) + (1 | zqh)"),
    "lmer": ("lmer", "zqz ~ zqs + zqx + (zqx || zqg) + (1 | zqh)"),
}


@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.slow
def test_what_a_fit_asks_later(kind: str, sent: list[Any]) -> None:
    """A native fit needs no R; what it asks afterwards is recorded."""
    table = hostile.harmless()
    model, formula = ASKED[kind]
    for ask in questions(getattr(ob, model)(formula, table, engine="fast"), "zqs", table.head(6)):
        with contextlib.suppress(Recorded):
            ask()
    expected = list(sent)
    assert not [text for text in strings(expected) if "zq" in text or "zl" in text]
    for disguise in hostile.disguises(NAMES, LEVELS, rotation=2):
        sent.clear()
        worn = disguise.wear(table)
        fit = getattr(ob, model)(disguise.formula(formula), worn, engine="fast")
        for ask in questions(fit, disguise.column["zqs"], worn.head(6)):
            with contextlib.suppress(Recorded):
                ask()
        assert [name for name, _ in sent] == [name for name, _ in expected]
        for (_, mine), (_, harmless) in zip(sent, expected, strict=True):
            assert list(strings(mine)) == list(strings(harmless)), disguise


@pytest.mark.parametrize("name", hostile.LONG, ids=lambda name: f"{name[:6]}…")
def test_very_long_names(name: str, sent: list[Any]) -> None:
    table = hostile.harmless()
    levels = {f"zl{i:02d}": f"{name}{i}" for i in range(23)}
    for model, formula in (("lmer", "zqz ~ zqs + (1 | zqg)"), ("clmm", "zqy ~ zqx + (1 | zqh)"), ("lm", "zqz ~ zqx")):
        for column in [column for column in ("zqs", "zqx", "zqg", "zqh") if column in formula]:
            disguise = hostile.Disguise({c: c for c in table} | {column: name}, levels)
            sent.clear()
            tell(table, None, model, formula, {})
            tell(table, disguise, model, formula, {})
            assert sent[0] == sent[1]


def is_file(text: str) -> bool:
    return len(text) < 200 and Path(text).is_file()


SILENT = set(tables.MISSING_CODES)  # a CSV file reads these as missing


@pytest.mark.slow
def test_the_baseline_of_validate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Plain R in a process of its own sees no name either: not in its arguments, not in its files."""
    told: list[list[str]] = []

    def record(*arguments: str | Path) -> str:
        texts = [str(argument) for argument in arguments]
        told.append([Path(text).read_text() if is_file(text) else text for text in texts if not text.endswith(".R")])
        raise Recorded

    def fit_natively(model: str) -> Callable[..., ob.Fit]:
        original = getattr(validation.api, model)
        return lambda formula, data, **options: original(formula, data, engine="fast", **options)

    for model in ("lm", "clm", "clmm", "lmer"):
        monkeypatch.setattr(validation.api, model, fit_natively(model))
    monkeypatch.setattr(rscript, "run", record)
    table = hostile.harmless().astype({"zqy": str})
    table["zqy"] = table["zqy"].str[2:].astype(int)
    levels = sorted(set(LEVELS) - SILENT)
    for model, formula in ASKED.values():
        told.clear()
        for disguise in [None, *hostile.disguises(NAMES, levels, rotation=4)]:
            worn = table if disguise is None else disguise.wear(table)
            worn.to_csv(tmp_path / "ratings.csv", index=False)
            written = formula if disguise is None else disguise.formula(formula)
            with contextlib.suppress(Recorded):
                validation.validate(validation.Case("file", tmp_path / "ratings.csv", model, written))
        assert len(told) > 40  # all names, eight at a time
        assert not [text for text in told[0] if "zq" in text or "zl" in text]
        assert all(arguments == told[0] for arguments in told)
