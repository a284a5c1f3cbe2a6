"""What a notebook calls: show draws and records, whatever happens to a single exhibit; ledger sums up."""

import json

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.exhibits import board, open_paper
from tcpfair.exhibits.board import Paper
from tcpfair.exhibits.context import KINDS
from tests.exhibits import standin

JFI = {"jfi_mean": lambda point, run: 0.9 + 0.01 * run, "jfi_of_means": lambda *_: 0.95}


@pytest.fixture
def paper(tmp_path):
    context = standin.context(tmp_path, "bhatti2009")
    standin.put_metrics(context, "pair_ccid2_first", system=JFI)
    return Paper(context)


@pytest.fixture
def layout(paper):
    return paper.context.layout


def record(layout, name):
    return json.loads((layout.results / "exhibits" / "bhatti2009" / f"{name}.json").read_text())


def test_show_writes_files_numbers_and_record(paper, layout):
    paper.show("fig08")
    files = [f"figures/engine/bhatti2009/fig08.{suffix}" for suffix in ("csv", "svg", "png")]
    assert record(layout, "fig08") == {
        "exhibit": "bhatti2009.fig8",
        "status": "built",
        "files": files,
        "n_runs": standin.RUNS,
        "error": "",
    }
    assert all((layout.root / file).is_file() for file in files)
    numbers = pd.read_csv(layout.results / "numbers" / "bhatti2009" / "fig08.csv")
    assert list(numbers.columns) == ["exhibit", "key", "metric", "value", "sd", "n_runs", "source"]
    bic = numbers[(numbers["key"] == "protocol=BIC;rtt_ms=25") & (numbers["metric"] == "jfi_mean")].iloc[0]
    assert (bic["value"], bic["sd"], bic["n_runs"], bic["source"]) == (0.91, 0.01, 3, "engine")


def test_the_corner_names_source_and_runs(paper, layout):
    paper.show("table2")
    paper.show("fig08")
    assert "RTT (ms)" not in (layout.figures("bhatti2009") / "tab02.html").read_text()
    svg = (layout.figures("bhatti2009") / "fig08.svg").read_text()
    assert "source: engine, 3 runs; line: mean, band: ±1 sd over runs" in svg  # text of a glyph group


def test_any_spelling_shows_the_exhibit(paper, layout):
    paper.show("bhatti2009.table2")
    assert record(layout, "tab02")["files"][-1] == "figures/engine/bhatti2009/tab02.html"


def test_showing_again_gives_the_same_bytes(paper, layout):
    paper.show("fig08")
    files = [layout.root / file for file in record(layout, "fig08")["files"]]
    first = [file.read_bytes() for file in files]
    Paper(standin.context(layout.root, "bhatti2009")).show("fig8")
    assert [file.read_bytes() for file in files] == first


def test_an_exhibit_without_data_fails_alone(paper, layout, capsys):
    paper.show("fig14")
    paper.show("fig08")
    failed = record(layout, "fig14")
    assert (failed["status"], failed["files"]) == ("failed", [])
    assert failed["error"] == (
        "results/engine/traces/bhatti2009/self/manifest.json: no manifest; the trace is missing or was not finished"
    )
    assert failed["error"] in capsys.readouterr().out
    assert record(layout, "fig08")["status"] == "built"


def test_a_failure_leaves_no_older_picture_behind(paper, layout, monkeypatch, capsys):
    paper.show("fig08")
    files = record(layout, "fig08")["files"]

    def broken(*_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setitem(KINDS, "metric_lines", type(KINDS["metric_lines"])(KINDS["metric_lines"].options, broken))
    paper.show("fig08")
    assert record(layout, "fig08")["error"] == "ZeroDivisionError: a bug"
    assert not [file for file in files if (layout.root / file).exists()]
    assert not (layout.results / "numbers" / "bhatti2009" / "fig08.csv").exists()
    assert "Traceback" in capsys.readouterr().err  # a bug is no user's error: where it happened is said too


def test_what_is_not_built_yet_is_said_and_not_recorded(paper, layout, capsys):
    exhibits = paper.context.paper.exhibits
    exhibits[0] = exhibits[0].model_copy(update={"draw": None})
    paper.show("table1")
    assert "Pending" in capsys.readouterr().out
    assert not (layout.results / "exhibits").exists()


def test_only_the_exhibits_that_are_asked_for_are_drawn(layout, capsys):
    for only in (["bhatti2009.fig08"], ["fig8"], ["ogura.table2", "bhatti2009.figure8"]):
        chosen = Paper(standin.context(layout.root, "bhatti2009"), only)
        chosen.show("table2")
        assert capsys.readouterr().out == ""
        chosen.show("fig08")
        assert capsys.readouterr().out.startswith("bhatti2009.fig8  ")
    nothing = Paper(standin.context(layout.root, "bhatti2009"), ["ogura.fig8"])
    nothing.show("fig08")
    assert capsys.readouterr().out == ""


def test_an_unknown_exhibit_is_an_error_of_the_notebook(paper):
    with pytest.raises(InputError, match=r"exhibit 'fig99': not in config/papers/bhatti2009.yaml; known are tab01"):
        paper.show("fig99")


def test_open_paper_finds_the_checkout(tmp_path, monkeypatch):
    (tmp_path / "Snakefile").touch()
    standin.context(tmp_path, "ogura")
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    assert open_paper("ogura", source="engine").context.layout.root == tmp_path
    assert open_paper("ogura", only="ogura.fig8").only == {"fig08"}
    assert open_paper("ogura", only=[]).draws_all
    with pytest.raises(InputError, match="paper 'ogra': unknown; known are ogura"):
        open_paper("ogra")
    with pytest.raises(InputError, match='needs source = "raw"'):
        open_paper("ogura", trace="somewhere")


def shown(monkeypatch):
    """Everything displayed from now on, as HTML."""
    pages = []
    monkeypatch.setattr(board, "display", lambda what: pages.append(what.data))
    return pages


def test_the_ledger_has_a_row_per_exhibit_and_the_numbers_that_are_missed(paper, layout, monkeypatch):
    paper.show("fig14")  # fails
    standin.put_metrics(paper.context, "pair_ccid2_first", system={**JFI, "jfi_mean_received": lambda *_: 0.9})
    paper.context._metrics.clear()
    paper.show("table5")
    pages = shown(monkeypatch)
    paper.ledger()
    summary, outside = pages
    assert summary.count("<tr>") == len(paper.context.paper.exhibits)  # the row of headings has a style
    assert "failed" in summary
    assert "pending" in summary
    assert "protocol=BIC;rtt_ms=100" in outside  # 0.91 for 0.67 in print
    assert "protocol=Compound;rtt_ms=25" not in outside  # 0.91, 0.01 for 0.93, 0.02


def test_the_ledger_of_an_empty_checkout_is_all_pending(tmp_path, monkeypatch):
    pages = shown(monkeypatch)
    Paper(standin.context(tmp_path, "kozu2014")).ledger()
    (summary,) = pages
    assert summary.count("pending") == len(standin.context(tmp_path, "kozu2014").paper.exhibits)


def test_in_a_notebook_the_exhibit_is_displayed_with_its_caption(paper, monkeypatch):
    monkeypatch.setattr(board, "get_ipython", lambda: object())
    pages = shown(monkeypatch)
    paper.show("fig08")
    picture, caption = pages
    assert picture.startswith(b"\x89PNG")
    assert "<b>Figure 8: Jain&#x27;s index against the RTT, CCID2 first.</b>" in caption
