"""The steps of the workflow as functions, which Snakemake's rules call as ``python -m tcpfair <step>``.

Every step writes its output atomically (`tcpfair.runs.outputs`). Large modules are imported where they are used, so a step
loads only what it needs.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers.papers import Config, load_paper
from tcpfair.runs import store
from tcpfair.runs.outputs import inside, making

DERIVATION = "derivation"  # tag of the cells that derive a result from traces in visible code


def measure(layout: Layout, paper: str, folders: list[Path]) -> str:
    """Compute the metrics of some experiments of a paper, in one process; each has a folder, named for the experiment."""
    import pandas as pd

    from tcpfair import measures
    from tcpfair.files.rounding import rounded_table
    from tcpfair.runs import trace

    config = load_paper(layout.paper_config(paper))
    held = store.Held(layout, config)
    wanted = {folder.name.rpartition("-")[0]: folder for folder in folders}
    # experiments whose weights come from another one are last
    for name in sorted(wanted, key=lambda name: config.experiments[name].weights is not None):
        weights = config.experiments[name].weights
        of_self = pd.read_parquet(held.metrics(weights.experiment)) if weights else None
        metrics = measures.measure(trace.read(held.trace(name)), config, name, of_self)
        with making(layout, wanted[name]) as scratch:
            path = inside(layout, scratch, layout.metrics(paper, name))
            path.parent.mkdir(parents=True)
            rounded_table(metrics).to_parquet(path, index=False)
    return f"{len(wanted)} experiments"


def numbers(layout: Layout, paper: str, exhibits: list[str], folder: Path) -> str:
    """Compute the numbers of some exhibits of a paper."""
    from tcpfair.verdicts import numbers as writer

    with making(layout, folder) as scratch:
        written = writer.write(layout, load_paper(layout.paper_config(paper)), exhibits, scratch)
    return f"{len(written)} of {len(exhibits)} exhibits"


def judge(layout: Layout, paper: str, papers: list[str], only: list[str], folder: Path) -> str:
    """Judge the claims of one of ``papers`` by its runs and by the settings of its ensemble."""
    from tcpfair.verdicts.ledger import write_judged

    with making(layout, folder) as scratch:
        config = Config(source=layout.source, papers=papers, only=only)
        found = write_judged(layout, config, paper, inside(layout, scratch, layout.judged / paper))
    return f"{len(found)} claims"


def notebook(layout: Layout, source: Path, only: list[str], draw: list[Path], own_trace: str, folder: Path) -> str:
    """Run a notebook and write its HTML; ``draw`` are the folders of the exhibits to draw.

    A notebook gets the parameters that it declares. Raises InputError with the traceback of the cell that failed, or when its
    kernel was killed.
    Failed exhibits do not stop a notebook: ``show`` records them. Nor do cells tagged ``derivation``: a failed one is reported.
    With ``only``, these cells are skipped, because some of their traces may be missing.
    """
    started_s = time.perf_counter()
    # jsonschema would load this grammar for more than a second, for a format that no notebook uses
    sys.modules.setdefault("rfc3987_syntax", None)
    import nbformat
    import papermill

    from tcpfair.exhibits.notebook_html import page as html_page
    from tcpfair.workflow import full_disk, kernel

    declared = papermill.inspect_notebook(source)
    with making(layout, folder) as scratch, kernel.sockets() as settings:
        pages = scratch / "notebooks"
        pages.mkdir()
        executed_file = pages / source.name
        known = {
            "source": layout.source,
            "only": only,
            "trace": own_trace,
            "keep": str(scratch) if layout.source == "raw" else {_exhibit(path): str(path) for path in draw},
        }
        try:
            papermill.execute_notebook(
                source,
                executed_file,
                parameters={name: value for name, value in known.items() if name in declared},
                kernel_name="python3",
                cwd=source.parent,
                progress_bar=False,
                request_save_on_cell_execute=False,  # papermill writes the whole notebook twice per cell otherwise
                **settings,
                **({"skip_cells_with_tag": DERIVATION} if only else {}),
            )
        except papermill.PapermillExecutionError as error:
            if full := full_disk.reason(error.ename, error.evalue):
                raise full from None
            if not _all_in_derivations(executed := nbformat.read(executed_file, as_version=4)):
                text = str(error).strip("-\n ")
                raise InputError(f"notebooks/{source.name}: {text}") from None
        except RuntimeError as error:
            if "kernel died" not in str(error).lower():
                raise
            remedy = "as the system does when memory is short; run it again, in that case with fewer --cores"
            raise InputError(f"notebooks/{source.name}: its kernel was killed, {remedy}") from None
        else:
            executed = nbformat.read(executed_file, as_version=4)
        forget_run(executed)
        nbformat.write(executed, executed_file)
        text = html_page(executed, source.stem)
        executed_file.with_suffix(".html").write_text(_leading_back(layout, source, text), encoding="utf-8")
    failed = [f"{error.ename}: {error.evalue}".rstrip(": ") for _, error in _errors(executed)]
    amiss = f"; cells that derive a result failed: {len(failed)}, the first with {failed[0]}" if failed else ""
    return f"{time.perf_counter() - started_s:.1f} s{amiss}"


def _exhibit(folder: Path) -> str:
    """``.../exhibits/ogura/fig08-3f2a91`` -> ``ogura.fig08``."""
    return f"{folder.parent.name}.{folder.name.rpartition('-')[0]}"


def _errors(executed) -> Iterator[tuple[list[str], Any]]:
    """The errors among the outputs of an executed notebook, with the tags of their cells."""
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                yield cell.metadata.get("tags", []), output


def _all_in_derivations(executed) -> bool:
    """Whether every error is in a cell that derives a result; such a cell lets the next ones run."""
    found = [tags for tags, _ in _errors(executed)]
    return bool(found) and all(DERIVATION in tags for tags in found)


def _leading_back(layout: Layout, source: Path, page: str) -> str:
    """A paper's executed notebook with links from each exhibit to its place in the report."""
    from tcpfair.verdicts import cell_links

    if source.stem not in PAPERS:
        return page
    cells = cell_links.notebook_cells(source, load_paper(layout.paper_config(source.stem)))
    return cell_links.linked_back(page, cells)


def forget_run(executed) -> None:
    """Remove what differs between runs of a notebook: times, paths, the id of the injected cell, and the list of exhibits
    that this run has drawn."""
    executed.metadata.pop("papermill", None)
    for cell in executed.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
            cell.source = re.sub(r"^keep = .*?(?=^\w|\Z)", "keep = True\n", cell.source, flags=re.M | re.S).rstrip("\n")


def place(layout: Layout, folders: list[Path]) -> str:
    """Place every published number of some papers among the settings of their ensembles; each paper has a folder."""
    from tcpfair.verdicts.ensemble import tables

    for folder in folders:
        paper = folder.name.rpartition("-")[0]
        with making(layout, folder) as scratch:
            tables.write_shipped(layout, paper, inside(layout, scratch, layout.placed / paper))
    return f"{len(folders)} papers"


def ledger(layout: Layout, papers: list[str], only: list[str], folder: Path) -> str:
    """Write the ledger: published and reproduced numbers, claims with their verdicts, equations."""
    from tcpfair.verdicts import ledger as writer

    with making(layout, folder) as scratch:
        config = Config(source=layout.source, papers=papers, only=only)
        writer.write_ledger(layout, config, inside(layout, scratch, layout.ledger))
    return layout.ledger.relative_to(layout.root).as_posix()


def report(layout: Layout, papers: list[str], only: list[str], linked: list[Path], folder: Path) -> str:
    """Write the state of the exhibits and the report: one HTML file that opens from disk, with links to some other pages."""
    from tcpfair.verdicts import ledger
    from tcpfair.verdicts import report as writer

    with making(layout, folder) as scratch:
        config = Config(source=layout.source, papers=papers, only=only)
        ledger.write_exhibits(layout, config, inside(layout, scratch, layout.ledger))
        writer.write_report(layout, scratch, linked)
    return (layout.results / "report.html").relative_to(layout.root).as_posix()


def packet_lab(layout: Layout, folder: Path) -> str:
    """Compile the engine to wasm and write the packet lab: one HTML file that opens from disk."""
    from tcpfair.web import page

    with making(layout, folder) as scratch:
        inside(layout, scratch, layout.lab).write_text(page.build(layout), encoding="utf-8")
    return f"{layout.lab.stat().st_size / 1e6:.2f} MB"
