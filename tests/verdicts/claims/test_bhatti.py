"""Claims of bhatti2008 and bhatti2009 on the papers' own printed numbers, and on swapped rows."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from tcpfair.verdicts.claims.evidence import Evidence
from tcpfair.verdicts.claims.registry import claim_function, decide
from tests.verdicts.claims.edges import CLAIMS as OF_ALL_PAPERS
from tests.verdicts.claims.edges import CONFIGS
from tests.verdicts.claims.printed_bhatti import N_REPLICATES, RTTS_2008, printed_experiments, single_trace

# Claims that the printed numbers contradict, and one of which they contradict a part (0.06 dB is 0.1 to one decimal).
FALSE_IN_PRINT = {f"bhatti2009.c{n:02d}" for n in (9, 13, 15, 26, 33)} | {"bhatti2008.c10"}

# ---- helpers

CLAIMS = {claim_id: claim for claim_id, claim in OF_ALL_PAPERS.items() if claim.paper.startswith("bhatti")}


def finding(claim_id, experiments=None, trace=None, averaged=False):
    claim = CLAIMS[claim_id]
    metrics = experiments or printed_experiments(claim.paper)
    evidence = Evidence(
        claim, CONFIGS[claim.paper], metrics.__getitem__, lambda experiment: trace or single_trace(), averaged
    )
    return claim_function(claim)(evidence)


@cache
def holds_in_print(claim_id):
    return holds(claim_id)


def holds(claim_id, experiments=None, **options):
    """The one outcome of all replicates."""
    decided = finding(claim_id, experiments, **options).decided()
    assert decided.nunique() == 1
    return bool(decided.iloc[0])


def edited(claim_id, edits, replicates=range(N_REPLICATES)):
    """The printed metrics with (experiment, metric, flow, protocol, rtt_ms, value) put in for some replicates."""
    metrics = dict(printed_experiments(CLAIMS[claim_id].paper))
    for experiment in {edit[0] for edit in edits}:
        metrics[experiment] = metrics[experiment].copy()
    for experiment, metric, flow, protocol, rtt_ms, value in edits:
        frame = metrics[experiment]
        cell = (frame["metric"] == metric) & (frame["flow"] == flow) & (frame["protocol"] == protocol)
        cell &= (frame["rtt_ms"] == rtt_ms) & frame["replicate"].isin(replicates)
        assert cell.sum() == len(replicates)
        frame.loc[cell, "value"] = value
    return metrics


def flipped(paper, experiments):
    """Short ids of the claims with another outcome than on the printed numbers."""
    unchanged = printed_experiments(paper)
    changed = {name for name in unchanged if experiments[name] is not unchanged[name]}
    ids = [claim.id for claim in CLAIMS.values() if claim.paper == paper and changed & set(claim.experiments)]
    return {c.split(".")[1] for c in ids if holds(c, experiments) != holds_in_print(c)}


# ---- every claim, on the printed numbers and on one altered cell


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_the_printed_numbers_decide_as_recorded(claim_id):
    assert holds(claim_id) == (claim_id not in FALSE_IN_PRINT)
    if isinstance(CLAIMS[claim_id].in_print, bool):
        assert holds(claim_id) == CLAIMS[claim_id].in_print


PAIR, FIRST, SECOND = "pair", "pair_ccid2_first", "pair_tcp_first"


# ---- mutations: whole flows, protocols and RTTs swapped


def swapped(experiments, name, column, one, other):
    frame = experiments[name]
    return experiments | {name: frame.assign(**{column: frame[column].replace({one: other, other: one})})}


def test_swapped_flows_turn_the_claims_on_who_gets_more():
    of_2009 = swapped(printed_experiments("bhatti2009"), FIRST, "flow", 1, 2)
    assert flipped("bhatti2009", of_2009) == {"c14", "c18", "c20", "c21", "c22", "c23"}
    of_2008 = swapped(printed_experiments("bhatti2008"), PAIR, "flow", 1, 2)
    assert flipped("bhatti2008", of_2008) == {"c03", "c04", "c05", "c08", "c09"}


def test_cubic_in_the_place_of_newreno_turns_the_claims_that_tell_them_apart():
    of_2009 = swapped(printed_experiments("bhatti2009"), FIRST, "protocol", "CUBIC", "NewReno")
    expected = {"c11", "c12", "c14", "c16", "c17", "c18", "c20", "c21", "c24", "c25", "c26", "c30", "c32"}
    assert flipped("bhatti2009", of_2009) == expected
    of_2008 = swapped(printed_experiments("bhatti2008"), PAIR, "protocol", "CUBIC", "NewReno")
    expected = {"c02", "c03", "c04", "c05", "c08", "c09", "c11", "c13", "c14", "c20", "c21"}
    assert flipped("bhatti2008", of_2008) == expected


def test_ccid2_in_the_place_of_a_variant_turns_the_claims_on_their_own_pairs():
    of_2009 = swapped(printed_experiments("bhatti2009"), "self", "protocol", "CCID2", "BIC")
    assert {"c10"} <= flipped("bhatti2009", of_2009)
    of_2008 = swapped(printed_experiments("bhatti2008"), "self", "protocol", "CCID2", "CUBIC")
    assert {"c06"} <= flipped("bhatti2008", of_2008)


def test_swapped_rtts_turn_the_claims_on_the_trend():
    of_2009 = swapped(printed_experiments("bhatti2009"), FIRST, "rtt_ms", 100, 200)
    turned = flipped("bhatti2009", of_2009)
    assert {"c17", "c18", "c23", "c24", "c25"} <= turned
    assert not turned & {"c11", "c12", "c14", "c21", "c22", "c26"}
    of_2009 = swapped(printed_experiments("bhatti2009"), "single", "rtt_ms", 25, 200)
    assert flipped("bhatti2009", of_2009) == {"c05", "c06", "c10"}


def test_swapped_orders_of_the_flows_turn_the_claims_on_the_order():
    metrics = printed_experiments("bhatti2009")
    turned = flipped("bhatti2009", metrics | {FIRST: metrics[SECOND], SECOND: metrics[FIRST]} | _u_n_of(metrics))
    assert {"c30", "c31", "c32", "c33"} <= turned


def _u_n_of(metrics):
    """The other order's indices with the NRU rows that its tables do not give."""
    nru = metrics[FIRST][metrics[FIRST]["metric"].isin(["U_n", "U_N"])]
    return {FIRST: pd.concat([metrics[SECOND], nru], ignore_index=True)}


# ---- particular claims


def test_ccid2_curve_is_measured_in_mbps():
    distance = finding("bhatti2009.c07").numbers["distance of CCID2's curve, Mb/s"]
    assert distance["NewReno"].to_numpy() == pytest.approx(2.0)
    assert distance["CUBIC"].to_numpy() == pytest.approx(30.0)


def test_gap_of_two_flows_below_their_expectation_is_their_distance():
    metrics = edited("bhatti2009.c24", [(FIRST, "U_n", 1, "BIC", 25, -3.0), (FIRST, "U_n", 2, "BIC", 25, -1.0)])
    gap_db = finding("bhatti2009.c24", metrics).numbers["U_N+ less U_N-, dB"]
    assert gap_db["BIC", 25].to_numpy() == pytest.approx(2.0)


def test_pairs_that_never_converge_are_left_out_of_the_order_in_time():
    assert holds("bhatti2008.c14")  # three of the 16 cells of table VII have no time
    never = [(PAIR, "T_U", 0, "CUBIC", rtt, np.nan) for rtt in RTTS_2008]
    assert finding("bhatti2008.c14", edited("bhatti2008.c14", never)).decided().empty


def test_a_time_that_half_of_the_runs_reach_counts_for_the_means():
    one_of_three = edited("bhatti2008.c21", [(PAIR, "T_U", 0, "NewReno", 75, 100)], replicates=[0])
    two_of_three = edited("bhatti2008.c21", [(PAIR, "T_U", 0, "NewReno", 75, 100)], replicates=[0, 1])
    assert holds("bhatti2008.c21", one_of_three, averaged=True)
    assert not holds("bhatti2008.c21", two_of_three, averaged=True)


def test_share_of_the_self_pair_is_of_its_mean_over_replicates():
    # flow 1 of CCID2 against itself at 25 ms: 43, 43 and 64 have the mean 50
    metrics = edited("bhatti2009.c22", [("self", "throughput_mean", 1, "CCID2", 25, 64)], replicates=[2])
    share = finding("bhatti2009.c22", metrics).numbers["throughput of CCID2 over that against itself"]
    assert share.to_numpy() == pytest.approx(40 / 50)


def test_letters_count_the_cells_that_agree():
    numbers = finding("bhatti2008.c10").numbers
    assert numbers["letters as claimed, of 16"].to_list() == [16, 16, 16]
    assert numbers["share with the claimed rounded letter"] == 0


def test_the_pattern_of_no_convergence_is_told_beside_the_counts():
    other = edited("bhatti2008.c21", [(PAIR, "T_U", 0, "CUBIC", 150, 70), (PAIR, "T_U", 0, "CUBIC", 50, np.nan)], [1])
    frame = other[PAIR].copy()
    one_more = (frame["metric"] == "T_U") & (frame["protocol"] == "NewReno") & (frame["rtt_ms"] == 25)
    frame.loc[one_more & (frame["replicate"] == 2), "value"] = np.nan
    found = finding("bhatti2008.c21", other | {PAIR: frame})
    assert found.numbers["share with the claimed pattern"] == pytest.approx(1 / 3)
    assert found.decided().to_list() == [True, True, False]


# ---- verdicts


def test_fourteen_flows_are_pending_while_their_experiment_is_not_configured():
    config = CONFIGS["bhatti2009"].model_copy(update={"experiments": {}})
    verdict, evidence = decide(CLAIMS["bhatti2009.c27"], config, {}.__getitem__, {}.__getitem__)
    assert verdict == "pending"
    assert "ns2_14" in evidence


def test_evidence_names_exhibit_replicates_and_numbers():
    claim = CLAIMS["bhatti2009.c22"]
    metrics = edited(claim.id, [(FIRST, "throughput_mean", 1, "BIC", 25, 34)], replicates=[1])
    verdict, evidence = decide(claim, CONFIGS["bhatti2009"], metrics.__getitem__, {}.__getitem__)
    assert verdict == "partly"
    assert "bhatti2009.table6" in evidence
    assert "2 of 3 replicates" in evidence
    assert "0.884 ± 0.081" in evidence  # 40/43, 34/43 and 40/43


# ---- weights of another rule


@pytest.mark.parametrize(
    ("claim_id", "metric"), [("bhatti2009.c28", "U_N"), ("bhatti2009.c29", "U_n"), ("bhatti2008.c17", "U_n")]
)
def test_other_weights_are_told_beside_the_verdict_and_do_not_decide(claim_id, metric):
    experiments = dict(printed_experiments(CLAIMS[claim_id].paper))
    plain = experiments["ns2_14"]
    other = plain[plain["metric"] == metric].assign(metric=f"{metric}@sum_of_columns")
    # no flow above its expectation, and worse with every RTT, in one of the three replicates
    worse = other["replicate"] == 0
    other.loc[worse, "value"] = -20 - other.loc[worse, "rtt_ms"] / 100
    experiments["ns2_14"] = pd.concat([plain, other], ignore_index=True)
    assert holds(claim_id, experiments)
    told = finding(claim_id, experiments).numbers["share that holds with weights sum_of_columns"]
    assert told == pytest.approx(2 / 3)
