"""Tables generated from the configuration: stated values, assumptions, and the cost of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from tcpfair.files.costs import PLANNED_PKTS_PER_S
from tcpfair.papers.papers import PaperConfig, Value
from tcpfair.papers.settings import place_name, values_in
from tcpfair.runs.store import Held

_PLACE = ["paper", "experiment", "name", "value"]
ALL = "all"  # in the column `experiment`: the value holds for every experiment of the paper


def assumptions(paper_cfgs: Mapping[str, PaperConfig]) -> pd.DataFrame:
    """Every value that a paper does not state, one row per place in the configuration.

    Columns: paper, experiment (or ``all``), name (its place in the configuration, ``flow.ack_every``), value, reason,
    range (equally plausible values). All text.
    """
    entries = ((place, value) for *place, value in _entries(paper_cfgs) if value.assumed is not None)
    rows = [(*place, value.assumed, as_text(value.range)) for place, value in entries]
    return pd.DataFrame(rows, columns=[*_PLACE, "reason", "range"])


def stated(paper_cfgs: Mapping[str, PaperConfig]) -> pd.DataFrame:
    """Every value that a paper states, one row per place in the configuration.

    Columns: paper, experiment (or ``all``), name, value, source (section of the paper). All text. A value that the
    paper states in part is in `assumptions` too.
    """
    rows = [(*place, value.source) for *place, value in _entries(paper_cfgs) if value.source is not None]
    return pd.DataFrame(rows, columns=[*_PLACE, "source"])


def run_plan(papers: Mapping[str, Held]) -> pd.DataFrame:
    """The cost of simulating every experiment, and the folder of the trace with exactly these runs.

    Columns: paper, experiment, runs, simulated_s (summed over runs), packets (summed over runs; an upper bound, as if
    the link were always full), expected_s (on one core that simulates `PLANNED_PKTS_PER_S`), trace (folder
    in the repository, empty without a trace).
    """
    rows = []
    for paper, held in papers.items():
        for name in held.paper.experiments:
            runs = held.runs(name)
            packets = round(sum(run.pkts for run in runs))
            trace = held.place(name)
            simulated_s = sum(run.duration_s for run in runs)
            place = trace.relative_to(held.layout.root).as_posix() if trace else ""
            rows.append((paper, name, len(runs), simulated_s, packets, packets / PLANNED_PKTS_PER_S, place))
    columns = ["paper", "experiment", "runs", "simulated_s", "packets", "expected_s", "trace"]
    return pd.DataFrame(rows, columns=columns)


def as_text(value: Any) -> str:
    """A value of the configuration as a reader would write it: ``25, 50`` for a list, ``1e+08`` for 100.0e+6."""
    if isinstance(value, list):
        return ", ".join(f"[{as_text(item)}]" if isinstance(item, list) else as_text(item) for item in value)
    if isinstance(value, float):
        return f"{value:.10g}"
    return "" if value is None else str(value)


def _entries(paper_cfgs: Mapping[str, PaperConfig]) -> Iterator[tuple[str, str, str, str, Value]]:
    """`_PLACE` and the entry of every value, without references to the grid."""
    for paper, config in paper_cfgs.items():
        for experiment, node in [(ALL, config.model_copy(update={"experiments": {}})), *config.experiments.items()]:
            for place, value in values_in(node):
                yield paper, experiment, place_name(place), as_text(value.value), value
