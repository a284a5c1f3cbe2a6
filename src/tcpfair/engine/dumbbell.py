"""The simulation loop and its Python entry point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcpfair.cc.registry import algorithm, dtypes, param_values
from tcpfair.engine.endpoint import (
    arrived_unseen,
    emit,
    expect,
    hear_ack,
    hear_receiver,
    packets_out,
    receive,
    send,
    take_first,
    timeout,
)
from tcpfair.engine.link import enter_bottleneck_with_ack
from tcpfair.engine.result import Result
from tcpfair.engine.rng import packets_to_loss, seed_state
from tcpfair.engine.state import (
    ACK_SLOT,
    DIRECTIONS,
    ENDPOINT,
    EVENT,
    LINK,
    NEVER,
    PACKET,
    RECOVERY,
    REDUCTION,
    SLOT,
)
from tcpfair.engine.traffic import (
    ACTIVE,
    DELIVERED,
    RECEIVED,
    admit,
    arrivals_of,
    dismiss,
    make_pool,
    next_arrival_s,
    sample_short_flows,
)
from tcpfair.jit import jit, jit_cached, jit_inline
from tcpfair.units import service_time_s

_UNLIMITED = 1 << 60
_LOG_SIZE = 4096
_POOL_SLOTS = 2048
_RING_SLOTS = 64  # in use at first, see link.widen_ring
_RECEIVE_WINDOWS = 16  # receive buffer in largest windows: long recoveries without SACK must not hit it
_REVERSE_STREAM = np.uint64(0x9E3779B97F4A7C15)
_COMMON_ARRAYS = ("ring", "acks", "lost", "got", "access")


@jit_inline
def next_event_s(e, now):
    """When something happens to this flow next."""
    t = min(min(e.next_arrival_s, e.next_ack_s), min(e.next_emission_s, e.delack_at_s))
    if t == NEVER and (packets_out(e) > 0 or e.shown > e.resend):
        t = max(e.rto_base_s + e.rto_s * e.backoff, now)  # the last ACK may be dropped after the time has come
    return t


@jit_inline
def answer(links, e, f, p, ring, acks, lost, log, flow, now):
    """The receiver sends an ACK. Returns True when the sender has heard it: ACKs without a way of their own."""
    e.delack_at_s = NEVER
    if e.two_way == 1:
        enter_bottleneck_with_ack(links, e, acks, now)
        expect(e, ring)
        return False
    hear_receiver(links, e, f, p, lost, log, flow, now)
    expect(e, ring)
    return True


@jit_inline
def handle(links, e, f, p, ring, acks, lost, got, access, log, flow, now):
    """What is due for this flow at ``now``; of several things at one time the first of these."""
    if now == e.next_arrival_s:
        if not receive(e, ring, got):
            expect(e, ring)
            if e.unacked == 1:
                e.delack_at_s = now + e.delack_s
            return
        if not answer(links, e, f, p, ring, acks, lost, log, flow, now):
            return
    elif now == e.next_ack_s:
        hear_ack(links, e, f, p, acks, lost, log, flow, now)
    elif now == e.next_emission_s:
        emit(links, e, ring, lost, access, now)
        return
    elif now == e.delack_at_s:
        if not answer(links, e, f, p, ring, acks, lost, log, flow, now):
            return
    elif e.started == 1:
        timeout(links, e, f, p, ring, lost, log, flow, now)
    else:
        e.started = 1
        e.overflows_seen = links[e.direction].overflows
    send(links, e, f, p, ring, lost, access, log, flow, now)


@jit
def take_samples(k, links, ends, flows, ring, out, link_out, now):
    """State at the end of sample interval k."""
    for i in range(out.shape[2]):
        unseen = arrived_unseen(ends[i], ring, now)
        out[0, k, i] = (ends[i].rx_nxt if ends[i].reliable == 1 else ends[i].received) + unseen
        out[1, k, i] = ends[i].received + unseen
        out[2, k, i] = flows[i].cwnd
        out[3, k, i] = flows[i].ssthresh
        out[4, k, i] = flows[i].srtt
    for d in range(links.size):
        link = links[d]
        link_out[d, 0, k] = link.forwarded
        link_out[d, 1, k] = link.dropped
        link_out[d, 2, k] = max(link.free_s - now, 0.0) / link.service_s
        link_out[d, 3, k] = link.acks_forwarded
        link_out[d, 4, k] = link.acks_dropped


@jit_inline
def play(keys, winners, leaves, i, key):
    """Flow i's next event is at ``key``: replay its matches up the winner tree (ties go to the lower flow)."""
    node = leaves + i
    keys[node] = key
    bits = keys.view(np.uint64)  # times are not negative: their bits are in the same order
    mine, winner = bits[node], np.uint64(i)
    while node > 1:
        # all ones where the other wins. No branch: nobody can predict it, and LLVM makes branches of comparisons
        margin = bits[node ^ 1] - mine
        other_wins = np.uint64(0) - ((margin - np.uint64(node & 1)) >> np.uint64(63))
        mine += margin & other_wins
        winner += (winners[node ^ 1] - winner) & other_wins
        node >>= 1
        bits[node] = mine
        winners[node] = winner


@jit_inline
def runner_up_s(keys, leaves, i):
    """The earliest event of all other flows: the least of those that lost to i on its way to the root."""
    t = NEVER
    node = leaves + i
    while node > 1:
        t = min(t, keys[node ^ 1])
        node >>= 1
    return t


@jit
def grow_tree(keys, winners, leaves):
    """Twice as many leaves; those that were there keep their keys. Returns the new number."""
    for i in range(leaves):
        keys[2 * leaves + i] = keys[leaves + i]
    for i in range(leaves):
        keys[3 * leaves + i] = NEVER
        winners[2 * leaves + i] = i
        winners[3 * leaves + i] = leaves + i
    leaves *= 2
    for node in range(leaves - 1, 0, -1):
        right_wins = keys[2 * node + 1] < keys[2 * node]
        keys[node] = keys[2 * node + right_wins]
        winners[node] = winners[2 * node + right_wins]
    return leaves


@jit_cached
def simulate(
    links,
    ends,
    flows,
    params,
    ring,
    acks,
    lost,
    got,
    access,
    log,
    keys,
    winners,
    pool,
    duration_s,
    sample_s,
    out,
    link_out,
    web_out,
):
    """Run the dumbbell to ``duration_s``; fills samples and counters in place. Returns the number of trains.

    ``keys`` (all NEVER) and ``winners`` hold the winner tree: the root at 1, ``leaves`` leaves from ``leaves`` on. The flows
    after those of ``out`` are the pool of short ones (:mod:`tcpfair.engine.traffic`), but for the first of them: its leaf
    stands for the next arrival. Returns -1 when the pool is too small.
    """
    for d in range(links.size):
        link = links[d]
        link.random = seed_state(link.random)
        if link.loss_rate > 0.0:
            link.to_next_loss = packets_to_loss(link)
    n = out.shape[2]
    leaves = 1
    keys[1] = NEVER
    for i in range(n):
        while i >= leaves:
            leaves = grow_tree(keys, winners, leaves)
        play(keys, winners, leaves, i, ends[i].start_s)
    if ends.size > n:
        while n >= leaves:
            leaves = grow_tree(keys, winners, leaves)
        play(keys, winners, leaves, n, next_arrival_s(pool))

    k, samples = 0, out.shape[1]
    trains, events = 0, 0
    while True:
        i = np.int64(winners[1])
        now = keys[1]
        while k < samples and now >= (k + 1) * sample_s:
            take_samples(k, links, ends, flows, ring, out, link_out, (k + 1) * sample_s)
            sample_short_flows(k, pool, ends[n + 1 : leaves], ring, (k + 1) * sample_s, web_out)
            k += 1
        if now >= duration_s:
            break
        if i == n:
            i = admit(pool, ends, flows, params)
            if i < 0:
                return -1
            while i >= leaves:
                leaves = grow_tree(keys, winners, leaves)
            play(keys, winners, leaves, n, next_arrival_s(pool))
        trains += 1
        limit = min(runner_up_s(keys, leaves, i), duration_s)
        if k < samples:
            limit = min(limit, (k + 1) * sample_s)
        e, f, p = ends[i], flows[i], params[i]
        while True:
            events += 1
            handle(links, e, f, p, ring, acks, lost, got, access, log, i, now)
            now = next_event_s(e, now)
            if now >= limit:
                break
        if i > n and e.una >= e.size:
            dismiss(pool, e, i)
            now = NEVER
        play(keys, winners, leaves, i, now)
    for i in range(n):
        if arrived_unseen(ends[i], ring, duration_s) == 1:
            take_first(ends[i], ring)
    links[0].events = events
    return trains


@dataclass(frozen=True)
class DumbbellResult(Result):
    """A result, and what only this simulator can tell."""

    ends: np.ndarray  # records of state.ENDPOINT at the end, one per flow
    links: np.ndarray  # records of state.LINK at the end
    arrivals: np.ndarray  # records of traffic.ARRIVAL_OF_FLOW
    trains: int

    @property
    def link(self) -> np.record:
        """The forward bottleneck at the end."""
        return self.links[0]


def _power_of_two(at_least: float) -> int:
    return 1 << max(int(np.ceil(np.log2(max(at_least, 8)))), 3)


def _links(scenario, seed: int, log_size: int) -> np.ndarray:
    """One bottleneck, or two when ACKs share one with data of the other direction."""
    rates = [(scenario.capacity_bps, scenario.buffer_pkts)]
    if scenario.reverse_bps:
        rates.append((scenario.reverse_bps, scenario.reverse_buffer_pkts))
    links = np.zeros(len(rates), LINK)
    for number, (link, (rate_bps, buffer_pkts)) in enumerate(zip(links, rates, strict=True)):
        link["service_s"] = service_time_s(scenario.wire_bytes, rate_bps)
        link["ack_service_s"] = service_time_s(scenario.ack_bytes, rate_bps)
        link["longest_wait_s"] = (buffer_pkts + 1e-9) * link["service_s"]
        link["loss_rate"], link["jitter_s"] = scenario.loss_rate, scenario.jitter_s
        link["random"] = np.uint64(seed) ^ (number * _REVERSE_STREAM)
        link["synchronised"] = scenario.synchronised_losses
    rtts_s = [flow.rtt_s for flow in scenario.flows]
    links["hold_s"] = max(rtts_s) + sum(
        (buffer_pkts + 1) * link["service_s"] for link, (_, buffer_pkts) in zip(links, rates, strict=True)
    )
    links[0]["log_size"] = log_size
    return links


def _endpoints(scenario, given: list, links: np.ndarray, longest_rtt_s: float = 0.0) -> tuple[np.ndarray, dict]:
    """Endpoint records of the flows ``given`` and the sizes of their parts of the common arrays.

    ``longest_rtt_s``: room for RTTs above those of ``given``.
    """
    ends = np.zeros(len(given), ENDPOINT)
    sizes = {name: [] for name in _COMMON_ARRAYS}
    two_way = len(links) == 2
    waits_s = float(links["longest_wait_s"].sum())
    for e, flow in zip(ends, given, strict=True):
        chosen = algorithm(flow.cc)
        direction = DIRECTIONS.index(flow.direction)
        service_s = float(links["service_s"].min())
        path = (max(flow.rtt_s, longest_rtt_s) + scenario.jitter_s + waits_s) / service_s + 2
        window = 2 * path + flow.iw_pkts + (flow.access_queue_pkts if flow.access_bps else 0)
        window = min(window, flow.rwnd_pkts + flow.iw_pkts)
        window = min(window, flow.size_pkts)
        in_flight = min(path, window) if two_way else path
        sizes["ring"].append(_power_of_two(in_flight + 8))
        sizes["acks"].append(_power_of_two(in_flight + 8) if two_way else 0)
        span = min(_RECEIVE_WINDOWS * window + 64, flow.size_pkts + 8)
        sizes["got"].append(_power_of_two(span))
        # no packet is missing twice at a time, and all that are lie within the receive window
        sizes["lost"].append(_power_of_two(min(span, flow.rwnd_pkts) + flow.iw_pkts + 8))
        access = flow.access_queue_pkts + flow.access_jitter_s / service_s if flow.access_bps else 0
        sizes["access"].append(_power_of_two(access + 8))
        e["direction"], e["two_way"] = direction, two_way
        e["path_s"] = flow.rtt_s / 2 if two_way else flow.rtt_s
        e["algorithm"] = chosen.number
        e["recovery"] = RECOVERY[flow.recovery or chosen.recovery]
        e["reduction"] = REDUCTION[flow.reduction]
        e["halving_floor"] = chosen.halving_floor
        e["reliable"] = chosen.reliable
        e["watches_acks"] = chosen.on_every_ack is not None
        e["ack_every"], e["byte_counting"] = flow.ack_every, flow.byte_counting
        for name in ("rtt_s", "delack_s", "rto_min_s", "start_s", "stop_s", "access_jitter_s"):
            e[name] = getattr(flow, name)
        e["size"] = min(flow.size_pkts, _UNLIMITED)
        e["rwnd"] = min(flow.rwnd_pkts, float(_UNLIMITED))
        e["span"] = min(e["rwnd"], sizes["got"][-1] - 1) if chosen.reliable else _UNLIMITED
        e["access_service_s"] = service_time_s(scenario.wire_bytes, flow.access_bps)
        e["access_queue"] = int(flow.access_queue_pkts)
        e["backoff"], e["rto_s"] = 1.0, 1.0
        for name in ("next_arrival_s", "next_ack_s", "next_emission_s", "delack_at_s"):
            e[name] = NEVER
        e["round_start_s"], e["round_rtt_min"] = -1.0, NEVER
        e["rto_base_s"] = flow.start_s
    return ends, sizes


def _flow_states(given: list) -> tuple[np.ndarray, np.ndarray]:
    """Initial state and parameters of the algorithms."""
    state_dtype, params_dtype = dtypes()
    flows = np.zeros(len(given), state_dtype)
    params = np.zeros(len(given), params_dtype)
    for i, flow in enumerate(given):
        flows[i]["cwnd"] = flow.iw_pkts
        flows[i]["ssthresh"] = min(flow.initial_ssthresh_pkts, float(_UNLIMITED))
        for name, value in param_values(flow.cc, flow.params).items():
            params[i][name] = value
    return flows, params


def _place(ends: np.ndarray, sizes: dict[str, list[int]]) -> dict[str, int]:
    """Give each flow its part of the common arrays; returns the sizes of these."""
    for name in _COMMON_ARRAYS:
        e_sizes = np.array(sizes[name], np.int64)
        ends[f"{name}_first"] = np.cumsum(e_sizes) - e_sizes
        ends[f"{name}_mask"] = np.maximum(e_sizes, 1) - 1
    for name in ("ring", "acks"):
        ends[f"{name}_room"] = ends[f"{name}_mask"]
        ends[f"{name}_mask"] = np.minimum(ends[f"{name}_room"], _RING_SLOTS - 1)
    return {name: max(sum(sizes[name]), 1) for name in _COMMON_ARRAYS}


def run(scenario, seed: int = 1, log_events: bool | None = None) -> DumbbellResult:
    """Simulate one scenario with one seed.

    ``scenario`` has the attributes of :class:`tcpfair.contract.scenario.Scenario`. Events are logged when the scenario records
    them or ``log_events`` says so. Raises InputError for an unknown algorithm or parameter.
    """
    logging = "events" in scenario.record if log_events is None else log_events
    log_size = _LOG_SIZE if logging else 0
    arrivals = arrivals_of(scenario, seed)
    slots = _POOL_SLOTS if len(arrivals) else 0
    while True:
        result = _simulate_once(scenario, seed, log_size, arrivals, slots)
        logged = int(result.links["logged"][0])
        if result.trains >= 0 and logged <= log_size:
            return result
        # once more, with room for all events and short flows: the run is deterministic
        log_size = max(log_size, logged)
        if result.trains < 0:
            slots *= 2


def _simulate_once(scenario, seed: int, log_size: int, arrivals: np.ndarray, slots: int) -> DumbbellResult:
    samples = round(scenario.duration_s / scenario.sample_s)
    links = _links(scenario, seed, log_size)
    long_flows = list(scenario.flows)
    ends, sizes = _endpoints(scenario, long_flows, links)
    flows, params = _flow_states(long_flows)
    short_flows = [web.flow for web in scenario.web]
    longest_rtt_s = float(arrivals["rtt_s"].max()) if len(arrivals) else 0.0
    short_ends, short_sizes = _endpoints(scenario, short_flows, links, longest_rtt_s)
    short_ends["stop_s"] = np.inf  # a source's stop_s ends its arrivals; what is under way goes on
    short_states = _flow_states(short_flows)
    if slots:  # every slot has room for a flow of any source; the first one is never used
        pooled = np.zeros(slots, ENDPOINT)
        pooled["source"] = -1
        ends = np.concatenate([ends, pooled])
        flows = np.concatenate([flows, np.zeros(slots, flows.dtype)])
        params = np.concatenate([params, np.zeros(slots, params.dtype)])
        for name in _COMMON_ARRAYS:
            sizes[name] += [max(short_sizes[name])] * slots
            short_ends[f"{name}_mask"] = max(max(short_sizes[name]), 1) - 1
        for name in ("ring", "acks"):
            short_ends[f"{name}_room"] = short_ends[f"{name}_mask"]
    whole = _place(ends, sizes)
    pool = make_pool(arrivals, len(long_flows) + 1, max(slots - 1, 0), short_ends, *short_states)
    out = np.zeros((5, samples, len(long_flows)))
    link_out = np.zeros((len(links), 5, samples))
    web_out = np.zeros((2, 3, samples))
    log = np.zeros(max(log_size, 1), EVENT)
    leaves = 1 << (len(ends) - 1).bit_length()
    trains = simulate(
        links,
        ends,
        flows,
        params,
        np.zeros(whole["ring"], SLOT),
        np.zeros(whole["acks"], ACK_SLOT),
        np.zeros(whole["lost"], PACKET),
        np.zeros(whole["got"], np.uint8),
        np.zeros(whole["access"], PACKET),
        log,
        np.full(2 * leaves, NEVER),
        np.zeros(2 * leaves, np.uint64),
        pool,
        float(scenario.duration_s),
        float(scenario.sample_s),
        out,
        link_out,
        web_out,
    )
    counts = link_out.astype(np.int64)
    return DumbbellResult(
        t_s=scenario.sample_s * np.arange(1, samples + 1),
        delivered_pkts=out[0].astype(np.int64),
        received_pkts=out[1].astype(np.int64),
        cwnd_pkts=out[2],
        ssthresh_pkts=out[3],
        srtt_s=out[4],
        link_forwarded_pkts=counts[:, 0],
        link_dropped_pkts=counts[:, 1],
        link_queue_pkts=link_out[:, 2],
        link_acks=counts[:, 3],
        link_acks_dropped=counts[:, 4],
        web_delivered_pkts=web_out[:, DELIVERED].astype(np.int64),
        web_received_pkts=web_out[:, RECEIVED].astype(np.int64),
        web_active=web_out[:, ACTIVE].astype(np.int64),
        events=log[: links["logged"][0]],
        ends=ends[: len(long_flows)],
        links=links,
        arrivals=arrivals,
        trains=trains,
    )
