"""``trace.yaml``: what a person states of a recording, as far as it can be applied to a trace. All of it is optional.

Beside a file ``run.json.gz`` it is ``run.json.gz.trace.yaml``; in a folder it is ``trace.yaml``. What is needed to read a tool's
own file (`AT_IMPORT`) is stated beside that file: `tcpfair.sources.readers.sidecar` adds it to the fields here.
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

READERS = "sources/readers/__init__.py"  # the code that makes a trace of a tool's own files
_DIGEST_LENGTH = 12
LONGEST_NAME_BYTES = 255  # of a file; a longer one cannot exist, and looking for it is an error
# fields that change how a recording is read; those of its flows too
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
    label: Label | None = Field(None, description="what figures call it")
    protocol: Label | None = Field(None, description="its congestion control: reno, cubic, ...")
    rtt_s: Positive | None = Field(None, description="its RTT without queues, in s")


class SelfPair(Strict):
    """A recording of as many flows, all of one protocol, which weighs that protocol's flows (NRU)."""

    protocol: Label
    recording: Label = Field(description="file or folder, from the folder of this trace.yaml")


class Said(Strict):
    """What ``trace.yaml`` states of a trace."""

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
            raise ValueError(f"flows: {twice!r} is there twice")
        if self.link.buffer_pkts and self.link.buffer_bytes:
            raise ValueError("link: give buffer_pkts or buffer_bytes, not both")
        return self


def load_said(recording: Path) -> Said:
    """The ``trace.yaml`` of a trace; an empty one where it is missing.

    Raises InputError with one line, file and field, for what cannot be, and for what has to be stated before the import.
    """
    values = sidecar_values(recording)
    flows = values.get("flows")
    of_flows = [each for each in flows if isinstance(each, dict)] if isinstance(flows, list) else []
    late = [name for name in AT_IMPORT if name in values]
    late += [f"flows: {name}" for name in FLOWS_AT_IMPORT if any(name in each for each in of_flows)]
    if late:
        raise InputError(
            f"{sidecar_path(recording)}: {late[0]}: counts when the tool's own files are read; state it in {SIDECAR} beside "
            "them and ./reproduce import them again"
        )
    return validated(Said, values, str(sidecar_path(recording)))


def sidecar_values(recording: Path) -> dict[str, Any]:
    """The content of the sidecar of a recording; empty where there is none, or nothing but comments. Raises InputError."""
    path = sidecar_path(recording)
    if len(os.fsencode(path.name)) > LONGEST_NAME_BYTES or not path.is_file() or _says_nothing(path):
        return {}
    return load_yaml(path)


def _says_nothing(path: Path) -> bool:
    """Whether all lines are empty or comments, as in what an import writes."""
    return all(line.strip() == b"" or line.lstrip().startswith(b"#") for line in read_small(path).splitlines())


def is_trace(path: Path) -> bool:
    """Whether ``path`` is the folder of a trace."""
    return (path / MANIFEST).is_file()


def trace_place(root: Path, recording: Path) -> Path:
    """The folder of the trace of a recording: its own, or below ``results`` the one that was or will be read from it.

    The name of the latter has a digest of the files, of what is stated beside them, and of the code that reads them. Raises
    InputError when there is nothing at ``recording`` or its sidecar is not readable.
    """
    if is_trace(recording):
        return recording
    if not recording.exists():
        raise InputError(f"{recording}: no such file or folder")
    files = sorted(recording.iterdir()) if recording.is_dir() else [recording]
    content = [[path.name, file_hash(path)] for path in files if path.is_file() and path.name != SIDECAR]
    inputs = digest([recording.name, content, repr(sidecar_values(recording)), reach.of_modules(READERS)])
    return root / "results" / "recordings" / f"{name_of(recording)}-{inputs[:_DIGEST_LENGTH]}"
