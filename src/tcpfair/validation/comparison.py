"""The engine's results against those that are shipped of the other simulators, and what a comparison is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import code
from tcpfair.runs.outputs import Parts, files_part, part
from tcpfair.validation import agreement, campaign, chance, drawn, shipped
from tcpfair.validation.campaign import Part, Results
from tcpfair.validation.measures import CURVE_COLUMNS
from tcpfair.validation.scenarios import ENGINE, KERNEL, TESTBED, TOOLS, WHOLE, config_of, whole
from tcpfair.validation.shipped import Shipped

EXPLANATIONS = "explanations.yaml"
# the code that compares and shows; tests/validation/test_workflow.py holds that none is left out
CODE = (
    "units.py",
    "memory.py",
    "files",
    "papers",
    "runs",
    "metrics",
    "models",
    "measures",
    "sources",
    "verdicts",
    "exhibits",
    "validation",
)


@dataclass(frozen=True)
class Comparison:
    """The engine's results by experiment, those shipped of the other simulators, and the rows that compare them: means by
    their bars, flows of random dumbbells and seeds without jitter by `chance`.

    ``kernel`` is the same beside a real kernel: recordings of `tcpfair.sources.testbed`, on the scenarios of
    ``config/testbed.yaml``. A kernel's repeats scatter by what the machine did meanwhile: a difference is within their spread, or
    has a line in ``data/validation/explanations.yaml``.
    """

    config: PaperConfig
    engine: dict[str, Results]
    tools: dict[str, Shipped]
    rows: pd.DataFrame
    flows: pd.DataFrame
    pairs: pd.DataFrame
    kernel: Comparison | None = None

    def runs(self, *experiments: str) -> pd.DataFrame:
        """Every run of some experiments, with experiment and simulator in the columns ``experiment`` and ``source``."""
        frames = [self.engine[name].runs.assign(source=ENGINE, experiment=name) for name in experiments]
        frames += [
            of.runs[name].assign(source=tool, experiment=name)
            for tool, of in self.tools.items()
            for name in experiments
            if name in of.runs
        ]
        table = pd.concat(frames, ignore_index=True)
        first = ["experiment", "source"]
        return table[[*first, *(name for name in table if name not in first)]]

    @property
    def curves(self) -> pd.DataFrame:
        """Windows over time of every simulator: columns source, experiment, label, t_s, cwnd_pkts."""
        frames = [results.curves.assign(source=ENGINE, experiment=name) for name, results in self.engine.items()]
        frames += [of.curves.assign(source=tool) for tool, of in self.tools.items()]
        some = [frame for frame in frames if len(frame)]
        return pd.concat(some or frames[:1], ignore_index=True)[["source", *CURVE_COLUMNS]]


def kernel_config(layout: Layout) -> PaperConfig | None:
    """The scenarios of the testbed; None in a checkout without them."""
    return config_of(layout, KERNEL) if layout.testbed_config.is_file() else None


def explanations(layout: Layout, config: PaperConfig) -> dict[str, dict[str, str]]:
    """The reasons for disagreements, by simulator. Raises InputError for one that fits no row."""
    return agreement.load_explanations(layout.validated / EXPLANATIONS, config, kernel_config(layout))


def engine_parts(layout: Layout, config: PaperConfig) -> list[Part]:
    """All that the engine runs: beside other simulators, and beside the kernel."""
    beside = kernel_config(layout)
    of_kernel = campaign.parts(layout, beside, KERNEL, ENGINE, beside.experiments) if beside else []
    return [*campaign.parts(layout, config, WHOLE, ENGINE, config.experiments), *of_kernel]


def compare(layout: Layout, config: PaperConfig, engine: Sequence[Part]) -> Comparison:
    """Compare what the engine's parts keep with what is shipped."""
    reasons, beside = explanations(layout, config), kernel_config(layout)
    kernel = _compared(layout, beside, KERNEL, (TESTBED,), engine, reasons) if beside else None
    return replace(_compared(layout, config, WHOLE, TOOLS, engine, reasons), kernel=kernel)


def _compared(
    layout: Layout,
    config: PaperConfig,
    kind: str,
    tools: Sequence[str],
    engine: Sequence[Part],
    reasons: agreement.Explanations,
) -> Comparison:
    """The engine beside the simulators of one kind of validation."""
    results = {
        name: campaign.joined(config, name, (each for each in engine if each.of(kind) and each.experiment == name))
        for name in config.experiments
    }
    shipped_of = {tool: shipped.read(layout, config, tool) for tool in tools}
    tables = [
        agreement.compare(
            config, name, tool, results[name].runs, of.runs[name], whole(config, tool).window(config, name)
        )
        for tool, of in shipped_of.items()
        for name in of.runs
        if not drawn.is_drawn(config, name)
    ]

    def by_chance(compare: Callable, names: Iterable[str]) -> list[pd.DataFrame]:
        return [
            compare(config, name, tool, results[name].runs, of.runs[name])
            for name in names
            for tool, of in shipped_of.items()
            if name in of.runs
        ]

    return Comparison(
        config,
        results,
        shipped_of,
        agreement.explained(_joined(tables, agreement.COLUMNS), reasons),
        _joined(by_chance(chance.flows, drawn.experiments(config)), chance.FLOW_COLUMNS),
        _joined(by_chance(chance.pairs, chance.paired_experiments(config)), chance.PAIR_COLUMNS),
    )


def _joined(tables: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def made_from(layout: Layout, config: PaperConfig, engine: Sequence[Part]) -> Parts:
    """What the comparison and its page are made from."""
    return {
        "engine": part({f"{each.kind}/{each.name}": each.made_from for each in engine}),
        "configuration": files_part(
            layout.root, [path for path in (layout.validation_config, layout.testbed_config) if path.is_file()]
        ),
        "shipped": files_part(layout.root, sorted(layout.validated.rglob("*.*"))),
        "code": code.of_rooms(*CODE),
    }
