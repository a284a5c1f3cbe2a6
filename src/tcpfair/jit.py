"""numba, set up so that compiled code is reproducible and never stale.

* One CPU baseline on x86-64, without fused multiply-add, and no fast-math: the same bits on every machine.
* numba's cache on disk does not notice edits in *other* files than the cached function's own. The cache folder is
  therefore named by a hash of all sources that are compiled into the simulator, before anything is compiled.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import sys
import tempfile
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

import numba  # noqa: E402  (reads the environment above when it is imported)
import numba.extending  # noqa: E402
from numba.core import cgutils  # noqa: E402

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


def jit(function):
    """Compile without Python objects, without the GIL and with IEEE division; not cached by itself."""
    return numba.njit(function, error_model="numpy", nogil=True, _nrt=False)


class _ApartArrays(numba.core.compiler.Compiler):
    """Tells LLVM that the arrays a function is given do not overlap."""

    def __init__(self, *args):
        super().__init__(*args)
        self.state.flags.noalias = True


def jit_cached(function):
    """As ``jit``, for the few entry points that Python calls: kept in the cache folder."""
    return numba.njit(function, error_model="numpy", nogil=True, cache=True, _nrt=False, pipeline_class=_ApartArrays)


def jit_inline(function):
    """As ``jit``, inlined where it is called: an array argument is seven words, which a call would copy."""
    return numba.njit(function, error_model="numpy", nogil=True, forceinline=True, _nrt=False)


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
