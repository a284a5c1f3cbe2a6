"""The metrics of an experiment as means over its replicates, which an ensemble stores for each setting."""

from __future__ import annotations

import pandas as pd

from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.settings import grid_points, point_text


def means(measured: pd.DataFrame, paper: PaperConfig, experiment: str) -> pd.DataFrame:
    """The mean of each metric of `tcpfair.measures.measure` over the replicates at each point of the experiment's grid.

    Columns experiment, point (`point_text`), flow, flow_protocol, metric, value (mean over the replicates that show the
    metric, NaN without any), n (their number).
    """
    grid = list(paper.experiments[experiment].grid)
    names = {tuple(point.values()): point_text(point) for point in grid_points(paper.experiments[experiment])}
    points = [names[tuple(values)] for values in measured[grid].to_numpy(dtype=object).tolist()]
    keys = ["point", "flow", "flow_protocol", "metric"]
    found = measured.assign(point=points).groupby(keys, sort=False)["value"].agg(value="mean", n="count")
    return found.reset_index().assign(experiment=experiment)
