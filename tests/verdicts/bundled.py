"""The papers as configured, their printed numbers, and metrics of the shipped traces: built, or measured here and now."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from tcpfair import measures
from tcpfair.files.layout import PAPERS, Layout, repository_root
from tcpfair.papers.papers import load_paper
from tcpfair.runs import trace
from tcpfair.runs.store import Held
from tcpfair.verdicts.cells import cells as cells_of
from tcpfair.verdicts.printed import load_printed

LAYOUT = Layout(repository_root())
CONFIGS = {paper: load_paper(LAYOUT.paper_config(paper)) for paper in PAPERS}


@cache
def cells(paper: str) -> pd.DataFrame:
    """Its printed results with their cells; a copy is to be changed, not this."""
    return cells_of(CONFIGS[paper], LAYOUT)


@cache
def published() -> pd.DataFrame:
    """The printed numbers of all papers; a copy is to be changed, not this."""
    return pd.concat([load_printed(config, LAYOUT.data) for config in CONFIGS.values()], ignore_index=True)


def runs(values: Iterable[float], **about: Any) -> pd.DataFrame:
    """Metrics of one cell, a run for each value; ``about`` has the other columns."""
    table = pd.DataFrame({"value": list(values)})
    return table.assign(run_id=table.index, replicate=table.index, **about)


def with_rules(root: Path, change: Callable[[dict], None]) -> Layout:
    """A checkout at ``root`` with the data of the real one, after a change of the rules of ogura's cells."""
    content = yaml.safe_load((LAYOUT.data / "cells.yaml").read_text())
    change(content["ogura"])
    (root / "data").mkdir()
    for path in LAYOUT.data.iterdir():
        if path.name != "cells.yaml":
            (root / "data" / path.name).symlink_to(path)
    (root / "data" / "cells.yaml").write_text(yaml.safe_dump(content))
    return Layout(root, "bundled")


def number(table: pd.DataFrame, exhibit: str, key: str, metric: str) -> pd.Series:
    """The row of one printed number."""
    rows = table[(table["exhibit"] == exhibit) & (table["key"] == key) & (table["metric"] == metric)]
    assert len(rows) == 1
    return rows.iloc[0]


@cache
def _held(paper: str) -> Held:
    return Held(LAYOUT, CONFIGS[paper])


@cache
def metrics(paper: str, experiment: str) -> pd.DataFrame:
    """As `tcpfair.measures.measure` gives them, all runs of the experiment; of a build, rounded as stored."""
    if built := _held(paper).metrics(experiment):
        return pd.read_parquet(built)
    weights = CONFIGS[paper].experiments[experiment].weights
    of_self = metrics(paper, weights.experiment) if weights else None
    return measures.measure(trace.read(LAYOUT.bundled(paper, experiment)), CONFIGS[paper], experiment, of_self)
