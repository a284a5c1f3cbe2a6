"""The members of an ensemble as metrics: one table for each metric of an experiment, in which every setting is a replicate."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.settings import grid_points, point_text
from tcpfair.runs import ensemble_table
from tcpfair.runs.ensemble import AS_PRINTED, PaperEnsemble, Reading, ensemble_of, load
from tcpfair.runs.ensemble_table import Shipped
from tcpfair.verdicts.measured import Measured, Table, table_of

SETTING, HYPOTHESIS = "setting", "hypothesis"
_NOT_DRAWN = [HYPOTHESIS, "refused"]
AS_CONFIGURED = Reading([], {}, [])


class NotInEnsembleError(InputError):
    """The ensemble does not have what was requested."""


class Members(Measured):
    """All members of one paper under one hypothesis (empty: as published), which is a ``reading`` of the paper.

    ``drawn`` has the values of the assumptions, a row per setting that ran, identified by its number; ``refused`` counts the
    other settings. A hypothesis that changes no run has the members as published.
    """

    def __init__(
        self, shipped: Shipped, config: PaperConfig, hypothesis: str = AS_PRINTED, reading: Reading = AS_CONFIGURED
    ) -> None:
        super().__init__(self._not_in_ensemble, reading.metrics)
        self.config, self.hypothesis, self.reading = config, hypothesis, reading
        simulated = hypothesis if reading.changes else AS_PRINTED
        table = shipped.settings[shipped.settings[HYPOTHESIS] == simulated]
        ran = table[table["refused"] == ""]
        self.drawn = ran.set_index(SETTING).drop(columns=_NOT_DRAWN, errors="ignore")
        self.refused = len(table) - len(ran)
        self._own = shipped.metrics[(shipped.metrics[HYPOTHESIS] == simulated).to_numpy()]

    @property
    def settings(self) -> pd.Index:
        return self.drawn.index

    @cached_property
    def experiments(self) -> frozenset[str]:
        return frozenset(experiment for experiment, _ in self._rows)

    @cached_property
    def _rows(self) -> dict[tuple[str, str], pd.DataFrame]:
        return dict(list(self._own.groupby(["experiment", "metric"], sort=False, observed=True)))

    def _not_in_ensemble(self, experiment: str) -> pd.DataFrame:
        raise NotInEnsembleError(f"{self.config.paper}/{experiment}: not in the ensemble")

    def _table(self, experiment: str, metric: str) -> Table:
        """As for runs, with settings as replicates. Raises NotInEnsembleError for an experiment that the ensemble lacks."""
        if experiment not in self.experiments:
            self._not_in_ensemble(experiment)
        rows = self._rows.get((experiment, metric), self._own.iloc[:0])
        points = grid_points(self.config.experiments[experiment])
        numbers = {point_text(point): number for number, point in enumerate(points)}
        point, flow = rows["point"].map(numbers).to_numpy(dtype=int), rows["flow"].to_numpy(dtype=int)
        n_flows = flow.max(initial=0) + 1
        places, cells = np.unique(point * n_flows + flow, return_inverse=True)
        about = pd.DataFrame(points).iloc[places // n_flows].reset_index(drop=True).assign(flow=places % n_flows)
        return table_of(rows[SETTING].to_numpy(), cells, rows["value"].to_numpy(dtype=float), about)


def members_of(found: Shipped, config: PaperConfig, plan: PaperEnsemble) -> Iterator[Members]:
    """The members of a shipped ensemble as published and under each hypothesis.

    Hypotheses without members, and those without any effect on the ensemble's metrics, are omitted.
    """
    for name in (AS_PRINTED, *plan.hypotheses):
        reading = plan.reading(name)
        members = Members(found, config, name, reading)
        has_metrics = any(experiment in members.experiments for experiment, _ in reading.metrics)
        if len(members.settings) and (name == AS_PRINTED or reading.changes or reading.excluded or has_metrics):
            yield members


def fresh(layout: Layout, paper: PaperConfig, name: str) -> Shipped | None:
    """A shipped ensemble if it is up to date, else None."""
    if not any(path.is_file() for path in ensemble_table.paths(layout.ensembles, name)):
        return None
    config = load(layout.ensemble_config)
    if name not in config.names or ensemble_table.stale(layout.ensembles, ensemble_of(config, paper, name)):
        return None
    return ensemble_table.read(layout.ensembles, name)
