import numpy as np

from tcpfair.jit import jit, likely, unlikely


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
