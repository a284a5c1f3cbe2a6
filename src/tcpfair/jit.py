"""numba, set up so that compiled code is reproducible and never stale.

* One CPU baseline on x86-64, without fused multiply-add, and no fast-math: the same bits on every machine.
* numba's cache on disk detects only edits of the cached function's own file. So the cache folder is named by a hash of
  all sources of the simulator, before compilation starts.
* Each file of the cache begins with a checksum. A damaged file is removed and recompiled, with one line on stderr.

NUMBA_DISABLE_JIT=1 runs the same functions as plain Python: the same bits, about a thousand times slower, for a debugger.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import itertools
import os
import pickle
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

BASELINE_CPU = "x86-64-v2"
_PACKAGE = Path(__file__).resolve().parent


def source_hash(package: Path = _PACKAGE) -> str:
    """SHA-256 over all sources that are compiled into the simulator: ``cc/``, ``engine/``, this file."""
    sha = hashlib.sha256()
    for path in sorted([*(package / "cc").glob("*.py"), *(package / "engine").glob("*.py"), package / "jit.py"]):
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
os.environ["NUMBA_CACHE_DIR"] = str(
    _cache_folder(f"{os.environ.get('NUMBA_CPU_NAME', platform.machine())}-{source_hash()[:16]}")
)

import llvmlite.binding as llvm  # noqa: E402
import numba  # noqa: E402  (reads the environment above when it is imported)
import numba.extending  # noqa: E402
from numba.core import caching, cgutils, codegen  # noqa: E402
from numba.core.registry import CPUDispatcher  # noqa: E402

numba.config.reload_config()  # in case numba was imported before


def _skip_blas() -> None:
    """Hide BLAS from numba's array module: the simulator has no linear algebra, and SciPy takes a quarter of the
    start-up time."""
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules["scipy.linalg"]


_skip_blas()


# ---------------------------------------------------------------- cache on disk


def seal(content: bytes) -> bytes:
    """``content`` after its SHA-256, for `unsealed`."""
    return hashlib.sha256(content).digest() + content


def unsealed(path: Path) -> bytes | None:
    """The content of a sealed file; None when it is missing. A damaged or unreadable file is removed, with a line on stderr."""
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


class _Locator(caching.UserProvidedCacheLocator):
    """The cache folder itself. A source is stale when any source in its folder has changed."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        return ""

    def ensure_cache_path(self) -> None:
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> bytes:
        sha = hashlib.sha256()
        for path in sorted(Path(self._py_file).parent.glob("*.py")):
            sha.update(path.name.encode() + path.read_bytes())
        return sha.digest()


class _Implementation(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _SealedFiles(caching.IndexDataCacheFile):
    """A sealed file for each signature, named by a hash of all its inputs, without an index that could be damaged."""

    def __init__(self, of: caching.IndexDataCacheFile) -> None:
        self.__dict__.update(vars(of))
        self._stem = self._index_name.removesuffix(".nbi")
        made_by = repr((self._source_stamp, self._version, llvm.llvm_version_info, sys.version_info[:2]))
        self._made_by = hashlib.sha256(made_by.encode()).hexdigest()[:16]

    def _path(self, key: object) -> Path:
        name = f"{self._stem}-{self._made_by}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.sealed"
        return Path(self._cache_path, name)

    def load(self, key: object) -> object | None:
        content = unsealed(self._path(key))
        return None if content is None else pickle.loads(content)

    def save(self, key: object, data: object) -> None:
        with self._open_for_write(str(self._path(key))) as stream:
            stream.write(seal(self._dump(data)))

    def flush(self) -> None:
        for path in self.kept():
            path.unlink(missing_ok=True)

    def kept(self) -> list[Path]:
        """Files of any signature."""
        return list(Path(self._cache_path).glob(f"{self._stem}-{self._made_by}-*.sealed"))


class _Cache(caching.FunctionCache):
    """numba's cache with sealed files. Code that cannot be written is still used."""

    _impl_class = _Implementation

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self._cache_file = _SealedFiles(self._cache_file)

    def save_overload(self, signature, result) -> None:
        try:
            super().save_overload(signature, result)
        except OSError as error:
            print(f"{self.cache_path}: {error.strerror}; compiled code is not kept", file=sys.stderr)

    def is_filled(self) -> bool:
        """Whether compiled code exists for any signature."""
        return any(unsealed(path) is not None for path in self._cache_file.kept())


def is_compiled(entry: CPUDispatcher) -> bool:
    """Whether this process has compiled the entry point, or finds it undamaged in the cache; True in plain Python."""
    return PLAIN or bool(entry.signatures) or entry._cache.is_filled()


# ---------------------------------------------------------------- compiled once, from the entry point


class _Part(codegen.JITCodeLibrary):
    """A function that only compiled code calls: LLVM's IR for the entry points to link, without separate machine code."""

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # numba's value for "no wrapper for Python"

    @property
    def codegen(self):
        return self  # only for the next method

    def set_env(self, name: str, environment) -> None:
        """No machine code, and no lookup of Python objects."""

    def own_module(self):
        """The function without its callees."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self):
        """For callers that numba itself compiles: with all callees."""
        return link_all(self.own_module().clone(), self)


def linked(library: codegen.CodeLibrary) -> list[codegen.CodeLibrary]:
    """The libraries that ``library`` calls, directly or through others without machine code."""
    found = list(dict.fromkeys(library._linking_libraries))
    for each in found:  # which grows meanwhile
        if isinstance(each, _Part):
            found += [further for further in each._linking_libraries if further not in found]
    return found


def link_all(module, library: codegen.CodeLibrary):
    """``module`` with all callees of ``library``."""
    for each in linked(library):
        module.link_in(each.own_module() if isinstance(each, _Part) else each._get_module_for_linking(), preserve=True)
    return module


class _Whole(codegen.JITCodeLibrary):
    """An entry point with all callees, linked and optimised once: numba would repeat that at each level of calls."""

    def finalize(self) -> None:
        link_all(self._final_module, self)
        self._linking_libraries = []
        super().finalize()

    def _optimize_final_module(self) -> None:
        # they have no other callers, so unused arguments, such as the strides of an array, can be dropped
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.linkonce_odr:
                function.linkage = llvm.Linkage.internal
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = options.slp_vectorization = False  # packets are handled one by one
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class _PartCompiler(numba.core.compiler.Compiler):
    """numba's compiler. It would inline every callee of an inlined function; here each function states it."""

    library: type[codegen.CodeLibrary] = _Part
    inline = False
    apart = False  # the array arguments do not overlap

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.state.flags.forceinline = self.inline
        self.state.flags.noalias = self.apart

    def compile_extra(self, function):
        self.state.library = self.library(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)


class _InlineCompiler(_PartCompiler):
    inline = True


class _ApartCompiler(_PartCompiler):
    apart = True


class _EntryCompiler(_ApartCompiler):
    library = _Whole


# no Python objects, no GIL, IEEE division
_OPTIONS = {"nopython": True, "error_model": "numpy", "nogil": True, "_nrt": False}
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Inner(CPUDispatcher):
    """Compiled with the compiled code that calls it. A call from Python compiles it alone, as an entry point."""

    def __init__(self, function: Callable, compiler: type[_PartCompiler]) -> None:
        super().__init__(function, targetoptions={**_OPTIONS, **_NO_WRAPPERS}, pipeline_class=compiler)

    @functools.cached_property
    def by_itself(self) -> CPUDispatcher:
        return numba.jit(self.py_func, pipeline_class=_EntryCompiler, **_OPTIONS)

    def __call__(self, *args):
        return self.by_itself(*args)


# ---------------------------------------------------------------- plain Python, for a debugger

PLAIN = bool(numba.config.DISABLE_JIT)


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


def jit(function: Callable) -> CPUDispatcher:
    """Compile for compiled callers; LLVM decides on inlining."""
    return _plain(function) if PLAIN else _Inner(function, _PartCompiler)


def jit_inline(function: Callable) -> CPUDispatcher:
    """As ``jit``, but always inlined: for code that runs with every packet."""
    return _plain(function) if PLAIN else _Inner(function, _InlineCompiler)


def jit_cached(function: Callable) -> CPUDispatcher:
    """Compile an entry point for Python, with arrays that do not overlap; stored in the cache folder."""
    if PLAIN:
        return _plain_entry(function)
    entry = numba.jit(function, pipeline_class=_EntryCompiler, **_OPTIONS)
    entry._cache = _Cache(function)
    return entry


def part_of_another(entry: CPUDispatcher) -> CPUDispatcher:
    """An entry point for compiled code to call: linked there and optimised together with its callers."""
    return entry.py_func if PLAIN else _Inner(entry.py_func, _ApartCompiler)


def _expected(outcome: bool):
    """A function that returns its condition, with LLVM's hint for the likely outcome."""
    if PLAIN:
        return lambda condition: condition
    word = cgutils.true_bit if outcome else cgutils.false_bit

    @numba.extending.intrinsic
    def expect(typingctx, condition):
        def codegen(context, builder, signature, args):
            kind = cgutils.ir.FunctionType(cgutils.bool_t, [cgutils.bool_t, cgutils.bool_t])
            function = builder.module.declare_intrinsic("llvm.expect", [cgutils.bool_t], kind)
            return builder.call(function, [args[0], word])

        return numba.types.boolean(numba.types.boolean), codegen

    return expect


# For conditions in compiled code. The common path is laid out without jumps and gets the registers; results do not
# change. Without the hint LLVM assumes that two times are nearly always unequal, and moved the code for events due now
# far away.
likely, unlikely = _expected(True), _expected(False)
