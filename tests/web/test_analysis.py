"""The page's analysis.js against `tcpfair.measures` on runs of the papers' experiments: every group of measures."""

from dataclasses import replace

import numpy as np
import pytest

from tcpfair.engine.dumbbell import run
from tcpfair.engine.state import EVENT_NAMES
from tcpfair.files.layout import Layout, repository_root
from tcpfair.measures import measure, weights
from tcpfair.measures.groups import GROUPS
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import load_paper
from tcpfair.papers.scenario import Scenario
from tcpfair.sources import tables
from tests.web.calls import call
from tests.web.node import HERE, needs_node

pytestmark = needs_node

FILES = ["measures.js", "analysis.js", str(HERE / "measured.cjs")]
LAYOUT = Layout(repository_root())
EVERYTHING = ("samples", "cwnd", "events", "link")
SHORT_S = 40.0


def test_no_group_is_left_out():
    [found] = call(FILES, [("measured.groupNames",)])
    assert sorted(found) == sorted(GROUPS)


def result_for_page(result, scenario):
    """What engine.js gives of a run."""
    columns = ("delivered_pkts", "received_pkts", "cwnd_pkts", "ssthresh_pkts", "srtt_s")
    flows = [{name: getattr(result, name)[:, n] for name in columns} for n in range(len(scenario.flows))]
    of_link = ("forwarded_pkts", "dropped_pkts", "queue_pkts")
    links = [
        {name: getattr(result, f"link_{name}")[d] for name in of_link} | {"acks": result.link_acks[d]}
        for d in range(len(result.link_forwarded_pkts))
    ]
    web = {way: {"delivered_pkts": result.web_delivered_pkts[d]} for d, way in enumerate(("forward", "reverse"))}
    names = ("t_s", "flow", "cwnd_before", "cwnd_after", "w_max", "k_s")
    events = [{**{name: row[name] for name in names}, "kind": EVENT_NAMES[row["kind"]]} for row in result.events]
    return {
        "t_s": result.t_s,
        "flows": flows,
        "link": links[0],
        "reverse_link": links[1] if len(links) > 1 else None,
        "web": web if scenario.web else None,
        "events": events,
    }


def shortened(spec, sample_s=None):
    """The run's first part, everything recorded; ``sample_s`` makes the sampling finer."""
    values = spec.scenario.model_dump() | {"duration_s": SHORT_S, "record": EVERYTHING}
    scale = SHORT_S / spec.scenario.duration_s
    values["flows"] = [flow | {"start_s": flow["start_s"] * scale} for flow in values["flows"]]
    return Scenario.model_validate(values | ({"sample_s": sample_s} if sample_s else {}))


# experiment, places of its runs: with background, reverse bottleneck, many flows, CUBIC's K, a flow alone
RUNS = [
    ("bhatti2008", "pair", [3, 250]),
    ("bhatti2009", "ns2_14", [0]),
    ("kozu2014", "transitions", [0]),
    ("ha2006", "intra", [5]),
    ("ha2006", "rtt_types", [20]),
    ("ogura", "model2", [1]),
]
# groups that take more than one flow
OF_PAIRS = {"ratio", "cubic_k", "common_losses", "sharing", "synchronisation", "nru", "stability", "convergence", "jfi"}
OWN_MBPS = {2: [[40.0, 55.0], [30.0, 62.0]], 14: np.linspace(3, 11, 196).reshape(14, 14).tolist()}
ANALYSIS = {
    **{"U_c_db": -0.46, "t_e_s": 8.0, "convergence_from_s": 10.0, "convergence_window_s": 2.0, "peak_share": 0.9},
    **{"residual_share": 0.25, "target_rate_bps": 4e7, "common_within_s": 0.2, "rates_count": "received"},
    **{"utilisation_counts": "payload", "sharing_from_s": 12.0, "sharing_end_s": 8.0, "fair_ratio": 0.8},
    **{"fair_mean_s": 4.0, "together_rtts": 1.5},
}
WINDOW_S = (10.0, 39.0)


def measured_by_package(paper, experiment, spec, scenario, result, own_mbps, monkeypatch):
    """(metric, flow) -> value by `tcpfair.measures.measure`; weights are made from ``own_mbps``."""
    chosen = paper.experiments[experiment]
    n = len([flow for flow in scenario.flows if flow.role == "foreground"])
    wanted = [name for name in GROUPS if n > 1 or name not in OF_PAIRS]
    said = {name: {"value": value, "source": "a test"} for name, value in ANALYSIS.items()}
    update = {
        "measures": wanted,
        "window_s": {"value": list(WINDOW_S), "source": "a test"},
        "weights": {"experiment": experiment, "rule": "per_column", "also": ["mean_of_columns", "half_of_sum"]},
    }
    config = type(paper).model_validate(
        paper.model_dump()
        | {"analysis": said}
        | {"experiments": {**paper.model_dump()["experiments"], experiment: chosen.model_dump() | update}}
    )
    if n > 1:
        own = np.array(own_mbps[n])[np.newaxis]
        monkeypatch.setattr(weights, "of_self_pairs_mbps", lambda *_: own)
    spec = replace(spec, scenario=scenario)
    trace = tables.gather(paper.paper, experiment, [spec], [result], {"backend": "engine"})
    table = measure(trace, config, experiment, of_self=trace.runs)
    rows = zip(table["metric"], table["flow"], table["value"], strict=True)
    return wanted, {(metric, int(flow)): value for metric, flow, value in rows}


@pytest.mark.parametrize(("name", "experiment", "places"), RUNS)
def test_every_measure_is_that_of_the_package(name, experiment, places, monkeypatch):
    paper = load_paper(LAYOUT.paper_config(name))
    specs = run_specs(paper, experiment)
    for place in places:
        spec = specs[place]
        scenario = shortened(spec, sample_s=1.0)
        result = run(scenario, spec.seed)
        wanted, expected = measured_by_package(paper, experiment, spec, scenario, result, OWN_MBPS, monkeypatch)
        n = len([flow for flow in scenario.flows if flow.role == "foreground"])
        rules = {rule: weights.RULES[rule](np.array(OWN_MBPS[n])) for rule in weights.RULES} if n > 1 else {}
        how = {
            "windowS": WINDOW_S,
            "analysis": ANALYSIS,
            "weights": rules.get("per_column"),
            "also": {rule: rules[rule] for rule in ("mean_of_columns", "half_of_sum") if rules},
        }
        # once from the same samples, once from finer ones put together to the same intervals
        finer = shortened(spec, sample_s=0.25)
        for given, left in ((scenario, result), (finer, run(finer, spec.seed))):
            plain = given.model_dump(exclude_defaults=True, mode="json")
            [found] = call(FILES, [("measured.measureResult", plain, result_for_page(left, given), 1.0, wanted, how)])
            compare({(row["metric"], row["flow"]): row["value"] for row in found}, expected)


def compare(found, expected):
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        # traces keep windows as float32
        assert found[key] == pytest.approx(value, rel=2e-6, abs=1e-9, nan_ok=True), key
