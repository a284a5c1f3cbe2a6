"""Names, HTML and files of exhibits."""

import pandas as pd

from tcpfair.exhibits import pages, style
from tcpfair.exhibits.context import Drawn, Table
from tcpfair.papers.papers import Exhibit
from tcpfair.verdicts.columns import no_numbers


def exhibit(exhibit_id, kind="figure"):
    return Exhibit(id=exhibit_id, kind=kind, title="Window & queue", caption="J of U_N+ < 1")


def test_headings():
    assert pages.heading(exhibit("ogura.fig8")) == "Figure 8"
    assert pages.heading(exhibit("ogura.table3", "table")) == "Table 3"
    assert pages.heading(exhibit("ogura.sens_jitter", "supplement")) == "Supplement sens_jitter"


def test_text_is_escaped_and_indices_set_low():
    assert pages.with_symbols("U_N+ < S_n") == "U<sub>N+</sub> &lt; S<sub>n</sub>"
    assert pages.with_symbols("U_N-, U_n(t)") == "U<sub>N−</sub>, U<sub>n</sub>(t)"
    assert pages.with_symbols("sens_ack and RTT_min") == "sens_ack and RTT_min"


def test_corner_names_source_and_runs():
    drawn = Drawn(Table(pd.DataFrame()), no_numbers(), 1, note="line: mean")
    assert pages.corner_text("bundled", drawn) == "source: bundled, 1 run; line: mean"
    closed_form = Drawn(Table(pd.DataFrame()), no_numbers(), note="closed form")
    assert pages.corner_text("bundled", closed_form) == "closed form"


def test_a_table_becomes_a_page_and_its_numbers():
    drawn = Drawn(Table(pd.DataFrame({"25 ms": ["<b>0.94</b>"]}, index=["BIC"])), no_numbers(), 5)
    files = pages.rendered(exhibit("x.table1", "table"), drawn, "source: bundled, 5 runs")
    page = files[".html"].decode()
    assert set(files) == {".html", ".csv"}
    assert page.startswith("<!doctype html>")
    assert "<b>0.94</b>" in page
    assert "Table 1: Window &amp; queue." in page
    assert "source: bundled, 5 runs" in page


def test_long_cells_are_not_cut():
    long = "x" * 200
    assert long in pages.table_html(Table(pd.DataFrame({"a": [long]})), "")


def test_a_long_reason_stays_within_the_picture():
    """Words of any length are broken into lines that a figure of one column holds."""
    with style.applied():
        figure = pages.failure(exhibit("x.fig1"), "no trace " * 20 + "x" * 300).output
        figure.draw_without_rendering()
        (text,) = figure.axes[0].texts
        box = text.get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
