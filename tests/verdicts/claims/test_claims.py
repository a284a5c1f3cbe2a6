"""Verdicts on the committed claims: each has what it needs to be decided, and one that fails stops no other."""

import ast
import inspect
from importlib import import_module
from types import SimpleNamespace

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.runs.store import Held, MissingRunsError
from tcpfair.verdicts.claims import VERDICTS, evaluate, registry
from tcpfair.verdicts.claims.registry import Judged, claim_function, decide
from tcpfair.verdicts.measured import Measured
from tests.small_checkout import put
from tests.verdicts.bundled import CONFIGS
from tests.verdicts.claims.test_decision import claim, ratio
from tests.verdicts.claims.test_evidence import CONFIG, metrics
from tests.verdicts.claims.worlds import CLAIMS
from tests.verdicts.claims.worlds import metrics as of_worlds
from tests.verdicts.claims.worlds import trace as of_world

OF_PAPER = {paper: [claim for claim in CLAIMS.values() if claim.paper == paper] for paper in PAPERS}


def judged(ratios, about=None, function=lambda evidence: {"more": ratio(evidence)}, config=CONFIG):
    return decide(about or claim(), config, Measured({"sweep": metrics(ratios)}.__getitem__), {}.__getitem__, function)


def test_a_verdict_comes_with_its_evidence_and_clauses():
    found = judged([2.0, 2.01])
    assert found.verdict == "reproduced"
    assert found.evidence.endswith("From sweep (2 runs, engine).")
    assert [clause.clause_id for clause in found.clauses] == ["more"]


def test_a_claim_waits_for_its_experiment_and_its_paper():
    found = judged([2.0], claim(experiments=["sweep", "ns2_14", "self_14"]))
    assert found == Judged("pending", "not in config/papers/ogura.yaml: experiment ns2_14, self_14")
    unbuilt = CONFIG.model_copy(update={"experiments": {}})
    found = judged([2.0], claim(experiments=[]), config=unbuilt)
    assert found == Judged("pending", "config/papers/ogura.yaml has no experiments")


def test_an_exception_fails_its_claim_in_one_line():
    def broken(evidence):
        raise ValueError("two\nlines")

    assert judged([2.0], function=broken) == Judged("failed", "ValueError: two lines")


# --- The committed claims ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_that_can_be_decided_has_a_function_and_only_those(paper):
    claims = OF_PAPER[paper]
    built = [c for c in claims if set(c.experiments) <= set(CONFIGS[paper].experiments)]
    assert [c.id for c in built if claim_function(c) is None] == []
    module = import_module(f"tcpfair.verdicts.claims.{paper}")
    functions = {name for name, _ in inspect.getmembers(module, inspect.isfunction) if name.startswith(f"{paper}_c")}
    assert functions <= {c.function_name for c in claims}


@pytest.mark.parametrize("paper", PAPERS)
def test_the_exhibits_of_claims_exist(paper):
    exhibits = {exhibit.id for exhibit in CONFIGS[paper].exhibits}
    named = {name for c in OF_PAPER[paper] for name in c.exhibits}
    assert named <= exhibits


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout with this one's data and configuration and without results."""
    return put(tmp_path_factory.mktemp("checkout"), {}, linked=("data", "config", "Snakefile"))


@pytest.fixture(scope="module")
def without_results(checkout):
    """Claims and clauses in a checkout without results; one claim was not requested."""
    layout = Layout(checkout, "engine")
    parts = [
        evaluate(Held(layout, config), lambda claim: "later" if claim.id == "kozu2014.c08" else "")
        for config in CONFIGS.values()
    ]
    return tuple(map(pd.concat, zip(*parts, strict=True)))


def test_every_claim_gets_a_line(without_results):
    claims, _ = without_results
    assert len(claims) == 158
    assert claims["id"].is_unique
    assert set(claims["verdict"]) <= set(VERDICTS) - {"pending", "failed"}
    assert claims["evidence"].str.len().gt(0).all()
    assert not claims["evidence"].str.contains("\n").any()
    assert set(claims["source"]) == {"engine"}


def test_without_results_a_claim_is_not_run_and_closed_forms_hold(without_results):
    claims, clauses = without_results
    claims = claims.set_index("id")
    assert claims.loc["ogura.c14", ["verdict", "evidence"]].tolist() == [
        "not run",
        "ogura/loss_sweep has not been measured",
    ]
    assert claims.loc["ogura.c05", "verdict"] == "not run"
    assert claims.loc["ogura.c05", "evidence"].startswith("ogura/model1: ")
    assert claims.loc["kozu2014.c05", "verdict"] == "by construction"
    assert clauses.set_index("id").loc["kozu2014.c05", ["clause", "outcome", "value"]].tolist() == [
        "windows",
        "holds",
        1.0,
    ]
    assert claims.loc["kozu2014.c15", "verdict"] == "by construction"
    # a closed form as well, but not requested
    assert claims.loc["kozu2014.c08", ["verdict", "evidence"]].tolist() == ["not run", "later"]


@pytest.fixture(scope="module")
def of_ogura(checkout, tmp_path_factory):
    """The claims of ogura in a world with Proposal between Alpha and Libra; ``read`` lists the experiments that were read."""
    folder, read = tmp_path_factory.mktemp("ogura"), []

    def metrics(experiment):
        if experiment == "friendliness":
            return None
        read.append(experiment)
        path = folder / f"{experiment}.parquet"
        table = of_worlds("ogura", experiment).query("replicate < 2")
        second = table["flow"].eq(2) * table["protocol"].map({"Alpha": -0.1, "Libra": 0.1}).fillna(0)
        table.assign(value=0.5 + second).to_parquet(path)
        return path

    def trace(experiment):
        read.append(experiment)
        if experiment == "model2":
            raise MissingRunsError("model2: 2 of 6 runs are not there")
        return folder / experiment

    layout = Layout(checkout, "engine")
    held = SimpleNamespace(layout=layout, paper=CONFIGS["ogura"], metrics=metrics, trace=trace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry.trace, "read", lambda folder: of_world("ogura", folder.name))
        claims, clauses = evaluate(held, lambda claim: "")
    return SimpleNamespace(claims=claims.set_index("id"), clauses=clauses.set_index(["id", "clause"]), read=read)


def test_results_decide_what_they_suffice_for(of_ogura):
    verdicts = of_ogura.claims["verdict"]
    assert verdicts["ogura.c16"] == "reproduced"
    assert verdicts["ogura.c01"] == "by construction"
    missing = of_ogura.claims[verdicts == "not run"]["evidence"]
    assert set(missing) == {"ogura/friendliness has not been measured", "model2: 2 of 6 runs are not there"}
    assert missing.index.tolist() == ["ogura.c11", "ogura.c12", "ogura.c33", "ogura.c34", "ogura.c35", "ogura.c36"]


def test_what_a_claim_needs_is_read_once(of_ogura):
    of_model1 = [name for name in of_ogura.read if name == "model1"]
    assert len(of_model1) == 2  # metrics and trace
    others = [name for name in of_ogura.read if name not in ("model1", "model2")]
    assert sorted(others) == ["buffer_sweep", "efficiency", "loss_sweep", "rtt_sweep"]


def test_a_row_of_a_claim_counts_its_clauses_and_theirs_have_what_was_found(of_ogura):
    row = of_ogura.claims.loc["ogura.c26"]
    assert row.drop(["evidence", "settings_share"]).to_dict() == {
        "paper": "ogura",
        "verdict": "reproduced",
        "certainty": 1.0,
        "held": 3,
        "clauses": 3,
        # what is recorded of it is for another verdict than that of this made-up world
        "cause": "",
        "why": "",
        "source": "engine",
    }
    assert row["evidence"].endswith("From buffer_sweep (2 runs, engine).")
    clause = of_ogura.clauses.loc[("ogura.c26", "keeps")]
    stated = CLAIMS["ogura.c26"].clauses["keeps"]
    for name in ("says", "quantity", "unit", "asks", "why", "in_print"):
        assert clause[name] == getattr(stated, name)
    assert (clause["paper"], clause["source"], clause["outcome"], clause["cell"]) == ("ogura", "engine", "holds", "")
    assert clause[["value", "low", "high", "confidence", "single_share", "n_single"]].tolist() == [1, 1, 1, 1, 1, 2]


def test_causes_whose_condition_does_not_hold_are_refused_together(checkout, monkeypatch):
    monkeypatch.setattr(registry, "decide", lambda *of, **about: Judged("contradicted in print", ""))
    held = SimpleNamespace(layout=Layout(checkout, "engine"), paper=CONFIGS["bhatti2009"])
    settings = pd.DataFrame([{"id": "bhatti2009.c99", "clause": "x", "hypothesis": "", "share": 0.5}])
    with pytest.raises(InputError, match="bhatti2009.c.*: cause: .*; data/claims/bhatti2009.yaml: .*: cause: "):
        evaluate(held, lambda claim: "", settings)
    # of a stale ensemble only the readings of the runs are left
    for without in (settings[:0], settings.assign(hypothesis="half_of_sum")):
        assert len(evaluate(held, lambda claim: "", without)[0]) > 20


def test_where_the_checkout_stands_is_no_evidence(checkout):
    layout = Layout(checkout, "engine")

    def broken(experiment):
        raise InputError(f"{layout.root}/results/{experiment}.parquet: not whole")

    held = SimpleNamespace(layout=layout, paper=CONFIGS["ogura"], metrics=broken, trace=broken)
    claims, _ = evaluate(held, lambda claim: "")
    found = claims.set_index("id").loc["ogura.c16", ["verdict", "evidence"]].tolist()
    assert found == ["failed", "InputError: results/loss_sweep.parquet: not whole"]


def test_a_claim_without_a_function_fails_and_names_it():
    about = claim(id="ogura.c98", experiments=[])
    assert decide(about, CONFIG, Measured({}.__getitem__), {}.__getitem__) == Judged(
        "failed", "InputError: tcpfair.verdicts.claims.ogura has no function ogura_c98"
    )
    assert claim_function(claim(id="nobody.c01")) is None


@pytest.mark.parametrize("paper", PAPERS)
def test_bounds_stand_with_the_clause_not_in_a_function(paper):
    tree = ast.parse(inspect.getsource(import_module(f"tcpfair.verdicts.claims.{paper}")))
    numbers = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    numbers = {number for number in numbers if isinstance(number, int | float) and abs(number) > 1e-9}
    assert numbers <= {1, 2, 10}  # places of flows, units of a ratio, decibels
