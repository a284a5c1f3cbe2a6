"""Validity of a run of the testbed: it is refused for packets lost elsewhere, a paused host or a wrong delay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.sources.testbed.setup import FRAME_BYTES, PAYLOAD_BYTES, WIRE_BYTES, Setup
from tcpfair.units import BITS_PER_BYTE, MS_PER_S

RTT_WITHIN_MS = 1.0
CEILING_SLACK = 1.002  # a token bucket's burst, and iperf3's clock
LARGEST_PAUSE_S = 0.03  # of the relay: a packet that left later than this would have found another queue
LARGEST_POLL_GAP_S = 0.25
CLOCK_STEP_S = 0.002
LARGEST_SENDER_SHARE = 0.05  # of the time in which a sender's own buffer or program limited it
_US_PER_S = 1e6
_OPEN = 0  # enum tcp_ca_state
_NOT_CARRIED = {
    "unread_pkts": "were not read in time",
    "unsent_pkts": "could not be sent",
    "full_rings_pkts": "found no room",
    "oversized_pkts": "were larger than a frame: an offload is on",
    "strange_pkts": "had no receiver",
}


@dataclass(frozen=True)
class Counted:
    """Drops of the bottleneck and retransmissions of the senders, up to a moment at which they must agree."""

    at_s: float  # from t = 0
    drops: int
    retransmissions: int
    needless: int  # retransmissions of data that the receiver had already, by its duplicate SACKs


def counted(setup: Setup, t0_s: float, polls: Sequence[pd.DataFrame], queue: pd.DataFrame) -> Counted | None:
    """Compare at the last moment without a recovery and without a drop for `_settle_s`.

    ``polls`` has a table of TCP_INFO for each sender, ``queue`` the bottleneck's counter; both have wall-clock ``t``.
    None without such a moment. At the end of flows their last packets are probed for, whether lost or not: these are
    excluded.
    """
    moments = polls[0]["t"].drop_duplicates().to_numpy()
    moments = moments[moments <= t0_s + setup.duration_s]
    drop_t, drops = queue["t"].to_numpy(), queue["drops"].to_numpy()
    now, before = (_known(drop_t, drops, moments - ago) for ago in (0.0, _settle_s(setup)))
    quiet = now == before
    retransmissions = needless = np.zeros(len(moments), np.int64)
    for table in polls:
        for _, own in table.groupby("sport"):
            t = own["t"].to_numpy()
            busy = ((own["ca_state"] != _OPEN) | (own["lost"] > 0) | (own["retrans"] > 0)).to_numpy()
            # closed sockets keep their last counts: if busy, their further retransmissions are unknown
            quiet = quiet & ~(_known(t, busy, moments).astype(bool))
            retransmissions = retransmissions + _known(t, own["total_retrans"].to_numpy(), moments)
            needless = needless + _known(t, own["dsack_dups"].to_numpy(), moments)
    # a drop after the last poll of the queue is not counted yet
    quiet = quiet & (moments <= drop_t[-1]) if len(drop_t) else quiet
    if not quiet.any():
        return None
    last = int(np.flatnonzero(quiet)[-1])
    return Counted(float(moments[last] - t0_s), int(now[last]), int(retransmissions[last]), int(needless[last]))


def _known(times: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The latest of ``values`` at each moment of ``at``; 0 before the first."""
    index = np.searchsorted(times, at, side="right") - 1
    return np.where(index >= 0, values[np.maximum(index, 0)], 0) if len(values) else np.zeros(len(at), np.int64)


def faults(
    setup: Setup,
    result: Mapping[str, Any],
    delivered_bytes: Sequence[float],
    polls: Sequence[pd.DataFrame],
    queue: pd.DataFrame,
    at: Counted | None,
) -> Iterator[str]:
    """The faults of a run, one line each; none when it is valid.

    ``result`` is the stage's result, ``delivered_bytes`` the total at the receiver of each flow, ``at`` the result of `counted`.
    """
    relay = result["relay"]
    yield from (f"{relay[name]} packets {what} in the relay" for name, what in _NOT_CARRIED.items() if relay.get(name))
    late_ms, most_ms = MS_PER_S * relay.get("latest_s", 0.0), MS_PER_S * LARGEST_PAUSE_S
    if late_ms > most_ms:
        yield f"the relay was late by {late_ms:.1f} ms, more than {most_ms:g}: the machine paused"
    if abs(result["clock_step_s"]) > CLOCK_STEP_S:
        yield f"the clock stepped by {result['clock_step_s']:g} s"
    of_flows = zip(setup.flows, result["rtt_probe_ms"], polls, strict=True)
    for number, (flow, probe_ms, table) in enumerate(of_flows, start=1):
        runs_s = setup.duration_s - flow.start_s
        yield from (f"flow {number}: {fault}" for fault in _flow_faults(flow.rtt_ms, runs_s, probe_ms, table))
    yield from _goodput_faults(setup, result, delivered_bytes, queue)
    yield from _loss_faults(setup, result, queue, at)


def _flow_faults(rtt_ms: float, runs_s: float, probe_ms: float, table: pd.DataFrame) -> Iterator[str]:
    """The faults of one flow, by its probe and the polls of its TCP."""
    if not abs(probe_ms - rtt_ms) <= RTT_WITHIN_MS:
        yield f"a round trip takes {probe_ms:.2f} ms, set are {rtt_ms:g} ms"
    least_ms = table["min_rtt_us"].min() / MS_PER_S
    if least_ms < rtt_ms - RTT_WITHIN_MS:
        yield f"TCP saw {least_ms:.2f} ms, set are {rtt_ms:g} ms"
    t = np.unique(table["t"].to_numpy())
    gap_s = float(np.diff(t).max()) if len(t) > 1 else np.inf
    if gap_s > LARGEST_POLL_GAP_S:
        yield f"no poll for {gap_s:.2f} s: the machine paused"
    data = table[table["sport"] == table.groupby("sport")["bytes_acked"].max().idxmax()].iloc[-1]
    for column, what in (("sndbuf_limited_us", "its own buffer"), ("rwnd_limited_us", "the receiver's window")):
        share = data[column] / _US_PER_S / runs_s
        if share > LARGEST_SENDER_SHARE:
            yield f"{what}, not the network, held it back for {100 * share:.0f} % of the time"


def _goodput_faults(
    setup: Setup, result: Mapping[str, Any], delivered_bytes: Sequence[float], queue: pd.DataFrame
) -> Iterator[str]:
    """By the bottleneck's counter, because the flows' clocks start at different times."""
    t, carried = queue["t"].to_numpy(), queue["bytes"].to_numpy()
    if len(t) < 2:
        yield "the bottleneck was not polled"
        return
    per_second = np.interp(np.arange(t[0], t[-1], 1.0), t, carried)
    span = min(5, len(per_second) - 1)
    if span > 0:
        most_bps = (per_second[span:] - per_second[:-span]).max() * BITS_PER_BYTE / span * WIRE_BYTES / FRAME_BYTES
        # the relay counts accepted packets
        slack_bps = 0.0 if result["bottleneck"] == "tbf" else setup.limit_bytes * BITS_PER_BYTE / span
        if most_bps > CEILING_SLACK * setup.rate_bps + slack_bps:
            yield f"the bottleneck carried {most_bps / 1e6:.2f} Mb/s, set are {setup.rate_bps / 1e6:g}"
    most_bytes = carried[-1] * PAYLOAD_BYTES / FRAME_BYTES
    if sum(delivered_bytes) > CEILING_SLACK * most_bytes:
        yield f"{sum(delivered_bytes):.0f} bytes were delivered, {most_bytes:.0f} passed the bottleneck"


def _loss_faults(setup: Setup, result: Mapping[str, Any], queue: pd.DataFrame, at: Counted | None) -> Iterator[str]:
    if at is not None:
        if at.drops != at.retransmissions - at.needless:
            resent = f"{at.retransmissions} retransmitted"
            resent += f" ({at.needless} of them needless)" if at.needless else ""
            dropped = f"{at.drops} packets dropped at the bottleneck until {at.at_s:.1f} s"
            yield f"{dropped}, {resent}: packets were lost elsewhere, or counted as lost"
        return
    # never quiet: at the end, except packets dropped too late to be retransmitted
    resent = sum(counters["RetransSegs"] for counters in result["counters"])
    needless = sum(counters.get("TCPDSACKRecv", 0) for counters in result["counters"])
    total = int(queue["drops"].iloc[-1]) if len(queue) else 0
    settled_s = np.array(result["t0"] + setup.duration_s - _settle_s(setup))
    late = total - int(_known(queue["t"].to_numpy(), queue["drops"].to_numpy(), settled_s))
    if abs(total - resent + needless) > late:
        yield f"{total} packets dropped at the bottleneck, {resent} retransmitted: packets were lost elsewhere"


def _settle_s(setup: Setup) -> float:
    """The time without a drop after which senders outside recovery have detected all of them."""
    return 1.2 * (setup.longest_rtt_s + setup.longest_queue_s) + 0.05
