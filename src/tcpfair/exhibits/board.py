"""What a paper's notebook calls: ``show`` draws one exhibit and records it, ``ledger`` sums up."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from IPython import get_ipython
from IPython.display import HTML, Image, display

from tcpfair.contract.layout import PAPERS, Layout, repository_root, short_id
from tcpfair.contract.papers import Exhibit, load_paper
from tcpfair.errors import InputError
from tcpfair.exhibits import pages, style
from tcpfair.exhibits.context import Context, Drawn, Table, draw
from tcpfair.exhibits.kinds import (
    background,
    closed_forms,
    common_losses,
    cubic_curves,
    nru,
    panels,
    perturbations,
    sweeps,
    tables,
    timelines,
    topology,
    windows,
)
from tcpfair.exhibits.numbers import rounded

# their kinds are registered
DRAWING_MODULES = (
    *(background, closed_forms, common_losses, cubic_curves, nru, panels),
    *(perturbations, sweeps, tables, timelines, topology, windows),
)
SHOWN_WIDTH_PX = 96  # per inch of the figure


class Paper:
    """The exhibits of one paper."""

    def __init__(self, context: Context, only: Sequence[str] = ()) -> None:
        self.context = context
        of_this_paper = (name for name in only if "." not in name or name.startswith(f"{context.paper.paper}."))
        self.only = {short_id(name) for name in of_this_paper}
        self.draws_all = not only

    @classmethod
    def open(cls, paper: str, source: str, only: str | Sequence[str], trace: str) -> Paper:
        """See `tcpfair.exhibits.open_paper`."""
        if paper not in PAPERS:
            raise InputError(f"paper {paper!r}: unknown; known are {', '.join(PAPERS)}")
        if trace and source != "raw":
            raise InputError(f'trace {trace!r}: your own trace needs source = "raw" (got {source!r})')
        layout = Layout(repository_root(), source)
        context = Context(load_paper(layout.paper_config(paper)), layout, Path(trace) if trace else None)
        return cls(context, [only] if isinstance(only, str) and only else list(only))

    # --- show ----------------------------------------------------------------------------------------------------

    def show(self, name: str) -> None:
        """Draw the exhibit (``fig08`` or ``ogura.fig8``), write its files and its record, and display it.

        An exhibit that cannot be drawn is recorded as failed with the reason, which is displayed; nothing is raised.
        Raises InputError when there is no such exhibit.
        """
        exhibit = self._find(name)
        if not self.draws_all and short_id(exhibit.id) not in self.only:
            return
        if exhibit.draw is None:
            _say(_title(exhibit), "Pending: its experiment is not built yet.")
            return
        try:
            with style.applied():
                drawn = draw(self.context, exhibit)
                corner = pages.corner_text(self.context.layout.source, drawn)
                files = pages.rendered(exhibit, drawn, corner)
            verdict = self._verdict(exhibit, drawn.numbers)
        except Exception as error:  # whatever it is, the other exhibits are drawn
            if not isinstance(error, InputError):
                traceback.print_exc(file=sys.stderr)
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            reason = reason.replace(f"{self.context.layout.root}/", "")
            self._record_failure(exhibit, reason)
            _say(_title(exhibit), f"Failed: {reason}")
            return
        self._record(exhibit, drawn, files)
        self._display(exhibit, drawn, files, corner, verdict)

    def _find(self, name: str) -> Exhibit:
        for exhibit in self.context.paper.exhibits:
            if short_id(exhibit.id) == short_id(name):
                return exhibit
        known = ", ".join(short_id(exhibit.id) for exhibit in self.context.paper.exhibits)
        raise InputError(f"exhibit {name!r}: not in config/papers/{self.context.paper.paper}.yaml; known are {known}")

    def _place(self, kind: str, exhibit: Exhibit, suffix: str) -> Path:
        paper = self.context.paper.paper
        return self.context.layout.results / kind / paper / f"{short_id(exhibit.id)}{suffix}"

    def _figure_file(self, exhibit: Exhibit, suffix: str) -> Path:
        return self.context.layout.figures(self.context.paper.paper) / f"{short_id(exhibit.id)}{suffix}"

    def _record(self, exhibit: Exhibit, drawn: Drawn, files: dict[str, bytes]) -> None:
        """Write the exhibit's files, its numbers and, last, the record that it is built."""
        paths = {suffix: self._figure_file(exhibit, suffix) for suffix in files}
        for suffix, content in files.items():
            pages.write_whole(paths[suffix], content)
        numbers = rounded(drawn.numbers).assign(source=self.context.layout.source)
        pages.write_whole(self._place("numbers", exhibit, ".csv"), pages.csv_bytes(numbers))
        names = [path.relative_to(self.context.layout.root).as_posix() for path in paths.values()]
        self._write_record(exhibit, "built", names, drawn.n_runs, "")

    def _record_failure(self, exhibit: Exhibit, reason: str) -> None:
        """Record the reason, and remove what an earlier run drew: it is not what there is to see now."""
        for suffix in (".csv", ".html", ".svg", ".png"):
            self._figure_file(exhibit, suffix).unlink(missing_ok=True)
        self._place("numbers", exhibit, ".csv").unlink(missing_ok=True)
        self._write_record(exhibit, "failed", [], 0, reason)

    def _write_record(self, exhibit: Exhibit, status: str, files: list[str], n_runs: int, error: str) -> None:
        record = {"exhibit": exhibit.id, "status": status, "files": files, "n_runs": n_runs, "error": error}
        content = json.dumps(record, indent=1, sort_keys=True) + "\n"
        pages.write_whole(self._place("exhibits", exhibit, ".json"), content.encode())

    def _display(self, exhibit: Exhibit, drawn: Drawn, files: dict[str, bytes], corner: str, verdict: str) -> None:
        """The exhibit, its caption and how its numbers compare with print."""
        if get_ipython() is None:
            print("  ".join(filter(None, [exhibit.id, str(self._figure_file(exhibit, list(files)[-1])), verdict])))
            return
        if isinstance(drawn.output, Table):
            display(HTML(pages.table_html(drawn.output, corner)))
        else:
            display(Image(files[".png"], width=round(SHOWN_WIDTH_PX * drawn.output.get_figwidth())))
        display(HTML(pages.caption_html(_title(exhibit), f"{exhibit.caption} {verdict}")))

    def _verdict(self, exhibit: Exhibit, numbers: pd.DataFrame) -> str:
        compared = self.context.against_print(exhibit.id, numbers)
        if compared.empty:
            return ""
        return f"Printed numbers within their tolerance: {compared['within'].sum()} of {len(compared)}."

    # --- ledger --------------------------------------------------------------------------------------------------

    def ledger(self) -> None:
        """Display every exhibit of the paper with its state, and the printed numbers that are not met."""
        rows, compared = [], []
        for exhibit in self.context.paper.exhibits:
            record = self._read_record(exhibit)
            numbers = self._read_numbers(exhibit) if record.get("status") == "built" else None
            found = self.context.against_print(exhibit.id, numbers) if numbers is not None else None
            rows.append(
                {
                    "exhibit": pages.heading(exhibit),
                    "title": exhibit.title,
                    "state": record.get("status", "pending"),
                    "runs": record.get("n_runs") or "",
                    "printed numbers": "" if found is None or found.empty else len(found),
                    "within tolerance": "" if found is None or found.empty else int(found["within"].sum()),
                }
            )
            compared += [found] if found is not None else []
        summary = pd.DataFrame(rows).set_index("exhibit").rename_axis(None)
        corner = f"source: {self.context.layout.source}"
        display(HTML(pages.table_html(Table(summary), corner)))
        outside = pd.concat(compared).drop_duplicates(["exhibit", "key", "metric"]) if compared else pd.DataFrame()
        if len(outside):
            outside = outside[~outside["within"].fillna(True).astype(bool)]
            columns = ["exhibit", "key", "metric", "printed", "reproduced", "tolerance"]
            table = outside[columns].set_index("exhibit").rename_axis(None)
            display(HTML(pages.table_html(Table(table, "Outside the tolerance."), corner)))

    def _read_record(self, exhibit: Exhibit) -> dict:
        path = self._place("exhibits", exhibit, ".json")
        return json.loads(path.read_text()) if path.is_file() else {}

    def _read_numbers(self, exhibit: Exhibit) -> pd.DataFrame | None:
        path = self._place("numbers", exhibit, ".csv")
        text = {"exhibit": str, "key": str, "metric": str, "value": object, "source": str}
        return pd.read_csv(path, dtype=text) if path.is_file() else None


def _title(exhibit: Exhibit) -> str:
    return f"{pages.heading(exhibit)}: {exhibit.title}"


def _say(title: str, text: str) -> None:
    """One line of plain text, in a notebook or on a terminal."""
    if get_ipython() is None:
        print(f"{title}  {text}")
    else:
        display(HTML(pages.caption_html(title, text)))
