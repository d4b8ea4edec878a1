"""Make a small report of every kind, and pictures of them in a browser: python tools/gallery.py [FOLDER].

Without a folder the pictures of the documentation are made again, in docs/gallery/: of every kind of report one, with
its three widths side by side.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ordbridge as ob
from ordbridge.papers import gladkoff2023
from ordbridge.planning import Costs, Designs, PlannedAnalysis, Simulation
from ordbridge.power import Grid, run
from ordbridge.simulate import Truth, ratings

DOCS = Path(__file__).resolve().parents[1] / "docs" / "gallery"
WIDTHS = {"wide": 1280, "tablet": 768, "phone": 390}
SMALL, GAP, COLOURS = 0.55, 24, 128  # of the pictures in the documentation
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


def results(wanted: Sequence[str] = ()) -> dict[str, Any]:
    """Return a small result of every kind, or of those that are wanted, by the native engine."""
    two = Truth(effects=(0.6,), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.0), item_sd=(0.4, 0.0))
    three = Truth(
        effects=(0.5, 1.1), thresholds=(-1.5, -0.3, 0.9, 2), participant_sd=(0.6, 0.2, 0.2), item_sd=(0.5, 0.2, 0.2)
    )
    study = ratings(ob.design.crossed(items=20, raters=12, systems=3), three, seed=4)
    names = {"A": "baseline", "B": "fine-tuned", "C": "with retrieval"}
    study = study.set_column(
        study.column_names.index("system"), "system", [[names[s] for s in study["system"].to_pylist()]]
    )
    formula = "rating ~ system + (1 | participant) + (1 | item)"
    design = {"kind": "counterbalanced", "texts_per_participant": 10}
    grid = Grid(truth=two, design=design, items=[20, 40], ratings_per_text=2, effect=[0.0, 0.3, 0.6])
    make: dict[str, Callable[[], Any]] = {
        "comparison": lambda: ob.compare(study, engine="fast"),
        "preferences": lambda: ob.compare(votes(), engine="fast"),
        "fit": lambda: ob.clmm(formula, study, link="probit", engine="fast").explain(),
        "run": lambda: run(grid, ["lm", "clm"], datasets=40, engine="fast"),
        "plan": lambda: ob.plan(
            two,
            analysis=PlannedAnalysis("clm"),
            designs=Designs([20, 30, 40, 60, 80], [1, 2, 3], texts_per_participant=10),
            costs=Costs(rating=0.1, participant=1.0, currency="£"),
            simulation=Simulation(datasets=1500, max_per_design=500, null_datasets=0),
        ),
        "reliability": lambda: ob.reliability.analyse(study),
        "judge": lambda: ob.judges.analyse(judged(), "gpt"),
        "scales": lambda: ob.scales.compare(*on_two_scales(), names=("five points", "slider")),
        "logs": judgements,
        "reproduction": gladkoff2023.reproduce,
    }
    return {name: made() for name, made in make.items() if not wanted or name in wanted}


def on_two_scales() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return ratings of four systems on five points, and by other noise on a slider from 0 to 100."""
    rng = np.random.default_rng(2)
    cells = [(s, i, r) for s in range(4) for i in range(12) for r in range(6)]
    system, item, rater = (np.array(side) for side in zip(*cells, strict=True))
    names = np.array(["baseline", "fine-tuned", "with retrieval", "human"])[system]
    true = 0.5 * system + rng.normal(scale=0.6, size=12)[item] + rng.normal(scale=0.3, size=6)[rater]
    five, slider = (true + rng.normal(scale=noise, size=len(true)) for noise in (0.6, 0.9))
    columns = {"system": names, "item": item, "participant": rater}
    return (
        {**columns, "rating": np.clip(np.round(3 + five), 1, 5)},
        {**columns, "rating": np.clip(50 + 18 * slider, 0, 100)},
    )


def votes() -> dict[str, Any]:
    """Return preferences of eight raters between three systems, of which one is better."""
    rng = np.random.default_rng(3)
    names, strength = ["baseline", "fine-tuned", "with retrieval"], np.array([0.0, 0.3, 0.9])
    pairs = [(0, 1), (0, 2), (1, 2)]
    rows = [(f"P{r}", f"i{i}", *pairs[k]) for r in range(8) for i in range(10) for k in range(3)]
    gap = [strength[a] - strength[b] + rng.logistic() for *_, a, b in rows]
    winner = ["tie" if abs(g) < 0.4 else "model_a" if g > 0 else "model_b" for g in gap]
    return {"rater": [row[0] for row in rows], "item": [row[1] for row in rows],
            "model_a": [names[row[2]] for row in rows], "model_b": [names[row[3]] for row in rows],
            "winner": winner}  # fmt: skip


def judgements() -> Any:
    """Return a comparison of three models from a log of judgements."""
    rng = np.random.default_rng(6)
    hard = rng.normal(scale=1.5, size=80)
    scores = {name: np.clip(np.round(6.5 + shift + hard + rng.normal(size=80)), 1, 10)
              for name, shift in {"baseline": 0.0, "fine-tuned": 0.2, "with retrieval": 0.8}.items()}  # fmt: skip
    lines = [
        json.dumps(
            {"question_id": 81 + n, "turn": 1, "model": name, "judge": ["gpt-4", "single-v1"], "score": float(score)}
        )
        for name, own in scores.items()
        for n, score in enumerate(own)
    ]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "judgements.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8")
        return ob.logs.compare(file)


def judged() -> dict[str, Any]:
    """Return ratings by three people and a judge, who likes one system a little."""
    rng = np.random.default_rng(1)
    true, system = rng.normal(3, 1, 80), np.array(["A", "B"])[np.arange(80) % 2]
    seen = [np.clip(np.round(true + rng.normal(scale=0.6, size=80)), 1, 5) for _ in range(3)]
    seen.append(np.clip(np.round(true + 0.4 * (system == "B") + rng.normal(scale=0.7, size=80)), 1, 5))
    people = np.repeat(["ann", "bo", "cy", "gpt"], 80)
    item = np.tile([f"i{k // 2}" for k in range(80)], 4)
    return {"item": item, "system": np.tile(system, 4), "participant": people, "rating": np.concatenate(seen)}


def photograph(files: dict[str, Path], folder: Path) -> None:
    """Write a picture of every page at every width, of its first screens, and one in the dark."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, file in files.items():
            for kind, width in [*WIDTHS.items(), ("dark", 1280)]:
                scheme = "dark" if kind == "dark" else "light"
                context = browser.new_context(viewport={"width": width, "height": 1400}, color_scheme=scheme)
                tab = context.new_page()
                tab.goto(file.as_uri())
                tab.screenshot(path=folder / f"{name}-{kind}.png")
                context.close()
        browser.close()


def sheet(pictures: list[Path], file: Path) -> None:
    """Put pictures side by side into one that is small enough for the documentation."""
    from PIL import Image

    parts = [Image.open(path).convert("RGB") for path in pictures]
    parts = [part.resize((round(SMALL * part.width), round(SMALL * part.height)), Image.LANCZOS) for part in parts]
    wide = sum(part.width for part in parts) + GAP * (len(parts) - 1)
    whole = Image.new("RGB", (wide, parts[0].height), "#c8c8c8")
    left = 0
    for part in parts:
        whole.paste(part, (left, 0))
        left += part.width + GAP
    whole.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)


def photograph_app(file: Path) -> None:
    """Write a picture of the app with its demo file."""
    import threading

    from playwright.sync_api import sync_playwright

    from ordbridge.app import Server

    server = Server()
    threading.Thread(target=server.serve, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        tab = browser.new_context(viewport={"width": 1360, "height": 900}).new_page()
        tab.goto(server.address)
        tab.click("#demo")
        tab.wait_for_selector("[data-of=compare] img", timeout=120000)
        tab.wait_for_selector("#engine-note:has-text('R ')", timeout=120000)
        tab.wait_for_timeout(500)
        tab.screenshot(path=file, full_page=True)
        browser.close()
    server.close()


def main() -> None:
    """Make all pages, photograph them, and keep the pictures."""
    with TemporaryDirectory() as temporary:
        where = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary)
        where.mkdir(parents=True, exist_ok=True)
        made = results()
        files = {name: made[name].page("ordbridge …").write(where / f"{name}.html") for name in made}
        photograph(files, where)
        if len(sys.argv) == 1:
            DOCS.mkdir(exist_ok=True)
            for name in files:
                sheet([where / f"{name}-{kind}.png" for kind in WIDTHS], DOCS / f"{name}.png")
            sheet([where / "comparison-dark.png"], DOCS / "comparison-dark.png")
            photograph_app(DOCS / "app.png")


if __name__ == "__main__":
    main()
