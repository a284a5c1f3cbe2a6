"""How often Jain's index and NRU disagree about the runs of the papers: cells that one calls fair and the other does not."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from tcpfair.metrics.fairness import U_C_DB
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.measured import Measured

FAIR_JFI = 0.9  # the index of two flows, one with half the throughput of the other


def nru_or_jfi(papers: Iterable[Context], least_jfi: float = FAIR_JFI, least_db: float = U_C_DB) -> pd.DataFrame:
    """`counts` of all experiments that measure NRU."""
    rows = {
        (context.paper.paper, name): counts(context.measured, name, least_jfi, least_db)
        for context in papers
        for name, experiment in context.paper.experiments.items()
        if "nru" in experiment.measures
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["paper", "experiment"])


def counts(measured: Measured, experiment: str, least_jfi: float, least_db: float) -> dict[str, int]:
    """Numbers of points of an experiment's grid by the results of both measures; medians over the runs.

    J (the mean of J(t)) is fair from ``least_jfi`` on. A flow loses when the U of its mean throughput is below ``least_db``
    (bhatti2008, sec. III-D): the others harm it by that much more than flows of its protocol do (`tcpfair.metrics.ruler`).
    """
    flows = measured.of(experiment, "U_n_of_means").places["flow"].unique()
    index = measured.of_flow(experiment, "jfi_mean", 0).median()
    u_db = np.array([measured.of_flow(experiment, "U_n_of_means", flow).median()[index.index] for flow in flows])
    is_fair, loses = (index >= least_jfi).to_numpy(), (u_db < least_db).any(axis=0)
    return {
        "cells": len(index),
        "fair by both": int((is_fair & ~loses).sum()),
        "J fair, a flow loses": int((is_fair & loses).sum()),
        "J unfair, no flow loses": int((~is_fair & ~loses).sum()),
        "unfair by both": int((~is_fair & loses).sum()),
    }
