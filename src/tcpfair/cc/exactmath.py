"""Elementary functions from IEEE operations only, so that results do not depend on the machine's libm."""

from __future__ import annotations

from tcpfair.jit import jit


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
