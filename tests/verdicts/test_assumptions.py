"""The assumption ledger and the run plan say what the configuration says."""

from pathlib import Path

import pytest
import yaml

from tcpfair.files.costs import PLANNED_PKTS_PER_S
from tcpfair.files.layout import Layout
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.runs import store
from tcpfair.verdicts.assumptions import assumptions, run_plan, stated

PAPERS = Path(__file__).parents[2] / "config" / "papers"


@pytest.fixture
def papers():
    def said(value):
        return {"value": value, "source": "sec. 5"}

    config = {
        "paper": "ogura",
        "cite": "a paper",
        "protocols": {
            "Reno": {"cc": said("reno"), "flow": {"iw_pkts": {"value": 2, "assumed": "RFC", "range": [1, 10]}}}
        },
        "settings": {
            "capacity_bps": said(100e6),
            "wire_bytes": said(1500),
            "payload_bytes": {"value": 1460, "assumed": "40 bytes of header", "range": [1448, 1500]},
            "buffer_pkts": said(500),
            "duration_s": said(60),
            "sample_s": said(1),
            "loss_rate": "=loss_rate",
        },
        "experiments": {
            "sweep": {
                "what": "loss varied",
                "grid": {"loss_rate": {"value": [0.01, 1e-6], "source": "the ends", "assumed": "two points"}},
                "flows": [{"protocol": said("Reno"), "rtt_ms": said(40)}],
                "runs": {"value": 3, "assumed": "not stated", "range": [1, 5]},
            }
        },
    }
    return {"ogura": PaperConfig.model_validate(config)}


def held(papers, layout):
    return {name: store.Held(layout, config) for name, config in papers.items()}


def test_assumptions_name_place_value_reason_and_range(papers):
    rows = assumptions(papers).to_numpy().tolist()
    assert rows == [
        ["ogura", "all", "protocols.Reno.flow.iw_pkts", "2", "RFC", "1, 10"],
        ["ogura", "all", "settings.payload_bytes", "1460", "40 bytes of header", "1448, 1500"],
        ["ogura", "sweep", "grid.loss_rate", "0.01, 1e-06", "two points", ""],
        ["ogura", "sweep", "runs", "3", "not stated", "1, 5"],
    ]


def test_stated_values_name_their_section_and_leave_out_references_to_the_grid(papers):
    table = stated(papers)
    assert ["ogura", "sweep", "flows[0].rtt_ms", "40", "sec. 5"] in table.to_numpy().tolist()
    assert "settings.loss_rate" not in set(table["name"])
    # what the paper states in part is in both tables
    assert "grid.loss_rate" in set(table["name"])


def test_plan_of_six_minutes_at_100_mbps(papers, tmp_path):
    # 2 losses x 3 runs of 60 s; 100 Mb/s carry 500 000 packets of 1500 bytes in 60 s
    (row,) = run_plan(held(papers, Layout(tmp_path, "engine"))).to_dict("records")
    about = {"paper": "ogura", "experiment": "sweep", "runs": 6, "simulated_s": 360, "packets": 3_000_000, "trace": ""}
    assert row == about | {"expected_s": 3_000_000 / PLANNED_PKTS_PER_S}


def test_plan_names_the_trace_of_just_these_runs(papers, tmp_path, monkeypatch):
    layout = Layout(tmp_path, "engine")
    folder = layout.simulated("ogura", "sweep")

    def whole_trace(*where_and_what):
        assert where_and_what == (layout, "ogura", "sweep", store.asked(run_specs(papers["ogura"], "sweep")))
        return folder

    monkeypatch.setattr(store, "whole_trace", whole_trace)
    assert run_plan(held(papers, layout))["trace"].tolist() == ["results/engine/runs/ogura/sweep"]


@pytest.mark.parametrize("path", sorted(PAPERS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_reason_in_the_configuration_is_in_the_ledger(path):
    def reasons(node):
        if isinstance(node, dict):
            yield from [node["assumed"]] if "assumed" in node else []
            node = list(node.values())
        if isinstance(node, list):
            for child in node:
                yield from reasons(child)

    ledger = assumptions({path.stem: load_paper(path)})
    assert set(ledger["reason"]) == set(reasons(yaml.safe_load(path.read_text())))
    assert (ledger["value"] != "").all()
