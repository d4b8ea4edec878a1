"""How quickly the page of ``ordbridge app`` is there and its sliders answer, in Chromium: python benchmarks/app.py.

First paint is the browser's first-contentful-paint in a new profile. A round trip goes from the event of a slider over
a request, the closed form and the answer to the new sentence and curve in the page. Every step is one that was not
asked before. The second round runs while a study is being simulated in another tab.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright

from ordbridge.app.next_study import power_at_once

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
LOADS, STEPS, LARGE = 5, 29, 27_000_000
ROUND_TRIP = """async ([name, values]) => { const slider = document.getElementById(name), spent = [];
    for (const value of values) spent.push(await new Promise(done => {
        const began = performance.now();
        new MutationObserver((_, one) => { one.disconnect(); done(performance.now() - began); })
            .observe(document.getElementById('power'), {childList: true});
        slider.value = value;
        slider.dispatchEvent(new Event('input', {bubbles: true}));
    }));
    return spent; }"""


def opened(browser: Any, address: str) -> tuple[Any, float]:
    """Return a tab with the page, and its first paint in milliseconds."""
    tab = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    tab.goto(address)
    tab.click("#tab-next")
    tab.wait_for_selector("#power:has-text('% power')", timeout=60_000)
    return tab, tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")


def moved(tab: Any, setting: str) -> list[float]:
    """Return the milliseconds of the round trips of two sliders; the setting makes every step a new one."""
    tab.select_option("#setting", setting)
    tab.wait_for_timeout(500)
    points = [round(0.05 * step, 2) for step in range(1, STEPS + 1) if step != 8]
    items = list(range(20, 20 + 20 * STEPS, 20))
    return tab.evaluate(ROUND_TRIP, ["points", points]) + tab.evaluate(ROUND_TRIP, ["items", items])


def computed(slider: str, values: list[float]) -> list[float]:
    """Return the milliseconds of processor time of the formula behind a slider."""
    asked = {"setting": "representative", "spread": 1.0, "points": 0.4, "items": 100, "ratings": 3, "price": 0.1}
    power_at_once(asked)
    spent = []
    for value in values:
        began = time.process_time()
        power_at_once({**asked, slider: value})
        spent.append(1000 * (time.process_time() - began))
    return spent


def told(what: str, spent: list[float]) -> None:
    """Print a row."""
    ordered = sorted(spent)
    tail = ordered[int(0.95 * (len(ordered) - 1))]
    print(f"| {what} | {median(ordered):.0f} ms | {tail:.0f} ms | {ordered[-1]:.0f} ms | {len(ordered)} |")


def large_file(path: Path) -> int:
    """Write 27 MB of ratings; return how many."""
    lines, size, n = ["annotator_id,document_id,system,rating,comment\n"], 0, 0
    while size < LARGE:
        who, what = f"worker_{n % 300:04d}", f"newstest-2021-{n // 4 % 3000:05d}"
        lines.append(f"{who},{what},system-{'ABCD'[n % 4]},{1 + n * 7 % 5},ok\n")
        size, n = size + len(lines[-1]), n + 1
    path.write_text("".join(lines), encoding="utf-8")
    return n


def main() -> None:
    """Start the page and measure it."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        began = time.perf_counter()
        command = [sys.executable, "-m", "ordbridge", "app", "--no-browser"]
        app = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": folder})
        assert app.stdout is not None
        address = app.stdout.readline().split()[4]
        start = time.perf_counter() - began
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        tabs = [opened(browser, address) for _ in range(LOADS)]
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
        print(f"{os.cpu_count()} cores, load {load:.1f}; from the command to the address: {start:.1f} s\n")
        print("| what | median | 95% below | slowest | times |")
        print("|---|---|---|---|---|")
        told("first paint", [paint for _, paint in tabs])
        first, second = tabs[0][0], tabs[1][0]
        told("round trip of a slider", moved(first, "low"))
        second.fill("#items", "400")
        second.click("[data-job=confirm]")
        second.wait_for_selector("[data-of=confirm] progress", timeout=60_000)
        told("the same, while another tab simulates", moved(first, "high"))
        told("processor time of the formula, items moved", computed("items", list(range(110, 310, 10))))
        told("the same, difference moved", computed("points", [round(0.05 * step, 2) for step in range(9, 29)]))
        n = large_file(Path(folder) / "large.csv")
        began = time.perf_counter()
        second.click("#tab-analyse")
        second.set_input_files("#file", Path(folder) / "large.csv")
        second.wait_for_selector("#file-status:has-text('Read large.csv')", timeout=600_000)
        print(f"\n{LARGE / 1e6:.0f} MB, {n:,} ratings, read and checked: {time.perf_counter() - began:.1f} s")
        browser.close()
        app.terminate()
        app.communicate()


if __name__ == "__main__":
    main()
