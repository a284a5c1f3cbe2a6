"""numba, set up so that compiled code is reproducible and never stale.

* One CPU baseline on x86-64, without fused multiply-add, and no fast-math: the same bits on every machine.
* numba's cache on disk does not notice edits in *other* files than the cached function's own. The cache folder is
  therefore named by a hash of all sources that are compiled into the simulator, before anything is compiled.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

BASELINE_CPU = "x86-64-v2"
_PACKAGE = Path(__file__).resolve().parent


def source_hash(package: Path = _PACKAGE) -> str:
    """SHA-256 over all sources that are compiled into the simulator: ``cc/``, ``engine/``, this file."""
    sha = hashlib.sha256()
    for path in sorted([*(package / "cc").glob("*.py"), *(package / "engine").glob("*.py"), package / "jit.py"]):
        sha.update(path.name.encode())
        sha.update(path.read_bytes())
    return sha.hexdigest()


def _cache_root() -> Path:
    for variable, below in (("TCPFAIR_CACHE", ""), ("XDG_CACHE_HOME", "tcpfair"), ("HOME", ".cache/tcpfair")):
        if os.environ.get(variable):
            root = Path(os.environ[variable]) / below
            try:
                root.mkdir(parents=True, exist_ok=True)
            except OSError:
                continue
            return root
    return Path(tempfile.gettempdir()) / f"tcpfair-{os.getuid()}"


if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("NUMBA_CPU_NAME", BASELINE_CPU)
    os.environ.setdefault("NUMBA_CPU_FEATURES", "")
os.environ["NUMBA_CACHE_DIR"] = str(
    _cache_root() / f"{os.environ.get('NUMBA_CPU_NAME', platform.machine())}-{source_hash()[:16]}"
)

import llvmlite.binding as llvm  # noqa: E402
import numba  # noqa: E402  (reads the environment above when it is imported)
import numba.extending  # noqa: E402
from numba.core import cgutils, codegen  # noqa: E402
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


def jit(function: Callable) -> CPUDispatcher:
    """Compile for the use of compiled code; LLVM decides where it is inlined."""
    return _Inner(function, _PartCompiler)


def jit_inline(function: Callable) -> CPUDispatcher:
    """As ``jit``, inlined wherever it is called: for what happens with every packet."""
    return _Inner(function, _InlineCompiler)


def jit_cached(function: Callable) -> CPUDispatcher:
    """Compile an entry point, which Python calls, with arrays that do not overlap; kept in the cache folder."""
    return numba.jit(function, cache=True, pipeline_class=_EntryCompiler, **_OPTIONS)


def part_of_another(entry: CPUDispatcher) -> CPUDispatcher:
    """An entry point for compiled code to call: linked there and optimised together with its callers."""
    return _Inner(entry.py_func, _ApartCompiler)


def _expected(outcome: bool):
    """A function of a condition that returns it, and tells LLVM which way it nearly always goes."""
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
