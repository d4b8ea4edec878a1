"""Plans made by hand and studies to go with them, for tests of looks and of planned analyses."""

from dataclasses import fields

import pyarrow as pa

import ordbridge as ob
from ordbridge.design import counterbalanced
from ordbridge.planning import Costs, Designs, PlannedAnalysis, Protocol, Simulation
from ordbridge.planning.stopping import boundaries
from ordbridge.simulate import Truth, ratings

MIXED = "rating ~ system + (1 | participant) + (1 | item)"
TRUTH = Truth(effects=0.0, thresholds=(-1, 0, 1), participant_sd=(0.4, 0.0), item_sd=(0.4, 0.0))
DESIGN = counterbalanced(24, 2, texts_per_participant=8)  # 12 participants


def protocol(model="clmm", *, looks=2, shape="pocock", people=12, wider=1.0, **changes):
    """Return a plan whose boundaries are ``wider`` times those of normal theory, with or without looks."""
    ordinal, mixed = model in ("clm", "clmm"), model in ("clmm", "lmer")
    rows = []
    for number, normal in enumerate(boundaries(looks, shape=shape) if looks else (), 1):
        share = number / looks
        at = round(share * people)
        rows.append({"look": number, "share": share, "participants": at, "ratings": 8 * at, "critical": wider * normal,
                     "normal": normal, "p_value": 0.0, "stops_null": 0.0, "stops": 0.0})  # fmt: skip
    values = {
        "systems": ("A", "B"),
        "family": "pair",
        "pairs": (("A", "B"),),
        "model": model,
        "formula": MIXED if mixed else "rating ~ system",
        "link": "probit" if ordinal else None,
        "REML": True if model == "lmer" else None,
        "test": "z" if ordinal else "t",
        "alpha": 0.05,
        "target": 0.8,
        "critical_value": 0.05,
        "calibrated": False,
        "goal": "difference",
        "margin": None,
        "on": None,
        "criteria": 1,
        "items": 24,
        "ratings_per_text": 2.0,
        "participants": people,
        "ratings": 8 * people,
        "texts_per_participant": 8,
        "recruit": people,
        "levels": 4,
        "answer": "",
        "looks": tuple(rows),
        "shape": shape if looks else None,
    }
    return Protocol(**{**values, **changes})


def study(effect=0.0, seed=0, truth=TRUTH, design=DESIGN):
    """Return the ratings of a whole study."""
    return ratings(design, truth.shift(effect=effect), seed=seed)


def first(table, people):
    """Return the ratings of the first participants."""
    names = set(list(dict.fromkeys(table["participant"].to_pylist()))[:people])
    return table.filter(pa.array([name in names for name in table["participant"].to_pylist()]))


def planned(truth, effect=None, **flat):
    """Plan with the fields of all objects as keywords; those of the costs begin with ``cost_``."""
    kinds = {"analysis": PlannedAnalysis, "designs": Designs, "costs": Costs, "simulation": Simulation}
    made = {}
    for name, kind in kinds.items():
        prefix = "cost_" if kind is Costs else ""
        given = {field.name: flat.pop(prefix + field.name) for field in fields(kind) if prefix + field.name in flat}
        made[name] = kind(**given)
    return ob.plan(truth, effect=effect, **made, **flat)
