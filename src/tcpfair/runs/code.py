"""Digests of code, which ignore comments, docstrings, type hints and formatting.

A run is made by the simulator and its algorithms (`of_algorithms`), so an edit of CUBIC makes only runs with CUBIC stale.
A later step depends on the modules that its function imports (`tcpfair.runs.reach`) or on all sources of some rooms
(`of_rooms`).
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

from tcpfair.files.digests import SHORT, digest
from tcpfair.files.files import is_editors
from tcpfair.files.remembered import Remembered

PACKAGE = Path(__file__).resolve().parents[1]

# the simulator: its entry points, and what they import from these rooms and from units.py
_SIMULATOR_ENTRIES = ("sources/engine.py", "sources/tables.py")
SIMULATOR_ROOMS = (*_SIMULATOR_ENTRIES, "engine/", "cc/", "compiler.py", "jit.py")
# what computes metrics, besides its entry points in measures/
_MEASURING_ROOMS = ("metrics/", "measures/", "units.py")
SIMULATOR = "simulator"  # its name next to those of the algorithms
_SUFFIXES = (".py", ".j2", ".js", ".tcl")
_COMPUTED_BY = ("runs/code.py", "files/remembered.py", "runs/reach.py")
_COMPILED = "__pycache__"
_MAY_NAME = re.compile(r"\w[\w./-]{0,60}")


# --- One piece of code --------------------------------------------------------------------------------------------


class Facts(NamedTuple):
    """A file: its digest, the dotted names that it imports, the files that it names or may import by their name."""

    digest: str
    imports: Sequence[str] = ()
    files: Sequence[str] = ()  # relative to the package


@cache
def kept() -> Remembered:
    """The cache of what was computed from this package's sources.

    Parsing all modules takes two seconds, checking their times a few milliseconds. The file is next to the package's
    compiled modules.
    """
    made_by = digest([[(PACKAGE / name).read_text() for name in _COMPUTED_BY], sorted(names())])
    compiled = Path(cache_from_source(str(PACKAGE / "units.py")))
    found = Remembered(compiled.with_name(f"digests.{sys.implementation.cache_tag}.json"), made_by)
    atexit.register(found.save)
    return found


@cache
def names() -> frozenset[str]:
    """Files of this package and its folders without modules, relative to it."""
    found = []
    for folder, folders, names in os.walk(PACKAGE):
        folders[:] = [name for name in folders if name != _COMPILED]
        place = "" if folder == str(PACKAGE) else f"{os.path.relpath(folder, PACKAGE)}/"
        if "__init__.py" not in names:
            found.append(place.rstrip("/"))
        found += [f"{place}{name}" for name in names if not (name.endswith(".pyc") or is_editors(name))]
    return frozenset(found)


@cache
def facts(name: str) -> Facts:
    """The facts of a file of this package, by its relative name; only the digest if it is not Python."""
    path = PACKAGE / name

    def compute() -> Facts:
        if path.suffix != ".py":
            return Facts(hashlib.sha256(path.read_bytes()).hexdigest())
        return _facts_of(ast.parse(path.read_bytes()), name)

    return Facts(*kept().of_file(f"facts {name}", path, compute))


def _facts_of(tree: ast.Module, module: str) -> Facts:
    """The facts of a module."""
    data = {name for name in names() if not name.endswith(".py")}
    folders = [place.as_posix().lstrip(".") for place in Path(module).parents]
    texts = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    texts = {text.rstrip("/") for text in texts if _MAY_NAME.fullmatch(text)}
    named = {place for text in texts for folder in folders if (place := f"{folder}/{text}".lstrip("/")) in data}
    files = {name for place in named for name in data if name == place or name.startswith(f"{place}/")}
    if "import_module" in {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(tree)}:
        package = module.rpartition("/")[0]
        files |= {name for name in names() if name.endswith(".py") and name.rpartition("/")[0] == package}
    acts, imports = hashlib.sha256(acting(tree)).hexdigest(), sorted(set(imported_names(_running(tree))))
    return Facts(acts, imports, sorted(name for name in files if (PACKAGE / name).is_file()))


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Dotted names that some code imports, anywhere in it; ``from a import b`` gives ``a`` and ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{name.name}" for name in node.names))
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def _running(tree: ast.Module) -> ast.Module:
    """Code without its ``if TYPE_CHECKING`` blocks."""
    return ast.Module(
        [each for each in tree.body if getattr(getattr(each, "test", None), "id", "") != "TYPE_CHECKING"], []
    )


def acting(node: ast.AST | list[ast.stmt]) -> bytes:
    """The syntax tree of some code, without comments, docstrings, type hints and formatting."""
    return repr(_plain(node)).encode()


_IDLE_FIELDS = {"returns", "annotation", "type_comment", "type_params", "kind", "ctx"}  # of functions and expressions
_NAMED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def _plain(node: object) -> object:
    """A syntax tree as nested tuples, equal in every version of Python.

    Docstrings, type hints of functions, descriptions of fields and the place of an imported module in this package are
    omitted.
    """
    if isinstance(node, list):
        return tuple(_plain(item) for item in node)
    if not isinstance(node, ast.AST):
        return node
    fields = dict(ast.iter_fields(node))
    if isinstance(node, _NAMED) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:]
    if isinstance(node, ast.Call):
        fields["keywords"] = [keyword for keyword in node.keywords if keyword.arg != "description"]
    if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGE.name):
        fields["module"] = node.module.rpartition(".")[2]
    idle = _IDLE_FIELDS - {"annotation"} if isinstance(node, ast.AnnAssign) else _IDLE_FIELDS
    left = ((name, _plain(value)) for name, value in fields.items() if name not in idle and value not in (None, []))
    return (type(node).__name__, *left)


# --- Several sources ----------------------------------------------------------------------------------------------


def closure(entries: Iterable[str], below: Callable[[str], Iterable[str]]) -> set[str]:
    """``entries`` and all that they lead to, directly or indirectly."""
    found: set[str] = set()
    todo = set(entries)
    while todo:
        found |= todo
        todo = {name for each in todo for name in below(each)} - found
    return found


def reached(entries: Iterable[Path], rooms: tuple[str, ...]) -> set[Path]:
    """``entries`` and all that they import, directly or indirectly, from ``rooms`` (folders such as ``cc/``, or files)."""

    def below(module: str) -> set[str]:
        imported = (name.split(".") for name in facts(module).imports)
        places = ("/".join(parts) for top, *parts in imported if top == PACKAGE.name)
        modules = {module for place in places for module in (f"{place}.py", f"{place}/__init__.py")}
        return {module for module in modules & names() if module.startswith(rooms)}

    return {PACKAGE / name for name in closure((path.relative_to(PACKAGE).as_posix() for path in entries), below)}


def digest_of(paths: Iterable[Path]) -> str:
    """SHA-256 over some sources, in order of their names; their folders do not count."""
    paths = sorted(paths, key=lambda path: (path.name, path.as_posix()))

    def compute() -> str:
        sha = hashlib.sha256()
        for path in paths:
            sha.update(path.name.encode())
            content = path.read_bytes()
            sha.update(acting(ast.parse(content)) if path.suffix == ".py" else content)
        return sha.hexdigest()

    if not all(path.is_relative_to(PACKAGE) for path in paths):
        return compute()
    listed = [path.relative_to(PACKAGE).as_posix() for path in paths]
    return kept().get(f"digest {digest(listed)}", digest([facts(name).digest for name in listed]), compute)


def of_algorithms(algorithms: Iterable[str]) -> dict[str, str]:
    """Digests of the code that makes runs of some algorithms: of the ``simulator`` and of each algorithm, by name."""
    from tcpfair.papers import scenario

    simulator = f"{_simulator_sources()} {scenario.defaults_digest()}"
    own = {name: _of_algorithm(name) for name in sorted(set(algorithms))}
    return {SIMULATOR: hashlib.sha256(simulator.encode()).hexdigest()[:SHORT], **own}


@cache
def _of_algorithm(name: str) -> str:
    return digest_of(reached([PACKAGE / "cc" / f"{name}.py"], ("cc/",)))[:SHORT]


@cache
def _simulator_sources() -> str:
    return digest_of(reached([PACKAGE / name for name in _SIMULATOR_ENTRIES], (*SIMULATOR_ROOMS, "units.py")))


def of_measuring(*modules: str) -> str:
    """Digest of some modules of ``measures``, and of the code that they measure with."""
    return digest_of(reached([PACKAGE / "measures" / name for name in modules], _MEASURING_ROOMS))


@cache
def of_rooms(*rooms: str) -> str:
    """Digest of all sources in some rooms: folders of the package, or single files."""
    chosen = (name for name in names() if name in rooms or name.startswith(tuple(f"{room}/" for room in rooms)))
    return digest_of(PACKAGE / name for name in chosen if name.endswith(_SUFFIXES))[:SHORT]
