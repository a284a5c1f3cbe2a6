"""Two CUBIC flows that lose at the same moments: from their windows at one common loss to those at the next.

T. Kozu, Y. Akiyama, S. Yamaguchi, "Improving RTT Fairness on CUBIC TCP", 2014, section 3.2 and figure 5. After a common
loss each flow follows C (t - K)^3 + W_max with its own K. It has two readings of when both lose again:

* the paper's (`PAPER`): when the sum of the two windows has regained its value;
* the physical one (`physical`): when the windows, sent once per RTT with a full buffer, fill the link: the sum of
  W_i / (RTT_i + B/mu) is mu. It also counts the round trips that loss detection and recovery take before the curve
  begins, and the Reno-friendly region (eq. 3) at the RTT of the mean queue.

Neither models fast convergence (eq. 4), the round trips in which a window jumps to a curve that starts above it, and
bursts, which overflow the buffer early. Arrays have shape (flows,), flows = 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tcpfair.models import cubic

Floats = npt.NDArray[np.float64]

_SHARES = 1 / (1 + np.exp(-np.linspace(-6, 6, 49)))  # close to 0 and 1 too, where one flow starves
_STEP = 1e-4  # of the share, for the numerical derivative
_STILL = 1e-10  # changes of the share below this are rounding


@dataclass(frozen=True)
class Method:
    """A method's rules for K, from W_max in packets and RTT in s, and for C, from the RTT."""

    k_s: Callable[[Floats, Floats], Floats]
    c: Callable[[Floats], Floats] = lambda rtt_s: np.full_like(rtt_s, cubic.C)


STANDARD = Method(lambda w_max_pkts, rtt_s: cubic.cubic_k_s(w_max_pkts))  # eq. 2
PROPOSED = Method(cubic.proposed_k_s)  # eq. 6
PROPOSED_WITH_C = Method(cubic.proposed_k_s, cubic.scaled_c)  # eqs. 6 to 8


def constant(k_s: float) -> Method:
    """K of ``k_s`` for any window (sec. 3.3, 3.4)."""
    return Method(lambda w_max_pkts, rtt_s: np.full_like(w_max_pkts, k_s))


def existing(x: tuple[float, float]) -> Method:
    """K of eq. 2 times x(RTT) of each flow (eq. 9)."""
    return Method(lambda w_max_pkts, rtt_s: cubic.existing_k_s(w_max_pkts, np.array(x)))


@dataclass(frozen=True)
class Link:
    """The bottleneck and the two flows' RTTs without queue."""

    capacity_pps: float
    buffer_pkts: float
    rtt_s: tuple[float, float]

    @property
    def full_wait_s(self) -> float:
        """Queueing delay with the buffer full."""
        return self.buffer_pkts / self.capacity_pps

    @property
    def full_rtt_s(self) -> Floats:
        """RTTs with the buffer full."""
        return np.array(self.rtt_s) + self.full_wait_s

    def share(self, w_max_pkts: npt.ArrayLike) -> float:
        """Share of flow 1 in the throughput when both windows are sent once per full RTT."""
        rates_pps = np.asarray(w_max_pkts) / self.full_rtt_s
        return float(rates_pps[0] / rates_pps.sum())

    def windows_pkts(self, share: float) -> Floats:
        """Windows that fill link and buffer with flow 1 at ``share``: the inverse of `share`."""
        return np.array([share, 1 - share]) * self.capacity_pps * self.full_rtt_s

    def wait_s(self, windows_pkts: Floats) -> float:
        """Queueing delay at which these windows just fill the link; 0 when they do not, at most the full buffer's."""

        def surplus_pps(wait_s: float) -> float:
            return float((windows_pkts / (np.array(self.rtt_s) + wait_s)).sum()) - self.capacity_pps

        if surplus_pps(0.0) <= 0:
            return 0.0
        return self.full_wait_s if surplus_pps(self.full_wait_s) >= 0 else _root(surplus_pps, 0.0, self.full_wait_s)


@dataclass(frozen=True)
class Reading:
    """The condition of the next common loss, and effects besides the cubic curve."""

    full_link: bool  # the link and its buffer are full; else: the sum of the windows has its old value
    recovery_rtts: float = 0.0  # from the loss to the start of the curve, in RTTs with a full buffer
    reno_pkts_per_rtt: float = 0.0  # growth in the Reno-friendly region; 0: no such region


PAPER = Reading(full_link=False)


def physical(ack_every: int = 1, beta: float = cubic.BETA) -> Reading:
    """One RTT until a loss is detected, one until it is recovered; Reno-friendly growth per ACK (eq. 3)."""
    return Reading(True, recovery_rtts=2.0, reno_pkts_per_rtt=3 * beta / (2 - beta) / ack_every)


@dataclass(frozen=True)
class CubicMap:
    """The map from one common loss to the next."""

    link: Link
    method: Method
    reading: Reading
    beta: float = cubic.BETA

    def growth(self, w_max_pkts: npt.ArrayLike) -> Callable[[float], Floats]:
        """Windows as a function of the time in s after a common loss at ``w_max_pkts``."""
        w_max_pkts, rtt_s, reading = np.asarray(w_max_pkts, dtype=float), np.array(self.link.rtt_s), self.reading
        reduced = (1 - self.beta) * w_max_pkts
        k_s, c = self.method.k_s(w_max_pkts, rtt_s), self.method.c(rtt_s)
        start_s = reading.recovery_rtts * self.link.full_rtt_s
        # a cubic return to W_max is a quarter of the decrease below it on average
        wait_s = self.link.wait_s((1 - self.beta / 4) * w_max_pkts) if reading.reno_pkts_per_rtt else 0.0
        reno_pps = reading.reno_pkts_per_rtt / (rtt_s + wait_s)

        def windows_pkts(t_s: float) -> Floats:
            since_s = np.maximum(t_s - start_s, 0.0)
            curve = np.where(since_s > 0, cubic.window_pkts(since_s, k_s, w_max_pkts, c), reduced)
            return np.maximum(curve, reduced + reno_pps * since_s)

        return windows_pkts

    def next_loss(self, w_max_pkts: npt.ArrayLike) -> tuple[float, Floats]:
        """Time in s until both lose again, and their windows then."""
        windows_pkts = self.growth(w_max_pkts)
        weights = 1 / self.link.full_rtt_s if self.reading.full_link else np.ones(2)
        level = self.link.capacity_pps if self.reading.full_link else np.sum(w_max_pkts)

        def above(t_s: float) -> float:
            return float((weights * windows_pkts(t_s)).sum()) - level

        late_s = 1.0
        while above(late_s) < 0:
            late_s *= 2
        t_s = _root(above, 0.0, late_s) if above(0.0) < 0 else 0.0
        return t_s, windows_pkts(t_s)

    def path(self, w_max_pkts: npt.ArrayLike, losses: int) -> tuple[Floats, Floats]:
        """Times in s and windows of the start and ``losses`` further common losses: (losses + 1,), (losses + 1, flows)."""
        times_s, windows = [0.0], [np.asarray(w_max_pkts, dtype=float)]
        for _ in range(losses):
            t_s, w_pkts = self.next_loss(windows[-1])
            times_s.append(times_s[-1] + t_s)
            windows.append(w_pkts)
        return np.array(times_s), np.array(windows)

    def next_share(self, share: float) -> float:
        """Share of flow 1 at the next common loss."""
        return self.link.share(self.next_loss(self.link.windows_pkts(share))[1])

    def derivative(self, share: float) -> float:
        """Slope of `next_share`: below 1 the map converges to a fixed share, at 1 hardly, above 1 it diverges."""
        return (self.next_share(share + _STEP) - self.next_share(share - _STEP)) / (2 * _STEP)

    def fixed_shares(self) -> list[float]:
        """Fixed points: shares of flow 1 between 0 and 1 that reproduce themselves; empty if none or all do."""
        drifts = np.array([self.next_share(share) - share for share in _SHARES])
        moving = np.abs(drifts) > _STILL
        shares, drifts = _SHARES[moving], drifts[moving]
        turns = np.flatnonzero(np.diff(np.sign(drifts)))
        return [_root(lambda s: self.next_share(s) - s, shares[i], shares[i + 1]) for i in turns]

    def is_still(self) -> bool:
        """Whether every share reproduces itself."""
        return all(abs(self.next_share(share) - share) <= _STILL for share in _SHARES[::6])


def _root(of: Callable[[float], float], low: float, high: float) -> float:
    """Where a function is 0 between two values at which its signs differ."""
    from scipy.optimize import brentq  # slow to import, and needed by one paper

    return brentq(of, low, high)
