"""A notebook, executed, with its exhibits."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

from tcpfair.errors import InputError
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers.papers import load_paper
from tcpfair.runs.outputs import making
from tcpfair.verdicts import cell_links
from tcpfair.workflow import full_disk, kernel

DERIVATION = "derivation"  # tag of the cells that derive a result from traces in visible code


def run(layout: Layout, source: Path, only: list[str], draw: list[Path], own_trace: str, folder: Path) -> str:
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

    declared = papermill.inspect_notebook(source)
    Thread(target=_to_html, daemon=True).start()  # while this process waits for the kernel
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
        text = _to_html()(executed, source.stem)
        if source.stem in PAPERS:
            cells = cell_links.notebook_cells(source, load_paper(layout.paper_config(source.stem)))
            text = cell_links.linked_back(text, cells)
        executed_file.with_suffix(".html").write_text(text, encoding="utf-8")
    failed = [f"{error.ename}: {error.evalue}".rstrip(": ") for _, error in _errors(executed)]
    amiss = f"; cells that derive a result failed: {len(failed)}, the first with {failed[0]}" if failed else ""
    return f"{time.perf_counter() - started_s:.1f} s{amiss}"


def _to_html() -> Callable[[Any, str], str]:
    """The function that converts a notebook; its imports take nearly a second."""
    from tcpfair.exhibits.notebook_html import page

    return page


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
