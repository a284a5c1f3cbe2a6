"""Set-up of a run from the records of a scenario: links, endpoints, blocks, the pool of short flows. All compiled.

The native engine and the wasm build share this set-up.
"""

from __future__ import annotations

import math

import numpy as np

from tcpfair.cc.api import TEXT
from tcpfair.engine.blocks import first_blocks, power_of_two, reserve_for
from tcpfair.engine.link import set_path
from tcpfair.engine.state import LINUX_2_6_22, LINUX_6, LINUX_RTO, NEVER, NS2, POLLING, SACK
from tcpfair.jit import jit, jit_cached
from tcpfair.units import service_time_s

UNLIMITED = 1 << 60
_RECEIVE_WINDOWS = 16  # receive buffer in largest windows: long recoveries without SACK must not reach it
_NS2_SPAN = 1 << 21  # in ns-2 no window limits data out of order: four minutes at 100 Mb/s
_FIRST_WINDOW_BYTES, _GROWTH_PER_PACKET = 65_535.0, 2.0  # of the receiver's window (Linux 6.1: tcp_grow_window)
_FIRST_WINDOW_PKTS, _QUICK_ACKS_PKTS = 4.0, 16  # of Linux 2.6.22 (tcp_select_initial_window, TCP_MAX_QUICKACKS)
_REVERSE_STREAM = np.uint64(0x9E3779B97F4A7C15)
_service_s = jit(service_time_s)

# The input of a run, see papers.scenario.Scenario; infinite means no limit.
GIVEN = np.dtype(
    [
        ("capacity_bps", np.float64),
        ("buffer_pkts", np.float64),
        ("reverse_bps", np.float64),
        ("reverse_buffer_pkts", np.float64),
        ("wire_bytes", np.float64),
        ("ack_bytes", np.float64),
        ("loss_rate", np.float64),
        ("jitter_s", np.float64),
        ("tick_s", np.float64),
        ("duration_s", np.float64),
        ("sample_s", np.float64),
        ("synchronised_losses", np.int64),
        ("seed", np.uint64),
    ],
    align=True,
)
# The input of a flow, or of the flows of a source of short ones, with its algorithm's requirements.
GIVEN_FLOW = np.dtype(
    [
        ("rtt_s", np.float64),
        ("start_s", np.float64),
        ("stop_s", np.float64),
        ("size_pkts", np.float64),
        ("access_bps", np.float64),
        ("access_queue_pkts", np.float64),
        ("access_jitter_s", np.float64),
        ("rwnd_pkts", np.float64),
        ("iw_pkts", np.float64),
        ("initial_ssthresh_pkts", np.float64),
        ("delack_s", np.float64),
        ("rto_min_s", np.float64),
        ("rto", np.int64),
        ("halving_floor", np.float64),
        ("whole", np.float64),  # TEXT for algorithms that are not Linux modules
        ("ack_every", np.int64),
        ("byte_counting", np.int64),
        ("direction", np.int64),
        ("recovery", np.int64),
        ("reduction", np.int64),
        ("algorithm", np.int64),
        ("reliable", np.int64),
        ("watches_acks", np.int64),
        ("own_clamp", np.int64),
        ("stack", np.int64),
    ],
    align=True,
)


@jit
def set_up_links(given, flows, links):
    """One bottleneck, or two when ACKs share one with data of the other direction. ``flows``: the long ones."""
    hold_s = 0.0
    for i in range(flows.size):
        hold_s = max(hold_s, flows[i].rtt_s)
    for d in range(links.size):
        link = links[d]
        rate_bps, buffer_pkts = given.capacity_bps, given.buffer_pkts
        link.random = given.seed
        if d == 1:
            rate_bps, buffer_pkts = given.reverse_bps, given.reverse_buffer_pkts
            link.random = given.seed ^ _REVERSE_STREAM
        link.service_s = _service_s(given.wire_bytes, rate_bps)
        link.ack_service_s = _service_s(given.ack_bytes, rate_bps)
        link.longest_wait_s = (buffer_pkts + 1e-9) * link.service_s
        link.loss_rate, link.jitter_s, link.tick_s = given.loss_rate, given.jitter_s, given.tick_s
        link.synchronised = given.synchronised_losses
        link.special = 1 if link.synchronised == 1 or link.tick_s > 0.0 else 0
        hold_s += (buffer_pkts + 1.0) * link.service_s
    for d in range(links.size):
        links[d].hold_s = hold_s
    links[0].duration_s, links[0].sample_s = given.duration_s, given.sample_s


@jit
def set_up_flow(given, flow, links, longest_rtt_s, e, f):
    """An endpoint and an algorithm's state before their start; ``longest_rtt_s``: the longest RTT of its uses."""
    least_service_s, waits_s = NEVER, 0.0
    for d in range(links.size):
        least_service_s = min(least_service_s, links[d].service_s)
        waits_s += links[d].longest_wait_s
    e.two_way = links.size - 1
    # room for all packets in flight, in its window, and beyond a hole
    path = (max(flow.rtt_s, longest_rtt_s) + given.jitter_s + given.tick_s + waits_s) / least_service_s + 2.0
    window = 2.0 * path + flow.iw_pkts + (flow.access_queue_pkts if flow.access_bps > 0.0 else 0.0)
    as_ns2 = flow.stack >= NS2
    # ns-2's DCCP/TCPlike has no receive window, and an algorithm may ignore it
    rwnd_pkts = np.inf if as_ns2 and (flow.own_clamp == 1 or flow.reliable == 0) else flow.rwnd_pkts
    window = min(min(window, rwnd_pkts + flow.iw_pkts), flow.size_pkts)
    in_flight = min(path, window) if e.two_way == 1 else path
    span = _RECEIVE_WINDOWS * window + 64.0
    if as_ns2 and flow.reliable == 1:
        span = max(span, min(float(_NS2_SPAN), given.duration_s / least_service_s))
    span = min(span, flow.size_pkts + 8.0)
    waiting = flow.access_queue_pkts + flow.access_jitter_s / least_service_s if flow.access_bps > 0.0 else 0.0
    e.ring_room = power_of_two(in_flight + 8.0) - 1
    e.acks_room = power_of_two(in_flight + 8.0) - 1 if e.two_way == 1 else 0
    e.got_room = power_of_two(span) - 1
    # a packet is missing at most once at a time; all missing ones are in the receive window (ns-2: unacknowledged)
    e.lost_room = power_of_two(min(span, np.inf if as_ns2 else rwnd_pkts) + flow.iw_pkts + 8.0) - 1
    e.access_room = power_of_two(waiting + 8.0) - 1

    e.direction = flow.direction
    e.rtt_s, e.start_s, e.stop_s = flow.rtt_s, flow.start_s, flow.stop_s
    set_path(e, given.tick_s)
    e.algorithm, e.recovery, e.reduction = flow.algorithm, flow.recovery, flow.reduction
    e.rack = 1 if flow.stack == LINUX_6 and flow.recovery == SACK and flow.reliable == 1 else 0
    e.halving_floor, e.reliable, e.watches_acks = flow.halving_floor, flow.reliable, flow.watches_acks
    e.stack, e.delack_s, e.byte_counting = flow.stack, flow.delack_s, flow.byte_counting
    e.ack_every = 2 if as_ns2 and flow.reliable == 0 else flow.ack_every  # the Ack Ratio of DCCP/TCPlike
    e.asked_ratio, e.asked_seq, e.reduced_tick = e.ack_every, -1, -1
    e.quick_acks, e.quick_after_gap = 0, _QUICK_ACKS_PKTS if flow.stack == LINUX_2_6_22 else 0
    if flow.stack in (LINUX_2_6_22, LINUX_6) and flow.reliable == 1 and rwnd_pkts < UNLIMITED:
        # tcp_grow_window: each packet that makes the window grow is acknowledged at once
        first_pkts = _FIRST_WINDOW_BYTES / given.wire_bytes if flow.stack == LINUX_6 else _FIRST_WINDOW_PKTS
        grows_pkts = max(rwnd_pkts - first_pkts, 0.0)
        e.quick_acks = np.int64(grows_pkts / _GROWTH_PER_PACKET)
        if e.quick_acks > 0:
            e.ack_every = 1
    if flow.stack == LINUX_2_6_22 and flow.reliable == 0:
        e.holds = POLLING
    e.size = np.int64(min(flow.size_pkts, float(UNLIMITED)))
    e.rwnd = min(rwnd_pkts, float(UNLIMITED))
    e.span = min(UNLIMITED if as_ns2 else np.int64(e.rwnd), e.got_room) if e.reliable == 1 else UNLIMITED
    e.access_service_s = _service_s(given.wire_bytes, flow.access_bps)
    e.access_queue, e.access_jitter_s = np.int64(flow.access_queue_pkts), flow.access_jitter_s
    e.rto_min_s, e.backoff, e.rto_base_s = flow.rto_min_s, 1.0, flow.start_s
    # Linux bounds the variation from below (tcp_rtt_estimator, tcp_set_rto), RFC 6298 the sum
    e.rto_margin_s = flow.rto_min_s if flow.rto == LINUX_RTO else 0.0
    e.next_arrival_s = e.next_ack_s = e.next_emission_s = e.delack_at_s = e.reorder_at_s = NEVER
    e.round_start_s, e.round_rtt_min = -1.0, NEVER
    f.cwnd = flow.iw_pkts
    f.ssthresh = min(flow.initial_ssthresh_pkts, float(UNLIMITED))
    f.whole = flow.whole
    if f.whole != TEXT:
        f.cwnd, f.ssthresh = max(math.floor(f.cwnd), 1.0), math.floor(f.ssthresh)


@jit_cached
def set_up(given, flows, sources, longest_rtt_s, links, ends, states, source_ends, source_states):
    """Fill the records of a run: the long ``flows`` first, then the initial state of the flows of each of ``sources``.

    ``given`` is a record of GIVEN in an array, ``flows`` and ``sources`` records of GIVEN_FLOW; the others are zero.
    """
    run = links[0]
    set_up_links(given[0], flows, links)
    for i in range(flows.size):
        set_up_flow(given[0], flows[i], links, 0.0, ends[i], states[i])
        reserve_for(run, ends[i])
        first_blocks(run, ends[i])
    for i in range(sources.size):
        set_up_flow(given[0], sources[i], links, longest_rtt_s, source_ends[i], source_states[i])
        source_ends[i].stop_s = np.inf  # a source's stop_s ends its arrivals; flows in progress continue
        reserve_for(run, source_ends[i])


@jit_cached
def set_up_slots(links, ends, first, source_ends):
    """Slots of short flows from ``first`` on: each has blocks that the flows of any source may use."""
    for i in range(first, ends.size):
        e = ends[i]
        e.source = -1
        for k in range(source_ends.size):
            e.ring_room = max(e.ring_room, source_ends[k].ring_room)
            e.acks_room = max(e.acks_room, source_ends[k].acks_room)
            e.access_room = max(e.access_room, source_ends[k].access_room)
            e.lost_room = max(e.lost_room, source_ends[k].lost_room)
            e.got_room = max(e.got_room, source_ends[k].got_room)
        first_blocks(links[0], e)
