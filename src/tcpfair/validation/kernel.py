"""The engine beside a real kernel, on the scenarios of ``config/testbed.yaml``: recordings of `tcpfair.sources.testbed`.

As with ns-2 and ns-3 means over runs are compared. A kernel's repeats scatter by what the machine did meanwhile, so what counts
is their spread: a difference is within it, or has a line in ``data/validation/explanations.yaml``.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.validation import agreement, campaign, shipped
from tcpfair.validation.campaign import Part, Results
from tcpfair.validation.measures import CURVE_COLUMNS
from tcpfair.validation.scenarios import ENGINE, KERNEL, TESTBED, load, whole
from tcpfair.validation.shipped import Shipped


@dataclass(frozen=True)
class Kernel:
    """The engine's results by experiment, those shipped of the kernel, and the rows that compare them."""

    config: PaperConfig
    engine: dict[str, Results]
    shipped: Shipped
    rows: pd.DataFrame

    def runs(self) -> pd.DataFrame:
        """Every run, with experiment and simulator in columns."""
        frames = [results.runs.assign(source=ENGINE, experiment=name) for name, results in self.engine.items()]
        frames += [runs.assign(source=TESTBED, experiment=name) for name, runs in self.shipped.runs.items()]
        table = pd.concat(frames, ignore_index=True)
        first = ["experiment", "source"]
        return table[[*first, *(name for name in table if name not in first)]]

    @property
    def curves(self) -> pd.DataFrame:
        """Windows over time: columns source, experiment, label, t_s, cwnd_pkts."""
        frames = [results.curves.assign(source=ENGINE, experiment=name) for name, results in self.engine.items()]
        frames.append(self.shipped.curves.assign(source=TESTBED))
        some = [frame for frame in frames if len(frame)]
        return pd.concat(some or frames[:1], ignore_index=True)[["source", *CURVE_COLUMNS]]


def config_of(layout: Layout) -> PaperConfig | None:
    """The scenarios of the testbed; None in a checkout without them."""
    return load(layout.testbed_config) if layout.testbed_config.is_file() else None


def engine_parts(layout: Layout) -> list[Part]:
    """All that the engine runs beside the kernel."""
    config = config_of(layout)
    return campaign.parts(layout, config, KERNEL, ENGINE, config.experiments) if config else []


def compare(layout: Layout, engine: list[Part], explanations: agreement.Explanations) -> Kernel | None:
    """Compare what the engine's parts keep with what is shipped of the kernel."""
    config = config_of(layout)
    if config is None:
        return None
    results = {
        name: campaign.joined(config, name, (each for each in engine if each.experiment == name))
        for name in config.experiments
    }
    of = shipped.read(layout, config, TESTBED)
    selection = whole(config, TESTBED)
    tables = [
        agreement.compare(config, name, TESTBED, results[name].runs, of.runs[name], selection.window(config, name))
        for name in of.runs
    ]
    rows = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=agreement.COLUMNS)
    return Kernel(config, results, of, agreement.explained(rows, explanations))
