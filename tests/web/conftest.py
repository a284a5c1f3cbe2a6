"""The compiled engine and the page, made once for all tests of this folder."""

from __future__ import annotations

import json

import pytest

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import Config
from tcpfair.verdicts import report
from tcpfair.web import page, schema, wasm
from tests import small_checkout
from tests.web.browser import driven
from tests.web.node import ROOT
from tests.web.shown import READY

TABLE8 = [("rtt_ms=25", "jfi", 0.55), ("rtt_ms=50", "jfi", 0.36)]
FIGURE = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"><circle cx="150" cy="100" r="80"/></svg>'


@pytest.fixture(scope="session")
def without_papers():
    """The schema, but for what it says of papers."""
    return schema.schema(Layout(ROOT), papers=())


@pytest.fixture(scope="session")
def parts(tmp_path_factory, without_papers):
    """Files with module and schema."""
    folder = tmp_path_factory.mktemp("parts")
    (folder / "engine.wasm").write_bytes(wasm.module())
    (folder / "schema.json").write_text(json.dumps(without_papers, allow_nan=False))
    return folder / "engine.wasm", folder / "schema.json"


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """The page, built from today's sources."""
    path = tmp_path_factory.mktemp("page") / "lab.html"
    path.write_text(page.build(Layout(ROOT)), encoding="utf-8")
    return path


@pytest.fixture
def browser(lab):
    """The page in Chromium, with its first run there."""
    with driven() as browser:
        browser.open(lab)
        browser.wait(READY)
        yield browser
        # whatever was done, nothing was asked of anybody
        assert set(browser.requested()) <= {lab.resolve().as_uri()}


@pytest.fixture(scope="session")
def made_up(tmp_path_factory):
    """A report of results that are made up, and of one that failed."""
    layout = small_checkout.make_compared(tmp_path_factory.mktemp("checkout"))
    small_checkout.put_exhibit(layout, "bhatti2009.table8", TABLE8, {".csv": "x\n", ".svg": FIGURE})
    small_checkout.put_exhibit(layout, "ogura.fig8", error="a <b> & more")
    small_checkout.write_ledger(layout, Config(source="bundled"))
    return report.write_report(layout)
