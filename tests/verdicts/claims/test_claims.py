"""How a finding becomes a verdict, and that every claim has what it needs to be decided."""

import ast
import inspect
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import yaml

from tcpfair.contract.layout import PAPERS, Layout, repository_root
from tcpfair.contract.papers import PaperConfig, load_paper
from tcpfair.contract.store import Held
from tcpfair.errors import InputError
from tcpfair.verdicts.claims import VERDICTS
from tcpfair.verdicts.claims import evaluate as evaluate_held
from tcpfair.verdicts.claims.evidence import Claim, Evidence, Finding, text_of, within
from tcpfair.verdicts.claims.registry import claim_function, decide, load_claims

ROOT = repository_root()
CONFIGS = {paper: load_paper(Layout(ROOT).paper_config(paper)) for paper in PAPERS}
BUILT = [paper for paper in PAPERS if CONFIGS[paper].experiments]

CONFIG = PaperConfig.model_validate(
    {
        "paper": "ogura",
        "cite": "x",
        "experiments": {"sweep": {"what": "x", "runs": {"value": 1, "source": "sec. 1"}}},
    }
)


def evaluate(layout, left_out=lambda claim: ""):
    return evaluate_held(layout, {paper: Held(layout, config) for paper, config in CONFIGS.items()}, left_out)


def claim(**fields):
    entry = {"id": "ogura.c99", "section": "1", "claim": "a", "test": "b", "in_print": True, "print_note": "in table 1"}
    return Claim.model_validate({**entry, "experiments": ["sweep"], **fields})


def metrics(ratios, metric="ratio", flow=0, protocol="Libra", rtt_ms=40):
    """Metrics of one grid point, a run per value."""
    rows = {"run_id": range(len(ratios)), "replicate": range(len(ratios)), "value": ratios}
    return pd.DataFrame(rows).assign(protocol=protocol, rtt_ms=rtt_ms, flow=flow, metric=metric)


def above_one(evidence):
    ratio = evidence.table("sweep", "ratio", "rtt_ms", protocol="Libra")
    return Finding((ratio > 1).all(axis=1), {"ratio": ratio})


def verdict(ratios, about=None, function=above_one, config=CONFIG):
    return decide(about or claim(), config, {"sweep": metrics(ratios)}.__getitem__, {}.__getitem__, function)


# --- From findings to verdicts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [(20, 0, "reproduced"), (18, 2, "reproduced"), (17, 3, "partly"), (2, 18, "partly"), (1, 19, "not reproduced")],
)
def test_nine_tenths_reproduce_a_claim_and_a_tenth_does_so_partly(above, below, expected):
    got, evidence = verdict([2.0] * above + [0.5] * below)
    assert got == expected
    assert f"holds in {above} of 20 replicates" in evidence


def test_evidence_names_exhibit_numbers_and_runs():
    _, evidence = verdict([1.5, 2.5], claim(exhibits=["ogura.fig8"]))
    assert evidence == (
        "ogura.fig8: holds in 2 of 2 replicates; for the means over replicates it holds. "
        "ratio 2 ± 0.71 at 40. From sweep (2 runs, engine)."
    )


def test_the_means_are_judged_too():
    got, evidence = verdict([4.0, 0.5, 0.5])
    assert got == "partly"
    assert "for the means over replicates it holds" in evidence


def test_a_replicate_without_a_number_is_undecided():
    got, evidence = verdict([2.0, np.nan, 2.0])
    assert got == "reproduced"
    assert "holds in 2 of 2 replicates; for the means over replicates it holds (1 undecided)." in evidence


def test_a_claim_that_no_replicate_decides_has_failed():
    got, evidence = verdict([np.nan, np.nan])
    assert got == "failed"
    assert "no replicate decides" in evidence


def test_print_that_contradicts_itself_keeps_our_numbers():
    got, evidence = verdict([2.0, 2.0], claim(in_print=False))
    assert got == "contradicted in print"
    assert "holds in 2 of 2" in evidence
    assert "In print: in table 1" in evidence


def test_a_closed_form_holds_once():
    got, evidence = verdict([], claim(experiments=[]), lambda _: Finding(True, {"limit": 0.5}))
    assert (got, evidence) == ("reproduced", "holds. limit 0.5. From a closed form.")


def test_a_closed_form_does_not_hold_once():
    got, evidence = verdict([], claim(experiments=[]), lambda _: Finding(False, {"limit": 0.5}))
    assert (got, evidence) == ("not reproduced", "does not hold. limit 0.5. From a closed form.")


@pytest.mark.parametrize("number", [np.nan, pd.Series([1.0, np.nan], index=["BIC", "CUBIC"])])
def test_a_closed_form_that_is_not_a_number_decides_nothing(number):
    got, _ = verdict([], claim(experiments=[]), lambda _: Finding(True, {"limit": number}))
    assert got == "failed"


def test_a_claim_waits_for_its_experiment_and_its_paper():
    got, evidence = verdict([2.0], claim(experiments=["sweep", "ns2_14"]))
    assert got == "pending"
    assert "config/papers/ogura.yaml: experiment ns2_14" in evidence
    unbuilt = CONFIG.model_copy(update={"experiments": {}})
    assert [verdict([2.0], claim(experiments=[]), config=c)[0] for c in (None, unbuilt)] == ["pending", "pending"]


def test_an_exception_fails_its_claim_in_one_line():
    def broken(evidence):
        raise ValueError("two\nlines")

    assert verdict([2.0], function=broken) == ("failed", "ValueError: two lines")


def test_a_missing_grid_point_fails_with_its_name():
    def other(evidence):
        ratio = evidence.table("sweep", "ratio", "rtt_ms")[120]
        return Finding(ratio > 1, {"ratio": ratio})

    got, evidence = verdict([2.0], function=other)
    assert got == "failed"
    assert "120" in evidence


# --- What a claim may look at ------------------------------------------------------------------------------------


def evidence_of(frame, about=None, **fields):
    return Evidence(about or claim(), CONFIG, {"sweep": frame}.__getitem__, {}.__getitem__, **fields)


def test_a_table_has_a_row_per_replicate_and_a_column_per_grid_value():
    frame = pd.concat([metrics([1.0, 2.0], rtt_ms=40), metrics([3.0, 5.0], rtt_ms=80), metrics([9.0], flow=1)])
    table = evidence_of(frame).table("sweep", "ratio", "rtt_ms", protocol="Libra")
    assert table.to_dict() == {40: {0: 1.0, 1: 2.0}, 80: {0: 3.0, 1: 5.0}}
    means = evidence_of(frame, averaged=True).table("sweep", "ratio", ["protocol", "rtt_ms"])
    assert means.to_dict() == {("Libra", 40): {0: 1.5}, ("Libra", 80): {0: 4.0}}


def test_what_is_not_declared_or_not_there_is_refused():
    evidence = evidence_of(metrics([1.0]))
    with pytest.raises(InputError, match=r"ogura\.yaml: ogura\.c99: experiments: add 'other'"):
        evidence.table("other", "ratio", "rtt_ms")
    with pytest.raises(InputError, match="sweep has no ratio of flow 2 protocol=Libra"):
        evidence.table("sweep", "ratio", "rtt_ms", flow=2, protocol="Libra")
    with pytest.raises(InputError, match=r"ogura\.c99: thresholds\.limit: missing"):
        _ = evidence["limit"]


def test_a_tolerance_widens_a_range():
    x = pd.Series([0.69, 0.71, 1.0, 1.34, 1.36])
    assert within(x, 0.8, 1.25, 0.1).tolist() == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (0.51, "0.51"),
        ("none", "none"),
        (pd.Series([1.0, 2.0], index=["BIC", "CUBIC"]), "1 at BIC, 2 at CUBIC"),
        (pd.Series([1.0, 2.0], index=pd.Index([0, 1], name="replicate")), "1.5 ± 0.71"),
        (pd.DataFrame({("BIC", 25): ["A", "B", "B"]}), "B×2 A×1 at BIC 25"),
        (pd.DataFrame({1e-6: [0.5]}), "0.5 at 1e-06"),
    ],
)
def test_numbers_as_text(numbers, text):
    assert text_of(numbers) == text


def test_a_wrong_entry_is_named(tmp_path):
    path = tmp_path / "ogura.yaml"
    entry = claim().model_dump()
    path.write_text(yaml.safe_dump([entry, {**entry, "id": "ogura.c98", "in_print": "maybe"}]))
    with pytest.raises(InputError, match=r"ogura\.yaml: ogura\.c98: in_print") as error:
        load_claims(path)
    assert "\n" not in str(error.value)


# --- The committed claims ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", BUILT)
def test_every_claim_that_can_be_decided_has_a_function_and_only_those(paper):
    claims = load_claims(ROOT / "data" / "claims" / f"{paper}.yaml")
    built = [c for c in claims if set(c.experiments) <= set(CONFIGS[paper].experiments)]
    assert [c.id for c in built if claim_function(c) is None] == []
    module = import_module(f"tcpfair.verdicts.claims.{paper}")
    functions = {name for name, _ in inspect.getmembers(module, inspect.isfunction) if name.startswith(f"{paper}_c")}
    assert functions <= {c.function_name for c in claims}


@pytest.mark.parametrize("paper", BUILT)
def test_the_exhibits_of_claims_exist(paper):
    exhibits = {exhibit.id for exhibit in CONFIGS[paper].exhibits}
    named = {name for c in load_claims(ROOT / "data" / "claims" / f"{paper}.yaml") for name in c.exhibits}
    assert named <= exhibits


@pytest.fixture
def checkout(tmp_path):
    """A checkout with this one's data and configuration and without results."""
    for name in ("data", "config", "Snakefile"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_every_claim_gets_a_line(checkout):
    table = evaluate(Layout(checkout, "engine"))
    assert list(table.columns) == ["id", "paper", "verdict", "evidence", "source"]
    assert len(table) == 158
    assert table["id"].is_unique
    assert set(table["verdict"]) <= set(VERDICTS)
    assert table["evidence"].str.len().gt(0).all()
    assert not table["evidence"].str.contains("\n").any()
    assert set(table["source"]) == {"engine"}


def test_no_claim_waits_for_an_experiment(checkout):
    table = evaluate(Layout(checkout, "engine"))
    assert "pending" not in set(table["verdict"])


def test_without_results_a_claim_is_not_run_and_closed_forms_hold(checkout):
    table = evaluate(Layout(checkout, "engine")).set_index("id")
    assert table.loc["ogura.c14", "verdict"] == "not run"
    assert table.loc["ogura.c14", "evidence"] == "ogura/loss_sweep has not been measured"
    assert table.loc["ogura.c05", "verdict"] == "not run"
    assert table.loc["ogura.c05", "evidence"].startswith("ogura/model1: ")
    assert table.loc["ogura.c01", "verdict"] == "reproduced"
    assert "failed" not in set(table["verdict"])


def test_a_claim_that_was_not_asked_for_is_not_run_whatever_there_is(checkout):
    table = evaluate(Layout(checkout, "engine"), lambda claim: "later" if claim.id == "ogura.c01" else "")
    found = table.set_index("id")
    assert found.loc["ogura.c01", ["verdict", "evidence"]].tolist() == ["not run", "later"]


def test_a_claim_whose_function_raises_has_failed():
    def broken(evidence):
        raise KeyError("protocol")

    assert decide(claim(), CONFIG, None, None, broken) == ("failed", "KeyError: 'protocol'")


def test_a_claim_on_the_list_is_not_testable(checkout):
    (checkout / "data").unlink()
    (checkout / "data" / "claims").mkdir(parents=True)
    for path in (ROOT / "data" / "claims").glob("*.yaml"):
        (checkout / "data" / "claims" / path.name).write_text(path.read_text())
    (checkout / "data" / "claims" / "not_testable.yaml").write_text("ogura.c01: only seen in the image\n")
    table = evaluate(Layout(checkout, "engine")).set_index("id")
    assert table.loc["ogura.c01", ["verdict", "evidence"]].tolist() == ["not testable", "only seen in the image"]


@pytest.mark.parametrize("paper", BUILT)
def test_numbers_of_a_test_stand_with_the_claim_not_in_its_function(paper):
    tree = ast.parse(inspect.getsource(import_module(f"tcpfair.verdicts.claims.{paper}")))
    numbers = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    numbers = {number for number in numbers if isinstance(number, int | float) and abs(number) > 1e-9}
    assert numbers <= {1, 2, 10}  # places of flows, units of a ratio, decibels


def test_what_never_happens_in_some_replicates_is_counted():
    index = pd.Index([0, 1, 2], name="replicate")
    assert text_of(pd.Series([2.0, np.inf, 4.0], index)) == "inf in 1 of 3, else 3 ± 1.4"
    assert text_of(pd.Series([np.inf] * 3, index)) == "inf in 3 of 3"
