"""What a step runs, found from its imports."""

import sys

import pytest

from tcpfair.runs import reach
from tcpfair.runs.code import PACKAGE

STEPS = ("measure", "notebook", "place", "ledger", "report", "packet_lab")


def names(found):
    return set(found.files)


def of(step):
    return reach.reached([reach.module_of(step)])


def test_a_step_reaches_what_it_imports_and_no_more():
    found = names(of("measure")) - {reach.module_of("measure")}
    assert {"measures/__init__.py", "measures/runs.py", "metrics/fairness.py", "runs/trace.py"} <= found
    assert not any(name.startswith(("exhibits", "verdicts", "web", "workflow", "sources")) for name in found)


def test_modules_that_are_imported_by_name_are_reached():
    assert {f"verdicts/claims/{paper}.py" for paper in ("ogura", "kozu2014")} <= names(of("ledger"))
    kinds = {path.name for path in (PACKAGE / "exhibits/kinds").glob("*.py")}
    drawing = names(reach.reached([reach.EXHIBITS]))
    assert {f"exhibits/kinds/{name}" for name in kinds} <= drawing


def test_templates_and_scripts_count_with_the_module_that_names_them():
    data = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    shown = {
        name for name in data if name.startswith(("verdicts/templates/", "web/")) and not name.endswith((".py", ".pyc"))
    }
    assert shown <= names(of("report")) | names(of("packet_lab"))
    assert not any("templates" in name for name in names(of("ledger")))


@pytest.mark.parametrize("step", STEPS)
def test_the_simulator_is_left_out(step):
    assert not any(name.startswith(("engine/", "cc/", "compiler.py", "jit.py")) for name in names(of(step)))
    assert step == "packet_lab" or not {"numba", "llvmlite"} & of(step).libraries


def test_cells_of_notebooks_import_too_and_magics_do_not_matter():
    assert reach.cell_imports("%matplotlib inline\nimport scipy.special\n!ls") == ["scipy.special"]
    assert reach.cell_imports("this is no Python") == []
    assert reach.of_notebook([], False) != reach.of_notebook(["import seaborn"], False)


def test_libraries_come_with_what_they_require():
    found = reach.versions({"seaborn"})
    assert {"seaborn", "matplotlib", "pillow", "numpy", "python"} <= found.keys()
    assert not {"pytest", "numba"} & found.keys()
    assert found["python"] == f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_what_is_not_installed_is_left_out():
    assert reach.versions({"no_such_library"}).keys() == {"python"}
