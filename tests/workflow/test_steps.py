"""Steps of the workflow: complete outputs, and runs of a notebook that leave no trace of when they ran."""

import nbformat
import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.workflow.steps import measure, notebook
from tests.small_checkout import edit, make_plan, make_trace


def test_metrics_of_a_paper_are_measured_in_one_process_those_of_weights_first(root):
    edit(root / "config/papers/ogura.yaml", "measures: [throughput, nru]", "measures: [throughput]")
    plan = make_plan(root)
    for name in ("self", "pair"):
        make_trace(plan, name)
    plan.prepare()
    folders = [step.folder for step in reversed(plan.of_kind("measure"))]
    assert measure.run(plan.layout, "ogura", folders) == "2 experiments"
    assert [step.kind for step, _ in make_plan(root).stale if step.kind == "measure"] == []
    table = pd.read_parquet(plan.layout.metrics("ogura", "self"))
    assert set(table["metric"]) >= {"throughput_mean", "utilisation"}
    # alone, with the weights that an earlier process measured
    before = plan.layout.metrics("ogura", "pair").read_bytes()
    assert measure.run(plan.layout, "ogura", [plan.of_kind("measure")[1].folder]) == "1 experiments"
    assert plan.layout.metrics("ogura", "pair").read_bytes() == before


def test_an_executed_notebook_forgets_when_and_where_it_ran():
    def executed(when, drawn):
        book = nbformat.v4.new_notebook(metadata={"papermill": {"start_time": when, "input_path": "/home/me"}})
        injected = nbformat.v4.new_code_cell(
            f"source = 'engine'\nkeep = {drawn}", metadata={"tags": ["injected-parameters"]}
        )
        timed = nbformat.v4.new_code_cell("1", id="one", metadata={"execution": {"t": when}, "papermill": {"d": when}})
        book.cells = [injected, timed]
        notebook.forget_run(book)
        return nbformat.writes(book)

    assert executed("now", ["ogura.fig8", "ogura.fig9"]) == executed("later", [])
    over_lines = "[\n    'ogura.fig8',\n    'ogura.fig9',\n]\nother = 1"
    assert executed("now", over_lines) == executed("later", "[]\nother = 1")


DECLARED = 'source = "x"\nonly = ""  # parameters'


def run_notebook(root, *cells, parameters=DECLARED, only=()):
    """Run a notebook of some (source, tags) with the step; what the step says, and the executed cells."""
    layout = Layout(root, "engine")
    source, folder = root / "notebooks" / "small.ipynb", layout.work / "notebooks" / "small-0"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(metadata={"kernelspec": kernel, "language_info": {"name": "python"}})
    every = [(parameters, ["parameters"])] if parameters else []
    for text, tags in [*every, *cells]:
        book.cells.append(nbformat.v4.new_code_cell(text, metadata={"tags": tags}))
    source.parent.mkdir(exist_ok=True)
    nbformat.write(book, source)
    said = notebook.run(layout, source, list(only), [], "", folder)
    return said, nbformat.read(layout.results / "notebooks" / "small.ipynb", as_version=4).cells


@pytest.mark.slow
def test_a_notebook_is_given_what_it_declares_and_nothing_else(root, caplog):
    _, cells = run_notebook(root, ("print(source, only)", []), only=["ogura.fig8"])
    assert cells[-1].outputs[0].text == "engine ['ogura.fig8']\n"
    assert not {"trace", "keep"} & set(cells[1].source.replace("=", " ").split())
    assert "unknown parameter" not in caplog.text
    _, cells = run_notebook(root, ("1", []), parameters="")
    assert [cell.source for cell in cells] == ["1"]  # no cell of parameters that nobody reads
    assert "<script" not in (root / "results/engine/notebooks/small.html").read_text()


@pytest.mark.slow
def test_a_kernel_that_was_killed_is_one_line(root):
    with pytest.raises(InputError, match=r"^notebooks/small.ipynb: its kernel was killed, as the system"):
        run_notebook(root, ("import os\nos.kill(os.getpid(), 9)", []))
    assert not (root / "results/engine/notebooks").exists()


DERIVES = [notebook.DERIVATION, "raises-exception"]


@pytest.mark.slow
def test_a_derivation_that_fails_is_told_of_and_stops_nothing(root):
    said, cells = run_notebook(root, ("assert 1 == 2, 'not so'", DERIVES), ("print('on')", []))
    assert said.endswith("; cells that derive a result failed: 1, the first with AssertionError: not so")
    assert cells[-1].outputs[0].text == "on\n"
    with pytest.raises(InputError, match=r"notebooks/small.ipynb: [^$]*ZeroDivisionError"):
        run_notebook(root, ("assert False", DERIVES), ("1 / 0", []), ("print('on')", []))


@pytest.mark.slow
def test_derivations_are_left_out_where_only_some_exhibits_are_wanted(root):
    said, cells = run_notebook(root, ("1 / 0", DERIVES), ("print('on')", []), only=["ogura.fig8"])
    assert "failed" not in said
    assert [len(cell.outputs) for cell in cells[-2:]] == [0, 1]
