"""What drawing kinds are given: options that are checked, metrics from disk or trace, printed numbers from one place."""

import ast
from collections import Counter

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.exhibits.context import KINDS, draw, read_options
from tcpfair.papers.papers import load_paper
from tcpfair.runs import outputs
from tcpfair.verdicts.context import flow_protocol
from tests.exhibits import standin
from tests.exhibits.standin import ROOT

# tables and figures of each paper
EXPECTED = {"ogura": (3, 13), "bhatti2008": (9, 5), "bhatti2009": (10, 18), "kozu2014": (1, 17), "ha2006": (1, 14)}
PAPERS = list(EXPECTED)


@pytest.fixture(params=PAPERS)
def context(request, tmp_path):
    return standin.context(tmp_path, request.param)


@pytest.fixture
def bhatti(tmp_path):
    return standin.context(tmp_path, "bhatti2009")


def test_every_exhibit_of_the_paper_is_listed_once(context):
    paper = context.paper
    numbered = [exhibit.id for exhibit in paper.exhibits if exhibit.kind != "supplement"]
    kinds = zip(("table", "fig"), EXPECTED[paper.paper], strict=True)
    assert sorted(numbered) == sorted(f"{paper.paper}.{kind}{i}" for kind, n in kinds for i in range(1, n + 1))


def test_every_exhibit_is_drawn_in_its_form_with_options_of_its_kind(context):
    for exhibit in context.paper.exhibits:
        read_options(context, exhibit)


def test_a_form_that_is_not_drawn_is_an_error(bhatti):
    exhibit = bhatti.paper.exhibit("bhatti2009.peaks").model_copy(update={"form": None})
    with pytest.raises(
        InputError, match=r"exhibits.bhatti2009.peaks: `cell_table` draws a table; state this in `kind`, or"
    ):
        draw(bhatti, exhibit)


def test_options_choose_among_drawings_and_what_is_drawn_once_has_none_but_values():
    """A kind serves several exhibits; the drawing of a single one is named for it, its options are values of the paper."""
    exhibits = [e for paper in PAPERS for e in load_paper(ROOT / "config" / "papers" / f"{paper}.yaml").exhibits]
    own = {exhibit.id.replace(".", "_") for exhibit in exhibits if not exhibit.draw}
    uses = Counter(exhibit.draw for exhibit in exhibits if exhibit.draw)
    assert own | set(uses) == set(KINDS)
    options = {name: list(KINDS[name].options.model_fields) for name in own if KINDS[name].options.model_fields}
    assert options == {"bhatti2008_table7": ["fair_share"], "kozu2014_table1": ["rows"]}
    assert [name for name, times in uses.items() if times < 2] == []


def test_every_sensitivity_experiment_has_a_supplement(context):
    shown = {name for exhibit in context.paper.exhibits if exhibit.kind == "supplement" for name in exhibit.experiments}
    assert {name for name, experiment in context.paper.experiments.items() if experiment.supplement} <= shown


def test_captions_say_what_to_look_for(context):
    for exhibit in context.paper.exhibits:
        assert 30 < len(exhibit.caption) < 330, exhibit.id


def test_an_unknown_kind_is_named_with_the_known_ones(bhatti):
    exhibit = bhatti.paper.exhibit("bhatti2009.fig8").model_copy(update={"draw": "pie"})
    with pytest.raises(InputError, match=r"bhatti2009.yaml: exhibits.bhatti2009.fig8.draw: 'pie' .*metric_lines"):
        draw(bhatti, exhibit)


def test_a_wrong_option_is_named_with_its_place(bhatti):
    exhibit = bhatti.paper.exhibit("bhatti2009.fig8")
    wrong = exhibit.model_copy(update={"options": {**exhibit.options, "colour": "red"}})
    with pytest.raises(InputError, match=r"exhibits.bhatti2009.fig8.options: colour: .*not permitted"):
        draw(bhatti, wrong)


def test_printed_numbers_come_with_the_parts_of_their_keys(bhatti):
    cells = bhatti.printed("bhatti2009.table6", "throughput_mean").set_index(["protocol", "rtt_ms", "flow"])["value"]
    assert len(cells) == 32
    assert cells["CUBIC", 100, 1] == 16  # table VI
    assert cells["CUBIC", 100, 2] == 74
    of_2008 = standin.context(bhatti.layout.root, "bhatti2008")
    times_s = of_2008.printed("bhatti2008.table7", "T_U").set_index(["protocol", "rtt_ms"])["value"]
    assert times_s["NewReno", 25] == 109
    assert pd.isna(times_s["NewReno", 75])  # a dash


def test_metrics_are_read_when_stored_and_computed_when_not(bhatti):
    standin.put_trace(bhatti, "single", lambda point, flow: [10_000_000] * 5)
    computed = bhatti.metrics("single").query("metric == 'throughput_peak'")["value"]
    assert computed.tolist() == pytest.approx([80.0] * 20)  # 10 MB in 1 s, 5 protocols at 4 RTTs

    stored = standin.context(bhatti.layout.root, "bhatti2009")
    folder = stored.held.metrics_folder("single")
    path = outputs.inside(stored.layout, folder, stored.layout.metrics("bhatti2009", "single"))
    path.parent.mkdir(parents=True)
    made = standin.metrics(stored.paper, "single", flows={"throughput_peak": lambda point, run, flow: 95.0})
    made.to_parquet(path, index=False)
    assert (stored.metrics("single")["value"] == 95.0).all()


def test_a_trace_of_the_users_own_stands_in_for_the_experiment_it_names(bhatti):
    own = standin.context(bhatti.layout.root, "bhatti2009", source="raw")
    standin.put_trace(own, "single", lambda point, flow: [5_000_000] * 5)
    bhatti.trace_folder = own.layout.simulated("bhatti2009", "single")
    assert bhatti.metrics("single").query("metric == 'throughput_peak'")["value"].iloc[0] == pytest.approx(40.0)
    with pytest.raises(InputError, match="bhatti2009/self: 100 of the 100 requested runs are missing"):
        bhatti.trace("self")  # the user's trace does not stand in for other experiments


def test_nothing_but_the_comparison_reads_the_printed_numbers():
    """No string of the drawing and computing code names data/published."""
    package = ROOT / "src" / "tcpfair"
    layers = ("exhibits", "metrics", "models", "cc", "engine", "sources", "measures")
    files = [path for layer in layers for path in (package / layer).rglob("*.py")]
    for path in files:
        tree = ast.parse(path.read_text())
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        assert not [n.value for n in texts if "published" in n.value and id(n) not in docstrings], path


def test_flow_protocol_is_the_rows_or_the_flows_own(bhatti):
    pair = bhatti.paper.experiments["pair_ccid2_first"]
    assert [flow_protocol(pair, flow, "BIC") for flow in (1, 2)] == ["CCID2", "BIC"]
