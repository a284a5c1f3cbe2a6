"""The notebook of recordings.

In a notebook::

    from tcpfair.exhibits.recordings.board import open_raw

    raw = open_raw(trace="data/raw/examples/rr_wire")
    raw.show("goodput")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from tcpfair.errors import InputError, check_known
from tcpfair.exhibits.board import Board
from tcpfair.exhibits.context import Drawn
from tcpfair.exhibits.recordings.beside import beside
from tcpfair.exhibits.recordings.drawings import about, cwnd, goodput, jfi, nru, rtt, steadiness
from tcpfair.exhibits.recordings.recording import NotInTraceError, Recording, absolute
from tcpfair.exhibits.recordings.recovery import recovery, recovery_table
from tcpfair.files.layout import Layout, repository_root
from tcpfair.papers.papers import Exhibit
from tcpfair.papers.recordings import folder_of, load_raw, recordings_in
from tcpfair.runs.origin import Origin
from tcpfair.verdicts.columns import no_numbers


class Kind(NamedTuple):
    """One kind of exhibit of a recording."""

    title: str
    caption: str
    draw: Callable[[Recording], Drawn]
    form: Literal["table", "figure"] = "figure"
    groups: tuple[str, ...] = ()  # of measures, some of which a coarse recording lacks

    def of(self, recording: Recording, name: str) -> Exhibit:
        """The exhibit of one recording."""
        title, caption = f"{recording.label}, {self.title}", self.caption
        with suppress(InputError):  # drawing it reports what is wrong
            if self.groups or name == "goodput":
                title += f", {recording.recorded}"
            told = recording.left_out(*self.groups) if self.groups else ""
            caption = f"{caption} {told[:1].upper()}{told[1:]}." if told else caption
        exhibit_id = f"{recording.name}.{name}"
        return Exhibit(id=exhibit_id, kind="supplement", form=self.form, title=title, caption=caption)


_RECOVERY_CAPTION = (
    "Above each epoch: growth time of the flows' sum for Reno, K for CUBIC; measured, and in brackets by formula. "
    "Reno's curve needs the link's rate and a link that only Reno flows of one RTT share."
)
_STEADINESS_CAPTION = (
    "S_n: coefficient of variation of U_n(t) (bhatti2008 eq. 9), S_N its mean (eq. 10); T_U: time from the last flow's start "
    "until the NRU reaches -0.46 dB (eq. 11, 12), of each flow and of all together."
)
_BESIDE_CAPTION = (
    "Lines: the paper's experiment in the engine, mean and range of its runs. Star: this recording. Link, buffer, kernel and "
    "duration are not the paper's, so levels may differ; what can be compared is its place among the protocols."
)
EXHIBITS = {
    "trace": Kind("what was recorded", "", about, "table"),
    "goodput": Kind("goodput", "Bytes in order at the receiver, or as near to that as the recording has.", goodput),
    "cwnd": Kind("congestion windows", "The window at a loss is worked out from ssthresh for Reno and CUBIC.", cwnd),
    "rtt": Kind(
        "round-trip times", "Smoothed by the sender; dashed: the RTT without queues, as recorded or stated.", rtt
    ),
    "jfi": Kind(
        "Jain's fairness index", "J of each interval, its mean, and J of the mean goodputs.", jfi, groups=("jfi",)
    ),
    "nru": Kind(
        "normalised resource usage", "Goodput in dB against what a flow has in its self-pair.", nru, groups=("nru",)
    ),
    "steadiness": Kind(
        "stability and convergence", _STEADINESS_CAPTION, steadiness, "table", ("stability", "convergence")
    ),
    "recovery": Kind("recovery and the formulas", _RECOVERY_CAPTION, recovery),
    "recovery_table": Kind("recovery in numbers", "By formula: Linux's rules and constants.", recovery_table, "table"),
    "beside": Kind("beside the paper", _BESIDE_CAPTION, beside),
}


class Raw(Board):
    """Recordings and their exhibits."""

    absence = NotInTraceError

    def __init__(
        self, layout: Layout, recordings: Sequence[Recording], only: str | Sequence[str], keep: bool | str
    ) -> None:
        super().__init__(layout, only, keep)
        self.recordings = recordings

    def show(self, name: str) -> pd.DataFrame:
        """Draw one exhibit of every recording and display it; with `keep` write its files and its record.

        Returns the drawn data, with the recording's name as first level of the index. If an exhibit cannot be drawn, the
        reason is shown and recorded: as failed, or as ``left out`` if a valid recording lacks the data. Raises only InputError,
        for an unknown exhibit.
        """
        check_known("exhibit", [name], EXHIBITS)
        drawn = {}
        for recording in self.recordings:
            exhibit = EXHIBITS[name].of(recording, name)
            if not self.only or self.only & {name, exhibit.id}:
                draw = partial(_draw, recording, name, exhibit.id)
                where = (exhibit, exhibit.title, self.layout.source)
                origin = partial(Origin, exhibit.id, self.layout.source)
                drawn[recording.name] = self.present(*where, draw, origin, of=f", {recording.label}")
        return pd.concat(drawn, names=["recording"]) if drawn else no_numbers()


def _draw(recording: Recording, name: str, exhibit_id: str) -> Drawn:
    """The exhibit of a recording; its numbers are those of one run."""
    drawn = EXHIBITS[name].draw(recording)
    data = drawn.numbers if drawn.data is None else drawn.data
    return replace(drawn, data=data, numbers=drawn.numbers.assign(exhibit=exhibit_id, n_runs=1), n_runs=1)


def open_raw(
    trace: str = "", source: str = "raw", only: str | Sequence[str] = "", run: int = 0, keep: bool | str = False
) -> Raw:
    """The exhibits of a recording, or of the shipped examples when ``trace`` is empty.

    ``trace`` is the folder of a trace, of which ``run`` is shown, or a file or folder of another tool, which is read once into a
    trace below results/recordings. Several, separated by commas, are shown one below the other. Relative paths start at the
    repository. ``only`` names the exhibits to draw, ``"jfi"`` or ``"rr_wire.jfi"`` or a list. With ``keep`` every exhibit writes
    its files below figures/raw and its record. Raises InputError for an invalid config/raw.yaml and a ``source`` other than raw;
    `Raw.show` reports errors of a recording.
    """
    if source != "raw":
        raise InputError(f'source {source!r}: recordings are shown with source = "raw"')
    layout = Layout(repository_root(), source, folder_of(trace))
    settings = load_raw(layout.config / "raw.yaml")
    paths = [Path(each) for each in recordings_in(trace)] or settings.examples
    recordings = [Recording(absolute(path), settings, run) for path in paths]
    return Raw(layout, recordings, only, keep)
