"""``config/raw.yaml``: how recordings are evaluated, with the source or the assumption of every value."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Generic, TypeVar

from pydantic import Field

from tcpfair.papers.papers import Value, WeightRule, load_model
from tcpfair.papers.scenario import Strict

SIDECAR = "trace.yaml"
# the exhibits of every recording; tcpfair.exhibits.recordings.board draws them
EXHIBITS = ("trace", "goodput", "cwnd", "rtt", "jfi", "nru", "steadiness", "recovery", "recovery_table", "beside")

_ENDINGS = re.compile(
    r"(\.(gz|xz|bz2|zst|json|jsonl|csv|tsv|log|txt|tr|xml|parquet|pcap|pcapng|cap|flent|ss))+$", re.IGNORECASE
)
_SEPARATOR = ","
_LONGEST_NAME = 100  # file systems allow 255 bytes, and scratch folders and results add to a name


def name_of(path: Path) -> str:
    """The name of a recording: its folder's, or its file's without the extensions of the format.

    It also names folders of results, so characters with a meaning to a shell, a page or Snakemake become ``_``.
    """
    name = _ENDINGS.sub("", path.resolve().name) or "recording"
    return re.sub(r"[^\w.+-]", "_", name).lstrip(".-")[:_LONGEST_NAME] or "recording"


def sidecar_path(recording: Path) -> Path:
    """Path of the sidecar of a file or folder, which states what the recording lacks."""
    return recording / SIDECAR if recording.is_dir() else recording.with_name(f"{recording.name}.{SIDECAR}")


def recordings_in(trace: str) -> list[str]:
    """The recordings that ``trace`` names: files and folders, separated by commas."""
    return [each for each in trace.split(_SEPARATOR) if each]


def folder_of(trace: str) -> str:
    """Folder of the results of ``trace``, below ``results/raw``; empty for the shipped examples."""
    return "+".join(name_of(Path(each)) for each in recordings_in(trace))


Kind = TypeVar("Kind")


class Of(Value, Generic[Kind]):
    """A value of one kind."""

    value: Kind


Positive = Of[Annotated[float, Field(gt=0, allow_inf_nan=False)]]
NonNegative = Of[Annotated[float, Field(ge=0, allow_inf_nan=False)]]
Share = Of[Annotated[float, Field(gt=0, le=1)]]


class Analysis(Strict):
    """The window of the metrics, and the epochs that are compared with formulas."""

    interval_s: Positive = Field(description="goodput is added up to intervals of this length, or stays if longer")
    skip_s: NonNegative = Field(description="time after the last flow's start from which J and NRU count")
    convergence_window_s: Positive = Field(description="time over which a flow's mean NRU must reach the threshold")
    min_epoch_s: Positive = Field(description="shortest time between losses that counts as recovery")
    seen: Share = Field(description="least share of an interval that was observed, for its bytes to count")
    error_batches: Of[Annotated[int, Field(ge=2)]] = Field(
        description="parts of the time, whose scatter is the error of a mean"
    )
    fair_errors: NonNegative = Field(description="errors of its mean NRU within which a flow counts as fair")
    min_polls: Of[Annotated[int, Field(ge=4)]] = Field(
        description="least number of windows in an epoch that a curve of three parameters is fitted to"
    )


class Link(Strict):
    """The bottleneck, if a recording does not describe it."""

    capacity_bps: Of[Annotated[float, Field(gt=0, allow_inf_nan=False)] | None]  # null until measured
    wire_bytes: Positive
    payload_bytes: Positive


class Weights(Strict):
    """The source of the NRU weights."""

    rule: Of[WeightRule] = Field(description="how the goodput of a self-pair's flows becomes weights")
    self_pairs: dict[str, Path] = Field(default_factory=dict, description="protocol -> recording of its self-pair")


class PaperFigure(Strict):
    """An experiment of a paper, and those of its protocols that are drawn."""

    paper: str
    experiment: str
    exhibit: str
    protocols: list[str] = Field(min_length=1)


class Beside(Strict):
    """The papers' experiments of two flows, to compare a recording of two flows with."""

    one_rtt: Share = Field(description="RTTs that differ by less than this share of the larger count as one")
    pairs: PaperFigure = Field(description="two flows of one RTT: mean of J(t)")
    rtts: PaperFigure = Field(description="flows of unlike RTTs: throughput of the longer over that of the shorter")

    @property
    def papers(self) -> tuple[str, ...]:
        return self.pairs.paper, self.rtts.paper


class RawConfig(Strict):
    """All of ``config/raw.yaml``."""

    examples: list[Path]
    analysis: Analysis
    link: Link
    beside: Beside
    weights: Weights


def load_raw(path: Path) -> RawConfig:
    """Read and validate ``config/raw.yaml``. Raises InputError with one line naming file and field."""
    return load_model(path, RawConfig)
