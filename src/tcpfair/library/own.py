"""User algorithms: one file that implements the contract of `tcpfair.cc.api`, given by its path or as a module.

A process that has not imported the engine yet adds it to the registry, and compiles the engine with it. The engine's
sources do not change, and shipped algorithms give the same bits. An edit of the file takes effect with the next run, in
a new process.
"""

from __future__ import annotations

import hashlib
import importlib.util
import keyword
import os
import pickle
import re
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType

from tcpfair import cc
from tcpfair.errors import InputError

_PLACE = "<own algorithms>"  # in `tcpfair.cc.__path__`
_KEPT_CACHES = 8  # of engines compiled with user algorithms
_UNDECORATED = ": cannot be compiled; write @jit on the line before its def, with `from tcpfair.jit import jit`"
_EMPTY_WORDS = re.compile(
    r"Failed in|No implementation|There (is|are)|During:|File |[->^ ]|Unsupported functionality|$"
)


def digest_of_files(own: Sequence[str]) -> str:
    """SHA-256 over names and contents. Raises InputError for a file that cannot be read."""
    sha = hashlib.sha256()
    for path in own:
        try:
            sha.update(Path(path).name.encode() + b"\0" + Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
    return sha.hexdigest()


def located(cc_name: str) -> str:
    """The file of a user algorithm, given as a path that ends in .py or as a module's name; None for a shipped one.

    Raises InputError for a file that is missing or has an invalid name. The engine reports any other name.
    """
    path = Path(os.path.realpath(cc_name)) if cc_name.endswith(".py") else _file_of_module(cc_name)
    if path is None or cc_name in cc.names():
        return ""
    if not path.is_file():
        raise InputError(f"{path}: no such file; give the file of an algorithm, or one of {', '.join(cc.names())}")
    is_name = path.stem.isidentifier() and not keyword.iskeyword(path.stem)
    if not is_name or path.stem in shipped_names():
        raise InputError(f"{path}: rename the file: its name must be a Python name that tcpfair.cc does not have")
    return str(path)


def shipped_names() -> frozenset[str]:
    """Names of all modules in `tcpfair.cc`."""
    return frozenset(path.stem for path in Path(cc.__file__).parent.glob("*.py"))


def _file_of_module(name: str) -> Path | None:
    """The file of a user's module that looks like an algorithm."""
    with suppress(ImportError, ValueError, AttributeError):
        spec = importlib.util.find_spec(name)
        if (
            spec
            and spec.origin
            and spec.origin.endswith(".py")
            and "STATE" in Path(spec.origin).read_text(errors="replace")
        ):
            return Path(spec.origin)
    return None


# --- In the other process --------------------------------------------------------------------------------------------


def serve(own: tuple[str, ...]) -> None:
    """Read jobs from stdin and write results to stdout until stdin ends."""
    from tcpfair.papers.scenario import Scenario

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text is not a result
    try:
        register(own)
        from tcpfair.library import live  # and with it the engine

        failed = None
    except BaseException as error:  # SystemExit too: the file may call sys.exit
        failed = _in_one_line(error, own)
    while True:
        try:
            values, seed = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        found: object = failed
        if failed is None:
            try:
                found = live.run(Scenario.model_validate(values), seed)
            except BaseException as error:
                found = _in_one_line(error, own)
        pickle.dump(found, out)
        out.flush()


class _Finder:
    """Finds user algorithms as modules of `tcpfair.cc`, in their own files."""

    def __init__(self, own: Sequence[str]) -> None:
        self._files = {Path(path).stem: path for path in own}

    def find_spec(self, name: str, target: object = None) -> ModuleSpec | None:
        path = self._files.get(name.rpartition(".")[2])
        return importlib.util.spec_from_file_location(name, path) if path else None

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        yield from ((prefix + name, False) for name in self._files)


def register(own: Sequence[str]) -> None:
    """Add user algorithms to the registry, and use a separate cache for the engine that is compiled with them.

    Has an effect only before `tcpfair.engine.loop` is imported. Raises InputError for a file that has no algorithm, and
    for a rule without ``@jit``.
    """
    if not own:
        return
    from tcpfair import jit
    from tcpfair.cc import registry

    base = jit.folder
    jit.folder = base.with_name(f"{base.name}-own-{digest_of_files(own)[:16]}")
    older = sorted(base.parent.glob(f"{base.name}-own-*"), key=lambda folder: folder.stat().st_mtime)
    for folder in older[:-_KEPT_CACHES]:
        shutil.rmtree(folder, ignore_errors=True)
    sys.path_importer_cache[_PLACE] = _Finder(own)
    cc.__path__.append(_PLACE)
    for path in own:
        made = registry.algorithms().get(Path(path).stem)
        if made is None:
            raise InputError(f"{path}: no algorithm: it needs PARAMS and STATE, see tcpfair.cc.api")
        for rule in (made.on_ack, made.on_loss, made.on_timeout, made.on_round, made.on_every_ack):
            if isinstance(rule, FunctionType) and not hasattr(rule, "py_func"):
                raise InputError(f"{path}:{rule.__code__.co_firstlineno}: {rule.__name__}{_UNDECORATED}")


def _in_one_line(error: BaseException, own: Sequence[str]) -> InputError:
    """The error in a user algorithm, with file and line if available."""
    if isinstance(error, InputError):
        return error
    if not own:
        return InputError(f"simulate: {type(error).__name__}: {error}")
    if isinstance(error, SyntaxError):
        return InputError(f"{error.filename}:{error.lineno}: {error.msg}")
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    names = "|".join(re.escape(Path(path).name) for path in own)
    frames = [
        (each.filename, each.lineno) for each in traceback.extract_tb(error.__traceback__) if each.filename in own
    ]
    line = next((each.strip() for each in text.splitlines() if not _EMPTY_WORDS.match(each)), type(error).__name__)
    if isinstance(error, KeyError):  # numba's message for a field that a record does not have
        line = f"{text} is not known; name it in STATE or PARAMS"
    elif helper := re.match(r"Untyped global name '(\w+)'.*<class 'function'>", line):
        line = f"{helper[1]}{_UNDECORATED}"
    elif not isinstance(error, Exception):
        line = f"raises {type(error).__name__}, which ends the process; remove it"
    told = re.findall(rf'File "([^"]*(?:{names}))", line (\d+)', text) or frames or _lines_with(line, own)
    return InputError("{}:{}: {}".format(*(told or [(own[0], "?")])[-1], line))


def _lines_with(line: str, own: Sequence[str]) -> list[tuple[str, int]]:
    """File and line of the name quoted in a message: numba reports no line when it fails within a rule."""
    quoted = re.search(r"'(\w+)'", line)
    sources = ((path, Path(path).read_text().splitlines()) for path in own if quoted)
    places = ((path, number, code) for path, lines in sources for number, code in enumerate(lines, 1))
    return [(path, number) for path, number, code in places if quoted and re.search(rf"\b{quoted[1]}\b", code)]
