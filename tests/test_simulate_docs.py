"""The examples of docs/simulation.md are true."""

import doctest
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_examples_on_the_page_about_simulation():
    found = doctest.testfile(str(DOCS / "simulation.md"), module_relative=False)
    assert found.attempted > 10 and not found.failed


def test_the_picture_is_there_and_named():
    assert "(latent-zero.png)" in (DOCS / "simulation.md").read_text(encoding="utf-8")
    assert (DOCS / "latent-zero.png").stat().st_size > 20_000
