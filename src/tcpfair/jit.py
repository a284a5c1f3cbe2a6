"""numba, set up so that compiled code is reproducible and never stale.

* One CPU baseline on x86-64, without fused multiply-add, and no fast-math: the same bits on every machine.
* numba's cache on disk does not notice edits in *other* files than the cached function's own. The cache folder is
  therefore named by a hash of all sources that are compiled into the simulator, before anything is compiled.
* Each file of the cache begins with a checksum. A damaged file is removed and compiled again, with one line on stderr.

NUMBA_DISABLE_JIT=1 runs the same functions as plain Python: the same bits, some thousand times slower, for a debugger.
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
    """Whether files can be read and written in ``folder``, which is made if it is missing."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _is_own(folder: Path) -> bool:
    """Whether ``folder``, made if it is missing, belongs to this user, and only this user can write to it."""
    with suppress(OSError):
        folder.mkdir(mode=0o700)
    with suppress(OSError):
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return False


def _cache_folder(name: str) -> Path:
    """The folder ``name`` of the first usable cache: what it contains is executed, so under /tmp it must be this user's own."""
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

numba.config.reload_config()  # in case somebody imported numba before


def _skip_blas() -> None:
    """Let numba's array module find no BLAS: the simulator has no linear algebra, and SciPy takes a quarter of the start."""
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules["scipy.linalg"]


_skip_blas()


# ---------------------------------------------------------------- kept on disk


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
    """A sealed file for each signature, named by a hash of all that it depends on: there is no index that could be damaged."""

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
    """numba's cache with sealed files. Code that cannot be written is used all the same."""

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
        """Whether there is compiled code for any signature."""
        return any(unsealed(path) is not None for path in self._cache_file.kept())


def is_compiled(entry: CPUDispatcher) -> bool:
    """Whether this process has compiled the entry point, or finds it undamaged in the cache; True in plain Python."""
    return PLAIN or bool(entry.signatures) or entry._cache.is_filled()


# ---------------------------------------------------------------- compiled once, from the entry point


class _Part(codegen.JITCodeLibrary):
    """A function that compiled code alone calls: LLVM's IR for the entry points to link, no machine code of its own."""

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # what numba takes for "no wrapper for Python"

    @property
    def codegen(self):
        return self  # for the next method alone

    def set_env(self, name: str, environment) -> None:
        """No machine code, nothing that could look for Python objects."""

    def own_module(self):
        """The function without what it calls."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self):
        """For callers that numba itself compiles: with all that it calls."""
        return link_all(self.own_module().clone(), self)


def linked(library: codegen.CodeLibrary) -> list[codegen.CodeLibrary]:
    """The libraries that ``library`` calls, straight or by way of others that have no machine code."""
    found = list(dict.fromkeys(library._linking_libraries))
    for each in found:  # which grows meanwhile
        if isinstance(each, _Part):
            found += [further for further in each._linking_libraries if further not in found]
    return found


def link_all(module, library: codegen.CodeLibrary):
    """``module`` with all that ``library`` calls."""
    for each in linked(library):
        module.link_in(each.own_module() if isinstance(each, _Part) else each._get_module_for_linking(), preserve=True)
    return module


class _Whole(codegen.JITCodeLibrary):
    """An entry point with all that it calls, linked and optimised together: numba would do so again at each level of calls."""

    def finalize(self) -> None:
        link_all(self._final_module, self)
        self._linking_libraries = []
        super().finalize()

    def _optimize_final_module(self) -> None:
        # nobody else calls them: what they make no use of, such as the strides of an array, need not be handed over
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.linkonce_odr:
                function.linkage = llvm.Linkage.internal
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = options.slp_vectorization = False  # packets come one by one
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class _PartCompiler(numba.core.compiler.Compiler):
    """numba's compiler. It would inline whatever is compiled on behalf of an inlined function: that is said of each here."""

    library: type[codegen.CodeLibrary] = _Part
    inline = False
    apart = False  # the arrays that the function is given do not overlap

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
    """Compiled where compiled code calls it. A call from Python compiles it by itself, as an entry point."""

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
    """An array of records that gives and takes a `_Row` by its number."""

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
        with np.errstate(all="ignore"):  # whole numbers wrap, as in compiled code
            return function(*map(_as_rows, args))

    entry.py_func = function
    return entry


# ---------------------------------------------------------------- decorators


def jit(function: Callable) -> CPUDispatcher:
    """Compile for the use of compiled code; LLVM decides where it is inlined."""
    return _plain(function) if PLAIN else _Inner(function, _PartCompiler)


def jit_inline(function: Callable) -> CPUDispatcher:
    """As ``jit``, inlined wherever it is called: for what happens with every packet."""
    return _plain(function) if PLAIN else _Inner(function, _InlineCompiler)


def jit_cached(function: Callable) -> CPUDispatcher:
    """Compile an entry point, which Python calls, with arrays that do not overlap; kept in the cache folder."""
    if PLAIN:
        return _plain_entry(function)
    entry = numba.jit(function, pipeline_class=_EntryCompiler, **_OPTIONS)
    entry._cache = _Cache(function)
    return entry


def part_of_another(entry: CPUDispatcher) -> CPUDispatcher:
    """An entry point for compiled code to call: linked there and optimised together with its callers."""
    return entry.py_func if PLAIN else _Inner(entry.py_func, _ApartCompiler)


def _expected(outcome: bool):
    """A function of a condition that returns it, and tells LLVM which way it nearly always goes."""
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


# For conditions in compiled code. The common way is laid out straight and gets the registers; no result changes. Without
# it LLVM takes two times to be unequal nearly always, so that what is due now stood far off.
likely, unlikely = _expected(True), _expected(False)
