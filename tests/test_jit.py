import numba
import numpy as np
import pytest

from tcpfair.jit import jit, jit_inline, likely, linked, part_of_another, unlikely


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
    return function.overloads[(numba.int64,)].library


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


def test_an_entry_point_is_one_module_and_its_parts_have_no_machine_code():
    assert entry(4) == 4 * 1 + 9
    names = {each.name for each in library_of(entry.by_itself).get_defined_functions()}
    assert not [name for name in names if "twice" in name or "inlined" in name]
    assert "twice" in [each.name for each in linked(library_of(twice_and_one))]
    with pytest.raises(RuntimeError, match="no compiled object"):
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
    with pytest.raises(RuntimeError, match="no compiled object"):
        library_of(part)._get_compiled_object()
