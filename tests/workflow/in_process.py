"""Stands in for Snakemake: makes the jobs of campaigns in this process, with their logs, the longest first."""

from __future__ import annotations

import io
import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from types import ModuleType

import pytest

from tcpfair.workflow import cli, executor, run

INTERRUPTED = 130  # the status of a command after Ctrl-C


class InProcess:
    """Takes the place of `tcpfair.workflow.run.snakemake`; ``jobs`` are the items of each job that was run, ``broken`` are kinds
    of campaigns whose jobs all fail before they begin, ``built`` are the arguments of the main workflow, which makes nothing."""

    def __init__(self, monkeypatch) -> None:
        self.jobs: list[list[str]] = []
        self.built: list[list[str]] = []
        self.broken: set[str] = set()
        self.set_root = lambda root: monkeypatch.setenv("TCPFAIR_ROOT", str(root))
        monkeypatch.setattr(run, "snakemake", self)
        monkeypatch.setattr(run, "job_places", lambda root, profile, cores: cores)
        monkeypatch.setattr(cli, "parser", cache(cli.parser))

    def __call__(self, root, arguments, state, cores, profile, folder=None) -> int:
        if folder is None:
            self.built.append(arguments)
            return 0
        self.set_root(root)
        campaign = arguments[arguments.index("--configfile") + 1]
        given = json.loads((root / campaign).read_text())
        listed = {} if given["kind"] in self.broken else given["jobs"]
        status = 0
        for job in sorted(listed, key=lambda job: -listed[job]["priority"]):
            self.jobs.append([name for name, _ in listed[job]["items"]])
            with redirect_stdout(io.StringIO()) as said, redirect_stderr(said):
                try:
                    ended = cli.main(["job", "--campaign", str(root / campaign), "--job", job])
                except RuntimeError:
                    traceback.print_exc()
                    ended = 1
            log = root / given["logs"] / f"{job}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(said.getvalue())
            if ended == INTERRUPTED:
                raise KeyboardInterrupt
            status = status or ended
        return status

    @property
    def items(self) -> list[str]:
        """Names of all items that were begun."""
        return [name for names in self.jobs for name in names]


class Counting(InProcess):
    """Counts the calls of a function as ``simulated``, and ends the process at call ``stop_at``; ``said`` is what was printed."""

    def __init__(self, monkeypatch, module: ModuleType, name: str, stop_at: int | None) -> None:
        super().__init__(monkeypatch)
        self.patch, self.simulated, self.said = monkeypatch, 0, []
        real = getattr(module, name)

        def counted(*given):
            if self.simulated == stop_at:
                raise KeyboardInterrupt
            self.simulated += 1
            return real(*given)

        monkeypatch.setattr(module, name, counted)
        monkeypatch.setattr(executor, "say", self.said.append)


@contextmanager
def counting(module: ModuleType, name: str, stop_at: int | None = None) -> Iterator[Counting]:
    """Such a count within the block."""
    with pytest.MonkeyPatch.context() as patch:
        yield Counting(patch, module, name, stop_at)
