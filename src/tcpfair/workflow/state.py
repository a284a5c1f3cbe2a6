"""How far a run is: a line of state on a terminal, a line now and then elsewhere; colours where the terminal has them."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

from tcpfair.files import costs

if TYPE_CHECKING:
    from tcpfair.workflow.plan import Plan

_EVERY_S = 30.0  # between lines where there is no terminal
PLANNED_PKTS_PER_S = 30e6  # of one core, while nothing has been measured on this machine; most experiments: 25 to 50
_CODES = {"red": "31", "green": "32", "bold": "1"}


def paint(text: str, colour: str) -> str:
    """``text`` in a colour where standard output is a terminal that has it (and NO_COLOR is not set)."""
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return text if plain else f"\033[{_CODES[colour]}m{text}\033[0m"


def duration_text(seconds: float) -> str:
    """``40 s``, ``6 min``, ``1.5 h``."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class State:
    """What is running, how far each simulation is, and the time left from what steps have cost before."""

    def __init__(self, plan: Plan | None = None, stream=None) -> None:
        self.stream = stream or sys.stdout
        self.is_live = self.stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.parts: dict[str, tuple[int, int]] = {}
        self.steps = ""
        lacking = plan.lacking if plan and plan.papers else {}
        self.pkts = {"/".join(pair): sum(run.pkts for run in runs) for pair, runs in lacking.items()}
        self.n_parts = {name: max(len(plan.jobs[name]), 1) for name in self.pkts}
        self.pkts_per_s = costs.expected_pkts_per_s(costs.read(plan.layout) if plan else [], PLANNED_PKTS_PER_S)
        self.cores = os.cpu_count() or 1
        self.last_s = time.monotonic()

    def takes(self, line: str) -> bool:
        """Whether a line is about progress, of a job or of the steps, and goes into the state.

        One that jobs wrote into each other's is left out.
        """
        kind, *words = line.split()
        match kind, words:
            case "steps", [done, of]:
                self.steps = f"step {done} of {of}"
            case "progress", [item, part, done, of] if done.isdigit() and of.isdigit():
                self.parts[f"{item} {part}"] = (int(done), int(of))
            case "progress", _:
                return True
            case _:
                return False
        self._show()
        return True

    def print(self, line: str) -> None:
        """A line that stays."""
        self._clear()
        print(line, file=self.stream, flush=True)

    def close(self) -> None:
        self._clear()

    def text(self) -> str:
        """``step 3 of 65; ogura/loss_sweep 40 of 340 runs; about 2 min left``."""
        running: dict[str, list[int]] = {}
        left = dict(self.pkts)
        for name, (done, of) in self.parts.items():
            item = name.split()[0]
            left[item] = left.get(item, 0.0) - self.pkts.get(item, 0.0) / self.n_parts.get(item, 1) * (
                done / of if of else 1
            )
            if done < of:
                counted = running.setdefault(item, [0, 0])
                counted[0] += done
                counted[1] += of
        shown = [f"{item} {done} of {of} runs" for item, (done, of) in running.items()]
        left_s = sum(max(pkts, 0.0) for pkts in left.values()) / self.pkts_per_s / self.cores
        time_left = [f"about {duration_text(left_s)} of simulation left"] if left_s >= 1 else []
        return "; ".join([*([self.steps] if self.steps else []), *shown, *time_left])

    def _show(self) -> None:
        if self.is_live:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{self.text()[:width]}", end="", file=self.stream, flush=True)
        elif time.monotonic() - self.last_s >= _EVERY_S and (text := self.text()):
            self.last_s = time.monotonic()
            print(text, file=self.stream, flush=True)

    def _clear(self) -> None:
        if self.is_live:
            print("\r\033[K", end="", file=self.stream, flush=True)
