import os
import signal
import sys
import threading
from typing import NamedTuple

import numba
import numpy as np
import pytest

from tcpfair import compiler
from tcpfair.compiler import compiled, linked
from tcpfair.jit import jit, jit_beside, jit_inline, likely, part_of_another, unlikely
from tests.commands import ROOT, succeed


@jit
def count_both(values, bound):
    above, below = 0, 0
    for value in values:
        if likely(value > bound):
            above += 1
        if unlikely(value < bound and value != 0):
            below += 1
    return above, below


def test_a_hint_changes_no_condition():
    assert count_both(np.array([0, 1, 2, 3, 4]), 2) == (2, 1)
    assert count_both(np.array([0, 1, 2, 3, 4]), 5) == (0, 4)


@jit
def twice(x):
    return 2 * x


@jit
def twice_and_one(x):
    return twice(x) + 1


@jit
def of_inlined(x):
    return x - 3


@jit_inline
def inlined(x):
    return of_inlined(x) * x


@jit
def entry(x):
    return inlined(x) + twice_and_one(x)


def library_of(function):
    return function.dispatcher.overloads[(numba.int64,)].library


def attributes(function):
    return [
        attribute
        for each in library_of(function)._final_module.functions
        if not each.is_declaration
        for attribute in each.attributes
    ]


def test_what_compiled_code_calls_can_be_called_from_python_and_from_functions_of_others():
    assert twice_and_one(3) == 7
    assert twice_and_one(3.5) == 8.0

    @numba.njit
    def other(x):
        return twice_and_one(x) + 1

    assert other(3) == 8


def test_an_entry_point_is_one_object_file_and_its_parts_have_no_machine_code():
    assert entry(4) == 4 * 1 + 9
    symbol, _, _, calls, machine_code = compiled(entry.py_func, (4,))
    assert symbol.encode() in machine_code
    assert b"twice" not in machine_code and b"inlined" not in machine_code
    assert calls == []
    assert "twice" in [each.name for each in linked(library_of(twice_and_one))]
    with pytest.raises(ValueError, match="object caching not enabled"):
        library_of(twice_and_one)._get_compiled_object()


def test_what_an_inlined_function_calls_is_not_inlined_for_that():
    entry(4)
    assert any(b"alwaysinline" in each for each in attributes(inlined))
    assert not any(b"alwaysinline" in each for each in attributes(of_inlined))


def test_an_entry_point_as_a_part_of_another():
    part = part_of_another(entry)

    @jit
    def whole(x):
        return part(x) + 1

    assert whole(4) == entry(4) + 1
    with pytest.raises(ValueError, match="object caching not enabled"):
        library_of(part)._get_compiled_object()


ROW = np.dtype([("n", np.int64), ("x", np.float64)], align=True)


class Block(NamedTuple):
    rows: np.ndarray
    more: float


@jit
def fill(block, row, factor):
    """Writes to an array of records in a tuple, and to a record."""
    for k in range(block.rows.size):
        block.rows[k].x = factor * k + block.more
    row.n += 1


@jit
def described(values):
    return values.size, values[-1], values.size > 2


@jit
def at_most(x, most):
    if x > most:
        raise ValueError("too large", 3)
    return x


@jit
def same(x):
    return x


def test_arguments_and_results_of_machine_code():
    rows = np.zeros(3, ROW)
    assert fill(Block(rows, 0.5), rows[1], 2) is None
    assert rows.tolist() == [(0, 0.5), (1, 2.5), (0, 4.5)]
    assert described(np.array([1.5, 2.5])) == (2, 2.5, False)
    assert described(np.arange(6)[::2]) == (3, 4, True)  # another order, another type
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    assert described(frozen) == (3, 2.0, True)
    assert (same(np.uint64(2**64 - 1)), same(1.25), same(True)) == (2**64 - 1, 1.25, True)


def test_sizes_do_not_make_another_type():
    """An array of at most one row is in the order of C and of Fortran."""
    for shape in ((2, 3), (1, 3), (2, 1), (0, 3)):
        sum_of(np.ones(shape))
    assert sum_of.by_itself.compilations == 1


@jit
def sum_of(values):
    total = 0.0
    for row in values:
        for value in row:
            total += value
    return total


def test_an_exception_of_compiled_code():
    assert at_most(2, 3) == 2
    with pytest.raises(ValueError, match="too large") as told:
        at_most(4, 3)
    assert told.value.args == ("too large", 3)
    line = at_most.py_func.__code__.co_firstlineno + 3
    assert told.value.__notes__ == [f'File "{__file__}", line {line}, in at_most']


def rules():
    """Two functions that are compiled beside their caller, the caller, and what is compiled here of the two."""

    @jit
    def add(number, row, bounds):
        row.x += number
        if row.x > bounds[0]:
            raise ValueError("too large", 3)

    @jit
    def double(number, row, bounds):
        row.x *= np.sqrt(float(number)) * np.sqrt(float(number))

    added, doubled = jit_beside(add, double)

    @jit
    def both(number, row, bounds):
        added(number, row, bounds)
        doubled(number, row, bounds)
        added(number, row, bounds)
        return row.x

    return both, lambda: [each.__name__ for each in (add, double) if each.dispatcher.overloads]


def one_row():
    return np.zeros(1, ROW)[0]


def test_functions_are_compiled_in_a_copy_of_the_process_when_it_is_alone_and_has_two_cores(monkeypatch):
    monkeypatch.setattr(compiler, "free_cores", lambda: 2)
    both, compiled_here = rules()
    assert both(4, one_row(), np.array([99.0])) == 20.0
    assert compiled_here() == []
    with pytest.raises(ValueError, match="too large") as told:
        both(4, one_row(), np.array([19.0]))
    assert told.value.args == ("too large", 3)
    assert f'File "{__file__}"' in told.value.__notes__[0] and told.value.__notes__[0].endswith("add")


@pytest.mark.parametrize("reason", ["one core", "a thread", "the copy fails", "the copy is killed", "waited for"])
def test_otherwise_they_are_compiled_in_this_process(monkeypatch, reason):
    monkeypatch.setattr(compiler, "free_cores", lambda: 1 if reason == "one core" else 2)
    both, compiled_here = rules()
    here, work = os.getpid(), compiler.Beside._compiled

    def work_of_a_copy(library):
        if os.getpid() != here:
            if reason == "the copy is killed":
                os.kill(os.getpid(), signal.SIGKILL)
            elif reason == "the copy fails":
                raise MemoryError
        return work(library)

    monkeypatch.setattr(compiler.Beside, "_compiled", work_of_a_copy)
    end = threading.Event()
    if reason == "a thread":
        threading.Thread(target=end.wait).start()
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN) if reason == "waited for" else None
    try:
        assert both(4, one_row(), np.array([99.0])) == 20.0
    finally:
        end.set()
        if before is not None:
            signal.signal(signal.SIGCHLD, before)
    assert compiled_here() == ["add", "double"]


def test_other_types_of_arguments_are_refused():
    both, _ = rules()
    assert both(4, one_row(), np.array([99.0])) == 20.0
    with pytest.raises(numba.TypingError):
        both(4.0, one_row(), np.array([99.0]))


def test_a_copy_holds_no_lock_or_pipe_of_its_process():
    reads, writes = os.pipe()
    copy = compiler._Copy(lambda: signal.pause() or b"")
    os.close(writes)
    assert os.read(reads, 1) == b""
    os.close(reads)
    os.kill(copy._pid, signal.SIGKILL)
    assert copy.result() is None


def test_an_error_in_a_function_that_is_compiled_beside_is_told(monkeypatch):
    monkeypatch.setattr(compiler, "free_cores", lambda: 2)

    @jit
    def wrong(number, row, bounds):
        row.y = number

    [beside] = jit_beside(wrong)

    @jit
    def caller(number, row, bounds):
        beside(number, row, bounds)

    with pytest.raises(Exception, match="y"):
        caller(4, one_row(), np.array([99.0]))


def test_compiled_code_runs_without_numba_but_for_functions_of_numba(tmp_path):
    (tmp_path / "small.py").write_text(SMALL)
    ask = "import sys, small; print(small.hypotenuse(3.0, 4.0), small.factorial(4.0), 'numba' in sys.modules)"
    run = [
        succeed(sys.executable, "-c", ask, PYTHONPATH=f"{tmp_path}:{ROOT / 'src'}", TCPFAIR_CACHE=str(tmp_path))
        for _ in range(2)
    ]
    assert [each.stdout for each in run] == ["5.0 24.0 True\n"] * 2
    ask = "import sys, small; print(small.hypotenuse(3.0, 4.0), 'numba' in sys.modules)"
    again = succeed(sys.executable, "-c", ask, PYTHONPATH=f"{tmp_path}:{ROOT / 'src'}", TCPFAIR_CACHE=str(tmp_path))
    assert again.stdout == "5.0 False\n"


SMALL = """
import math
from tcpfair.jit import jit_cached

@jit_cached
def hypotenuse(x, y): return math.sqrt(x * x + y * y)

@jit_cached
def factorial(x): return math.gamma(x + 1)
"""
