"""The simulation loop and its Python entry point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcpfair.cc.registry import algorithm, dtypes, param_values
from tcpfair.engine.endpoint import acknowledge, emit, packets_out, receive, send, timeout
from tcpfair.engine.rng import packets_to_loss, seed_state
from tcpfair.engine.state import (
    ARRIVAL,
    DELACK,
    EMISSION,
    ENDPOINT,
    EVENT,
    IDLE,
    LINK,
    NEVER,
    PACKET,
    RECOVERY,
    REDUCTION,
    SLOT,
    START,
    TIMEOUT,
)
from tcpfair.jit import jit, jit_cached, jit_inline
from tcpfair.units import service_time_s

_UNLIMITED = 1 << 60
_LOG_SIZE = 4096
_RECEIVE_WINDOWS = 16  # receive buffer in largest windows: long recoveries without SACK must not hit it


@jit_inline
def next_event_s(e, ring, access):
    """When something happens to this flow next; what, goes to ``e.next_kind``."""
    t = NEVER
    e.next_kind = IDLE
    if e.head < e.tail:
        t = ring[e.ring_first + (e.head & e.ring_mask)].arrival_s
        e.next_kind = ARRIVAL
    if e.access_head < e.access_tail:
        enter_s = access[e.access_first + (e.access_head & e.access_mask)].enter_s
        if enter_s < t:
            t = enter_s
            e.next_kind = EMISSION
    if e.unacked > 0 and e.delack_at_s < t:
        t = e.delack_at_s
        e.next_kind = DELACK
    if e.next_kind == IDLE and (packets_out(e) > 0 or e.shown > e.resend):
        t = e.rto_base_s + e.rto_s * e.backoff
        e.next_kind = TIMEOUT
    return t


@jit_inline
def handle(link, e, f, p, ring, lost, got, access, log, flow, now):
    """What is due for this flow at ``now``."""
    if e.next_kind == ARRIVAL:
        at_once = receive(e, ring, got)
        if not at_once:
            if e.unacked == 1:
                e.delack_at_s = now + e.delack_s
            return
        acknowledge(link, e, f, p, lost, log, flow, now)
    elif e.next_kind == EMISSION:
        emit(link, e, ring, lost, access, now)
        return
    elif e.next_kind == DELACK:
        acknowledge(link, e, f, p, lost, log, flow, now)
    elif e.next_kind == TIMEOUT:
        timeout(link, e, f, p, ring, lost, log, flow, now)
    send(link, e, f, p, ring, lost, access, log, flow, now)


@jit
def take_samples(k, link, ends, flows, out, link_out, now):
    """State at the end of sample interval k."""
    for i in range(ends.size):
        out[0, k, i] = ends[i].rcv_nxt if ends[i].reliable == 1 else ends[i].received
        out[1, k, i] = ends[i].received
        out[2, k, i] = flows[i].cwnd
        out[3, k, i] = flows[i].ssthresh
        out[4, k, i] = flows[i].srtt
    link_out[0, k] = link.forwarded
    link_out[1, k] = link.dropped
    link_out[2, k] = max(link.free_s - now, 0.0) / link.service_s


@jit_inline
def play(keys, winners, leaves, i):
    """Replay the matches of flow i up the winner tree (ties go to the lower flow)."""
    node = (leaves + i) >> 1
    while node > 0:
        left, right = winners[2 * node], winners[2 * node + 1]
        winners[node] = left if keys[left] <= keys[right] else right
        node >>= 1


@jit_inline
def runner_up_s(keys, winners, leaves, i):
    """The earliest event of all other flows: the least of the losers against i on its way to the root."""
    t = NEVER
    node = leaves + i
    while node > 1:
        t = min(t, keys[winners[node ^ 1]])
        node >>= 1
    return t


@jit_cached
def simulate(
    link, ends, flows, params, ring, lost, got, access, log, keys, winners, duration_s, sample_s, out, link_out
):
    """Run the dumbbell to ``duration_s``; fills samples and counters in place. Returns the number of trains.

    ``keys`` (a power of two, at least the flows) and ``winners`` (twice that) hold the winner tree.
    """
    n, leaves = ends.size, keys.size
    for i in range(leaves):
        winners[leaves + i] = i
    for i in range(n):
        keys[i] = ends[i].start_s
        ends[i].next_kind = START
    for i in range(n):
        play(keys, winners, leaves, i)

    k, samples = 0, out.shape[1]
    trains = 0
    while True:
        i = winners[1]
        now = keys[i]
        while k < samples and now >= (k + 1) * sample_s:
            take_samples(k, link, ends, flows, out, link_out, (k + 1) * sample_s)
            k += 1
        if now >= duration_s:
            break
        trains += 1
        limit = min(runner_up_s(keys, winners, leaves, i), duration_s)
        if k < samples:
            limit = min(limit, (k + 1) * sample_s)
        e, f, p = ends[i], flows[i], params[i]
        while True:
            link.events += 1
            handle(link, e, f, p, ring, lost, got, access, log, i, now)
            now = next_event_s(e, ring, access)
            if now >= limit:
                break
        keys[i] = now
        play(keys, winners, leaves, i)
    return trains


@dataclass(frozen=True)
class Result:
    """What one run leaves: cumulative packets per sample and flow, windows, link counters, events, totals per flow."""

    t_s: np.ndarray  # (samples,) end of each interval
    delivered_pkts: np.ndarray  # (samples, flows) in order, cumulative
    received_pkts: np.ndarray  # (samples, flows) first arrivals, cumulative
    cwnd_pkts: np.ndarray  # (samples, flows)
    ssthresh_pkts: np.ndarray  # (samples, flows)
    srtt_s: np.ndarray  # (samples, flows)
    forwarded_pkts: np.ndarray  # (samples,) cumulative
    dropped_pkts: np.ndarray  # (samples,) cumulative, queue overflows
    queue_pkts: np.ndarray  # (samples,)
    events: np.ndarray  # records of state.EVENT
    ends: np.ndarray  # records of state.ENDPOINT at the end
    link: np.ndarray  # one record of state.LINK at the end
    trains: int


def _power_of_two(at_least: float) -> int:
    return 1 << max(int(np.ceil(np.log2(max(at_least, 8)))), 3)


def _endpoints(scenario, service_s: float) -> tuple[np.ndarray, dict[str, int]]:
    """Endpoint records with their shares of the common arrays, and the sizes of these."""
    ends = np.zeros(len(scenario.flows), ENDPOINT)
    used = dict.fromkeys(("ring", "lost", "got", "access"), 0)
    for e, flow in zip(ends, scenario.flows, strict=True):
        chosen = algorithm(flow.cc)
        path = (flow.rtt_s + scenario.jitter_s) / service_s + scenario.buffer_pkts + 2
        window = 2 * path + flow.iw_pkts + (flow.access_queue_pkts if flow.access_bps else 0)
        window = min(window, flow.rwnd_pkts + flow.iw_pkts)
        window = min(window, flow.size_pkts)
        sizes = {
            "ring": _power_of_two(path + 8),
            "lost": _power_of_two(2 * window + 8),
            "got": _power_of_two(min(_RECEIVE_WINDOWS * window + 64, flow.size_pkts + 8)),
            "access": _power_of_two(flow.access_queue_pkts + flow.access_jitter_s / service_s + 8)
            if flow.access_bps
            else 8,
        }
        for name, size in sizes.items():
            e[f"{name}_first"], e[f"{name}_mask"] = used[name], size - 1
            used[name] += size
        e["algorithm"] = chosen.number
        e["recovery"] = RECOVERY[flow.recovery or chosen.recovery]
        e["reduction"] = REDUCTION[flow.reduction]
        e["reliable"] = chosen.reliable
        e["watches_acks"] = chosen.on_every_ack is not None
        e["ack_every"], e["byte_counting"] = flow.ack_every, flow.byte_counting
        for name in ("rtt_s", "delack_s", "rto_min_s", "start_s", "stop_s", "access_jitter_s"):
            e[name] = getattr(flow, name)
        e["size"] = min(flow.size_pkts, _UNLIMITED)
        e["rwnd"] = min(flow.rwnd_pkts, float(_UNLIMITED))
        e["span"] = min(e["rwnd"], sizes["got"] - 1) if chosen.reliable else _UNLIMITED
        e["access_service_s"] = service_time_s(scenario.wire_bytes, flow.access_bps)
        e["access_queue"] = int(flow.access_queue_pkts)
        e["backoff"], e["rto_s"] = 1.0, 1.0
        e["delack_at_s"] = NEVER
        e["round_start_s"], e["round_rtt_min"] = -1.0, NEVER
        e["rto_base_s"] = flow.start_s
    return ends, used


def _flow_states(scenario) -> tuple[np.ndarray, np.ndarray]:
    """Initial state and parameters of the algorithms."""
    state_dtype, params_dtype = dtypes()
    flows = np.zeros(len(scenario.flows), state_dtype)
    params = np.zeros(len(scenario.flows), params_dtype)
    for i, flow in enumerate(scenario.flows):
        flows[i]["cwnd"] = flow.iw_pkts
        flows[i]["ssthresh"] = min(flow.initial_ssthresh_pkts, float(_UNLIMITED))
        for name, value in param_values(flow.cc, flow.params).items():
            params[i][name] = value
    return flows, params


def run(scenario, seed: int = 1, log_events: bool | None = None) -> Result:
    """Simulate one scenario with one seed.

    ``scenario`` has the attributes of :class:`tcpfair.scenario.Scenario`. Events are logged when the scenario records
    them or ``log_events`` says so. Raises InputError for an unknown algorithm or parameter.
    """
    service_s = service_time_s(scenario.wire_bytes, scenario.capacity_bps)
    samples = round(scenario.duration_s / scenario.sample_s)
    logging = "events" in scenario.record if log_events is None else log_events
    log_size = _LOG_SIZE if logging else 0
    while True:
        link = np.zeros(1, LINK)
        link["service_s"] = service_s
        link["longest_wait_s"] = (scenario.buffer_pkts + 1e-9) * service_s
        link["loss_rate"], link["jitter_s"] = scenario.loss_rate, scenario.jitter_s
        link["random"] = seed_state(np.uint64(seed))
        link["log_size"] = log_size
        if scenario.loss_rate > 0:
            link["to_next_loss"] = packets_to_loss(link[0])
        ends, sizes = _endpoints(scenario, service_s)
        flows, params = _flow_states(scenario)
        out = np.zeros((5, samples, len(ends)))
        link_out = np.zeros((3, samples))
        log = np.zeros(max(log_size, 1), EVENT)
        leaves = 1 << (len(ends) - 1).bit_length()
        trains = simulate(
            link[0],
            ends,
            flows,
            params,
            np.zeros(sizes["ring"], SLOT),
            np.zeros(sizes["lost"], PACKET),
            np.zeros(sizes["got"], np.uint8),
            np.zeros(sizes["access"], PACKET),
            log,
            np.full(leaves, NEVER),
            np.zeros(2 * leaves, np.int64),
            float(scenario.duration_s),
            float(scenario.sample_s),
            out,
            link_out,
        )
        if link["logged"][0] <= log_size:
            break
        log_size = int(link["logged"][0])  # once more with room for all events: the run is deterministic
    return Result(
        t_s=scenario.sample_s * np.arange(1, samples + 1),
        delivered_pkts=out[0].astype(np.int64),
        received_pkts=out[1].astype(np.int64),
        cwnd_pkts=out[2],
        ssthresh_pkts=out[3],
        srtt_s=out[4],
        forwarded_pkts=link_out[0].astype(np.int64),
        dropped_pkts=link_out[1].astype(np.int64),
        queue_pkts=link_out[2],
        events=log[: link["logged"][0]],
        ends=ends,
        link=link[0],
        trains=trains,
    )
