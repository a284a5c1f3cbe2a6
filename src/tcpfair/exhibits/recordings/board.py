"""The notebook of recordings.

In a notebook::

    from tcpfair.exhibits.recordings.board import open_raw

    raw = open_raw(trace="data/raw/examples/rr_wire")
    raw.show("goodput")
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from IPython import get_ipython
from IPython.display import HTML, Image, display

from tcpfair.contract.layout import Layout, repository_root
from tcpfair.contract.papers import Exhibit
from tcpfair.contract.recordings import load_raw
from tcpfair.errors import InputError
from tcpfair.exhibits import pages, style
from tcpfair.exhibits.context import Drawn, Table
from tcpfair.exhibits.numbers import rounded
from tcpfair.exhibits.recordings.drawings import about, cwnd, goodput, jfi, nru
from tcpfair.exhibits.recordings.recording import (
    NotInTraceError,
    Recording,
    absolute,
)
from tcpfair.exhibits.recordings.recovery import recovery, recovery_table

SHOWN_WIDTH_PX = 96  # per inch of the figure
_SUFFIXES = (".csv", ".html", ".svg", ".png")


class Kind(NamedTuple):
    """One exhibit that every recording has."""

    title: str
    caption: str
    draw: Callable[[Recording], Drawn]


_RECOVERY_CAPTION = (
    "Above each epoch: growth time of the flows' sum for Reno, K for CUBIC; measured, and in brackets by formula. "
    "Reno's curve needs the link's rate and a link that only Reno flows of one RTT share."
)
EXHIBITS = {
    "trace": Kind("what was recorded", "", about),
    "goodput": Kind("goodput", "Bytes in order at the receiver, or as near to that as the recording has.", goodput),
    "cwnd": Kind("congestion windows", "The window at a loss is worked out from ssthresh for Reno and CUBIC.", cwnd),
    "jfi": Kind("Jain's fairness index", "J of each interval, its mean, and J of the mean goodputs.", jfi),
    "nru": Kind("normalised resource usage", "Goodput in dB against what a flow has in its self-pair.", nru),
    "recovery": Kind("recovery and the formulas", _RECOVERY_CAPTION, recovery),
    "recovery_table": Kind("recovery in numbers", "By formula: Linux's rules and constants.", recovery_table),
}


class Raw:
    """Recordings and their exhibits."""

    def __init__(self, layout: Layout, recordings: Sequence[Recording], only: Sequence[str] = ()) -> None:
        self.layout = layout
        self.recordings = recordings
        self.only = frozenset(only)

    def show(self, name: str) -> None:
        """Draw one exhibit of every recording, write its files and its record, and display it.

        What cannot be drawn is recorded with the reason: as failed, or as left out when the recording is sound but does
        not have what the exhibit shows. Nothing is raised but InputError when there is no such exhibit.
        """
        if name not in EXHIBITS:
            raise InputError(f"exhibit {name!r}: unknown; known are {', '.join(EXHIBITS)}")
        for recording in self.recordings:
            if not self.only or self.only & {name, f"{recording.name}.{name}"}:
                self._show(recording, name)

    def _show(self, recording: Recording, name: str) -> None:
        kind, exhibit_id = EXHIBITS[name], f"{recording.name}.{name}"
        title = f"{recording.label}, {kind.title}"
        exhibit = Exhibit(id=exhibit_id, kind="supplement", title=title, caption=kind.caption)
        try:
            with style.applied():
                drawn = kind.draw(recording)
                corner = f"{pages.corner_text(self.layout.source, drawn)}, {recording.label}"
                files = pages.rendered(exhibit, drawn, corner)
        except NotInTraceError as reason:
            self._record_absence(recording, name, "left out", str(reason))
            _say(title, f"Left out: {reason}.")
        except Exception as error:  # whatever it is, the other exhibits are drawn
            if not isinstance(error, InputError):
                traceback.print_exc(file=sys.stderr)
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            self._record_absence(recording, name, "failed", reason)
            _say(title, f"Failed: {reason}")
        else:
            self._record(recording, name, drawn, files)
            _display(exhibit, drawn, files, corner)

    def _figure_file(self, recording: Recording, name: str, suffix: str) -> Path:
        return self.layout.figures(recording.name) / f"{name}{suffix}"

    def _result_file(self, kind: str, recording: Recording, name: str) -> Path:
        return self.layout.results / kind / recording.name / name

    def _record(self, recording: Recording, name: str, drawn: Drawn, files: dict[str, bytes]) -> None:
        """Write the exhibit's files, its numbers and, last, the record that it is built."""
        paths = {suffix: self._figure_file(recording, name, suffix) for suffix in files}
        for suffix, content in files.items():
            pages.write_whole(paths[suffix], content)
        numbers = rounded(drawn.numbers).assign(exhibit=f"{recording.name}.{name}", n_runs=1, source=self.layout.source)
        pages.write_whole(self._result_file("numbers", recording, f"{name}.csv"), pages.csv_bytes(numbers))
        built = [path.relative_to(self.layout.root).as_posix() for path in paths.values()]
        self._write_record(recording, name, status="built", files=built, n_runs=drawn.n_runs, error="")

    def _record_absence(self, recording: Recording, name: str, status: str, reason: str) -> None:
        """Record the reason, and remove what an earlier run drew: it is not what there is to see now."""
        for suffix in _SUFFIXES:
            self._figure_file(recording, name, suffix).unlink(missing_ok=True)
        self._result_file("numbers", recording, f"{name}.csv").unlink(missing_ok=True)
        self._write_record(recording, name, status=status, files=[], n_runs=0, error=reason)

    def _write_record(self, recording: Recording, name: str, **record: str | int | list[str]) -> None:
        content = json.dumps({"exhibit": f"{recording.name}.{name}", **record}, indent=1, sort_keys=True) + "\n"
        pages.write_whole(self._result_file("exhibits", recording, f"{name}.json"), content.encode())


def _display(exhibit: Exhibit, drawn: Drawn, files: dict[str, bytes], corner: str) -> None:
    """The exhibit and its caption, in a notebook; a line on a terminal."""
    if get_ipython() is None:
        print(f"{exhibit.title}  {', '.join(files)}")
        return
    if isinstance(drawn.output, Table):
        display(HTML(pages.table_html(drawn.output, corner)))
    else:
        display(Image(files[".png"], width=round(SHOWN_WIDTH_PX * drawn.output.get_figwidth())))
    display(HTML(pages.caption_html(exhibit.title, exhibit.caption)))


def _say(title: str, text: str) -> None:
    """One line of plain text, in a notebook or on a terminal."""
    if get_ipython() is None:
        print(f"{title}  {text}")
    else:
        display(HTML(pages.caption_html(title, text)))


def open_raw(trace: str = "", source: str = "raw", only: str | Sequence[str] = "", run: int = 0) -> Raw:
    """The exhibits of a recording, or of the shipped examples when ``trace`` is empty.

    ``trace`` is a file or folder that `tcpfair.sources.readers.read_any` takes, or the folder of a trace of this project, of
    which ``run`` is shown; a relative path counts from the repository. ``only`` names the exhibits to draw, ``"jfi"``
    or ``"rr_wire.jfi"`` or a list. Raises InputError when config/raw.yaml is wrong or ``source`` is another than raw;
    what is wrong with a recording, `Raw.show` says.
    """
    if source != "raw":
        raise InputError(f'source {source!r}: recordings are shown with source = "raw"')
    layout = Layout(repository_root(), source)
    settings = load_raw(layout.config / "raw.yaml")
    paths = [Path(trace)] if trace else settings.examples
    recordings = [Recording(absolute(path), settings, run) for path in paths]
    return Raw(layout, recordings, [only] if isinstance(only, str) and only else list(only))
