"""What a claim may state, how margins move its bounds, and that a wrong entry is named."""

import pandas as pd
import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, repository_root
from tcpfair.verdicts.claims.statement import Clause, Margin, load_claims, load_margins

CLAIMS = repository_root() / "data" / "claims"
SHARED = {"jfi": Margin(value=0.25, reason="x"), "rel": Margin(value=0.5, relative=True, reason="x")}


STATED = {"says": "a", "quantity": "b", "why": "text", "at_least": 1.0}


def clause(**fields):
    return Clause.model_validate(STATED | fields)


def entry(*clauses, **fields):
    """A claim as data, with clauses of these names."""
    stated = {name: STATED | {"says": f"{name} is so", "quantity": "ratio"} for name in clauses or ("more",)}
    return {"id": "ogura.c99", "section": "1", "claim": "a", "clauses": stated} | fields


# a clause and what it requires, with the margins above
BOUNDS = yaml.safe_load("""
- [{at_least: 1}, 1, .inf, at least 1]
- [{at_least: 1, unit: Mb/s}, 1, .inf, at least 1 Mb/s]
- [{at_least: 1, give: jfi}, 0.75, .inf, "at least 1, within 0.25"]
- [{at_least: 1, clear: jfi}, 1.25, .inf, "at least 1, clear of a tie of 0.25"]
- [{at_most: 2, give: jfi}, -.inf, 2.25, "at most 2, within 0.25"]
- [{at_most: 2, clear: jfi}, -.inf, 1.75, "at most 2, clear of a tie of 0.25"]
- [{at_most: -2, give: rel}, -.inf, -1, "at most -2, within 50 %"]
- [{at_least: 2, at_most: 2, give: rel}, 1, 3, "2, within 50 %"]
- [{at_least: 2, clear: rel}, 3, .inf, "at least 2, clear of a tie of 50 %"]
- [{at_least: 1, at_most: 2}, 1, 2, at least 1 and at most 2]
""")


@pytest.mark.parametrize(("fields", "low", "high", "asks"), BOUNDS)
def test_give_widens_the_bounds_and_clear_tightens_them(fields, low, high, asks):
    margin = SHARED.get(fields.get("give") or fields.get("clear"))
    found = clause(**{"at_least": None} | fields, margin=margin)
    assert (found.low, found.high, found.asks) == (low, high, asks)


ENTRY = entry(id="ogura.c01", clauses={"more": STATED | {"at_least": 0, "clear": "tie"}})


def written(tmp_path, *entries, margins="tie: {value: 0.1, reason: x}"):
    (tmp_path / "margins.yaml").write_text(margins)
    (tmp_path / "causes.yaml").write_text("{}")
    path = tmp_path / "ogura.yaml"
    path.write_text(yaml.safe_dump(list(entries)))
    return path


def changed(**fields):
    return ENTRY | {"clauses": {"more": ENTRY["clauses"]["more"] | fields}}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (changed(clear="tie_jfy"), r"ogura\.c01: more: clear: margin"),
        (changed(give="tie"), r"ogura\.c01: .*one of the two"),
        (changed(margin=0.1), r"more: margin: name it in give or clear"),
        (changed(at_least=None), r"give at_least, at_most or both"),
        (changed(at_most=-1), r"no value is at least"),
        (changed(in_print="maybe"), r"ogura\.c01: clauses\.more\.in_print"),
        (changed(whi="text"), r"clauses\.more\.whi"),
        (ENTRY | {"clauses": {}}, r"ogura\.c01: clauses"),
        (ENTRY | {"id": "ogura.1"}, r"ogura\.1: id"),
        (ENTRY | {"by_construction": "x", "untested": "y"}, r"exclude each other"),
    ],
)
def test_a_wrong_entry_is_named_in_one_line(entry, message, tmp_path):
    with pytest.raises(InputError, match=message) as error:
        load_claims(written(tmp_path, entry))
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tie: {value: -1, reason: x}", "tie: value"),
        ("tie: {value: 1}", "tie: reason"),
        ("a: \x07", r"not valid YAML \(unacceptable character #x0007"),
    ],
)
def test_a_wrong_margin_is_named(text, message, tmp_path):
    with pytest.raises(InputError, match=rf"margins\.yaml: .*{message}"):
        load_claims(written(tmp_path, ENTRY, margins=text))


@pytest.mark.parametrize("text", ["id: ogura.c01", "- ogura.c01", "- {id: ogura.c01}\n- 2"])
def test_claims_are_a_list_of_mappings(text, tmp_path):
    path = written(tmp_path)
    path.write_text(text)
    with pytest.raises(InputError) as error:
        load_claims(path)
    assert str(error.value) == f"{path}: must be a list of claims"


def test_a_claim_without_an_id_is_named_by_its_place(tmp_path):
    nameless = {name: value for name, value in ENTRY.items() if name != "id"}
    with pytest.raises(InputError, match=r"ogura\.yaml: claim 2: id: Field required"):
        load_claims(written(tmp_path, ENTRY, nameless))


def test_margins_are_shared_by_name(tmp_path):
    other = ENTRY | {
        "clauses": {**changed()["clauses"], "less": ENTRY["clauses"]["more"] | {"clear": "", "give": "wide"}}
    }
    claims = load_claims(
        written(tmp_path, ENTRY, other, margins="{tie: {value: 0.1, reason: x}, wide: {value: 2, reason: y}}")
    )
    assert [{n: c.margin.value for n, c in claim.clauses.items()} for claim in claims] == [
        {"more": 0.1},
        {"more": 0.1, "less": 2.0},
    ]


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(InputError, match=r"margins\.yaml: no such file"):
        load_claims(tmp_path / "ogura.yaml")


def test_every_shared_margin_is_used_and_has_a_reason():
    claims = [claim for paper in PAPERS for claim in load_claims(CLAIMS / f"{paper}.yaml")]
    clauses = [clause for claim in claims for clause in claim.clauses.values()]
    assert set(load_margins(CLAIMS)) == {clause.give or clause.clear for clause in clauses} - {""}


def test_every_clause_that_print_contradicts_says_what_is_printed():
    claims = [claim for paper in PAPERS for claim in load_claims(CLAIMS / f"{paper}.yaml")]
    silent = [c.id for c in claims for name in c.contradicted if not c.clauses[name].print_note]
    assert silent == []


def test_margins_from_the_papers_own_scatter_are_those_of_the_table():
    scatter = pd.read_csv(CLAIMS.parent / "scatter.csv")
    used = scatter[scatter["used"] & (scatter["source"] == "twice printed")].set_index("metric")["p95"]
    from_scatter = {m.of: m.value for m in load_margins(CLAIMS).values() if m.of}
    assert from_scatter == {"jfi_mean": pytest.approx(used["jfi_mean"], abs=0.005)}
