"""Elementary functions from IEEE operations only, so that results do not depend on the machine's libm."""

from __future__ import annotations

import math

from tcpfair.jit import jit

LN2 = 0.6931471805599453
# ln 2 in two parts: the first has 32 bits, so that an integer times it is exact
LN2_HIGH = 0.69314718036912381649
LN2_LOW = 1.90821492927058770002e-10


@jit
def cbrt(x):
    """Cube root of x >= 0 to within one unit in the last place or two.

    The argument is scaled into [1, 8) by exact powers of 8, a quadratic start is refined by Halley's method.
    """
    if x <= 0.0:
        return 0.0
    scale = 1.0
    while x >= 8.0:
        x *= 0.125
        scale *= 2.0
    while x < 1.0:
        x *= 8.0
        scale *= 0.5
    y = 0.7 + 0.34 * x - 0.0225 * x * x
    for _ in range(4):
        y3 = y * y * y
        y *= (y3 + 2.0 * x) / (2.0 * y3 + x)
    return y * scale


@jit
def log(x):
    """Natural logarithm of a finite x > 0: ln x = 2 artanh((m - 1)/(m + 1)) + e ln 2 with x = m 2^e, m in [0.7, 1.4)."""
    e = 0.0
    while x >= 1.4:
        x *= 0.5
        e += 1.0
    while x < 0.7:
        x *= 2.0
        e -= 1.0
    z = (x - 1.0) / (x + 1.0)
    z2 = z * z
    series = 0.0
    for k in range(21, 0, -2):  # the next term is below a hundredth of a unit in the last place
        series = series * z2 + 1.0 / k
    return 2.0 * z * series + e * LN2_LOW + e * LN2_HIGH


@jit
def exp(x):
    """e to the power x for abs(x) < 700: 2^n e^r with abs(r) <= ln 2 / 2, and the power series of e^r."""
    n = math.floor(x / LN2 + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    series = 1.0
    for k in range(14, 0, -1):
        series = 1.0 + series * r / k
    for _ in range(abs(n)):
        series *= 2.0 if n > 0 else 0.5
    return series


@jit
def power(x, y):
    """x to the power y for x > 0; the error grows with abs(y ln x), in units in the last place."""
    return exp(y * log(x))
