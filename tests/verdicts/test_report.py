"""The report opens from disk, holds everything the ledger holds, and is the same from run to run."""

from collections import Counter
from html.parser import HTMLParser

import pandas as pd
import pytest

from tcpfair.contract import costs
from tcpfair.contract.layout import Layout
from tcpfair.contract.papers import Config
from tcpfair.errors import InputError
from tcpfair.verdicts import ledger, report
from tests import fake_checkout
from tests.fake_checkout import put_exhibit

TABLE8 = [("rtt_ms=25", "jfi", 0.55), ("rtt_ms=50", "jfi", 0.36)]  # 0.51 and 0.30 in print
PAGE = (
    "<!doctype html><html><body><p>title</p><style>p {}</style><div><table><tr><td>CELL</td></tr></table>"
    '<p class="note">under the table</p></div></body></html>'
)
ERROR = "config/papers/ogura.yaml: <b> & more"


class Page(HTMLParser):
    """What a page contains: ids, links, elements, and the text of everything but its style."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.elements, self.words, self.styled = [], [], Counter(), [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements[tag] += 1
        self.styled = tag == "style"
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src"):
                self.links.append(value)

    def handle_endtag(self, tag):
        self.styled = False

    def handle_data(self, data):
        if not self.styled:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    layout = fake_checkout.make(tmp_path_factory.mktemp("checkout"))
    put_exhibit(layout, "bhatti2009.table8", TABLE8, {".html": PAGE, ".csv": "x\n"})
    put_exhibit(layout, "ogura.fig4", [("item=80 ms over 40 ms;protocol=Reno", "t1_ratio", 4.2)])
    put_exhibit(layout, "ogura.fig8", error=ERROR)
    put_exhibit(layout, "ogura.sens_jitter")
    ledger.write_ledger(layout, Config(source="bundled"))
    put_cost(layout, "1.25")
    return layout


def put_cost(layout, wall_s):
    path = costs.folder(layout) / "measure" / "ogura" / "x.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"s\tcpu_time\tmax_rss\n{wall_s}\t1\t9\n")


@pytest.fixture(scope="module")
def text(checkout):
    return report.write_report(checkout).read_text()


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def section(text, name):
    """The text of one exhibit's section."""
    return Page(text.partition(f'id="{name}"')[2].partition("</section>")[0]).text


def test_it_needs_neither_network_nor_scripts(page):
    assert not [link for link in page.links if link.startswith(("http:", "https:", "//", "/", "file:"))]
    assert not {"script", "link", "iframe"} & page.elements.keys()


def test_every_link_leads_somewhere(checkout, page):
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert inside - set(page.ids) == set()
    files = [link for link in page.links if not link.startswith(("#", "data:"))]
    assert [link for link in files if not (checkout.results / link).is_file()] == []


def test_figures_are_inside_and_tables_are_taken_out_of_their_pages(text, page):
    assert [link for link in page.links if link.startswith("data:image/svg+xml;base64,")]
    assert section(text, "bhatti2009-table8").count("CELL") == 1
    assert "under the table" in section(text, "bhatti2009-table8")
    assert page.elements["html"] == 1
    assert "<p>title</p>" not in text


def test_it_links_to_the_validation_when_there_is_one(checkout, page):
    assert not [link for link in page.links if "validation" in link]
    validation = checkout.validation / "report.html"
    validation.parent.mkdir(parents=True)
    validation.write_text("")
    with_link = Page(report.write_report(checkout).read_text())
    validation.unlink()
    report.write_report(checkout)
    assert "../validation/report.html" in with_link.links


def test_exhibits_stand_in_the_papers_order(checkout, page):
    exhibits = pd.read_csv(checkout.ledger / "exhibits.csv")["exhibit"].map(report.anchor).tolist()
    assert [name for name in page.ids if name in set(exhibits)] == exhibits


def test_front_page_counts_exhibits_claims_and_numbers(page):
    assert "exhibits built 2 of 91" in page.text
    assert "of 158" in page.text
    assert "printed numbers within tolerance 2 of 521" in page.text


def test_an_exhibit_shows_how_far_it_lies_from_print(text):
    shown = section(text, "bhatti2009-table8")
    assert "1 of 8 printed numbers within tolerance, 1 outside, 6 not computed" in shown
    # printed, reproduced, sd, runs, difference, tolerance
    assert "50 ms jfi 0.30 0.360 0.100 5 0.060 0.05 outside" in shown
    assert "100 ms jfi 0.24 – 0.05 not computed" in shown


def test_a_table_counts_the_numbers_of_the_text_that_quote_it(text):
    # section V-C quotes nothing of table VIII, section V-A and others quote table V
    assert "38 printed numbers within tolerance, 38 not computed (6 of them in the text)" in section(
        text, "bhatti2009-table5"
    )
    assert "section V-A" in section(text, "bhatti2009-table5")
    assert "0 of 1 printed numbers within tolerance, 1 not computed (1 of them in the text)" in section(
        text, "ogura-fig8"
    )


def test_a_figure_without_numbers_of_its_own_says_whose_marks_it_draws(text):
    marked = section(text, "bhatti2009-fig8")
    assert "Its printed marks are the numbers of Table 5" in " ".join(marked.split())
    assert "No number is printed in it" not in marked
    assert "No number is printed in it." in section(text, "ogura-fig9")


def test_failures_and_gaps_are_named_with_their_reason(text):
    gaps = text.partition('id="gaps"')[2].partition('id="print"')[0]
    assert "config/papers/ogura.yaml: &lt;b&gt; &amp; more" in gaps
    assert "ogura.fig9" in Page(gaps).text
    assert "failed" in section(text, "ogura-fig8")


def test_every_claim_and_every_equation_has_a_row(page):
    assert sum(name.partition("-c")[2].isdigit() for name in page.ids) == 158
    assert sum("-eq" in name for name in page.ids) == 60


def test_it_is_the_same_whatever_the_steps_cost(checkout, text):
    before = (checkout.results / "costs.html").read_text()
    put_cost(checkout, "7.5")
    assert report.write_report(checkout).read_text() == text
    assert '<td class="n">1.2</td>' in before
    assert '<td class="n">7.5</td>' in (checkout.results / "costs.html").read_text()


def test_without_a_ledger_the_missing_table_is_named(tmp_path):
    with pytest.raises(InputError, match=r"^results/engine/ledger/exhibits.csv: missing; run `tcpfair ledger"):
        report.write_report(Layout(tmp_path, "engine"))


@pytest.mark.parametrize(
    ("value", "printed", "shown"),
    [("46.2345", "45", "46.2"), ("-0.0071", "0.93", "−0.007"), ("B", "A", "B"), ("-", "61", "–"), ("", "61", "–")],
)
def test_numbers_get_one_decimal_more_than_print(value, printed, shown):
    assert report.number_text(value, printed) == shown


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("flow=2;protocol=CUBIC;rtt_ms=100", "CUBIC, flow 2, 100 ms"),
        ("condition=self;protocol=BIC", "BIC, self"),
        ("item=80 ms over 40 ms", "80 ms over 40 ms"),
        ("loss_rate=0.01;protocol=Reno", "Reno, loss_rate 0.01"),
    ],
)
def test_keys_are_read_aloud(key, shown):
    assert report.key_text(key) == shown


@pytest.mark.parametrize(
    ("exhibit", "shown"),
    [
        ("ogura.fig8", "Figure 8"),
        ("bhatti2009.table10", "Table 10"),
        ("bhatti2009.sec-V-C", "section V-C"),
        ("bhatti2009.sens_ack", "sens_ack"),
    ],
)
def test_labels_are_those_of_the_papers(exhibit, shown):
    assert report.label(exhibit) == shown


def test_counts_and_durations_are_short():
    assert [report.count_text(n) for n in (56, 4687, 2.5e6, 29.5e9)] == [
        "56",
        "4\u202f687",
        "2.5 million",
        "29.5 billion",
    ]
    assert [report.duration_text(s) for s in (0.1, 59, 90, 5400)] == ["below 1 s", "59 s", "1.5 min", "1.5 h"]


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
    ledger.write_ledger(layout, Config(source="engine", only=["ogura.fig4"]))
    text = report.write_report(layout).read_text()
    return text.partition('id="moved"')[2].partition("</section>")[0]


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


@pytest.mark.parametrize(
    ("old", "new", "reach", "places"),
    [
        ("1", "2", ("", ""), ((0, 0, 0), (1, 1, 1))),
        ("2", "1", ("1", "0"), ((0, 0.5, 1), (0, 0, 0))),
        ("A", "B", ("", ""), None),
        ("1", "", ("", ""), None),
    ],
)
def test_places_of_a_pair(old, new, reach, places):
    pair = report._pair({"baseline": old, "today": new, "baseline_reach": reach[0], "today_reach": reach[1]})
    found = pair and tuple((at.low, at.value, at.high) for at in (pair.baseline, pair.today))
    assert found == places


def test_nothing_moved_is_said(text):
    section = Page(text.partition('id="moved"')[2].partition("</section>")[0])
    assert "Nothing: no verdict that was reached flipped" in section.text
    assert section.elements["table"] == 0


def test_an_altered_printed_number_is_told_on_the_front_page(checkout, text):
    assert "not what was shipped" not in text
    path = checkout.data / "published" / "ogura.csv"
    before = path.read_text()
    path.write_text(before.replace("8333.33", "8333.34"))
    told = Page(report.write_report(checkout).read_text()).text
    path.write_text(before)
    assert "What results are compared with is not what was shipped:" in told
    assert "data/published/ogura.csv: differs from its checksum in data/SHA256SUMS" in told
