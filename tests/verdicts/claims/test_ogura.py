"""What the claims of ogura are made of: windows of every replicate, ratios of mean throughputs, factors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tcpfair.verdicts.claims import ogura
from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.measured import Measured
from tests.verdicts.bundled import CONFIGS
from tests.verdicts.claims.worlds import CLAIMS, WORLDS, evidence, metrics, trace

CAPACITY_PPS = 1e8 / 12000


@pytest.mark.parametrize("claim_id", ["ogura.c05", "ogura.c06", "ogura.c07", "ogura.c11", "ogura.c12"])
@pytest.mark.parametrize(("rows", "n"), [("runs", len(WORLDS)), ("settings", len(WORLDS)), ("means", 1001)])
def test_what_is_computed_from_traces_has_the_rows_of_tables(claim_id, rows, n):
    found = getattr(ogura, CLAIMS[claim_id].function_name)(evidence(CLAIMS[claim_id], rows))
    assert {len(quantity) for quantity in found.values()} == {n}


def growths(traced, config=CONFIGS["ogura"]):
    of = Evidence(CLAIMS["ogura.c06"], config, {}.__getitem__, {"model1": traced}.__getitem__)
    return [growth for growth in ogura._growths(of, 1) if growth.is_one]


def test_model_1_is_followed_from_the_configured_residual_capacity():
    config = CONFIGS["ogura"].model_copy(deep=True)
    config.analysis["residual_share"].value = 0.2
    found = growths(trace("ogura", "model1"), config)
    assert found
    for growth in found:
        assert 0.8 <= growth.cwnd_pkts[0] / (CAPACITY_PPS * growth.rtt_s) < 0.87
        assert growth.t_s[0] == 0


def test_model_1_is_followed_until_the_window_is_the_bdp_or_a_loss():
    of = trace("ogura", "model1")
    last_s = of.samples.groupby("run_id")["t_s"].transform("max")
    beyond = of.samples.assign(t_s=of.samples["t_s"] + last_s + 1, cwnd_pkts=2000.0)
    longer = replace(of, samples=pd.concat([of.samples, beyond], ignore_index=True), events=of.events.iloc[:0])
    found = growths(longer)
    assert found
    for growth in found:
        assert 0.9 * CAPACITY_PPS * growth.rtt_s < growth.cwnd_pkts[-1] <= CAPACITY_PPS * growth.rtt_s


def test_the_ratio_of_two_flows_is_that_of_their_mean_throughputs():
    """In one run either flow has twice what the other has: neither is ahead, though the mean of the ratios is 1.25."""
    table = metrics("ogura", "rtt_sweep").query("replicate < 2")
    table = table.assign(value=np.where(table["flow"] - 1 == table["replicate"], 2.0, 1.0))
    for rows, expected in (("means", [1]), ("runs", [0.5, 2])):
        of = evidence(CLAIMS["ogura.c20"], rows, Measured({"rtt_sweep": table}.__getitem__))
        assert ogura._ratio(of, "rtt_sweep", "rtt_ms", protocol="Reno")[60].to_list()[: len(expected)] == expected


def test_what_is_fair_is_the_same_in_claims_and_configuration():
    fair = CONFIGS["ogura"].analysis_value("fair_ratio")
    for claim_id in ("ogura.c16", "ogura.c22"):
        clause = CLAIMS[claim_id].clauses["fair"]
        assert [clause.at_least, clause.at_most] == fair
    low, high = fair
    assert f"from {low:g} to {high:g}" in CLAIMS["ogura.c14"].clauses["almost_all"].quantity
