"""Paths in a checkout: the one description of the layout of the repository and of its outputs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tcpfair.errors import InputError

SOURCES = ("bundled", "engine", "raw")
PAPERS = ("ogura", "bhatti2008", "bhatti2009", "kozu2014", "ha2006")
WRITE_UP = "what_reproduces"  # the notebook that shows the ledger
ENSEMBLE_TABLES = (  # of the ledger; they show shipped results, independent of the current run
    "ensemble_papers",
    "ensemble_numbers",
    "ensemble_testbed",
    "ensemble_held_out",
)
JUDGED_TABLES = ("claims", "clauses", "ensemble_clauses")  # of one paper, before they are copied into the ledger
COMPARED_TABLES = (  # of the ledger; they do not depend on claims
    "numbers",
    *ENSEMBLE_TABLES,
    "equations",
    "readings",
    "yardsticks",
    "ns2",
    "guest",
    "agreement",
    "assumptions",
    "stated",
    "run_plan",
)
LEDGER_TABLES = (
    "exhibits",
    "supplements",
    "headlines",
    *JUDGED_TABLES,
    "margins",
    "changes",
    "summary",
    *COMPARED_TABLES,
)


def repository_root() -> Path:
    """The checkout that holds ``config/`` and ``data/``.

    Tries ``TCPFAIR_ROOT``, then the working directory and its parents, then this file's parents, so that notebooks,
    workflow and tests agree from any directory. Raises InputError when none of them is a checkout.
    """
    starts = [Path(os.environ["TCPFAIR_ROOT"])] if "TCPFAIR_ROOT" in os.environ else []
    starts += [Path.cwd(), Path(__file__).resolve().parent]
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / "config" / "config.yaml").is_file() and (folder / "Snakefile").is_file():
                return folder
    raise InputError("not inside a tcpfair checkout: no config/config.yaml and Snakefile above the working directory")


@dataclass(frozen=True)
class Layout:
    """Paths of one checkout for one source of traces."""

    root: Path
    source: str = "bundled"
    recording: str = ""  # with source raw: the recording's folder name; each recording has separate results

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise InputError(f"source: {self.source!r} is not one of {', '.join(SOURCES)}")

    @property
    def config(self) -> Path:
        return self.root / "config"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @cached_property
    def results(self) -> Path:
        return self.root / "results" / self.source / self.recording

    @property
    def work(self) -> Path:
        """Folder of the outputs of steps (`tcpfair.runs.outputs`); their stable names are copies."""
        return self.results / "work"

    @property
    def ledger(self) -> Path:
        return self.results / "ledger"

    def paper_config(self, paper: str) -> Path:
        return self.config / "papers" / f"{paper}.yaml"

    @property
    def validation_config(self) -> Path:
        return self.config / "validation.yaml"

    @property
    def guest_clauses(self) -> Path:
        """The papers' clauses at a size that a Linux kernel in QEMU can run, by source."""
        return self.data / "reference" / "guest.csv"

    @property
    def validated(self) -> Path:
        """Shipped results of other simulators for the scenarios of the validation, a folder for each simulator."""
        return self.data / "validation"

    @property
    def validation(self) -> Path:
        """Results of the comparison with the engine; the same for every source."""
        return self.root / "results" / "validation"

    @property
    def testbed_config(self) -> Path:
        return self.config / "testbed.yaml"

    @property
    def guest_config(self) -> Path:
        return self.config / "guest.yaml"

    @property
    def recordings(self) -> Path:
        """Recordings of the testbed for the comparison, a folder for each run."""
        return self.validation / "recordings"

    @property
    def ensemble_config(self) -> Path:
        return self.config / "ensemble.yaml"

    @property
    def ensembles(self) -> Path:
        """Shipped results of the ensembles of all papers."""
        return self.data / "ensemble"

    @property
    def placed(self) -> Path:
        """Folder of the `ENSEMBLE_TABLES`, before they are copied into the ledger."""
        return self.results / "placed"

    @property
    def judged(self) -> Path:
        """Folder of the `JUDGED_TABLES`, a folder for each paper."""
        return self.results / "judged"

    @property
    def ensemble_shards(self) -> Path:
        """Folder of the results of the ensembles' settings, a folder for each paper."""
        return self.results / "ensemble"

    def study(self, name: str) -> Path:
        """Folder of the outputs of a user's study."""
        return self.results / "studies" / name

    def figures(self, paper: str) -> Path:
        return self.root / "figures" / self.source / paper

    @property
    def lab(self) -> Path:
        """The packet lab, a page."""
        return self.results / "lab.html"

    @property
    def write_up(self) -> Path:
        """The page that shows what reproduces."""
        return self.results / "notebooks" / f"{WRITE_UP}.html"

    @property
    def bundled_root(self) -> Path:
        """Folder of all shipped traces."""
        return self.data / "bundled"

    def bundled(self, paper: str, experiment: str) -> Path:
        return self.bundled_root / paper / short_name(experiment)

    def simulated(self, paper: str, experiment: str) -> Path:
        """Folder of the shards with the runs of an experiment that this source simulated."""
        return self.results / "runs" / paper / short_name(experiment)

    def metrics(self, paper: str, experiment: str) -> Path:
        return self.results / "metrics" / paper / f"{short_name(experiment)}.parquet"

    def expected(self, paper: str) -> Path:
        return self.data / "expected" / paper


def short_name(experiment: str) -> str:
    """``ogura.exp.loss_sweep`` -> ``loss_sweep`` (folder name below the paper's folder)."""
    return experiment.rsplit(".", 1)[-1]


def short_id(exhibit_id: str) -> str:
    """``ogura.fig8`` -> ``fig08``, ``ogura.table3`` -> ``tab03``; supplements keep their own name.

    Accepts any spelling that a user may write: ``fig8``, ``Fig08``, ``ogura.figure8``.
    """
    name = exhibit_id.strip().lower().rpartition(".")[2]
    numbered = re.fullmatch(r"(fig|tab)(?:ure|le)?0*(\d+)", name)
    return f"{numbered[1]}{int(numbered[2]):02d}" if numbered else name
