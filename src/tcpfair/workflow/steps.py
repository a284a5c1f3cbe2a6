"""The steps of the workflow as functions: what ``python -m tcpfair <step>`` does for one rule of Snakemake.

Every step writes its output whole or not at all, then its stamp, and leaves a row in ``results/costs.csv``. Heavy
modules are imported where they are used: a step pays for what it needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcpfair.contract import costs
from tcpfair.contract.expand import run_specs
from tcpfair.contract.layout import LEDGER_TABLES, Layout
from tcpfair.contract.papers import Config, PaperConfig, load_paper
from tcpfair.contract.stamps import write_stamp
from tcpfair.errors import InputError
from tcpfair.workflow.bundles import belongs

# the smallest run there is: it serves to compile, nobody sees its result
_ANY_SCENARIO = {
    "capacity_bps": 1e6,
    "wire_bytes": 1500,
    "payload_bytes": 1460,
    "buffer_pkts": 10,
    "duration_s": 1,
    "sample_s": 1,
    "flows": [{"protocol": "any", "cc": "newreno", "rtt_s": 0.1}],
}


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path beside ``path`` to write to; it takes the place of ``path`` when the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.new{path.suffix}")
    try:
        yield scratch
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def part_name(shard: int, shards: int) -> str:
    """Name of one part as Snakemake's scattergather writes it: ``1-of-2`` is the first."""
    return f"{shard + 1}-of-{shards}"


def parse_part(part: str) -> tuple[int, int]:
    """``1-of-2`` -> (0, 2)."""
    number, _, shards = part.partition("-of-")
    if not (number.isdigit() and shards.isdigit() and 1 <= int(number) <= int(shards)):
        raise InputError(f"--part {part!r}: write it as 1-of-2")
    return int(number) - 1, int(shards)


def warm_engine(layout: Layout, marker: Path) -> str:
    """Compile the engine into numba's cache, once, before simulations run side by side."""
    with costs.measured(layout.costs, layout.source, "compile", "engine") as cost:
        from tcpfair.contract.scenario import make_scenario
        from tcpfair.engine.dumbbell import run
        from tcpfair.jit import source_hash

        run(make_scenario(_ANY_SCENARIO))
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.write_text(source_hash() + "\n")
    return f"{cost.wall_s:.1f} s"


def simulate(
    layout: Layout, paper: str, experiment: str, part: str, folder: Path, stamp: str, smoke_s: float | None = None
) -> str:
    """Simulate one part of an experiment's runs into ``folder``; with ``smoke_s`` few of them, cut to that many seconds."""
    shard, shards = parse_part(part)
    config = load_paper(layout.paper_config(paper))
    with costs.measured(layout.costs, layout.source, "simulate", f"{paper}/{experiment} {part}") as cost:
        from tcpfair import sources
        from tcpfair.contract import trace

        made = sources.simulate(
            config, experiment, backend=layout.source, shard=shard, shards=shards, smoke_duration_s=smoke_s
        )
        cost.packets = delivered_pkts(made)
        trace.write(made, folder)
    write_stamp(folder / trace.MANIFEST, stamp)
    return f"{len(made.runs)} runs, {cost.packets / 1e6:.1f} M packets in {cost.wall_s:.1f} s"


def gather(layout: Layout, paper: str, experiment: str, folders: list[Path], stamp: str) -> str:
    """Join the parts of a simulation into the experiment's trace."""
    from tcpfair import sources
    from tcpfair.contract import trace

    made = sources.merge([trace.read(folder) for folder in folders])
    folder = layout.trace(paper, experiment)
    trace.write(made, folder)
    write_stamp(folder / trace.MANIFEST, stamp)
    item = f"{paper}/{experiment}"
    costs.join(layout.costs, layout.source, "simulate", item, tuple(f"{item} {part.name}" for part in folders))
    return f"{len(made.runs)} runs"


def measure(layout: Layout, paper: str, experiment: str, stamp: str) -> str:
    """Compute the metrics of one experiment from its trace."""
    config = load_paper(layout.paper_config(paper))
    output = layout.metrics(paper, experiment)
    with costs.measured(layout.costs, layout.source, "measure", f"{paper}/{experiment}") as cost:
        import pandas as pd

        from tcpfair import measures
        from tcpfair.contract import trace

        weights = config.experiments[experiment].weights
        of_weights = pd.read_parquet(layout.metrics(paper, weights.experiment)) if weights else None
        read = trace.read(layout.trace(paper, experiment))
        if layout.source == "bundled" and not belongs(read.provenance, config, experiment):
            raise InputError(
                f"config/papers/{paper}.yaml: experiments.{experiment}: differs from what data/bundled was made from; "
                f"simulate it (--config source=engine) or ship it anew (./reproduce bundle {paper}/{experiment})"
            )
        config = with_window_of(read, config, experiment)
        metrics = measures.measure(read, config, experiment, of_weights)
        with whole(output) as scratch:
            metrics.to_parquet(scratch, index=False)
    write_stamp(output, stamp)
    return f"{len(read.runs)} runs in {cost.wall_s:.1f} s"


def rehearse(layout: Layout, paper: str, smoke_s: float, output: Path, stamp: str) -> str:
    """Simulate and measure every experiment of a paper for ``smoke_s`` seconds, all in one process."""
    import pandas as pd

    from tcpfair.contract import trace

    config = load_paper(layout.paper_config(paper))
    rows = []
    # experiments whose weights come from another one after the others
    for name, experiment in sorted(config.experiments.items(), key=lambda item: item[1].weights is not None):
        folder = layout.trace(paper, name)
        simulate(layout, paper, name, part_name(0, 1), folder, stamp, smoke_s)
        row = {"experiment": name, "runs": trace.read_manifest(folder)["n_runs"]}
        if experiment.measures:
            measure(layout, paper, name, stamp)
            values = pd.read_parquet(layout.metrics(paper, name))["value"]
            row |= {"values": len(values), "too_short_to_tell": int(values.isna().sum())}
        rows.append(row)
    with whole(output) as scratch:
        pd.DataFrame(rows).convert_dtypes().to_csv(scratch, index=False)
    write_stamp(output, stamp)
    return f"{len(rows)} experiments, {sum(row['runs'] for row in rows)} runs"


def with_window_of(trace, config: PaperConfig, experiment: str) -> PaperConfig:
    """The configuration with the experiment's window cut as its runs were cut (smoke runs); otherwise as it is."""
    chosen = config.experiments[experiment]
    full_s = next(iter(run_specs(config, experiment))).scenario.duration_s
    share = float(trace.runs["duration_s"].max()) / full_s
    if share >= 1 or chosen.window_s is None:
        return config
    window_s = chosen.window_s.model_copy(update={"value": [share * edge_s for edge_s in chosen.window_s.value]})
    cut = chosen.model_copy(update={"window_s": window_s})
    return config.model_copy(update={"experiments": config.experiments | {experiment: cut}})


def notebook(layout: Layout, paper: str, only: list[str], own_trace: str, stamp: str) -> str:
    """Run a paper's notebook and make its HTML.

    Raises InputError with the traceback of the cell that failed. Exhibits that fail do not stop a notebook: ``show``
    records them and `check` reports them.
    """
    source = layout.root / "notebooks" / f"{paper}.ipynb"
    output = layout.results / "notebooks" / f"{paper}.ipynb"
    page = output.with_suffix(".html")
    with costs.measured(layout.costs, layout.source, "notebook", paper) as cost:
        import nbformat
        import papermill
        from nbconvert import HTMLExporter

        with whole(output) as scratch:
            try:
                papermill.execute_notebook(
                    source,
                    scratch,
                    parameters={"source": layout.source, "only": only, "trace": own_trace},
                    kernel_name="python3",
                    cwd=source.parent,
                    progress_bar=False,
                )
            except papermill.PapermillExecutionError as error:
                told = str(error).strip("-\n ")
                raise InputError(f"notebooks/{source.name}: {told}") from None
            executed = nbformat.read(scratch, as_version=4)
            forget_run(executed)
            nbformat.write(executed, scratch)
        with whole(page) as scratch:
            scratch.write_text(HTMLExporter().from_notebook_node(executed)[0], encoding="utf-8")
    write_stamp(output, stamp)
    return f"{cost.wall_s:.1f} s"


def forget_run(executed) -> None:
    """Remove what differs from run to run in an executed notebook: times, paths and the id of the injected cell."""
    executed.metadata.pop("papermill", None)
    for cell in executed.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"


def ledger(layout: Layout, stamp: str) -> str:
    """Write the ledger: printed against reproduced, claims with verdicts, equations."""
    with costs.measured(layout.costs, layout.source, "ledger", "ledger") as cost:
        from tcpfair.verdicts import ledger as writer

        writer.write_ledger(layout, Config(source=layout.source))
    write_stamp(layout.ledger / f"{LEDGER_TABLES[0]}.csv", stamp)
    return f"{cost.wall_s:.1f} s"


def report(layout: Layout, stamp: str) -> str:
    """Write the report: one HTML file that opens from disk."""
    with costs.measured(layout.costs, layout.source, "report", "report") as cost:
        from tcpfair.verdicts import report as writer

        output = writer.write_report(layout)
    write_stamp(output, stamp)
    return f"{cost.wall_s:.1f} s"


def failed_exhibits(layout: Layout) -> list[str]:
    """``ogura.fig8, ogura.fig9: reason`` of the exhibits whose drawing failed, one line for each reason."""
    failed: dict[str, list[str]] = {}
    for path in sorted((layout.results / "exhibits").glob("*/*.json")):
        record = json.loads(path.read_text())
        if record["status"] == "failed":
            failed.setdefault(record["error"].replace(f"{layout.root}/", ""), []).append(record["exhibit"])
    return [f"{', '.join(exhibits)}: {reason}" for reason, exhibits in failed.items()]


def check(layout: Layout, output: Path) -> str:
    """Fail when an exhibit failed; runs last, when everything that could be built is there."""
    failed = failed_exhibits(layout)
    if failed:
        raise InputError(f"failed: {'; '.join(failed)}")
    output.write_text("every exhibit that was asked for is built\n")
    return "every exhibit that was asked for is built"


def delivered_pkts(trace) -> int:
    """Data packets that arrived at the receivers, in units of full packets."""
    if trace.runs.empty:
        return 0
    per_run = trace.samples.groupby("run_id")["delivered_bytes"].sum()
    return round(float((per_run / trace.runs.set_index("run_id")["payload_bytes"]).sum()))
