"""The papers' claims from the engine and from a Linux kernel: whose side the guest takes, and what is said of it."""

from functools import cache
from types import SimpleNamespace

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout, repository_root
from tcpfair.validation import claims, page, papers
from tcpfair.validation.claims import AS_KERNEL, CHANCE, FULL, IMPLEMENTATION, KERNEL, SCALED, SIZE
from tcpfair.validation.scenarios import GUEST
from tcpfair.verdicts.claims.decision import FAILS, HOLDS, OPEN

LAYOUT = Layout(repository_root())


@pytest.mark.parametrize(
    ("full", "scaled", "as_kernel", "share", "guest", "differs"),
    [
        (HOLDS, HOLDS, HOLDS, 1.0, HOLDS, ""),
        (HOLDS, FAILS, FAILS, 0.0, FAILS, SIZE),
        (HOLDS, HOLDS, FAILS, 0.0, FAILS, KERNEL),
        (HOLDS, OPEN, FAILS, 0.0, FAILS, KERNEL),
        (HOLDS, HOLDS, HOLDS, 0.9, FAILS, CHANCE),
        (HOLDS, HOLDS, HOLDS, 1.0, FAILS, IMPLEMENTATION),
        (FAILS, FAILS, HOLDS, 1.0, FAILS, IMPLEMENTATION),
        (HOLDS, HOLDS, OPEN, 0.5, FAILS, CHANCE),
        (OPEN, HOLDS, OPEN, 0.5, FAILS, ""),
        (HOLDS, HOLDS, HOLDS, 1.0, OPEN, ""),
    ],
)
def test_what_makes_the_guest_contradict_the_engine(full, scaled, as_kernel, share, guest, differs):
    outcomes = {FULL: full, SCALED: scaled, AS_KERNEL: as_kernel, GUEST: guest}
    by_source = {name: SimpleNamespace(outcome=outcome, single_share=share) for name, outcome in outcomes.items()}
    assert claims.differs(by_source) == differs


def test_a_discussion_names_a_claim_that_is_judged(tmp_path):
    layout = Layout(tmp_path)
    assert claims.discussions(layout, ["bhatti2009.c08"]) == {}
    layout.validated.mkdir(parents=True)
    path = layout.validated / claims.DISCUSSED
    path.write_text("bhatti2009.c08: Two sentences. Here.\n")
    assert claims.discussions(layout, ["bhatti2009.c08"]) == {"bhatti2009.c08": "Two sentences. Here."}
    with pytest.raises(InputError, match="guest_claims.yaml: claim 'bhatti2009.c08' is unknown"):
        claims.discussions(layout, ["bhatti2009.c12"])
    path.write_text("bhatti2009.c08: [1]\n")
    with pytest.raises(InputError, match="bhatti2009.c08: must be text"):
        claims.discussions(layout, ["bhatti2009.c08"])


def of_shares(rows):
    """A source whose runs have these shares of flow 1 by protocol, at 50 and 100 ms."""
    tables = [
        {
            "replicate": run,
            "protocol": protocol,
            "rtt_ms": rtt,
            "flow": flow,
            "metric": "throughput_mean",
            "value": value,
        }
        for protocol, runs in rows.items()
        for run, shares in enumerate(runs)
        for rtt, share in zip((50, 100), shares, strict=True)
        for flow, value in ((1, 10 * share), (2, 10 * (1 - share)))
    ]
    return claims.Measured(lambda experiment: pd.DataFrame(tables).assign(run_id=0, flow_protocol=""))


def test_distances_from_a_printed_row_are_means_over_rtts_and_runs():
    printed = of_shares({"BIC": [(0.3, 0.2)]})
    found = of_shares({"BIC": [(0.5, 0.4), (0.3, 0.3)], "CUBIC": [(0.4, 0.3), (0.4, 0.3)]})
    (row,) = claims._distances(printed, {GUEST: SimpleNamespace(measured=found)}, "pair", "BIC", "CUBIC")
    assert row == {
        "source": GUEST,
        "to_label": pytest.approx(0.125),
        "to_other": pytest.approx(0.1),
        "runs": 2,
        "nearer_other": 1,
    }


def test_the_line_about_a_hypothesis_states_the_nearer_row_first():
    about = {"hypothesis": "H1", "experiment": "pair", "label": "BIC", "other": "CUBIC", "runs": 4, "nearer_other": 3}
    rows = pd.DataFrame([{**about, "source": source, "to_label": 0.2, "to_other": 0.1} for source in claims.SOURCES])
    (line,) = page.claim_lines(claims.Compared(resembling=rows))
    assert "the published BIC row is nearer to the guest's CUBIC row than to its BIC row (0.100 and 0.200" in line
    assert line.endswith("at full size 3 of 4, scaled 3 of 4, scaled, as Linux 6.1 3 of 4, Linux 6.1, scaled 3 of 4")


# ---------------------------------------------------------------- what the repository ships


@cache
def full_size(paper):
    """The engine's further runs at the points of a plan."""
    scaled = papers.plans(LAYOUT)[paper]
    return claims.Source(scaled.whole, claims.Measured(claims._full(LAYOUT, scaled).__getitem__))


@pytest.fixture(scope="module")
def judged():
    return {each.claim.id: each for each in claims.judged(LAYOUT, "bhatti2009", {GUEST: full_size("bhatti2009")})}


def test_clauses_that_read_what_the_cells_lack_are_left_out(judged):
    clauses = {name: list(each.claim.clauses) for name, each in judged.items()}
    assert clauses["bhatti2009.c12"] == ["bic", "cubic"]  # not compound
    assert clauses["bhatti2009.c11"] == ["fair"]
    assert "bhatti2009.c05" not in clauses and "bhatti2009.c27" not in clauses  # flows alone, 14 flows


def test_full_size_says_of_whole_claims_what_the_ledger_says(judged):
    """The same cells, rules and runs, but for the five runs whose traces are kept."""
    ledger = page.baseline_verdicts(LAYOUT)
    for name in ("bhatti2009.c11", "bhatti2009.c22", "bhatti2009.c26"):
        assert judged[name].verdicts[GUEST] == ledger[name]


def test_shipped_clauses_are_those_of_the_shipped_runs_and_contradictions_are_discussed():
    samples, about = papers.shipped(LAYOUT)
    contrary, contradicted, found = {HOLDS: FAILS, FAILS: HOLDS}, set(), []
    for paper, scaled in papers.plans(LAYOUT).items():
        names = papers.complete(scaled, about.get("runs", ()))
        if names:
            part = papers.only(scaled, names)
            config, specs = part.readings[AS_KERNEL], {name: part.guest_specs(name) for name in names}
            metrics = papers.metrics(config, specs, samples, GUEST)
            guest = claims.Source(config, claims.Measured(metrics.__getitem__))
            for each in claims.judged(LAYOUT, paper, {FULL: full_size(paper), GUEST: guest}):
                sides = zip(each.clauses["full_outcome"], each.clauses["guest_outcome"], strict=True)
                if any(contrary.get(full) == own for full, own in sides):
                    contradicted.add(each.claim.id)
                found.append(each.clauses[["id", "clause", "guest_outcome"]])
    found = pd.concat(found, ignore_index=True)
    shipped = pd.read_csv(LAYOUT.guest_clauses)[list(found)]
    assert found.astype(str).equals(shipped.astype(str))
    assert contradicted <= set(claims.discussions(LAYOUT, found["id"].to_list()))


def test_a_stale_ensemble_is_one_line(monkeypatch):
    scaled = papers.plans(LAYOUT)["bhatti2009"]
    monkeypatch.setattr(claims, "further_runs", lambda *_: pd.DataFrame(columns=["experiment"]))
    with pytest.raises(InputError, match="^data/ensemble/bhatti2009_runs: missing or made by other code"):
        claims._full(LAYOUT, scaled)
