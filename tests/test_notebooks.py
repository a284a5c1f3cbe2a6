"""The notebooks: stripped, short cells, what belongs in the library stands there; and what they work out by hand is what
the library gives. They may show a computation; they may not be the only place that has it."""

import ast
import hashlib
import itertools
import re
from collections import Counter

import nbformat
import pytest
from nbconvert.preprocessors import ExecutePreprocessor

from tcpfair.exhibits.exercises import EXERCISES
from tcpfair.exhibits.notebook_html import mathml
from tcpfair.files.layout import PAPERS, repository_root, short_id
from tcpfair.papers.papers import load_paper
from tcpfair.workflow.steps.notebook import DERIVATION
from tests.commands import succeed
from tests.test_layers import FILES

ROOT = repository_root()
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
PLAYED = [name for name in NOTEBOOKS if name.startswith("lab_")]
MAY_IMPORT = {"tcpfair", "numpy", "pandas", "scipy"}
MOST_LINES, WIDEST = 15, 130
MATH = re.compile(r"\$\$(?P<block>.+?)\$\$|(?<![\\$])\$(?P<inline>[^$]+?)\$", re.DOTALL)


def read(name):
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def code(name):
    return [cell for cell in read(name).cells if cell.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


def nodes(name, *kinds):
    return [node for cell in code(name) for node in ast.walk(ast.parse(cell.source)) if isinstance(node, kinds)]


# --- What a notebook holds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_is_valid_and_holds_no_output(name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code(name))
    assert notebook.cells[0].source.startswith("# ")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_cells_can_be_read_at_a_glance(name):
    for cell in code(name):
        rows = cell.source.splitlines()
        assert len(rows) <= MOST_LINES, cell.id
        assert max(map(len, rows)) <= WIDEST, cell.id


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_notebook_is_a_library(name):
    """No classes, no files, no other packages than those that the library has."""
    assert nodes(name, ast.ClassDef) == []
    calls = [node.func for node in nodes(name, ast.Call)]
    methods = {func.attr for func in calls if isinstance(func, ast.Attribute)}
    assert not methods & (FILES - {"open"})  # which a class of the library may have
    assert "open" not in {func.id for func in calls if isinstance(func, ast.Name)}
    imported = {alias.name for node in nodes(name, ast.Import) for alias in node.names}
    imported |= {node.module for node in nodes(name, ast.ImportFrom)}
    assert {module.split(".")[0] for module in imported} <= MAY_IMPORT


def test_no_function_is_defined_in_two_notebooks():
    names = Counter(node.name for name in NOTEBOOKS for node in nodes(name, ast.FunctionDef))
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_formula_is_one_that_pages_can_show(name):
    for cell in read(name).cells:
        for found in MATH.finditer(cell.source if cell.cell_type == "markdown" else ""):
            made = mathml(found["block"] or found["inline"])
            assert made.startswith("<math"), found[0]
            assert "\\" not in made, found[0]  # a command that was not understood is left as it is


def test_a_formula_that_pages_cannot_show_would_be_seen():
    assert not mathml(r"\left( x").startswith("<math")
    assert "\\" in mathml(r"\nosuchcommand x")


# --- Notebooks of papers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*PAPERS, "raw"])
def test_parameters_have_defaults_that_need_no_workflow(name):
    (parameters,) = [cell for cell in code(name) if "parameters" in tags(cell)]
    values = {}
    exec(parameters.source, values)
    source = "raw" if name == "raw" else "bundled"
    assert (values["source"], values["only"], values["trace"], values["keep"]) == (source, "", "", False)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_exhibit_is_shown_once_and_the_ledger_comes_last(paper):
    lines = [line for cell in code(paper) for line in cell.source.splitlines() if re.search(r"\bshow\(", line)]
    shown = [re.fullmatch(r'(?:show\("(\w+)"\);|\w+ = show\("(\w+)"\))', line) for line in lines]
    assert all(shown), lines  # either displayed alone, or its table has a name
    listed = {short_id(exhibit.id) for exhibit in load_paper(ROOT / "config" / "papers" / f"{paper}.yaml").exhibits}
    names = [short_id(found[1] or found[2]) for found in shown]
    assert not listed - set(names), "the notebook lacks show() of these"
    assert sorted(names) == sorted(listed)
    assert read(paper).cells[-1].source == "paper.ledger()"


@pytest.mark.parametrize("paper", PAPERS)
def test_text_stands_between_the_exhibits(paper):
    cells = read(paper).cells
    headings = [cell for cell in cells if cell.cell_type == "markdown" and re.search(r"^## ", cell.source, re.M)]
    assert len(headings) >= 7
    assert any("What to doubt" in cell.source for cell in cells)
    assert any("What had to be assumed" in cell.source for cell in cells)


def derivations(paper):
    """What is worked out: the text that begins each, and the cells that follow up to the next one."""
    found = []
    for cell in read(paper).cells:
        if cell.cell_type == "markdown" and cell.source.startswith("### Worked out"):
            found.append((cell.source, []))
        elif DERIVATION in tags(cell):
            assert "raises-exception" in tags(cell)  # the next cells run whatever becomes of it
            found[-1][1].append(cell.source)
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_central_results_are_worked_out_with_equation_symbols_and_units_up_to_an_assertion(paper):
    worked_out = derivations(paper)
    assert 2 <= len(worked_out) <= 5
    for text, cells in worked_out:
        assert "$$" in text
        assert "| symbol | what it is | unit |" in text
        assert len(cells) >= 2
        assert cells[-1].splitlines()[-1].startswith("assert ")


def run_by_hand(paper, change=lambda source: source):
    """The cells of a paper's notebook that its derivations need, one after the other; no exhibit besides."""
    values = {}
    for cell in code(paper):
        named = re.match(r"\w+ = show\(", cell.source)
        if named or DERIVATION in tags(cell) or "parameters" in tags(cell) or "open_paper" in cell.source:
            exec(compile(change(cell.source), cell.id, "exec"), values)
    return values


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_worked_out_is_what_the_library_gives(paper, capsys):
    run_by_hand(paper)
    assert "Failed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("paper", "right", "wrong"),
    [
        ("ogura", "R * RTT**2 / x_RTT", "R * RTT / x_RTT"),
        ("ogura", "S / (2 * B)", "S / B"),
        ("kozu2014", "np.cbrt(", "np.sqrt("),
    ],
)
def test_a_slip_in_what_is_worked_out_is_noticed(paper, right, wrong):
    assert any(right in cell.source for cell in code(paper))
    with pytest.raises(AssertionError):
        run_by_hand(paper, lambda source: source.replace(right, wrong))


# --- Notebooks for playing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLAYED)
def test_the_compilation_is_announced_and_exercises_come_last(name):
    cells = read(name).cells
    first = next(cell.source for cell in cells if cell.cell_type == "code")
    assert "live.prepare()" in first
    start = next(i for i, cell in enumerate(cells) if cell.source.startswith("## Exercises"))
    asked = [cell for cell in cells[start:] if cell.cell_type == "code"]
    assert len(asked) >= 3
    for cell in asked:
        (exercise,) = re.findall(r'check\("(\w+)", answer', cell.source)
        assert exercise in EXERCISES
        assert re.search(r"^answer = None", cell.source, re.M)


def test_every_exercise_is_asked_somewhere():
    asked = {name: re.findall(r'check\("(\w+)"', "\n".join(each.source for each in code(name))) for name in NOTEBOOKS}
    assert sorted(itertools.chain(*asked.values())) == sorted(EXERCISES)
    assert all(len(asked[paper]) == 2 for paper in PAPERS)


# --- All of them, run --------------------------------------------------------------------------------------------


def state():
    """What git sees of the checkout, and every file of results and figures with its content."""
    status = succeed("git", "status", "--porcelain").stdout
    kept = (path for name in ("results", "figures") for path in (ROOT / name).rglob("*") if path.is_file())
    return status, {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if name != "what_reproduces"])
def test_notebooks_run_and_leave_everything_as_it_was(name):
    """As in JupyterLab, with the values that the notebooks contain."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    before = state()
    runs = ExecutePreprocessor(timeout=180, kernel_name="python3")  # s for a cell
    run, _ = runs.preprocess(read(name), {"metadata": {"path": ROOT / "notebooks"}})
    outputs = [output for cell in run.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    assert state() == before
