"""numba, set up so that an entry point and all that it calls become one object file: for `tcpfair.jit`, which runs it.

That module has set numba's environment before it imports this one.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import llvmlite.binding as llvm
import numba
import numba.extending
from numba.core import cgutils, codegen, typed_passes, types, untyped_passes
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher, cpu_target
from numba.np.numpy_support import as_dtype

from tcpfair.machine import free_cores

numba.config.reload_config()  # in case numba was imported before


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
        """No lookup of Python objects."""

    def own_module(self):
        """The function without its callees."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self):
        """For callers that numba itself compiles: with all callees."""
        return _link_all(self.own_module().clone(), self)


def linked(library: codegen.CodeLibrary) -> list[codegen.CodeLibrary]:
    """The libraries that ``library`` calls, directly or through others without machine code."""
    found = list(dict.fromkeys(library._linking_libraries))
    for each in found:  # which grows meanwhile
        if isinstance(each, _Part):
            found += [further for further in dict.fromkeys(each._linking_libraries) if further not in found]
    return found


def _link_all(module, library: codegen.CodeLibrary):
    """``module`` with all callees of ``library``."""
    for each in linked(library):
        module.link_in(module_of(each), preserve=True)
    return module


def module_of(library: codegen.CodeLibrary):
    """LLVM's IR of one of the libraries of `linked`."""
    return library.own_module() if isinstance(library, _Part) else library._get_module_for_linking()


def _hide_callees(module) -> None:
    """They have no other callers, so unused arguments, such as the strides of an array, can be dropped."""
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.linkage in (llvm.Linkage.linkonce_odr, llvm.Linkage.common):
            each.linkage = llvm.Linkage.internal


class Beside(_Part):
    """Functions that are called with three arguments of the same types, and return nothing: a copy of this process compiles
    them, while this one compiles their callers."""

    def __init__(self, functions: Sequence[Any]) -> None:
        super().__init__(cpu_target.target_context.codegen(), "beside")
        self._functions = functions
        self._args: tuple | None = None
        self._copy: _Copy | None = None
        self._bitcode: bytes | None = None

    def type_of(self, symbol: str) -> Any:
        """The type of a function that calls the one with this name."""

        @numba.extending.intrinsic
        def call(typingctx, number, flow, params):
            args = number, flow, params
            if self._args is None:
                self._args = args
                self._copy = _Copy(self._compiled) if _is_alone() else None
            return (types.none(*args), code) if args == self._args else None

        def code(context, builder, signature, args):
            kind = context.call_conv.get_function_type(types.none, signature.args)
            function = cgutils.get_or_insert_function(builder.module, kind, symbol)
            status, _ = context.call_conv.call_function(builder, function, types.none, signature.args, args)
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            context.active_code_library.add_linking_library(self)
            return context.get_dummy_value()

        return _type_of(call)

    def own_module(self):
        """Of these functions with all callees; compiled in this process if the copy failed, or there is none."""
        if self._bitcode is None:
            self._bitcode = (self._copy and self._copy.result()) or self._compiled()
        return llvm.parse_bitcode(self._bitcode)

    def _compiled(self) -> bytes:
        """LLVM's bitcode."""
        parts = _Part(self._codegen, self.name)
        for function in self._functions:
            function.dispatcher.compile(self._args)
            [result] = function.dispatcher.overloads.values()
            compiled = result.library.own_module().get_function(result.fndesc.llvm_func_name)
            compiled.name, compiled.linkage = function.__name__, llvm.Linkage.external
            parts.add_linking_library(result.library)
        module = _link_all(self._final_module.clone(), parts)
        _hide_callees(module)
        return module.as_bitcode()


def _is_alone() -> bool:
    """Whether this process can safely be copied, having no other threads, and the copy has a core to run on.

    Libraries of macOS may fail in a copy.
    """
    return sys.platform == "linux" and threading.active_count() == 1 and free_cores() > 1


_FILES = 2**16  # more than a process has open


class _Copy:
    """A copy of this process that does ``work`` and ends."""

    def __init__(self, work: Callable[[], bytes]) -> None:
        self._reads, writes = os.pipe()
        with warnings.catch_warnings():  # Python 3.12 counts the threads of BLAS, which a copy does not use
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                # the locks and pipes of this process are not for the copy, which may end later
                os.closerange(0, writes)
                os.closerange(writes + 1, _FILES)
                with os.fdopen(writes, "wb") as out:
                    out.write(work())
                status = 0
            finally:
                os._exit(status)
        os.close(writes)

    def result(self) -> bytes | None:
        """What the work returned; None when it failed."""
        with os.fdopen(self._reads, "rb") as results:
            found = results.read()
        with suppress(ChildProcessError):  # ended and waited for by somebody else
            _, status = os.waitpid(self._pid, 0)
            return found if status == 0 else None
        return None


class _Whole(_Part):
    """An entry point with all callees, linked and optimised once: numba would repeat that at each level of calls."""

    def finalize(self) -> None:
        _link_all(self._final_module, self)
        self._linking_libraries = []
        _hide_callees(self._final_module)
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = options.slp_vectorization = False  # packets are handled one by one
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)
        super().finalize()

    def machine_code(self) -> bytes:
        """An object file."""
        self._ensure_finalized()
        return self._codegen._tm.emit_object(self._final_module)

    def calls(self) -> list[str]:
        """Functions outside of it."""
        self._ensure_finalized()
        functions = (each for each in self._final_module.functions if each.is_declaration)
        return sorted(each.name for each in functions if not each.name.startswith("llvm."))


# numba's passes without those for closures, contexts, literals and parallel loops, which compiled code does not have
_PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    untyped_passes.DeadBranchPrune,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class _PartCompiler(numba.core.compiler.Compiler):
    """numba's compiler. It would inline every callee of an inlined function; here each function states it."""

    library: type[codegen.CodeLibrary] = _Part
    inline = False
    apart = False  # the array arguments do not overlap

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.state.flags.forceinline = self.inline
        self.state.flags.noalias = self.apart

    def define_pipelines(self):
        passes = PassManager("tcpfair")
        for each in _PASSES:
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]

    def compile_extra(self, function):
        self.state.library = self.library(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


class _InlineCompiler(_PartCompiler):
    inline = True


class _ApartCompiler(_PartCompiler):
    apart = True


class _EntryCompiler(_ApartCompiler):
    library = _Whole


@contextmanager
def _without_collector() -> Iterator[None]:
    """The collector of garbage would visit numba's many lasting objects again and again, a tenth of the compiler's time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# no Python objects, no GIL, IEEE division
_OPTIONS = {
    "nopython": True,
    "error_model": "numpy",
    "nogil": True,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def _dispatcher(function: Callable, compiler: type[_PartCompiler]) -> CPUDispatcher:
    return CPUDispatcher(function, targetoptions=_OPTIONS, pipeline_class=compiler)


def part(function: Callable, *, inline: bool = False, apart: bool = False) -> CPUDispatcher:
    """A function for compiled code to call; ``apart``: with array arguments that do not overlap."""
    return _dispatcher(function, _InlineCompiler if inline else _ApartCompiler if apart else _PartCompiler)


def compiled(function: Callable, args: tuple) -> tuple[str, list[str], bool, list[str], bytes]:
    """The entry point for arguments of these types, as a `tcpfair.jit.Code` has it. Raises numba's errors."""
    dispatcher = _dispatcher(function, _EntryCompiler)
    with _without_collector():
        dispatcher.compile(tuple(map(numba.typeof, args)))
    [result] = dispatcher.overloads.values()
    returned = result.signature.return_type
    values = () if returned == types.none else returned if isinstance(returned, types.BaseTuple) else (returned,)
    return (
        result.fndesc.llvm_func_name,
        [as_dtype(each).str for each in values],
        isinstance(returned, types.BaseTuple),
        result.library.calls(),
        result.library.machine_code(),
    )


def load_functions() -> None:
    """Make numba's own functions known to LLVM, for machine code that calls one."""
    cpu_target.target_context.refresh()


def type_of_hint(outcome: bool) -> Any:
    """The type of a function that returns its condition, with LLVM's hint for the likely outcome."""
    word = cgutils.true_bit if outcome else cgutils.false_bit

    @numba.extending.intrinsic
    def expect(typingctx, condition):
        def code(context, builder, signature, args):
            kind = cgutils.ir.FunctionType(cgutils.bool_t, [cgutils.bool_t, cgutils.bool_t])
            function = builder.module.declare_intrinsic("llvm.expect", [cgutils.bool_t], kind)
            return builder.call(function, [args[0], word])

        return numba.types.boolean(numba.types.boolean), code

    return _type_of(expect)


def _type_of(intrinsic: Any) -> Any:
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(intrinsic)
