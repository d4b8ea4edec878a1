"""Judge the committed tables of Howcroft & Rieser (2021) again, by the rules as they are now.

python tools/judge_committed_run.py

It reads the tables in docs/reproduction/howcroft2021 and writes claims.csv and left_open.csv there. Verdicts follow
from the tables, so that a better rule needs no new simulation.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from ordbridge.papers.howcroft_evidence import Evidence, judged

EVIDENCE = Path(__file__).resolve().parents[1] / "docs" / "reproduction" / "howcroft2021"
FIRST, SECOND = "corrected", "published"  # the deciding cells were run with the first


def verdicts() -> dict[str, pa.Table]:
    """Return both tables of verdicts by name."""
    evidence = {
        variant: Evidence(_read(f"power_{variant}"), _read(f"differences_{variant}"), deciding)
        for variant, deciding in ((FIRST, _read("deciding")), (SECOND, _read(f"power_{SECOND}").slice(0, 0)))
    }
    claims, left_open = judged(evidence, _read("questions"))
    return {"claims": claims, "left_open": left_open}


def _read(name: str) -> pa.Table:
    return csv.read_csv(EVIDENCE / f"{name}.csv")


if __name__ == "__main__":
    for name, table in verdicts().items():
        csv.write_csv(table, EVIDENCE / f"{name}.csv")
        print(f"wrote {name}.csv: {table.num_rows} rows")
