"""ns-2 as a source of traces: the same scenarios, run by ns-2 2.35 (Debian and Ubuntu package ns2).

``dumbbell.tcl`` has the network. This module selects the agents, appends the calls for one scenario and converts ns-2's
output into the tables of a trace. The agent of each algorithm:

* reno, newreno and sack with SACK recovery, and the algorithms of Linux: TCP/Linux, with the modules of Linux 2.6.22.6;
* reno, newreno and sack with another recovery: ns-2's own Newreno or Reno;
* libra and alpha: ns-2's own agent of their recovery with ``windowOption_`` 2 (k RTT^2) or 5 (k' RTT);
* ccid2: DCCP/TCPlike.

Differences from the engine under the same name:

* fractions of a packet of buffer are rounded; a full access queue drops (the engine's sender reduces its window instead);
* with a reverse bottleneck both queues count bytes and accept a packet or an ACK while the queue is shorter than the
  buffer less half a packet (the engine also counts the rest of the packet on the wire, half a packet on average,
  against the full buffer);
* an ACK is 8 bytes longer for each of its up to three SACK blocks; an ACK of DCCP has its own length;
* a flow's data reach the bottleneck half a round trip later than in the engine, where that part of the path is behind
  the bottleneck;
* short flows are TCP, and ``stop_s`` ends their arrivals only;
* jitter: a packet that finds the flow's last link idle is held for a time uniform in [0, jitter_s) and later arrivals
  wait behind it, so packets bunch but stay in order (the engine draws for each packet). The same applies to
  ``access_jitter_s`` behind the access link, which forwards a packet after receiving all of it (the engine's forwards
  it at once);
* the windows of TCP/Linux are whole packets for any ``stack``;
* TCP/Linux lowers its window over one round trip and ns-2's own agents at once, for any ``reduction``. While
  retransmissions are lost, TCP/Linux stays in its recovery without a further reduction: a CUBIC or BIC flow whose slow
  start has overshot can do so for many seconds;
* a DCCP flow begins with a handshake: its data start one round trip late. Its Ack Ratio is 2 for any ``ack_every``, it
  has no receive window, and its slow start counts every acknowledged packet;
* an Ack Vector of more than 253 bytes ends ns-2. The initial threshold of a DCCP flow is therefore at most the path with half
  of the buffer, divided by the flows that have started by then; a TCP that overshoots at the same time may still be too much;
* ``byte_counting`` is RFC 3465 with L = 2, which ns-2 has only for Reno's growth. ns-2's default is L = 1 for
  TCP/Linux, so delayed ACKs do not slow its Reno down. Here it is off unless the flow requests it, as in Linux;
* CUBIC's ``beta`` does not change the slope of its TCP-friendly region, which the module computes when it is loaded;
* ``received_bytes`` of TCP are the bytes behind the last link less duplicates. Duplicates are visible only when all
  data is in order, so one may be counted a recovery too early;
* a link's packets include all kinds of DCCP packets, and its queue excludes the one on the wire.
"""

from __future__ import annotations

import math
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np

from tcpfair.cc.registry import param_values
from tcpfair.engine import rng, traffic
from tcpfair.engine.result import Result
from tcpfair.engine.state import DIRECTIONS, EVENT, LOSS, RECOVERY_END, RTO
from tcpfair.errors import InputError
from tcpfair.papers.expand import RunSpec, expected_pkts
from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.scenario import Flow, Scenario
from tcpfair.runs.code import digest_of
from tcpfair.runs.trace import Trace
from tcpfair.sources import tables
from tcpfair.sources.refusals import checked, refuse_unknown
from tcpfair.units import bdp_pkts, service_time_s

NOT_INSTALLED = "ns-2 is not installed: apt install ns2 (Debian, Ubuntu)"
_LIBRARY = Path(__file__).with_name("dumbbell.tcl")

_RENO = ("newreno", "reno", "sack")
# windowOption_ (2 increases with the square of the RTT, 5 with the RTT) and that power
_WINDOW_OPTION = {"libra": (2, 2), "alpha": (5, 1)}
_LINUX = (
    *("bic", "compound", "cubic", "highspeed", "htcp", "hybla", "illinois", "lp"),
    *("scalable", "vegas", "veno", "westwood", "yeah"),
)
ALGORITHMS = tuple(sorted((*_RENO, *_WINDOW_OPTION, *_LINUX, "ccid2")))
_OWN_AGENT = {"sack": "Sack1", "newreno": "Newreno", "reno": "Reno"}  # by recovery

# Parameters of the registry that a module of TCP/Linux also has: its name there.
_SETTABLE = {
    "cubic": {
        "beta": "beta",
        "fast_convergence": "fast_convergence",
        "tcp_friendly": "tcp_friendliness",
        "S_max": "max_increment",
    },
    "bic": {
        "beta": "beta",
        "fast_convergence": "fast_convergence",
        "bic_S_max": "max_increment",
        "low_window": "low_window",
        "smooth_part": "smooth_part",
    },
}
_SCALE = 1024  # of beta, which is the remaining part in the modules
# Parameters that ns-2 has only with this value.
_BUILT_IN = {
    **{cc: {"a": 1.0, "b": 0.5} for cc in _RENO},
    "ccid2": {"b": 0.5},
    "cubic": {"C": 0.4, "linux_2_6_22": 1.0, "linux_ack_counting": 1.0},
    "bic": {"linux_ack_counting": 1.0, "B": 4.0},
    "compound": {"alpha": 0.125, "compound_beta": 0.5, "eta": 1.0, "gamma": 30.0, "linux_2006": 1.0},
}

# The fields of a scenario and of its flows that this module reads or that have no meaning in ns-2 (see above).
_SCENARIO_FIELDS = {
    *("capacity_bps", "wire_bytes", "payload_bytes", "buffer_pkts", "duration_s", "sample_s", "flows", "loss_rate"),
    *("jitter_s", "record", "reverse_bps", "reverse_buffer_pkts", "ack_bytes", "web"),
}
_FLOW_FIELDS = {
    *("protocol", "cc", "params", "rtt_s", "direction", "start_s", "stop_s", "size_pkts", "access_bps"),
    *("access_queue_pkts", "access_jitter_s", "rwnd_pkts", "iw_pkts", "initial_ssthresh_pkts", "ack_every"),
    *("delack_s", "recovery", "byte_counting", "reduction", "rto_min_s", "role", "stack"),
}

_NO_LIMIT = 1_000_000  # window and threshold, packets
_SEEDS = 2**31 - 2  # ns-2 accepts 1 to this; 0 would be the time of day
_POLL_S = 0.1  # the counter of bytes must not pass 2^32 in between
_FIRST_RTO_S = 1.0  # RFC 6298
_TICK_S = 1e-4  # clock of ns-2's own TCPs, whose RTT is an integer; TCP/Linux has 1 ms
_DCCP_HEADER_BYTES = 32
_HANDSHAKE_S = 10.0  # time for three requests
_ACK_VECTOR_BYTES = 250
_OPTIONS_BYTES = 1024
_WRONG = "Error:"  # ns-2 prints this and continues with a wrong result
_OVERFLOW = "Failed to add ack vector"
_OVERFLOW_HINT = (
    "; its DCCP cannot lose many packets in one round trip: give a lower initial_ssthresh_pkts to the flows that start "
    "into it, or a shorter path"
)
_TCP_VARIABLES = "cwnd_ ssthresh_ ncwndcuts_ nrexmit_"
_LINK_COUNTERS = ("link_forwarded_pkts", "link_dropped_pkts", "link_acks", "link_acks_dropped")
_WEB_COUNTERS = ("web_delivered_pkts", "web_received_pkts", "web_active")

# Costs of one core, measured: start-up; per packet that crosses a bottleneck; per DCCP packet and packet of its window
# (it traverses each Ack Vector); creation of the sender of a short flow.
_START_S, _PACKET_S, _DCCP_PACKET_S, _SHORT_FLOW_S = 0.1, 1.0e-6, 26e-9, 1.5e-3


# ---------------------------------------------------------------- what ns-2 supports


def check(scenario: Scenario) -> None:
    """Raise InputError, in one line, for the first setting that ns-2 does not support."""
    refuse_unknown(scenario, _SCENARIO_FIELDS, "ns-2")
    for name in ("wire_bytes", "payload_bytes", *(["ack_bytes"] if scenario.reverse_bps else [])):
        if getattr(scenario, name) != round(getattr(scenario, name)):
            raise InputError(f"{name}: ns-2 sends whole bytes (got {getattr(scenario, name)!r})")
    for i, flow in enumerate(scenario.flows):
        _check_flow(scenario, f"flows[{i}]", flow)
    for number, web in enumerate(scenario.web):
        where = f"web[{number}].flow"
        if web.flow.cc == "ccid2":
            raise InputError(f"{where}.cc: in ns-2 short flows are TCP (got 'ccid2')")
        _check_flow(scenario, where, web.flow)


def _check_flow(scenario: Scenario, where: str, flow: Flow) -> None:
    refuse_unknown(flow, _FLOW_FIELDS, "ns-2", f"{where}.")
    if flow.cc not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise InputError(f"{where}.cc: ns-2 has no {flow.cc!r} (protocol {flow.protocol}); it has {known}")
    if flow.cc in _LINUX and _recovery(flow) != "sack":
        raise InputError(f"{where}.recovery: ns-2 has {flow.cc} with sack only (got {flow.recovery!r})")
    if flow.byte_counting and not (flow.cc == "ccid2" or (flow.cc in _RENO and _is_linux(flow))):
        raise InputError(f"{where}.byte_counting: ns-2 has it for reno with sack recovery (and for ccid2) only")
    if flow.cc == "ccid2" and scenario.wire_bytes <= _DCCP_HEADER_BYTES:
        raise InputError(f"wire_bytes: must be above {_DCCP_HEADER_BYTES}, DCCP's header in ns-2")
    if flow.cc in _WINDOW_OPTION:
        param_values(flow.cc, flow.params)  # all of them are known here
        return
    settable, built_in = _SETTABLE.get(flow.cc, {}), _BUILT_IN.get(flow.cc, {})
    for name, value in flow.params.items():
        at = f"{where}.params.{name}"
        if name in built_in and not math.isclose(value, built_in[name]):
            raise InputError(f"{at}: ns-2's {flow.cc} has {built_in[name]:g} only (got {value:g})")
        if name not in built_in and name not in settable:
            known = ", ".join(settable) or "nothing"
            raise InputError(f"{at}: cannot be set in ns-2's {flow.cc}; what can, is {known}")


def _recovery(flow: Flow) -> str:
    return flow.recovery or ("newreno" if flow.cc == "newreno" else "sack")


def _is_linux(flow: Flow) -> bool:
    return flow.cc in _LINUX or (flow.cc in _RENO and _recovery(flow) == "sack")


# ---------------------------------------------------------------- the script


def script(scenario: Scenario, seed: int) -> str:
    """The scenario as an ns-2 script. Raises InputError for settings that ns-2 does not support."""
    check(scenario)
    interval_s, per_sample, samples = _polls(scenario)
    lines = [
        _LIBRARY.read_text(),
        f"$defaultRNG seed {seed % _SEEDS + 1}",
        *_link_lines(scenario),
        *(line for i, flow in enumerate(scenario.flows) for line in _flow_lines(scenario, i, flow)),
        *_web_lines(scenario, seed),
        f"simulate {interval_s} {per_sample * samples}",
    ]
    return "\n".join(lines) + "\n"


def _link_lines(scenario: Scenario) -> list[str]:
    """The bottlenecks. ACKs that share one count with their bytes."""
    links = {
        direction: f"{direction} {rate_bps} {max(round(buffer_pkts), 1)}"
        for direction in DIRECTIONS
        for rate_bps, buffer_pkts in [_link_of(scenario, direction)]
    }
    if not scenario.reverse_bps:
        return [f"bottleneck {links['forward']}", "wide_link reverse"]
    return [f"shared_bottleneck {link} {round(scenario.wire_bytes)}" for link in links.values()]


def _link_of(scenario: Scenario, direction: str) -> tuple[float, float]:
    """Rate and buffer of the bottleneck for data of this direction."""
    if direction == "reverse":
        return scenario.reverse_bps, scenario.reverse_buffer_pkts
    return scenario.capacity_bps, scenario.buffer_pkts


def _polls(scenario: Scenario) -> tuple[float, int, int]:
    """Seconds between polls, polls per sample and samples."""
    per_sample = math.ceil(scenario.sample_s / _POLL_S)
    return scenario.sample_s / per_sample, per_sample, round(scenario.duration_s / scenario.sample_s)


def _flow_lines(scenario: Scenario, i: int, flow: Flow) -> list[str]:
    """The calls that create one flow, start it on time and stop it."""
    lines, begin, traced = _make_flow(scenario, str(i), flow, str(flow.rtt_s))
    if "events" in scenario.record:
        lines += [f"record_events {i} {{{traced}}}"]
    if flow.stop_s > flow.start_s:
        begin += [f"send_without_end {i}" if math.isinf(flow.size_pkts) else f"send {i} {int(flow.size_pkts)}"]
        lines += [f'$ns at {flow.start_s} "{call}"' for call in begin]
        if flow.stop_s < scenario.duration_s:
            lines += [f'$ns at {flow.stop_s} "stop {i}"']
    return lines


def _make_flow(scenario: Scenario, i: str, flow: Flow, rtt_s: str) -> tuple[list[str], list[str], str]:
    """Calls that create a flow, calls that start it, variables that show its events; ``i`` and ``rtt_s`` in Tcl's form."""
    threshold = min(flow.initial_ssthresh_pkts, _NO_LIMIT)
    rate_bps, buffer_pkts = _link_of(scenario, flow.direction)
    if flow.cc == "ccid2":
        alike = [other for other in scenario.flows if other.direction == flow.direction]
        already = sum(other.start_s <= flow.start_s < other.stop_s for other in alike)
        threshold = min(threshold, (_path_pkts(scenario, flow) + 0.5 * buffer_pkts) / max(already, 1))
        agent = receiver = f"Agent/DCCP/TCPlike {_dccp_settings(scenario, flow, int(threshold))}"
        traced, begin = "cwnd_ ssthresh_", []
    else:
        receiver = _tcp_receiver(scenario, flow)
        if _is_linux(flow):
            kind, traced = "Linux", f"{_TCP_VARIABLES} next_pkts_in_flight_"
            algorithm = "reno" if flow.cc in _RENO else flow.cc
            window = round(min(flow.iw_pkts, flow.rwnd_pkts))
            begin = [f"begin_linux {i} {algorithm} {{{_linux_params(flow)}}} {window} {int(threshold)}"]
        else:
            kind, traced = _OWN_AGENT[_recovery(flow)], f"{_TCP_VARIABLES} dupacks_"
            begin = [f"begin_own {i} {int(threshold)}"]
        agent = f"Agent/TCP/{kind} {_tcp_settings(scenario, flow)}"
    access = f"{flow.access_bps} {int(flow.access_queue_pkts)} {flow.access_jitter_s}"
    lines = [
        f"receiver {i} {flow.direction} {receiver}",
        f"path {i} {flow.direction} {rtt_s} {access if flow.access_bps else '$wide_bps $deep_pkts 0.0'} {scenario.jitter_s}",
        *([f"lose {i} {flow.direction} {scenario.loss_rate}"] if scenario.loss_rate > 0 else []),
        f"sender {i} {flow.direction} {agent}",
    ]
    if flow.cc in _WINDOW_OPTION and (values := param_values(flow.cc, flow.params))["follow_queue"]:
        empty_s = f"[expr {{{rtt_s} + {service_time_s(scenario.wire_bytes, rate_bps)}}}]"
        begin += [f"follow_queue {i} {_WINDOW_OPTION[flow.cc][1]} {values['rtt_ref_s']} {empty_s}"]
    return lines, begin, traced


def _web_lines(scenario: Scenario, seed: int) -> list[str]:
    """Procedures for each source of short flows, and all their arrivals: those of the engine with the same seed."""
    arrivals = traffic.arrivals_of(scenario, seed)
    if not len(arrivals):
        return []
    lines = []
    for number, web in enumerate(scenario.web):
        (*place, sender), begin, _ = _make_flow(scenario, "$i", web.flow, "$rtt_s")
        bodies = {
            "place": ["global wide_bps deep_pkts", *place, f"return {web.flow.direction}"],
            "begin": [sender, *begin],
        }
        for name, body in bodies.items():
            lines += [f"proc {name}_{number} {{i rtt_s}} {{", *(f"    {line}" for line in body), "}"]
        lines += [f"own_defaults {sender.split()[3]}"]
    columns = (arrivals[name].tolist() for name in ("start_s", "source", "rtt_s", "size"))
    listed = (" ".join(map(str, row)) for row in zip(*columns, strict=True))
    linger_s = _longest_way_s(scenario, float(arrivals["rtt_s"].max()))
    return [*lines, f"short_flows {round(scenario.wire_bytes)} {linger_s} {{", *listed, "}"]


def _longest_way_s(scenario: Scenario, rtt_s: float) -> float:
    """The longest time of a packet of a short flow and its ACK, s."""
    waits_s = 0.0
    for direction in DIRECTIONS:
        rate_bps, buffer_pkts = _link_of(scenario, direction)
        waits_s += (max(buffer_pkts, 1.0) + 2) * service_time_s(scenario.wire_bytes, rate_bps)
    hosts_s = [
        flow.delack_s
        + flow.access_jitter_s
        + flow.access_queue_pkts * service_time_s(scenario.wire_bytes, flow.access_bps)
        for flow in (web.flow for web in scenario.web)
    ]
    return rtt_s + waits_s + scenario.jitter_s + max(hosts_s)


def _path_pkts(scenario: Scenario, flow: Flow) -> float:
    rate_bps, _ = _link_of(scenario, flow.direction)
    return bdp_pkts(rate_bps, flow.rtt_s, scenario.wire_bytes)


def _tcp_settings(scenario: Scenario, flow: Flow) -> str:
    window = int(min(flow.rwnd_pkts, _NO_LIMIT))
    settings = {
        # each packet has the size on the wire from the start: no SYN, and no additional header
        "packetSize_": round(scenario.wire_bytes),
        "syn_": "false",
        "useHeaders_": "false",
        "timestamps_": "true",
        "tcpTick_": _TICK_S,
        "windowInit_": round(min(flow.iw_pkts, window)),
        "window_": window,
        "maxcwnd_": window,
        "minrto_": flow.rto_min_s,
        "rtxcur_init_": _FIRST_RTO_S,
        "slow_start_restart_": "false",
    }
    if flow.cc in _WINDOW_OPTION:
        option, power = _WINDOW_OPTION[flow.cc]
        reference_s = param_values(flow.cc, flow.params)["rtt_ref_s"]
        settings |= {"windowOption_": option, "windowConstant_": reference_s**-power}  # ogura eqs. 9 and 10
    return _list(settings)


def _tcp_receiver(scenario: Scenario, flow: Flow) -> str:
    agent = "Agent/TCPSink/Sack1" if _recovery(flow) == "sack" else "Agent/TCPSink"
    settings = {
        "packetSize_": round(scenario.ack_bytes),
        "ts_echo_bugfix_": "false",  # the time stamp of the acknowledged packet, also in recovery
    }
    if flow.ack_every == 2:
        agent += "/DelAck"
        settings["interval_"] = flow.delack_s
    return f"{agent} {_list(settings)}"


def _linux_params(flow: Flow) -> str:
    """Module, name and integer of each parameter. ns-2 enables byte counting (RFC 3465) by default, Linux does not."""
    names = _SETTABLE.get(flow.cc, {})
    values = {
        names[name]: round((1 - value) * _SCALE if name == "beta" else value)
        for name, value in flow.params.items()
        if name in names
    }
    chosen = [f"{flow.cc} {name} {value}" for name, value in values.items()]
    return " ".join([f"linux sysctl_tcp_abc {2 if flow.byte_counting else 0}", *chosen])


def _dccp_settings(scenario: Scenario, flow: Flow, threshold: int) -> str:
    settings = {
        "packetSize_": round(scenario.wire_bytes) - _DCCP_HEADER_BYTES,
        "initial_cwnd_": round(flow.iw_pkts),
        "initial_ssthresh_": threshold,
        "min_rto_": flow.rto_min_s,
        "initial_rto_": _FIRST_RTO_S,
        "initial_rtx_to_": _FIRST_RTO_S,
        "dack_delay_": flow.delack_s,
        "ackv_size_": _ACK_VECTOR_BYTES,
        "opt_size_": _OPTIONS_BYTES,
        # a finite flow is passed to the agent at once
        "sb_size_": 10 if math.isinf(flow.size_pkts) else int(flow.size_pkts) + 1,
        # the nonces of ECN are seeded by the time of day
        "use_ecn_local_": 0,
        "use_ecn_remote_": 0,
    }
    return _list(settings)


def _list(pairs: dict[str, float | str]) -> str:
    """Names and values as a list of Tcl."""
    return f"{{{' '.join(f'{name} {value}' for name, value in pairs.items())}}}"


# ---------------------------------------------------------------- execution


def _binary() -> str:
    found = shutil.which("ns") or shutil.which("ns2")
    if found is None:
        raise InputError(NOT_INSTALLED)
    return found


def _call(text: str, folder: str, what: str) -> str:
    """Run a script in ``folder`` and return its output; InputError with the end of its error messages when it fails."""
    path = Path(folder) / "script.tcl"
    path.write_text(text)
    done = subprocess.run(
        [_binary(), path.name], cwd=folder, capture_output=True, text=True, errors="replace", check=False
    )
    said = [line for line in done.stdout.splitlines() if line.startswith(_WRONG)]
    if done.returncode == 0 and not said:
        return done.stdout
    said = said or done.stderr.partition("\n    while executing")[0].splitlines()  # the rest is the stack of Tcl
    if done.returncode < 0:
        said.append(f"({signal.Signals(-done.returncode).name})")
    message = " ".join(" ".join(said[-3:]).split())[-300:] or f"exit status {done.returncode}"
    raise InputError(f"ns-2 failed on {what}: {message}{_OVERFLOW_HINT if _OVERFLOW in message else ''}")


@cache
def tool_version() -> str:
    """Name and version of the simulator. Raises InputError when it is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        return f"ns-2 {_call('puts [ns-version]; exit 0', folder, 'its version').strip()}"


def run(scenario: Scenario, seed: int = 1) -> Result:
    """Simulate one scenario with one seed.

    Raises InputError when ns-2 is missing, does not support the scenario, or fails.
    """
    text = script(scenario, seed)
    what = "+".join(flow.protocol for flow in scenario.flows)
    _, per_sample, samples = _polls(scenario)
    with tempfile.TemporaryDirectory() as folder:
        _call(text, folder, what)
        path = Path(folder) / "polls"
        lines = path.read_text().splitlines() if path.is_file() else []
        if len(lines) != per_sample * samples:
            raise InputError(f"ns-2 failed on {what}: it stopped after {len(lines)} of {per_sample * samples} polls")
        polls = np.loadtxt(lines, ndmin=2)
        events = _events(scenario, Path(folder))
    flows = len(scenario.flows)
    raw_bytes, arrived, cwnd, ssthresh, srtt_s = polls[:, : 5 * flows].reshape(len(polls), flows, 5).transpose(2, 0, 1)
    # a counter of 32 bits; its increase since the last poll is positive
    in_order_bytes = np.cumsum(np.diff(raw_bytes, axis=0, prepend=0.0) % 2**32, axis=0)
    received = np.maximum.accumulate(np.maximum(arrived, 0), axis=0)
    datagrams = np.array([flow.cc == "ccid2" for flow in scenario.flows])
    delivered = np.where(datagrams, received, np.round(in_order_bytes / round(scenario.wire_bytes)))
    for i, flow in enumerate(scenario.flows):  # a connection that failed would look like a flow without throughput
        sending_s = min(flow.stop_s, scenario.duration_s) - flow.start_s
        if datagrams[i] and received[-1, i] == 0 and sending_s > _HANDSHAKE_S:
            raise InputError(f"ns-2 failed on flows[{i}] ({flow.protocol}): its handshake was lost; take another seed")
    received -= _duplicates(received, delivered)
    of_samples = slice(per_sample - 1, None, per_sample)
    rest = polls[of_samples, 5 * flows :].T
    links, web = rest[:-6].reshape(-1, 5, samples).swapaxes(0, 1), rest[-6:].reshape(2, 3, samples).swapaxes(0, 1)
    return Result(
        t_s=scenario.sample_s * np.arange(1, samples + 1),
        delivered_pkts=delivered[of_samples].astype(np.int64),
        received_pkts=received[of_samples].astype(np.int64),
        cwnd_pkts=cwnd[of_samples],
        ssthresh_pkts=ssthresh[of_samples],
        srtt_s=srtt_s[of_samples],
        link_queue_pkts=links[4] / scenario.wire_bytes,
        **dict(zip(_LINK_COUNTERS, links[:4].astype(np.int64), strict=True)),
        **dict(zip(_WEB_COUNTERS, web.astype(np.int64), strict=True)),
        events=events,
    )


def _duplicates(arrived: np.ndarray, delivered: np.ndarray) -> np.ndarray:
    """Upper bound of duplicates among the arrived packets.

    An arrived packet is in order, out of order or a duplicate. So arrived - delivered bounds the duplicates at this and
    all earlier times, and equals their number when all data is in order.
    """
    return np.minimum.accumulate((arrived - delivered)[::-1], axis=0)[::-1]


# ---------------------------------------------------------------- events


def _events(scenario: Scenario, folder: Path) -> np.ndarray:
    """Congestion events of all flows in order of time, from the changes of traced variables."""
    rows = []
    for i, flow in enumerate(scenario.flows):
        path = folder / f"events.{i}"
        if path.is_file():
            changes = _changes(path)
            found = _dccp_events(changes) if flow.cc == "ccid2" else _tcp_events(changes)
            rows += [(t_s, i, kind, before, after, np.nan, np.nan) for t_s, kind, before, after in found]
    return np.array(sorted(rows, key=lambda row: row[:2]), EVENT)


def _changes(path: Path) -> Iterator[tuple[float, dict[str, float]]]:
    """Time and new values of the variables that changed then, in order of their change."""
    with path.open() as stream:
        lines = (line.split() for line in stream)
        for t_s, group in groupby(lines, key=lambda words: words[0]):
            yield float(t_s), dict(map(_variable, group))


def _variable(words: list[str]) -> tuple[str, float]:
    """Name and value at the end of a TCP's line (after addresses); a DCCP agent has them in reverse order."""
    name, value = words[-2:] if words[-2][0].isalpha() else reversed(words[-2:])
    return name, float(value)


def _tcp_events(changes: Iterable[tuple[float, dict[str, float]]]) -> Iterator[tuple[float, int, float, float]]:
    """Time, kind, window before and after. ``ncwndcuts_`` counts reductions, ``nrexmit_`` timeouts.

    A recovery is over when TCP/Linux no longer limits its flight and ns-2's own agents reset their duplicate ACKs.
    """
    cwnd = ssthresh = 0.0
    in_recovery = False
    for t_s, new in changes:
        before, cwnd, ssthresh = cwnd, new.get("cwnd_", cwnd), new.get("ssthresh_", ssthresh)
        if new.get("nrexmit_", 0) > 0:
            in_recovery = False
            yield t_s, RTO, before, cwnd
        elif new.get("ncwndcuts_", 0) > 0:
            in_recovery = True
            yield t_s, LOSS, before, ssthresh
        elif in_recovery and 0.0 in (new.get("next_pkts_in_flight_"), new.get("dupacks_")):
            in_recovery = False
            yield t_s, RECOVERY_END, before, cwnd


def _dccp_events(changes: Iterable[tuple[float, dict[str, float]]]) -> Iterator[tuple[float, int, float, float]]:
    """As for TCP, but only from the window: it falls to a half on a loss and to one packet on a timeout."""
    cwnd = 0.0
    for t_s, new in changes:
        before, cwnd = cwnd, new.get("cwnd_", cwnd)
        if t_s > 0 and cwnd < before:
            yield t_s, RTO if cwnd == 1 and before > 3 else LOSS, before, cwnd


# ---------------------------------------------------------------- traces


def simulate_runs(paper: PaperConfig, experiment: str, specs: Iterable[RunSpec]) -> Trace:
    """Simulate ``specs`` serially and combine their tables; all are checked before the first one runs."""
    provenance = {"backend": "ns2", "code": source_hash(), "tool": tool_version()}
    return tables.simulate_runs(paper, experiment, checked(paper, experiment, specs, check), run, provenance)


def source_hash() -> str:
    """Digest of this module, of the network and of the code that draws the short flows."""
    return digest_of((Path(__file__), _LIBRARY, Path(traffic.__file__), Path(rng.__file__)))


def estimate_s(specs: Iterable[RunSpec]) -> float:
    """Time of ``specs`` on one core in s, from their packets; DCCP's also grow with the window."""
    return sum(_estimate_run_s(spec.scenario) for spec in specs)


def _estimate_run_s(scenario: Scenario) -> float:
    pkts = expected_pkts(scenario)
    if any(flow.direction == "reverse" for flow in (*scenario.flows, *(web.flow for web in scenario.web))):
        pkts *= 1 + scenario.reverse_bps / scenario.capacity_bps
    if not scenario.web:
        pkts = min(pkts, sum(flow.size_pkts for flow in scenario.flows))
    share = 1 / len(scenario.flows)
    windows = [
        share * (_path_pkts(scenario, flow) + scenario.buffer_pkts) for flow in scenario.flows if flow.cc == "ccid2"
    ]
    short_flows = sum(
        web.arrivals_per_s * max(min(web.flow.stop_s, scenario.duration_s) - web.flow.start_s, 0.0)
        for web in scenario.web
    )
    return _START_S + pkts * (_PACKET_S + share * sum(windows) * _DCCP_PACKET_S) + short_flows * _SHORT_FLOW_S
