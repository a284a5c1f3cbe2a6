"""The packet lab in notebooks: the same page, set to a run of the notebook, with the digest of the library."""

from __future__ import annotations

import html
import re
import shutil

import nbformat
import pytest

from tcpfair import flow, simulate
from tcpfair.errors import InputError
from tcpfair.exhibits import packet_lab
from tcpfair.exhibits.paper import Paper
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.web.schema import schema
from tests.test_lab import save, served
from tests.web import node
from tests.web.browser import driven, needs_chromium
from tests.web.node import ROOT, needs_node
from tests.web.shown import READY, SHOWN, natively

RUN = (
    'simulate(flow("cubic", rtt_ms=20), flow("reno", rtt_ms=60, start_s=1), rate_mbps=20, duration_s=8, seed=2**60 + 1)'
)
FRAME = {"using": "css selector", "value": "iframe"}
PRESET = 'open_paper("ogura").lab("loss_sweep", 3, protocol="Libra", loss_rate=0.003)'


def opened(layout, keep=False, paper="ogura"):
    return Paper.open(paper, layout.source, "", "", keep)


def test_what_no_experiment_has_is_refused_in_one_line():
    paper = opened(Layout(ROOT))
    for asked, point, complaint in (
        (("los_sweep",), {}, "experiment 'los_sweep' is unknown; did you mean 'loss_sweep'"),
        (("loss_sweep",), {"protocl": "Reno"}, "axis 'protocl' is unknown; did you mean 'protocol'"),
        (("loss_sweep",), {"protocol": "Rno"}, "protocol 'Rno' is unknown; did you mean 'Reno'"),
        (("loss_sweep", 20), {}, "replicate: must be from 0 to 19, got 20"),
    ):
        with pytest.raises(InputError, match=complaint):
            paper.lab(*asked, **point)


def test_an_executed_notebook_links_to_the_page_and_does_not_contain_it():
    page = opened(Layout(ROOT), keep={}).lab("loss_sweep", protocol="Reno").data
    assert 'src="../lab.html?embed#preset=ogura/loss_sweep&amp;protocol=Reno&amp;replicate=0"' in page
    assert "If this frame shows no packet lab, it has not been built: <code>./reproduce</code>" in page
    assert len(page) < 1000


@needs_node
def test_the_page_reads_every_axis_that_a_notebook_can_name():
    """Each value of each axis, as an address holds it."""
    known = {}
    for paper in (opened(Layout(ROOT), {}, name) for name in PAPERS):
        for experiment, about in paper.config.experiments.items():
            for axis, values in about.grid.items():
                known |= {(axis, value): paper.lab(experiment, **{axis: value}).data for value in values.value}
    files = [
        f"{name}.js" for name in ["engine", "expand", "dom", "measures", "analysis", "scenario", "presets", "copy"]
    ]
    asked = [("presets.named", html.unescape(re.search(r'embed(#[^"]+)', page)[1])) for page in known.values()]
    read = node.call(files, asked, schema(Layout(ROOT)))
    assert len(read) > 100
    assert [(axis, found["preset"]["point"][axis]) for (axis, _), found in zip(known, read, strict=True)] == [*known]


def test_without_the_page_the_notebook_shows_how_to_build_it(tmp_path):
    assert (
        "results/bundled/lab.html: the packet lab has not been built; <code>./reproduce"
        in packet_lab.frame(Layout(tmp_path), "").data
    )


def test_a_run_with_many_seeds_is_refused():
    many = simulate(flow("reno", rtt_ms=20), rate_mbps=10, duration_s=2, seed=[1, 2])
    with pytest.raises(InputError, match="single run"):
        many.lab()


@pytest.fixture
def checkout(lab, tmp_path):
    """What a notebook reads, the page, and a notebook that shows it twice."""
    for name in ("config", "data", "Snakefile"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "envs/jupyter", tmp_path / "envs/jupyter")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "results/bundled").mkdir(parents=True)
    shutil.copyfile(lab, tmp_path / "results/bundled/lab.html")
    return tmp_path


@pytest.mark.slow
@needs_chromium
def test_in_jupyterlab_the_frames_show_the_digests_of_the_library(checkout, tmp_path):
    sources = [
        f"from tcpfair import flow, simulate\n{RUN}.lab()",
        f"from tcpfair.exhibits import open_paper\n{PRESET}",
    ]
    content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    content.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    with served(checkout, "--expose-app-in-browser") as (server, address), driven(1440, 900, is_quiet=False) as browser:
        assert save(content, "try.ipynb", server, address) in (200, 201)
        browser.ask("/url", {"url": f"{address}/lab/tree/try.ipynb?token=t"})
        browser.wait("return globalThis.jupyterapp?.commands.hasCommand('notebook:run-all-cells')")
        browser.wait("return document.querySelectorAll('.jp-Notebook .jp-CodeCell').length >= 2")
        browser.requested()
        # before its session has a kernel, a notebook asks which one to start
        browser.wait("return jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'")
        browser.run("jupyterapp.commands.execute('notebook:run-all-cells')")
        browser.wait("return document.querySelectorAll('.jp-OutputArea iframe[title=\"Packet lab\"]').length === 2")
        frames = browser.ask("/elements", FRAME)
        shown = []
        for frame in frames:
            browser.ask("/frame", {"id": frame})
            browser.wait(READY)
            browser.wait("return !tcpfair.lab.busy()")
            shown.append((browser.run(SHOWN), natively(browser), browser.run("return tcpfair.lab.sides()[0].preset")))
            browser.ask("/frame", {"id": None})
        assert "Jupyter news" not in browser.run("return document.body.textContent")
        browser.screenshot(tmp_path / "seen.png")
        asked = browser.requested()
    run = eval(RUN, {"flow": flow, "simulate": simulate})
    assert shown[0][:2] == (run.digest, run.digest)
    assert shown[1][0] == shown[1][1]
    point = {"protocol": "Libra", "loss_rate": 0.003}
    assert shown[1][2] == {"paper": "ogura", "experiment": "loss_sweep", "point": point, "replicate": 3}
    assert [each for each in asked if address.removeprefix("http") not in each] == []
