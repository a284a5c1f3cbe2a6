"""Progress of a run: a line of state on a terminal, otherwise an occasional line; colours if the terminal has them."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tcpfair.files import costs

_EVERY_S = 30.0  # between lines without a terminal
PROGRESS = "progress"  # first word of the lines of jobs that `State` takes
_PROGRESS_EVERY_S = 1.0
_CODES = {"red": "31", "green": "32", "bold": "1"}


def paint(text: str, colour: str) -> str:
    """``text`` in a colour if standard output is a terminal with colours and NO_COLOR is not set."""
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return text if plain else f"\033[{_CODES[colour]}m{text}\033[0m"


def teller(item: str, part: str) -> Callable[[int, int], None]:
    """A function that prints the progress of a part, at most once a second, as lines that `State` takes."""
    last_s = 0.0

    def tell(done: int, of: int) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= _PROGRESS_EVERY_S or done == of:
            last_s = time.monotonic()
            print(f"{PROGRESS} {item} {part} {done} {of}\n", end="", flush=True)  # in one write: other steps print too

    return tell


class Group(NamedTuple):
    """Simulations that are counted together: seconds of one core, number of jobs, number of runs."""

    expected_s: float = 0.0
    jobs: int = 1
    runs: int = 0


class State:
    """The progress of the steps and of the ``groups`` of simulations, and the time that is left."""

    def __init__(self, groups: Mapping[str, Group] | None = None, cores: int = 1, stream=None) -> None:
        self.stream = stream or sys.stdout
        self.is_live = self.stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.parts: dict[str, tuple[int, int]] = {}
        self.steps = ""
        self.groups, self.cores = groups or {}, cores
        self.last_s = time.monotonic()

    def takes(self, line: str) -> bool:
        """Whether a line reports progress of a job or of the steps, which updates the state.

        A line in which the output of two jobs is mixed is ignored.
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
        """Print a permanent line."""
        self._clear()
        print(line, file=self.stream, flush=True)

    def close(self) -> None:
        self._clear()

    def text(self) -> str:
        """``step 3 of 65; ogura/loss_sweep 40 of 340 runs; about 2 min left``."""
        left_s = {name: group.expected_s for name, group in self.groups.items()}
        counted: dict[str, list[int]] = {}
        for name, (done, of) in self.parts.items():
            item = name.split()[0]
            group = self.groups.get(item, Group())
            left_s[item] = left_s.get(item, 0.0) - (done / of if of else 1) / group.jobs * group.expected_s
            sums = counted.setdefault(item, [0, 0])
            sums[0] += done
            sums[1] += of
        totals = {item: (done, max(of, self.groups.get(item, Group()).runs)) for item, (done, of) in counted.items()}
        shown = [f"{item} {done:,} of {of:,} runs" for item, (done, of) in totals.items() if done < of]
        wall_s = sum(max(of_group_s, 0.0) for of_group_s in left_s.values()) / self.cores
        time_left = [f"about {costs.duration_text(wall_s)} of simulation left"] if wall_s >= 1 else []
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
