"""The documentation site: it builds in strict mode, is whole, and takes nothing from the network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from ordbridge.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("mkdocs", "material", "mkdocstrings"))) or not (ROOT / "mkdocs.yml").exists(),
    reason="no mkdocs here",
)


def build(root, folder, code=0):
    """Build the site, and return what mkdocs says; not with --quiet, where warnings do not count."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build(ROOT, folder)
    return folder


def test_strict_means_strict(tmp_path):
    """A link to nowhere ends the build."""
    (tmp_path / "mkdocs.yml").write_text("site_name: here\nplugins: []\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Here\n\n[there](nowhere.md)\n")
    assert "nowhere.md" in build(tmp_path, tmp_path / "site", code=1)


class Fetched(HTMLParser):
    """Collect what a browser would fetch for a page."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        wanted = {"script": "src", "img": "src", "iframe": "src", "link": "href"}.get(tag)
        self.addresses += [value for name, value in attrs if name == wanted]


@pytest.mark.slow
def test_every_page_is_there_and_fetches_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    sources = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert sources <= {page.relative_to(site) for page in pages}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        parser = Fetched()
        parser.feed(text)
        assert parser.addresses
        for address in parser.addresses:
            assert not re.match(r"(https?:)?//", address), (page, address)
            if page.name != "404.html":  # which has addresses from the root
                assert (page.parent / address.partition("?")[0].partition("#")[0]).exists(), (page, address)
        for style in re.findall(r"<style.*?</style>", text, re.DOTALL):
            assert "http" not in style
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert styles
    assert not any(re.search(r"url\(['\"]?(https?:)?//", style) for style in styles)


@pytest.mark.slow
def test_the_reference_has_docstrings_and_the_help_of_every_command(site):
    power = (site / "reference" / "power.html").read_text(encoding="utf-8")
    assert "Find the smallest, or cheapest, design that reaches a power, and its type-I error." in power
    assert 'id="ordbridge.planning.plan"' in power
    for page in (site / "reference").glob("*.html"):
        assert not re.search(":(func|class|meth|mod):<", page.read_text(encoding="utf-8")), page
    commands = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"usage: ordbridge {name}" in commands
