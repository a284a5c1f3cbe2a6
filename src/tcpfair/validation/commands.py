"""What ``./reproduce validate`` does: compare, run a simulator for the comparison, or check quickly that it works."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tcpfair.contract.layout import Layout
from tcpfair.contract.papers import PaperConfig
from tcpfair.contract.stamps import code_files, file_hashes
from tcpfair.errors import InputError
from tcpfair.validation import agreement, campaign, shipped
from tcpfair.validation.campaign import LONG_S, Results
from tcpfair.validation.scenarios import ENGINE, TITLES, TOOLS, Selection, Window, digests_of, load, quick, whole
from tcpfair.validation.shipped import CURVE_COLUMNS, Shipped

Say = Callable[[str], None]
EXPLANATIONS = "explanations.yaml"


@dataclass(frozen=True)
class Comparison:
    """The engine's results by experiment, those shipped of the other simulators, and the rows that compare them."""

    config: PaperConfig
    engine: dict[str, Results]
    tools: dict[str, Shipped]
    rows: pd.DataFrame
    explanations: dict[str, dict[str, str]]

    def runs(self, experiment: str) -> pd.DataFrame:
        """Every run of an experiment, with its simulator in the column ``source``."""
        frames = [self.engine[experiment].runs.assign(source=ENGINE)]
        frames += [of.runs[experiment].assign(source=tool) for tool, of in self.tools.items() if experiment in of.runs]
        table = pd.concat(frames, ignore_index=True)
        return table[["source", *(name for name in table if name != "source")]]

    @property
    def curves(self) -> pd.DataFrame:
        """Windows over time of every simulator: columns source, experiment, label, t_s, cwnd_pkts."""
        frames = [results.curves.assign(source=ENGINE, experiment=name) for name, results in self.engine.items()]
        frames += [of.curves.assign(source=tool) for tool, of in self.tools.items()]
        some = [frame for frame in frames if len(frame)]
        return pd.concat(some or frames[:1], ignore_index=True)[["source", *CURVE_COLUMNS]]


def compare(layout: Layout, cores: int | None = None, say: Say = print) -> Comparison:
    """Run the engine where its results are missing or old, and compare with what is shipped of the other simulators."""
    config = load(layout.validation_config)
    explanations = agreement.load_explanations(layout.validated / EXPLANATIONS, config)
    tools = {tool: shipped.read(layout, config, tool) for tool in TOOLS}
    engine = _engine(layout, config, list(config.experiments), whole(config, ENGINE), cores, say)
    tables = [
        agreement.compare(
            config, name, tool, engine[name].runs, of.runs[name], whole(config, tool).window(config, name)
        )
        for tool, of in tools.items()
        for name in of.runs
    ]
    rows = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=agreement.COLUMNS)
    return Comparison(config, engine, tools, agreement.explained(rows, explanations), explanations)


def _engine(
    layout: Layout, config: PaperConfig, experiments: Sequence[str], selection: Selection, cores: int | None, say: Say
) -> dict[str, Results]:
    """The engine's results, measured in its own window and in those of the other simulators."""

    def windows_s(experiment: str) -> tuple[Window, ...]:
        others = [whole(config, tool) for tool in TOOLS]
        found = [selection.window(config, experiment)]
        found += [other.window(config, experiment) for other in others if other.specs(config, experiment)]
        return tuple(dict.fromkeys(found))

    code = file_hashes(layout.root, [*code_files(layout.root, "simulate"), *_measuring_code(layout)])
    parts = campaign.parts(
        config, ENGINE, selection, experiments, layout.validation / "parts", code, windows_s=windows_s
    )
    todo = [part for part in parts if not part.kept()]
    if todo:
        runs = sum(len(part.specs) for part in todo)
        say(f"{TITLES[ENGINE]:<9} {runs} runs in {len({part.experiment for part in todo})} experiments")
    failed = {
        part.name: reason for part, reason in campaign.run(config, todo, cores or campaign.default_cores()) if reason
    }
    if failed:
        raise InputError(_reasons(ENGINE, failed))
    return {name: campaign.joined(config, name, (p for p in parts if p.experiment == name)) for name in experiments}


def _measuring_code(layout: Layout) -> list[Path]:
    package = layout.root / "src" / "tcpfair"
    return [
        *sorted((package / "metrics").glob("*.py")),
        package / "measures" / "runs.py",
        package / "validation" / "measures.py",
    ]


def _reasons(backend: str, failed: dict[str, str]) -> str:
    """One line: which parts failed, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in failed.items():
        by_reason.setdefault(reason, []).append(name)
    return f"{TITLES[backend]}: " + "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())


# --- Running a simulator ------------------------------------------------------------------------------------------


def run_tool(
    layout: Layout,
    tool: str,
    experiments: Sequence[str] = (),
    cores: int | None = None,
    yes: bool = False,
    say: Say = print,
) -> None:
    """Run a simulator on the whole of some experiments (none named: all that it takes part in) and ship what it gives.

    Raises InputError when it is not installed, when the estimate is long and nobody said yes, or when parts failed; what
    succeeded is kept.
    """
    config = load(layout.validation_config)
    selection = whole(config, tool)
    chosen = chosen_experiments(config, selection, tool, experiments)
    origin = campaign.provenance(config, tool)
    cores = cores or campaign.default_cores()
    parts = campaign.parts(config, tool, selection, chosen, layout.validation / "parts", origin)
    for name in chosen:
        right = shipped.still_right(layout, config, tool, name, selection, origin)
        for part in parts:
            if part.experiment == name and part.label in right and not part.kept():
                part.keep(*right[part.label])
    todo = [part for part in parts if not part.kept()]
    estimate_s = campaign.estimate_s(tool, todo) / cores
    say(
        f"{TITLES[tool]:<9} {sum(len(part.specs) for part in todo)} runs of {', '.join(chosen)}: "
        f"about {_minutes(estimate_s)} on {cores} cores ({origin['tool']})"
    )
    if estimate_s > LONG_S and not yes:
        raise InputError(f"this takes about {_minutes(estimate_s)}; add --yes to start it")
    left = {name: {part.name for part in todo if part.experiment == name} for name in chosen}
    failed: dict[str, str] = {}

    def ship(name: str) -> None:
        results = campaign.joined(config, name, (part for part in parts if part.experiment == name))
        entry = {**origin, "scenarios": digests_of(config, name, selection)}
        shipped.write(layout, tool, name, results.runs, results.curves, entry)
        say(f"written   {shipped.folder(layout, tool).relative_to(layout.root)}/{name}.csv")

    for name in [name for name in chosen if not left[name]]:
        ship(name)
    for part, reason in campaign.run(config, todo, cores, say):
        if reason:
            failed[part.name] = reason
            continue
        left[part.experiment].discard(part.name)
        if not left[part.experiment]:
            ship(part.experiment)
    if failed:
        raise InputError(_reasons(tool, failed))


def chosen_experiments(config: PaperConfig, selection: Selection, tool: str, wanted: Sequence[str]) -> list[str]:
    """The experiments that are asked for, in the order of the configuration; InputError for one that the tool lacks."""
    known = [name for name in config.experiments if selection.specs(config, name)]
    for name in wanted:
        if name not in known:
            raise InputError(f"--experiments {name}: unknown to {TITLES[tool]}; known are {', '.join(known)}")
    return [name for name in known if not wanted or name in wanted]


def _minutes(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def check_quickly(
    layout: Layout, tool: str, experiments: Sequence[str] = (), cores: int | None = None, say: Say = print
) -> list[str]:
    """A few short runs of a simulator and of the engine, kept nowhere; returns a line for each that is far off."""
    config = load(layout.validation_config)
    selection = quick(config)
    chosen = chosen_experiments(config, selection, tool, experiments)
    origin = campaign.provenance(config, tool)
    found: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tcpfair-validate-") as scratch:
        results = {}
        for backend in (ENGINE, tool):
            parts = campaign.parts(config, backend, selection, chosen, Path(scratch), origin)
            failed = {part.name: reason for part, reason in campaign.run(config, parts, cores or 1) if reason}
            if failed:
                raise InputError(_reasons(backend, failed))
            results[backend] = {
                name: campaign.joined(config, name, [p for p in parts if p.experiment == name]).runs for name in chosen
            }
        for name in chosen:
            window_s = selection.window(config, name)
            rows = agreement.compare(config, name, tool, results[ENGINE][name], results[tool][name], window_s)
            for line in table_lines(rows):
                say(line)
            found += agreement.far_off(config, rows)
    return found


def table_lines(rows: pd.DataFrame) -> Iterator[str]:
    """The rows as lines of text: what, the engine, the other simulator."""
    for row in rows.to_dict("records"):
        yield (
            f"{agreement.row_name(row):<34} engine {row['engine_mean']:>10.4g}   "
            f"{TITLES[row['tool']]} {row['tool_mean']:>10.4g}"
        )
