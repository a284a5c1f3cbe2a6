"""Bars, tables and pages: what the report is put together from; and what the front page says."""

from functools import partial
from io import StringIO

import pandas as pd
import pytest
from markupsafe import Markup

from tcpfair.verdicts.report import claim_views, marks, pages
from tcpfair.verdicts.report.front import Facts
from tcpfair.verdicts.report.words import SOURCES

TABLE = (
    '<body><p>x</p><table class="dataframe"><thead><tr><th></th><th>25 ms</th></tr></thead>'
    '<tbody><tr><th>BIC</th><td>1</td></tr></tbody></table>\n<p class="note">below</p></body>'
)


def test_a_bar_says_its_counts_and_draws_their_shares():
    bar = marks.summed(
        [
            marks.Bar({"built": 1, "pending": 0, "failed": 1}),
            marks.Bar({"built": 2, "pending": 0, "failed": 0}),
        ]
    )
    assert bar.counts == {"built": 3, "pending": 0, "failed": 1}
    assert (bar.total, bar.share("built"), bar.words) == (4, 75, "3 built, 1 failed")
    drawn = marks.draw_bar(bar)
    assert 'aria-label="3 built, 1 failed"' in drawn
    assert drawn.count("<span") == 2
    assert 'class="good" style="width:75.00%"' in drawn
    assert marks.Bar({}).words == "none"


def test_what_comes_from_data_is_escaped():
    assert marks.link("#a", "<b>") == '<a href="#a">&lt;b&gt;</a>'
    assert marks.links([("#a", "x"), ("#b", "y")]) == '<a href="#a">x</a>, <a href="#b">y</a>'
    assert marks.lines("a", "", Markup("<i>b</i>")) == "a<br><i>b</i>"


def test_kinds_of_columns_stand_after_a_colon():
    table = marks.table("Numbers", ["of", "value:n"], [["a", 1], marks.Row(["b", 2], verdict="within")], tools=True)
    assert table.columns == [("of", ""), ("value", "n")]
    assert table.rows[1].cells == ["b", 2]
    assert table.tools


def test_a_table_is_cut_out_of_its_page_with_scopes_and_a_caption(tmp_path):
    path = tmp_path / "tab.html"
    path.write_text(TABLE)
    cut = pages.fragment(path, "Table 5 & more")
    assert cut.startswith('<table class="dataframe"><caption class="unseen">Table 5 &amp; more</caption><thead>')
    assert '<td></td><th scope="col">25 ms</th>' in cut
    assert '<th scope="row">BIC</th>' in cut
    assert cut.endswith('<p class="note">below</p>')


@pytest.mark.parametrize(
    ("svg", "size"),
    [('<svg xmlns="x" width="388.8pt" height="216pt" viewBox="0 0 1 1">', (518, 288)), ("<svg/>", None)],
)
def test_the_size_of_a_drawing_is_known_before_it_is_decoded(tmp_path, svg, size):
    path = tmp_path / "fig.svg"
    path.write_text(svg)
    assert pages.size_px(path) == size


LEDGER = {
    "claims": "id,verdict,cause\nogura.c01,reproduced,\nogura.c02,partly,chance\nogura.c03,partly,chance\n",
    "clauses": "id,clause,value\nogura.c01,a,0.314\n",
    "margins": "margin,tried,claims_turned\ntie_jfi,twice,1\nall,half,2\nall,twice,3\n",
    "yardsticks": """\
paper,yardstick,measure,numbers,reproduced,value
bhatti2008,null model,share within tolerance,30,0.2,0.5
bhatti2009,null model,share within tolerance,10,0.6,0.1
bhatti2008,null model,error in tolerances,30,9,9
""",
    "ensemble_held_out": """\
paper,hypothesis,fitted_paper,judged,within_base,within_prior,within_inferred,prior,inferred
bhatti2009,,bhatti2008,table5,0.3,0.4,0.5,1.7,1.6
bhatti2009,H1,bhatti2009,table5,0.1,0.2,0.2,2.5,2.6
""",
}


def test_a_clause_states_the_outcome_of_each_source_that_has_one():
    names = ("value", "low", "high", "unit", "cell", "quantity", "asks", "confidence", "single_share", "says")
    row = dict.fromkeys(names, "") | {"outcome": "holds", "kept": "holds"}
    kernel = {f"{source}_{what}": "" for source in SOURCES for what in ("outcome", "value")}
    kernel |= {
        "scaled_outcome": "does not hold",
        "scaled_value": "0.5",
        "guest_outcome": "holds",
        "guest_value": "0.25",
    }
    told = claim_views._clause(row, "", kernel)["told"]
    assert told.endswith(
        "In further runs: does not hold in the engine scaled (0.5); holds in Linux 6.1, scaled (0.25)."
    )
    assert "further runs" not in claim_views._clause(row, "")["told"]


def test_the_front_page_asks_the_ledger():
    read = partial(pd.read_csv, dtype=object, keep_default_na=False)  # as the report does
    facts = Facts({name: read(StringIO(text)) for name, text in LEDGER.items()})
    assert facts.are("reproduced", "ogura.c01")
    assert not facts.are("reproduced", "ogura.c01", "ogura.c02")
    assert not facts.are("reproduced", "kozu2014.c01")
    assert facts.value("ogura.c01.a", "%") == "31 %"
    assert facts.caused("chance", "partly", "not reproduced") == 2
    assert facts.caused("chance", "undecidable") == 0
    assert (facts.turned("half"), facts.turned("twice")) == (2, 3)
    # (0.2 * 30 + 0.6 * 10) / 40 and (0.5 * 30 + 0.1 * 10) / 40
    assert facts.measured_against("null model", "bhatti2008", "bhatti2009") == ("30 %", "40 %")
    assert facts.measured_against("other paper", "bhatti2008") is None
    shares = {"base": "30 %", "prior": "40 %", "inferred": "50 %"}
    assert facts.predicted("bhatti2009", "table5", "bhatti2008") == {**shares, "better": "better"}
    assert facts.predicted("bhatti2009", "table5", "bhatti2009", "H1")["better"] == ""
    assert facts.predicted("bhatti2009", "table5", "bhatti2009") == {}
