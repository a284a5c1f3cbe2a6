"""The report opens from disk, has everything that the ledger has, and is the same from run to run."""

import re
from collections import Counter
from functools import cache

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files import costs
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers.papers import Config
from tcpfair.verdicts import report
from tcpfair.verdicts.report.words import anchor
from tests import small_checkout
from tests.small_checkout import ROOT, put_exhibit
from tests.verdicts.report import links
from tests.verdicts.report.links import Page

TABLE8 = [("rtt_ms=25", "jfi", 0.55), ("rtt_ms=50", "jfi", 0.36)]  # 0.51 and 0.30 in print
PAGE = (
    "<!doctype html><html><body><p>title</p><style>p {}</style><div><table><tr><td>CELL</td></tr></table>"
    '<p class="note">under the table</p></div></body></html>'
)
ERROR = "config/papers/ogura.yaml: <b> & more"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    layout = small_checkout.make_compared(tmp_path_factory.mktemp("checkout"))
    put_exhibit(layout, "bhatti2009.table8", TABLE8, {".html": PAGE, ".csv": "x\n"})
    put_exhibit(layout, "ogura.fig4", [("item=80 ms over 40 ms;protocol=Reno", "t1_ratio", 4.2)])
    put_exhibit(layout, "ogura.fig8", error=ERROR)
    put_exhibit(layout, "ogura.sens_jitter")
    put_exhibit(layout, "kozu2014.fig2")
    small_checkout.write_ledger(layout, Config(source="bundled"))
    put_cost(layout, "1.25")
    return layout


def put_cost(layout, wall_s):
    path = costs.folder(layout) / "measure" / "ogura" / "x.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"s\tcpu_time\tmax_rss\n{wall_s}\t1\t9\n")


@pytest.fixture(scope="module")
def texts(checkout):
    report.write_costs(checkout)
    return links.texts_of(report.write_report(checkout))


@pytest.fixture(scope="module")
def text(texts):
    return "".join(texts.values())


@pytest.fixture(scope="module")
def page(texts):
    return links.as_one(texts)


parsed = cache(Page)


def section(text, name):
    """The text of what one id contains."""
    return parsed(text).places[name].text


def test_there_is_a_first_page_one_for_each_paper_and_three_for_all(texts):
    over_all = {f"report/{name}.html" for name in ("claims", "agreement", "run")}
    assert texts.keys() == {"report.html"} | {f"report/{paper}.html" for paper in PAPERS} | over_all


def test_it_asks_no_host_and_its_scripts_are_inside(texts, text, page):
    assert not [link for link in page.links if link.startswith(("http:", "https:", "//", "/", "file:"))]
    assert not {"link", "iframe", "object"} & page.elements.keys()
    assert page.elements["script"] == len(texts)
    assert not re.search(r"<script[^>]+>|@import|url\((?!data:)|fetch\(|XMLHttpRequest", text)


def test_no_page_has_an_id_twice(texts):
    for name, own in texts.items():
        assert [part for part, count in Counter(parsed(own).ids).items() if count > 1] == [], name


def test_the_first_page_has_five_conclusions_each_with_a_figure_of_the_claims_behind_it(texts):
    front = parsed(texts["report.html"])
    assert front.elements["article"] == 6  # and how to read them
    assert [paper for paper in PAPERS if front.places[f"conclusion-{paper}"].text] == [*PAPERS]
    shown = front.places["conclusions"].text.replace(" ,", ",").replace(" .", ".")
    assert "kozu2014, Figure 2. Rests on c01, c02, c12." in shown
    assert "ogura. Rests on c14, c15, c22, c26." in shown  # its figure failed
    drawing = "../../figures/bundled/kozu2014/fig02.svg"
    assert f'<a class="zoom" href="{drawing}"><img src="{drawing}" alt="Figure 2 of kozu2014:' in texts["report.html"]
    assert front.elements["img"] == 2  # and the enlarged one


def test_links_lead_both_ways_and_three_clicks_from_the_front_page_to_all_of_a_claim_and_an_exhibit(checkout, page):
    assert [len(links.members(page, kind)) for kind in ("claim", "exhibit", "equation")] == [158, 91, 60]
    assert links.faults(page, checkout.results) == []


MOST_BYTES = 1_500_000  # of a page


@pytest.mark.skipif(not (ROOT / "results/bundled/report.html").is_file(), reason="no report is built in this checkout")
def test_so_it_is_in_the_report_that_was_built():
    path = ROOT / "results/bundled/report.html"
    assert {name for name, text in links.texts_of(path).items() if len(text.encode()) > MOST_BYTES} == set()
    assert links.faults(links.as_one(links.texts_of(path)), path.parent) == []


@pytest.mark.parametrize(
    "cut", ['href="#ogura-fig8"', 'href="#ogura-c17"', "./reproduce figure ogura.fig8", 'id="ogura-fig8"']
)
def test_the_check_of_links_sees_what_is_cut(texts, cut):
    page = links.as_one({name: own.replace(cut, "") for name, own in texts.items()})
    claims, exhibits = ["ogura-c17"], ["ogura-fig8"]
    found = [*links.one_way(page), *(links.gaps(page, claims, exhibits) if 'id="' not in cut else ())]
    assert found or links.broken(page, ROOT)


def test_tables_have_a_caption_and_cells_a_scope(text, page):
    assert page.elements["table"] == page.elements["caption"]
    assert not re.search(r"<th(?![a-z])(?![^>]*scope=)", text)


def test_figures_are_files_and_tables_are_taken_out_of_their_pages(texts, text, page):
    drawing = "../../../figures/bundled/ogura/sens_jitter.svg"
    assert f'<a class="zoom" href="{drawing}"><img src="{drawing}" loading="lazy"' in texts["report/ogura.html"]
    assert not [link for link in page.links if link.startswith("data:")]
    assert section(text, "bhatti2009-table8").count("CELL") == 1
    assert "under the table" in section(text, "bhatti2009-table8")
    assert page.elements["html"] == len(texts)
    assert "<p>title</p>" not in text


@pytest.fixture(scope="module")
def another(checkout):
    """First page and all pages of a report that is given pages to link to, after a published number was altered."""
    path = checkout.data / "published" / "ogura.csv"
    before = path.read_text()
    path.write_text(before.replace("8333.33", "8333.34"))
    linked = [checkout.validation / "report.html", checkout.lab]
    written = report.write_report(checkout, checkout.results / "other", linked)
    path.write_text(before)
    return Page(written.read_text()), links.as_one(links.texts_of(written))


def test_it_links_to_the_pages_that_it_is_given(page, another):
    assert not [link for link in page.links if "validation" in link or "lab.html" in link]
    assert {"../validation/report.html", "lab.html"} <= set(another[1].links)


@pytest.mark.parametrize("paper", PAPERS)
def test_exhibits_are_in_the_papers_order(checkout, texts, paper):
    listed = pd.read_csv(checkout.ledger / "exhibits.csv").query("paper == @paper")["exhibit"].map(anchor).tolist()
    assert [name for name in parsed(texts[f"report/{paper}.html"]).ids if name in set(listed)] == listed


def test_front_page_counts_exhibits_claims_and_numbers(page):
    assert "exhibits built 3 of 91" in page.text
    assert "of 158" in page.text
    assert "published numbers within tolerance 2 of 521" in page.text


def test_an_exhibit_shows_how_far_it_lies_from_print(text):
    shown = section(text, "bhatti2009-table8")
    assert "1 of 8 published numbers within tolerance, 1 outside, 6 not computed" in shown
    # printed, reproduced, sd, runs, difference, tolerance
    assert "50 ms jfi 0.30 0.360 0.100 5 0.060 0.05 outside" in shown
    assert "100 ms jfi 0.24 – 0.05 not computed" in shown


def test_a_table_counts_the_numbers_of_the_text_that_quote_it(text):
    # section V-C quotes nothing of table VIII, section V-A and others quote table V
    assert "38 published numbers within tolerance, 38 not computed (6 of them in the text)" in section(
        text, "bhatti2009-table5"
    )
    assert "section V-A" in section(text, "bhatti2009-table5")
    assert "0 of 1 published numbers within tolerance, 1 not computed (1 of them in the text)" in section(
        text, "ogura-fig8"
    )


def test_a_figure_without_numbers_of_its_own_says_whose_marks_it_draws(text):
    marked = section(text, "bhatti2009-fig8")
    assert "Its published marks are the numbers of Table 5" in " ".join(marked.split())
    assert "No number is printed in it" not in marked
    assert "No number is printed in it." in section(text, "ogura-fig9")


def test_failures_and_gaps_are_named_with_their_reason(text):
    assert "config/papers/ogura.yaml: &lt;b&gt; &amp; more" in text
    gaps = section(text, "gaps")
    assert ERROR in gaps
    assert "ogura.fig9" in gaps
    assert "failed" in section(text, "ogura-fig8")


def test_a_claim_says_why_where_it_is_decided_and_why_not_elsewhere(page):
    decided = page.places["ogura-c01"].text
    assert "by construction 2 of 2 clauses hold Identity. Equation 1 follows from a mean window" in decided
    assert "Measured: ratio solved from these two conditions over that of eq. 1 at HSTCP: 1." in decided
    assert "Its experiment is not built." in page.places["ha2006-c01"].text


def test_equations_are_typeset(text, page):
    assert page.elements["math"] == 60
    assert "cwnd += k · RTT 2" in page.places["ogura-eq3"].text


def test_it_is_the_same_whatever_the_steps_cost(checkout, texts):
    before = report.write_costs(checkout).read_text()
    put_cost(checkout, "7.5")
    assert links.texts_of(report.write_report(checkout)) == texts
    report.write_costs(checkout)
    assert '<td class="n">1.2</td>' in before
    assert '<td class="n">7.5</td>' in (checkout.results / "costs.html").read_text()


def test_without_a_ledger_the_missing_table_is_named(tmp_path):
    with pytest.raises(InputError, match=r"^results/engine/ledger/exhibits.csv: missing; run `tcpfair ledger"):
        report.write_report(Layout(tmp_path, "engine"))


# ---- what moved


@pytest.fixture(scope="module")
def moved(checkout):
    """The section on what moved, after a run in which one number moved, one is new, and one changed within its spread."""
    layout = Layout(checkout.root, "engine")
    cells = [(f"protocol=Reno;rtt_ms={rtt}", "t1_ratio", 4.0) for rtt in (25, 50, 75)]
    put_exhibit(layout, "ogura.fig4", [*cells, ("rtt_ms=25", "case", "A")])
    before = layout.expected("ogura") / "fig04.csv"
    before.parent.mkdir(parents=True)
    before.write_text((layout.results / "numbers/ogura/fig04.csv").read_text().replace("rtt_ms=75", "rtt_ms=99"))
    today = [(*cells[0][:2], 4.5), (*cells[1][:2], 4.05), cells[2], ("rtt_ms=25", "case", "B")]
    put_exhibit(layout, "ogura.fig4", today)
    small_checkout.write_ledger(layout, Config(source="engine", only=["ogura.fig4"]))
    text = links.texts_of(report.write_report(layout))["report/run.html"]
    return text.partition('<section id="moved"')[2].partition("</section>")[0].partition(">")[2]


def test_only_what_moved_is_listed_and_the_rest_is_counted(moved):
    found = Page(moved)
    assert "2 numbers moved. 1 are gone." in found.text
    assert "Changed within their spread: 1. Without a baseline yet: 1." in found.text
    assert "Reno, 25 ms t1_ratio 4 4.5 +12.5 %" in found.text
    assert "25 ms case A B moved" in found.text
    assert "Reno, 99 ms t1_ratio 4 - gone" in found.text
    assert "Reno, 50 ms" not in found.text  # within its spread
    assert "Reno, 75 ms" not in found.text  # new


def test_old_and_new_are_drawn_over_each_other(moved):
    # two standard errors are 2 * 0.1 / sqrt(5) = 0.089, so that the axis goes from 3.911 to 4.589
    assert moved.count("<svg") == 1
    drawing = moved.partition("<svg")[2].partition("</svg>")[0]
    assert Page(f"<svg{drawing}").text.split() == ["3.911", "4.589"]
    assert '<line class="old" x1="10.0" x2="68.0" y1="7" y2="7"/>' in drawing
    assert '<circle class="old" cx="39.0"' in drawing
    assert '<line class="now" x1="172.0" x2="230.0" y1="19" y2="19"/>' in drawing
    assert '<path class="now" d="M201.0 ' in drawing


def test_nothing_moved_is_said(text):
    part = Page(text.partition('<section id="moved"')[2].partition("</section>")[0])
    assert "No verdict differs from data/expected , and no number moved." in part.text
    assert part.elements["table"] == 0


def test_an_altered_printed_number_is_told_on_the_front_page(text, another):
    assert "differ from the shipped data" not in text
    assert "Results are compared with data that differ from the shipped data:" in another[0].text
    assert "data/published/ogura.csv: differs from its checksum in data/SHA256SUMS" in another[0].text
