"""Named readings of the print: what suggests one holds for the printed numbers, and fails where the evidence is altered."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS
from tcpfair.measures import SYSTEM
from tcpfair.runs.ensemble import Change, Excluded, Hypothesis, load
from tcpfair.verdicts import printed, readings, scatter
from tcpfair.verdicts.claims import causes
from tcpfair.verdicts.claims.statement import load_claims
from tcpfair.verdicts.claims.why import load_causes
from tcpfair.verdicts.readings import CONDITIONS, CONFIGURED, SECOND, Suggested
from tests.verdicts import bundled

LAYOUT = bundled.LAYOUT
PLANS = load(LAYOUT.ensemble_config)
PLAN = PLANS.papers["bhatti2009"]
H3 = PLAN.reading("H3")
HALF = PLAN.reading("half_of_sum")
NOTHING = PLAN.reading("")
TOLERANCES = printed.both_tolerances(LAYOUT.data)
IDENTITY = ["exhibit", "key", "metric"]


def printed_cells(paper="bhatti2009"):
    return bundled.cells(paper)


def number(exhibit, **key):
    """Its place among the printed numbers of bhatti2009."""
    table = printed_cells()
    of_text = {name: text for name, text in key.items() if name != "metric"}
    chosen = (table["exhibit"] == f"bhatti2009.{exhibit}") & (table["key"] == printed.make_key(**of_text))
    (found,) = table.index[chosen & (table["metric"] == key.get("metric", table.loc[chosen, "metric"].iloc[0]))]
    return found


def metrics_of_14(values):
    """Metrics of the 14 flows: each of some metrics has the same three values at every RTT."""
    return pd.concat(
        bundled.runs(of_runs, rtt_ms=rtt_ms, metric=metric, flow=SYSTEM, flow_protocol="")
        for rtt_ms in bundled.CONFIGS["bhatti2009"].experiments["ns2_14"].grid["rtt_ms"].value
        for metric, of_runs in values.items()
    )


WIDE, FAR = (-20.0, -12.0, -5.0), (1.0, 2.0, 3.0)  # about every printed U_N-, and about none
METRICS = {**{name: FAR for name in ("U_N", "U_N+", "U_N-", "S_N", "jfi_mean")}, "U_N-@half_of_sum": WIDE}
METRICS |= {name: FAR for name in ("U_N@half_of_sum", "U_N+@half_of_sum", "S_N_sum@half_of_sum")}


@cache
def shipped_reprints():
    return scatter.reprints(bundled.CONFIGS["bhatti2009"], LAYOUT)


def known(numbers=None, inside=lambda row: True, values=METRICS, ensemble=None, reprints=None):
    """bhatti2009 with all numbers computed and none within; those of table IV are in the ensemble."""
    if numbers is None:
        numbers, reprints = printed_cells(), reprints or shipped_reprints()
    numbers = numbers.assign(
        within=pd.array([False] * len(numbers), "boolean"), within_scatter=pd.array([False] * len(numbers), "boolean")
    )
    if ensemble is None:
        own = numbers[numbers["exhibit"] == "bhatti2009.table4"]
        ensemble = own.assign(
            hypothesis="",
            number=own.index,
            base=0.0,
            second=np.nan,
            inside=[inside(row) for row in own.to_dict("records")],
        )
    if reprints is None:
        reprints = frozenset(scatter.in_both(numbers, printed_cells("bhatti2008")).query("reprint").index)
    indexed = ensemble.set_index(["hypothesis", "number"])
    load_metrics = cache(lambda experiment: metrics_of_14(values))
    return readings.Printed(numbers, indexed, reprints, TOLERANCES, (0.025, 0.975), load_metrics)


def suggested(found, name="H3", reading=H3):
    return Suggested(found, reading, found.counts(name, reading), found.counts(CONFIGURED, NOTHING))


def with_values(**values):
    """The printed numbers with other values: by ``exhibit protocol flow rtt_ms``."""
    numbers = printed_cells().copy()
    for place, value in values.items():
        exhibit, protocol, flow, rtt_ms = place.split("_")
        numbers.loc[number(exhibit, protocol=protocol, flow=int(flow), rtt_ms=int(rtt_ms)), "value"] = value
    return numbers


def as_in_table():
    """The text quotes what the table has."""
    numbers = printed_cells().copy()
    stated = numbers.set_index(IDENTITY)["value"].to_dict()
    for place, row in numbers.iterrows():
        numbers.loc[place, "value"] = stated.get(printed.quoted_identity(row), row["value"])
    return numbers


def of_ccid2():
    """H3, but for the row of CCID2 too."""
    excluded = [part.model_copy(update={"protocols": [*part.protocols, "CCID2"]}) for part in H3.excluded]
    return H3._replace(excluded=excluded)


def of_h3(row):
    return printed.parse_key(row["key"])["protocol"] in H3.excluded[0].protocols


OTHER_14 = {**METRICS, "U_N-": WIDE, "U_N-@half_of_sum": FAR}
SAME = {f"table4_{p}_{f}_{r}": "47" for p in ("Compound", "CCID2") for f in (1, 2) for r in (25, 50, 100, 200)}
# condition, evidence with which it holds, and evidence altered so that it does not
CASES = [
    ("quoted otherwise", lambda: suggested(known()), lambda: suggested(known(as_in_table()))),
    ("same at every RTT", lambda: suggested(known()), lambda: suggested(known(with_values(table4_BIC_1_200="45")))),
    ("same at every RTT", lambda: suggested(known()), lambda: suggested(known(with_values(**SAME)))),
    ("rest reprinted", lambda: suggested(known()), lambda: suggested(known(with_values(**SAME)))),
    ("rest reprinted", lambda: suggested(known()), lambda: suggested(known(), reading=of_ccid2())),
    ("fits better", lambda: suggested(known(inside=lambda row: not of_h3(row))), lambda: suggested(known())),
    (
        "fits better",
        lambda: suggested(known(), "half_of_sum", HALF),
        lambda: suggested(known(values=OTHER_14), "half_of_sum", HALF),
    ),
]


@pytest.mark.parametrize(("need", "met", "altered"), CASES, ids=[case[0] for case in CASES])
def test_what_suggests_a_reading_fails_where_the_evidence_is_altered(need, met, altered):
    assert readings._unmet("here", [need], met()) == []
    (line,) = readings._unmet("here", [need], altered())
    assert line == f"here.needs: {need}: {CONDITIONS[need][1]}"


def test_every_condition_is_tried_and_every_new_reading_has_some():
    assert {need for need, *_ in CASES} == set(CONDITIONS)
    for name in ("H3", "half_of_sum"):
        assert PLAN.hypotheses[name].needs
        assert set(PLAN.hypotheses[name].needs) <= set(CONDITIONS)
    with pytest.raises(InputError, match=r"^here.needs: condition 'luck' is unknown"):
        readings._unmet("here", ["luck"], suggested(known()))


# --- Which numbers are counted ------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_every_printed_result_is_counted_once(paper):
    numbers = printed_cells(paper).assign(within=pd.array([True] * len(printed_cells(paper)), "boolean"))
    found = replace(
        known(), numbers=numbers.assign(within_scatter=numbers["within"]), ensemble=known().ensemble.iloc[:0]
    )
    counts = replace(found, load=lambda experiment: pd.DataFrame()).judged(NOTHING).value_counts()
    assert counts.sum() == len(numbers)
    assert counts.get("no_cell", 0) == (numbers["cell"].isna()).sum()


def test_an_excluded_number_is_judged_by_what_the_text_has_in_its_place():
    found = known()
    quoted = [number("sec-V-C", condition="self", flow=2, protocol="BIC", rtt_ms=rtt_ms) for rtt_ms in (25, 100)]
    configured, under = found.judged(NOTHING), found.judged(H3)
    assert set(configured[quoted]) == {"repeated"}
    assert set(under[quoted]) == {""}
    assert (under == "excluded").sum() == 24
    assert found.counts("H3", H3)["numbers"] == found.counts(CONFIGURED, NOTHING)["numbers"] - 24 + 2


def test_what_was_not_computed_has_no_share():
    numbers = known().numbers
    place = number("table4", flow=1, protocol="BIC", rtt_ms=25)
    numbers.loc[place, "within"] = pd.NA
    counts = replace(known(), numbers=numbers).counts(CONFIGURED, NOTHING)
    assert counts["not_computed"] == 1
    assert counts["numbers"] == known().counts(CONFIGURED, NOTHING)["numbers"] - 1


def test_measurements_of_an_earlier_paper_are_the_14_flows_and_the_self_pairs_of_ccid2():
    table = printed_cells().loc[sorted(known().reprints)]
    assert table.groupby("exhibit").size().to_dict() == {
        "bhatti2009.table4": 8,
        "bhatti2009.table7": 24,
        "bhatti2009.table8": 8,
    }
    assert scatter.reprints(bundled.CONFIGS["kozu2014"], LAYOUT) == frozenset()
    assert table.loc[table["exhibit"] == "bhatti2009.table4", "key"].str.contains("protocol=CCID2").all()
    found = known()
    assert found.counts(CONFIGURED, NOTHING)["reprinted"] == 40
    assert found.counts(CONFIGURED, NOTHING, found.reprints)["reprinted"] == 0


def test_a_simulated_reading_replaces_only_what_it_changes():
    place, same = (number("table4", flow=1, protocol=name, rtt_ms=25) for name in ("BIC", "CUBIC"))
    rows = [("", place, 50.0), ("", same, 33.0), ("H1", place, 33.0), ("H1", same, 33.0)]
    ensemble = pd.DataFrame(rows, columns=["hypothesis", "number", "base"]).assign(
        inside=False, second=[33.0, np.nan] * 2
    )
    found = known(ensemble=ensemble)
    assert found.compared(CONFIGURED, NOTHING)["within"].sum() == 0
    assert found.compared("H1", PLAN.reading("H1"))["within"].to_numpy().nonzero()[0].tolist() == [place]
    assert found.compared(SECOND, NOTHING)["within"].to_numpy().nonzero()[0].tolist() == [place]
    assert found.counts(SECOND, NOTHING)["in_ensemble"] == 0  # a prediction, without a range
    assert found.counts("H1", PLAN.reading("H1"))["in_ensemble"] == 2


def test_a_reading_by_other_metrics_compares_these():
    near = {**METRICS, "U_N-@half_of_sum": (-10.5, -10.5, -10.5)}
    found = known(values=near)
    place = number("table7", rtt_ms=25, metric="U_N-")
    assert not found.compared(CONFIGURED, NOTHING).at[place, "within"]
    assert found.compared("half_of_sum", HALF).at[place, "within"]
    of_u_minus = found.numbers["metric"] == "U_N-"
    assert found.compared("half_of_sum", HALF)["within"][of_u_minus].sum() == 1  # -10.51 alone is near
    assert not found.ranges(CONFIGURED, NOTHING).at[place, "inside_runs"]


# --- Claims -------------------------------------------------------------------------------------------------------

CLAIMS = {claim.id: claim for claim in load_claims(LAYOUT.data / "claims/bhatti2009.yaml")}
PAIR = bundled.CONFIGS["bhatti2009"]


def plans(**hypotheses):
    """The configuration with these hypotheses of bhatti2009 alone."""
    own = PLAN.model_copy(update={"hypotheses": hypotheses, "held_out": []})
    return PLANS.model_copy(update={"papers": {"bhatti2009": own}})


def test_the_numbers_that_deny_a_claim_may_be_excluded():
    claim = CLAIMS["bhatti2009.c09"]
    cause = load_causes(LAYOUT.data / "claims")[claim.cause]
    denied = readings.denied_in_print(LAYOUT, PAIR, PLANS)(claim)
    assert denied == {"": ["second", "both"], "H3": []}
    other = Hypothesis(what="x", excluded=[Excluded(exhibits=["bhatti2009.table3"], reason="x")])
    altered = readings.denied_in_print(LAYOUT, PAIR, plans(H3=other))(claim)
    assert altered == {"": ["second", "both"], "H3": ["second", "both"]}
    found = [causes.Found(claim, [], pd.DataFrame(), each) for each in (denied, altered)]
    assert causes.unmet(claim.cause, cause, found[0]) == ""
    assert "no hypothesis excludes" in causes.unmet(claim.cause, cause, found[1])


@pytest.fixture
def held(tmp_path):
    """Metrics of the 14 flows alone: the best is above its expectation, as printed from 125 ms on, only by U_n@half_of_sum."""
    table = metrics_of_14(
        {"U_n": (-2.0, -2.1, -1.9), "U_n@half_of_sum": (1.0, 1.1, 0.9), "U_N": FAR, "U_N@half_of_sum": FAR}
    )
    table["flow"] = np.where(table["metric"].str.startswith("U_n"), 1, SYSTEM)
    path = tmp_path / "ns2_14.parquet"
    table.to_parquet(path)
    return SimpleNamespace(layout=LAYOUT, paper=PAIR, metrics={"ns2_14": path}.get)


def by_other_metrics(**metrics):
    return plans(other=Hypothesis(what="x", changes=[Change(experiments=["ns2_14"], metrics=metrics)]))


def test_clauses_are_decided_by_the_metrics_of_a_reading(held):
    nothing = pd.DataFrame(columns=["id", "hypothesis"])
    config = by_other_metrics(U_n="U_n@half_of_sum", U_N="U_N@half_of_sum")
    rows = readings.clauses_read_as(held, None, lambda claim: "", nothing, config)
    shares = rows.set_index(["id", "clause"])["share"]
    assert (shares["bhatti2009.c29", "before"], shares["bhatti2009.c29", "after"]) == (0.0, 1.0)
    assert set(rows["hypothesis"]) == {"other"}
    assert (rows["settings"] == 1).all()
    same = readings.clauses_read_as(held, None, lambda claim: "", nothing, by_other_metrics(U_n="U_n"))
    assert same.set_index(["id", "clause"])["share"]["bhatti2009.c29", "after"] == 0.0
    assert readings.clauses_read_as(held, None, lambda claim: "not asked for", nothing, config).empty
    done = rows[["id", "hypothesis"]].drop_duplicates()
    assert readings.clauses_read_as(held, None, lambda claim: "", done, config).empty


@pytest.mark.parametrize(("metric", "other", "wrong"), [("U_n", "U_n@half", "U_n@half"), ("V_n", "U_n", "V_n")])
def test_a_metric_that_no_run_has_gets_one_line(held, metric, other, wrong):
    config = by_other_metrics(**{metric: other})
    complaint = (
        rf"^config/ensemble.yaml: papers.bhatti2009.hypotheses.other.metrics: metric of ns2_14 '{wrong}' is unknown"
    )
    with pytest.raises(InputError, match=complaint):
        readings.clauses_read_as(held, None, lambda claim: "", pd.DataFrame(columns=["id", "hypothesis"]), config)
