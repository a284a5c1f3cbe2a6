"""The decorators of compiled code: what is compiled once for these sources is kept as machine code, and run without numba.

* One CPU baseline on x86-64, without fused multiply-add, and no fast-math: the same bits on every machine.
* An entry point with all its callees is one object file, named by a hash of its sources, its signature and its compilers.
  llvmlite links it into the process; numba, whose import takes longer than most runs, is loaded by `tcpfair.compiler`
  when no such file exists.
* Each file begins with a checksum. A damaged file is removed and recompiled, with one line on stderr.

NUMBA_DISABLE_JIT=1 runs the same functions as plain Python: the same bits, about a thousand times slower, for a debugger.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib
import itertools
import json
import os
import pickle
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from tcpfair.files.files import write_whole

BASELINE_CPU = "x86-64-v2"
_PACKAGE = Path(__file__).resolve().parent


def source_hash(package: Path = _PACKAGE) -> str:
    """SHA-256 over all sources that are compiled into the simulator or compile it: ``cc/``, ``engine/``, these two files."""
    sha = hashlib.sha256()
    own = (package / "compiler.py", package / "jit.py")
    for path in sorted([*(package / "cc").glob("*.py"), *(package / "engine").glob("*.py"), *own]):
        sha.update(path.name.encode())
        sha.update(path.read_bytes())
    return sha.hexdigest()


def _is_usable(folder: Path) -> bool:
    """Whether files can be read and written in ``folder``, which is created if missing."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _is_own(folder: Path) -> bool:
    """Whether ``folder``, created if missing, belongs to this user, and only this user can write to it."""
    with suppress(OSError):
        folder.mkdir(mode=0o700)
    with suppress(OSError):
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return False


def _cache_folder(name: str) -> Path:
    """The folder ``name`` of the first usable cache: its content is executed, so under /tmp it must belong to this user."""
    for variable, below in (("TCPFAIR_CACHE", ""), ("XDG_CACHE_HOME", "tcpfair"), ("HOME", ".cache/tcpfair")):
        if os.environ.get(variable):
            folder = Path(os.environ[variable]) / below / name
            if _is_usable(folder):
                return folder
    own = Path(tempfile.gettempdir()) / f"tcpfair-{os.getuid()}"
    candidates = itertools.chain([own], (own.with_name(f"{own.name}-{number}") for number in range(1, 1000)))
    return next(root for root in candidates if _is_own(root) and _is_usable(root / name)) / name


if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("NUMBA_CPU_NAME", BASELINE_CPU)
    os.environ.setdefault("NUMBA_CPU_FEATURES", "")
PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
# where compiled code is kept; `tcpfair.library.own` changes it
folder = _cache_folder(f"{os.environ.get('NUMBA_CPU_NAME', platform.machine())}-{source_hash()[:16]}")


# ---------------------------------------------------------------- cache on disk


def keep(path: Path, content: bytes) -> None:
    """Write ``content`` after its SHA-256. Raises OSError."""
    write_whole(path, hashlib.sha256(content).digest() + content)


def kept(path: Path) -> bytes | None:
    """The content that `keep` wrote; None when it is missing. A damaged or unreadable file is removed, with a line on stderr."""
    try:
        digest, content = (sealed := path.read_bytes())[:32], sealed[32:]
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror
    else:
        if hashlib.sha256(content).digest() == digest:
            return content
        reason = "damaged"
    print(f"{path}: {reason}; compiled again", file=sys.stderr)
    with suppress(OSError):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    return None


# ---------------------------------------------------------------- machine code


class Code(NamedTuple):
    """A compiled entry point."""

    symbol: str
    returns: list[str]  # dtypes of what it returns
    returns_tuple: bool
    calls: list[str]  # functions outside of the object file
    machine_code: bytes

    def packed(self) -> bytes:
        """In one file, for `unpacked`."""
        return json.dumps(self[:-1]).encode() + b"\n" + self.machine_code

    @classmethod
    def unpacked(cls, content: bytes) -> Code:
        described, _, machine_code = content.partition(b"\n")
        return cls(*json.loads(described), machine_code)


class _Linked:
    """The machine code in this process, called by numba's convention: addresses and numbers in, a status out."""

    def __init__(self, code: Code) -> None:
        if any(llvm.address_of_symbol(name) is None for name in code.calls):
            importlib.import_module("tcpfair.compiler").load_functions()
        self._code = code
        values = [(f"f{k}", dtype) for k, dtype in enumerate(code.returns or [_NOTHING])]
        self._result = np.dtype(values, align=True)
        self._linker = _linker()
        self._linker.add_object_file(llvm.ObjectFileRef.from_data(code.machine_code))
        self._linker.finalize_object()
        self._address = self._linker.get_function_address(code.symbol)
        self._function: Any = None

    def __call__(self, args: tuple) -> Any:
        result, failure = np.zeros(1, self._result), ctypes.c_void_p()
        given = [ctypes.c_void_p(result.ctypes.data), ctypes.byref(failure), *_flat(args)]
        if self._function is None:
            kinds = (ctypes.c_void_p, ctypes.c_void_p, *map(type, given[2:]))
            self._function = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(self._address)
        status = self._function(*given)
        if status not in _FINE:
            _raise(failure.value)
        values = result[0].item()
        return values if self._code.returns_tuple else values[0] if self._code.returns else None


_NOTHING = "<i8"  # room for the null pointer that stands for None
_FINE = (0, -2)  # numba's statuses of a function that returned a value, or None


def _linker() -> llvm.ExecutionEngine:
    """An empty process image of LLVM, for the CPU that the code was compiled for."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(cpu=os.environ.get("NUMBA_CPU_NAME", ""), codemodel="jitdefault")
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def _flat(value: Any) -> list:
    """The addresses and numbers that numba passes for an argument."""
    if isinstance(value, tuple):
        return [each for part in value for each in _flat(part)]
    if isinstance(value, np.ndarray):
        numbers = (0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)
        return [ctypes.c_int64(number) for number in numbers]
    if isinstance(value, np.void):
        return [ctypes.c_int64(value.__array_interface__["data"][0])]
    scalar = np.asarray(value)
    return [np.ctypeslib.as_ctypes_type(scalar.dtype)(scalar[()])]


def _kind(value: Any) -> Any:
    """What the code for an argument depends on."""
    if isinstance(value, tuple):
        return (type(value).__name__, *map(_kind, value))
    if isinstance(value, np.ndarray):
        flags = value.flags
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return (value.dtype, value.ndim, order, flags.aligned, flags.writeable)
    return np.asarray(value).dtype


def _raise(failure: int | None) -> None:
    """The exception that compiled code raised: numba points to its class, arguments and place, pickled."""
    if not failure:
        raise RuntimeError("compiled code failed")
    address, size = ctypes.c_void_p.from_address(failure), ctypes.c_int32.from_address(failure + 8)
    error, args, place = pickle.loads(ctypes.string_at(address.value, size.value))
    raised = error(*(args or ()))
    if place:
        raised.add_note('File "{1}", line {2}, in {0}'.format(*place))
    raise raised


class Entry:
    """A function that Python calls as machine code, compiled at the first call with arguments of these types."""

    def __init__(self, function: Callable, *, keeps: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.compilations = 0
        self._keeps = keeps
        self._linked: dict[tuple, _Linked] = {}

    def __call__(self, *args: Any) -> Any:
        kinds = tuple(map(_kind, args))
        if kinds not in self._linked:
            self._linked[kinds] = _Linked(self._found(kinds) or self._compiled(kinds, args))
        return self._linked[kinds](args)

    @property
    def is_compiled(self) -> bool:
        """Whether this process has called it, or finds it undamaged in the cache, for arguments of any types."""
        return bool(self._linked) or any(kept(path) is not None for path in folder.glob(f"{self._name}-*.sealed"))

    def _found(self, kinds: tuple) -> Code | None:
        content = kept(self._path(kinds)) if self._keeps else None
        return None if content is None else Code.unpacked(content)

    def _compiled(self, kinds: tuple, args: tuple) -> Code:
        code = Code(*importlib.import_module("tcpfair.compiler").compiled(self.py_func, args))
        self.compilations += 1
        if self._keeps:
            try:
                keep(self._path(kinds), code.packed())
            except OSError as error:
                print(f"{folder}: {error.strerror}; compiled code is not kept", file=sys.stderr)
        return code

    def _path(self, kinds: tuple) -> Path:
        return folder / f"{self._name}-{hashlib.sha256(repr(kinds).encode()).hexdigest()[:16]}.sealed"

    @functools.cached_property
    def _name(self) -> str:
        """With a hash of what the code is made from beyond its arguments; any edit beside its source makes it stale."""
        source = Path(self.py_func.__code__.co_filename)
        sha = hashlib.sha256(repr((sys.version_info[:2], version("numba"), version("llvmlite"))).encode())
        sha.update(repr([os.environ.get(f"NUMBA_{name}") for name in ("CPU_NAME", "CPU_FEATURES", "OPT")]).encode())
        for path in sorted(source.parent.glob("*.py")):
            sha.update(path.name.encode() + path.read_bytes())
        return f"{source.stem}.{self.py_func.__qualname__}-{sha.hexdigest()[:16]}"


class Inner:
    """A function that is compiled with the compiled code that calls it. A call from Python compiles it alone."""

    def __init__(self, function: Callable, **how: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._how = how

    @functools.cached_property
    def dispatcher(self):
        """numba's."""
        return importlib.import_module("tcpfair.compiler").part(self.py_func, **self._how)

    @property
    def _numba_type_(self):
        return self.dispatcher._numba_type_

    @functools.cached_property
    def by_itself(self) -> Entry:
        return Entry(self.py_func, keeps=False)

    def __call__(self, *args: Any) -> Any:
        return self.by_itself(*args)


class _Beside:
    """A function of `jit_beside`, for compiled code to call."""

    def __init__(self, name: str, library: Callable) -> None:
        self._name, self._library = name, library

    @functools.cached_property
    def _numba_type_(self):
        return self._library().type_of(self._name)


# ---------------------------------------------------------------- plain Python, for a debugger


class _Row:
    """A record of an array whose fields are attributes and items, as in compiled code."""

    __slots__ = ("_row",)

    def __init__(self, row: np.void) -> None:
        object.__setattr__(self, "_row", row)

    def __getitem__(self, name: str):
        return self._row[name]

    def __setitem__(self, name: str, value) -> None:
        self._row[name] = value

    __getattr__, __setattr__ = __getitem__, __setitem__


class _Rows(np.ndarray):
    """An array of records, read and written as `_Row` by number."""

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return _Row(found) if isinstance(found, np.void) else found

    def __setitem__(self, index, value) -> None:
        super().__setitem__(index, value._row if isinstance(value, _Row) else value)


def _as_rows(value):
    """An argument of an entry point: arrays of records become `_Rows`, also in a named tuple, and a record a `_Row`."""
    if isinstance(value, np.void):
        return _Row(value)
    if isinstance(value, tuple):
        return type(value)._make(map(_as_rows, value)) if hasattr(value, "_make") else tuple(map(_as_rows, value))
    return value.view(_Rows) if isinstance(value, np.ndarray) and value.dtype.names else value


def _plain(function: Callable) -> Callable:
    function.py_func = function
    return function


def _plain_entry(function: Callable) -> Callable:
    @functools.wraps(function)
    def entry(*args):
        with np.errstate(all="ignore"):  # integers wrap, as in compiled code
            return function(*map(_as_rows, args))

    entry.py_func = function
    return entry


# ---------------------------------------------------------------- decorators


def jit(function: Callable) -> Callable:
    """Compile for compiled callers; LLVM decides on inlining."""
    return _plain(function) if PLAIN else Inner(function)


def jit_inline(function: Callable) -> Callable:
    """As ``jit``, but always inlined: for code that runs with every packet."""
    return _plain(function) if PLAIN else Inner(function, inline=True)


def jit_beside(*functions: Callable) -> tuple[Callable, ...]:
    """Functions of `jit` that are called with three arguments of the same types, and return nothing.

    Where there is a second core, a second process compiles them, while the first one compiles their callers.
    """
    if PLAIN:
        return functions
    library = functools.cache(lambda: importlib.import_module("tcpfair.compiler").Beside(functions))
    return tuple(_Beside(function.__name__, library) for function in functions)


def jit_cached(function: Callable) -> Callable:
    """Compile an entry point for Python, with arrays that do not overlap; kept in the cache folder."""
    return _plain_entry(function) if PLAIN else Entry(function, keeps=True)


def part_of_another(entry: Callable) -> Callable:
    """An entry point for compiled code to call: linked there and optimised together with its callers."""
    return entry.py_func if PLAIN else Inner(entry.py_func, apart=True)


class _Expected:
    """A function that returns its condition; in compiled code with LLVM's hint for the likely outcome."""

    def __init__(self, outcome: bool) -> None:
        self._outcome = outcome

    def __call__(self, condition: bool) -> bool:
        return condition

    @functools.cached_property
    def _numba_type_(self):
        return importlib.import_module("tcpfair.compiler").type_of_hint(self._outcome)


# For conditions in compiled code. The common path is laid out without jumps and gets the registers; results do not
# change. Without the hint LLVM assumes that two times are nearly always unequal, and moved the code for events due now
# far away.
likely, unlikely = _Expected(True), _Expected(False)
