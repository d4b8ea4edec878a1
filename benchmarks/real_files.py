"""Time of ``ob.compare`` on the real rating files, and where R and the native engine decide differently.

    python benchmarks/real_files.py FOLDER [--engine fast r] [--only NAME]

Every file of ratings in FOLDER, read with the options that its columns need. Prints processor seconds of each engine,
how many pairs differ, and every pair whose decision at .05 after the correction is not the same in both.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import ordbridge as ob
from ordbridge.comparison import CompareOptions

FILES: dict[str, dict[str, Any]] = {
    "affecteventgen_human_eval.csv": {"participant": "none", "rating": ["Fluent", "Coherence"]},
    "deadpan_annotations.csv": {
        "participant": "expID,participant", "item": "composer,pieceID", "rating": ["valence", "arousal"],
    },
    "frank_human_annotations.json": {"rating": "Factuality"},
    "mathwell_eval_annotations.csv": {
        "item": "row", "participant": "none", "rating": ["solvability", "accuracy", "appropriateness"],
    },
    "mqm_ted_ende.tsv": {},
    "mslr_A1.tsv": {},
    "rankme_stp1_likert.csv": {},
    "rankme_stp1_rankME.csv": {"magnitude": True},
    "reprogen_qader_reformatted.csv": {"item": "index", "criterion": "name"},
    "reprohum_defcomplex_results.xlsx": {},
    "asset_pairwise.csv": {},
    "jfleg_pairwise.csv": {},
    "reprohumD2T_Coherence.xlsx": {},
    "twostage_human_eval.csv": {},
    "wmt16it_eng-bul.csv": {},
    "cvssp_ratings.csv": {"item": "page", "system": "sound", "criterion": "experiment"},
}  # fmt: skip


def decisions(found: Any) -> dict[tuple[str, str, str], tuple[bool, float]]:
    """Return for each pair whether it differs, and its corrected p-value."""
    p_values = {}
    for row in found.pairs.to_pylist():
        a, b = sorted((row["system_a"], row["system_b"]))
        p = row["p_adjusted"]
        p_values[row.get("criterion") or "", a, b] = (p is not None and p < 0.05, float("nan") if p is None else p)
    return p_values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", nargs="+", default=["fast", "r"])
    parser.add_argument("--only")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| file | {' s | '.join(asked.engine)} s | pairs | differ |\n{'|---' * (3 + len(asked.engine))}|")
    apart = []
    for name, options in FILES.items():
        if asked.only not in (None, name):
            continue
        reading = dict(options)
        more = CompareOptions(magnitude=reading.pop("magnitude", False))
        seconds, found = [], []
        for engine in asked.engine:
            start = time.process_time()
            try:
                ratings: Any = ob.read(asked.folder / name, **reading)
            except ob.reading.preferences.PreferencesFound as recognised:
                ratings = recognised.preferences
            found.append(decisions(ob.compare(ratings, engine=engine, options=more)))
            seconds.append(f"{time.process_time() - start:.1f}")
        differ = [str(sum(one for one, _ in its.values())) for its in found]
        print(f"| {name} | {' | '.join(seconds)} | {len(found[0])} | {', '.join(dict.fromkeys(differ))} |", flush=True)
        apart += [
            f"{name}: {' '.join(key)} {', '.join(f'{one[key][1]:.4g}' for one in found)}"
            for key in found[0]
            if len({one[key][0] for one in found}) > 1
        ]
    if len(asked.engine) > 1:
        print(f"\ndecided differently: {len(apart)}", *apart, sep="\n")


if __name__ == "__main__":
    main()
