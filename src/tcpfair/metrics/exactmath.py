"""Elementary functions of arrays from IEEE operations only, so metrics depend neither on the processor nor on its libm.

`numpy.log10` has several implementations, chosen by the instructions of the processor, and their last bits differ.
Those of elementwise additions, multiplications and divisions do not. `tcpfair.cc.exactmath` has the same for compiled code.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LOG10_E = 0.4342944819032518
# log10 of 2 in two parts: the first has 40 bits, so that an exponent times it is exact
_LOG10_2_HIGH = 0.30102999566361177
_LOG10_2_LOW = 3.694239077158931e-13
_SQRT_HALF = 0.7071067811865476


def log10(x: npt.ArrayLike) -> Floats:
    """Logarithm to base 10 of each of ``x``, within four units in the last place.

    -inf for 0 and NaN below, without a warning. With x = m 2^e, m in [0.707, 1.414), it is
    2 artanh((m - 1)/(m + 1)) log10(e) + e log10(2).
    """
    x = np.asarray(x, dtype=float)
    m, e = np.frexp(x)
    small = m < _SQRT_HALF
    m, e = np.where(small, 2 * m, m), e - small
    with np.errstate(invalid="ignore", divide="ignore"):  # of values that have no logarithm
        z = (m - 1) / (m + 1)
        z2 = z * z
        series = np.zeros_like(z2)
        for k in range(21, 0, -2):  # the next term is below a hundredth of a unit in the last place
            series = series * z2 + 1 / k
        found = e * _LOG10_2_HIGH + (e * _LOG10_2_LOW + 2 * z * series * _LOG10_E)
    return np.select([x == np.inf, x > 0, x == 0], [np.inf, found, -np.inf], np.nan)[()]
