"""An unmodified Linux kernel as a source of traces: Debian's kernel package in QEMU, with a clock that counts instructions.

The guest's time is virtual (``-icount``) and its processor never idle (``never_idle`` in ``agent.c``), so the load of the host
changes no byte of a trace; neither KVM nor root is needed.
`image` builds what boots. ``agent.c`` is the only program in it. The network is namespaces for each sender, the router and the
receivers, with ``netem`` for the bottleneck (a rate and a queue in packets) and for the way back (delay, jitter, in order). Flows
are TCP sockets, or DCCP sockets with CCID 2. The kernel seeds its random numbers from its command line, which has the seed.

Where the guest differs from the engine, whatever the scenario:

* sockets have a buffer, and so a receiver window: `of_engine` gives it to the engine's flows;
* the kernel has its own stack: ``stack``, ``byte_counting``, ``reduction`` and ``rto`` describe the engine's flows and have no
  effect here. Delayed ACKs are Linux's: quick ACKs at first, then ``delack_s`` at least;
* ``ack_every: 1`` is the route's ``quickack``; a DCCP flow's Ack Ratio is CCID 2's own;
* ``netem`` limits the packets that wait and the one in service, so the limit is ``buffer_pkts`` + 1, rounded;
* jitter is that of ACKs on their way back, not of data; ``loss_rate`` acts in front of the bottleneck, on handshakes as well;
* connections are opened before the run starts, so that a flow's first data leave at ``start_s``, with an RTT measured once;
* first arrivals are not known: ``received_bytes`` is what the receiver's program has read, in order;
* windows and events are those of TCP_INFO, polled every 5 ms; a CCID 2 sender has no such call: its windows are NaN, and it has
  no events.
"""

from __future__ import annotations

import math
import re
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.cc.registry import param_values
from tcpfair.engine.result import Result
from tcpfair.engine.state import EVENT, EVENT_NAMES
from tcpfair.errors import InputError
from tcpfair.papers.expand import RunSpec, expected_pkts
from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.scenario import Flow, Scenario
from tcpfair.runs.code import digest_of
from tcpfair.runs.trace import Trace
from tcpfair.sources import tables
from tcpfair.sources.guest import image
from tcpfair.sources.readers import polls as polled
from tcpfair.sources.refusals import checked, refuse_unknown

# Ethernet, IP, and TCP with time stamps or DCCP with long sequence numbers
TCP_HEADERS_BYTES, DCCP_HEADERS_BYTES = 66, 50
ETHERNET_BYTES = 14
MOST_FLOWS = 64  # as in agent.c
_TIMESTAMPS_BYTES = 12
_DCCP_OPTIONS_BYTES = 40  # what the kernel reserves for options in a DCCP packet
_KERNEL_CC = {
    **{name: name for name in ("bic", "highspeed", "htcp", "hybla", "illinois", "lp", "scalable")},
    **{name: name for name in ("vegas", "veno", "westwood", "yeah", "reno", "ccid2")},
    **{"newreno": "reno", "sack": "reno", "cubic_linux_6": "cubic"},
}
# Parameters of the registry that a module has as well: its name there and its unit.
_SETTABLE = {
    "bic": {
        "beta": ("beta", -1024),  # the module has the part that is left
        "fast_convergence": ("fast_convergence", 1),
        "bic_S_max": ("max_increment", 1),
        "low_window": ("low_window", 1),
        "smooth_part": ("smooth_part", 1),
    },
    "cubic_linux_6": {"tcp_friendly": ("tcp_friendliness", 1), "hystart": ("hystart", 1)},
}
# Parameters of the engine that describe the kernel's own rules: any value is taken.
_DESCRIBING = {"ai_cnt", "linux_ack_counting", "linux_2_6_22", "linux_2_6_13", "tick_s", "ack_delay_s", "clock_s"}

_SCENARIO_FIELDS = {
    *("capacity_bps", "wire_bytes", "payload_bytes", "buffer_pkts", "duration_s", "sample_s", "flows", "loss_rate"),
    *("jitter_s", "record"),
}
_FLOW_FIELDS = {
    *("protocol", "cc", "params", "rtt_s", "start_s", "stop_s", "size_pkts", "iw_pkts", "ack_every", "delack_s"),
    *("recovery", "byte_counting", "reduction", "rto_min_s", "role", "stack", "rto"),
}

_POLL_S = 0.005
_DELACK_S = 0.04  # TCP_DELACK_MIN
_NEVER = 1e9  # s and bytes, where a flow has no end
_DEEP_PKTS = 100_000
# A socket's buffer in units of its window. A fact of Linux: its bookkeeping takes half of a buffer (tcp_adv_win_scale is 1,
# Documentation/networking/ip-sysctl.rst of Linux 6.1).
_BUFFER_PER_WINDOW = 2
# In units of the bandwidth-delay product and the queue. The factor of 4 is an assumption, so that slow start, which may send
# twice what the path holds, is never limited.
_SOCKET_WINDOWS = 4 * _BUFFER_PER_WINDOW
_LEAST_SOCKET_BYTES = 131_072  # the default of tcp_rmem
_ORDER_BPS = 10**10  # netem keeps packets in order when it has a rate
_QEMU = (
    *("-machine", "q35,accel=tcg", "-cpu", "qemu64", "-smp", "1", "-m", "512", "-nodefaults", "-display", "none"),
    *("-serial", "stdio", "-no-reboot", "-icount", "shift=2,sleep=off", "-rtc", "base=2026-01-01,clock=vm"),
)
_COMMAND_LINE = (
    "console=ttyS0 quiet panic=-1 mitigations=off audit=0 apparmor=0 tsc=reliable clocksource=tsc rdinit=/init"
)
# CPU time, measured: to boot, per packet, and how many times as much a run may take.
_BOOT_S, _PACKET_S, _PATIENCE = 10.0, 0.7e-3, 10


# --- What the guest can do ----------------------------------------------------------------------------------------


def check(scenario: Scenario) -> None:
    """Raise InputError, in one line, for the first thing that the guest cannot do."""
    refuse_unknown(scenario, _SCENARIO_FIELDS, "the guest")
    if scenario.payload_bytes != scenario.wire_bytes - TCP_HEADERS_BYTES or scenario.wire_bytes % 1:
        raise InputError(
            f"wire_bytes: must be whole, and payload_bytes {TCP_HEADERS_BYTES} bytes of headers less "
            f"(got {scenario.wire_bytes:g} and {scenario.payload_bytes:g})"
        )
    if len(scenario.flows) > MOST_FLOWS:
        raise InputError(f"flows: the guest has at most {MOST_FLOWS} (got {len(scenario.flows)})")
    for i, flow in enumerate(scenario.flows):
        _check_flow(f"flows[{i}]", flow)


def _check_flow(where: str, flow: Flow) -> None:
    refuse_unknown(flow, _FLOW_FIELDS, "the guest", f"{where}.")
    if flow.cc not in _KERNEL_CC:
        raise InputError(f"{where}.cc: the guest has no {flow.cc!r}; it has {', '.join(sorted(_KERNEL_CC))}")
    if flow.recovery not in (None, "sack"):
        raise InputError(f"{where}.recovery: the guest has sack only (got {flow.recovery!r})")
    if flow.ack_every == 2 and flow.delack_s != _DELACK_S:
        raise InputError(f"{where}.delack_s: Linux has {_DELACK_S:g} (got {flow.delack_s:g})")
    built_in = param_values(flow.cc, {})
    for name, value in param_values(flow.cc, flow.params).items():
        if name in flow.params and name not in _SETTABLE.get(flow.cc, {}) and name not in _DESCRIBING:  # noqa: SIM102
            if not math.isclose(value, built_in[name]):
                known = ", ".join(_SETTABLE.get(flow.cc, {})) or "nothing"
                raise InputError(
                    f"{where}.params.{name}: cannot be set in the kernel's {flow.cc}; what can, is {known}"
                )


# --- The script ---------------------------------------------------------------------------------------------------


def script(scenario: Scenario) -> str:
    """The scenario as lines for ``agent.c``. Raises InputError for what the guest cannot do."""
    check(scenario)
    mtu = round(scenario.wire_bytes) - ETHERNET_BYTES + _DCCP_OPTIONS_BYTES
    senders = [f"s{i}" for i in range(len(scenario.flows))]
    lines = [f"module /mod/{name}.ko" for name in image.MODULES]
    lines += [f"/bin/ip netns add {space}" for space in (*senders, "r", "d")]
    lines += _wire("r", "out", "d", "in", "10.255.0", mtu)
    lines += ["/bin/ip -n d route add default via 10.255.0.1"]
    rate = f"rate {round(scenario.capacity_bps)}bit limit {max(round(scenario.buffer_pkts), 1) + 1}"
    lines += [f"/bin/tc -n r qdisc add dev out root netem {rate}"]
    for i, flow in enumerate(scenario.flows):
        lines += _path(scenario, i, flow, mtu)
    for space in (*senders, "d"):
        lines += [f"space {space}", *_sysctls(scenario)]
    lines += ["space r", "write /proc/sys/net/ipv4/ip_forward 1"]
    lines += [
        f"write /sys/module/tcp_{_KERNEL_CC[flow.cc]}/parameters/{name} {value}"
        for flow in scenario.flows
        for name, value in _module_parameters(flow)
    ]
    lines += [_flow_line(scenario, i, flow) for i, flow in enumerate(scenario.flows)]
    lines += [f"run {scenario.duration_s} {scenario.sample_s} {math.ceil(scenario.sample_s / _POLL_S)}"]
    return "\n".join(lines) + "\n"


def _wire(near: str, end: str, far: str, other: str, net: str, mtu: int) -> list[str]:
    """Lines that join two namespaces; packets are never larger than the link's (no segmentation offload)."""
    lines = [f"/bin/ip link add name {end} netns {near} type veth peer name {other} netns {far}"]
    for space, device, host in ((near, end, 1), (far, other, 2)):
        lines += [
            f"/bin/ip -n {space} addr add {net}.{host}/24 dev {device}",
            f"/bin/ip -n {space} link set dev {device} mtu {mtu} gso_max_segs 1 up",
        ]
    return lines


def _path(scenario: Scenario, i: int, flow: Flow, mtu: int) -> list[str]:
    space, net = f"s{i}", f"10.0.{i}"
    half_s = scenario.jitter_s / 2
    jitter = f" {half_s * 1e6:.3f}us rate {_ORDER_BPS}bit" if half_s else ""
    back = f"netem limit {_DEEP_PKTS} delay {(flow.rtt_s + half_s) * 1e6:.3f}us{jitter}"
    lines = [
        *_wire(space, "up", "r", f"to{i}", net, mtu),
        f"/bin/ip -n {space} route add default via {net}.2 initcwnd {round(flow.iw_pkts)}"
        f" rto_min {round(flow.rto_min_s * 1e3)}ms",
        f"/bin/tc -n r qdisc add dev to{i} root {back}",
    ]
    if flow.ack_every == 1:
        lines += [f"/bin/ip -n d route add {net}.0/24 via 10.255.0.1 quickack 1"]
    if scenario.loss_rate > 0:
        lines += [f"/bin/tc -n {space} qdisc add dev up root netem limit {_DEEP_PKTS} loss {100 * scenario.loss_rate}%"]
    return lines


def _sysctls(scenario: Scenario) -> list[str]:
    """Sockets whose buffers never limit a flow, and no pause that makes a window small again.

    Not more: the receiver acknowledges every packet while its window grows to the size of its buffer (tcp_grow_window).
    """
    size = _socket_bytes(scenario)
    sizes = f"4096 {size} {size}"
    values = {"tcp_rmem": sizes, "tcp_wmem": sizes, "tcp_slow_start_after_idle": 0, "tcp_no_metrics_save": 1}
    return [f"write /proc/sys/net/ipv4/{name} {value}" for name, value in values.items()]


def _socket_bytes(scenario: Scenario) -> int:
    window_bytes = max(flow.rtt_s for flow in scenario.flows) * scenario.capacity_bps / 8
    window_bytes += scenario.buffer_pkts * scenario.wire_bytes
    return max(round(_SOCKET_WINDOWS * window_bytes), _LEAST_SOCKET_BYTES)


def of_engine(scenario: Scenario) -> Scenario:
    """The scenario as the engine simulates it: TCP flows have the receiver window of the guest's sockets."""
    rwnd_pkts = _socket_bytes(scenario) / _BUFFER_PER_WINDOW / scenario.payload_bytes
    flows = [
        each if each.cc == "ccid2" else each.model_copy(update={"rwnd_pkts": rwnd_pkts}) for each in scenario.flows
    ]
    return scenario.model_copy(update={"flows": tuple(flows)})


def _module_parameters(flow: Flow) -> list[tuple[str, int]]:
    names = _SETTABLE.get(flow.cc, {})
    return [
        (names[name][0], round((1 - value) * -names[name][1] if names[name][1] < 0 else value * names[name][1]))
        for name, value in flow.params.items()
        if name in names
    ]


def _payload_bytes(scenario: Scenario, flow: Flow) -> int:
    return round(scenario.wire_bytes) - (DCCP_HEADERS_BYTES if flow.cc == "ccid2" else TCP_HEADERS_BYTES)


def _flow_line(scenario: Scenario, i: int, flow: Flow) -> str:
    payload_bytes = _payload_bytes(scenario, flow)
    mss_bytes = payload_bytes + _TIMESTAMPS_BYTES
    stop_s = min(flow.stop_s, _NEVER)
    size_bytes = min(flow.size_pkts * payload_bytes, _NEVER * payload_bytes)
    return f"flow s{i} 10.255.0.2 {_KERNEL_CC[flow.cc]} {payload_bytes} {mss_bytes} {flow.start_s} {stop_s} {size_bytes:.0f}"


# --- Running it ---------------------------------------------------------------------------------------------------


@cache
def tool_version() -> str:
    """Kernel and QEMU. Raises InputError, with what to install, when something is missing."""
    image.image()
    said = subprocess.run([image.tool("qemu-system-x86_64"), "--version"], capture_output=True, text=True, check=True)
    version = re.search(r"version (\S+)", said.stdout)
    return f"Linux {image.chosen()} in QEMU {version[1] if version else ''}".strip()


def run(scenario: Scenario, seed: int = 1) -> Result:
    """Simulate one scenario with one seed. Raises InputError when something is missing, cannot be done, or fails."""
    return result(scenario, output(script(scenario), seed, _estimate_run_s(scenario) * _PATIENCE))


def output(text: str, seed: int, patience_s: float) -> str:
    """What the guest prints for a script. Raises InputError after ``patience_s`` seconds of CPU, or when QEMU fails."""
    made = image.image()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.write_bytes(made.root.read_bytes() + image.archive({"scenario": text.encode()}))
        command = [image.tool("qemu-system-x86_64"), *_QEMU, "-kernel", str(made.kernel), "-initrd", str(root)]
        command += ["-append", f"{_COMMAND_LINE} seed={seed}"]
        done = subprocess.run(command, capture_output=True, preexec_fn=partial(_limit_cpu, patience_s), check=False)
    if done.returncode == -signal.SIGXCPU:
        raise InputError(f"guest: no result after {patience_s:.0f} s of CPU: QEMU hangs")
    if done.returncode:
        raise InputError(f"guest: QEMU failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return done.stdout.decode(errors="replace")


def _limit_cpu(most_s: float) -> None:
    """End this process after so many seconds of CPU: a guest never idles, and a busy machine is no reason to give up."""
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(most_s), math.ceil(most_s) + 1))


def result(scenario: Scenario, text: str) -> Result:
    """The run's arrays from the guest's output. Raises InputError for an incomplete or failed run."""
    lines = text.replace("\r", "").splitlines()
    if "RESULT" not in lines or "END" not in lines:
        why = next(
            (line for line in lines if line.startswith("FAILED") or "panic" in line), "it ended without a result"
        )
        raise InputError(f"guest: the run failed: {why}")
    words = [line.split() for line in lines[lines.index("RESULT") + 1 : lines.index("END")]]
    samples, count = round(scenario.duration_s / scenario.sample_s), len(scenario.flows)
    links = np.array([w[1:] for w in words if w[0] == "link"], float)
    names = ("t_s", "received", "cwnd", "ssthresh", "rtt_us", "total_retrans", "ca_state")
    shape = (samples, count)
    delivered, arrays, rows = np.zeros(shape), {}, []
    for i, flow in enumerate(scenario.flows):
        polls = pd.DataFrame([w[2:] for w in words if w[:2] == ["poll", str(i)]], columns=names).astype(float)
        edges_s = scenario.sample_s * np.arange(1, samples + 1)
        at = np.searchsorted(polls["t_s"].to_numpy(), edges_s - _POLL_S / 10)
        if len(links) != samples + 1 or at.max(initial=0) >= len(polls):
            raise InputError(f"guest: the run failed: it has {len(links)} of {samples + 1} samples")
        delivered[:, i] = polls["received"].to_numpy()[at] // _payload_bytes(scenario, flow)
        windows = polled.windows(polls)
        if flow.cc == "ccid2":
            windows = {name: np.full(len(polls), np.nan) for name in windows}
        else:
            rows += _events(i, flow, polls)
        for name, values in windows.items():
            arrays.setdefault(name, np.zeros(shape))[:, i] = values[at]
    counters = links[1:].T.astype(np.int64)
    return Result(
        t_s=scenario.sample_s * np.arange(1, samples + 1),
        delivered_pkts=delivered.astype(np.int64),
        received_pkts=delivered.astype(np.int64),
        **arrays,
        link_forwarded_pkts=counters[None, 1],
        link_dropped_pkts=counters[None, 2],
        link_queue_pkts=links[None, 1:, 3],
        link_acks=np.zeros((1, samples), np.int64),
        link_acks_dropped=np.zeros((1, samples), np.int64),
        web_delivered_pkts=np.zeros((2, samples), np.int64),
        web_received_pkts=np.zeros((2, samples), np.int64),
        web_active=np.zeros((2, samples), np.int64),
        events=np.array(sorted(rows, key=lambda row: row[:2]), EVENT),
    )


def _events(i: int, flow: Flow, polls: pd.DataFrame) -> list[tuple]:
    """Losses, timeouts and ends of recovery of a flow, as rows of `EVENT`."""
    integers = ("cwnd", "ssthresh", "total_retrans", "ca_state")
    table = polls.astype(dict.fromkeys(integers, "int64")).assign(cc=_KERNEL_CC[flow.cc])
    found = polled.losses(table, polls["t_s"].to_numpy()).itertuples(index=False)
    return [(row.t_s, i, EVENT_NAMES.index(row.kind), *row[2:]) for row in found]


# --- Traces -------------------------------------------------------------------------------------------------------


def simulate_runs(paper: PaperConfig, experiment: str, specs: Iterable[RunSpec]) -> Trace:
    """Simulate ``specs`` one after another and gather their tables; all are checked before the first one runs."""
    provenance = {"backend": "guest", "code": source_hash(), "tool": tool_version()}
    return tables.simulate_runs(paper, experiment, checked(paper, experiment, specs, check), run, provenance)


def source_hash() -> str:
    """Digest of what makes a run; `image`, which only builds, is no part of it."""
    return digest_of([Path(__file__), Path(__file__).with_name("agent.c")])


def estimate_s(specs: Iterable[RunSpec]) -> float:
    """Seconds that ``specs`` take on one core."""
    return sum(_estimate_run_s(spec.scenario) for spec in specs)


def _estimate_run_s(scenario: Scenario) -> float:
    return _BOOT_S + expected_pkts(scenario) * _PACKET_S
