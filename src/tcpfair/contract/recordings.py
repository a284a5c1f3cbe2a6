"""``config/raw.yaml``: how recordings are looked at, with the source or the assumption behind every value."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tcpfair.contract.papers import Value, WeightRule, load_yaml
from tcpfair.contract.scenario import one_line

# what every recording is shown as; tcpfair.exhibits.recordings.board draws them
EXHIBITS = ("trace", "goodput", "cwnd", "rtt", "jfi", "nru", "steadiness", "recovery", "recovery_table", "beside")


BESIDE = ("bhatti2009", "kozu2014")  # papers in whose figures a recording can stand
_ENDINGS = re.compile(
    r"(\.(gz|xz|bz2|zst|json|jsonl|csv|tsv|log|txt|tr|xml|parquet|pcap|pcapng|cap|flent|ss))+$", re.IGNORECASE
)
_SEPARATOR = ","


def name_of(path: Path) -> str:
    """What a recording is called, from its folder, or its file without the endings of the format.

    It names folders of results too, so whatever a shell, a page or Snakemake reads as anything else becomes ``_``.
    """
    name = _ENDINGS.sub("", path.resolve().name) or "recording"
    return re.sub(r"[^\w.+-]", "_", name).lstrip(".-") or "recording"


def recordings_in(trace: str) -> list[str]:
    """The recordings that ``trace`` names: files and folders, several with commas between them."""
    return [each for each in trace.split(_SEPARATOR) if each]


def folder_of(trace: str) -> str:
    """Folder of the results of what ``trace`` names, below ``results/raw``; nothing for the shipped examples."""
    return "+".join(name_of(Path(each)) for each in recordings_in(trace))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Positive(Value):
    """A number above 0."""

    value: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class NonNegative(Value):
    """A number of at least 0."""

    value: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Count(Value):
    """A number of windows; three parameters are fitted to them."""

    value: Annotated[int, Field(ge=4)]


class Known(Value):
    """A number above 0, or null while nobody knows it."""

    value: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None


class Rule(Value):
    """How the goodput of a self-pair's flows becomes weights (`tcpfair.measures.weights`)."""

    value: WeightRule


class Analysis(_Strict):
    """What counts, and which epochs are compared with formulas."""

    interval_s: Positive = Field(description="goodput is added up to intervals of this length, or stays if longer")
    skip_s: NonNegative = Field(description="time after the last flow's start from which J and NRU count")
    convergence_window_s: Positive = Field(description="time over which a flow's mean NRU must reach the threshold")
    min_epoch_s: Positive = Field(description="shortest time between losses that counts as recovery")
    min_polls: Count = Field(description="least number of windows in an epoch that a curve is fitted to")


class Link(_Strict):
    """The bottleneck, as far as a recording does not describe it."""

    capacity_bps: Known
    wire_bytes: Positive
    payload_bytes: Positive


class Weights(_Strict):
    """Where the NRU weights come from."""

    rule: Rule
    self_pairs: dict[str, Path] = Field(default_factory=dict, description="protocol -> recording of its self-pair")


class RawConfig(_Strict):
    """All of ``config/raw.yaml``."""

    examples: list[Path]
    analysis: Analysis
    link: Link
    weights: Weights


def load_raw(path: Path) -> RawConfig:
    """Read and validate ``config/raw.yaml``. Raises InputError with one line naming file and field."""
    try:
        return RawConfig.model_validate(load_yaml(path))
    except ValidationError as error:
        raise one_line(error, str(path)) from None
