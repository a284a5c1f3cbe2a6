"""Claims of bhatti2008 and bhatti2009 on the papers' own printed numbers, clause by clause, and on swapped rows."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from tcpfair.verdicts.claims.decision import holds as clause_holds
from tcpfair.verdicts.claims.decision import quantities
from tcpfair.verdicts.claims.evidence import Evidence, Means, SingleRuns
from tcpfair.verdicts.claims.registry import claim_function, decide
from tests.verdicts.claims.printed_bhatti import N_REPLICATES, RTTS_2008, printed_experiments, single_trace
from tests.verdicts.claims.worlds import CLAIMS as OF_ALL_PAPERS
from tests.verdicts.claims.worlds import CONFIGS

CLAIMS = {claim_id: claim for claim_id, claim in OF_ALL_PAPERS.items() if claim.paper.startswith("bhatti")}
CLAUSES = [(claim_id, clause_id) for claim_id, claim in CLAIMS.items() for clause_id in claim.clauses]
PAIR, FIRST, SECOND = "pair", "pair_ccid2_first", "pair_tcp_first"

# ---- helpers


def found(claim_id, experiments=None, trace=None, rows=None):
    """The quantity of each clause; a row per replicate unless other ``rows`` are asked for."""
    claim = CLAIMS[claim_id]
    metrics = experiments or printed_experiments(claim.paper)
    evidence = Evidence(
        claim,
        CONFIGS[claim.paper],
        metrics.__getitem__,
        lambda experiment: trace or single_trace(),
        rows or SingleRuns(),
    )
    return quantities(claim_function(claim), evidence)


def outcomes(claim_id, experiments=None, **options):
    """Whether each clause holds; all replicates must agree."""
    held = {}
    for name, quantity in found(claim_id, experiments, **options).items():
        [held[name]] = clause_holds(CLAIMS[claim_id].clauses[name], quantity).unique()
    return held


@cache
def in_print(claim_id):
    return outcomes(claim_id)


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
    """Clauses with another outcome than on the printed numbers, as ``c03.unfair``."""
    unchanged = printed_experiments(paper)
    changed = {name for name in unchanged if experiments[name] is not unchanged[name]}
    ids = [claim.id for claim in CLAIMS.values() if claim.paper == paper and changed & set(claim.experiments)]
    return {
        f"{claim_id.split('.')[1]}.{clause}"
        for claim_id in ids
        for clause, held in outcomes(claim_id, experiments).items()
        if held != in_print(claim_id)[clause]
    }


# ---- every clause, on the printed numbers


@pytest.mark.parametrize(("claim_id", "clause_id"), CLAUSES)
def test_the_printed_numbers_decide_as_recorded(claim_id, clause_id):
    recorded = CLAIMS[claim_id].clauses[clause_id].in_print
    if recorded is not None:
        assert in_print(claim_id)[clause_id] == recorded


def test_clauses_without_a_record_are_those_on_which_no_number_is_printed():
    without = {claim_id for claim_id, clause in CLAUSES if CLAIMS[claim_id].clauses[clause].in_print is None}
    assert without == {f"bhatti2009.c{n:02d}" for n in (5, 6, 7, 10)} | {"bhatti2008.c19", "bhatti2008.c20"}


def test_claims_that_the_printed_numbers_contradict():
    contradicted = {claim_id for claim_id, claim in CLAIMS.items() if claim.contradicted}
    assert contradicted == {f"bhatti2009.c{n:02d}" for n in (9, 13, 15, 26, 28, 33)} | {"bhatti2008.c10"}


# ---- mutations: whole flows, protocols and RTTs swapped


def swapped(experiments, name, column, one, other):
    frame = experiments[name]
    return experiments | {name: frame.assign(**{column: frame[column].replace({one: other, other: one})})}


def swap(paper, *where):
    return flipped(paper, swapped(printed_experiments(paper), *where))


def of(claim_ids, clauses):
    return {f"{claim_id}.{clause}" for claim_id in claim_ids.split() for clause in clauses.split()}


def test_swapped_flows_turn_the_clauses_on_who_gets_more():
    assert swap("bhatti2009", FIRST, "flow", 1, 2) == (
        of("c14 c18", "bic cubic compound")
        | of("c15", "bic cubic compound")
        | of("c21", "bic cubic")
        | of("c20", "ahead behind")
        | {"c19.flatter", "c22.similar", "c23.third"}
    )
    assert swap("bhatti2008", PAIR, "flow", 1, 2) == {"c03.more", "c04.more", "c05.more", "c08.similar", "c09.less"}


def test_cubic_in_the_place_of_newreno_turns_the_clauses_that_tell_them_apart():
    of_2009 = swap("bhatti2009", FIRST, "protocol", "CUBIC", "NewReno")
    assert of_2009 >= of("c14 c15 c16 c17 c18 c21 c24 c25", "cubic") | of("c12", "bic cubic compound")
    assert of_2009 >= {"c11.fair", "c15.newreno", "c19.flatter", "c20.ahead", "c26.more"}
    assert not of_2009 & (of("c14 c15 c17 c18 c21 c24 c25", "bic") | of("c14 c15 c17 c18 c24 c25", "compound"))
    of_2008 = swap("bhatti2008", PAIR, "protocol", "CUBIC", "NewReno")
    assert of_2008 == (
        of("c03", "unfair more")
        | of("c05", "fairer more")
        | of("c20", "short shorter")
        | {"c02.fair", "c04.more", "c08.similar", "c09.less", "c10.neither", "c11.less"}
        | {"c13.likelier", "c14.sooner", "c21.pattern"}
    )


def test_ccid2_in_the_place_of_a_variant_turns_the_clauses_on_their_own_pairs():
    of_2009 = swap("bhatti2009", "self", "protocol", "CCID2", "BIC")
    assert of_2009 == of("c10", "pair_behind pair_falls trend") | {"c22.similar", "c23.third"}
    assert swap("bhatti2008", "self", "protocol", "CCID2", "CUBIC") == {"c06.cubic"}


def test_swapped_rtts_turn_the_clauses_on_the_trend():
    assert swap("bhatti2009", FIRST, "rtt_ms", 100, 200) == (
        of("c17 c18 c24 c25", "bic cubic compound") | {"c23.third", "c30.cubic", "c31.dip", "c34.ccid2_first"}
    )
    assert swap("bhatti2009", "single", "rtt_ms", 25, 200) == (
        of("c05", "seen trend") | of("c06", "bic cubic compound") | of("c10", "alone_behind alone_falls trend")
    )
    assert swap("bhatti2009", "ns2_14", "rtt_ms", 25, 200) == of("c27", "ends trend") | of("c29", "before after")
    of_2008 = swap("bhatti2008", "ns2_14", "rtt_ms", 25, 200)
    assert of_2008 == of("c15", "ends trend") | of("c16", "before after") | of("c17", "case_a case_b")


def test_swapped_orders_of_the_flows_turn_the_clauses_on_the_order():
    metrics = printed_experiments("bhatti2009")
    turned = flipped("bhatti2009", metrics | {FIRST: metrics[SECOND], SECOND: metrics[FIRST]} | _u_n_of(metrics))
    assert turned >= of("c31", "bic cubic dip") | of("c33", "bic cubic compound") | {"c32.more"}
    assert not turned & (of("c30", "bic cubic") | of("c34", "ccid2_first tcp_first"))  # the same either way round


def _u_n_of(metrics):
    """The other order's indices with the NRU rows that its tables do not give."""
    nru = metrics[FIRST][metrics[FIRST]["metric"].isin(["U_n", "U_N"])]
    return {FIRST: pd.concat([metrics[SECOND], nru], ignore_index=True)}


# ---- particular claims


def test_what_flows_carry_alone_is_compared_in_mbps_wherever_its_teeth_stand():
    distance = found("bhatti2009.c07")
    assert distance["bic"].to_numpy() == pytest.approx(18.0)  # 70 and 52 Mb/s against 50
    assert distance["cubic"].to_numpy() == pytest.approx(28.0)
    trace = single_trace()
    of_newreno = trace.samples["run_id"].isin(trace.runs.loc[trace.runs["protocol"] == "NewReno", "run_id"])
    of_ccid2 = trace.samples["run_id"].isin(trace.runs.loc[trace.runs["protocol"] == "CCID2", "run_id"])
    teeth = trace.samples["delivered_bytes"].astype(float)
    teeth[of_newreno & (trace.samples["t_s"] == 1.0)] = 1e6  # the same teeth, a second apart
    teeth[of_ccid2 & (trace.samples["t_s"] == 2.0)] = 1e6
    teeth[(of_newreno & (trace.samples["t_s"] > 1.0)) | (of_ccid2 & (trace.samples["t_s"] != 2.0))] = 9e6
    trace.samples["delivered_bytes"] = teeth
    # CCID2 has 8, 72, 72 Mb/s, as NewReno has; BIC 70 Mb/s throughout
    assert found("bhatti2009.c07", trace=trace)["bic"].to_numpy() == pytest.approx((62 + 2 + 2) / 3)


def test_gap_of_two_flows_below_their_expectation_is_their_distance():
    low = [(FIRST, "U_n", flow, "BIC", rtt_ms, u_db) for flow, u_db in ((1, -3.0), (2, -1.0)) for rtt_ms in (100, 200)]
    low.append((FIRST, "U_n", 1, "BIC", 200, -1.5))
    change_db = found("bhatti2009.c25", edited("bhatti2009.c25", low))["bic"]
    assert change_db.to_numpy() == pytest.approx(0.5 - 2.0)


def test_pairs_that_never_converge_are_left_out_of_the_order_in_time():
    both = [109 / 71, 208 / 157, 157 / 84, 198 / 61, 172 / 62]  # three of the 16 cells of table VII have no time
    assert found("bhatti2008.c14")["sooner"].to_numpy() == pytest.approx(np.exp(np.log(both).mean()))
    never = [(PAIR, "T_U", 0, "CUBIC", rtt_ms, np.nan) for rtt_ms in RTTS_2008]
    assert np.isnan(outcomes("bhatti2008.c14", edited("bhatti2008.c14", never))["sooner"])


def test_a_pair_converges_when_half_of_its_runs_do():
    for replicates, expected in (([0], 1.0), ([0, 1], 15 / 16)):
        some = edited("bhatti2008.c21", [(PAIR, "T_U", 0, "NewReno", 75, 100)], replicates)
        assert found("bhatti2008.c21", some, rows=Means())["pattern"].iloc[0] == pytest.approx(expected)


def test_convergence_of_some_runs_counts_for_as_much():
    one_more = edited("bhatti2008.c13", [(PAIR, "T_U", 0, "NewReno", 75, 100)], [0])
    assert found("bhatti2008.c13", one_more, rows=Means())["likelier"].iloc[0] == pytest.approx(1 + 1 / 3)


def test_share_of_the_self_pair_is_that_of_the_means():
    # flow 1 of CCID2 against itself at 25 ms: 43, 43 and 64 have the mean 50
    metrics = edited("bhatti2009.c22", [("self", "throughput_mean", 1, "CCID2", 25, 64)], replicates=[2])
    assert found("bhatti2009.c22", metrics, rows=Means())["similar"].iloc[0] == pytest.approx(40 / 50)


def test_unfair_to_both_is_case_a_and_fair_to_both_is_none_of_case_b():
    assert found("bhatti2008.c10")["most"].to_numpy() == pytest.approx(15 / 16)
    fair = edited("bhatti2008.c10", [(PAIR, "U_n", 1, "CUBIC", rtt_ms, 0.5) for rtt_ms in (50, 75)])
    assert found("bhatti2008.c10", fair)["most"].to_numpy() == pytest.approx(13 / 16)


# ---- verdicts


def test_fourteen_flows_are_pending_while_their_experiment_is_not_configured():
    config = CONFIGS["bhatti2009"].model_copy(update={"experiments": {}})
    judged = decide(CLAIMS["bhatti2009.c27"], config, {}.__getitem__, {}.__getitem__)
    assert judged.verdict == "pending"
    assert "ns2_14" in judged.evidence


def test_evidence_names_exhibit_runs_and_numbers():
    claim = CLAIMS["bhatti2009.c22"]
    metrics = edited(claim.id, [(FIRST, "throughput_mean", 1, "BIC", 25, 34)], replicates=[1])
    judged = decide(claim, CONFIGS["bhatti2009"], metrics.__getitem__, {}.__getitem__)
    assert judged.verdict == "not reproduced"  # 40, 34 and 40 of 43 Mb/s
    assert "bhatti2009.table6" in judged.evidence
    assert "0.884" in judged.evidence
    assert "holds in 67 % of 3 single runs" in judged.evidence


def test_a_claim_on_several_protocols_says_of_which_it_is_true():
    metrics = edited("bhatti2009.c14", [(FIRST, "throughput_mean", 2, "Compound", 50, 20)])
    judged = decide(CLAIMS["bhatti2009.c14"], CONFIGS["bhatti2009"], metrics.__getitem__, {}.__getitem__)
    assert judged.verdict == "partly"
    assert "Compound gets more than CCID2 at 50, 100 and 200 ms: does not hold" in judged.evidence
