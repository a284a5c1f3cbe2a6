"""Imports point downwards only."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

from tcpfair.runs import reach

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "tcpfair"
MODULES = sorted(PACKAGE.rglob("*.py"))

# What each part of the package may import from the others. Whoever imports upwards has to be written here, and cannot.
BASE = {"errors", "units", "machine"}
RUNS = BASE | {"files", "papers", "runs"}
ANALYSIS = RUNS | {"metrics", "models", "measures"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "units": set(),
    "compiler": {"machine"},
    "jit": {"compiler", "files"},
    "machine": set(),
    "cc": {"errors", "jit"},
    "engine": {*BASE, "jit", "cc"},
    "metrics": BASE,
    "models": BASE,
    "files": BASE,
    "papers": {*BASE, "files"},
    "runs": {*BASE, "files", "papers"},
    "sources": {*RUNS, "jit", "cc", "engine", "models"},
    "measures": {*RUNS, "metrics", "models"},
    "verdicts": ANALYSIS,
    "exhibits": ANALYSIS | {"sources", "verdicts"},
    "library": {*BASE, "jit", "cc", "engine", "papers", "metrics", "exhibits"},  # of exhibits only what shows a run
    "validation": ANALYSIS | {"sources", "verdicts", "exhibits"},
    "web": {*RUNS, "compiler", "jit", "cc", "engine", "measures", "verdicts"},
    "workflow": ANALYSIS | {"jit", "cc", "engine", "sources", "verdicts", "exhibits", "validation", "web", "library"},
    "__main__": {"workflow"},
    "__init__": {"errors", "metrics", "library"},  # each loaded on first use
}
# Beyond the standard library; parts that are not named here may use anything but what FORBIDDEN says.
THIRD_PARTY = {
    "errors": set(),
    "units": set(),
    "machine": set(),
    "jit": {"numpy", "llvmlite"},
    "compiler": {"numba", "llvmlite"},
    "cc": {"numpy"},
    "engine": {"numpy"},
    "metrics": {"numpy", "scipy", "pandas"},
    "models": {"numpy", "scipy", "pandas"},
    "web": {"numpy", "numba", "llvmlite", "pydantic"},
    "library": {"numpy", "pandas", "xarray"},  # the last two within methods, or for type checkers
}
DRAWING = {"matplotlib", "seaborn", "IPython"}
FILES = {"open", "savefig", "loadtxt", "savetxt", "read_csv", "to_csv", "read_parquet", "to_parquet"}
FILES |= {f"{does}_{what}" for does in ("read", "write") for what in ("text", "bytes")}


def part_of(module: Path) -> str:
    """``src/tcpfair/cc/cubic.py`` belongs to ``cc``, ``src/tcpfair/runs/trace.py`` to ``runs``."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def nodes(module: Path) -> list[ast.AST]:
    """All nodes of a module's syntax tree."""
    return list(ast.walk(ast.parse(module.read_text())))


@cache
def imports(module: Path) -> frozenset[str]:
    """Dotted names of all that a module imports, anywhere in it; ``from a import b`` counts as ``a.b``.

    Imports for type checkers alone, which nothing runs, count as well.
    """
    found = set()
    for node in nodes(module):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return frozenset(found)


def own(module: Path) -> set[str]:
    """Parts of the package that a module imports."""
    names = (name.split(".") for name in imports(module))
    return {parts[1] for parts in names if parts[0] == "tcpfair" and len(parts) > 1}


def third_party(module: Path) -> set[str]:
    roots = {name.split(".")[0] for name in imports(module)}
    return roots - set(sys.stdlib_module_names) - {"tcpfair"}


def name_of(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def test_imports_point_downwards():
    parts = {part_of(module) for module in MODULES}
    assert parts <= MAY_IMPORT.keys(), "a new part of the package; say in MAY_IMPORT what it may import"
    allowed = {part: MAY_IMPORT[part] | ({part} if (PACKAGE / part).is_dir() else set()) for part in parts}
    upwards = {name_of(module): own(module) - allowed[part_of(module)] for module in MODULES}
    assert {name: parts for name, parts in upwards.items() if parts} == {}


def test_third_party_packages_stay_where_they_belong():
    strays = {}
    for module in MODULES:
        used, part = third_party(module), part_of(module)
        forbidden = {"snakemake"} | (set() if part == "exhibits" else DRAWING)
        strays[name_of(module)] = (used & forbidden) | (used - THIRD_PARTY.get(part, used))
    assert {name: packages for name, packages in strays.items() if packages} == {}


def test_no_import_leads_back():
    """MAY_IMPORT itself has no cycle, so that "downwards" means something."""
    left = {part: set(below) for part, below in MAY_IMPORT.items()}
    while left:
        bottom = {part for part, below in left.items() if not below & left.keys()}
        assert bottom, f"a cycle among {sorted(left)}"
        left = {part: below for part, below in left.items() if part not in bottom}


def test_metrics_and_models_open_no_files():
    functions = {
        (name_of(module), getattr(node.func, "attr", getattr(node.func, "id", "")))
        for module in MODULES
        if part_of(module) in ("metrics", "models")
        for node in nodes(module)
        if isinstance(node, ast.Call)
    }
    assert [(name, function) for name, function in functions if function in FILES] == []


def test_only_the_comparison_reads_what_is_printed():
    """What computes cannot peek at what it should find: one module opens data/published, the workflow watches it."""
    named = {
        name_of(module)
        for module in MODULES
        for node in nodes(module)
        if isinstance(node, ast.Constant) and node.value == "published"
    }
    assert named <= {"verdicts/printed.py", "files/checksums.py", "workflow/plan.py"}  # watch or check its bytes


def test_only_imports_and_the_testbed_read_the_files_of_other_tools():
    """A recording becomes a trace once: nothing that draws, measures or judges depends on a reader."""
    readers = {name_of(m) for m in MODULES if any(name.startswith("tcpfair.sources.readers") for name in imports(m))}
    outside = {name for name in readers if not name.startswith("sources/")}
    assert outside == {"workflow/importing.py", "validation/recordings.py"}
    drawn = reach.reached(["exhibits/paper.py"]).files
    assert not any("/readers/" in name for name in drawn)


def test_there_is_one_way_to_run_a_scenario():
    """`tcpfair.library`. Besides it only what makes the papers' traces, and what measures the memory of a run on its way."""
    ways = {"tcpfair.engine.dumbbell"} | {f"tcpfair.engine.dumbbell.{name}" for name in ("run", "Simulation")}
    found = {name_of(module) for module in MODULES if part_of(module) != "engine" and imports(module) & ways}
    constants = {"web/schema.py"}
    assert found - constants == {"library/live.py", "sources/engine.py", "workflow/scale.py"}
