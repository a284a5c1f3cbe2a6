"""One run: a dumbbell, its flows and its records. Every number is resolved; no default is a paper's parameter."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tcpfair.errors import InputError
from tcpfair.files.digests import digest

AnyModel = TypeVar("AnyModel", bound=BaseModel)
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
OneOrMore = Annotated[float, Field(ge=1)]  # packets: below one, a flow would never send

Direction = Literal["forward", "reverse"]
Record = Literal["samples", "cwnd", "events", "link"]

SHORTEST_TICK_S = 1e-6  # far above the rounding of times

# ns-2: tcp.cc, TcpAgent::rtt_timeout with rfc2988_. Linux: net/ipv4/tcp_input.c, tcp_rtt_estimator and tcp_set_rto; its CCID 2
# bounds the sum instead (net/dccp/ccids/ccid2.c, ccid2_hc_tx_packet_recv).
RTO_OF_STACK = {"text": "rfc6298", "linux": "linux", "linux_2_6_22": "linux", "linux_6": "linux", "ns2": "rfc6298"}
# Linux's ccid2.c has TCP's law since 2.6.37 (ccid2_rtt_estimator)
RTO_OF_ALGORITHM = {"ccid2": RTO_OF_STACK | {"linux": "rfc6298", "linux_2_6_22": "rfc6298"}}


class Strict(BaseModel):
    """A model that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class Frozen(Strict):
    """A strict, immutable model."""

    model_config = ConfigDict(frozen=True)


class Flow(Frozen):
    """One flow of the dumbbell. Sizes of windows are in packets, as in the engine."""

    protocol: str = Field(description="label used by the paper, e.g. NewReno")
    cc: str = Field(description="name of the congestion-control algorithm in the registry")
    params: dict[str, float] = Field(default_factory=dict, description="overrides of the algorithm's parameters")
    rtt_s: Positive = Field(description="two-way propagation delay")
    direction: Direction = Field(default="forward", description="direction of its data")
    start_s: NonNegative = 0.0
    stop_s: Positive = math.inf
    size_pkts: OneOrMore = math.inf
    access_bps: NonNegative = Field(default=0.0, description="rate of the sender's own link; 0 = not limiting")
    access_queue_pkts: OneOrMore = Field(
        default=1000, le=2**60, description="packets the sender's interface queue holds"
    )
    access_jitter_s: NonNegative = Field(default=0.0, description="hosts' own delay, uniform in [0, access_jitter_s)")
    rwnd_pkts: OneOrMore = Field(default=math.inf, description="receiver window")
    iw_pkts: OneOrMore = 10
    initial_ssthresh_pkts: Positive = math.inf
    ack_every: Literal[1, 2] = 1
    delack_s: NonNegative = 0.04
    byte_counting: bool = Field(default=False, description="grow per acknowledged packet (RFC 3465), not per ACK")
    recovery: Literal["sack", "newreno", "reno"] | None = Field(
        default=None, description="loss recovery; none = the one the algorithm is meant for"
    )
    reduction: Literal["immediate", "prr", "rate_halving"] = "immediate"
    rto_min_s: Positive = 0.2
    stack: Literal["text", "linux", "linux_2_6_22", "linux_6", "ns2"] = Field(
        default="text",
        description="window arithmetic: text = real numbers, as in papers and RFCs; linux = whole packets, as in the"
        " modules of Linux 2.6.22; linux_2_6_22 = with that kernel's quick ACKs, growing receiver window and timeouts;"
        " linux_6 = with slow start, counting, detection of losses and the growing receiver window of Linux 6;"
        " ns2 = these modules as ns-2's TCP/Linux runs them, libra and alpha as its own agents TCP/Sack1",
    )
    rto: Literal["rfc6298", "linux"] | None = Field(
        default=None,
        description="law of the retransmission timer: rfc6298 = max(rto_min, srtt + 4 rttvar); linux = srtt + max(4 rttvar,"
        " rto_min), as Linux does since 2.4; none = linux on Linux's stacks (for ccid2 on linux_6 alone), else rfc6298",
    )
    role: Literal["foreground", "background"] = "foreground"

    @property
    def rto_law(self) -> str:
        """The law of the retransmission timer: the one given, else that of the algorithm or of the stack."""
        return self.rto or RTO_OF_ALGORITHM.get(self.cc, RTO_OF_STACK)[self.stack]


class LogNormal(Frozen):
    """A part of the transfers whose ln(bytes) is normal."""

    law: Literal["lognormal"]
    share: Positive
    mu: float = Field(description="mean of ln(bytes)")
    sigma: Positive = Field(description="standard deviation of ln(bytes)")
    cap_bytes: Positive = math.inf


class Pareto(Frozen):
    """A part of the transfers with P(size > x) = (min_bytes / x)^shape."""

    law: Literal["pareto"]
    share: Positive
    shape: Positive
    min_bytes: Positive
    cap_bytes: Positive = Field(default=math.inf, description="larger ones are cut to this size")


class Web(Frozen):
    """Poisson arrivals of finite flows of one kind; recorded as one aggregate per direction."""

    flow: Flow = Field(
        description="settings of each flow; start_s and stop_s bound the arrivals, rtt_s is the least RTT"
    )
    arrivals_per_s: Positive
    sizes: tuple[Annotated[LogNormal | Pareto, Field(discriminator="law")], ...] = Field(min_length=1)
    rtt_extra_mean_s: NonNegative = Field(default=0.0, description="mean of the exponential part of the RTT")
    rtt_cap_s: Positive = math.inf

    @model_validator(mode="after")
    def _finite(self) -> Web:
        if self.rtt_extra_mean_s and not math.isfinite(self.rtt_cap_s):
            raise ValueError("rtt_cap_s must be given where rtt_extra_mean_s is")
        return self


class Scenario(Frozen):
    """A dumbbell with one drop-tail bottleneck, or one per direction, which data share with the other direction's ACKs."""

    capacity_bps: Positive
    wire_bytes: Positive = Field(description="bytes that a full data packet takes on the bottleneck link")
    payload_bytes: Positive = Field(description="bytes of application data in a full packet")
    buffer_pkts: Positive = Field(
        description="packets that may wait at the bottleneck; fractions come from byte limits"
    )
    duration_s: Positive
    sample_s: Positive
    flows: tuple[Flow, ...] = Field(min_length=1)
    loss_rate: Annotated[float, Field(ge=0, lt=1)] = 0.0
    reverse_bps: NonNegative = Field(default=0.0, description="rate of the reverse bottleneck; 0 = ACKs pass freely")
    reverse_buffer_pkts: NonNegative = 0.0
    ack_bytes: Positive = Field(default=52, description="bytes that an ACK takes on the reverse bottleneck")
    web: tuple[Web, ...] = ()
    synchronised_losses: bool = Field(default=False, description="at an overflow every flow loses a packet")
    jitter_s: NonNegative = Field(default=0.0, description="each packet's extra delay is uniform in [0, jitter_s)")
    tick_s: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0, description="clock of an emulator that forwards in batches and delays by whole ticks; 0 = no clock"
    )
    record: tuple[Record, ...] = ("samples",)

    @model_validator(mode="after")
    def _payload_fits(self) -> Scenario:
        if self.payload_bytes > self.wire_bytes:
            raise ValueError("payload_bytes must not exceed wire_bytes")
        if 0 < self.tick_s < SHORTEST_TICK_S:
            raise ValueError(f"tick_s must be 0 (no clock) or at least {SHORTEST_TICK_S:g} (got {self.tick_s:g})")
        if any(flow.direction == "reverse" for flow in self.every_flow) and not self.reverse_bps:
            raise ValueError("reverse_bps must be above 0 where flows go in the reverse direction")
        if self.reverse_bps and self.reverse_buffer_pkts <= 0:
            raise ValueError("reverse_buffer_pkts must be above 0 where reverse_bps is")
        return self

    @property
    def every_flow(self) -> tuple[Flow, ...]:
        """The long flows and the models of the short ones."""
        return (*self.flows, *(web.flow for web in self.web))

    @property
    def digest(self) -> str:
        """Hash of every field that differs from its default, so a new field does not change old hashes.

        The retransmission timer enters as its effective law. RFC 6298 is omitted, because older runs had no other.
        """
        values = self.model_dump(mode="json", exclude_defaults=True)
        dumped = (*values["flows"], *(web["flow"] for web in values.get("web", ())))
        for flow, plain in zip(self.every_flow, dumped, strict=True):
            plain.pop("rto", None)
            if flow.rto_law != "rfc6298":
                plain["rto"] = flow.rto_law
        return digest(values)


def defaults_digest() -> str:
    """Hash of the defaults of all fields, which `Scenario.digest` excludes: an edited default is another scenario."""
    models = (Flow, LogNormal, Pareto, Web, Scenario)
    return digest({m.__name__: {name: repr(f.default) for name, f in m.model_fields.items()} for m in models})


def one_line(error: ValidationError, where: str) -> InputError:
    """A message of a pydantic error as one line: file, field, valid values. Of several: an unknown field, else the first."""
    found = error.errors()
    # a list whose only item is invalid counts as too short, too
    found = [each for each in found if each["type"] != "too_short" or len(found) == 1] or found
    first = next((each for each in found if each["type"] == "extra_forbidden"), found[0])
    field = ".".join(str(part) for part in first["loc"])
    where = f"{where}: {field}" if field else where  # a rule between fields names them
    given = first.get("input")
    shown = f" (got {given!r:.80})" if isinstance(given, (str, int, float, bool)) else ""
    message = first["msg"].removeprefix("Value error, ")
    more = f"; and {len(found) - 1} more" if len(found) > 1 else ""
    return InputError(f"{where}: {message}{shown}{more}")


def validated(model: type[AnyModel], values: Any, where: str) -> AnyModel:
    """Plain values as a model; raises InputError with one line that begins with ``where`` and names the field."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise one_line(error, where) from None


def make_scenario(values: dict, where: str = "scenario") -> Scenario:
    """Plain values as a Scenario; raises InputError as `validated` does."""
    return validated(Scenario, values, where)
