"""The page's analysis.js against `tcpfair.measures` on runs of the papers' experiments: every group of measures."""

from dataclasses import replace

import numpy as np
import pytest

from tcpfair.engine.dumbbell import run
from tcpfair.files.layout import Layout, repository_root
from tcpfair.measures import measure, weights
from tcpfair.measures.groups import BY_GROUP
from tcpfair.papers.expand import run_specs
from tcpfair.papers.papers import load_paper
from tcpfair.papers.scenario import Scenario
from tcpfair.sources import tables
from tests.web.node import needs_node, with_engine

pytestmark = needs_node

FILES = ("measures.js", "analysis.js")
MEASURED = """const [scenario, seed, groups, how] = given;
  const { arraysOf, measure } = tcpfair.analysis;
  return measure(arraysOf(scenario, await tcpfair.run(scenario, seed), 1), groups, how);"""
LAYOUT = Layout(repository_root())
EVERYTHING = ("samples", "cwnd", "events", "link")
SHORT_S = 40.0


def shortened(spec, sample_s):
    """The run's first part, everything recorded, with this sampling."""
    values = spec.scenario.model_dump() | {"duration_s": SHORT_S, "record": EVERYTHING, "sample_s": sample_s}
    for flow in values["flows"]:
        flow["start_s"] *= SHORT_S / spec.scenario.duration_s
    return Scenario.model_validate(values)


# runs of experiments: with background, reverse bottleneck, many flows, CUBIC's K, a flow alone
RUNS = [
    *(("bhatti2008", "pair", 3), ("bhatti2008", "pair", 250), ("bhatti2009", "ns2_14", 0)),
    *(("kozu2014", "transitions", 0), ("ha2006", "intra", 5), ("ha2006", "rtt_types", 20), ("ogura", "model2", 1)),
]
# groups that take more than one flow
OF_PAIRS = {"ratio", "cubic_k", "common_losses", "sharing", "synchronisation", "nru", "stability", "convergence", "jfi"}
OWN_MBPS = {2: np.array([[40.0, 55.0], [30.0, 62.0]]), 14: np.linspace(3, 11, 196).reshape(14, 14)}
ANALYSIS = {
    **{"U_c_db": -0.46, "t_e_s": 8.0, "convergence_from_s": 10.0, "convergence_window_s": 2.0, "peak_share": 0.9},
    **{"residual_share": 0.25, "target_rate_bps": 4e7, "common_within_s": 0.2, "rates_count": "received"},
    **{"utilisation_counts": "payload", "sharing_from_s": 12.0, "sharing_end_s": 8.0, "fair_ratio": 0.8},
    **{"fair_mean_s": 4.0, "together_rtts": 1.5},
}
WINDOW_S = (10.0, 39.0)


def measured_by_package(paper, experiment, groups, spec, result):
    """(metric, flow) -> value by `tcpfair.measures.measure`."""
    values = paper.model_dump()
    values["analysis"] = {name: {"value": value, "source": "a test"} for name, value in ANALYSIS.items()}
    values["experiments"][experiment] |= {
        "measures": groups,
        "window_s": {"value": list(WINDOW_S), "source": "a test"},
        "weights": {"experiment": experiment, "rule": "per_column", "also": ["mean_of_columns", "half_of_sum"]},
    }
    trace = tables.gather(paper.paper, experiment, [spec], [result], {"backend": "engine"})
    table = measure(trace, type(paper).model_validate(values), experiment, of_self=trace.runs)
    return table.set_index(["metric", "flow"])["value"].to_dict()


@pytest.mark.parametrize(("name", "experiment", "place"), RUNS)
def test_every_measure_is_that_of_the_package(name, experiment, place, monkeypatch, parts):
    paper = load_paper(LAYOUT.paper_config(name))
    spec = run_specs(paper, experiment)[place]
    scenario = shortened(spec, sample_s=1.0)
    result = run(scenario, spec.seed)
    n = sum(flow.role == "foreground" for flow in scenario.flows)
    groups = [group for group in BY_GROUP if n > 1 or group not in OF_PAIRS]
    how = {"windowS": WINDOW_S, "analysis": ANALYSIS}
    if n > 1:
        monkeypatch.setattr(weights, "of_self_pairs_mbps", lambda *_: OWN_MBPS[n][np.newaxis])
        by_rule = {rule: weights.RULES[rule](OWN_MBPS[n]) for rule in ("per_column", "mean_of_columns", "half_of_sum")}
        how |= {"weights": by_rule.pop("per_column"), "also": by_rule}
    expected = measured_by_package(paper, experiment, groups, replace(spec, scenario=scenario), result)
    # once from the same samples, once from finer ones put together to the same intervals
    for given in (scenario, shortened(spec, sample_s=0.25)):
        asked = [given.model_dump(exclude_defaults=True, mode="json"), str(spec.seed), groups, how]
        rows = with_engine(MEASURED, *parts, given=asked, files=FILES)
        found = {(row["metric"], row["flow"]): row["value"] for row in rows}
        # traces keep windows as float32
        assert found == {key: pytest.approx(value, rel=2e-6, abs=1e-9, nan_ok=True) for key, value in expected.items()}
