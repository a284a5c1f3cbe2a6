"""The interface for a paper's notebook: ``show`` draws one exhibit, ``ledger`` sums up."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd
from IPython.display import HTML, display

from tcpfair.errors import InputError, check_known
from tcpfair.exhibits import kinds, packet_lab, pages  # noqa: F401  (importing the kinds registers them)
from tcpfair.exhibits.board import Board, rows
from tcpfair.exhibits.context import Table, draw
from tcpfair.files.layout import PAPERS, Layout, repository_root, short_id
from tcpfair.papers.papers import Exhibit, Experiment, PaperConfig, load_paper
from tcpfair.papers.recordings import folder_of
from tcpfair.runs import record
from tcpfair.runs.outputs import making
from tcpfair.runs.trace import Trace
from tcpfair.verdicts import printed
from tcpfair.verdicts.baseline import read_numbers
from tcpfair.verdicts.columns import joined, no_numbers, rounded
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.numbers import numbers_of


class Paper(Board):
    """The exhibits of one paper."""

    computes_numbers = False

    def __init__(
        self,
        context: Context,
        only: str | Collection[str] = (),
        keep: bool | Mapping[str, str] = False,
        recording: str = "",
    ) -> None:
        """``keep`` may map exhibits to the folders to draw them into; the others are then shown from an earlier run.

        ``recording`` is the user's, for `beside`.
        """
        super().__init__(context.layout, only, keep is not False)
        self.kept = None if isinstance(keep, bool) else {short_id(name): Path(folder) for name, folder in keep.items()}
        self.context = context
        self.recording = recording

    @classmethod
    def open(
        cls, paper: str, source: str, only: str | Collection[str], trace: str, keep: bool | Mapping[str, str]
    ) -> Paper:
        """See `tcpfair.exhibits.open_paper`."""
        check_known("paper", [paper], PAPERS)
        recording, own = ("", trace) if source == "raw" else (trace, "")
        layout = Layout(repository_root(), source, folder_of(recording))
        context = Context(load_paper(layout.paper_config(paper)), layout, Path(own) if own else None)
        return cls(context, only, keep, recording)

    # --- show ----------------------------------------------------------------------------------------------------

    def show(self, name: str) -> pd.DataFrame:
        """Draw the exhibit (``fig08`` or ``ogura.fig8``) and display it; with `keep` write its files and its record.

        Returns the drawn data: the curves of a figure, or its numbers, which `cells` of `tcpfair.exhibits.numbers` puts into
        columns; without rows for an exhibit that is not requested. If an exhibit cannot be drawn, the reason is displayed and
        recorded, not raised. Raises InputError for an unknown exhibit.
        """
        exhibit = self.context.paper.exhibit(name)
        paper, short = self.context.paper.paper, short_id(exhibit.id)
        if self.only and not any(
            short_id(each) == short and each.rpartition(".")[0] in ("", paper) for each in self.only
        ):
            return no_numbers()
        title = f"{pages.heading(exhibit)}: {exhibit.title}"
        if self.kept is not None and short not in self.kept:
            return self._show_kept(exhibit, title)
        with making(self.layout, self.kept[short]) if self.kept is not None else nullcontext() as self.folder:
            return self.present(
                exhibit,
                title,
                self.context.made_by(exhibit),
                draw=lambda: draw(self.context, exhibit),
                origin=lambda: self.context.origin(exhibit),
            )

    def _show_kept(self, exhibit: Exhibit, title: str) -> pd.DataFrame:
        """Display an exhibit from the files of an earlier run; returns the drawn data."""
        files = {path.suffix: path.read_bytes() for path in record.figure_files(self.layout, exhibit)}
        self._display(exhibit, title, files, self.verdict(exhibit, self._numbers(exhibit)))
        return rows(files)

    def _numbers(self, exhibit: Exhibit) -> pd.DataFrame:
        """The numbers of an exhibit as the workflow computed them, or computed now if it did not."""
        path = record.place(self.layout, "numbers", exhibit.id, ".csv")
        return read_numbers(path) if path.is_file() else rounded(numbers_of(self.context, exhibit).table)

    def beside(self) -> pd.DataFrame:
        """Draw the recording that ``trace`` names into the paper's figure of the same kind; without one, explain how.

        Returns the drawn numbers. Raises InputError when the recording resembles another paper's experiment, or is refused.
        """
        from tcpfair.exhibits.recordings.beside import figure_like
        from tcpfair.exhibits.recordings.board import open_raw
        from tcpfair.exhibits.recordings.recording import NotInTraceError

        if not self.recording:
            print('set trace = "data/raw/NAME" to show your own recording here, after ./reproduce import')
            return no_numbers()
        raw = open_raw(self.recording)
        for recording in raw.recordings:
            with suppress(NotInTraceError):  # the board shows the reason
                if (like := figure_like(recording)).paper != self.context.paper.paper:
                    raise InputError(f"{recording.path}: is like {like.paper}'s experiment; open that paper's notebook")
        return raw.show("beside")

    def lab(self, experiment: str, replicate: int = 0, **point: Any) -> HTML:
        """The packet lab with one run of an experiment; axes of the grid that ``point`` omits have their first value.

        Raises InputError for an unknown run.
        """
        chosen = self._experiment(experiment)
        for axis, value in point.items():
            check_known(f"experiment {experiment!r}: axis", [axis], chosen.grid)
            check_known(f"experiment {experiment!r}: {axis}", [value], chosen.grid[axis].value)
        if not 0 <= replicate < chosen.runs.value:
            raise InputError(f"replicate: must be from 0 to {chosen.runs.value - 1}, got {replicate}")
        values = {axis: str(value).lower() if isinstance(value, bool) else value for axis, value in point.items()}
        asked = {"preset": f"{self.config.paper}/{experiment}", **values, "replicate": replicate}
        return packet_lab.frame(self.layout, urlencode(asked, safe="/"), linked=self.keep)

    def verdict(self, exhibit: Exhibit, numbers: pd.DataFrame) -> str:
        counted = printed.count_within(self.context.compared(numbers), exhibit.id)
        return f"{counted}." if counted.total else ""

    # --- inputs of exhibits ---------------------------------------------------------------------------------------

    def trace(self, experiment: str) -> Trace:
        """The trace of an experiment: its runs, flows, samples, link and events as tables.

        Raises InputError for an unknown experiment, and for a missing trace, with the command that simulates it.
        """
        self._experiment(experiment)
        return self.context.trace(experiment)

    def metrics(self, experiment: str) -> pd.DataFrame:
        """The metrics of an experiment: a row for each run, flow (0: all together) and metric.

        Raises InputError as `trace` does.
        """
        self._experiment(experiment)
        return self.context.metrics(experiment)

    def window_s(self, experiment: str) -> tuple[float, float]:
        """Start and end, in s, of the time in which the samples of an experiment count."""
        window_s = self._experiment(experiment).window_s
        if window_s is None:
            raise InputError(f"experiment {experiment!r}: it has no window_s, all samples count")
        start_s, stop_s = window_s.value
        return start_s, stop_s

    @property
    def config(self) -> PaperConfig:
        """The paper's configuration in config/papers/."""
        return self.context.paper

    def value(self, name: str) -> Any:
        """A value of the paper's settings or analysis, such as the capacity or a threshold, as configured.

        Raises InputError for an unknown value.
        """
        return self.context.value(name)

    def _experiment(self, name: str) -> Experiment:
        check_known("experiment", [name], self.context.paper.experiments)
        return self.context.paper.experiments[name]

    # --- ledger --------------------------------------------------------------------------------------------------

    def ledger(self) -> None:
        """Display every exhibit of the paper with its state, and the published numbers outside tolerance."""
        exhibits, records = self.context.paper.exhibits, record.read_all(self.layout, self.context.paper.paper)
        states = {e.id: records[e.id].status if e.id in records else "pending" for e in exhibits}
        built = {e.id: self._numbers(e) for e in exhibits if states[e.id] == "built"}
        compared = self.context.compared(joined([no_numbers(), *built.values()]))
        table = []
        for exhibit in exhibits:
            runs, total, within = "", "", ""
            if exhibit.id in built:
                counted = printed.count_within(compared, exhibit.id)
                runs = records[exhibit.id].n_runs or ""
                total, within = (counted.total, counted.within) if counted.total else ("", "")
            table.append((pages.heading(exhibit), exhibit.title, states[exhibit.id], runs, total, within))
        columns = ["exhibit", "title", "state", "runs", "printed numbers", "within tolerance"]
        self._display_table(pd.DataFrame(table, columns=columns))
        missed = compared[compared["within"].eq(False).fillna(False)]
        if len(missed):
            columns = ["exhibit", "key", "metric", "printed", "reproduced", "tolerance"]
            self._display_table(missed[columns], "Outside the tolerance.")

    def _display_table(self, table: pd.DataFrame, note: str = "") -> None:
        cells = table.set_index("exhibit").rename_axis(None)
        display(HTML(pages.table_html(Table(cells, note), f"source: {self.layout.source}")))
