"""The schema of ``trace.yaml`` next to a tool's file: statements for any trace, and those needed to read the file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from tcpfair.papers.recordings import sidecar_path
from tcpfair.papers.scenario import Strict, validated
from tcpfair.runs import sidecar
from tcpfair.runs.sidecar import AT_IMPORT, FLOWS_AT_IMPORT, Label, NonNegative, Positive, Said
from tcpfair.sources.readers.pattern_table import Pattern

# of a column: its name, or its number from 1 in a table without names
ColumnName = Annotated[Label, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class SaidFlow(sidecar.SaidFlow):
    """One flow, by its name in the file or tool."""

    start_s: NonNegative | None = Field(None, description="its start in the run, in s")
    stops_early: bool = Field(
        False, description="true: its tool was interrupted, and what it recorded until then is the flow"
    )
    leave_out: bool = Field(False, description="true: not a flow of the experiment, such as a control connection")


class Columns(Strict):
    """Plain tables (CSV, Parquet): the column of each quantity, by its name or (without a header) its number from 1."""

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
        default_factory=list, description="columns that are not read and do not distinguish flows"
    )
    total_from_zero: bool | None = Field(
        None, description="true: `total_bytes` is 0 before the first row; false: it counted before"
    )

    @property
    def names(self) -> dict[str, str]:
        """The name of the column of each quantity that is stated."""
        stated = self.model_dump(exclude={"ignore", "total_from_zero"})
        return {quantity: name for quantity, name in stated.items() if name is not None}


class Units(Strict):
    """Units of these columns."""

    time: Literal["s", "ms", "us", "ns"] = "s"
    rate: Literal["bps", "kbps", "Mbps", "Gbps", "Bps", "kBps", "MBps"] | None = None
    bytes: Literal["B", "kB", "KiB", "MB", "MiB"] = "B"
    cwnd: Literal["pkts", "bytes"] | None = None
    srtt: Literal["s", "ms", "us"] | None = None


class Sidecar(Said):
    """All of a ``trace.yaml``."""

    flows: list[SaidFlow] = Field(default_factory=list)
    format: Label | None = Field(None, description="the reader, if the beginning of the file does not identify it")
    columns: Columns = Columns()
    units: Units = Units()
    pattern: Pattern | None = Field(None, description="lines of a text that no reader accepts, as in patterns.yaml")
    interval_s: Positive | None = Field(None, description="length of the trace's intervals, in s")

    def of(self, name: str) -> SaidFlow:
        """The statement on one flow; empty when it is not listed."""
        return next((said for said in self.flows if said.flow == name), SaidFlow.model_construct(flow=name))

    @property
    def of_trace(self) -> Said:
        """The statements that apply to the trace after the recording has been read."""
        of_flows = {"__all__": set(FLOWS_AT_IMPORT)}
        stated = self.model_dump(exclude={**dict.fromkeys(AT_IMPORT, True), "flows": of_flows})
        kept = [each for each, said in zip(stated["flows"], self.flows, strict=True) if not said.leave_out]
        return Said.model_validate({**stated, "flows": kept})


def load_sidecar(recording: Path) -> Sidecar:
    """The sidecar of a recording; an empty one if it does not exist. Raises InputError with one line, file and field."""
    return validated(Sidecar, sidecar.sidecar_values(recording), str(sidecar_path(recording)))
