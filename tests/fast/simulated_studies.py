"""Two hundred small studies, the same on every machine, on which a new core must repeat the answers of the old one.

Only the uniform stream of PCG64 is used, which numpy keeps from version to version; everything else is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

LINKS = ("probit", "logit", "cloglog", "loglog", "cauchit")
THRESHOLDS = ("flexible", "symmetric", "equidistant")
RANDOM = ("1p", "sp", "1p+1i", "sp+si", "sp+1i", "1p+si")  # 1: intercept, s: intercept and slope; p, i: who and what


class Study(NamedTuple):
    """One dataset with the model to fit to it."""

    name: str
    model: str
    formula: str
    options: dict[str, Any]
    table: dict[str, np.ndarray]
    effects: tuple[str, ...]


def studies() -> Iterator[Study]:
    """Yield all studies; each depends on its place in the list only."""
    for number, (model, random, options) in enumerate(_list()):
        yield _study(number, model, random, options)


def _list() -> list[tuple[str, str, dict[str, Any]]]:
    ordinal = [{"link": link, "threshold": threshold} for link, threshold in product(LINKS, THRESHOLDS)]
    found: list[tuple[str, str, dict[str, Any]]] = [("clm", "", options) for options in 2 * ordinal]
    found += [("clmm", random, options) for random in RANDOM for options in ordinal]
    found += [("lm", "", {}) for _ in range(8)]
    found += [("lmer", random, {"REML": REML}) for _ in range(6) for random in RANDOM for REML in (True, False)]
    return found


def _study(number: int, model: str, random: str, options: dict[str, Any]) -> Study:
    stream = np.random.Generator(np.random.PCG64(1000 + number))

    def normal(*shape: int) -> np.ndarray:
        return np.asarray(ndtri(stream.random(shape)))

    people, items = 8 + number % 5, 6 + number % 7
    who, what = (g.ravel() for g in np.meshgrid(range(people), range(items), indexing="ij"))
    shape = number % 3  # every pair once; about half of them; two halves of the study that never meet
    if shape == 1:
        keep = stream.random(who.size) < 0.6
    elif shape == 2:
        keep = (who % 2) == (what % 2)
    else:
        keep = np.ones(who.size, dtype=bool)
    who, what = np.repeat(who[keep], 2), np.repeat(what[keep], 2)
    system = np.tile([0.0, 1.0], who.size // 2)
    table = {"person": who, "text": what, "system": system}
    effects: tuple[str, ...] = ("system",)
    if number % 4 == 3:
        table["length"] = np.round(10.0 * normal(items), 1)[what]
        effects = ("system", "length")
    spread = (0.0, 0.4, 1.0)[number % 3 if number % 2 else (number // 3) % 3]
    latent = 0.6 * system + spread * (normal(people)[who] + 0.5 * system * normal(people)[who])
    latent = latent + spread * (0.7 * normal(items)[what] - 0.4 * system * normal(items)[what]) + normal(who.size)
    terms = [
        f"({'1' if part[0] == '1' else 'system'} | {'person' if part[1] == 'p' else 'text'})"
        for part in random.split("+")
        if part
    ]
    y: np.ndarray = latent
    if model in ("clm", "clmm"):
        cuts = np.linspace(-1.2, 1.8, 2 + number % 4)
        y = (latent[:, None] > cuts).sum(axis=1)
    name = " ".join([f"{number}", model, random, *map(str, options.values())]).replace("  ", " ")
    formula = " + ".join(["y ~ " + " + ".join(effects), *terms])
    return Study(name, model, formula, options, table | {"y": y}, effects)
