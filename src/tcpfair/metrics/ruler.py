"""One ruler: a flow's goodput over its goodput in a reference world.

With y the goodput of a flow against the others, the reference is one of

* ``"self"``: y_self, its goodput when all flows are of its kind. y / y_self is the ratio below NRU, U = 10 log10(y /
  y_self) (bhatti2009, sec. II-G, eq. 9-10; as U_n(t), eq. 3-4);
* ``"solo"``: x, its goodput alone. Harm is 1 - y / x (Ware, Mukerjee, Seshan and Sherry, Beyond Jain's Fairness Index,
  HotNets 2019, sec. 4);
* ``"max_min"``: m, its max-min share of the link (Bertsekas and Gallager, Data Networks, sec. 6.5.2). y / m is the
  share that Prudentia reports (Philip et al., SIGCOMM 2024).

The three differ by constants of the flow: y / x = (y / y_self) (y_self / x). A flow is therefore harmed more by the others
than by its own kind if and only if its U, of mean goodputs, is below 0: the requirement of Ware et al. for a new
protocol is NRU's 0 dB.

Jain's index, Gini's coefficient and the entropy are symmetric: a permutation of the flows changes none of them, so they
cannot show which flow loses, or whether a flow could use more.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from tcpfair.metrics.exactmath import log10

Floats = npt.NDArray[np.float64]
Reference = Literal["self", "solo", "max_min"]


def ruler(
    y: npt.ArrayLike,
    reference: Reference,
    *,
    y_self: npt.ArrayLike | None = None,
    x: npt.ArrayLike | None = None,
    m: npt.ArrayLike | None = None,
) -> Floats:
    """``y`` over the reference, elementwise: ``y_self`` for "self", ``x`` for "solo", ``m`` for "max_min"; all in one unit.

    Raises ValueError for an unknown reference and for one without its value. NaN where both are 0.

    >>> ruler([20, 70], "self", y_self=[45, 45]).round(3).tolist()
    [0.444, 1.556]
    """
    values = {"self": ("y_self", y_self), "solo": ("x", x), "max_min": ("m", m)}
    if reference not in values:
        raise ValueError(f"ruler: reference {reference!r} is unknown; known are {', '.join(values)}")
    name, value = values[reference]
    if value is None:
        raise ValueError(f"ruler: reference {reference!r} needs {name}")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(np.asarray(y, dtype=float), np.asarray(value, dtype=float)))


def nru_db(ratio: npt.ArrayLike) -> Floats:
    """NRU in dB of y / y_self: U = 10 log10 R (bhatti2009, eq. 3).

    >>> float(nru_db(0.5).round(2))
    -3.01
    """
    return np.asarray(10 * log10(ratio))


def jensen_gap_db(ratio_t: npt.ArrayLike) -> Floats:
    """The excess of the U of the mean over the mean of U_n(t) (bhatti2009, eq. 5), in dB; ``ratio_t`` (..., samples) > 0.

    At least 0 by Jensen's inequality, because the logarithm is concave; 0 for a steady flow. A flow that alternates
    between half and one and a half times its share has a U of the mean of 0 dB, yet a U_n of -0.62 dB.

    >>> float(jensen_gap_db([0.5, 1.5]).round(2))
    0.62
    """
    ratio_t = np.asarray(ratio_t, dtype=float)
    return np.asarray(nru_db(ratio_t.mean(axis=-1)) - nru_db(ratio_t).mean(axis=-1))


def harm(x: npt.ArrayLike, y: npt.ArrayLike, less_is_better: bool = False) -> Floats:
    """Harm from ``x`` alone to ``y`` against others: (x - y) / x, or (y - x) / y where less is better, as for delay and loss.

    Ware et al., sec. 4. 0 is no harm, 1 the worst; below 0 a flow gains. No harm where both are 0.

    >>> float(harm(90, 30).round(3)), float(harm(10, 40, less_is_better=True))
    (0.667, 0.75)
    """
    x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    base, lost = (y, y - x) if less_is_better else (x, x - y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(lost == 0, 0.0, lost / base)


def max_min(capacity: float, demands: npt.ArrayLike) -> Floats:
    """Max-min shares (flows,) of a link of ``capacity``; a flow never gets more than its demand (inf: unlimited).

    Flows with small demands are served first, and the rest is shared equally (Bertsekas and Gallager, sec. 6.5.2).

    >>> max_min(50, [10, np.inf]).tolist()
    [10.0, 40.0]
    """
    demands = np.asarray(demands, dtype=float)
    shares, left = np.zeros(demands.shape), float(capacity)
    for served, flow in enumerate(np.argsort(demands, kind="stable")):
        shares[flow] = min(demands[flow], left / (demands.size - served))
        left -= shares[flow]
    return shares


def gini(r: npt.ArrayLike) -> Floats:
    """Gini's coefficient along the last axis: mean absolute difference over twice the mean; 0 is equal, 1 - 1/n the worst.

    >>> float(gini([20, 70]).round(3))
    0.278
    """
    r = np.asarray(r, dtype=float)
    with np.errstate(invalid="ignore"):
        return np.asarray(
            np.abs(r[..., np.newaxis] - r[..., np.newaxis, :]).mean(axis=(-2, -1)) / (2 * r.mean(axis=-1))
        )


def entropy(r: npt.ArrayLike) -> Floats:
    """Shannon's entropy of the shares along the last axis, over that of equal shares, log n: 1 is equal, 0 the worst.

    >>> float(entropy([1, 3]).round(3))
    0.811
    """
    r = np.asarray(r, dtype=float)
    with np.errstate(invalid="ignore"):
        p = r / r.sum(axis=-1, keepdims=True)
        return np.asarray(-(p * log10(np.where(p > 0, p, 1))).sum(axis=-1) / log10(r.shape[-1]))
