"""The notebooks of the papers: short cells, no results stored, every exhibit shown once in the paper's order."""

import ast
import re

import nbformat
import pytest

from tcpfair.contract.layout import repository_root, short_id
from tcpfair.contract.papers import load_paper

ROOT = repository_root()
PAPERS = ("ogura", "bhatti2008", "bhatti2009", "kozu2014", "ha2006")
NOTEBOOKS = (*PAPERS, "what_reproduces", "00_start_here", "explore_models", "explore_cubic_map")


def read(name):
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def code(name):
    return [cell for cell in read(name).cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_is_valid_and_holds_no_output(name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code(name))
    assert notebook.cells[0].source.startswith("# ")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_cells_are_short_and_plain(name):
    for cell in code(name):
        assert len(cell.source.splitlines()) <= 12
        kinds = {type(node) for node in ast.walk(ast.parse(cell.source))}
        assert not kinds & {ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.Lambda, ast.ListComp}


@pytest.mark.parametrize("paper", PAPERS)
def test_parameters_have_defaults_that_need_no_workflow(paper):
    (parameters,) = [cell for cell in code(paper) if "parameters" in cell.metadata.get("tags", [])]
    values = {}
    exec(parameters.source, values)
    assert (values["source"], values["only"], values["trace"], values["keep"]) == ("bundled", "", "", False)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_exhibit_is_shown_once_and_the_ledger_comes_last(paper):
    shown = [found[1] for cell in code(paper) if (found := re.fullmatch(r'show\("(\w+)"\)', cell.source))]
    listed = [short_id(exhibit.id) for exhibit in load_paper(ROOT / "config" / "papers" / f"{paper}.yaml").exhibits]
    assert sorted(short_id(name) for name in shown) == sorted(listed)
    assert read(paper).cells[-1].source == "paper.ledger()"


@pytest.mark.parametrize("paper", PAPERS)
def test_text_stands_between_the_exhibits(paper):
    cells = read(paper).cells
    headings = [cell for cell in cells if cell.cell_type == "markdown" and re.search(r"^## ", cell.source, re.M)]
    assert len(headings) >= 7
    assert any("What to doubt" in cell.source for cell in cells)
    assert any("What had to be assumed" in cell.source for cell in cells)
