"""What a drawing kind is given and what it gives back; the register of drawing kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from pydantic import BaseModel, ConfigDict, ValidationError

from tcpfair import measures
from tcpfair.contract import trace
from tcpfair.contract.layout import Layout
from tcpfair.contract.papers import Exhibit, Experiment, PaperConfig, Value
from tcpfair.contract.scenario import one_line
from tcpfair.contract.trace import Trace
from tcpfair.errors import InputError
from tcpfair.verdicts import printed


class Options(BaseModel):
    """The options of one drawing kind, as `options:` of an exhibit in config/papers/ gives them."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Table:
    """A table as it is read: cells of HTML, with column and row headings."""

    cells: pd.DataFrame
    note: str = ""


@dataclass(frozen=True)
class Drawn:
    """What a drawing kind makes of an exhibit.

    ``numbers`` are compared with print (columns of `tcpfair.exhibits.numbers.NUMBER_COLUMNS`); ``data`` holds all that
    is drawn when that is more than the numbers, such as curves. ``n_runs`` counts the runs behind one point, 0 for
    what no run went into.
    """

    output: Figure | Table
    numbers: pd.DataFrame
    n_runs: int = 0
    data: pd.DataFrame | None = None
    note: str = ""  # what the corner says of the runs, when it is not their number


@dataclass
class Context:
    """One paper seen from one source: configuration, traces, metrics and printed numbers, each read once."""

    paper: PaperConfig
    layout: Layout
    trace_folder: Path | None = None  # the user's own trace, which stands in for the experiment that it names
    _traces: dict[str, Trace] = field(default_factory=dict)
    _metrics: dict[str, pd.DataFrame] = field(default_factory=dict)

    def experiment(self, exhibit: Exhibit, place: int = 0) -> tuple[str, Experiment]:
        """Name and configuration of the exhibit's experiment; InputError when it names none."""
        if place >= len(exhibit.experiments):
            raise InputError(f"{self.where(exhibit)}.experiments: `{exhibit.draw}` needs {place + 1}")
        name = exhibit.experiments[place]
        return name, self.paper.experiments[name]

    def where(self, exhibit: Exhibit) -> str:
        """Place of an exhibit in the configuration, for messages."""
        return f"config/papers/{self.paper.paper}.yaml: exhibits.{exhibit.id}"

    def trace(self, experiment: str) -> Trace:
        """The trace of an experiment from this source. Raises InputError when it is missing or damaged."""
        if experiment not in self._traces:
            self._traces[experiment] = trace.read(self._folder(experiment))
        return self._traces[experiment]

    def _folder(self, experiment: str) -> Path:
        if self.trace_folder is not None and trace.read_manifest(self.trace_folder).get("experiment") == experiment:
            return self.trace_folder
        return self.layout.trace(self.paper.paper, experiment)

    def metrics(self, experiment: str) -> pd.DataFrame:
        """Tidy metrics of an experiment: those on disk, or computed from the trace when there are none."""
        if experiment not in self._metrics:
            path = self.layout.metrics(self.paper.paper, experiment)
            stored = path.is_file() and self.trace_folder is None
            self._metrics[experiment] = pd.read_parquet(path) if stored else self._measure(experiment)
        return self._metrics[experiment]

    def _measure(self, experiment: str) -> pd.DataFrame:
        weights = self.paper.experiments[experiment].weights
        of_weights = self.metrics(weights.experiment) if weights else None
        return measures.measure(self.trace(experiment), self.paper, experiment, of_weights)

    @cached_property
    def published(self) -> pd.DataFrame:
        """Everything the paper prints."""
        return printed.load_printed(self.paper, self.layout.data)

    @cached_property
    def tolerances(self) -> dict[str, printed.Tolerance]:
        return printed.load_tolerances(self.layout.data / "tolerances.yaml")

    def printed(self, exhibit_id: str, metric: str) -> pd.DataFrame:
        """Printed results of one exhibit and metric: a column for each part of their keys, and ``value``."""
        rows = self.published.query("exhibit == @exhibit_id and metric == @metric and kind == 'result'")
        parts = [{name: _plain(text) for name, text in printed.parse_key(key).items()} for key in rows["key"]]
        return pd.DataFrame(parts).assign(value=pd.to_numeric(rows["value"], errors="coerce").to_numpy())

    def against_print(self, exhibit_id: str, numbers: pd.DataFrame) -> pd.DataFrame:
        """Printed results that belong to an exhibit, or quote it, beside its reproduced numbers."""
        reproduced = numbers.assign(source=self.layout.source)
        compared = printed.compare(self.published, reproduced, self.tolerances)
        return compared[(compared["exhibit"] == exhibit_id) | compared["reproduced"].notna()]


def _plain(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


Draw = Callable[[Context, Exhibit, Any], Drawn]


@dataclass(frozen=True)
class Kind:
    """A drawing kind: the model of its options and its function."""

    options: type[Options]
    draw: Draw


KINDS: dict[str, Kind] = {}


def drawing(options: type[Options]) -> Callable[[Draw], Draw]:
    """Register a function ``draw(context, exhibit, options) -> Drawn`` under its own name."""

    def register(draw: Draw) -> Draw:
        KINDS[draw.__name__] = Kind(options, draw)
        return draw

    return register


def read_options(context: Context, exhibit: Exhibit) -> Options:
    """The options of an exhibit; InputError naming file and field when the kind is unknown or an option wrong."""
    where = context.where(exhibit)
    if exhibit.draw not in KINDS:
        raise InputError(f"{where}.draw: {exhibit.draw!r} is unknown; known are {', '.join(sorted(KINDS))}")
    try:
        return KINDS[exhibit.draw].options.model_validate(exhibit.options)
    except ValidationError as error:
        raise one_line(error, f"{where}.options") from None


def draw(context: Context, exhibit: Exhibit) -> Drawn:
    """Draw one exhibit with the kind and the options that its configuration names."""
    options = read_options(context, exhibit)
    return KINDS[exhibit.draw].draw(context, exhibit, options)


def protocols_of(experiment: Experiment) -> list[str]:
    """Protocols in the order in which the experiment lists them."""
    return [str(label) for label in experiment.grid["protocol"].value]


def values_of(experiment: Experiment, variable: str) -> list[Any]:
    """Values of one grid variable in the order of the configuration; InputError when there is no such variable."""
    if variable not in experiment.grid:
        raise InputError(f"{variable!r} is not a grid variable; known are {', '.join(experiment.grid)}")
    return list(experiment.grid[variable].value)


def flow_protocol(experiment: Experiment, flow: int, protocol: str) -> str:
    """Protocol of a flow (1, 2, ...) in the runs whose grid variable ``protocol`` has the given value."""
    setting = experiment.flows[flow - 1].get("protocol")
    return setting.value if isinstance(setting, Value) else protocol


def joined(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Frames of the same columns as one."""
    return pd.concat(list(frames), ignore_index=True)
