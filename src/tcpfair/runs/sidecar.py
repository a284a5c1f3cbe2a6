"""``trace.yaml``: statements about a recording that can be applied to its trace. All fields are optional.

For a file ``run.json.gz`` it is ``run.json.gz.trace.yaml`` in the same folder; in a folder it is ``trace.yaml``. The fields
that are needed to read a tool's own file (`AT_IMPORT`) are stated next to that file: `tcpfair.sources.readers.sidecar` adds
them to the fields here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tcpfair.errors import InputError
from tcpfair.files.digests import digest
from tcpfair.files.files import read_small
from tcpfair.files.manifest import MANIFEST, file_hash
from tcpfair.papers.papers import WeightRule, load_yaml
from tcpfair.papers.recordings import SIDECAR, name_of, sidecar_path
from tcpfair.papers.scenario import Strict, validated
from tcpfair.runs import reach

READERS = "sources/readers/__init__.py"  # the code that converts a tool's own files to a trace
_DIGEST_LENGTH = 12
LONGEST_NAME_BYTES = 255  # of a file name; looking for a longer one is an error
# fields that change how a recording is read, and such fields of its flows
AT_IMPORT = ("format", "columns", "units", "pattern", "interval_s")
FLOWS_AT_IMPORT = ("start_s", "stops_early", "leave_out")

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Label = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]+$")]
FlowName = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00-\x1f\x7f]+$")]  # a file's, escaped


class SaidLink(Strict):
    """The bottleneck."""

    capacity_bps: Positive | None = Field(None, description="rate of the bottleneck in bit/s")
    wire_bytes: Positive | None = Field(None, description="bytes of a full packet on the link, with all headers")
    payload_bytes: Positive | None = Field(None, description="bytes of a full packet that the application gets")
    buffer_pkts: Positive | None = Field(None, description="packets that the bottleneck can queue")
    buffer_bytes: Positive | None = Field(None, description="or bytes")


class SaidFlow(Strict):
    """One flow, by the name that its file or tool gives it."""

    flow: FlowName = Field(description="its name as the import lists it: a file, FILE#STREAM, an address with port")
    label: Label | None = Field(None, description="its name in figures")
    protocol: Label | None = Field(None, description="its congestion control: reno, cubic, ...")
    rtt_s: Positive | None = Field(None, description="its RTT without queues, in s")


class SelfPair(Strict):
    """A recording of equally many flows, all of one protocol, which gives the NRU weights of that protocol."""

    protocol: Label
    recording: Label = Field(description="file or folder, from the folder of this trace.yaml")


class Said(Strict):
    """The statements of ``trace.yaml`` about a trace."""

    kind: Literal["pairs", "rtts", "other"] | None = Field(
        None, description="pairs: two flows of one RTT, as bhatti2009's; rtts: CUBIC at two RTTs, as kozu2014's"
    )
    link: SaidLink = Field(default_factory=SaidLink)
    flows: list[SaidFlow] = Field(default_factory=list)
    self_pairs: list[SelfPair] = Field(default_factory=list)
    weight_rule: WeightRule | None = Field(None, description="how a self-pair becomes weights, as in config/raw.yaml")

    @model_validator(mode="after")
    def _once(self) -> Self:
        names = [said.flow for said in self.flows]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(f"flows: {twice!r} is listed twice")
        if self.link.buffer_pkts and self.link.buffer_bytes:
            raise ValueError("link: give buffer_pkts or buffer_bytes, not both")
        return self


def load_said(recording: Path) -> Said:
    """The ``trace.yaml`` of a trace; an empty one if it is missing.

    Raises InputError with one line, file and field, for an invalid value and for a field that only an import reads.
    """
    values = sidecar_values(recording)
    flows = values.get("flows")
    of_flows = [each for each in flows if isinstance(each, dict)] if isinstance(flows, list) else []
    late = [name for name in AT_IMPORT if name in values]
    late += [f"flows: {name}" for name in FLOWS_AT_IMPORT if any(name in each for each in of_flows)]
    if late:
        raise InputError(
            f"{sidecar_path(recording)}: {late[0]}: is used only to read the tool's own files; state it in {SIDECAR} next to "
            "them and ./reproduce import them again"
        )
    return validated(Said, values, str(sidecar_path(recording)))


def sidecar_values(recording: Path) -> dict[str, Any]:
    """The content of the sidecar of a recording; empty if it is missing or has only comments. Raises InputError."""
    path = sidecar_path(recording)
    if len(os.fsencode(path.name)) > LONGEST_NAME_BYTES or not path.is_file() or _is_empty(path):
        return {}
    return load_yaml(path)


def _is_empty(path: Path) -> bool:
    """Whether all lines are empty or comments, as in the file that an import writes."""
    return all(line.strip() == b"" or line.lstrip().startswith(b"#") for line in read_small(path).splitlines())


def is_trace(path: Path) -> bool:
    """Whether ``path`` is the folder of a trace."""
    return (path / MANIFEST).is_file()


def trace_place(root: Path, recording: Path) -> Path:
    """The folder of the trace of a recording: the recording itself if it is a trace, else a folder below ``results``.

    The name of the latter has a digest of the files, of their sidecar and of the code that reads them. Raises InputError
    when ``recording`` is missing or its sidecar is not readable.
    """
    if is_trace(recording):
        return recording
    if not recording.exists():
        raise InputError(f"{recording}: no such file or folder")
    files = sorted(recording.iterdir()) if recording.is_dir() else [recording]
    content = [[path.name, file_hash(path)] for path in files if path.is_file() and path.name != SIDECAR]
    inputs = digest([recording.name, content, repr(sidecar_values(recording)), reach.of_modules(READERS)])
    return root / "results" / "recordings" / f"{name_of(recording)}-{inputs[:_DIGEST_LENGTH]}"
