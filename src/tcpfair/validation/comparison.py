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
from tcpfair.validation.scenarios import ENGINE, KERNEL, TESTBED, TOOLS, WHOLE, config_of
from tcpfair.validation.shipped import Shipped

EXPLANATIONS = "explanations.yaml"
# the code that compares and shows; tests/validation/test_workflow.py holds that none is left out
CODE = (
    *("units.py", "memory.py", "files", "papers", "runs", "metrics", "models", "measures", "sources", "verdicts"),
    *("exhibits", "validation"),
)


@dataclass(frozen=True)
class Comparison:
    """The engine's results by experiment, those shipped of the other simulators, and the rows that compare them: means by
    their bars, flows of random dumbbells and seeds without jitter by `chance`.

    ``kernel`` is the same for a real kernel: recordings of `tcpfair.sources.testbed`, on the scenarios of
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

    @property
    def both(self) -> list[Comparison]:
        """This one, and that with the kernel where there is one."""
        return [self] if self.kernel is None else [self, self.kernel]

    def runs(self, *experiments: str) -> pd.DataFrame:
        """Every run of some experiments, with experiment and simulator in the columns ``experiment`` and ``source``."""
        runs_of = {ENGINE: {name: results.runs for name, results in self.engine.items()}}
        runs_of |= {tool: of.runs for tool, of in self.tools.items()}
        frames = [
            runs[name].assign(source=source, experiment=name)
            for source, runs in runs_of.items()
            for name in experiments
            if name in runs
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
    """All that the engine runs: for the comparison with other simulators, and with the kernel."""
    kernel = kernel_config(layout)
    of_kernel = campaign.parts(layout, kernel, KERNEL, ENGINE, kernel.experiments) if kernel else []
    return [*campaign.parts(layout, config, WHOLE, ENGINE, config.experiments), *of_kernel]


def compare(layout: Layout, config: PaperConfig, engine: Sequence[Part]) -> Comparison:
    """Compare what the engine's parts keep with what is shipped."""
    reasons, of_kernel = explanations(layout, config), kernel_config(layout)
    kernel = _compared(layout, of_kernel, KERNEL, (TESTBED,), engine, reasons) if of_kernel else None
    return replace(_compared(layout, config, WHOLE, TOOLS, engine, reasons), kernel=kernel)


def _compared(
    layout: Layout,
    config: PaperConfig,
    kind: str,
    tools: Sequence[str],
    engine: Sequence[Part],
    reasons: agreement.Explanations,
) -> Comparison:
    """The engine compared with the simulators of one kind of validation."""
    results = {
        name: campaign.joined(config, name, (each for each in engine if (each.kind, each.experiment) == (kind, name)))
        for name in config.experiments
    }
    shipped_of = {tool: shipped.read(layout, config, tool) for tool in tools}

    def table(compare: Callable, names: Iterable[str], columns: Sequence[str]) -> pd.DataFrame:
        found = [
            compare(config, name, tool, results[name].runs, of.runs[name])
            for tool, of in shipped_of.items()
            for name in names
            if name in of.runs
        ]
        return campaign.concatenated(found, columns)

    by_bars = [name for name in config.experiments if not drawn.is_drawn(config, name)]
    return Comparison(
        config,
        results,
        shipped_of,
        agreement.explained(table(agreement.compare, by_bars, agreement.COLUMNS), reasons),
        table(chance.flows, drawn.experiments(config), chance.FLOW_COLUMNS),
        table(chance.pairs, chance.paired_experiments(config), chance.PAIR_COLUMNS),
    )


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
