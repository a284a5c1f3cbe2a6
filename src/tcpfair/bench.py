"""Speed: delivered packets per second of the engine, with ns-2 on the same scenario in the same run where it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tcpfair.engine.dumbbell import run
from tcpfair.scenario import Scenario, make_scenario
from tcpfair.units import bdp_pkts

REPEATS = 3
NS2_PACKETS = 600_000  # ns-2 runs a shorter stretch of the same scenario: it is some thirty times slower
_WIRE_BYTES, _PAYLOAD_BYTES = 1500, 1448


@dataclass(frozen=True)
class Speed:
    """One measurement; printed as one JSON object a line."""

    scenario: str
    tool: str
    packets: int
    seconds: float
    packets_per_s: float
    ratio_to_ns2: float | None = None


def two_newreno(duration_s: float = 300.0) -> Scenario:
    """Two Reno flows with SACK over 100 Mb/s, 50 ms, a buffer of one BDP."""
    capacity_bps, rtt_s = 100e6, 0.050
    flow = {"protocol": "NewReno", "cc": "reno", "rtt_s": rtt_s}
    return make_scenario(
        {
            "capacity_bps": capacity_bps,
            "wire_bytes": _WIRE_BYTES,
            "payload_bytes": _PAYLOAD_BYTES,
            "buffer_pkts": round(bdp_pkts(capacity_bps, rtt_s, _WIRE_BYTES)),
            "duration_s": duration_s,
            "sample_s": 1.0,
            "jitter_s": 360e-6,
            "flows": [flow, flow | {"start_s": 0.5}],
        },
        "bench two_newreno",
    )


SCENARIOS = {"two_newreno": two_newreno}


def _best_engine_speed(name: str) -> Speed:
    scenario = SCENARIOS[name]()
    run(scenario.model_copy(update={"duration_s": 1.0}), 1)  # compile or load
    best = None
    for seed in range(REPEATS):
        started = time.perf_counter()
        result = run(scenario, seed)
        seconds = time.perf_counter() - started
        packets = int(result.ends["received"].sum())
        if best is None or seconds < best[1]:
            best = (packets, seconds)
    return Speed(name, "engine", best[0], round(best[1], 4), round(best[0] / best[1]))


def ns2_script(scenario: Scenario) -> str:
    """The scenario as an ns-2 script (Agent/TCP/Linux with a SACK sink); it prints the packets that the link carried."""
    link_delay_s = 1e-4
    lines = [
        "remove-all-packet-headers",  # ns-2 is several times as fast with only the headers it needs
        "add-packet-header IP TCP Flags",
        "set ns [new Simulator]",
        "$ns use-scheduler Heap",
        "set left [$ns node]",
        "set right [$ns node]",
        f"$ns duplex-link $left $right {scenario.capacity_bps:.0f} {link_delay_s} DropTail",
        f"$ns queue-limit $left $right {int(scenario.buffer_pkts) + 1}",
        "$ns queue-limit $right $left 100000",
        'set monitor [$ns monitor-queue $left $right ""]',
    ]
    for i, flow in enumerate(scenario.flows):
        side_s = flow.rtt_s / 2 - link_delay_s - 1e-5
        lines += [
            f"set s{i} [$ns node]",
            f"set d{i} [$ns node]",
            f"$ns duplex-link $s{i} $left 10Gb {side_s} DropTail",
            f"$ns duplex-link $right $d{i} 10Gb 0.00001 DropTail",
            f"$ns queue-limit $s{i} $left 100000",
            f"$ns queue-limit $right $d{i} 100000",
            f"set tcp{i} [new Agent/TCP/Linux]",
            f"$tcp{i} set window_ 100000",
            f"$tcp{i} set packetSize_ {int(scenario.wire_bytes) - 40}",
            f"$tcp{i} set overhead_ {scenario.jitter_s}",
            f"set sink{i} [new Agent/TCPSink/Sack1]",
            f"$ns attach-agent $s{i} $tcp{i}",
            f"$ns attach-agent $d{i} $sink{i}",
            f"$ns connect $tcp{i} $sink{i}",
            f"set app{i} [new Application/FTP]",
            f"$app{i} attach-agent $tcp{i}",
            f'$ns at 0 "$tcp{i} select_ca {flow.cc}"',
            f'$ns at {flow.start_s} "$app{i} start"',
        ]
    lines += [
        f'$ns at {scenario.duration_s} {{puts "packets [$monitor set pdepartures_]"; exit 0}}',
        "$ns run",
    ]
    return "\n".join(lines) + "\n"


def _ns2_speed(name: str) -> Speed | None:
    binary = shutil.which("ns") or shutil.which("ns2")
    if binary is None:
        return None
    whole = SCENARIOS[name]()
    service_s = 8 * whole.wire_bytes / whole.capacity_bps
    scenario = SCENARIOS[name](NS2_PACKETS * service_s)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bench.tcl"
        script.write_text(ns2_script(scenario))
        started = time.perf_counter()
        done = subprocess.run([binary, str(script)], capture_output=True, text=True, cwd=folder, check=False)
        seconds = time.perf_counter() - started
    words = done.stdout.split()
    if done.returncode != 0 or "packets" not in words:
        print(f"bench: ns-2 failed on {name}: {done.stderr.strip()[:200]}", file=sys.stderr)
        return None
    packets = int(float(words[words.index("packets") + 1]))
    return Speed(name, "ns2", packets, round(seconds, 4), round(packets / seconds))


def measure() -> list[Speed]:
    """Engine and, where installed, ns-2 on every scenario of the benchmark."""
    speeds = []
    for name in SCENARIOS:
        engine, ns2 = _best_engine_speed(name), _ns2_speed(name)
        ratio = round(engine.packets_per_s / ns2.packets_per_s, 1) if ns2 else None
        speeds.append(Speed(**(asdict(engine) | {"ratio_to_ns2": ratio})))
        if ns2:
            speeds.append(ns2)
    return speeds


def main(as_json: bool) -> None:
    """Print the measurements, one object a line or one sentence a line."""
    speeds = measure()
    for speed in speeds:
        if as_json:
            print(json.dumps(asdict(speed)))
        else:
            ratio = f", {speed.ratio_to_ns2} times ns-2" if speed.ratio_to_ns2 else ""
            print(f"{speed.scenario}: {speed.tool} {speed.packets_per_s / 1e6:.2f} million delivered packets/s{ratio}")
    if not any(speed.tool == "ns2" for speed in speeds):
        print("ns-2 is not installed (Debian package ns2): no ratio", file=sys.stderr)
