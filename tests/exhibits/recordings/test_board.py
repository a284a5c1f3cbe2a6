"""The notebook of recordings: the rules that all notebooks keep, and a run of its cells."""

import ast
import json
from itertools import pairwise
from pathlib import Path

import pytest

from tcpfair.exhibits import style
from tcpfair.exhibits.recordings.board import EXHIBITS
from tests.exhibits import standin

REPOSITORY = Path(__file__).parents[3]
NOTEBOOK = REPOSITORY / "notebooks" / "raw.ipynb"
MAX_LINES = 10


@pytest.fixture(scope="module")
def cells():
    return [cell | {"source": "".join(cell["source"])} for cell in json.loads(NOTEBOOK.read_text())["cells"]]


@pytest.fixture(scope="module")
def code(cells):
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_cells_are_short_and_plain(code):
    forbidden = (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.For, ast.While, ast.If, ast.ListComp)
    for cell in code:
        assert len(cell["source"].splitlines()) <= MAX_LINES
        assert not [node for node in ast.walk(ast.parse(cell["source"])) if isinstance(node, forbidden)]


def test_parameters_are_tagged_and_have_defaults(code):
    (tagged,) = (cell for cell in code if "parameters" in cell["metadata"].get("tags", []))
    values = {}
    exec(tagged["source"], values)
    given = {name: values[name] for name in ("source", "only", "trace", "keep")}
    assert given == {"source": "raw", "only": "", "trace": "", "keep": False}


def test_every_exhibit_is_shown_once_after_some_text(cells):
    shows = [f'raw.show("{name}");' for name in EXHIBITS]
    assert [cell["source"] for cell in cells if cell["source"].startswith("raw.show")] == shows
    for before, cell in pairwise(cells):
        if cell["source"] in shows:
            assert before["cell_type"] == "markdown"


@pytest.mark.slow
def test_it_shows_a_trace_that_is_given(code, tmp_path, monkeypatch):
    standin.for_recordings(tmp_path, monkeypatch)
    monkeypatch.setattr(style, "PNG_DPI", 20)
    given = f'trace, keep = "{REPOSITORY}/data/raw/examples/rr_wire", True'
    values = {}
    for cell in code:
        exec(cell["source"], values)
        if "parameters" in cell["metadata"].get("tags", []):
            exec(given, values)
    drawn = values["raw"].show("jfi")
    assert set(drawn.index.get_level_values("recording")) == {"rr_wire"} and len(drawn) > 1
    assert values["raw"].show("goodput").columns.to_list() != []
    records = [json.loads(path.read_text()) for path in tmp_path.glob("results/raw/rr_wire/exhibits/rr_wire/*.json")]
    assert {record["status"] for record in records} == {"built"} and len(records) == len(EXHIBITS)
    assert "source: raw, 1 run, rr_wire" in next(tmp_path.glob("figures/raw/**/goodput.svg")).read_text()
