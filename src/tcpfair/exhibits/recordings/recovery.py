"""Exhibits of recordings: windows after a loss compared with the kernel's formulas for Reno and CUBIC."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tcpfair.exhibits import style
from tcpfair.exhibits.context import Drawn, Table
from tcpfair.exhibits.recordings.recording import (
    NotInTraceError,
    Recording,
    finish_panels,
    window_panels,
)
from tcpfair.verdicts.columns import joined, single

_NOTE_SHARE = 0.06  # of the time axis, about the width of a note


def recovery_checks(recording: Recording) -> pd.DataFrame:
    """`Recoveries.checks`. Raises NotInTraceError without a recovery to compare."""
    checks = recording.recoveries.checks()
    if checks.empty:
        n, labels = len(recording.recoveries.polls), ", ".join(recording.labels.values())
        raise NotInTraceError(f"{n} windows of {labels} show no recovery with a formula")
    return checks


def recovery(recording: Recording) -> Drawn:
    """The formulas drawn over the windows; above them Reno's growth time and CUBIC's K."""
    checks, recorded = recovery_checks(recording), recording.recoveries
    curves = recorded.curves()
    figure, panels = window_panels(recording)
    for flow_id, ax in panels.items():
        rows, color = recorded.windows_of(flow_id), recording.colors[flow_id]
        ax.plot(rows["t_s"], rows["cwnd_pkts"], color=color, lw=3, alpha=0.35, label="cwnd, measured")
        for _, curve in curves[curves["flow_id"] == flow_id].groupby("epoch"):
            ax.plot(curve["t_s"], curve["cwnd_pkts"], color=style.BLACK, lw=0.9)
        ax.plot([], [], color=style.BLACK, lw=0.9, label="by the kernel's formulas")
        _note_times(ax, checks[[str(flow_id) in flows.split("+") for flows in checks["flow"]]])
    shown = curves if len(curves) else recorded.polls
    finish_panels(panels, recording, 1.35 * shown["cwnd_pkts"].max())  # the peak of slow start may stand out
    data = joined([recorded.polls.assign(kind="poll"), curves.assign(kind="formula")])
    return Drawn(figure, data=data[["kind", "flow_id", "epoch", "t_s", "cwnd_pkts"]])


def _note_times(ax: Axes, checks: pd.DataFrame) -> None:
    """Above each epoch: the measured time and, in brackets, that of the formula."""
    wide = checks["to_s"] - checks["from_s"] > _NOTE_SHARE * np.ptp(ax.get_xlim())
    for row in checks[wide & checks["quantity"].isin(["K", "growth time"])].itertuples():
        text = f"{'K ' if row.quantity == 'K' else ''}{row.measured:.2f} s\n({row.formula:.2f} s)"
        middle_s = (row.from_s + row.to_s) / 2
        look = {"ha": "center", "va": "top", "fontsize": style.LEAST_PT, "bbox": style.PAPER}
        ax.text(middle_s, 0.97, text, transform=ax.get_xaxis_transform(), **look)


def recovery_table(recording: Recording) -> Drawn:
    """Every measured number of the recovery next to its formula."""
    checks = recovery_checks(recording)
    columns = {
        "time (s)": [f"{row.from_s:.1f} to {row.to_s:.1f}" for row in checks.itertuples()],
        "W at its end (packets)": checks["w_at_loss_pkts"].map("{:.0f}".format),
        "quantity": [row.quantity + (f" ({row.unit})" if row.unit != "1" else "") for row in checks.itertuples()],
        "by formula": checks["formula"].map("{:.4g}".format),
        "measured": checks["measured"].map("{:.4g}".format),
        "error": checks["error_percent"].map("{:+.1f}%".format),
    }
    cells = pd.DataFrame(columns).set_index(pd.MultiIndex.from_frame(checks[["flow", "epoch"]]))
    numbers = [
        single("", row.quantity, row.measured, epoch=row.epoch, flow=row.flow).rows for row in checks.itertuples()
    ]
    return Drawn(Table(cells), joined(numbers), data=checks)
