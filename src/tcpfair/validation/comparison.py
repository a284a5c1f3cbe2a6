"""The engine's results compared with the shipped ones of other simulators, and the inputs of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import code, ensemble_table
from tcpfair.runs.ensemble import FURTHER
from tcpfair.runs.outputs import Parts, files_part, part
from tcpfair.validation import agreement, campaign, chance, claims, drawn, papers, shipped
from tcpfair.validation.campaign import Part, Results
from tcpfair.validation.measures import CURVE_COLUMNS
from tcpfair.validation.scenarios import ENGINE, KINDS, WHOLE, config_file, config_of
from tcpfair.validation.shipped import Shipped

EXPLANATIONS = "explanations.yaml"
# the code that compares and shows; tests/validation/test_workflow.py checks that it is complete
CODE = (
    *("units.py", "machine.py", "files", "papers", "runs", "metrics", "models", "measures", "sources", "verdicts"),
    *("exhibits", "validation"),
)


@dataclass(frozen=True)
class Comparison:
    """The engine's results by experiment, the shipped ones of other simulators, and the rows that compare them: means by
    thresholds, flows of random dumbbells, these dumbbells, and seeds without jitter by `chance`.

    ``kernels`` has the same for real kernels by kind of validation: recordings of `tcpfair.sources.testbed` on the scenarios of
    ``config/testbed.yaml``, and runs of `tcpfair.sources.guest` on those of ``config/guest.yaml``. Recordings scatter with the
    load of the machine: a difference is within their spread, or has a line in ``data/validation/explanations.yaml``.
    ``claims`` are those of the papers, from the guest's runs of their experiments.
    """

    config: PaperConfig
    engine: dict[str, Results]
    tools: dict[str, Shipped]
    rows: pd.DataFrame
    flows: pd.DataFrame
    dumbbells: pd.DataFrame
    pairs: pd.DataFrame
    kernels: dict[str, Comparison] = field(default_factory=dict)
    claims: claims.Compared = field(default_factory=claims.Compared)

    @property
    def every(self) -> list[Comparison]:
        """This one, and those with kernels."""
        return [self, *self.kernels.values()]

    def runs(self, *experiments: str) -> pd.DataFrame:
        """Every run of some experiments, with experiment and simulator in the columns ``experiment`` and ``source``."""
        runs_of = {ENGINE: {name: results.runs for name, results in self.engine.items()}}
        runs_of |= {tool: of.runs for tool, of in self.tools.items()}
        frames = {
            (name, source): runs[name] for source, runs in runs_of.items() for name in experiments if name in runs
        }
        return pd.concat(frames, names=["experiment", "source"]).reset_index(level=[0, 1]).reset_index(drop=True)

    @property
    def curves(self) -> pd.DataFrame:
        """Windows over time of every simulator: columns source, experiment, label, t_s, cwnd_pkts."""
        frames = [results.curves.assign(source=ENGINE, experiment=name) for name, results in self.engine.items()]
        frames += [of.curves.assign(source=tool) for tool, of in self.tools.items()]
        some = [frame for frame in frames if len(frame)]
        return pd.concat(some or frames[:1], ignore_index=True)[["source", *CURVE_COLUMNS]]


def kernel_configs(layout: Layout) -> dict[str, PaperConfig]:
    """The scenarios of real kernels by kind of validation; none in a checkout without them."""
    return {kind: config_of(layout, kind) for kind in KINDS if kind != WHOLE and config_file(layout, kind).is_file()}


def explanations(layout: Layout, config: PaperConfig) -> agreement.Explanations:
    """The reasons for disagreements, by simulator. Raises InputError for one without a row."""
    return agreement.load_explanations(layout.validated / EXPLANATIONS, config, kernel_configs(layout))


def engine_parts(layout: Layout, config: PaperConfig) -> list[Part]:
    """All parts of the engine: for the comparison with other simulators and with kernels, and for the papers' plans."""
    configs = {WHOLE: config, **kernel_configs(layout)}
    compared = [
        each for kind, own in configs.items() for each in campaign.parts(layout, own, kind, ENGINE, own.experiments)
    ]
    return compared + papers.engine_parts(layout, papers.plans(layout))


def compare(layout: Layout, config: PaperConfig, engine: Sequence[Part]) -> Comparison:
    """Compare the stored results of the engine with the shipped ones."""
    reasons = explanations(layout, config)
    kernels = {kind: _compared(layout, own, kind, engine, reasons) for kind, own in kernel_configs(layout).items()}
    whole = _compared(layout, config, WHOLE, engine, reasons)
    return replace(whole, kernels=kernels, claims=claims.compare(layout, engine))


def _compared(
    layout: Layout,
    config: PaperConfig,
    kind: str,
    engine: Sequence[Part],
    reasons: agreement.Explanations,
) -> Comparison:
    """The engine compared with the simulators of one kind of validation."""
    results = {
        name: campaign.joined(config, name, (each for each in engine if (each.kind, each.experiment) == (kind, name)))
        for name in config.experiments
    }
    shipped_of = {tool: shipped.read(layout, config, tool) for tool in KINDS[kind]}

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
        table(chance.dumbbells, drawn.experiments(config), ["tool", *chance.DUMBBELL_COLUMNS]),
        table(chance.pairs, chance.paired_experiments(config), chance.PAIR_COLUMNS),
    )


def made_from(layout: Layout, config: PaperConfig, engine: Sequence[Part]) -> Parts:
    """The inputs of the comparison and of its page."""
    plans = papers.plans(layout)
    judged = [layout.data / "claims" / f"{name}.yaml" for name in plans] + [papers.config_file(layout)] * bool(plans)
    judged += [path for name in plans for path in ensemble_table.paths(layout.ensembles, f"{name}{FURTHER}")]
    return {
        "engine": part({f"{each.kind}/{each.name}": each.made_from for each in engine}),
        "configuration": files_part(
            layout.root, [path for path in (config_file(layout, kind) for kind in KINDS) if path.is_file()]
        ),
        "shipped": files_part(layout.root, sorted(layout.validated.rglob("*.*"))),
        "papers": files_part(layout.root, [path for path in judged if path.is_file()]),
        "code": code.of_rooms(*CODE),
    }
