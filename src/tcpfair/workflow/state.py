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
errors: list[str] = []  # of the steps and jobs of this process, to be repeated after the other output
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
        self.groups, self.cores = groups or {}, cores
        self.parts: dict[str, dict[str, tuple[int, int]]] = {group: {} for group in self.groups}  # done, of all
        self.steps = ""
        self.last_s = time.monotonic()

    def takes(self, line: str) -> bool:
        """Whether a line reports progress of a job or of the steps, which updates the state.

        A line in which the output of two jobs is mixed is ignored.
        """
        kind, *words = line.split()
        match kind, words:
            case "steps", [done, of]:
                self.steps = f"step {done} of {of}"
            case "progress", [group, part, done, of] if group in self.groups and done.isdigit() and of.isdigit():
                self.parts[group][part] = int(done), int(of)
            case "progress", _:
                return True
            case _:
                return False
        self._show()
        return True

    def print(self, line: str) -> None:
        """Print a permanent line; an error is added to `errors`."""
        self._clear()
        if line.startswith("error: "):
            errors.append(line)
        print(line, file=self.stream, flush=True)

    def close(self) -> None:
        self._clear()

    def text(self) -> str:
        """``step 3 of 65; ogura/loss_sweep 40 of 340 runs; about 2 min left``."""
        shown, left_s = [self.steps] if self.steps else [], 0.0
        for name, group in self.groups.items():
            parts = self.parts[name].values()
            done, of = sum(done for done, _ in parts), max(sum(of for _, of in parts), group.runs)
            if parts and done < of:
                shown.append(f"{name} {done:,} of {of:,} runs")
            ended = sum(done / of if of else 1 for done, of in parts)  # jobs, and shares of those under way
            left_s += max(1 - ended / group.jobs, 0.0) * group.expected_s
        if (wall_s := left_s / self.cores) >= 1:
            shown.append(f"about {costs.duration_text(wall_s)} of simulation left")
        return "; ".join(shown)

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
