"""The schema of a pattern: the form of ``patterns.yaml`` and of ``pattern`` in a trace.yaml, with its checks and units."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tcpfair.errors import unknown
from tcpfair.papers.papers import load_yaml
from tcpfair.sources.readers.text import validated

TABLE = Path(__file__).with_name("patterns.yaml")
QUANTITIES = {
    "start": "time",
    "end": "time",
    "duration": "time",
    "total_bytes": "bytes",
    "ssthresh": "cwnd",
    "rtt": "time",
}
NUMBERS = (*QUANTITIES, "time", "bytes", "rate", "cwnd")
GROUPS = {*NUMBERS, *(f"{name}_unit" for name in NUMBERS), "flow", "clock"}
NEEDED = {
    "interval": [{"start", "end"}, {"end", "duration"}, {"duration"}],
    "total": [{"duration"}, {"end"}],
    "reading": [{"time", "total_bytes"}],
    "packet": [{"time", "bytes"}],
    "window": [{"time"}],
}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Row(_Strict):
    """One kind of line or record."""

    kind: Literal["interval", "total", "reading", "packet", "window", "connection", "skip", "refuse"]
    line: str | None = Field(None, max_length=2000, description="regular expression for a whole line")
    where: dict[str, str] = Field(default_factory=dict, description="JSON: regular expressions for fields")
    values: dict[str, str] = Field(default_factory=dict, description="JSON: the field of each group")
    units: dict[str, str] = Field(
        default_factory=dict, description="unit of each group or quantity; times are in s if no unit is given"
    )
    flow: str = Field("flow1", min_length=1, max_length=80, description="name of the flow if no group is its name")
    says: str = ""

    @model_validator(mode="after")
    def _whole(self) -> Row:
        for text in (self.line or "", *self.where.values()):
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(f"{text!r:.80} is not a regular expression ({error})") from None
        if self.line is None and not self.where:
            raise ValueError(f"{self.kind}: give line, a regular expression")
        groups = set(re.compile(self.line).groupindex if self.line is not None else self.values)
        for name in sorted(groups):
            if name not in GROUPS:
                raise unknown("group", name, sorted(GROUPS))
        if self.kind in NEEDED and not any(needed <= groups for needed in NEEDED[self.kind]):
            ways = " or ".join(" and ".join(sorted(needed)) for needed in NEEDED[self.kind])
            raise ValueError(f"{self.kind}: needs the groups {ways}")
        if self.kind in ("interval", "total") and not groups & {"bytes", "rate"}:
            raise ValueError(f"{self.kind}: needs the group bytes or rate")
        for name in sorted(groups & set(NUMBERS)):
            quantity, unit = QUANTITIES.get(name, name), self.unit(name)
            if f"{name}_unit" in groups or unit == "same":
                continue
            if unit is None:
                raise ValueError(f"units.{name}: unit unknown; give one of {', '.join(units()[quantity])}")
            if unit not in units()[quantity]:
                raise unknown(f"units.{name}: unit", unit, sorted(units()[quantity]))
        return self

    def unit(self, name: str) -> str | None:
        """Unit of a group: as stated for it or its quantity."""
        quantity = QUANTITIES.get(name, name)
        return self.units.get(name, self.units.get(quantity, "s" if quantity == "time" and name != "rtt" else None))


class Pattern(_Strict):
    """One format."""

    name: str = Field("pattern", pattern=r"^[a-z0-9-]{1,20}$")
    accepts: str = ""
    begins: str = "^"
    origin: str = Field(
        "pattern of trace.yaml", description="which end counted the bytes: 'receiver: ...' or 'sender: ...'"
    )
    origins: dict[str, str] = Field(default_factory=dict, description="origin if a line matches")
    origins_of_flows: dict[str, str] = {}
    each: list[str] = Field(default_factory=list, description="JSON: lists of records in one object")
    events: str = Field("", description="JSON: the list in each of these")
    deltas: dict[str, str] = Field(
        default_factory=dict, description="JSON: fields that tell times from the previous event"
    )
    total_repeats_start: bool = Field(False, description="true: an interval from the first one's start is the total")
    from_zero: bool = Field(False, description="true: running totals count from 0 at time 0")
    one_direction: bool = Field(False, description="true: only the flow with most bytes counts, others acknowledge it")
    needs_total: bool = Field(False, description="true: a file without the tool's total is cut")
    repeat: str = "intervals"
    rows: list[Row] = Field(min_length=1, max_length=50)

    @property
    def is_json(self) -> bool:
        """Whether records are JSON objects."""
        return any(row.where for row in self.rows)


@cache
def units() -> dict[str, dict[str, float]]:
    """Names of units of time, bytes, rate and cwnd, each with its factor to s, bytes, bit/s."""
    return load_yaml(TABLE)["units"]


@cache
def formats() -> tuple[Pattern, ...]:
    """The formats of patterns.yaml."""
    return tuple(validated(Pattern, each, f"{TABLE}: {each.get('name')}") for each in load_yaml(TABLE)["formats"])
