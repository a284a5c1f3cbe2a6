"""The site: links of Markdown, notebooks and pages lead to where things are in it, and what is broken is found."""

import json
import re

import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.workflow import site
from tcpfair.workflow.plan import Plan
from tests import small_checkout
from tests.small_checkout import ROOT, put
from tests.web.browser import driven, needs_chromium

BUILT = ROOT / "results/bundled/site"
FRONT = '<body><section id="conclusions"><a href="report/ogura.html#ogura-c14">c14</a></section></body>'
FILES = {
    "docs/index.md": "# Front\n\n[lesson](lesson.md) [settings](../config/README.md#keys)\n",
    "docs/lesson.md": "# Lesson\n\n[licence](../LICENSE), [lost](gone.txt), [other host](https://example.org/),\n"
    "[executed](../notebooks/ogura.ipynb), [not executed](../notebooks/explore.ipynb)\n",
    "notebooks/explore.ipynb": "{}",
    "config/README.md": "# Configuration\n\n![picture](../figures/bundled/ogura/fig08.svg) [a `list`](#keys)\n",
    "LICENSE": "text",
    "results/bundled/report.html": f"<title>tcpfair report: Overview</title>{FRONT}",
    "results/bundled/report/ogura.html": "<title>tcpfair report: ogura</title><body>"
    '<p id="ogura-c14"><a href="../lab.html#preset=a/b">lab</a>'
    '<img src="../../../figures/bundled/ogura/fig08.svg"><a href="../../../data/bundled/m.json">m</a>'
    '<a href="../notebooks/ogura.html#cell-id=one">n</a><script>const a = \'href="x"\';</script></body>',
    "results/bundled/lab.html": "<title>tcpfair: packet lab</title><body></body>",
    "figures/bundled/ogura/fig08.svg": "<svg/>",
    "data/bundled/m.json": "{}",
}


@pytest.fixture
def layout(tmp_path):
    source = (ROOT / "notebooks/ogura.ipynb").read_text()
    notebooks = dict.fromkeys(("notebooks/ogura.ipynb", "results/bundled/notebooks/ogura.ipynb"), source)
    return Layout(put(tmp_path, {**FILES, **notebooks}, copied=("config/papers", "data/claims")))


@pytest.fixture
def sources(layout, tmp_path):
    made = site._Site(layout)
    made.write_sources(tmp_path / "sources")
    return made, tmp_path / "sources"


def test_markdown_leads_to_pages_and_files_of_the_site(sources):
    _, folder = sources
    assert "[lesson](lesson.md) [settings](configuration.md#keys)" in (folder / "index.md").read_text()
    lesson = (folder / "lesson.md").read_text()
    assert '<a href="files/LICENSE">licence</a>, lost, [other host](https://example.org/)' in lesson
    assert "[executed](notebooks/ogura.ipynb)" in lesson
    assert '<a href="files/notebooks/explore.ipynb">not executed</a>' in lesson
    assert "![picture](fig08.svg) [a `list`](#keys)" in (folder / "configuration.md").read_text()
    assert (folder / "fig08.svg").is_file()


def test_contents_list_the_pages_that_there_are(sources):
    _, folder = sources
    assert "```{toctree}\n:hidden:\n\nresults\n```" in (folder / "index.md").read_text()
    results = (folder / "results.md").read_text()
    assert '* <a href="report.html">Report: Overview</a>\n* <a href="report/ogura.html">Report: ogura</a>\n' in results
    assert '* <a href="lab.html">Packet lab</a>\n' in results
    assert "\n\nnotebooks/ogura\n```" in results


def test_an_exhibit_of_a_notebook_leads_to_the_report_and_can_be_reached(sources):
    _, folder = sources
    cells = json.loads((folder / "notebooks/ogura.ipynb").read_text())["cells"]
    at = next(n for n, cell in enumerate(cells) if "#ogura-fig8" in "".join(cell["source"]))
    assert (
        f'<span id="cell-id={cells[at + 1]["id"]}"></span><a href="../report/ogura.html#ogura-fig8">Figure 8 in'
        in (cells[at]["source"])
    )
    assert 'show("fig08")' in "".join(cells[at + 1]["source"])


def test_pages_are_carried_with_what_they_link_to(sources):
    made, folder = sources
    out = folder.parent / "out"
    put(out, {"notebooks/ogura.html": '<p id="cell-id=one">'})
    made.carry(out)
    page = (out / "report/ogura.html").read_text()
    for address in (
        "../lab.html#preset=a/b",
        "../figures/ogura/fig08.svg",
        "../files/data/bundled/m.json",
        "../index.html",
    ):
        assert f'="{address}"' in page
    assert "<script>const a = 'href=\"x\"';</script>" in page
    put(out, {"index.html": (folder / "conclusions.html").read_text()})
    assert list(site.check(out)) == []
    assert site.summary(out).startswith("5 pages, ")


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"a.html": '<a href="b.html">b</a>'}, "a.html: no file b.html"),
        ({"a.html": '<a href="#b">b</a>'}, "a.html: no part #b"),
        ({"a/a.html": '<a href="../b.html#x">b</a>', "b.html": '<p id="y">'}, "a/a.html: no part ../b.html#x"),
        ({"a.html": '<script src="https://cdn/x.js">'}, "a.html: loads https://cdn/x.js from another host"),
        ({"a.html": '<link href="//cdn/x.css">'}, "a.html: loads //cdn/x.css from another host"),
        ({"a.html": '<img src="x.png">'}, "a.html: no file x.png"),
        ({"a.css": "p { background: url('https://cdn/x.png') }"}, "a.css: loads https://cdn/x.png from another host"),
        ({"a.css": '@import "//cdn/x.css"'}, "a.css: loads //cdn/x.css from another host"),
    ],
)
def test_what_is_broken_is_found(tmp_path, files, fault):
    assert list(site.check(put(tmp_path, files))) == [fault]


def test_what_is_whole_passes(tmp_path):
    text = '<p id="x y"><a href="#x%20y">x</a><a href="https://example.org">o</a><a href="a.html?q=1#x%20y">a</a>'
    assert list(site.check(put(tmp_path, {"a.html": text}))) == []


def test_results_that_are_not_finished_give_no_site(tmp_path):
    plan = Plan({"source": "engine"}, small_checkout.make_checkout(tmp_path))
    with pytest.raises(InputError, match=r"^site: the run is not finished, .*; run ./reproduce first$"):
        site.build(plan, tmp_path)


# ---- the site that was built


@pytest.mark.skipif(not (BUILT / "index.html").is_file(), reason="no site is built in this checkout")
def test_the_site_that_was_built_has_no_broken_link():
    assert list(site.check(BUILT)) == []
    for paper in PAPERS:
        assert (BUILT / f"report/{paper}.html").is_file() and (BUILT / f"notebooks/{paper}.html").is_file()


@pytest.mark.slow
@needs_chromium
@pytest.mark.skipif(not (BUILT / "index.html").is_file(), reason="no site is built in this checkout")
def test_the_site_that_was_built_opens_from_disk_and_asks_no_other_host():
    pages = [page for page in sorted(BUILT.rglob("*.html")) if "figures" not in page.relative_to(BUILT).parts]
    with driven() as browser:
        for page in pages:
            browser.open(page)
            assert browser.complaints() == [], page.name
        browser.open(BUILT / "search.html", "?q=CUBIC")
        found = browser.wait("return document.querySelector('#search-results li a')?.textContent")
        assert re.search("CUBIC", found)
        assert [each for each in browser.requested() if not each.startswith(f"{BUILT.resolve().as_uri()}/")] == []
