"""What a step runs, found from its function: the code that it reaches by imports, and the libraries that this code imports.

No list is kept by hand. From a function of `tcpfair.workflow.steps` count its own text, the helpers beside it that it uses, and
what these import; from a notebook, what its cells import; from a module, all of it. A package that imports modules by name
(`importlib.import_module`) reaches all modules of the packages that it names and of its own. Files that are not Python, such as
templates, count with the module that names them.

The simulator is left out (`_APART`): its code counts with the runs (`tcpfair.runs.code.of_algorithms`), and a run has the
same bits with every version of its libraries.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from tcpfair.files.digests import digest
from tcpfair.files.files import is_editors
from tcpfair.runs import code
from tcpfair.runs.code import DIGEST_LENGTH, PACKAGE

STEPS = PACKAGE / "workflow" / "steps.py"
EXHIBITS = "exhibits/paper.py"  # what draws an exhibit; it runs in the kernel of a notebook
_KINDS = "exhibits/kinds"  # its drawings; an exhibit depends on the module of its own alone
# what showing a paper's exhibits imports and does not use: other drawings, and recordings
_BESIDE_EXHIBITS = (
    f"{_KINDS}/__init__.py",
    *(f"exhibits/recordings/{name}.py" for name in ("beside", "board", "recording")),
)
_APART = ("engine/", "cc/", "jit.py", "sources/engine.py", "sources/tables.py")
_PACKAGE_NAME = PACKAGE.name
_COMPILED = "__pycache__"
_MAY_NAME = re.compile(r"\w[\w./-]{0,60}")
_DOTTED = re.compile(rf"{_PACKAGE_NAME}(\.\w+)*\.?")
_REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")
_LOADED_BY = {"papermill": ("black",)}  # where it is installed, it formats the cell of parameters


class Reached(NamedTuple):
    """Sources of this package, and names of libraries as they are imported."""

    files: frozenset[Path]
    libraries: frozenset[str]


class _Facts(NamedTuple):
    """What is found in a piece of code: a digest of what acts, dotted names that it imports, files that it names."""

    digest: str
    imports: Sequence[str]
    files: Sequence[str]  # relative to the package


# --- Stamps -------------------------------------------------------------------------------------------------------


def of_step(step: str, modules: Collection[str] = ()) -> dict[str, str]:
    """Parts of an output: the ``code`` and the ``libraries`` of a step, by the name of its function in `STEPS`.

    ``modules`` are more that it runs, relative to the package.
    """
    return dict(_of_step(step, tuple(modules)))


@cache
def _of_step(step: str, modules: tuple[str, ...]) -> Mapping[str, str]:
    facts = function_facts(STEPS, step)
    return _parts([facts.digest], reached([PACKAGE / name for name in modules], facts.imports))


def of_modules(*modules: str) -> dict[str, str]:
    """The same of some modules, relative to the package."""
    return dict(_of_modules(modules))


@cache
def _of_modules(modules: tuple[str, ...]) -> Mapping[str, str]:
    return _parts([], reached([PACKAGE / name for name in modules]))


@cache
def of_drawing(name: str) -> Mapping[str, str]:
    """The same of what draws an exhibit: all but the modules of other drawings.

    Raises LookupError when no module has a drawing of this name.
    """
    own = [module for module in sorted((PACKAGE / _KINDS).glob("*.py")) if name in _functions(module)]
    if not own:
        raise LookupError(f"{_KINDS}: no drawing {name}")
    return _parts([], reached([PACKAGE / EXHIBITS, *own], without=_BESIDE_EXHIBITS))


def _functions(module: Path) -> list[str]:
    """Names of the functions at the top of a module."""
    name = f"functions {module.relative_to(PACKAGE).as_posix()}"

    def work_out() -> list[str]:
        return [node.name for node in ast.parse(module.read_bytes()).body if isinstance(node, ast.FunctionDef)]

    return code.kept().get(name, [module], work_out)


def of_notebook(sources: Iterable[str], shows_recordings: bool) -> dict[str, str]:
    """The same of the step that runs a notebook, whose code cells are ``sources``; its exhibits are parts of their own."""
    facts = function_facts(STEPS, "notebook")
    named = {name for source in sources for name in cell_imports(source)}
    without = () if shows_recordings else _BESIDE_EXHIBITS
    return _parts([facts.digest], reached((), [*facts.imports, *sorted(named)], without))


def _parts(digests: Sequence[str], found: Reached) -> dict[str, str]:
    own = hashlib.sha256(" ".join([*digests, code.digest_of(found.files)]).encode()).hexdigest()
    return {"code": own[:DIGEST_LENGTH], "libraries": digest(versions(found.libraries))[:DIGEST_LENGTH]}


# --- Code ---------------------------------------------------------------------------------------------------------


def reached(modules: Iterable[Path] = (), imports: Iterable[str] = (), without: Collection[str] = ()) -> Reached:
    """Some modules, and what they or ``imports`` (dotted names) lead to, directly or through others.

    Modules of ``without`` (relative to the package) are not entered.
    """
    left_out = {PACKAGE / name for name in without}
    files: set[Path] = set()
    libraries: set[str] = set()
    todo = set(modules) | _own(imports, libraries)
    while todo:
        files |= todo
        below: set[Path] = set()
        for module in todo:
            if module.suffix == ".py":
                facts = module_facts(module)
                below |= _own(facts.imports, libraries) | {PACKAGE / name for name in facts.files}
        todo = below - files - left_out
    return Reached(frozenset(files), frozenset(libraries))


def _own(names: Iterable[str], libraries: set[str]) -> set[Path]:
    """The modules of this package among dotted names, with the packages around them; other names go to ``libraries``."""
    found: set[Path] = set()
    for name in names:
        top = name.partition(".")[0]
        if top == _PACKAGE_NAME:
            found |= _modules(name)
        elif top not in sys.stdlib_module_names:
            libraries.add(top)
    return found


@cache
def _modules(name: str) -> frozenset[Path]:
    """The module of this package that a dotted name leads to, and the packages around it."""
    _, *parts = name.split(".")
    found = set()
    for n in range(len(parts) + 1):
        below = "/".join(parts[:n])
        found |= {each for each in (f"{below}/__init__.py".lstrip("/"), f"{below}.py") if not each.startswith(_APART)}
    return frozenset(path for each in found if (path := PACKAGE / each).is_file())


@cache
def module_facts(module: Path) -> _Facts:
    """What is found in a module of this package."""
    return _kept_facts(module, "", lambda: ast.parse(module.read_bytes()))


def function_facts(module: Path, function: str) -> _Facts:
    """What is found in a function, and in the statements beside it that bind the names that it uses, and so on.

    Raises LookupError when the module has no such function.
    """
    return _kept_facts(module, function, lambda: _used(module, function))


def _kept_facts(module: Path, function: str, parsed: Callable[[], ast.Module]) -> _Facts:
    name = f"facts {module.relative_to(PACKAGE).as_posix()} {function}"
    return _Facts(*code.kept().get(name, [module], lambda: _facts(parsed(), module), _data_names_digest()))


def _used(module: Path, function: str) -> ast.Module:
    """A module reduced to a function and what it uses."""
    statements = [each for statement in ast.parse(module.read_bytes()).body for each in _single(statement)]
    bound = {name: number for number, statement in enumerate(statements) for name in _binds(statement)}
    if function not in bound:
        raise LookupError(f"{module}: has no function {function}")
    used: set[int] = set()
    todo = {bound[function]}
    while todo:
        used |= todo
        names = {node.id for number in todo for node in ast.walk(statements[number]) if isinstance(node, ast.Name)}
        todo = {bound[name] for name in names if name in bound} - used
    return ast.Module([statements[number] for number in sorted(used)], [])


def _single(statement: ast.stmt) -> list[ast.stmt]:
    """An import of several names as one import of each; any other statement as it is."""
    if isinstance(statement, ast.Import):
        return [ast.Import([name]) for name in statement.names]
    if isinstance(statement, ast.ImportFrom):
        return [ast.ImportFrom(statement.module, [name], statement.level) for name in statement.names]
    return [statement]


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
    """Dotted names that a cell of a notebook imports; none of one that is no Python. Magics count for nothing."""
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()]
    try:
        return sorted(set(code.imported_names(ast.parse("\n".join(lines)))))
    except (SyntaxError, ValueError):
        return []


def _facts(tree: ast.Module, module: Path) -> _Facts:
    found = list(code.imported_names(_running(tree)))
    if "import_module" in {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(tree)}:
        found += [name for package in _packages_named(tree, module) for name in _members(package)]
    folders = [place for place in module.parents if place.is_relative_to(PACKAGE)]
    named = {
        place
        for text in _texts(tree)
        for folder in folders
        if (place := (folder / text).relative_to(PACKAGE).as_posix()) in _data_names()
    }
    files = {name for place in named for name in _data_names() if name == place or name.startswith(f"{place}/")}
    acting = hashlib.sha256(code.acting(tree)).hexdigest()
    return _Facts(acting, sorted(set(found)), sorted(name for name in files if (PACKAGE / name).is_file()))


def _running(tree: ast.Module) -> ast.Module:
    """Code without what is for type checkers alone."""
    return ast.Module([each for each in tree.body if not (isinstance(each, ast.If) and _is_typing(each.test))], [])


def _is_typing(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _texts(tree: ast.Module) -> set[str]:
    """Texts in some code that may name a file beside it."""
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {text for text in found if _MAY_NAME.fullmatch(text)}


def _packages_named(tree: ast.Module, module: Path) -> Iterator[Path]:
    """The package of a module that imports by name, and the packages whose dotted names begin a text in it."""
    yield module.parent
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _DOTTED.fullmatch(node.value):
            place = PACKAGE.joinpath(*node.value.strip(".").split(".")[1:])
            if (place / "__init__.py").is_file():
                yield place


def _members(package: Path) -> list[str]:
    """Dotted names of the modules of a package."""
    parts = [_PACKAGE_NAME, *package.relative_to(PACKAGE).parts]
    return [".".join([*parts, path.stem]) for path in sorted(package.glob("*.py")) if path.stem != "__init__"]


@cache
def _data_names() -> frozenset[str]:
    """Files of this package that are not Python, and folders that hold no modules; relative to it."""
    found = []
    for folder, folders, names in os.walk(PACKAGE):
        folders[:] = [name for name in folders if name != _COMPILED]
        place = Path(folder).relative_to(PACKAGE)
        if "__init__.py" not in names:
            found.append(place.as_posix())
        found += [
            (place / name).as_posix() for name in names if not (name.endswith((".py", ".pyc")) or is_editors(name))
        ]
    return frozenset(found)


@cache
def _data_names_digest() -> str:
    return digest(sorted(_data_names()))


# --- Libraries ----------------------------------------------------------------------------------------------------


def versions(imported: Iterable[str]) -> dict[str, str]:
    """Installed versions of libraries that are imported by these names, and of what they require; and of Python.

    A library that is not installed is left out: a step that needed it would fail.
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
    # a new minor version of Python may compute otherwise: 3.12 sums floating point numbers with compensation
    python = ".".join(map(str, sys.version_info[:2]))
    return {"python": python} | {name: found[name][0] for name in sorted(closure)}


@cache
def _installed() -> tuple[Mapping[str, list[str]], Mapping[str, tuple[str, list[list[str]]]]]:
    """Libraries by the name that they are imported by; version and requirements of each."""
    owners, found = code.kept().get("installed", (), _look_up_installed, digest(list(_distribution_folders())))
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
        if (name := each.metadata["Name"]) and (
            name := _canonical(name)
        ) not in found:  # the first on the path is imported
            found[name] = (each.version, sorted(_required(each.requires or ())))
    owners = {top: sorted(set(map(_canonical, names))) for top, names in metadata.packages_distributions().items()}
    return [owners, found]


def _required(requirements: Iterable[str]) -> Iterator[list[str]]:
    """(library, extra of it, extra that needs it) of requirements; what a platform does not need is not installed there."""
    for text in requirements:
        needed, _, marker = text.partition(";")
        name, extras = _REQUIREMENT.match(needed.strip()).groups()
        of = _EXTRA.search(marker)
        for extra in ["", *(extras or "").replace(" ", "").split(",")]:
            yield [_canonical(name), _canonical(extra), _canonical(of[1]) if of else ""]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
