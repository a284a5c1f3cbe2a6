"""One paper with the traces of one source: the input of numbers and exhibits."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from tcpfair import measures
from tcpfair.errors import InputError, check_known
from tcpfair.files.layout import Layout
from tcpfair.files.manifest import CODE, RUNS
from tcpfair.papers.papers import Exhibit, Experiment, PaperConfig, Value
from tcpfair.runs import store, trace
from tcpfair.runs.origin import Origin, digest_of_keys
from tcpfair.runs.trace import Trace
from tcpfair.verdicts import printed
from tcpfair.verdicts.cells import Rule, Rules, load_rules, stated
from tcpfair.verdicts.measured import Measured


@dataclass
class Context:
    """One paper and one source: configuration, traces, metrics and published numbers, each read once."""

    paper: PaperConfig
    layout: Layout
    trace_folder: Path | None = None  # the user's trace, which replaces the experiment that it names
    _traces: dict[str, Trace] = field(default_factory=dict)
    _metrics: dict[str, pd.DataFrame] = field(default_factory=dict)

    def experiment(self, exhibit: Exhibit, place: int = 0) -> tuple[str, Experiment]:
        """Name and configuration of the exhibit's experiment; InputError when it names none."""
        if place >= len(exhibit.experiments):
            raise InputError(f"{self.where(exhibit)}.experiments: its drawing needs {place + 1}")
        name = exhibit.experiments[place]
        return name, self.paper.experiments[name]

    def value(self, name: str) -> Any:
        """A value of the paper's settings or analysis, as configured; InputError for an unknown one."""
        known = self.paper.settings | self.paper.analysis
        check_known("value", [name], known)
        return known[name].value

    def where(self, exhibit: Exhibit) -> str:
        """Place of an exhibit in the configuration, for messages."""
        return f"config/papers/{self.paper.paper}.yaml: exhibits.{exhibit.id}"

    def trace(self, experiment: str) -> Trace:
        """The trace of an experiment from this source. Raises InputError when it is missing or damaged."""
        if experiment not in self._traces:
            self._traces[experiment] = trace.read(self._folder(experiment))
        return self._traces[experiment]

    def made_by(self, exhibit: Exhibit) -> str:
        """How the traces of an exhibit were made, for its corner and its record; the source if they are missing."""
        try:
            return self.held.made_by(self.paper.behind(exhibit.experiments)) or self.layout.source
        except InputError:
            return self.layout.source

    def origin(self, exhibit: Exhibit) -> Origin:
        """The origin for the files of an exhibit."""
        behind = self.paper.behind(exhibit.experiments)
        if self.trace_folder is not None:
            manifest = trace.read_manifest(self.trace_folder)
            keys, made_by = manifest.get(RUNS, []), manifest.get(CODE, {})
        else:
            runs = [run for name in behind for run in self.held.runs(name)]
            keys, made_by = [run.key for run in runs], store.code_behind(runs) if runs else {}
        names = tuple(f"{self.paper.paper}/{name}" for name in behind)
        return Origin(
            exhibit.id, self.made_by(exhibit), names, len(keys), digest_of_keys(keys) if keys else "", made_by
        )

    def _folder(self, experiment: str) -> Path:
        if self.trace_folder is not None and trace.read_manifest(self.trace_folder).get("experiment") == experiment:
            return self.trace_folder
        return self.held.trace(experiment)

    def metrics(self, experiment: str) -> pd.DataFrame:
        """Tidy metrics of an experiment: from disk, or computed from the trace if they are missing."""
        if experiment not in self._metrics:
            path = self.held.metrics(experiment) if self.trace_folder is None else None
            self._metrics[experiment] = pd.read_parquet(path) if path else self._measure(experiment)
        return self._metrics[experiment]

    @cached_property
    def measured(self) -> Measured:
        """The metrics as tables."""
        return Measured(self.metrics)

    def _measure(self, experiment: str) -> pd.DataFrame:
        weights = self.paper.experiments[experiment].weights
        of_weights = self.metrics(weights.experiment) if weights else None
        return measures.measure(self.trace(experiment), self.paper, experiment, of_weights)

    @cached_property
    def held(self) -> store.Held:
        """The requested traces and metrics that are available."""
        return store.Held(self.layout, self.paper)

    @cached_property
    def published(self) -> pd.DataFrame:
        """All published numbers of the paper."""
        return printed.load_printed(self.paper, self.layout.data)

    @cached_property
    def rules(self) -> Rules:
        """The rules for the cells of the paper's numbers."""
        return load_rules(self.paper, self.layout)

    @cached_property
    def stated(self) -> dict[tuple[str, str, str], Rule]:
        """The rules of the numbers outside series, by exhibit or section, key and metric."""
        return stated(self.rules, self.paper.paper, self.published)

    @cached_property
    def _tolerances(self) -> dict[str, printed.Tolerance]:
        return printed.load_tolerances(self.layout.data / "tolerances.yaml")

    def printed(self, exhibit_id: str, metric: str) -> pd.DataFrame:
        """Published results of one exhibit and metric: a column for each part of their keys, and ``value``."""
        rows = self.published.query("exhibit == @exhibit_id and metric == @metric and kind == 'result'")
        parts = [
            {name: printed.as_number(text) for name, text in printed.parse_key(key).items()} for key in rows["key"]
        ]
        return pd.DataFrame(parts).assign(value=pd.to_numeric(rows["value"], errors="coerce").to_numpy())

    def compared(self, numbers: pd.DataFrame) -> pd.DataFrame:
        """All published results of the paper, with the reproduced ones in ``numbers``."""
        return printed.compare(self.published, numbers.assign(source=self.layout.source), self._tolerances)

    def against_print(self, exhibit_id: str, numbers: pd.DataFrame) -> pd.DataFrame:
        """Published results that belong to an exhibit, or quote it, with its reproduced numbers."""
        compared = self.compared(numbers)
        return compared[(compared["exhibit"] == exhibit_id) | compared["reproduced"].notna()]


def protocols_of(experiment: Experiment) -> list[str]:
    """Protocols in the order in which the experiment lists them."""
    return [str(label) for label in experiment.grid["protocol"].value]


def values_of(experiment: Experiment, variable: str) -> list[Any]:
    """Values of one grid variable in the order of the configuration; InputError for an unknown variable."""
    check_known("grid variable", [variable], experiment.grid)
    return list(experiment.grid[variable].value)


def flow_protocol(experiment: Experiment, flow: int, protocol: str) -> str:
    """Protocol of a flow (1, 2, ...) in the runs whose grid variable ``protocol`` has the given value."""
    setting = experiment.flows[flow - 1].get("protocol")
    return setting.value if isinstance(setting, Value) else protocol
