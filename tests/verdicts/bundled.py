"""Metrics of the shipped traces, measured here and now: what a full build would leave, for the tests that need it."""

from functools import cache

import pandas as pd

from tcpfair import measures
from tcpfair.files.layout import Layout, repository_root
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.runs import trace
from tcpfair.verdicts.cells import cells as cells_of

LAYOUT = Layout(repository_root())


@cache
def config(paper: str) -> PaperConfig:
    return load_paper(LAYOUT.paper_config(paper))


@cache
def cells(paper: str) -> pd.DataFrame:
    """Its printed results with their cells; a copy is to be changed, not this."""
    return cells_of(config(paper), LAYOUT)


@cache
def metrics(paper: str, experiment: str) -> pd.DataFrame:
    """As `tcpfair.measures.measure` gives them, all runs of the experiment."""
    weights = config(paper).experiments[experiment].weights
    of_self = metrics(paper, weights.experiment) if weights else None
    return measures.measure(trace.read(LAYOUT.bundled(paper, experiment)), config(paper), experiment, of_self)
