"""Every run of the papers comes out of the page's presets as Python expands it."""

from __future__ import annotations

import pytest

from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import load_paper
from tcpfair.papers.scenario import make_scenario
from tcpfair.web import schema
from tcpfair.web.presets import presets_of, runs_of
from tests.web import node
from tests.web.node import needs_node

LAYOUT = Layout(node.ROOT)
# of background traffic, of flows that change places, of access links, of another paper's seeds
SOME = {
    "ha2006": "util_type2",
    "bhatti2008": "ns2_14",
    "kozu2014": "alpha",
    "ogura": "sens_phase",
    "bhatti2009": "self",
}


def compare(name: str, experiment: str, every: int = 1) -> int:
    """Runs of the page are Python's. Returns how many were compared."""
    paper = load_paper(LAYOUT.paper_config(name))
    specs = run_specs(paper, experiment)[::every]
    calls = [("preset", name, experiment, spec.point, spec.replicate) for spec in specs]
    presets = schema.plain({"presets": {name: {experiment: runs_of(paper, experiment)}}})
    for call, run, spec in zip(calls, node.call(["engine.js", "expand.js"], calls, presets), specs, strict=True):
        assert int(run["seed"]) == spec.seed, call
        assert make_scenario({**run["scenario"], "record": spec.scenario.record}) == spec.scenario, call
    return len(calls)


@needs_node
def test_some_runs_of_each_paper():
    assert sum(compare(name, experiment, every=17) for name, experiment in SOME.items()) >= 50


@needs_node
@pytest.mark.slow
def test_every_run():
    papers = {name: load_paper(LAYOUT.paper_config(name)) for name in PAPERS}
    assert sum(compare(name, each) for name, paper in papers.items() for each in paper.experiments) > 10_000


def test_printed_numbers_stand_beside_their_grid_points():
    found = presets_of(load_paper(LAYOUT.paper_config("kozu2014")), LAYOUT)
    rows = [row for preset in found.values() for row in preset["printed"]]
    assert rows
    for preset in found.values():
        for row in preset["printed"]:
            assert all(row["point"][axis] in values for axis, values in preset["grid"].items())
    stated = [row for row in rows if row["derived"] == ""]
    assert all(row["exhibits"] and row["tolerance"] for row in stated)


@pytest.mark.parametrize(
    ("paper", "experiment", "how"), [("bhatti2008", "pair", "cv"), ("bhatti2009", "pair_tcp_first", "sd")]
)
def test_the_printed_scatter_over_runs_stands_beside_what_scatters(paper, experiment, how):
    rows = presets_of(load_paper(LAYOUT.paper_config(paper)), LAYOUT)[experiment]["printed"]
    of_runs = [row for row in rows if row.get("runs") == how]
    assert len(of_runs) == 16
    assert {(row["metric"], row["flow"], row["derived"]) for row in of_runs} == {("jfi_mean", 0, "")}
    assert len({tuple(row["point"].values()) for row in of_runs}) == 16
    assert all(row["exhibits"] and row["tolerance"] == {"absolute": 0.05} for row in of_runs)
    means = [row for row in rows if row["metric"] == "jfi_mean" and row.get("runs") == "mean"]
    assert len(means) == 16
