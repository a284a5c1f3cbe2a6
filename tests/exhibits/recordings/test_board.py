"""The notebook of recordings: the rules that all notebooks keep, and a run of its cells."""

import ast
import json
from itertools import pairwise

import pytest

from tcpfair.exhibits import style
from tcpfair.exhibits.recordings.board import EXHIBITS
from tests.exhibits import standin
from tests.test_notebooks import code, nodes, read, tags


def test_cells_are_short_and_plain():
    assert max(len(cell.source.splitlines()) for cell in code("raw")) <= 10
    assert not nodes("raw", ast.FunctionDef, ast.Lambda, ast.For, ast.While, ast.If, ast.ListComp)


def test_every_exhibit_is_shown_once_after_some_text():
    shows = [f'raw.show("{name}");' for name in EXHIBITS]
    cells = read("raw").cells
    assert [cell.source for cell in cells if cell.source.startswith("raw.show")] == shows
    assert all(before.cell_type == "markdown" for before, cell in pairwise(cells) if cell.source in shows)


@pytest.mark.slow
def test_it_shows_a_trace_that_is_given(tmp_path, monkeypatch):
    standin.for_recordings(tmp_path, monkeypatch)
    monkeypatch.setattr(style, "PNG_DPI", 20)
    given = f'trace, keep = "{standin.ROOT}/data/raw/examples/rr_wire", True'
    values = {}
    for cell in code("raw"):
        exec(cell.source, values)
        if "parameters" in tags(cell):
            exec(given, values)
    drawn = values["raw"].show("jfi")
    assert set(drawn.index.get_level_values("recording")) == {"rr_wire"} and len(drawn) > 1
    assert values["raw"].show("goodput").columns.to_list() != []
    records = [json.loads(path.read_text()) for path in tmp_path.glob("results/raw/rr_wire/exhibits/rr_wire/*.json")]
    assert {record["status"] for record in records} == {"built"} and len(records) == len(EXHIBITS)
    assert "source: raw, 1 run, rr_wire" in next(tmp_path.glob("figures/raw/**/goodput.svg")).read_text()
