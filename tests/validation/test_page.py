"""What the comparison leaves: tables, figures, a page that opens from disk, a screen of text."""

import json
import re

import pandas as pd
import pytest

from tcpfair.files.manifest import file_hash
from tcpfair.validation import comparison, page
from tcpfair.validation.scenarios import load
from tcpfair.workflow.cli import main
from tests.validation.fake_simulators import Simulator, install, make_checkout
from tests.verdicts.report.links import Page


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A checkout after a comparison: ns-2 agrees on everything but windows, and ns-3's are explained."""
    layout = make_checkout(tmp_path_factory.mktemp("checkout"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TCPFAIR_ROOT", str(layout.root))
        install(patch, Simulator("engine"), Simulator("ns2", gain=1.1), Simulator("ns3", gain=1.2))
        main(["validate", "--run", "ns2"])
        main(["validate", "--run", "ns3"])
        (layout.validated / "explanations.yaml").write_text(
            "ns2: {mean_cwnd/fast/*: {unexplained: its windows are smaller}}\nns3: {mean_cwnd/*/*: 'its windows <are> larger'}\n"
        )
        main(["validate"])
        config = load(layout.validation_config)
        compared = comparison.compare(layout, config, comparison.engine_parts(layout, config))
    return layout, compared


@pytest.fixture(scope="module")
def html(done):
    return (done[0].validation / "report.html").read_text()


def test_the_page_needs_neither_network_nor_scripts_and_every_link_leads_somewhere(done, html):
    shown = Page(html)
    assert not [link for link in shown.links if link.startswith(("http:", "https:", "//", "/", "file:"))]
    assert not {"script", "link", "iframe"} & shown.elements.keys()
    assert len(set(shown.ids)) == len(shown.ids)
    assert {link[1:] for link in shown.links if link.startswith("#")} <= set(shown.ids)
    files = [link for link in shown.links if not link.startswith(("#", "data:"))]
    assert [link for link in files if not (done[0].validation / link).is_file()] == []
    assert sum(link.startswith("data:image/svg+xml;base64,") for link in shown.links) == 2


def test_the_page_counts_and_lists_what_is_beyond_the_bar(html):
    text = Page(html).text
    # windows of two algorithms; of the other rows epochs, utilisations and shares agree
    assert "engine (stack: text) and ns-2: within the threshold 8 of 10" in text
    assert "engine (stack: text) and ns-3: within the threshold 4 of 5" in text
    assert "slow one mean window 108.1 ± 0.1 ns-2 118.9 ± 0.1 −9.1 unexplained" in text
    assert "its windows <are> larger" in text


def test_every_row_and_every_run_stands_in_a_table(done):
    layout, compared = done
    rows = pd.read_csv(layout.validation / "agreement.csv", keep_default_na=False)
    assert len(rows) == len(compared.rows) == 2 * (5 + 3) + (5 + 3)
    windows = compared.rows.query("metric == 'mean_cwnd'").set_index(["tool", "algorithm"])
    assert list(windows.index) == [("ns2", "fast"), ("ns2", "slow"), ("ns3", "slow")]
    assert windows["explanation"].tolist() == ["its windows are smaller", "unexplained", "its windows <are> larger"]
    assert windows.loc[("ns3", "slow"), ["from_s", "until_s"]].tolist() == [5, 30]
    assert (compared.rows.query("metric == 'epoch'")["verdict"] == "within").all()
    two = pd.read_csv(layout.validation / "two.csv")
    assert two.groupby("source").size().to_dict() == {"engine": 12, "ns2": 6, "ns3": 1}  # the engine in two windows
    curves = pd.read_csv(layout.validation / "curves.csv")
    assert set(curves["source"]) == {"engine", "ns2", "ns3"}


def written(layout):
    return [path for path in layout.validation.glob("[!.]*.*") if path.is_file()]


def test_everything_that_is_written_has_its_hash(done):
    layout, _ = done
    hashes = json.loads((layout.validation / "made.json").read_text())
    assert {path.name: file_hash(path) for path in written(layout) if path.name != "made.json"} == hashes


def test_the_same_comparison_gives_the_same_bytes(done):
    layout, compared = done
    files = written(layout)
    before = {path: path.read_bytes() for path in files}
    page.write(layout, compared, re.search('name="made-from" content="(.*)"', page.report(layout).read_text())[1])
    assert {path: path.read_bytes() for path in files} == before


def test_the_summary_fits_a_screen_and_names_what_is_unexplained(done):
    lines = page.summary(done[1]).splitlines()
    assert page.summary_file(done[0]).read_text().splitlines() == lines
    assert len(lines) <= 24
    assert "ns-2       8 of 10 within the threshold (2 unexplained), stack: text" in lines
    assert "ns-3       4 of 5 within the threshold (1 explained), stack: text" in lines
    assert sum(line.startswith("unexplained mean_cwnd/") for line in lines) == 2
    assert "unexplained mean_cwnd/slow/one: engine 108.1 ± 0.1, ns-2 118.9 ± 0.1 packets" in lines


@pytest.mark.parametrize(
    ("metric", "relative", "difference", "shown"),
    [("mean_cwnd", -0.0215, 7, "−2.1"), ("utilisation", 0.5, 0.004, "+0.4"), ("epoch", float("nan"), 1, "–")],
)
def test_differences_are_shown_in_per_cent_or_points(metric, relative, difference, shown):
    assert page.per_cent({"metric": metric, "relative": relative, "difference": difference}) == shown
