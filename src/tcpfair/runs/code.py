"""Digests of code: what a program does, without its comments, docstrings, type hints and formatting.

Two questions are answered by them. Which code made a run (`of_algorithms`): the simulator, and each algorithm that acts
in the run, so that an edited constant of CUBIC touches CUBIC's runs alone. And which code a later step runs: what its function
reaches by imports (`tcpfair.runs.reach`), or all sources of some rooms (`of_rooms`).
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tcpfair.files.filecache import FileCache, place_beside
from tcpfair.files.files import is_editors

PACKAGE = Path(__file__).resolve().parents[1]
DIGEST_LENGTH = 16  # of hexadecimal digits

# Where the simulator begins. What these import from the rooms named after them belongs to it.
_SIMULATOR_ENTRIES = ("sources/engine.py", "sources/tables.py")
_SIMULATOR_ROOMS = ("engine/", "sources/engine.py", "sources/tables.py", "cc/", "jit.py", "units.py")
SIMULATOR = "simulator"  # its name beside those of the algorithms
_SUFFIXES = (".py", ".j2", ".js", ".tcl")
_WORKED_OUT_BY = ("runs/code.py", "files/filecache.py", "runs/reach.py")


def digest_of(paths: Iterable[Path]) -> str:
    """SHA-256 over some sources, in order of their names; where they stand does not count."""
    paths = sorted(paths, key=lambda path: (path.name, path.as_posix()))

    def work_out() -> str:
        sha = hashlib.sha256()
        for path in paths:
            sha.update(path.name.encode())
            sha.update(_content(path, path.stat().st_mtime_ns))
        return sha.hexdigest()

    listed = hashlib.sha256("\n".join(path.as_posix() for path in _below_package(paths)).encode())
    return kept().get(f"digest {listed.hexdigest()}", paths, work_out)


def _below_package(paths: Iterable[Path]) -> list[Path]:
    return [path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path for path in paths]


@cache
def kept() -> FileCache:
    """What was worked out from this package's sources, by this version of what works it out."""
    made_by = hashlib.sha256(b"".join((PACKAGE / name).read_bytes() for name in _WORKED_OUT_BY))
    return FileCache(place_beside(PACKAGE / "units.py"), PACKAGE, made_by.hexdigest())


@cache
def _content(path: Path, _mtime_ns: int) -> bytes:
    """What counts of one file."""
    if path.suffix != ".py":
        return path.read_bytes()
    return acting(ast.parse(path.read_bytes()))


def acting(node: ast.AST | list[ast.stmt]) -> bytes:
    """What acts of some code: its syntax tree, without comments, docstrings, hints and formatting."""
    return repr(_plain(node)).encode()


_IDLE_FIELDS = {"returns", "annotation", "type_comment", "type_params", "kind", "ctx"}  # of functions and expressions
_NAMED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def _plain(node: object) -> object:
    """What acts of a syntax tree as nested tuples, the same in every version of Python.

    Left out are docstrings, hints of functions, descriptions of fields, and where in this package imports come from.
    """
    if isinstance(node, list):
        return tuple(_plain(item) for item in node)
    if not isinstance(node, ast.AST):
        return node
    fields = dict(ast.iter_fields(node))
    if isinstance(node, _NAMED) and node.body and _is_docstring(node.body[0]):
        fields["body"] = node.body[1:]
    if isinstance(node, ast.Call):
        fields["keywords"] = [keyword for keyword in node.keywords if keyword.arg != "description"]
    if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGE.name):
        fields["module"] = node.module.rpartition(".")[2]
    idle = _IDLE_FIELDS - {"annotation"} if isinstance(node, ast.AnnAssign) else _IDLE_FIELDS
    left = ((name, _plain(value)) for name, value in fields.items() if name not in idle and value not in (None, []))
    return (type(node).__name__, *left)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def imports(module: Path, package: Path = PACKAGE) -> set[Path]:
    """Modules of this package that a module imports, anywhere in it."""
    name = f"imports {_below_package([module])[0].as_posix()}"
    found = kept().get(name, [module], lambda: sorted(_imports(module, module.stat().st_mtime_ns, package)))
    return {package / name for name in found}


@cache
def _imports(module: Path, _mtime_ns: int, package: Path) -> set[str]:
    """Their names below the package."""
    found = set()
    for name in imported_names(ast.parse(module.read_bytes())):
        if name.split(".")[0] == package.name:
            place = package.joinpath(*name.split(".")[1:])
            found |= {path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()}
    return {path.relative_to(package).as_posix() for path in found}


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Dotted names that some code imports, anywhere in it; ``from a import b`` gives ``a`` and ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{name.name}" for name in node.names))
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def reached(entries: Iterable[Path], rooms: tuple[str, ...], package: Path = PACKAGE) -> set[Path]:
    """``entries`` and all that they import, directly or through others, from ``rooms`` (folders ``cc/``, files)."""
    found: set[Path] = set()
    todo = set(entries)
    while todo:
        found |= todo
        below = {path for module in todo for path in imports(module, package)} - found
        todo = {path for path in below if path.relative_to(package).as_posix().startswith(rooms)}
    return found


def of_algorithms(algorithms: Iterable[str], package: Path = PACKAGE) -> dict[str, str]:
    """Digests of the code that acts in runs of some algorithms: of the ``simulator`` and of each algorithm by name."""
    found = {SIMULATOR: _simulator(package)}
    for name in sorted(set(algorithms)):
        files = reached([package / "cc" / f"{name}.py"], ("cc/",), package)
        found[name] = digest_of(files)[:DIGEST_LENGTH]
    return found


def _simulator(package: Path) -> str:
    from tcpfair.papers import scenario

    entries = [package / name for name in _SIMULATOR_ENTRIES]
    sources = digest_of(reached(entries, _SIMULATOR_ROOMS, package))
    return hashlib.sha256(f"{sources} {scenario.defaults_digest()}".encode()).hexdigest()[:DIGEST_LENGTH]


@cache
def of_rooms(*rooms: str, package: Path = PACKAGE) -> str:
    """Digest of all sources in some rooms: folders of the package, or single files."""
    return digest_of(path for room in rooms for path in _sources(package / room))[:DIGEST_LENGTH]


def _sources(place: Path) -> Iterator[Path]:
    if place.suffix:
        yield from [place] if place.is_file() else []
    else:
        found = (path for path in sorted(place.rglob("*")) if path.suffix in _SUFFIXES)
        yield from (path for path in found if not is_editors(path.name))
