"""The dependencies of a step, found from its module: the code that it imports, and the libraries that this code imports.

A step is a module of `tcpfair.workflow.steps`; it depends on what that imports, directly or indirectly. A notebook depends on
what its cells import. A module that imports others by name (`importlib.import_module`) depends on all modules of its package.
Files that are not Python, such as templates, belong to the module that names them.

The simulator is excluded (`code.SIMULATOR_ROOMS`): its code is in the digests of runs (`code.of_algorithms`), and a run has
the same bits with every version of its libraries.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from tcpfair.files.digests import digest
from tcpfair.runs import code
from tcpfair.runs.code import PACKAGE
from tcpfair.runs.outputs import part

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


def module_of(step: str) -> str:
    """The module of a step."""
    return f"workflow/steps/{step}.py"


def of_step(step: str) -> Mapping[str, str]:
    """The parts of a step, by the name of its module."""
    return of_modules(module_of(step))


@cache
def of_modules(*modules: str) -> Mapping[str, str]:
    """The parts of some modules, relative to the package."""
    return _parts(reached(modules))


@cache
def of_drawing(name: str) -> Mapping[str, str]:
    """The parts of the drawing of an exhibit, without the modules of other drawings.

    Raises LookupError when no module has a drawing of this name.
    """
    kinds = sorted(path.relative_to(PACKAGE).as_posix() for path in (PACKAGE / _KINDS).glob("*.py"))
    own = [module for module in kinds if name in _functions(module)]
    if not own:
        raise LookupError(f"{_KINDS}: no drawing {name}")
    return _parts(reached([EXHIBITS, *own], without=_BESIDE_EXHIBITS))


@cache
def _functions(module: str) -> list[str]:
    """Names of the functions at the top of a module."""

    def compute() -> list[str]:
        tree = ast.parse((PACKAGE / module).read_bytes())
        return [each.name for each in tree.body if isinstance(each, ast.FunctionDef)]

    return code.kept().of_file(f"functions {module}", PACKAGE / module, compute)


def of_notebook(sources: Iterable[str], shows_recordings: bool) -> Mapping[str, str]:
    """The parts of the step that runs a notebook, whose code cells are ``sources``; its exhibits are separate outputs."""
    named = {name for source in sources for name in cell_imports(source)}
    without = () if shows_recordings else _BESIDE_EXHIBITS
    return _parts(reached([module_of("notebook")], sorted(named), without))


def _parts(found: Reached) -> Mapping[str, str]:
    sources = sorted([name.rpartition("/")[2], code.facts(name).digest] for name in found.files)
    return {"code": part(sources), "libraries": part(versions(found.libraries))}


# --- Code ---------------------------------------------------------------------------------------------------------


def reached(modules: Iterable[str] = (), imports: Iterable[str] = (), without: Collection[str] = ()) -> Reached:
    """Some modules, and what they or ``imports`` (dotted names) import, directly or indirectly.

    Modules are relative to the package; those of ``without`` are excluded.
    """

    def outside(files: frozenset[str]) -> set[str]:
        return {name for name in files if not name.startswith(code.SIMULATOR_ROOMS)}

    first = _own(imports)
    files = code.closure(
        {*modules, *outside(first.files)}, lambda module: outside(_named_in(module).files.difference(without))
    )
    libraries = first.libraries.union(*(_named_in(module).libraries for module in files))
    return Reached(frozenset(files), libraries)


@cache
def _named_in(module: str) -> Reached:
    """What a module imports directly, and the files that it names."""
    facts = code.facts(module)
    own = _own(facts.imports)
    return Reached(own.files.union(facts.files), own.libraries)


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
        found |= {f"{below}/__init__.py".lstrip("/"), f"{below}.py"}
    return frozenset(found & code.names())


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
