"""What the claims of ogura are made of: windows of every replicate, ratios of mean throughputs, factors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tcpfair.verdicts.claims import ogura
from tcpfair.verdicts.claims.evidence import Evidence, Means, Settings, SingleRuns
from tests.verdicts.claims import edges_ogura as edges
from tests.verdicts.claims.edges import CLAIMS, CONFIGS, loader, spread_by


def evidence_of(claim_id, worlds=(edges.WORLD,), rows=None, traces=edges.WORLD.traces, config=CONFIGS["ogura"]):
    return Evidence(CLAIMS[claim_id], config, loader(list(worlds)), traces.__getitem__, rows or SingleRuns())


# --- Windows that grow --------------------------------------------------------------------------------------------


def two_replicates(first, second):
    """One trace of two: the runs of the second are another replicate."""
    shift = len(first.runs)
    runs = pd.concat([first.runs, second.runs.assign(run_id=second.runs["run_id"] + shift, replicate=1)])
    samples, events = (
        pd.concat([getattr(first, of), getattr(second, of).assign(run_id=lambda x: x["run_id"] + shift)])
        for of in ("samples", "events")
    )
    return replace(first, runs=runs, samples=samples, events=events)


TRACES = {
    "model1": two_replicates(edges.model1_trace(), edges.model1_trace({("Libra", 40): 1.04})),
    "model2": two_replicates(edges.model2_trace(), edges.model2_trace({("Libra (eq. 15)", 40): 1.04})),
}


@pytest.mark.parametrize("claim_id", ["ogura.c05", "ogura.c11"])
@pytest.mark.parametrize(
    ("rows", "expected"), [(SingleRuns(), [1, 1.04]), (Settings(), [1, 1.04]), (Means(), [1.02])], ids=["1", "2", "3"]
)
def test_windows_of_every_replicate_are_compared_with_each_other(claim_id, rows, expected):
    same = getattr(ogura, CLAIMS[claim_id].function_name)(evidence_of(claim_id, rows=rows, traces=TRACES))["same"]
    assert same.iloc[: len(expected), 0].to_numpy() == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("claim_id", ["ogura.c06", "ogura.c07", "ogura.c12"])
@pytest.mark.parametrize(("rows", "n"), [(SingleRuns(), 2), (Settings(), 2), (Means(), 1001)], ids=["1", "2", "3"])
def test_what_is_computed_from_traces_has_the_rows_of_tables(claim_id, rows, n):
    worlds = [edges.WORLD, spread_by(edges.WORLD, 0.01)]
    found = getattr(ogura, CLAIMS[claim_id].function_name)(evidence_of(claim_id, worlds, rows, TRACES))
    for quantity in found.values():
        assert len(quantity) == n
        assert np.isfinite(quantity.to_numpy()).all()


@pytest.mark.parametrize(
    ("claim_id", "clause"),
    [
        ("ogura.c05", "same"),
        ("ogura.c06", "window"),
        ("ogura.c07", "same"),
        ("ogura.c12", "slower"),
        ("ogura.c12", "ever"),
    ],
)
def test_a_window_that_never_comes_so_far_decides_nothing(claim_id, clause):
    experiment = CLAIMS[claim_id].experiments[0]
    trace = edges.WORLD.traces[experiment]
    alpha = trace.runs.loc[trace.runs["protocol"].str.startswith("Alpha"), "run_id"]
    small = trace.samples.assign(cwnd_pkts=trace.samples["cwnd_pkts"].mask(trace.samples["run_id"].isin(alpha), 1.0))
    traces = {experiment: replace(trace, samples=small)}
    found = getattr(ogura, CLAIMS[claim_id].function_name)(evidence_of(claim_id, traces=traces))[clause]
    assert np.isnan(found.to_numpy(dtype=float)).any()


def test_model_1_is_followed_from_the_configured_residual_capacity():
    config = CONFIGS["ogura"].model_copy(deep=True)
    config.analysis["residual_share"].value = 0.2
    bdp = {40: 1e8 / 12000 * 0.04, 80: 1e8 / 12000 * 0.08}
    for growth in ogura._model1_growth(evidence_of("ogura.c06", config=config)):
        assert growth.cwnd_pkts[0] / bdp[growth.rtt_ms] == pytest.approx(0.8, abs=0.01)
        assert growth.t_s[0] == 0


def test_model_1_is_followed_until_the_window_is_the_bdp_or_a_loss():
    trace = edges.model1_trace()
    last_s = trace.samples.groupby("run_id")["t_s"].transform("max")
    beyond = trace.samples.assign(t_s=trace.samples["t_s"] + last_s + 1, cwnd_pkts=2000.0)
    longer = replace(trace, samples=pd.concat([trace.samples, beyond], ignore_index=True), events=trace.events.iloc[:0])
    growths = ogura._model1_growth(evidence_of("ogura.c06", traces={"model1": longer}))
    assert growths
    for growth in growths:
        assert 0.95 * 1e8 / 12000 * growth.rtt_s < growth.cwnd_pkts[-1] <= 1e8 / 12000 * growth.rtt_s


# --- Ratios -------------------------------------------------------------------------------------------------------


def test_the_ratio_of_two_flows_is_that_of_their_mean_throughputs():
    """In one run either flow has twice what the other has: neither is ahead, though the mean of the ratios is 1.25."""
    one, other = (
        edges.WORLD.put("rtt_sweep", {"protocol": "Libra", "flow": flow, "rtt_ms": 60}, 2 * edges.FIRST_MBPS).put(
            "rtt_sweep", {"protocol": "Libra", "flow": 3 - flow, "rtt_ms": 60}, edges.FIRST_MBPS
        )
        for flow in (1, 2)
    )
    by_rtt = {
        rows: ogura._by_rtt(evidence_of("ogura.c21", [one, other], rows), "Libra") for rows in (Means(), SingleRuns())
    }
    of_means, of_runs = by_rtt.values()
    assert of_means.loc[0, 60] == 1
    assert of_runs[60].to_list() == [0.5, 2]


def test_a_factor_takes_a_ratio_and_its_inverse_alike():
    ratio = pd.DataFrame({"a": [0.5, 1.0], "b": [2.0, np.nan]})
    assert ogura._factor(ratio).iloc[0].to_list() == [2, 2]
    assert np.isnan(ogura._factor(ratio).loc[1, "b"])


def test_the_typical_factor_of_a_half_and_the_double_is_two():
    typical = ogura._typical_factor(pd.DataFrame([[0.5, 2.0], [3.0, 3.0], [1.0, np.nan]]))
    assert typical[:2].to_list() == pytest.approx([2, 1])
    assert np.isnan(typical[2])


def test_what_is_fair_is_the_same_in_claims_and_configuration():
    fair = CONFIGS["ogura"].analysis_value("fair_ratio")
    for claim_id in ("ogura.c16", "ogura.c22"):
        clause = CLAIMS[claim_id].clauses["fair"]
        assert [clause.at_least, clause.at_most] == fair
    low, high = fair
    assert f"from {low:g} to {high:g}" in CLAIMS["ogura.c14"].clauses["almost_all"].quantity
