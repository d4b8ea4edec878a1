"""The page builder: escaped, self-contained, whole."""

import re
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from ordbridge.errors import InputError
from ordbridge.render.cells import cell
from ordbridge.render.html import Page


class Balanced(HTMLParser):
    """Check that every element that is opened is closed."""

    empty = frozenset({"meta", "br", "hr", "path", "use", "rect"})

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.identifiers = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.identifiers += [value for name, value in attrs if name == "id"]
        if tag not in self.empty:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)
        self.identifiers += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        if tag not in self.empty:
            assert self.open.pop() == tag


def figure():
    from matplotlib.figure import Figure

    drawing = Figure()
    drawing.subplots().plot([1, 2, 3])
    return drawing


def full_page():
    page = Page("A <title> & more")
    page.heading("One <b>").sentence("x < y & z").warning("mind <this>").sentences(["one", "<two>"])
    page.table(pa.table({"rater_name": ["<a>", "b"], "kappa": [0.12345, None], "empty": [None, None]}), "caption <c>")
    page.picture(figure(), 'a "quoted" <caption>').picture(figure(), "another").to_fill_in("Why <not>?")
    return page.html()


def test_everything_is_escaped_and_closed():
    html = full_page()
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    for raw in ("<title> &", "<b>", "<this>", "<two>", "<a>", "<c>", '<caption>"', "<not>"):
        assert raw not in html.replace("<title>A &lt;title&gt; &amp; more</title>", "")
    assert "x &lt; y &amp; z" in html
    assert parser.seen.count("svg") == 2
    assert parser.seen.count("caption") == 1


def test_nothing_comes_from_elsewhere_and_pictures_do_not_clash():
    html = full_page()
    parser = Balanced()
    parser.feed(html)
    assert parser.seen.count("script") == 1  # the one that sorts and copies, inside the file
    assert not {"link", "img", "iframe", "image", "metadata"} & set(parser.seen)
    assert len(parser.identifiers) == len(set(parser.identifiers))
    references = re.findall(r'(?:href="#|url\(#)([^")]+)', html)
    assert references
    assert set(references) <= set(parser.identifiers)
    for reference in ("@import", "src=", "DOCTYPE svg", 'href="http', "url(http"):
        assert reference not in html


def test_tables_leave_out_empty_columns_and_show_no_bare_nan():
    html = Page("t").table(pa.table({"rater_name": ["a"], "kappa": [float("nan")], "empty": [None]})).html()
    assert "rater name" in html
    assert ">empty<" not in html
    assert "nan" not in html.lower().split("</style>")[1]


def test_cells():
    assert [cell(value) for value in (0.12345, 2.0, 0.00001, 1234567.5, False, "x")] == [
        "0.123",
        "2",
        "1e-05",
        "1.23e+06",
        "no",
        "x",
    ]
    assert cell(0.0004, "p_value") == "< .001"
    assert cell(0.04, "p_value") == ".040"


def test_the_file_is_whole_and_named_html(tmp_path):
    path = Page("κ").sentence("γ").write(tmp_path / "page.html")
    assert "γ" in path.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(InputError, match=r"ends in \.html"):
        Page("x").write(tmp_path / "page.pdf")
    with pytest.raises(InputError, match="there is no folder"):
        Page("x").write(tmp_path / "nowhere" / "page.html")


def test_the_same_content_gives_the_same_file():
    assert full_page() == full_page()


def test_what_is_folded_comes_last_and_long_text_has_room():
    table = pa.table({"short": ["a"], "long": ["x" * 41], "number": [1]})
    page = Page("t")
    with page.folded("many <rows>"):
        page.table(table)
    with page.folded("left out"):
        pass
    html = page.sentence("before").html()
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert html.index("<p>before") < html.index("<details><summary>many &lt;rows&gt;</summary>")
    assert "left out" not in html
    assert '<td class="w">xxx' in html and '<td class="t">a' in html
    assert "<details>" not in Page("t").table(table, "many").html()


def test_the_headline_is_the_first_line_of_the_answer():
    html = Page("About").answer("A is higher by 3 points.", ["More words.", "at last"]).html()
    assert "<h1>A is higher by 3\u00a0points.</h1>" in html and '<p class="kicker">About</p>' in html
    assert "<li>More words.</li>" in html and "<li>at last</li>" in html
    assert "<h1>About</h1>" in Page("About").html()


def test_intervals_decide_on_digits():
    table = pa.table({
        "estimate": [0.123456, 2.0], "conf_low": [0.01, 1.9], "conf_high": [0.24, 2.1], "effect": [0.0, 0.25],
        "p_value": [0.0123, 0.5], "share": [0.123456, None],
    })  # fmt: skip
    html = Page("t").table(table).html()
    for shown in (">0.12<", ">2.00<", ">0.01<", ">0.25<", ">0.00<", ">.012<", ">0.123<"):
        assert shown in html
    wide = pa.table({"estimate": [3.14159], "conf_low": [1.0], "conf_high": [7.0]})
    assert ">3.1<" in Page("t").table(wide).html()


def test_every_interval_decides_on_the_digits_of_its_own_columns():
    table = pa.table({
        "judge": [0.39213], "judge_low": [0.25012], "judge_high": [0.53413], "people_only": [0.12345],
        "people_low": [0.0123], "people_high": [0.2345], "other": [0.12345],
    })  # fmt: skip
    html = Page("t").table(table).html()
    for shown in (">0.39<", ">0.25<", ">0.53<", ">0.12<", ">0.01<", ">0.23<", ">0.123<"):
        assert shown in html
    for name in ("judge from", "judge to", "people only", "people to"):
        assert f">{name}</th>" in html


def test_numbers_and_their_units_stay_on_one_line():
    page = Page("t").answer("A wins in 58% of studies (p < .001)", ["of 50 % or more", "p ≥ .05"]).warning("5% failed")
    html = page.sentence("κ = .3").html()
    for kept in ("58%", "p\u00a0&lt;\u00a0.001", "of 50% or", "p\u00a0≥\u00a0.05", "5% failed"):
        assert kept in html
    assert "κ\u00a0=\u00a0.3" in html


def test_short_text_does_not_wrap_and_long_text_does():
    names = pa.table({"short": ["with retrieval"], "longer": ["a name of a system and version 3"], "long": ["x " * 30]})
    html = Page("t").table(names).html()
    assert '<td class="t">with' in html and '<td class="m">a name' in html and '<td class="w">x' in html


def test_a_wide_picture_is_drawn_once_more_for_phones():
    from ordbridge.render.figures.style import empty_figure, title

    wide = empty_figure(9.6, 3.0)
    for panel in wide.subplots(1, 2, sharey=True):
        panel.plot([1, 2])
        title(panel, "What it shows", "how it is to be read, in a line that is too long for a phone")
    html = Page("t").picture(wide, "two panels").html()
    sizes = [tuple(map(float, size)) for size in re.findall(r'<svg[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"', html)]
    assert sizes[0] == (691.2, 216)
    assert sizes[1][0] < 300 and sizes[1][1] > 5 * 72  # one below the other, as wide as a phone
    assert html.count('class="phone"') == 1 and html.count('class="screen"') == 1
    assert tuple(wide.get_size_inches()) == (9.6, 3.0)  # the figure itself stays as it was
    identifiers = re.findall(r' id="([^"]+)"', html)
    assert len(identifiers) == len(set(identifiers))
    small = empty_figure(4.0, 3.0)
    small.subplots().plot([1, 2])
    assert Page("t").picture(small, "one").html().count("<svg") == 1


def test_long_names_beside_an_axis_have_two_lines_on_a_phone():
    from ordbridge.render.figures.style import empty_figure, narrowed

    figure = empty_figure(7.2, 2.0)
    panel = figure.subplots()
    panel.set_yticks([0, 1], ["reliability of averages over all 12 raters", "short"])

    def names():
        return [label.get_text() for label in panel.get_yticklabels()]

    before = names()
    with narrowed(figure) as small:
        assert small is figure and names() == ["reliability of\naverages over all 12\nraters", "short"]
    assert names() == before
