"""The engine as a wasm module, from its Python sources: numba's LLVM IR, an object by llvmlite's LLVM, linked here.

numba gives its IR before optimisation (NUMBA_OPT=0), because what it optimises is laid out for pointers of 64 bits.
The IR's integers stay 64 bits wide; only pointers are narrower. Floating point has no licence to differ: no fused
multiply-add, no reassociation, no vector instructions, and of libm only what wasm has as one instruction with one right
answer. That needs a separate process (`python -m tcpfair.web.wasm OUTPUT`) with a separate compile cache, since numba
would take its unoptimised code for the native one's. What was built is kept in the native compile cache's folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from tcpfair.errors import InputError
from tcpfair.runs import code

PACKAGE = Path(__file__).parent
TRIPLE = "wasm32-unknown-unknown"
ENTRY = "run"
# libm functions that wasm has as an instruction
_INSTRUCTIONS = ("sqrt", "floor", "ceil", "fabs")
_REMAINDER = "tcpfair_remainder"
_OPTIMISATION = 3
_BUILT_BY = ("entry.py", "link.py", "wasm.py")
_HEADER = 'target datalayout = ""\ntarget triple = ""\n'
# numba's wrappers for Python go before they cost time; then each function by itself, before it is inlined in many places
_FIRST_PASSES = (
    *("global_dead_code_eliminate", "sroa", "simplify_cfg", "instruction_combine"),
    *("new_gvn", "simplify_cfg", "dead_code_elimination"),
)


def digest() -> str:
    """Digest of what a module is built from: the sources of engine, entry and linker, and the versions of the compilers."""
    sources = code.reached([PACKAGE / "entry.py"], ("engine/", "cc/", "compiler.py", "jit.py", "units.py"))
    own = code.digest_of({*sources, *code.PACKAGE.glob("cc/*.py"), *(PACKAGE / name for name in _BUILT_BY)})
    return hashlib.sha256(f"{own} {version('numba')} {version('llvmlite')}".encode()).hexdigest()


def module() -> bytes:
    """The module; built when the cache has no undamaged one that was built from the same sources."""
    from tcpfair import jit  # and with it LLVM: the plan of a run needs the digest alone

    place = jit.folder / f"engine-{digest()[:16]}.wasm.sealed"
    built = jit.kept(place)
    if built is None:
        built = build()
        jit.keep(place, built)
    return built


def build() -> bytes:
    """Compile and link, in a separate process (about 15 s)."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "engine.wasm"
        environment = {**os.environ, "NUMBA_OPT": "0", "TCPFAIR_CACHE": folder}
        command = [sys.executable, "-m", "tcpfair.web.wasm", str(output)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise InputError(f"the engine cannot be compiled to wasm: {last}")
        return output.read_bytes()


def _named_instructions() -> str:
    """libm's functions as LLVM's intrinsics, and an exact remainder, for which wasm has no instruction."""
    intrinsics = """
declare double @llvm.NAME.f64(double)
define double @NAME(double %x) alwaysinline {
  %y = call double @llvm.NAME.f64(double %x)
  ret double %y
}
"""
    named = "".join(intrinsics.replace("NAME", name) for name in _INSTRUCTIONS)
    return f"""{_HEADER}{named}
declare double @llvm.copysign.f64(double, double)
define double @{_REMAINDER}(double %x, double %y) {{
start:
  %a = call double @llvm.fabs.f64(double %x)
  %b = call double @llvm.fabs.f64(double %y)
  %finite = fcmp olt double %a, 0x7FF0000000000000
  %divides = fcmp ogt double %b, 0.0
  %sane = and i1 %finite, %divides
  br i1 %sane, label %next, label %nothing
nothing:
  ret double 0x7FF8000000000000
next:
  %left = phi double [ %a, %start ], [ %less, %subtract ]
  %more = fcmp oge double %left, %b
  br i1 %more, label %double, label %done
double:
  %part = phi double [ %b, %next ], [ %twice, %double ]
  %twice = fadd double %part, %part
  %fits = fcmp ole double %twice, %left
  br i1 %fits, label %double, label %subtract
subtract:
  %less = fsub double %left, %part
  br label %next
done:
  %signed = call double @llvm.copysign.f64(double %left, double %x)
  ret double %signed
}}
"""


def _entry(name: str) -> str:
    """The exported function. numba's returns its result through a pointer, and a status that is not 0 when an exception was
    raised, which the engine never does: it becomes a trap."""
    return f"""{_HEADER}
declare i32 @"{name}"(ptr, ptr, ptr, i64, double)
declare void @llvm.trap()
define i32 @{ENTRY}(ptr %heap, i32 %bytes, double %until_s) {{
  %result = alloca i64
  %exception = alloca ptr
  store i64 0, ptr %result
  %room = zext i32 %bytes to i64
  %status = call i32 @"{name}"(ptr %result, ptr %exception, ptr %heap, i64 %room, double %until_s)
  %raised = icmp ne i32 %status, 0
  br i1 %raised, label %failed, label %done
failed:
  call void @llvm.trap()
  unreachable
done:
  %value = load i64, ptr %result
  %short = trunc i64 %value to i32
  ret i32 %short
}}
"""


def _retargeted(ir: str, layout: str) -> str:
    """The IR for wasm, with calls for remainders. Forced inlining becomes a hint, because it would take minutes."""
    ir = re.sub(r"^target datalayout = .*$", f'target datalayout = "{layout}"', ir, flags=re.MULTILINE)
    ir = re.sub(r"^target triple = .*$", f'target triple = "{TRIPLE}"', ir, flags=re.MULTILINE)
    ir = ir.replace(" alwaysinline", " inlinehint")
    found = re.sub(r"= frem double (\S+), (\S+)", rf"= call double @{_REMAINDER}(double \1, double \2)", ir)
    return found if found == ir else f"{found}\ndeclare double @{_REMAINDER}(double, double)\n"


def _object(modules: list[str]) -> bytes:
    """One wasm object of modules in IR, the first with the entry. All others are inlined, internal or omitted."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(cpu="generic", opt=_OPTIMISATION, reloc="static", codemodel="default")
    whole = llvm.parse_assembly("")
    for ir in modules:
        part = llvm.parse_assembly(_retargeted(ir, str(machine.target_data)))
        shared = (each for each in part.functions if each.linkage != llvm.Linkage.internal)
        _set_linkage(shared, "weak_odr")  # several modules have the same helpers of numba
        whole.link_in(part)
    _set_linkage((*whole.functions, *whole.global_variables), "internal")
    whole.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=_OPTIMISATION)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    first = llvm.create_new_module_pass_manager()
    for each in _FIRST_PASSES:
        getattr(first, f"add_{each}_pass")()
    first.run(whole, builder)
    builder.getModulePassManager().run(whole, builder)
    return machine.emit_object(whole)


def _set_linkage(symbols: Iterable, linkage: str) -> None:
    for symbol in symbols:
        if not symbol.is_declaration and symbol.name != ENTRY:
            symbol.linkage = linkage


def _compile(output: Path) -> None:
    from tcpfair.compiler import linked, module_of
    from tcpfair.web import entry
    from tcpfair.web.link import link

    entry.run.dispatcher.compile(entry.SIGNATURE)
    [compiled] = entry.run.dispatcher.overloads.values()
    lowered = [str(module_of(library)) for library in (compiled.library, *linked(compiled.library))]
    modules = [_entry(compiled.fndesc.llvm_func_name), *lowered, _named_instructions()]
    output.write_bytes(link(_object(modules), ENTRY))


if __name__ == "__main__":
    _compile(Path(sys.argv[1]))
