"""Window growth of TCP-Reno, TCP-Libra and TCP-Alpha before and after the bottleneck queue builds.

K. Ogura, Z. Su, J. Katto, "Congestion Control with Two Fair Allocation Modes to Achieve RTT-Fairness". Model I: the
link has residual capacity and RTT = RTT_min. Model II: the link is full and the queue grows until the buffer
overflows. The paper replaces the growing RTT of Model II by its average, which makes the window linear; the
functions named ``exact`` solve the same growth with the momentary RTT.

Every increment x_RTT is in packets per RTT. Symbols: B capacity_pps, R residual_pps, S buffer_pkts, k and k' the
constants of Libra and Alpha, all with the target rate of a Reno flow whose RTT is ``reference_rtt_s``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from tcpfair.units import BITS_PER_BYTE

Floats = npt.NDArray[np.float64]
Number = float | Floats
Protocol = Literal["reno", "libra", "alpha"]


def link_capacity_pps(rate_bps: float, packet_bytes: float) -> float:
    """Capacity B in packets per second of a link of ``rate_bps`` (unnumbered, sec. 5.1)."""
    return rate_bps / (packet_bytes * BITS_PER_BYTE)


def bdp_pkts(rtt_min_s: Number, capacity_pps: float) -> Number:
    """Bandwidth-delay product in packets (eq. 6)."""
    return rtt_min_s * capacity_pps


# --- Increments and decreases ------------------------------------------------------------------------------------


def libra_k_per_s2(rtt_reno_min_s: Number, alpha_s: Number = 0.0) -> Number:
    """k of Libra for the target rate of a Reno flow with queueing delay ``alpha_s``: eq. 9 without, eq. 15 with it."""
    return 1 / (rtt_reno_min_s + alpha_s) ** 2


def alpha_k_per_s(rtt_reno_min_s: Number, alpha_s: Number = 0.0) -> Number:
    """k' of Alpha, likewise: eq. 10 without queueing delay, eq. 16 with it."""
    return 1 / (rtt_reno_min_s + alpha_s)


def libra_increment_pkts(rtt_s: Number, k_per_s2: Number) -> Number:
    """Libra's increment per RTT (eq. 3)."""
    return k_per_s2 * rtt_s**2


def alpha_increment_pkts(rtt_s: Number, k_per_s: Number) -> Number:
    """Alpha's increment per RTT (eq. 5)."""
    return k_per_s * rtt_s


def increment_per_rtt_pkts(protocol: Protocol, rtt_s: Number, reference_rtt_s: Number) -> Number:
    """x_RTT of ``protocol`` (Table 1), with k and k' for a Reno flow of ``reference_rtt_s``.

    Raises ValueError for any other protocol.
    """
    match protocol:
        case "reno":
            return np.ones_like(rtt_s, dtype=float)[()]
        case "libra":
            return libra_increment_pkts(rtt_s, libra_k_per_s2(reference_rtt_s))
        case "alpha":
            return alpha_increment_pkts(rtt_s, alpha_k_per_s(reference_rtt_s))
    raise ValueError(f"protocol: {protocol!r} is not reno, libra or alpha")


def proposal_increment_pkts(rtt_s: Number, rtt_min_s: Number, k_per_s2: float, k_per_s: float) -> Number:
    """The two-mode proposal's increment per RTT: Libra's without queueing delay (eq. 18), Alpha's with it (eq. 19)."""
    return np.where(
        np.greater(rtt_s, rtt_min_s), alpha_increment_pkts(rtt_s, k_per_s), libra_increment_pkts(rtt_s, k_per_s2)
    )[()]


def halving_decrease_pkts(cwnd_pkts: Number) -> Number:
    """Window of Reno, Libra and Alpha after a loss (eq. 4, printed as an increment)."""
    return cwnd_pkts / 2


def westwood_decrease_pkts(cwnd_pkts: Number, rtt_min_s: Number, rtt_s: Number) -> Number:
    """Window of Westwood and of the proposal after a loss at ``rtt_s``: the BDP, but at least half (eq. 2, 20)."""
    return np.maximum(np.divide(rtt_min_s, rtt_s) * cwnd_pkts, cwnd_pkts / 2)


# --- Model I: before the queue builds ----------------------------------------------------------------------------


def t1_s(residual_pps: Number, rtt_min_s: Number, increment_pkts: Number) -> Number:
    """Time until a flow has filled the residual capacity R (eq. 8, which is eq. 7 solved; Table 2)."""
    return residual_pps * rtt_min_s**2 / increment_pkts


def model1_cwnd_pkts(
    t_s: Number, rtt_min_s: Number, capacity_pps: float, residual_pps: float, increment_pkts: Number
) -> Number:
    """Window ``t_s`` after the flow left ``residual_pps`` unused, for t_s up to t1 (eq. 11)."""
    return (capacity_pps - residual_pps) * rtt_min_s + t_s / rtt_min_s * increment_pkts


# --- Model II: while the buffer fills ----------------------------------------------------------------------------


def average_rtt_s(rtt_min_s: Number, capacity_pps: float, buffer_pkts: float) -> Number:
    """Average RTT while the buffer fills at an even rate: eq. 12 for increments that are small against S."""
    return rtt_min_s + buffer_pkts / (2 * capacity_pps)


def t2_s(mean_rtt_s: Number, buffer_pkts: float, increment_pkts: Number) -> Number:
    """Time from the first queued packet to overflow (eq. 14, which is eq. 13 solved; Table 3)."""
    return mean_rtt_s * buffer_pkts / increment_pkts


def model2_cwnd_pkts(
    t_s: Number, rtt_min_s: Number, capacity_pps: float, mean_rtt_s: Number, increment_pkts: Number
) -> Number:
    """Window ``t_s`` after the queue began to build, for t_s up to t2 (eq. 17)."""
    return capacity_pps * rtt_min_s + t_s / mean_rtt_s * increment_pkts


# --- Model II with the momentary RTT -----------------------------------------------------------------------------


def window_growth_pps(
    protocol: Protocol,
    cwnd_pkts: Number,
    rtt_min_s: float,
    capacity_pps: float,
    reference_rtt_s: float,
    *,
    follow_queue: bool,
) -> Number:
    """dW/dt = x(RTT)/RTT with RTT = max(RTT_min, W/B): the growth behind both models, without averaging.

    ``follow_queue`` adds the momentary queueing delay to ``reference_rtt_s`` (eq. 15, 16), which is then the Reno
    flow's RTT without queue; otherwise k and k' stay those of ``reference_rtt_s``. Reno has neither.
    """
    rtt_s = np.maximum(rtt_min_s, cwnd_pkts / capacity_pps)
    alpha_s = rtt_s - rtt_min_s if follow_queue else 0.0
    return increment_per_rtt_pkts(protocol, rtt_s, reference_rtt_s + alpha_s) / rtt_s


def exact_model2_cwnd_pkts(
    protocol: Protocol,
    t_s: npt.ArrayLike,
    rtt_min_s: float,
    capacity_pps: float,
    reference_rtt_s: float,
    *,
    follow_queue: bool,
) -> Floats:
    """Window at the ascending ``t_s`` (samples,) after the queue began to build: solution of `window_growth_pps`.

    Reno grows as a square root and Alpha with fixed k' as a line, Libra with fixed k exponentially. Libra with k
    following the queue has no closed form and is integrated. Parameters as for `window_growth_pps`.
    """
    t_s = np.asarray(t_s, dtype=float)
    B, BDP = capacity_pps, bdp_pkts(rtt_min_s, capacity_pps)
    match protocol, follow_queue:
        case "reno", _:
            return np.sqrt(BDP**2 + 2 * B * t_s)
        case "alpha", False:
            return BDP + t_s / reference_rtt_s
        case "alpha", True:
            # the queueing delay grows as that of the Reno flow it follows
            return BDP + B * (np.sqrt(reference_rtt_s**2 + 2 * t_s / B) - reference_rtt_s)
        case "libra", False:
            return BDP * np.exp(t_s / (B * reference_rtt_s**2))
        case "libra", True:
            return _integrated_cwnd_pkts(t_s, rtt_min_s, capacity_pps, reference_rtt_s)
    raise ValueError(f"protocol: {protocol!r} is not reno, libra or alpha")


def exact_t2_s(
    protocol: Protocol,
    rtt_min_s: float,
    capacity_pps: float,
    buffer_pkts: float,
    reference_rtt_s: float,
    *,
    follow_queue: bool,
) -> float:
    """Time from the first queued packet to overflow, with the momentary RTT.

    Integral of RTT/x(RTT) dW from BDP to BDP + S; for Reno, whose integrand is linear, that is eq. 14. Parameters as
    for `window_growth_pps`.
    """
    B, S, reference = capacity_pps, buffer_pkts, reference_rtt_s
    rtt_full_s = rtt_min_s + S / B
    match protocol, follow_queue:
        case "reno", _:
            return S * (rtt_min_s + rtt_full_s) / 2
        case "alpha", False:
            return S * reference
        case "alpha", True:
            return S * (reference + S / (2 * B))
        case "libra", False:
            return B * reference**2 * np.log(rtt_full_s / rtt_min_s)
        case "libra", True:
            # integral of (d + r)^2 / r dr, d being how much longer the followed flow's RTT is
            d = reference - rtt_min_s
            return B * (
                d**2 * np.log(rtt_full_s / rtt_min_s)
                + 2 * d * (rtt_full_s - rtt_min_s)
                + (rtt_full_s**2 - rtt_min_s**2) / 2
            )
    raise ValueError(f"protocol: {protocol!r} is not reno, libra or alpha")


def _integrated_cwnd_pkts(t_s: Floats, rtt_min_s: float, capacity_pps: float, reference_rtt_s: float) -> Floats:
    """Window of Libra whose k follows the queue, by Runge-Kutta from the BDP at t = 0."""
    from scipy.integrate import solve_ivp  # slow to import, and rarely needed

    solution = solve_ivp(
        lambda _, w: window_growth_pps("libra", w, rtt_min_s, capacity_pps, reference_rtt_s, follow_queue=True),
        (0.0, t_s[-1]),
        [bdp_pkts(rtt_min_s, capacity_pps)],
        t_eval=t_s,
        rtol=1e-8,
    )
    return solution.y[0]
