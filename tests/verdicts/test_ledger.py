"""The ledger: every exhibit, number, claim and equation in its place, and nothing counted that is not there."""

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers.papers import Config, load_paper
from tcpfair.verdicts import claims, compared
from tcpfair.verdicts.printed import parse_key
from tests import small_checkout
from tests.small_checkout import ROOT, put_exhibit
from tests.verdicts.claims.worlds import CLAIMS

# bhatti2009, table VIII: 0.51 at 25 ms and 0.30 at 50 ms; the tolerance of JFI is 0.05
TABLE8 = [("rtt_ms=25", "jfi", 0.55), ("rtt_ms=50", "jfi", 0.36)]
CONFIG = Config(source="bundled")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout in which four exhibits were drawn: one lost its file, one failed, one is a supplement."""
    layout = small_checkout.make_compared(tmp_path_factory.mktemp("checkout"))
    put_exhibit(layout, "bhatti2009.table8", TABLE8, {".html": "<table></table>", ".csv": "x\n"})
    put_exhibit(layout, "bhatti2009.table5", [("protocol=BIC;rtt_ms=25", "jfi_mean", 0.94)])
    for lost in ("figures/bundled/bhatti2009/tab05.svg", "results/bundled/numbers/bhatti2009/tab05.csv"):
        (layout.root / lost).unlink()
    missing = f"{layout.root}/data/bundled/ogura/loss_sweep/manifest.json: no manifest"
    put_exhibit(layout, "ogura.fig8", [("item=high loss;protocol=Alpha", "ratio", 0.5)], error=missing)
    put_exhibit(layout, "ogura.fig4", [("item=80 ms over 40 ms;protocol=Reno", "t1_ratio", 4.2)])
    put_exhibit(layout, "ogura.sens_jitter")
    return layout


@pytest.fixture(scope="module")
def summary(checkout):
    return small_checkout.write_ledger(checkout, CONFIG)


@pytest.fixture(scope="module")
def table(checkout, summary):
    text = dict.fromkeys(["printed", "reproduced", "ns2"], str)
    return lambda name: pd.read_csv(checkout.ledger / f"{name}.csv", dtype=text)


def test_the_91_exhibits_stand_in_the_papers_order_and_supplements_apart(table):
    exhibits = table("exhibits")
    assert list(exhibits.columns) == ["exhibit", "paper", "kind", "status", "source", "files"]
    assert len(exhibits) == 91
    assert exhibits["kind"].value_counts().to_dict().keys() == {"table", "figure", "diagram"}
    assert (exhibits["kind"] == "table").sum() == 24
    assert list(exhibits["paper"].unique()) == list(PAPERS)
    of_ogura = exhibits[exhibits["paper"] == "ogura"]["exhibit"].tolist()
    assert of_ogura == [f"ogura.table{i}" for i in (1, 2, 3)] + [f"ogura.fig{i}" for i in range(1, 14)]
    assert "ogura.sens_jitter" in set(table("supplements")["exhibit"])


def test_built_is_what_was_drawn_and_is_still_there(table):
    exhibits = table("exhibits").set_index("exhibit").fillna("")
    assert exhibits.loc["bhatti2009.table8", ["status", "source"]].tolist() == ["built", "bundled"]
    assert exhibits.loc["bhatti2009.table8", "files"] == (
        "figures/bundled/bhatti2009/tab08.html;figures/bundled/bhatti2009/tab08.csv"
    )
    assert exhibits.loc["bhatti2009.table5", ["status", "source", "files"]].tolist() == ["pending", "", ""]  # file gone
    assert exhibits.loc["ogura.fig8", ["status", "files"]].tolist() == ["failed", ""]
    assert exhibits.loc["ha2006.fig4", "status"] == "pending"
    assert exhibits["status"].value_counts().to_dict() == {"pending": 88, "built": 2, "failed": 1}


def test_messages_do_not_depend_on_where_the_checkout_stands(checkout, table):
    assert table("claims")["evidence"].str.contains("ogura/model1").any()
    assert [path.name for path in checkout.ledger.iterdir() if str(checkout.root) in path.read_text()] == []


def test_every_printed_result_has_a_row_with_the_reproduced_number_beside_it(table):
    numbers = table("numbers")
    printed = sum((pd.read_csv(path)["kind"] == "result").sum() for path in (ROOT / "data" / "published").glob("*.csv"))
    assert len(numbers) == printed
    jfi = numbers[numbers["exhibit"] == "bhatti2009.table8"].set_index("key")
    assert jfi.loc["rtt_ms=25", ["printed", "reproduced", "within"]].tolist() == ["0.51", "0.55", True]
    assert jfi.loc["rtt_ms=50", "within"] == False  # noqa: E712, a NaN must not pass
    assert jfi.loc["rtt_ms=50", "error"] == pytest.approx(0.06)
    assert jfi.loc["rtt_ms=75":, "reproduced"].isna().all()


def test_a_number_in_the_text_takes_the_number_of_the_exhibit_that_it_quotes(table):
    numbers = table("numbers").set_index(["exhibit", "key"])
    quoted = numbers.loc[("ogura.sec-5.2", "item=80 ms over 40 ms;protocol=Reno")]
    assert quoted[["printed", "reproduced", "within"]].tolist() == ["4", "4.2", True]  # 5 % off, tolerance 10 %


def test_numbers_of_an_exhibit_that_failed_do_not_count(table):
    numbers = table("numbers").set_index("exhibit")
    assert pd.isna(numbers.loc["ogura.sec-5.4", "reproduced"])


def test_equations_name_the_exhibits_that_use_them(table):
    equations = table("equations").set_index("id").fillna("")
    assert len(equations) == 60
    assert equations.loc["ogura.eq15", "exhibits"] == "ogura.table3;ogura.fig6;ogura.fig7"
    assert equations.loc["bhatti2009.eq1", "correction"].startswith("The text gives the range 0 to 1")


def test_an_exhibit_that_uses_an_unknown_equation_is_named(checkout):
    config = load_paper(checkout.paper_config("ogura"))
    config.exhibits[3].uses.append("ogura.eq99")
    with pytest.raises(InputError, match=r"^exhibit ogura.fig1: uses: 'ogura.eq99' is not in data/equations.yaml$"):
        compared.equation_table(checkout, {"ogura": config})


def test_summary_counts_what_the_tables_hold(table, summary):
    assert summary["exhibits"] == {"built": 2, "pending": 88, "failed": 1}
    assert sum(summary["claims"].values()) == 158
    assert summary["numbers"]["within"] == 2
    assert summary["numbers"]["outside"] == 1
    rows = table("summary").fillna("").drop(columns="share").itertuples(index=False, name=None)
    assert set(rows) >= {
        ("ogura", "", "exhibits", "pending", 14, 16),
        # of the eight numbers in table VIII one is within and one outside
        ("bhatti2009", "bhatti2009.table8", "numbers", "within", 1, 8),
        ("bhatti2009", "bhatti2009.table8", "numbers", "not computed", 6, 8),
        # of the 38 numbers of table V six stand in the text, which counts them for its sections as well
        ("bhatti2009", "bhatti2009.table5", "numbers", "not computed", 38, 38),
        ("bhatti2009", "bhatti2009.sec-VI", "numbers", "not computed", 1, 1),
        ("bhatti2009", "", "numbers", "within", 1, 247),  # each number once
        # 0.55 and 0.36 lie within the scatter of single runs of 14 flows
        ("bhatti2009", "bhatti2009.table8", "numbers by scatter", "within", 2, 8),
        ("bhatti2009", "", "numbers by scatter", "within", 2, 247),
    }
    shares = table("summary").groupby(["paper", "what", "exhibit"], dropna=False)["share"].sum()
    assert shares.to_numpy() == pytest.approx(1)


def test_the_kernel_answers_clauses_of_requested_papers_only(checkout, tmp_path):
    layout = Layout(tmp_path)
    layout.guest_clauses.parent.mkdir(parents=True)
    layout.guest_clauses.write_text(
        "paper,id,clause,guest_outcome\nogura,ogura.c01,a,holds\nha2006,ha2006.c01,b,open\n"
    )
    assert compared.guest_table(layout, ["ha2006"])["id"].tolist() == ["ha2006.c01"]


def test_ns2_is_compared_over_the_same_cells(table):
    # ns-2 misses table VIII at 125 ms only: 0.14 against 0.22
    agreement = table("agreement").set_index(["exhibit", "setting"])
    row = agreement.loc[("bhatti2009.table8", "no delayed ACK, alphabetical order of starts")]
    assert row[["cells", "computed", "within_engine", "within_ns2"]].tolist() == [8, 2, 0.5, 0.875]
    # against NewReno at 50 ms, 52/42 in print: 37/57 is outside, 43/51 too, 50/44 inside
    ns2 = table("ns2").query("exhibit == 'bhatti2009.table6' and key == 'flow=1;protocol=NewReno;rtt_ms=50'")
    assert ns2[["ns2", "within_ns2"]].to_numpy().tolist() == [["37", False], ["43", False], ["50", True]]


def test_ns2_stands_beside_curves_without_printed_numbers(checkout, table):
    fig8 = table("ns2").query("exhibit == 'ogura.fig8'")
    assert len(fig8) == 30
    assert fig8["printed"].isna().all()
    assert not table("agreement")["exhibit"].isin(["ogura.fig4", "ogura.fig6", "ogura.fig8"]).any()


def test_reference_numbers_have_canonical_keys_and_are_given_once_per_setting():
    reference = pd.read_csv(ROOT / "data" / "reference" / "ns2.csv")
    assert list(reference.columns) == ["exhibit", "key", "metric", "value", "setting", "note"]
    assert not reference.duplicated(["exhibit", "key", "metric", "setting"]).any()
    for key in reference["key"]:
        parse_key(key)


def test_every_reference_number_of_a_printed_exhibit_is_found_in_print(table):
    ns2 = table("ns2")
    rows = ns2[~ns2["exhibit"].isin(["ogura.fig4", "ogura.fig6", "ogura.fig8"])]  # these are curves
    assert rows["printed"].notna().all()
    assert rows["tolerance"].notna().all()


def test_assumptions_and_plan_are_written_from_the_configuration(table):
    assert table("run_plan")[["paper", "experiment", "runs"]].to_numpy().tolist() == [["ogura", "model1", 6]]
    assert {"payload_bytes"} <= set(table("assumptions")["name"].str.rpartition(".")[2])


def test_a_ledger_that_cannot_be_finished_leaves_the_old_one(checkout, summary, monkeypatch):
    before = {path.name: path.read_bytes() for path in checkout.ledger.iterdir()}

    def broken(*_):
        raise InputError("no claims")

    monkeypatch.setattr(claims, "evaluate", broken)
    with pytest.raises(InputError, match="no claims"):
        small_checkout.write_ledger(checkout, CONFIG)
    assert {path.name: path.read_bytes() for path in checkout.ledger.iterdir()} == before


def test_the_same_results_give_the_same_bytes(checkout, summary):
    before = {path.name: path.read_bytes() for path in checkout.ledger.iterdir()}
    small_checkout.write_ledger(checkout, CONFIG)
    assert {path.name: path.read_bytes() for path in checkout.ledger.iterdir()} == before


# ---- a run that was asked for a part


@pytest.fixture(scope="module")
def part(checkout, summary):
    """The ledger of a run that was asked for one figure, over results of a full run with a baseline; and its counts."""
    layout = Layout(checkout.root, "engine")
    reno, alpha = (
        ("item=80 ms over 40 ms;protocol=Reno", "t1_ratio"),
        ("item=80 ms over 40 ms;protocol=Alpha", "t2_ratio"),
    )
    for name, cell in (("ogura.fig4", (*reno, 9.9)), ("ogura.fig6", (*alpha, 9.9)), ("kozu2014.fig2", (*reno, 9.9))):
        put_exhibit(layout, name, [cell], n_runs=1)
    (layout.data / "expected").mkdir()
    before = pd.DataFrame({"id": list(CLAIMS), "verdict": "reproduced"})
    before.to_csv(layout.data / "expected" / "verdicts.csv", index=False)
    for exhibit in ("ogura/fig04", "ogura/fig06", "kozu2014/fig02"):
        path = layout.data / "expected" / f"{exhibit}.csv"
        path.parent.mkdir(exist_ok=True)
        made = layout.results / "numbers" / f"{exhibit}.csv"
        path.write_text(made.read_text().replace("9.9", "4.2"))
    counts = small_checkout.write_ledger(layout, Config(source="engine", only=["ogura.fig4"]))
    return layout, counts


def test_a_part_moves_nothing_that_was_not_asked_for(part):
    layout, counts = part
    changes = pd.read_csv(layout.ledger / "changes.csv")
    assert changes[["what", "id", "change"]].to_numpy().tolist() == [["number", "ogura.fig4", "moved"]]
    assert counts["changes"] == {"flipped": 0, "moved": 1, "gone": 0, "new": 0, "within spread": 0}


def test_in_a_part_what_was_not_asked_for_is_pending_or_not_run(part):
    layout, counts = part
    exhibits = pd.read_csv(layout.ledger / "exhibits.csv").set_index("exhibit")["status"]
    assert exhibits[exhibits == "built"].index.tolist() == ["ogura.fig4"]
    assert exhibits["ogura.fig6"] == "pending"  # an earlier run drew it
    assert counts["claims"]["failed"] == 0
    assert counts["claims"]["not run"] == sum(counts["claims"].values())
    evidence = pd.read_csv(layout.ledger / "claims.csv").set_index("id")["evidence"]
    assert evidence["ogura.c14"] == "not requested: this run was limited to ogura.fig4"
    assert evidence["ogura.c03"].startswith("ogura/model1")  # asked for, but not there


def test_in_a_part_numbers_of_earlier_runs_are_not_computed(part):
    layout, counts = part
    assert counts["numbers"] == {"within": 0, "outside": 1, "not computed": 7}  # those of ogura
    numbers = pd.read_csv(layout.ledger / "numbers.csv").dropna(subset="reproduced")
    assert numbers[["exhibit", "quotes"]].to_numpy().tolist() == [["ogura.sec-5.2", "ogura.fig4"]]
