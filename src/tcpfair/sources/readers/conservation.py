"""Relations between the numbers of any recording, checked for all formats.

A flow delivers a window per round trip: goodput * srtt / (cwnd * MSS) is about 1. In correct recordings it is between .2 and 1.2
(unused windows, retransmissions, polls that miss the peak); with a wrong unit it differs by factors of 8 to 10^6. Two
tools on one connection count the same bytes in the same time.
"""

from __future__ import annotations

import numpy as np

from tcpfair.errors import InputError
from tcpfair.sources.readers.observed import Floats, ObservedFlow

LEAST, MOST = 0.02, 2.5  # of goodput * srtt / (cwnd * MSS)
MSS_BYTES = 536.0, 1448.0, 65_535.0  # smallest, usual, largest: segments without hardware's limits, as on loopback
LARGEST_WINDOW_BYTES = 2.0**31  # TCP's window scale ends at half of it
FEWEST_WINDOWS = 10
USED_PKTS = 20.0  # a flow that never filled its initial window need not use it
SAME_BYTES = 0.05  # of the counts of two tools in the same time
EDGE_S = 1.0  # error of an edge of that time: a start by the clock of a shell


def refuse_impossible_windows(flow: ObservedFlow) -> None:
    """Raise InputError when the windows and RTTs of a flow contradict its goodput."""
    known = flow.windows[(flow.windows["cwnd_pkts"] > 0) & (flow.windows["srtt_s"] > 0)]
    least_mss, usual_mss, most_mss = (flow.mss_bytes,) * 3 if flow.mss_bytes > 0 else MSS_BYTES
    largest_pkts = flow.windows["cwnd_pkts"].max() if len(flow.windows) else 0.0
    if largest_pkts * least_mss > LARGEST_WINDOW_BYTES:
        raise InputError(
            f"{flow.file}: {flow.name}: cwnd: {largest_pkts:.4g} packets are more than TCP can have in flight; "
            "check the unit of cwnd, and that the file is not damaged"
        )
    if len(known) < FEWEST_WINDOWS:
        return
    window_rate = (known["cwnd_pkts"] / known["srtt_s"]).median()  # packets/s
    steps, lasted_s = np.diff(flow.total_bytes), np.diff(flow.times_s)
    mean_rate = steps.sum() / lasted_s.sum()
    busy_s = lasted_s[steps > 0].sum()
    says = ""
    if mean_rate > MOST * most_mss * window_rate:
        says = "delivers more than its window per RTT allows"
    elif (
        busy_s > 0
        and known["cwnd_pkts"].median() > USED_PKTS
        and steps.sum() / busy_s < LEAST * usual_mss * window_rate
    ):
        says = "delivers almost none of its window per RTT"
    if says:
        one_window = mean_rate / window_rate
        raise InputError(
            f"{flow.file}: {flow.name}: {says} (goodput * srtt / cwnd is {one_window:.3g} bytes a packet); check the units of "
            "cwnd and srtt, and of the bytes"
        )


def refuse_other_bytes(
    goodput: ObservedFlow, times_s: Floats, total_bytes: Floats, what: str, *, from_start: bool = False
) -> None:
    """Raise InputError when another tool counted other bytes of the same connection in the same time.

    ``times_s`` are on the clock of ``goodput``, ``total_bytes`` the other tool's counts until then, both (readings,).
    ``from_start``: the other tool recorded the connection from its start, so totals must agree, not only increments.
    """
    from_s, to_s = max(goodput.times_s[0], times_s[0]), min(goodput.times_s[-1], times_s[-1] - EDGE_S)
    if to_s - from_s < 2 * EDGE_S:
        if to_s <= from_s:
            raise InputError(f"{what}: at other times than {goodput.file.name}; give the files of one run")
        return
    if from_start:
        from_s = goodput.times_s[0]
    edges_s = np.linspace(from_s, to_s, 5)
    own = np.interp(edges_s, goodput.times_s, goodput.total_bytes)
    low = np.interp(edges_s - EDGE_S, times_s, total_bytes)
    high = np.interp(edges_s + EDGE_S, times_s, total_bytes)
    base = 0.0 if from_start else np.interp(from_s, times_s, total_bytes) - own[0]
    slack = SAME_BYTES * max(own[-1] - own[0], 1.0) + 4 * 131_072
    own = own + base
    off = (own < low - slack) | (own > high + slack)
    if off.any():
        i = np.argmax(off)
        counted = np.interp(edges_s[i], times_s, total_bytes)
        raise InputError(
            f"{what}: {counted - base:.4g} bytes until {edges_s[i] - goodput.times_s[0]:.3g} s, but {own[i] - base:.4g} in "
            f"{goodput.file.name}; check that both are of the same flow and run"
        )
