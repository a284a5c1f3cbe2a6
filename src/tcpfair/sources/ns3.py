"""ns-3 as a source of traces: a second opinion on a few runs, at 5 to 30 thousand packets a second.

ns-3 is not a dependency. It is the wheel ``ns3`` from PyPI (3.44 was tried) in a separate environment, whose Python
``TCPFAIR_NS3_PYTHON`` names; if unset, this Python is used. The simulation is ``ns3_dumbbell.py`` in this folder, which
runs there.

The topology is the engine's: ACKs neither queue nor get lost, propagation is behind the bottleneck, jitter is uniform
and keeps packets in order, DropTailQueue holds ``buffer_pkts`` in addition to the packet on the wire. Differences:

* ns-3's algorithms are its own. BIC and CUBIC count whole packets; Reno reduces from the packets in flight rather than
  from the window, and cuts the growth per ACK to whole bytes (5 % slower at 170 packets).
  A parameter without a counterpart is refused; a switch (0 or 1) without one is omitted and listed in
  ``runs.left_out``. Reno's rule is TcpNewReno (growth per ACK), with ``byte_counting`` TcpLinuxReno (per acknowledged
  packet); the others count as ns-3 does. ns-3's Westwood estimates the bandwidth, unlike ogura's. TcpYeah's reduction
  can fall below zero in 32 bits; such a run is an error.
* recovery is ns-3's: RFC 6675 with "sack" and RFC 6582 with "newreno"; "reno" is missing. Its retransmission timer is
  restarted only by the first partial ACK, so recovery of many losses takes an RTO where the engine continues. Its cost
  in ns-3 grows with the square of the window: give ``initial_ssthresh_pkts`` where slow start would overshoot.
  ``reduction`` is TcpClassicRecovery ("immediate") or TcpPrrRecovery ("prr").
* a flow begins with a handshake of one round trip, unlike in the engine, and SYNs can be lost. After ``stop_s`` up
  to ten more packets are sent.
* a full interface queue of the sender (``access_queue_pkts``) drops packets; in the engine, as in Linux, TCP notices.
* fractions of packets in ``buffer_pkts`` and ``iw_pkts`` are cut off.
* timestamps are off: ns-3's count milliseconds, and without them the RTT is exact. Instead of the header's size the rates
  of the links are scaled so that a full packet takes the time of ``wire_bytes``.
* losses and timeouts in ``events`` are entries into CA_RECOVERY and CA_LOSS: a timer that fires again in CA_LOSS is not
  recorded. ``w_max`` and ``k_s`` are unknown.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.cc.registry import algorithm, param_values
from tcpfair.engine.result import Result
from tcpfair.engine.state import EVENT, EVENT_NAMES
from tcpfair.errors import InputError
from tcpfair.papers.expand import RunSpec, expected_pkts
from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.scenario import Flow, Scenario
from tcpfair.runs.code import digest_of
from tcpfair.runs.trace import Trace
from tcpfair.sources import tables
from tcpfair.sources.refusals import checked
from tcpfair.units import bdp_pkts, service_time_s

PYTHON_VARIABLE = "TCPFAIR_NS3_PYTHON"
INSTALL = (
    "ns-3 is not installed; `python3 -m venv ~/ns3 && ~/ns3/bin/pip install ns3`, "
    f"then `export {PYTHON_VARIABLE}=~/ns3/bin/python`"
)
_SCRIPT = Path(__file__).with_name("ns3_dumbbell.py")
_HEADERS_BYTES = 42  # TCP 20 (no options on data), IP 20, point-to-point 2
_LARGEST_BUFFER_BYTES = (1 << 30) - 1  # the limit of a window scale of 14
_LARGEST_UINT32 = (1 << 32) - 1
_NEVER_S = 1e9
_TAIL_LINES = 4  # of ns-3's output when it fails
# measured on one core: to load and compile; a packet; and additional time of a packet per packet of its flow's window,
# because ns-3 traverses the window to send one
_START_S = 3.0
_PKT_S = 31e-6
_PKT_PER_WINDOW_PKT_S = 50e-9


def _flag(value: float) -> str:
    return "true" if value else "false"


def _real(value: float) -> str:
    return f"{value:.12g}"


def _whole(value: float) -> str:
    return str(round(value))


def _kept(value: float) -> str:
    """ns-3 states the part that remains after a loss, the papers the part that is removed."""
    return _real(1.0 - value)


def _halvings(value: float) -> str:
    return _whole(-math.log2(value))


def _time(value_s: float) -> str:
    return f"{round(value_s * 1e9)}ns"


def _as(convert: Callable[[float], str], **attributes: str) -> dict[str, tuple[str, Callable[[float], str]]]:
    return {ours: (attribute, convert) for ours, attribute in attributes.items()}


_BINARY_SEARCH = _as(_kept, beta="Beta") | _as(_flag, fast_convergence="FastConvergence")
# our name -> ns-3's class, and its attribute and conversion for each of our parameters
MODELS: dict[str, tuple[str, dict[str, tuple[str, Callable[[float], str]]]]] = {
    "bic": (
        "TcpBic",
        _BINARY_SEARCH
        | _as(_whole, bic_S_max="MaxIncr", low_window="LowWnd", smooth_part="SmoothPart", B="BinarySearchCoefficient"),
    ),
    "cubic": ("TcpCubic", _BINARY_SEARCH | _as(_real, C="C") | _as(_flag, tcp_friendly="TcpFriendliness")),
    "highspeed": ("TcpHighSpeed", {}),
    "htcp": ("TcpHtcp", _as(_real, beta_min="DefaultBackoff") | _as(_time, delta_L_s="DeltaL")),
    "hybla": ("TcpHybla", _as(_time, rtt0_s="RRTT")),
    "illinois": (
        "TcpIllinois",
        _as(_real, alpha_min="AlphaMin", alpha_max="AlphaMax", beta_min="BetaMin", beta_max="BetaMax")
        | _as(_whole, win_thresh="WinThresh", theta="Theta"),
    ),
    "lp": ("TcpLp", {}),
    **dict.fromkeys(("newreno", "reno", "sack"), ("TcpNewReno", {})),
    "scalable": ("TcpScalable", _as(_whole, ai_cnt="AIFactor") | _as(_real, beta="MDFactor")),
    "vegas": ("TcpVegas", _as(_whole, alpha="Alpha", beta="Beta", gamma="Gamma")),
    "veno": ("TcpVeno", _as(_whole, beta="Beta")),
    "westwood": ("TcpWestwoodPlus", {}),
    "yeah": (
        "TcpYeah",
        _as(_whole, alpha="Alpha", gamma="Gamma")
        | _as(_halvings, delta="Delta", epsilon="Epsilon")
        | _as(_whole, phi="Phy", rho="Rho", zeta="Zeta", stcp_acks="StcpAiFactor"),
    ),
}
_RECOVERY = {"sack": "true", "newreno": "false"}
_REDUCTION = {
    "immediate": "ns3::TcpClassicRecovery",
    "prr": "ns3::TcpPrrRecovery",
    "rate_halving": "ns3::TcpPrrRecovery",  # also spread over a round trip, but to ssthresh itself
}


# --- the scenario for ns-3 ------------------------------------------------------------------------------------


def congestion_control(flow: Flow) -> tuple[str, dict[str, str], list[str]]:
    """ns-3's class for a flow, its attributes, and our switches that it does not have.

    Raises InputError when ns-3 lacks the algorithm or a parameter that the scenario sets.
    """
    if flow.cc not in MODELS:
        raise InputError(f"ns3: cc {flow.cc!r} is not in ns-3; it has {', '.join(sorted(MODELS))}")
    type_name, counterparts = MODELS[flow.cc]
    ours = {param.name: param for param in algorithm(flow.cc).params}
    values = param_values(flow.cc, flow.params)
    attributes = {attribute: convert(values[name]) for name, (attribute, convert) in counterparts.items()}
    with_counterpart = set(counterparts)
    if flow.cc == "cubic":
        detectors = {"hystart_train": "PACKET_TRAIN", "hystart_delay": "DELAY"}
        detect = [name for name in detectors if values.get(name)]
        attributes["HyStart"] = _flag(len(detect))
        if len(detect) == 1:
            attributes["HyStartDetect"] = detectors[detect[0]]
        with_counterpart |= {name for name in flow.params if name.startswith("hystart_")}
    left_out = []
    for name, value in flow.params.items():
        if name in with_counterpart or value == ours[name].default:
            continue
        if ours[name].unit != "0 or 1":
            known = ", ".join(counterparts) or "none"
            raise InputError(f"ns3: cc {flow.cc}: parameter {name!r} is not in ns-3's {type_name}; known are {known}")
        left_out.append(f"{flow.cc}.{name}")
    if type_name == "TcpNewReno" and flow.byte_counting:
        type_name = "TcpLinuxReno"
    return f"ns3::{type_name}", attributes, left_out


def _recovery(flow: Flow) -> str:
    wanted = flow.recovery or algorithm(flow.cc).recovery
    if wanted not in _RECOVERY:
        raise InputError(f"ns3: recovery {wanted!r} is not in ns-3; it has {', '.join(_RECOVERY)}")
    return _RECOVERY[wanted]


def _flow_request(flow: Flow, segment: int, rate_scale: float) -> dict[str, dict[str, Any]]:
    type_name, attributes, _ = congestion_control(flow)
    return {
        "flow": {
            "rttS": flow.rtt_s,
            "startS": flow.start_s,
            "stopS": min(flow.stop_s, _NEVER_S),
            "accessBps": flow.access_bps * rate_scale,
            "accessQueue": max(int(flow.access_queue_pkts), 1),
            "accessJitterS": flow.access_jitter_s,
            "sizePkts": min(flow.size_pkts, 1e300),
            "congestionControl": type_name,
            "recovery": _REDUCTION[flow.reduction],
        },
        "congestion_control": attributes,
        "socket": {
            "SegmentSize": _whole(segment),
            "SndBufSize": _whole(_LARGEST_BUFFER_BYTES),
            "RcvBufSize": _whole(min(flow.rwnd_pkts * segment, _LARGEST_BUFFER_BYTES)),
            "InitialCwnd": _whole(max(int(flow.iw_pkts), 1)),
            "InitialSlowStartThreshold": _whole(min(flow.initial_ssthresh_pkts * segment, _LARGEST_UINT32)),
            "DelAckCount": _whole(flow.ack_every),
            "DelAckTimeout": _time(flow.delack_s),
            "MinRto": _time(flow.rto_min_s),
            "ConnTimeout": _time(1.0),  # RFC 6298, section 2.1
            "DataRetries": _whole(_LARGEST_UINT32),  # a flow never gives up
            "Sack": _recovery(flow),
            "Timestamp": "false",
        },
    }


def request(scenario: Scenario, seed: int) -> dict[str, Any]:
    """One run as a request to ``ns3_dumbbell.py``. Raises InputError for settings that ns-3 does not have."""
    for name in ("reverse_bps", "web", "synchronised_losses", "tick_s"):
        if getattr(scenario, name):
            raise InputError(f"{name}: the ns-3 backend has nothing for it; the engine has")
    segment = round(scenario.payload_bytes)
    rate_scale = (segment + _HEADERS_BYTES) / scenario.wire_bytes
    # seeds have up to 62 bits: 31 for ns-3's seed, which is not 0, and 31 for its run number
    high, low = divmod(seed, 1 << 31)
    return {
        "link": {
            "seed": high + 1,
            "run": low,
            "capacityBps": scenario.capacity_bps * rate_scale,
            "serviceS": service_time_s(scenario.wire_bytes, scenario.capacity_bps),
            "segment": segment,
            "buffer": max(int(scenario.buffer_pkts + 1e-9), 1),
            "lossRate": scenario.loss_rate,
            "jitterS": scenario.jitter_s,
            "durationS": scenario.duration_s,
            "sampleS": scenario.sample_s,
        },
        "flows": [_flow_request(flow, segment, rate_scale) for flow in scenario.flows],
    }


# --- ns-3 itself -----------------------------------------------------------------------------------------------------


def interpreter() -> str:
    """The Python with ns-3; InputError with installation instructions when it is missing."""
    named = os.environ.get(PYTHON_VARIABLE)
    if named:
        return named
    if importlib.util.find_spec("ns3") is None:
        raise InputError(INSTALL)
    return sys.executable


@cache
def _version_at(python: str) -> str:
    try:
        done = _python(python, "--version")
    except OSError as error:
        raise InputError(f"{PYTHON_VARIABLE}: {python}: {error.strerror}; it must be a Python that has ns-3") from None
    if done.returncode != 0:
        raise InputError(
            f"{PYTHON_VARIABLE}: {python} has no package ns3; install it with `{python} -m pip install ns3`"
        )
    return done.stdout.strip()


def tool_version() -> str:
    """Name and version of the simulator; InputError with one line when it is missing."""
    return f"ns-3 {_version_at(interpreter())}"


def _python(python: str, *arguments: str) -> subprocess.CompletedProcess:
    # -I: without our PYTHONPATH, and without this folder, which has another ns3
    return subprocess.run([python, "-I", str(_SCRIPT), *arguments], capture_output=True, text=True, check=False)


def _simulate(requests: list[dict], folder: Path) -> None:
    """Run ns-3 on ``requests``; its tables go to ``folder``. InputError with the tail of its messages when it fails."""
    path = folder / "request.json"
    path.write_text(json.dumps(requests))
    done = _python(interpreter(), str(path), str(folder))
    if done.returncode != 0:
        tail = [line.strip() for line in done.stderr.splitlines() if line.strip()][-_TAIL_LINES:]
        raise InputError(f"ns3: ns-3 failed with status {done.returncode}: {' | '.join(tail)}")


def source_hash() -> str:
    """Digest of this module and the script that runs in ns-3."""
    return digest_of((Path(__file__), _SCRIPT))


def estimate_s(specs: Iterable[RunSpec]) -> float:
    """Expected time of these serial runs in s; recovery after an overshoot in slow start takes longer."""
    return _START_S + sum(_run_s(spec.scenario) for spec in specs)


def _run_s(scenario: Scenario) -> float:
    rtt_s = sum(flow.rtt_s for flow in scenario.flows) / len(scenario.flows)
    in_flight_pkts = bdp_pkts(scenario.capacity_bps, rtt_s, scenario.wire_bytes) + scenario.buffer_pkts
    return expected_pkts(scenario) * (_PKT_S + _PKT_PER_WINDOW_PKT_S * in_flight_pkts / len(scenario.flows))


# --- traces ----------------------------------------------------------------------------------------------------------


def simulate_runs(paper: PaperConfig, experiment: str, specs: Iterable[RunSpec]) -> Trace:
    """Simulate ``specs`` serially and combine their tables.

    Raises InputError with one line when ns-3 is missing, does not support a scenario, or fails.
    """
    specs = checked(paper, experiment, specs, lambda scenario: request(scenario, 1))
    provenance = {"backend": "ns3", "code": source_hash(), "tool": tool_version()}
    with tempfile.TemporaryDirectory(prefix="tcpfair-ns3-") as scratch:
        folder = Path(scratch)
        _simulate([request(spec.scenario, spec.seed) for spec in specs], folder)
        results = (_read_result(folder, k, spec.scenario) for k, spec in enumerate(specs))
        trace = tables.gather(paper.paper, experiment, specs, results, provenance)
    left_out = ({name for flow in spec.scenario.flows for name in congestion_control(flow)[2]} for spec in specs)
    trace.runs["left_out"] = [", ".join(sorted(names)) for names in left_out]
    return trace


def _read_result(folder: Path, k: int, scenario: Scenario) -> Result:
    """The output of ``ns3_dumbbell.py`` for run ``k``. It sends whole segments; ACKs neither queue nor get lost."""
    raw = pd.read_csv(folder / f"samples-{k}.csv").sort_values(["sample", "flow_id"])
    link = pd.read_csv(folder / f"link-{k}.csv")
    noted = pd.read_csv(folder / f"events-{k}.csv")
    shape = (len(link), len(scenario.flows))
    of_flows = {name: raw[name].to_numpy().reshape(shape) for name in raw}
    segment = round(scenario.payload_bytes)
    no_acks, no_web = np.zeros((1, len(link)), np.int64), np.zeros((2, len(link)), np.int64)
    events = np.zeros(len(noted), EVENT)
    events["w_max"] = events["k_s"] = np.nan
    events["flow"] = noted["flow_id"] - 1
    events["kind"] = [EVENT_NAMES.index(kind) for kind in noted["kind"]]
    for name in ("t_s", "cwnd_before", "cwnd_after"):
        events[name] = noted[name]
    return Result(
        t_s=scenario.sample_s * link["sample"].to_numpy(),
        delivered_pkts=of_flows["delivered_bytes"] // segment,
        received_pkts=of_flows["received_bytes"] // segment,
        **{name: of_flows[name] for name in ("cwnd_pkts", "ssthresh_pkts", "srtt_s")},
        **{f"link_{name}": link[name].to_numpy()[None] for name in ("forwarded_pkts", "dropped_pkts", "queue_pkts")},
        **dict.fromkeys(("link_acks", "link_acks_dropped"), no_acks),
        **dict.fromkeys(("web_delivered_pkts", "web_received_pkts", "web_active"), no_web),
        events=events,
    )
