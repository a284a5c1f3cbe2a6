"""Every run of the papers comes out of the page's presets as Python expands it."""

from __future__ import annotations

import json

import pytest

from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import load_paper
from tcpfair.papers.scenario import make_scenario
from tcpfair.web import schema
from tcpfair.web.presets import presets_of
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
SCRIPT = """
const tcpfair = require("./src/tcpfair/web/static/engine.js");
require("./src/tcpfair/web/static/expand.js");
const [file, every] = process.argv.slice(1);
tcpfair.schema = JSON.parse(require("node:fs").readFileSync(file));
for (const [paper, experiments] of Object.entries(tcpfair.schema.presets)) {
  for (const [experiment, { replicates }] of Object.entries(experiments)) {
    tcpfair.points(paper, experiment).forEach((point, p) => {
      for (let replicate = 0; replicate < replicates; replicate++) {
        if ((p * replicates + replicate) % Number(every)) continue;
        const { scenario, seed } = tcpfair.preset(paper, experiment, point, replicate);
        console.log(JSON.stringify([paper, experiment, p * replicates + replicate, seed, scenario]));
      }
    });
  }
}
"""


def differing(presets, tmp_path, every: int) -> tuple[list[str], int]:
    """Runs whose key is not Python's, and how many were looked at."""
    (tmp_path / "schema.json").write_text(json.dumps(schema.plain({"presets": presets}), allow_nan=False))
    papers = {name: load_paper(LAYOUT.paper_config(name)) for name in presets}
    specs = {(paper, name): run_specs(papers[paper], name) for paper in presets for name in presets[paper]}
    found, count = [], 0
    for paper, experiment, run_id, seed, values in node.run(SCRIPT, tmp_path / "schema.json", every):
        spec = specs[paper, experiment][run_id]
        made = make_scenario({**values, "record": spec.scenario.record})
        count += 1
        if (made, int(seed)) != (spec.scenario, spec.seed):
            found.append(f"{paper}/{experiment} {run_id}")
    return found, count


@needs_node
def test_some_runs_of_each_paper(tmp_path):
    papers = {name: load_paper(LAYOUT.paper_config(name)) for name in SOME}
    cut = {
        name: paper.model_copy(update={"experiments": {SOME[name]: paper.experiments[SOME[name]]}, "exhibits": []})
        for name, paper in papers.items()
    }
    presets = {name: {SOME[name]: runs_alone(cut[name], SOME[name])} for name in SOME}
    found, count = differing(presets, tmp_path, every=17)
    assert count >= 50
    assert found == []


def runs_alone(paper, name):
    """Presets without what is printed, which has tests of its own."""
    from tcpfair.web import presets

    replicates = int(paper.experiments[name].runs.value)
    grid = {axis: values.value for axis, values in paper.experiments[name].grid.items()}
    return {"replicates": replicates, "grid": grid, **presets._runs(paper, name)}


@needs_node
@pytest.mark.slow
def test_every_run(tmp_path):
    presets = {name: presets_of(load_paper(LAYOUT.paper_config(name)), LAYOUT) for name in PAPERS}
    found, count = differing(presets, tmp_path, every=1)
    assert count > 10_000
    assert found == []


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
