"""Short flows: Poisson arrivals of finite transfers, whose slots in the flow tables are reused.

Sizes are a mixture of log-normal and Pareto laws (Barford and Crovella 1998, SURGE), round-trip times constant or with an
exponential part. All arrivals of a run are drawn before it starts, so every simulator gets the same ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tcpfair.cc.exactmath import exp, log
from tcpfair.engine.blocks import blocks_of, give_blocks
from tcpfair.engine.endpoint import count_at_receiver
from tcpfair.engine.rng import seed_state, uniform
from tcpfair.engine.state import NEVER
from tcpfair.jit import jit, jit_cached

LOGNORMAL, PARETO = 0, 1
LAWS = {"lognormal": LOGNORMAL, "pareto": PARETO}

ARRIVAL_OF_FLOW = np.dtype(
    [("start_s", np.float64), ("rtt_s", np.float64), ("size", np.int64), ("source", np.int64)], align=True
)
LAW = np.dtype(
    [
        ("up_to", np.float64),  # cumulative share of the arrivals
        ("kind", np.int64),
        ("a", np.float64),  # mean of ln(bytes); shape
        ("b", np.float64),  # deviation of ln(bytes); least size, bytes
        ("cap", np.float64),  # bytes
    ],
    align=True,
)
SOURCE = np.dtype(
    [
        ("random", np.uint64),
        ("rate_per_s", np.float64),
        ("start_s", np.float64),
        ("stop_s", np.float64),
        ("rtt_s", np.float64),
        ("rtt_extra_s", np.float64),  # mean of the exponential part
        ("rtt_cap_s", np.float64),
        ("payload_bytes", np.float64),
    ],
    align=True,
)
_POOL_STATE = np.dtype([("next", np.int64), ("free", np.int64)], align=True)
_STREAM = np.uint64(0x5851F42D4C957F2D)

# rows of the aggregate record
DELIVERED, RECEIVED, ACTIVE = 0, 1, 2


class Pool(NamedTuple):
    """Future arrivals, free slots, totals of finished flows, and the initial state of a flow of each source."""

    state: np.ndarray
    arrivals: np.ndarray
    free: np.ndarray
    done: np.ndarray  # (directions, 2): packets delivered, packets received
    ends: np.ndarray
    flows: np.ndarray
    params: np.ndarray


# ---------------------------------------------------------------- drawing arrivals


@jit
def standard_normal(source):
    """Marsaglia and Bray's polar method, one of its two variates."""
    while True:
        u, v = 2.0 * uniform(source) - 1.0, 2.0 * uniform(source) - 1.0
        s = u * u + v * v
        if 0.0 < s < 1.0:
            return u * math.sqrt(-2.0 * log(s) / s)


@jit
def draw_size_bytes(source, laws):
    """One transfer: draw the distribution by its share, then a value from it."""
    u = uniform(source)
    i = 0
    while i < laws.size - 1 and u >= laws[i].up_to:
        i += 1
    law = laws[i]
    if law.kind == LOGNORMAL:
        size = exp(law.a + law.b * standard_normal(source))
    else:
        # P(X > x) = (b / x)^a
        size = law.b * exp(-log(1.0 - uniform(source)) / law.a)
    return min(size, law.cap)


@jit_cached
def draw_arrivals(source, laws, rows):
    """Fill ``rows`` with the arrivals of one source; return their number, more than ``rows.size`` when they do not fit."""
    source.random = seed_state(source.random)
    t, n = source.start_s, 0
    while True:
        t += -log(1.0 - uniform(source)) / source.rate_per_s
        if t >= source.stop_s:
            return n
        if n == rows.size:
            return n + 1
        row = rows[n]
        row.start_s = t
        row.size = max(np.int64(math.ceil(draw_size_bytes(source, laws) / source.payload_bytes)), 1)
        row.rtt_s = source.rtt_s
        if source.rtt_extra_s > 0.0:
            row.rtt_s = min(row.rtt_s - source.rtt_extra_s * log(1.0 - uniform(source)), source.rtt_cap_s)
        n += 1


def arrivals_of(scenario, seed: int) -> np.ndarray:
    """All arrivals of a run, in order of time: records of start_s, rtt_s, size (packets) and source.

    ``scenario`` has the attributes of :class:`tcpfair.papers.scenario.Scenario`; each of its sources has a separate
    random stream.
    """
    found = [np.zeros(0, ARRIVAL_OF_FLOW)]
    for number, web in enumerate(scenario.web):
        laws = np.zeros(len(web.sizes), LAW)
        shares = np.cumsum([law.share for law in web.sizes])
        for row, law, up_to in zip(laws, web.sizes, shares, strict=True):
            row["up_to"], row["kind"], row["cap"] = up_to / shares[-1], LAWS[law.law], law.cap_bytes
            row["a"], row["b"] = (law.mu, law.sigma) if law.law == "lognormal" else (law.shape, law.min_bytes)
        stop_s = min(web.flow.stop_s, scenario.duration_s)
        expected = int(1.2 * web.arrivals_per_s * max(stop_s - web.flow.start_s, 0.0)) + 64
        while True:
            source = np.zeros(1, SOURCE)
            source["random"] = np.uint64(seed) ^ (_STREAM * np.uint64(number + 1))
            source["rate_per_s"], source["payload_bytes"] = web.arrivals_per_s, scenario.payload_bytes
            source["start_s"], source["stop_s"] = web.flow.start_s, stop_s
            source["rtt_s"], source["rtt_extra_s"] = web.flow.rtt_s, web.rtt_extra_mean_s
            source["rtt_cap_s"] = web.rtt_cap_s
            rows = np.zeros(expected, ARRIVAL_OF_FLOW)
            count = draw_arrivals(source[0], laws, rows)
            if count <= expected:
                break
            expected *= 2
        rows["source"] = number
        found.append(rows[:count])
    every = np.concatenate(found)
    return every[np.argsort(every["start_s"], kind="stable")]


def make_pool(arrivals: np.ndarray, ends: np.ndarray, flows: np.ndarray, params: np.ndarray) -> Pool:
    """A pool without slots; ``ends``, ``flows`` and ``params`` have a row per source."""
    state = np.zeros(1, _POOL_STATE)
    return Pool(state, arrivals, np.zeros(0, np.int64), np.zeros((2, 2), np.int64), ends, flows, params)


def with_slots(pool: Pool, first: int, slots: int) -> Pool:
    """The same pool with ``slots`` more free slots, from number ``first`` on; the lowest free slot is used first."""
    free = pool.free[: pool.state["free"][0]]
    more = first + slots - 1 - np.arange(slots)
    pool.state["free"] += slots
    room = np.zeros(len(pool.free) + slots, np.int64)  # all may be free at once
    room[: len(free) + slots] = np.concatenate([more, free])
    return pool._replace(free=room)


# ---------------------------------------------------------------- in the simulation


@jit
def next_arrival_s(pool):
    state = pool.state[0]
    return pool.arrivals[state.next].start_s if state.next < pool.arrivals.size else NEVER


@jit
def admit(pool, ends, flows, params):
    """The next arrival gets a slot, which is returned; -1 when none is free."""
    state = pool.state[0]
    if state.free == 0:
        return -1
    state.free -= 1
    slot = pool.free[state.free]
    arrival = pool.arrivals[state.next]
    state.next += 1
    e = ends[slot]
    kept = blocks_of(e)
    ends[slot] = pool.ends[arrival.source]
    flows[slot] = pool.flows[arrival.source]
    params[slot] = pool.params[arrival.source]
    give_blocks(e, kept)
    e.source = arrival.source
    e.size = arrival.size
    e.rtt_s = arrival.rtt_s
    e.path_s = arrival.rtt_s / 2.0 if e.two_way == 1 else arrival.rtt_s
    e.back_s = 0.0 if e.two_way == 1 else arrival.rtt_s
    e.start_s = e.rto_base_s = arrival.start_s
    return slot


@jit
def dismiss(pool, e, slot):
    """A flow has delivered all its data: free its slot. Its part of the rings is clean by then."""
    pool.done[e.direction, 0] += e.rx_nxt
    pool.done[e.direction, 1] += e.received
    e.source = -1
    state = pool.state[0]
    pool.free[state.free] = slot
    state.free += 1


@jit
def sample_short_flows(k, links, pool, slots, ring, got, now, web_out):
    """Totals of the short flows of each direction at the end of sample interval k."""
    for d in range(web_out.shape[0]):
        web_out[d, DELIVERED, k] = pool.done[d, 0]
        web_out[d, RECEIVED, k] = pool.done[d, 1]
    for i in range(slots.size):
        e = slots[i]
        if e.source >= 0:
            delivered, received = count_at_receiver(links, e, ring, got, now)
            web_out[e.direction, DELIVERED, k] += delivered
            web_out[e.direction, RECEIVED, k] += received
            web_out[e.direction, ACTIVE, k] += 1
