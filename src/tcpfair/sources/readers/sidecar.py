"""``trace.yaml`` beside a recording: what a person says of it, for any format. All of it is optional.

Beside a file ``run.json.gz`` it is ``run.json.gz.trace.yaml``; in a folder it is ``trace.yaml``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tcpfair.contract.files import read_small
from tcpfair.contract.papers import WeightRule, load_yaml
from tcpfair.contract.recordings import sidecar_path
from tcpfair.contract.scenario import one_line
from tcpfair.sources.readers.pattern_table import Pattern

LONGEST_NAME_BYTES = 255  # of a file; a longer one cannot exist, and asking for it is an error

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Label = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]+$")]
FlowName = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00-\x1f\x7f]+$")]  # a file's, escaped
# of a column: its name, or its number from 1 in a table without names
ColumnName = Annotated[Label, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SaidLink(_Strict):
    """The bottleneck."""

    capacity_bps: Positive | None = Field(None, description="rate of the bottleneck in bit/s")
    wire_bytes: Positive | None = Field(None, description="bytes of a full packet on the link, with all headers")
    payload_bytes: Positive | None = Field(None, description="bytes of a full packet that the application gets")
    buffer_pkts: Positive | None = Field(None, description="packets that the bottleneck can queue")
    buffer_bytes: Positive | None = Field(None, description="or bytes")


class SaidFlow(_Strict):
    """One flow, by the name that its file or tool gives it."""

    flow: FlowName = Field(description="its name as the import lists it: a file, FILE#STREAM, an address with port")
    label: Label | None = Field(None, description="what figures call it")
    protocol: Label | None = Field(None, description="its congestion control: reno, cubic, ...")
    rtt_s: Positive | None = Field(None, description="its RTT without queues, in s")
    start_s: NonNegative | None = Field(None, description="its start in the run, in s")
    stops_early: bool = Field(
        False, description="true: its tool was interrupted, and what it recorded until then is the flow"
    )
    leave_out: bool = Field(False, description="true: not a flow of the experiment, such as a control connection")


class Columns(_Strict):
    """Plain tables (CSV, Parquet): which column is what, by its name or (without a header) its number from 1."""

    time: ColumnName | None = None
    flow: ColumnName | None = None
    bytes: ColumnName | None = Field(None, description="bytes in the interval that ends at `time`")
    total_bytes: ColumnName | None = Field(None, description="bytes until `time`")
    rate: ColumnName | None = Field(None, description="mean rate of the interval that ends at `time`")
    cwnd: ColumnName | None = None
    ssthresh: ColumnName | None = None
    srtt: ColumnName | None = None
    cc: ColumnName | None = None
    ignore: list[ColumnName] = Field(
        default_factory=list, description="columns that are not read and tell no flows apart"
    )
    total_from_zero: bool | None = Field(
        None, description="true: `total_bytes` is 0 before the first row; false: it counted before"
    )

    @property
    def names(self) -> dict[str, str]:
        """The name of the column of each quantity that is stated."""
        stated = self.model_dump(exclude={"ignore", "total_from_zero"})
        return {quantity: name for quantity, name in stated.items() if name is not None}


class Units(_Strict):
    """Units of these columns."""

    time: Literal["s", "ms", "us", "ns"] = "s"
    rate: Literal["bps", "kbps", "Mbps", "Gbps", "Bps", "kBps", "MBps"] | None = None
    bytes: Literal["B", "kB", "KiB", "MB", "MiB"] = "B"
    cwnd: Literal["pkts", "bytes"] | None = None
    srtt: Literal["s", "ms", "us"] | None = None


class SelfPair(_Strict):
    """A recording of as many flows, all of one protocol, which weighs that protocol's flows (NRU)."""

    protocol: Label
    recording: Label = Field(description="file or folder, from the folder of this trace.yaml")


class Sidecar(_Strict):
    """All of a ``trace.yaml``."""

    format: Label | None = Field(None, description="the reader, where the beginning of the file does not tell")
    kind: Literal["pairs", "rtts", "other"] | None = Field(
        None, description="pairs: two flows of one RTT, as bhatti2009's; rtts: CUBIC at two RTTs, as kozu2014's"
    )
    link: SaidLink = Field(default_factory=SaidLink)
    flows: list[SaidFlow] = Field(default_factory=list)
    columns: Columns = Field(default_factory=Columns)
    units: Units = Field(default_factory=Units)
    pattern: Pattern | None = Field(None, description="lines of a text that no reader accepts, as in patterns.yaml")
    interval_s: Positive | None = Field(None, description="length of the trace's intervals, in s")
    self_pairs: list[SelfPair] = Field(default_factory=list)
    weight_rule: WeightRule | None = Field(None, description="how a self-pair becomes weights, as in config/raw.yaml")

    @model_validator(mode="after")
    def _once(self) -> Sidecar:
        names = [said.flow for said in self.flows]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(f"flows: {twice!r} is there twice")
        if self.link.buffer_pkts and self.link.buffer_bytes:
            raise ValueError("link: give buffer_pkts or buffer_bytes, not both")
        return self

    def of(self, name: str) -> SaidFlow:
        """What is said of one flow; nothing when it is not listed."""
        return next((said for said in self.flows if said.flow == name), SaidFlow.model_construct(flow=name))


def _says_nothing(path: Path) -> bool:
    """Whether all lines are empty or comments, as in what an import writes."""
    return all(line.strip() == b"" or line.lstrip().startswith(b"#") for line in read_small(path).splitlines())


def load_sidecar(recording: Path) -> Sidecar:
    """The sidecar of a recording; an empty one where there is none. Raises InputError with one line, file and field."""
    path = sidecar_path(recording)
    if len(os.fsencode(path.name)) > LONGEST_NAME_BYTES or not path.is_file() or _says_nothing(path):
        return Sidecar()
    try:
        return Sidecar.model_validate(load_yaml(path))
    except ValidationError as error:
        raise one_line(error, str(path)) from None
