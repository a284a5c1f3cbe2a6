"""The steps of the workflow as functions: what ``python -m tcpfair <step>`` does for one rule of Snakemake.

Every step writes its output whole or not at all, then the stamp that the plan of the run has for it. Heavy modules are
imported where they are used: a step pays for what it needs.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tcpfair.contract import costs, record, stamps, store
from tcpfair.contract.expand import run_specs, shorten
from tcpfair.contract.files import whole, write_whole
from tcpfair.contract.layout import ENSEMBLE_TABLES, LEDGER_TABLES, PAPERS, Layout
from tcpfair.contract.papers import Config, PaperConfig, load_paper
from tcpfair.contract.stamps import Planned
from tcpfair.errors import InputError

_PROGRESS_EVERY_S = 1.0
DERIVATION = "derivation"  # tag of the cells that work a result out from traces, in the open
PROGRESS = "progress"  # begins the lines that `tcpfair.workflow.run` turns into a line of state


def stamp(planned: Planned, output: Path) -> None:
    """Write the stamp that the plan has for a finished output."""
    stamps.write_stamp(output, planned.stamp(output))


def parse_part(part: str) -> tuple[int, int]:
    """``1-of-2`` -> (0, 2)."""
    number, _, parts = part.partition("-of-")
    if not (number.isdigit() and parts.isdigit() and 1 <= int(number) <= int(parts)):
        raise InputError(f"--part {part!r}: write it as 1-of-2")
    return int(number) - 1, int(parts)


def warm_engine(layout: Layout, marker: Path) -> str:
    """Compile the engine into numba's cache, once, before simulations run side by side."""
    started_s = time.perf_counter()
    from tcpfair.jit import source_hash
    from tcpfair.sources import live

    live.prepare(say=lambda line: None)
    write_whole(marker, source_hash() + "\n")
    return f"{time.perf_counter() - started_s:.1f} s"


def simulate(layout: Layout, paper: str, experiment: str, part: str, output: Path) -> str:
    """Simulate one part of an experiment's missing runs; they are kept one by one, ``output`` says that all are there."""
    place, parts = parse_part(part)
    config = load_paper(layout.paper_config(paper))
    started_s = time.perf_counter()
    from tcpfair import sources

    specs = run_specs(config, experiment)[place::parts]
    told = teller(f"{paper}/{experiment}", part)
    n_runs, pkts = sources.simulate_missing(layout, config, experiment, specs, progress=told)
    write_whole(output, json.dumps({"runs": n_runs, "pkts": pkts}) + "\n")
    return f"{n_runs} runs, {pkts / 1e6:.1f} M packets in {time.perf_counter() - started_s:.1f} s"


def teller(item: str, part: str) -> Callable[[int, int], None]:
    """Prints how far a part is, at most once a second."""
    last_s = 0.0

    def tell(done: int, of: int) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= _PROGRESS_EVERY_S or done == of:
            last_s = time.monotonic()
            print(f"{PROGRESS} {item} {part} {done} {of}\n", end="", flush=True)  # at once: other steps write too

    return tell


def assemble(layout: Layout, paper: str, experiment: str, parts: list[Path], mark: Path) -> str:
    """Put the trace of an experiment together from runs that are there already; ``parts`` were simulated for it.

    A job of a cluster plans anew, when nothing is missing any more, and names none; then those count that left a mark.
    """
    from tcpfair import sources
    from tcpfair.contract import trace

    config = load_paper(layout.paper_config(paper))
    made = sources.assemble(layout, config, experiment, run_specs(config, experiment))
    trace.write(made, layout.simulated(paper, experiment))
    marks = parts or layout.finished_runs(paper, experiment).glob("*-of-*.json")
    counts = [json.loads(path.read_text()) for path in marks]
    sources.discard_finished(layout, paper, experiment)
    total = {f"simulated_{name}": sum(count[name] for count in counts) for name in ("runs", "pkts")}
    write_whole(costs.counted(layout, "simulate", f"{paper}/{experiment}"), json.dumps(total) + "\n")
    write_whole(mark, store.MARK)
    return f"{len(made.runs)} runs, {total['simulated_runs']} of them new"


def measure(
    layout: Layout, paper: str, experiment: str, folder: Path, weights: Path | None, output: Path, planned: Planned
) -> str:
    """Compute the metrics of one experiment from its trace."""
    import pandas as pd

    from tcpfair import measures
    from tcpfair.contract import trace
    from tcpfair.contract.rounding import rounded_table

    config = load_paper(layout.paper_config(paper))
    read = trace.read(folder)
    metrics = measures.measure(read, config, experiment, pd.read_parquet(weights) if weights else None)
    with whole(output) as scratch:
        rounded_table(metrics).to_parquet(scratch, index=False)
    stamp(planned, output)
    return f"{len(read.runs)} runs"


def numbers(layout: Layout, paper: str, exhibits: list[str], planned: Planned) -> str:
    """Compute the numbers of a paper's exhibits, a table for each; the last one's stamp speaks for all."""
    from tcpfair.verdicts import numbers as writer

    written = writer.write(layout, load_paper(layout.paper_config(paper)), exhibits)
    stamp(planned, written[-1])
    return f"{len(written)} exhibits"


def rehearse(layout: Layout, paper: str, smoke_s: float, output: Path, planned: Planned) -> str:
    """Simulate and measure every experiment of a paper for ``smoke_s`` seconds, all in one process."""
    import pandas as pd

    from tcpfair import measures, sources

    config = load_paper(layout.paper_config(paper))
    rows, metrics = [], {}
    # experiments whose weights come from another one after the others
    for name, experiment in sorted(config.experiments.items(), key=lambda item: item[1].weights is not None):
        specs = [shorten(spec, smoke_s) for spec in run_specs(config, name) if spec.replicate == 0]
        made = sources.simulate(config, name, "engine", specs)
        row = {"experiment": name, "runs": len(specs)}
        if experiment.measures:
            weights = metrics.get(experiment.weights.experiment) if experiment.weights else None
            metrics[name] = measures.measure(made, with_window_of(made, config, name), name, weights)
            values = metrics[name]["value"]
            row |= {"values": len(values), "too_short_to_tell": int(values.isna().sum())}
        rows.append(row)
    with whole(output) as scratch:
        pd.DataFrame(rows).convert_dtypes().to_csv(scratch, index=False)
    stamp(planned, output)
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


def notebook(
    layout: Layout, source: Path, only: list[str], draw: list[str], own_trace: str, pages: list[Path], planned: Planned
) -> str:
    """Run a paper's notebook and make its HTML; ``pages`` are the two outputs, ``draw`` the exhibits to draw anew.

    A notebook is given those parameters that it declares. Raises InputError with the traceback of the cell that failed, or when
    its kernel was killed.
    Exhibits that fail do not stop a notebook: ``show`` records them and `check` reports them. Nor do cells tagged
    ``derivation``, which work a result out by hand: one that fails is told of, and where only some exhibits are wanted, whose
    traces alone are there, they are left out.
    """
    started_s = time.perf_counter()
    import nbformat
    import papermill

    from tcpfair.exhibits.notebook_html import page as html_page
    from tcpfair.workflow import full_disk, kernel

    output, page = pages
    declared = papermill.inspect_notebook(source)
    known = {
        "source": layout.source,
        "only": only,
        "trace": own_trace,
        "keep": True if layout.source == "raw" else draw,
    }
    with whole(output) as scratch, kernel.sockets() as settings:
        try:
            papermill.execute_notebook(
                source,
                scratch,
                parameters={name: value for name, value in known.items() if name in declared},
                kernel_name="python3",
                cwd=source.parent,
                progress_bar=False,
                **settings,
                **({"skip_cells_with_tag": DERIVATION} if only else {}),
            )
        except papermill.PapermillExecutionError as error:
            if full := full_disk.reason(error.ename, error.evalue):
                raise full from None
            if not _all_in_derivations(executed := nbformat.read(scratch, as_version=4)):
                told = str(error).strip("-\n ")
                raise InputError(f"notebooks/{source.name}: {told}") from None
        except RuntimeError as error:
            if "kernel died" not in str(error).lower():
                raise
            remedy = "as the system does where memory is short; start again, with fewer --cores where it is"
            raise InputError(f"notebooks/{source.name}: the kernel that ran it was killed, {remedy}") from None
        else:
            executed = nbformat.read(scratch, as_version=4)
        forget_run(executed)
        nbformat.write(executed, scratch)
    with whole(page) as scratch:
        text = html_page(executed, source.stem)
        scratch.write_text(_leading_back(layout, source, text), encoding="utf-8")
    stamp_exhibits(layout, draw, planned)
    stamp(planned, output)
    failed = [f"{error.ename}: {error.evalue}".rstrip(": ") for _, error in _errors(executed)]
    amiss = f"; cells that derive a result failed: {len(failed)}, the first with {failed[0]}" if failed else ""
    return f"{time.perf_counter() - started_s:.1f} s{amiss}"


def _errors(executed) -> Iterator[tuple[list[str], Any]]:
    """The errors among the outputs of an executed notebook, with the tags of their cells."""
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                yield cell.metadata.get("tags", []), output


def _all_in_derivations(executed) -> bool:
    """Whether every error is one of a cell that derives a result; such a cell lets the next ones run."""
    found = [tags for tags, _ in _errors(executed)]
    return bool(found) and all(DERIVATION in tags for tags in found)


def _leading_back(layout: Layout, source: Path, page: str) -> str:
    """A paper's executed notebook with links from each exhibit to its place in the report."""
    from tcpfair.verdicts import cell_links

    if source.stem not in PAPERS:
        return page
    cells = cell_links.notebook_cells(source, load_paper(layout.paper_config(source.stem)))
    return cell_links.linked_back(page, cells)


def stamp_exhibits(layout: Layout, drawn: Iterable[str], planned: Planned) -> None:
    """Write the stamps of the exhibits that were drawn and are built."""
    for exhibit_id in drawn:
        path = record.place(layout, "exhibits", exhibit_id, ".json")
        if path.is_file() and record.read(path).status == "built":
            stamp(planned, path)


def forget_run(executed) -> None:
    """Remove what differs from run to run in an executed notebook: times, paths, the id of the injected cell, and which
    exhibits were drawn anew in this run."""
    executed.metadata.pop("papermill", None)
    for cell in executed.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
            cell.source = re.sub(r"^keep = .*?(?=^\w|\Z)", "keep = True\n", cell.source, flags=re.M | re.S).rstrip("\n")


def place(layout: Layout, papers: list[str], planned: Planned) -> str:
    """Place every printed number and claim among the settings of the shipped ensembles."""
    from tcpfair.verdicts.ensemble import tables

    tables.write_shipped(layout, papers)
    output = layout.placed / f"{ENSEMBLE_TABLES[0]}.parquet"
    stamp(planned, output)
    return output.parent.relative_to(layout.root).as_posix()


def ledger(layout: Layout, papers: list[str], only: list[str], planned: Planned) -> str:
    """Write the ledger: printed against reproduced, claims with verdicts, equations."""
    from tcpfair.verdicts import ledger as writer

    writer.write_ledger(layout, Config(source=layout.source, papers=papers, only=only))
    output = layout.ledger / f"{LEDGER_TABLES[0]}.csv"
    stamp(planned, output)
    return output.parent.relative_to(layout.root).as_posix()


def report(layout: Layout, planned: Planned) -> str:
    """Write the report: one HTML file that opens from disk."""
    from tcpfair.verdicts import report as writer

    output = writer.write_report(layout)
    stamp(planned, output)
    return output.relative_to(layout.root).as_posix()


def packet_lab(layout: Layout, output: Path, planned: Planned) -> str:
    """Compile the engine to wasm and write the page that has it: one HTML file that opens from disk."""
    from tcpfair.web import page

    write_whole(output, page.build(layout))
    stamp(planned, output)
    return f"{output.stat().st_size / 1e6:.2f} MB"


def failed_exhibits(layout: Layout, among: Iterable[str] = ()) -> list[str]:
    """``ogura.fig8, ogura.fig9: reason`` of the exhibits whose drawing failed, one line for each reason.

    ``among`` are the exhibits that were asked for; none = all that are recorded.
    """
    failed: dict[str, list[str]] = {}
    wanted = set(among)
    for found in record.read_all(layout).values():
        if found.status == "failed" and (not wanted or found.exhibit in wanted):
            failed.setdefault(found.error, []).append(found.exhibit)
    return [f"{', '.join(exhibits)}: {reason}" for reason, exhibits in failed.items()]


def check(layout: Layout, exhibits: list[str], output: Path) -> str:
    """Fail when one of the exhibits that were asked for failed; runs last, when everything that could be built is there."""
    failed = failed_exhibits(layout, exhibits)
    if failed:
        more = f"; and {len(failed) - 3} more reasons" if len(failed) > 3 else ""
        raise InputError(f"failed: {'; '.join(failed[:3])}{more}")
    write_whole(output, "every exhibit that was asked for is built\n")
    return "every exhibit that was asked for is built"
