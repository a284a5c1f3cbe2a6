"""Print in, truth out: the papers' own printed numbers through what judges simulations, and examples worked from them."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.runs.trace import Trace
from tcpfair.verdicts.claims.decision import holds, quantities
from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.claims.registry import claim_function, decide
from tcpfair.verdicts.measured import Measured
from tcpfair.verdicts.printed_metrics import printed_metrics
from tests.verdicts.bundled import CONFIGS, LAYOUT
from tests.verdicts.claims.worlds import CLAIMS

FIRST = "pair_ccid2_first"
N_FLOWS = 14


@cache
def printed(paper):
    """Metrics by experiment, and of the 14 flows, of which a tuple is printed: one is at U_N+, the others at U_N-."""
    found = dict(printed_metrics(CONFIGS[paper], LAYOUT))
    if "ns2_14" in found:
        table = found["ns2_14"]
        plus, minus = (table[table["metric"] == name].set_index("rtt_ms") for name in ("U_N+", "U_N-"))
        best = plus.assign(value=plus["value"].fillna(minus["value"]), metric="U_n", flow=1)
        mean = minus.assign(value=(best["value"] + (N_FLOWS - 1) * minus["value"]) / N_FLOWS, metric="U_N")
        flows = pd.concat([best, minus.assign(metric="U_n", flow=2), mean]).reset_index()
        found["ns2_14"] = pd.concat([table[table["metric"] != "U_N"], flows], ignore_index=True)
    if "single" in found:  # utilisations are in a figure only
        of_pairs = found["self"][found["self"]["metric"] == "utilisation"]
        found["single"] = pd.concat([found["single"], of_pairs.assign(value=np.nan)], ignore_index=True)
    return found


def of_print(claim_id, metrics=None, rows="runs"):
    """The quantity of each clause."""
    claim = CLAIMS[claim_id]
    load = (metrics or printed(claim.paper)).__getitem__
    return quantities(
        claim_function(claim), Evidence(claim, CONFIGS[claim.paper], Measured(load), {}.__getitem__, rows)
    )


def in_print(claim_id):
    """Whether the printed numbers satisfy each clause of a claim: 1, 0, or NaN where they do not suffice."""
    claim = CLAIMS[claim_id]
    try:
        found = of_print(claim_id)
    except (KeyError, InputError):  # an experiment, a metric or a cell of which nothing is printed
        return dict.fromkeys(claim.clauses, np.nan)
    return {name: float(holds(claim.clauses[name], quantity).iloc[0]) for name, quantity in found.items()}


def test_what_print_says_of_each_clause_is_recorded():
    fed = {
        (claim.id, name): bool(held)
        for claim in CLAIMS.values()
        if claim.experiments
        for name, held in in_print(claim.id).items()
        if not np.isnan(held)
    }
    assert fed == {(claim_id, name): CLAIMS[claim_id].clauses[name].in_print for claim_id, name in fed}
    papers = [claim_id.split(".")[0] for claim_id, _ in fed]
    assert papers.count("bhatti2008") + papers.count("bhatti2009") == 92  # those that print tables


def test_claims_that_the_printed_numbers_contradict():
    contradicted = {claim_id for claim_id, claim in CLAIMS.items() if claim.contradicted}
    of_bhatti = {claim_id for claim_id in contradicted if claim_id.startswith("bhatti")}
    assert of_bhatti == {f"bhatti2009.c{n:02d}" for n in (9, 13, 15, 26, 28, 33)} | {"bhatti2008.c10"}


# --- Examples -----------------------------------------------------------------------------------------------------


def edited(paper, edits, replicates=range(3)):
    """The printed metrics in three replicates, with (experiment, metric, flow, protocol, rtt_ms, value) put into some."""
    metrics = {
        name: pd.concat([table.assign(replicate=i, run_id=table["run_id"] + 1000 * i) for i in range(3)])
        for name, table in printed(paper).items()
    }
    for experiment, metric, flow, protocol, rtt_ms, value in edits:
        table = metrics[experiment]
        cell = (table["metric"] == metric) & (table["flow"] == flow) & (table["protocol"] == protocol)
        cell &= (table["rtt_ms"] == rtt_ms) & table["replicate"].isin(replicates)
        assert cell.sum() == len(replicates)
        metrics[experiment] = table.assign(value=table["value"].mask(cell, value))
    return metrics


def alone(mbps):
    """One flow of each protocol at 25 ms with these throughputs of three seconds."""
    runs = pd.DataFrame(
        {"run_id": range(len(mbps)), "replicate": 0, "protocol": list(mbps), "rtt_ms": 25, "sample_s": 1.0}
    )
    rates = [(i, t_s, int(x * 1e6 / 8)) for i, of in enumerate(mbps.values()) for t_s, x in enumerate(of, 1)]
    return Trace(runs, pd.DataFrame(), pd.DataFrame(rates, columns=["run_id", "t_s", "delivered_bytes"]))


def test_what_flows_carry_alone_is_compared_in_mbps_wherever_its_teeth_are():
    same_teeth = {"CCID2": [72, 8, 72], "NewReno": [8, 72, 72], "BIC": [70] * 3, "CUBIC": [80] * 3}
    of = Evidence(
        CLAIMS["bhatti2009.c07"], CONFIGS["bhatti2009"], {}.__getitem__, {"single": alone(same_teeth)}.__getitem__
    )
    found = claim_function(CLAIMS["bhatti2009.c07"])(of)
    assert found["bic"].to_numpy() == pytest.approx((62 + 2 + 2) / 3)
    assert found["cubic"].to_numpy() == pytest.approx((72 + 8 + 8) / 3)


def test_pairs_that_never_converge_are_left_out_of_the_order_in_time():
    both = [79 / 41, 178 / 127, 127 / 54, 168 / 31, 142 / 32]  # three of the 16 cells of table VII have no time
    assert of_print("bhatti2008.c14")["sooner"].to_numpy() == pytest.approx(np.exp(np.log(both).mean()))


@pytest.mark.parametrize(("replicates", "pattern", "likelier"), [([0], 1.0, 4 / 3), ([0, 1], 15 / 16, 5 / 3)])
def test_a_pair_converges_when_half_of_its_runs_do_and_each_run_counts(replicates, pattern, likelier):
    some = edited("bhatti2008", [("pair", "T_U", 0, "NewReno", 75, 100)], replicates)
    found = {name: of_print(f"bhatti2008.{name}", some, rows="means") for name in ("c13", "c21")}
    assert found["c21"]["pattern"].iloc[0] == pytest.approx(pattern)
    assert found["c13"]["likelier"].iloc[0] == pytest.approx(likelier)


def test_unfair_to_both_is_case_a_and_fair_to_both_is_none_of_case_b():
    assert of_print("bhatti2008.c10")["most"].to_numpy() == pytest.approx(15 / 16)
    fair = edited("bhatti2008", [("pair", "U_n", 1, "CUBIC", rtt_ms, 0.5) for rtt_ms in (50, 75)])
    assert of_print("bhatti2008.c10", fair)["most"].to_numpy() == pytest.approx(13 / 16)


def test_a_claim_on_several_protocols_says_of_which_it_is_true():
    metrics = edited("bhatti2009", [(FIRST, "throughput_mean", 2, "Compound", 50, 20)])
    judged = decide(CLAIMS["bhatti2009.c14"], CONFIGS["bhatti2009"], Measured(metrics.__getitem__), {}.__getitem__)
    assert judged.verdict == "partly"
    assert "Compound gets more than CCID2 at 50, 100 and 200 ms: does not hold" in judged.evidence
