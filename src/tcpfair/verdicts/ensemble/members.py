"""The members of an ensemble as metrics: one table for each experiment, in which every setting is a replicate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import pandas as pd

from tcpfair.errors import InputError
from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.settings import BASE
from tcpfair.runs.ensemble import AS_PRINTED
from tcpfair.runs.ensemble_table import Shipped, as_measured

SETTING, HYPOTHESIS = "setting", "hypothesis"
_NOT_DRAWN = (HYPOTHESIS, SETTING, "refused")

LoadMetrics = Callable[[str], pd.DataFrame]


class NotInEnsembleError(InputError):
    """The ensemble leaves out what was asked for."""


@dataclass(frozen=True)
class Members:
    """All members of one paper under one hypothesis (empty: as printed)."""

    shipped: Shipped
    config: PaperConfig
    hypothesis: str = AS_PRINTED

    @cached_property
    def drawn(self) -> pd.DataFrame:
        """Values of the assumptions: a row per setting that ran, named by its number, a column per assumption."""
        table = self.shipped.settings
        own = table[(table[HYPOTHESIS] == self.hypothesis) & (table["refused"] == "")].set_index(SETTING)
        return own.drop(columns=[name for name in _NOT_DRAWN if name in own])

    @property
    def settings(self) -> pd.Index:
        return self.drawn.index

    @property
    def has_base(self) -> bool:
        return BASE in self.settings

    @cached_property
    def experiments(self) -> frozenset[str]:
        return frozenset(self.shipped.metrics["experiment"].astype(str).unique())

    @cached_property
    def load(self) -> LoadMetrics:
        """Metrics of an experiment in the columns of `tcpfair.measures.measure`, the setting as ``replicate``.

        Raises NotInEnsembleError for an experiment that the ensemble leaves out.
        """
        table = self.shipped.metrics
        own = table[(table[HYPOTHESIS] == self.hypothesis).to_numpy()]
        parts = dict(tuple(own.groupby(own["experiment"].astype(str), sort=False)))

        @cache
        def load(experiment: str) -> pd.DataFrame:
            if experiment not in parts:
                raise NotInEnsembleError(f"{self.config.paper}/{experiment}: not in the ensemble")
            return as_measured(parts[experiment], self.config.experiments[experiment])

        return load
