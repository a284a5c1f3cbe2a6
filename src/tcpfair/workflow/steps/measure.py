"""The metrics of experiments."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tcpfair import measures
from tcpfair.files.layout import Layout
from tcpfair.files.rounding import rounded_table
from tcpfair.papers.papers import load_paper
from tcpfair.runs import store, trace
from tcpfair.runs.outputs import inside, making


def run(layout: Layout, paper: str, folders: list[Path]) -> str:
    """Compute the metrics of some experiments of a paper, in one process; each has a folder, named for the experiment."""
    config = load_paper(layout.paper_config(paper))
    held = store.Held(layout, config)
    wanted = {folder.name.rpartition("-")[0]: folder for folder in folders}
    # experiments whose weights come from another one are last
    for name in sorted(wanted, key=lambda name: config.experiments[name].weights is not None):
        weights = config.experiments[name].weights
        of_self = pd.read_parquet(held.metrics(weights.experiment)) if weights else None
        metrics = measures.measure(trace.read(held.trace(name)), config, name, of_self)
        with making(layout, wanted[name]) as scratch:
            path = inside(layout, scratch, layout.metrics(paper, name))
            path.parent.mkdir(parents=True)
            rounded_table(metrics).to_parquet(path, index=False)
    return f"{len(wanted)} experiments"
