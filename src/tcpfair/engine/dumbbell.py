"""Runs of the simulator from Python: a scenario in, a result out, in one call or step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcpfair.cc.api import STACK, STACK_OF_ALGORITHM, TEXT
from tcpfair.cc.registry import algorithm, dtypes, param_values
from tcpfair.engine.blocks import LOG_RESERVE
from tcpfair.engine.loop import REACHED, WANTS_SLOTS, simulate
from tcpfair.engine.result import Result
from tcpfair.engine.setup import GIVEN, GIVEN_FLOW, set_up, set_up_slots
from tcpfair.engine.state import (
    ACK_SLOT,
    DIRECTIONS,
    ENDPOINT,
    EVENT,
    LINK,
    NEVER,
    NS2,
    OWN_AGENT,
    PACKET,
    RECOVERY,
    REDUCTION,
    RTO_LAWS,
    SACK,
    SLOT,
    STACKS,
)
from tcpfair.engine.traffic import ACTIVE, DELIVERED, RECEIVED, arrivals_of, make_pool, with_slots
from tcpfair.engine.tree import leaves_for
from tcpfair.errors import InputError, ShortageError
from tcpfair.machine import available_bytes as memory_bytes
from tcpfair.units import bdp_pkts

_LOG_ROWS = 4096
_POOL_SLOTS = 256
_BLOCK_TYPES = {"ring": SLOT, "acks": ACK_SLOT, "access": PACKET, "lost": PACKET, "got": np.dtype(np.uint8)}
_BYTES_A_SAMPLE = 80  # of one flow, with its copy in the result
_BYTES_A_FLOW = 6000  # records and first blocks
_BYTES_AN_ARRIVAL = 120  # of a future short flow, while all are sorted by time
_BYTES_IN_FLIGHT = 128  # of a packet: a slot, and blocks that have become too small
GB = 1e9
_ROUNDING = 1e-9  # of a sample: a duration of 2.4 s has 24 samples of 0.1 s
_LONGEST_DRAW = 37.0  # means of an exponential variate from 53 bits: -ln(2^-53)


@dataclass(frozen=True)
class DumbbellResult(Result):
    """A result, with outputs that only this simulator has."""

    ends: np.ndarray  # records of state.ENDPOINT at the end, one per flow
    links: np.ndarray  # records of state.LINK at the end
    arrivals: np.ndarray  # records of traffic.ARRIVAL_OF_FLOW
    trains: int

    @property
    def link(self) -> np.record:
        """The forward bottleneck at the end."""
        return self.links[0]


def run(scenario, seed: int = 1, log_events: bool | None = None) -> DumbbellResult:
    """Simulate one scenario with one seed.

    ``scenario`` has the attributes of :class:`tcpfair.papers.scenario.Scenario`. Events are logged when the scenario
    records them or with ``log_events``. Raises InputError for an unknown algorithm or parameter, and for a run that
    needs more memory than this machine has.
    """
    simulation = Simulation(scenario, seed, log_events)
    simulation.advance(scenario.duration_s)
    return simulation.result()


class Simulation:
    """A run that can be stopped and resumed. Where it stops does not affect its results.

    Arguments and errors are those of :func:`run`.
    """

    def __init__(self, scenario, seed: int = 1, log_events: bool | None = None) -> None:
        self.scenario = scenario
        self._logs = "events" in scenario.record if log_events is None else log_events
        n = len(scenario.flows)
        refuse_what_does_not_fit(scenario)
        samples = int(scenario.duration_s / scenario.sample_s + _ROUNDING)
        self.arrivals = arrivals_of(scenario, seed)
        self.links = np.zeros(2 if scenario.reverse_bps else 1, LINK)
        short_flows = [web.flow for web in scenario.web]
        source_ends, source_states, source_params = _records(short_flows)
        self._ends, self._states, self._params = _records(scenario.flows)
        longest_rtt_s = float(self.arrivals["rtt_s"].max()) if len(self.arrivals) else 0.0
        set_up(
            _given(scenario, seed),
            _given_flows(scenario.flows),
            _given_flows(short_flows),
            longest_rtt_s,
            self.links,
            self._ends,
            self._states,
            source_ends,
            source_states,
        )
        self._blocks = {name: np.zeros(0, dtype) for name, dtype in _BLOCK_TYPES.items()}
        self._log = np.zeros(_LOG_ROWS if self._logs else 0, EVENT)
        self._keys, self._winners = np.full(2, NEVER), np.zeros(2, np.uint64)
        self._pool = make_pool(self.arrivals, source_ends, source_states, source_params)
        if len(self.arrivals):
            self._add_slots(_POOL_SLOTS)
        self._fit_tree()
        self._make_room()
        self._out = np.zeros((5, samples, n))
        self._link_out = np.zeros((len(self.links), 5, samples))
        self._web_out = np.zeros((2, 3, samples))

    @property
    def sampled_s(self) -> float:
        """The time of the last sample."""
        return float(self.links[0]["samples"] * self.scenario.sample_s)

    def advance(self, until_s: float) -> None:
        """Continue the simulation to ``until_s``, at most to the end."""
        while True:
            status = simulate(
                self.links,
                self._ends,
                self._states,
                self._params,
                *(self._blocks[name] for name in ("ring", "acks", "lost", "got", "access")),
                self._log,
                self._keys,
                self._winners,
                self._pool,
                self._out,
                self._link_out,
                self._web_out,
                float(until_s),
            )
            if status == REACHED:
                return
            if status == WANTS_SLOTS:
                self._add_slots(len(self._ends))
                self._fit_tree()
            self._make_room()

    def result(self) -> DumbbellResult:
        """The results so far."""
        samples = int(self.links[0]["samples"])
        out, link_out, web_out = self._out[:, :samples], self._link_out[:, :, :samples], self._web_out[:, :, :samples]
        counts = link_out.astype(np.int64)
        return DumbbellResult(
            t_s=self.scenario.sample_s * np.arange(1, samples + 1),
            delivered_pkts=out[0].astype(np.int64),
            received_pkts=out[1].astype(np.int64),
            cwnd_pkts=out[2].copy(),
            ssthresh_pkts=out[3].copy(),
            srtt_s=out[4].copy(),
            link_forwarded_pkts=counts[:, 0],
            link_dropped_pkts=counts[:, 1],
            link_queue_pkts=link_out[:, 2].copy(),
            link_acks=counts[:, 3],
            link_acks_dropped=counts[:, 4],
            web_delivered_pkts=web_out[:, DELIVERED].astype(np.int64),
            web_received_pkts=web_out[:, RECEIVED].astype(np.int64),
            web_active=web_out[:, ACTIVE].astype(np.int64),
            events=self._log[: self.links[0]["logged"]].copy(),
            ends=self._ends[: len(self.scenario.flows)].copy(),
            links=self.links.copy(),
            arrivals=self.arrivals,
            trains=int(self.links[0]["trains"]),
        )

    def _add_slots(self, slots: int) -> None:
        """Add ``slots`` slots for short flows. The first row after the long flows represents the next arrival."""
        first = max(len(self._ends), len(self.scenario.flows) + 1)
        there_bytes = memory_bytes()
        if (first + slots) * _BYTES_A_FLOW > there_bytes:
            raise ShortageError(
                f"scenario: {first} flows at once after {self.sampled_s:g} s need room for more, and this machine has "
                f"{there_bytes / GB:.1f} GB of memory left; take a lower arrivals_per_s, smaller sizes or a higher capacity_bps"
            )
        rows = (self._ends, self._states, self._params)
        self._ends, self._states, self._params = (_longer(array, len(array), first + slots) for array in rows)
        set_up_slots(self.links, self._ends, first, self._pool.ends)
        self._pool = with_slots(self._pool, first, slots)

    def _fit_tree(self) -> None:
        """A winner tree with a leaf for every flow."""
        leaves = leaves_for(len(self._ends))
        keys = np.full(2 * leaves, NEVER)
        keys[: len(self._keys)] = self._keys
        self._keys, self._winners = keys, _longer(self._winners, len(self._winners), 2 * leaves)

    def _make_room(self) -> None:
        """Double each array that is too short for the further requests of one flow."""
        run = self.links[0]
        for name, array in self._blocks.items():
            used, reserve = int(run[f"{name}_used"]), int(run[f"{name}_reserve"])
            if used + reserve > len(array):
                self._blocks[name] = _longer(array, min(used, len(array)), 2 * used + reserve)
        if self._logs and run["logged"] + LOG_RESERVE > len(self._log):
            self._log = _longer(self._log, int(run["logged"]), 2 * len(self._log))
        run["wants_room"] = 0


def _longer(rows: np.ndarray, used: int, size: int) -> np.ndarray:
    """An array of ``size`` rows that begins with the first ``used`` of ``rows``; unused rows take no memory yet."""
    try:
        longer = np.zeros(size, rows.dtype)
    except MemoryError:
        raise ShortageError(
            f"scenario: packets in flight may need {size * rows.itemsize / GB:.1f} GB, more than there is; take fewer flows, "
            "a lower capacity_bps, shorter RTTs or a smaller rwnd_pkts"
        ) from None
    longer[:used] = rows[:used]
    return longer


def refuse_what_does_not_fit(scenario) -> None:
    """InputError when samples, flows, arrivals and packets in flight need more memory than this machine has left.

    The message names the largest of them. Infinite values are refused, too: only limits may be infinite.
    """
    n = len(scenario.flows)
    samples = scenario.duration_s / scenario.sample_s
    arrivals = sum(
        web.arrivals_per_s * max(min(web.flow.stop_s, scenario.duration_s) - web.flow.start_s, 0.0)
        for web in scenario.web
    )
    in_flight = _most_in_flight(scenario)
    parts = [
        (
            samples * n * _BYTES_A_SAMPLE,
            f"{samples:.4g} samples of {n} flows",
            "a longer sample_s or a shorter duration_s",
        ),
        (n * _BYTES_A_FLOW, f"{n} flows", "fewer flows"),
        (arrivals * _BYTES_AN_ARRIVAL, f"{arrivals:.4g} short flows", "a lower arrivals_per_s or a shorter duration_s"),
        (
            in_flight * _BYTES_IN_FLIGHT,
            f"{in_flight:.3g} packets in flight",
            "a lower capacity_bps times rtt_s, smaller buffers, iw_pkts or jitter_s",
        ),
    ]
    needed_bytes = sum(part[0] for part in parts)
    there_bytes = memory_bytes()
    if not needed_bytes <= there_bytes:
        most_bytes, what, instead = max(parts)
        raise ShortageError(
            f"scenario: {what} need {most_bytes / GB:.4g} GB, and this machine has {there_bytes / GB:.1f} GB of memory left; "
            f"take {instead}"
        )


def _most_in_flight(scenario) -> float:
    """Packets that paths, buffers, initial windows and the senders' links may hold."""
    fastest_bps = max(scenario.capacity_bps, scenario.reverse_bps)
    longest_s = max(flow.rtt_s for flow in scenario.every_flow)
    for web in scenario.web:
        longest_s = max(longest_s, min(web.flow.rtt_s + _LONGEST_DRAW * web.rtt_extra_mean_s, web.rtt_cap_s))
    burst_pkts, host_s = 0.0, 0.0
    for flow in scenario.every_flow:
        has_link = flow.access_bps > 0.0
        burst_pkts = max(burst_pkts, flow.iw_pkts + (flow.access_queue_pkts if has_link else 0.0))
        host_s = max(host_s, flow.access_jitter_s if has_link else 0.0)
    on_paths = bdp_pkts(fastest_bps, longest_s + scenario.jitter_s + scenario.tick_s + host_s, scenario.wire_bytes)
    return on_paths + scenario.buffer_pkts + scenario.reverse_buffer_pkts + burst_pkts


def _given(scenario, seed: int) -> np.ndarray:
    """The scenario as a record, in an array of one."""
    given = np.zeros(1, GIVEN)
    for name in GIVEN.names:
        given[name] = np.uint64(seed) if name == "seed" else getattr(scenario, name)
    return given


def _given_flows(flows) -> np.ndarray:
    """Flows, or the flows of sources, as records, with the requirements of their algorithms."""
    rows = np.zeros(len(flows), GIVEN_FLOW)
    for row, flow in zip(rows, flows, strict=True):
        chosen = algorithm(flow.cc)
        as_own_agent = chosen.own_agent and STACKS[flow.stack] == NS2
        of_algorithm = {
            "algorithm": chosen.number,
            "recovery": RECOVERY[flow.recovery or chosen.recovery],
            "reduction": REDUCTION[flow.reduction],
            "direction": DIRECTIONS.index(flow.direction),
            "halving_floor": chosen.halving_floor,
            "reliable": chosen.reliable,
            "whole": STACK_OF_ALGORITHM.get(flow.cc, STACK)[flow.stack] if chosen.whole or as_own_agent else TEXT,
            "stack": OWN_AGENT if as_own_agent else STACKS[flow.stack],
            "rto": RTO_LAWS[flow.rto_law],
            "own_clamp": chosen.own_clamp,
            "watches_acks": chosen.on_every_ack is not None,
        }
        for name in GIVEN_FLOW.names:
            row[name] = of_algorithm[name] if name in of_algorithm else getattr(flow, name)
        if row["stack"] >= NS2 and chosen.reliable and row["recovery"] != SACK:
            raise InputError(f"flow {flow.protocol}: recovery: stack ns2 has sack only")
    return rows


def _records(flows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Empty endpoints and states, and the parameters, of these flows."""
    state_dtype, params_dtype = dtypes()
    params = np.zeros(len(flows), params_dtype)
    for row, flow in zip(params, flows, strict=True):
        for name, value in param_values(flow.cc, flow.params).items():
            row[name] = value
    return np.zeros(len(flows), ENDPOINT), np.zeros(len(flows), state_dtype), params
