"""What a notebook calls: show draws and records, whatever happens to a single exhibit; ledger sums up."""

import hashlib
import re

import numpy as np
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.exhibits import board, open_paper, pages, style
from tcpfair.exhibits import paper as papers
from tcpfair.exhibits.context import KINDS, Kind
from tcpfair.exhibits.numbers import cells
from tcpfair.exhibits.paper import Paper
from tcpfair.files.manifest import file_hash
from tcpfair.papers.papers import Exhibit
from tcpfair.runs import record as records
from tcpfair.runs.origin import Origin
from tests.exhibits import standin

JFI = {"jfi_mean": lambda point, run: 0.9 + 0.01 * run, "jfi_of_means": 0.95, "jfi_mean_received": 0.9}


@pytest.fixture
def context(tmp_path, monkeypatch):
    """A paper whose pictures are drawn once: a PNG shows what the SVG does (`test_style.py`)."""
    monkeypatch.setattr(style, "as_png", lambda figure, origin="": b"\x89PNG" + origin.encode())
    context = standin.context(tmp_path, "bhatti2009")
    standin.put_metrics(context, "pair_ccid2_first", system=JFI)
    return context


@pytest.fixture
def paper(context):
    return Paper(context, keep=True)


@pytest.fixture
def layout(paper):
    return paper.context.layout


def record(layout, name):
    return records.read(layout.results / "exhibits" / "bhatti2009" / f"{name}.json")


def files_below(root):
    """Every file with its content and the time it was written."""
    found = (path for name in ("figures", "results") for path in (root / name).rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def test_keeping_writes_files_and_record(paper, layout):
    paper.show("fig08")
    files = [f"figures/engine/bhatti2009/fig08.{suffix}" for suffix in ("csv", "svg", "png")]
    made = record(layout, "fig08")
    assert (made.exhibit, made.status, made.n_runs) == ("bhatti2009.fig8", "built", standin.RUNS)
    assert (made.source, made.error) == ("engine", "")
    hashes = [hashlib.sha256((layout.root / file).read_bytes()).hexdigest() for file in files]
    assert list(made.files.items()) == list(zip(files, hashes, strict=True))
    numbers = pd.read_csv(layout.root / files[0])
    assert list(numbers.columns) == ["exhibit", "key", "metric", "value", "sd", "n_runs"]
    bic = numbers[(numbers["key"] == "protocol=BIC;rtt_ms=25") & (numbers["metric"] == "jfi_mean")].iloc[0]
    assert (bic["value"], bic["sd"], bic["n_runs"]) == (0.91, 0.01, 3)
    assert made.numbers == {} and not (layout.results / "numbers").exists()  # they are a step of their own


def test_show_returns_what_it_drew(paper, layout):
    drawn = paper.show("fig08")
    pd.testing.assert_frame_equal(drawn, pd.read_csv(layout.figures("bhatti2009") / "fig08.csv"))
    bic = cells(drawn, "jfi_mean").loc[("BIC", 25)]
    assert bic["jfi_mean"] == 0.91
    kept = Paper(paper.context, keep={"bhatti2009.fig6": "drawn"}).show("fig08")  # as an earlier run left it
    pd.testing.assert_frame_equal(kept, drawn)
    assert paper.show("fig14").empty  # fails
    assert Paper(paper.context, ["fig08"]).show("table2").empty  # is not asked for


def test_a_notebook_has_the_traces_metrics_and_values_behind_its_exhibits(context, paper):
    standin.put_trace(context, "self", lambda point, flow: np.full(5, 1000 * flow))
    assert paper.trace("self") is context.trace("self")
    assert paper.metrics("pair_ccid2_first") is context.metrics("pair_ccid2_first")
    assert paper.window_s("self") == (60, 300)
    assert (paper.value("capacity_bps"), paper.config) == (100e6, context.paper)
    with pytest.raises(InputError, match="experiment 'selves' is unknown; did you mean 'self'"):
        paper.trace("selves")
    with pytest.raises(InputError, match="value 'capacity' is unknown; did you mean 'capacity_bps'"):
        paper.value("capacity")


def test_a_missing_trace_is_one_line_with_the_command_that_makes_it(paper):
    with pytest.raises(InputError) as raised:
        paper.trace("pair_tcp_first")
    (line,) = raised.value._render_traceback_()  # all that IPython shows of it
    assert line.endswith("./reproduce --config source=engine simulates them")


def test_looking_writes_nothing(context, capsys):
    """Neither what can be drawn nor what fails, neither in an empty checkout nor over what a build left."""
    root = context.layout.root
    for _ in range(2):
        before = files_below(root)
        looking = Paper(context)
        for name in ("fig08", "fig14", "table1"):
            looking.show(name)
        assert files_below(root) == before
        out = capsys.readouterr().out
        assert "bhatti2009.fig8  drawn, not written" in out
        assert "Figure 14: " in out and "  Failed: " in out
        Paper(context, keep=True).show("fig08")
        Paper(context, keep=True).show("fig14")
        assert len(files_below(root)) == 8  # three pictures and a record each
        capsys.readouterr()


def test_the_corner_names_source_and_runs(paper, layout):
    paper.show("table2")
    paper.show("fig08")
    assert "RTT (ms)" not in (layout.figures("bhatti2009") / "tab02.html").read_text()
    svg = (layout.figures("bhatti2009") / "fig08.svg").read_text()
    assert "source: engine, 3 runs; line: mean, bar: ±1 sd over runs" in svg  # text of a glyph group


def test_showing_again_gives_the_same_bytes_by_any_spelling(paper, layout):
    paper.show("fig08")
    files = [layout.root / file for file in record(layout, "fig08").files]
    first = [file.read_bytes() for file in files]
    paper.show("bhatti2009.figure8")
    assert [file.read_bytes() for file in files] == first


def test_an_exhibit_without_data_fails_alone_and_names_the_command(paper, layout, capsys):
    paper.show("fig14")
    paper.show("fig08")
    failed = record(layout, "fig14")
    assert failed.status == "failed"
    assert failed.error.startswith("bhatti2009/self: 100 of the 100 requested runs are missing")
    assert "./reproduce --config source=engine simulates them" in failed.error
    assert "\n" not in failed.error
    assert failed.error in capsys.readouterr().out
    assert record(layout, "fig08").status == "built"


def test_a_failure_stands_in_the_place_of_the_older_picture(paper, layout, monkeypatch, capsys):
    """Every file that a workflow expects is there, says why in words, and holds no number of an earlier run."""
    paper.show("fig08")
    figure = layout.figures("bhatti2009") / "fig08"
    before = {suffix: figure.with_suffix(suffix).read_bytes() for suffix in (".csv", ".svg", ".png")}

    def broken(context):
        raise ZeroDivisionError(f"{layout.root}/a $bug$")

    monkeypatch.setitem(KINDS, "metric_lines", Kind(broken, KINDS["metric_lines"].is_table))
    exhibit = paper.context.paper.exhibit("bhatti2009.fig8")
    monkeypatch.setitem(exhibit.__dict__, "options", {})
    paper.show("fig08")
    failed = record(layout, "fig08")
    assert failed.error == "ZeroDivisionError: a $bug$"
    assert {name: file_hash(layout.root / name) for name in failed.files} == failed.files
    assert list(failed.files) == [f"figures/engine/bhatti2009/fig08{suffix}" for suffix in before]
    assert not [suffix for suffix, content in before.items() if figure.with_suffix(suffix).read_bytes() == content]
    assert "<!-- Figure 8: failed: ZeroDivisionError: a $bug$ -->" in figure.with_suffix(".svg").read_text()
    assert figure.with_suffix(".csv").read_text() == "exhibit,key,metric,value,sd,n_runs\n"
    assert "Traceback" in capsys.readouterr().err  # a bug is no user's error: where it happened is said too


def test_a_table_that_fails_is_a_page_with_the_reason(paper, layout):
    paper.show("table7")
    page = (layout.figures("bhatti2009") / "tab07.html").read_text()
    assert "Table 7: failed: bhatti2009/" in page
    assert (layout.figures("bhatti2009") / "tab07.csv").read_text() == "exhibit,key,metric,value,sd,n_runs\n"
    assert set(record(layout, "tab07").files) == {f"figures/engine/bhatti2009/tab07.{s}" for s in ("csv", "html")}


class SoundError(Exception):
    """Nothing to show."""


def test_what_is_left_out_leaves_no_files_of_an_earlier_run(layout):
    exhibit = Exhibit(id="mine.jfi", kind="supplement", title="t")

    class Mine(board.Board):
        absence = SoundError

    def absent():
        raise SoundError("one flow")

    folder = layout.figures("mine")
    folder.mkdir(parents=True)
    (folder / "jfi.svg").write_text("older")
    Mine(layout).present(exhibit, "t", "raw", absent, lambda: Origin("mine.jfi", "raw"))
    assert (folder / "jfi.svg").read_text() == "older"
    Mine(layout, keep=True).present(exhibit, "t", "raw", absent, lambda: Origin("mine.jfi", "raw"))
    assert list(folder.iterdir()) == []
    assert records.read_all(layout)["mine.jfi"] == records.Record(
        "mine.jfi", "left out", source="raw", error="one flow"
    )


def test_only_the_exhibits_that_are_asked_for_are_drawn(layout, capsys):
    for only in (["bhatti2009.fig08"], ["fig8"], ["ogura.table2", "bhatti2009.figure8"]):
        chosen = Paper(standin.context(layout.root, "bhatti2009"), only)
        chosen.show("table2")
        assert capsys.readouterr().out == ""
        chosen.show("fig08")
        assert "Figure 8: " in capsys.readouterr().out
    nothing = Paper(standin.context(layout.root, "bhatti2009"), ["ogura.fig8"])
    nothing.show("fig08")
    assert capsys.readouterr().out == ""


def test_an_unknown_exhibit_is_an_error_of_the_notebook(paper):
    with pytest.raises(InputError, match=r"exhibit 'fig99' is unknown; known are bhatti2009.table1"):
        paper.show("fig99")


def test_open_paper_finds_the_checkout(tmp_path, monkeypatch):
    (tmp_path / "Snakefile").touch()
    standin.context(tmp_path, "ogura")
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    assert open_paper("ogura", source="engine").context.layout.root == tmp_path
    assert open_paper("ogura", only="ogura.fig8").only == {"ogura.fig8"}
    assert not open_paper("ogura", only=[]).only
    with pytest.raises(InputError, match="paper 'ogra' is unknown; did you mean 'ogura'. known are ogura"):
        open_paper("ogra")
    assert open_paper("bhatti2009", trace="data/raw/mine").recording == "data/raw/mine"


def shown(monkeypatch):
    """Everything displayed from now on, as HTML."""
    pages = []
    for module in (board, papers):
        monkeypatch.setattr(module, "display", lambda what: pages.append(what.data))
    return pages


def test_the_ledger_has_a_row_per_exhibit_and_the_numbers_that_are_missed(paper, layout, monkeypatch):
    paper.show("fig14")  # fails
    paper.show("table5")
    pages = shown(monkeypatch)
    paper.ledger()
    summary, outside = pages
    assert summary.count("<tr>") == len(paper.context.paper.exhibits)  # the row of headings has a style
    assert "failed" in summary
    assert "pending" in summary
    assert "protocol=BIC;rtt_ms=100" in outside  # 0.91 for 0.67 in print
    assert "protocol=Compound;rtt_ms=25" not in outside  # 0.91, 0.01 for 0.93, 0.02


def test_show_and_ledger_count_printed_numbers_alike(paper, layout, monkeypatch, capsys):
    """Table 5 has the same count in both; figure 8, which draws its cells, has no printed numbers of its own."""
    paper.show("table5")
    (said,) = re.findall(r"(\d+) of (\d+) published numbers within tolerance", capsys.readouterr().out)
    paper.show("fig08")  # draws the same numbers, which are not its own
    assert "printed numbers" not in capsys.readouterr().out
    pages = shown(monkeypatch)
    paper.ledger()
    rows = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in pages[0].split("<tr>")]
    (of_table,) = [row for row in rows if row and row[0] == "Table 5"]
    assert of_table[2:] == ["built", str(standin.RUNS), said[1], said[0]]
    (of_figure,) = [row for row in rows if row and row[0] == "Figure 8"]
    assert of_figure[2:] == ["built", str(standin.RUNS), "", ""]


@pytest.mark.parametrize("name", ["fig08", "tab02"])
def test_an_exhibit_that_is_not_drawn_anew_is_shown_just_as_when_it_was_drawn(paper, monkeypatch, name):
    """With a list in `keep`, what is not named is displayed from its files, and they stay as they are."""
    displayed = []
    monkeypatch.setattr(board, "get_ipython", lambda: object())
    monkeypatch.setattr(board, "display", displayed.append)
    exhibit = paper.context.paper.exhibit(name)
    paper.show(name)
    files = {path: path.stat().st_mtime_ns for path in records.figure_files(paper.layout, exhibit)}
    other = Paper(paper.context, keep={"bhatti2009.fig6": "drawn"})
    other.show(name)
    drawn, caption, *again = [shown.data for shown in displayed]
    assert again == [drawn, caption]
    assert pages.with_symbols(f"{pages.heading(exhibit)}: {exhibit.title}") in caption
    assert {path: path.stat().st_mtime_ns for path in files} == files
