"""The dependencies of a step, found from its function: the code that it imports, and the libraries that this code imports.

A function of `tcpfair.workflow.steps` depends on its own code, on the helpers that it uses in that module, and on what these
import, directly or indirectly. A notebook depends on what its cells import. A module that imports others by name
(`importlib.import_module`) depends on all modules of its package and of the packages that it names. Files that are not
Python, such as templates, belong to the module that names them.

The simulator is excluded (`code.SIMULATOR_ROOMS`): its code is in the digests of runs (`code.of_algorithms`), and a run has
the same bits with every version of its libraries.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from tcpfair.files.digests import digest
from tcpfair.runs import code
from tcpfair.runs.code import PACKAGE, Facts
from tcpfair.runs.outputs import part

STEPS = "workflow/steps.py"
EXHIBITS = "exhibits/paper.py"  # draws an exhibit, in the kernel of a notebook
_KINDS = "exhibits/kinds"  # the drawings; an exhibit depends only on the module with its drawing
# modules that are imported but not used where a paper's exhibits are shown: other drawings, and recordings
_BESIDE_EXHIBITS = (
    f"{_KINDS}/__init__.py",
    *(f"exhibits/recordings/{name}.py" for name in ("beside", "board", "recording")),
)
_REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")
_LOADED_BY = {"papermill": ("black",)}  # formats the cell of parameters if it is installed


class Reached(NamedTuple):
    """Sources of this package, relative to it, and names of libraries as they are imported."""

    files: frozenset[str]
    libraries: frozenset[str]


# --- Parts of an output: the ``code`` and the ``libraries`` of its step -------------------------------------------


@cache
def of_step(step: str) -> Mapping[str, str]:
    """The parts of a step, by the name of its function in `STEPS`."""
    facts = function_facts(step)
    return _parts([facts.digest], reached((), [*facts.imports, *facts.by_name]))


@cache
def of_modules(*modules: str) -> Mapping[str, str]:
    """The parts of some modules, relative to the package."""
    return _parts([], reached(modules))


@cache
def of_drawing(name: str) -> Mapping[str, str]:
    """The parts of the drawing of an exhibit, without the modules of other drawings.

    Raises LookupError when no module has a drawing of this name.
    """
    kinds = sorted(path.relative_to(PACKAGE).as_posix() for path in (PACKAGE / _KINDS).glob("*.py"))
    own = [module for module in kinds if name in _functions(module)]
    if not own:
        raise LookupError(f"{_KINDS}: no drawing {name}")
    return _parts([], reached([EXHIBITS, *own], without=_BESIDE_EXHIBITS))


@cache
def _functions(module: str) -> list[str]:
    """Names of the functions at the top of a module."""

    def compute() -> list[str]:
        return [each.name for each in _statements(module) if isinstance(each, ast.FunctionDef)]

    return code.kept().of_file(f"functions {module}", PACKAGE / module, compute)


def of_notebook(sources: Iterable[str], shows_recordings: bool) -> Mapping[str, str]:
    """The parts of the step that runs a notebook, whose code cells are ``sources``; its exhibits are separate outputs."""
    facts = function_facts("notebook")
    named = {name for source in sources for name in cell_imports(source)}
    without = () if shows_recordings else _BESIDE_EXHIBITS
    return _parts([facts.digest], reached((), [*facts.imports, *facts.by_name, *sorted(named)], without))


def _parts(digests: Sequence[str], found: Reached) -> Mapping[str, str]:
    sources = [[name.rpartition("/")[2], code.facts(name).digest] for name in sorted(found.files)]
    return {"code": part([digests, sorted(sources)]), "libraries": part(versions(found.libraries))}


# --- Code ---------------------------------------------------------------------------------------------------------


def reached(modules: Iterable[str] = (), imports: Iterable[str] = (), without: Collection[str] = ()) -> Reached:
    """Some modules, and what they or ``imports`` (dotted names) import, directly or indirectly.

    Modules are relative to the package; those of ``without`` are excluded.
    """
    first = _own(imports)
    files = code.closure({*modules, *first.files}, lambda module: _named_in(module).files.difference(without))
    libraries = first.libraries.union(*(_named_in(module).libraries for module in files))
    return Reached(frozenset(files), libraries)


@cache
def _named_in(module: str) -> Reached:
    """What a module imports directly, and the files that it names."""
    facts = code.facts(module)
    own = _own([*facts.imports, *facts.by_name])
    return Reached(own.files | set(facts.files), own.libraries)


def _own(names: Iterable[str]) -> Reached:
    """The modules of this package among dotted names, with their parent packages; and the libraries."""
    names = list(names)
    ours = [name for name in names if name.partition(".")[0] == PACKAGE.name]
    others = {name.partition(".")[0] for name in names} - {PACKAGE.name} - sys.stdlib_module_names
    return Reached(frozenset().union(*map(_modules, ours)), frozenset(others))


@cache
def _modules(name: str) -> frozenset[str]:
    """The module of this package that a dotted name leads to, and its parent packages."""
    _, *parts = name.split(".")
    found = set()
    for n in range(len(parts) + 1):
        below = "/".join(parts[:n])
        found |= {
            each
            for each in (f"{below}/__init__.py".lstrip("/"), f"{below}.py")
            if not each.startswith(code.SIMULATOR_ROOMS)
        }
    return frozenset(found & code.names())


def function_facts(function: str) -> Facts:
    """The facts of a function of `STEPS`, with the statements of that module that it uses, directly or indirectly.

    Raises LookupError for an unknown function.
    """

    def compute() -> Facts:
        return code.facts_of(_used(_statements(STEPS), function), STEPS)

    return Facts(*code.kept().of_file(f"facts {STEPS} {function}", PACKAGE / STEPS, compute))


def _statements(module: str) -> list[ast.stmt]:
    """Statements at the top of a module; an import of several names as one import of each."""
    return [each for one in ast.parse((PACKAGE / module).read_bytes()).body for each in _single(one)]


def _single(statement: ast.stmt) -> list[ast.stmt]:
    if isinstance(statement, ast.Import):
        return [ast.Import([name]) for name in statement.names]
    if isinstance(statement, ast.ImportFrom):
        return [ast.ImportFrom(statement.module, [name], statement.level) for name in statement.names]
    return [statement]


def _used(statements: Sequence[ast.stmt], function: str) -> ast.Module:
    """A function and the statements that it uses, as a module."""
    bound = {name: str(number) for number, statement in enumerate(statements) for name in _binds(statement)}
    if function not in bound:
        raise LookupError(f"{STEPS}: has no function {function}")

    def below(number: str) -> set[str]:
        names = {node.id for node in ast.walk(statements[int(number)]) if isinstance(node, ast.Name)}
        return {bound[name] for name in names if name in bound}

    used = sorted(map(int, code.closure([bound[function]], below)))
    return ast.Module([statements[number] for number in used], [])


def _binds(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement at the top of a module binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from ((name.asname or name.name).split(".")[0] for name in statement.names)
    else:
        names = (node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        yield from (node.id for node in names)


def cell_imports(source: str) -> list[str]:
    """Dotted names that a cell of a notebook imports; none if it is not Python. Magics are ignored."""
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()]
    try:
        return sorted(set(code.imported_names(ast.parse("\n".join(lines)))))
    except (SyntaxError, ValueError):
        return []


# --- Libraries ----------------------------------------------------------------------------------------------------


def versions(imported: Iterable[str]) -> dict[str, str]:
    """Installed versions of libraries that are imported by these names, of their requirements, and of Python.

    A library that is not installed is omitted: a step that needs it fails.
    """
    return dict(_versions(frozenset(imported)))


@cache
def _versions(imported: frozenset[str]) -> Mapping[str, str]:
    owners, found = _installed()
    todo = {(name, "") for each in imported for name in owners.get(each, ())}
    todo |= {(other, "") for name, _ in todo for other in _LOADED_BY.get(name, ())}
    seen: set[tuple[str, str]] = set()  # libraries, each with an extra of it or none
    while todo := {each for each in todo if each[0] in found} - seen:
        seen |= todo
        todo = {(name, extra) for each in todo for name, extra, of in found[each[0]][1] if of in ("", each[1])}
    closure = {name for name, _ in seen}
    # a new minor version of Python may compute differently: 3.12 sums floating-point numbers with compensation
    python = ".".join(map(str, sys.version_info[:2]))
    return {"python": python} | {name: found[name][0] for name in sorted(closure)}


@cache
def _installed() -> tuple[Mapping[str, list[str]], Mapping[str, tuple[str, list[list[str]]]]]:
    """Libraries by the name that they are imported by; version and requirements of each."""
    made_from = digest(list(_distribution_folders()))
    owners, found = code.kept().get("installed", made_from, _look_up_installed)
    return owners, found


def _distribution_folders() -> Iterator[list]:
    """Folders with the metadata of installed libraries, and when these were written."""
    for place in sys.path:
        try:
            with os.scandir(place or ".") as entries:
                folders = sorted(each.path for each in entries if each.name.endswith((".dist-info", ".egg-info")))
        except OSError:
            continue
        for folder in folders:
            written = Path(folder, "METADATA")
            yield [folder, written.stat().st_mtime_ns if written.is_file() else 0]


def _look_up_installed() -> list:
    found: dict[str, tuple[str, list[list[str]]]] = {}
    for each in metadata.distributions():
        name = _canonical(each.metadata["Name"] or "")
        if name and name not in found:  # the first on the path is imported
            found[name] = (each.version, sorted(_required(each.requires or ())))
    owners = {top: sorted(set(map(_canonical, names))) for top, names in metadata.packages_distributions().items()}
    return [owners, found]


def _required(requirements: Iterable[str]) -> Iterator[list[str]]:
    """(library, its extra, the extra that needs it) of requirements. Other markers are ignored: they decide what is installed."""
    for text in requirements:
        needed, _, marker = text.partition(";")
        name, extras = _REQUIREMENT.match(needed.strip()).groups()
        of = _EXTRA.search(marker)
        for extra in ["", *(extras or "").replace(" ", "").split(",")]:
            yield [_canonical(name), _canonical(extra), _canonical(of[1]) if of else ""]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
