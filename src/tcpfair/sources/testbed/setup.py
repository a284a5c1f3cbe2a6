"""Description of a run of the testbed: from a file, from options, or from a scenario."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from tcpfair.cc.registry import param_values
from tcpfair.errors import InputError
from tcpfair.papers.papers import load_yaml
from tcpfair.papers.scenario import Flow, Frozen, Scenario, validated
from tcpfair.sources.refusals import refuse_unknown
from tcpfair.units import BITS_PER_BYTE, BPS_PER_MBPS, MS_PER_S

FRAME_BYTES = 1514  # Ethernet header and 1500 of IP: the count of the kernel's queues
OVERHEAD_BYTES = 24  # preamble, checksum and gap
WIRE_BYTES = FRAME_BYTES + OVERHEAD_BYTES
PAYLOAD_BYTES = 1448  # 1500 less IP and TCP headers with timestamps
MOST_RATE_BPS = 1e9  # above it a packet's time is shorter than the relay's wake-up interval
BURST_S = 0.5e-3  # a token bucket's reserve, so that a late timer has no effect

KERNEL_CC = ("reno", "cubic", "bbr")
K_OF_RTT, K_OF_KERNEL = "cubic_k_rtt", "cubic_k_kernel"
CONSTANT_K = re.compile(r"cubic_k_(\d{2,5})ms")  # 10 ms to 99 s


def has_other_k(cc: str) -> bool:
    """Whether a congestion control is the kernel's CUBIC with a modified K."""
    return cc in (K_OF_RTT, K_OF_KERNEL) or CONSTANT_K.fullmatch(cc) is not None


class TestbedFlow(Frozen):
    """One flow: iperf3 from a separate sender."""

    __test__ = False  # not a test class

    cc: str = Field(
        description="reno, cubic, bbr or another of the kernel's; cubic_k_rtt, cubic_k_5000ms: CUBIC's other K"
    )
    rtt_ms: Annotated[float, Field(ge=0.5, le=2000)]
    start_s: Annotated[float, Field(ge=0, le=3600)] = 0.0

    @model_validator(mode="after")
    def _cc_is_a_name(self) -> TestbedFlow:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,14}", self.cc):
            raise ValueError("cc must be a name of Linux, such as reno or cubic")
        if self.cc.startswith("cubic_k") and not has_other_k(self.cc):
            raise ValueError(f"cc must be {K_OF_RTT}, {K_OF_KERNEL} or a constant K such as cubic_k_5000ms")
        return self


class Setup(Frozen):
    """A run: senders with an RTT each, a drop-tail bottleneck, a receiver."""

    rate_bps: Annotated[float, Field(ge=1e6, le=MOST_RATE_BPS)]
    flows: tuple[TestbedFlow, ...] = Field(min_length=1, max_length=32)
    duration_s: Annotated[float, Field(ge=2, le=3600)]
    buffer_bytes: int | None = Field(default=None, ge=2 * FRAME_BYTES, le=2**31 - 1)
    buffer_bdp: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="of the longest RTT; 1 where neither is given"
    )
    bottleneck: Literal["auto", "tbf", "relay"] = Field(
        default="auto", description="the kernel's token bucket, or the relay; auto: as the delay, all in one of them"
    )
    delay: Literal["auto", "netem", "relay"] = Field(default="auto", description="auto: netem where the kernel has it")
    interval_s: Annotated[float, Field(ge=0.1, le=10)] = Field(default=1.0, description="of iperf3's report")
    poll_s: Annotated[float, Field(ge=0.005, le=1)] = Field(default=0.02, description="between polls of TCP_INFO")
    forward_share: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.5, description="of the delay, on the way there"
    )
    ss: bool = Field(default=False, description="also keep `ss -tin` of every sender, ten times a second")
    pcap: bool = Field(default=False, description="also keep the headers of all packets, seen at the senders")

    @model_validator(mode="after")
    def _fits(self) -> Setup:
        if self.buffer_bytes is not None and self.buffer_bdp is not None:
            raise ValueError("give buffer_bytes or buffer_bdp, not both")
        if max(flow.start_s for flow in self.flows) > self.duration_s - 1:
            raise ValueError("start_s must be at least 1 s before duration_s for every flow")
        if self.delay == "netem" and (self.bottleneck == "relay" or self.pcap):
            raise ValueError("delay must not be netem where the relay is the bottleneck or keeps a pcap")
        return self

    @property
    def longest_rtt_s(self) -> float:
        return max(flow.rtt_ms for flow in self.flows) / MS_PER_S

    @property
    def limit_bytes(self) -> int:
        """Size of the bottleneck's queue."""
        if self.buffer_bytes is not None:
            return self.buffer_bytes
        bdp = self.rate_bps / BITS_PER_BYTE * self.longest_rtt_s
        return max(round(bdp * (self.buffer_bdp or 1.0)), 2 * FRAME_BYTES)

    @property
    def longest_queue_s(self) -> float:
        """For a token bucket, which counts only frames; the relay's is slightly shorter."""
        return self.limit_bytes * BITS_PER_BYTE / self.rate_bps * WIRE_BYTES / FRAME_BYTES

    @property
    def ring_slots(self) -> int:
        """Twice the most packets in flight in one direction of one sender, as a power of two."""
        pkts = self.rate_bps / BITS_PER_BYTE / WIRE_BYTES * (self.longest_rtt_s + self.longest_queue_s)
        return 2 ** math.ceil(math.log2(max(2 * pkts, 4096)))


def make_setup(values: dict[str, Any], where: str) -> Setup:
    """Validate plain values; raises InputError with one line that names the field."""
    return validated(Setup, values, where)


def read_setup(path: Path) -> Setup:
    """The run that a YAML file describes. Raises InputError, naming file and field."""
    values = load_yaml(path)
    if "experiments" in values:
        raise InputError(
            f"{path}: describes experiments, not one run; ./reproduce validate --run testbed records those"
        )
    return make_setup(values, str(path))


def of_options(given: dict[str, Any]) -> dict[str, Any]:
    """The values of a run from the command line's. Raises InputError where flows and values do not match."""
    flows = [{"cc": cc} for cc in given["cc"]]
    for name in ("rtt_ms", "start_s"):
        values = given[name] * len(flows) if len(given[name]) == 1 else given[name]
        if len(values) != len(flows):
            option = name.replace("_", "-")
            raise InputError(f"--{option}: give one value, or one for each of the {len(flows)} flows of --cc")
        for flow, value in zip(flows, values, strict=True):
            flow[name] = value
    same = ("duration_s", "buffer_bdp", "bottleneck", "delay", "ss", "pcap")
    return {"rate_bps": given["rate_mbps"] * BPS_PER_MBPS, "flows": flows, **{name: given[name] for name in same}}


# ---------------------------------------------------------------- scenarios

_CC_OF_KERNEL = {"reno": "reno", "newreno": "reno", "sack": "reno", "cubic_linux_6": "cubic"}
# Fixed behaviour of a kernel, and the closest setting of the engine
_AS_THE_KERNEL = {"ack_every": 2, "reduction": "prr", "iw_pkts": 10}
_SCENARIO_FIELDS = {
    *("capacity_bps", "wire_bytes", "payload_bytes", "buffer_pkts", "duration_s", "sample_s", "flows", "jitter_s"),
    "record",
}
_FLOW_FIELDS = {
    *("protocol", "cc", "params", "rtt_s", "start_s", "stop_s", "recovery", "byte_counting", "stack", "role"),
    *("access_jitter_s", *_AS_THE_KERNEL),
}


def setup_of(scenario: Scenario) -> Setup:
    """A scenario as a run of the testbed. Raises InputError, in one line, for the first setting that a kernel does not support.

    Jitter is that of the hosts in every scenario; growth of the window and recovery are the kernel's.
    """
    refuse_unknown(scenario, _SCENARIO_FIELDS, "the testbed")
    for name, value in (("wire_bytes", WIRE_BYTES), ("payload_bytes", PAYLOAD_BYTES)):
        if getattr(scenario, name) != value:
            raise InputError(f"{name}: the testbed's packets have {value} (got {getattr(scenario, name):g})")
    flows = []
    for i, flow in enumerate(scenario.flows):
        refuse_unknown(flow, _FLOW_FIELDS, "the testbed", f"flows[{i}].")
        for name, value in _AS_THE_KERNEL.items():
            if getattr(flow, name) != value:
                raise InputError(f"flows[{i}].{name}: Linux has {value!r} (got {getattr(flow, name)!r})")
        if flow.stop_s < scenario.duration_s:
            raise InputError(f"flows[{i}].stop_s: flows of the testbed last until the end")
        flows.append({"cc": kernel_cc(flow, f"flows[{i}]"), "rtt_ms": MS_PER_S * flow.rtt_s, "start_s": flow.start_s})
    # In the relay: when the machine pauses, a token bucket loses its unused tokens, and the delayed packets then
    # overflow the queue. The relay's link continues in virtual time. Its queue counts the rest of the packet in
    # transmission, which a scenario does not count.
    limit_bytes = round((scenario.buffer_pkts + 1) * WIRE_BYTES)
    values = {"rate_bps": scenario.capacity_bps, "flows": flows, "duration_s": scenario.duration_s}
    values |= {"bottleneck": "relay", "delay": "relay"}
    return make_setup({**values, "buffer_bytes": limit_bytes, "interval_s": scenario.sample_s}, "scenario")


def kernel_cc(flow: Flow, where: str) -> str:
    """The kernel's congestion control for a flow's algorithm. Raises InputError if it has none."""
    if flow.cc == "cubic_rtt":
        values = param_values("cubic_rtt", flow.params)
        if values["constant_K"]:
            return f"cubic_k_{round(MS_PER_S * values['K_s'])}ms"
        if not values["by_rtt"] or values["root"] != 3.0 or values["rtt_unit_s"] != 1e-3 or values["scaled_C"]:
            raise InputError(f"{where}.params: the testbed has K / cbrt(RTT in ms) and constant K only")
        if values["smoothed_rtt"] or values["x"] != 1.0:
            raise InputError(f"{where}.params: the testbed takes the least RTT, and no x")
        return K_OF_RTT
    if flow.cc not in _CC_OF_KERNEL:
        known = ", ".join([*_CC_OF_KERNEL, "cubic_rtt"])
        raise InputError(f"{where}.cc: Linux has no {flow.cc!r} (protocol {flow.protocol}); the testbed takes {known}")
    return _CC_OF_KERNEL[flow.cc]
