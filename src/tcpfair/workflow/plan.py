"""What one configuration asks for: the steps of the workflow, their outputs and the digests of their inputs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tcpfair import cc
from tcpfair.contract.expand import check
from tcpfair.contract.layout import LEDGER_TABLES, Layout, short_id
from tcpfair.contract.papers import Config, Exhibit, PaperConfig, Value, check_config, load_paper, load_yaml
from tcpfair.contract.scenario import digest
from tcpfair.contract.stamps import code_files, file_hashes, is_fresh, measured_slice, simulated_slice, stamp_path
from tcpfair.errors import InputError

BUILT_SOURCES = (
    "bundled",
    "engine",
    "raw",
)  # the sources that this version can run; config.yaml knows the names of all

KINDS = ("simulate", "measure", "rehearse", "notebook", "ledger", "report")


@dataclass(frozen=True)
class Step:
    """One step of the workflow: its kind, what it works on (``paper/experiment``, ``paper`` or nothing), the file that
    stands for its output, and the digest of its inputs."""

    kind: str
    item: str
    output: Path
    stamp: str


class Plan:
    """Experiments and notebooks that a configuration asks for, and the digest of the inputs of every step.

    ``values`` is the content of ``config/config.yaml`` with the overrides of the command line. Raises InputError
    with one line when it, or the configuration of a paper, is wrong.
    """

    def __init__(self, values: dict[str, Any], root: Path, where: str = "config") -> None:
        self.root = root
        self.config: Config = check_config(values, where)
        if self.config.source not in BUILT_SOURCES:
            raise InputError(
                f"{where}: source: {self.config.source!r} is not in this version; choose {', '.join(BUILT_SOURCES)}"
            )
        if self.config.smoke and self.config.source != "engine":
            raise InputError(f"{where}: smoke: goes with source engine; {self.config.source!r} simulates nothing")
        self.layout = Layout(root, self.config.source)
        self.is_raw = self.config.source == "raw"
        if self.config.trace and not self.is_raw:
            raise InputError(f"{where}: trace: {self.config.trace!r} is looked at with source=raw only")
        if not (root / self.config.trace).exists():
            raise InputError(f"{where}: trace: {self.config.trace}: no such file or folder")
        wanted = {exhibit_id.split(".", 1)[0] for exhibit_id in self.config.only}
        names = [paper for paper in self.config.papers if paper in wanted] or self.config.papers
        self.papers = {name: load_paper(self.layout.paper_config(name)) for name in names if not self.is_raw}
        self.only = [find_exhibit(self.papers, exhibit_id) for exhibit_id in self.config.only if not self.is_raw]
        for name, paper in self.papers.items():
            check_algorithms(paper, self.layout.paper_config(name))
            for experiment in paper.experiments:
                check(paper, experiment)
        self._stamps: dict[tuple[str, ...], str] = {}

    @cached_property
    def wanted(self) -> list[tuple[str, str]]:
        """(paper, experiment) of the experiments of all papers, or of the exhibits in ``only`` and their weights."""
        if not self.only:
            return [(name, experiment) for name, paper in self.papers.items() for experiment in paper.experiments]
        return list(dict.fromkeys(pair for paper, exhibit in self.only for pair in needed(paper, exhibit)))

    @cached_property
    def not_bundled(self) -> list[tuple[str, str]]:
        """Experiments that source ``bundled`` cannot show, because no trace of them is shipped."""
        shipped = self.config.source == "bundled"
        return [pair for pair in self.wanted if shipped and not self.manifest(*pair).is_file()]

    @cached_property
    def experiments(self) -> list[tuple[str, str]]:
        """The wanted experiments whose trace is shipped or can be simulated."""
        return [pair for pair in self.wanted if pair not in self.not_bundled]

    @cached_property
    def measured(self) -> list[tuple[str, str]]:
        """The experiments among them that ask for metrics."""
        return [pair for pair in self.experiments if self.papers[pair[0]].experiments[pair[1]].measures]

    @cached_property
    def notebooks(self) -> list[str]:
        """Papers that have a notebook; ``raw`` is the notebook of recordings."""
        return ["raw"] if self.is_raw else [paper for paper in self.papers if self.notebook_source(paper).is_file()]

    def manifest(self, paper: str, experiment: str) -> Path:
        """The small file that stands for a trace."""
        return self.layout.trace(paper, experiment) / "manifest.json"

    def notebook_source(self, paper: str) -> Path:
        return self.root / "notebooks" / f"{paper}.ipynb"

    def notebook(self, paper: str) -> Path:
        """The executed notebook."""
        return self.layout.results / "notebooks" / f"{paper}.ipynb"

    @property
    def ledger_tables(self) -> list[Path]:
        return [self.layout.ledger / f"{table}.csv" for table in LEDGER_TABLES]

    def rehearsal(self, paper: str) -> Path:
        """What a smoke run says of a paper's experiments."""
        return self.layout.results / "rehearsals" / f"{paper}.csv"

    @property
    def outputs(self) -> list[Path]:
        """Every file that a finished run leaves; all are asked for by name, so that none stays missing between others."""
        if self.config.smoke:
            return [step.output for step in self.steps()]
        pages = [self.notebook(paper).with_suffix(".html") for paper in self.notebooks]
        tables = [] if self.is_raw else self.ledger_tables
        return [*(step.output for step in self.steps()), *pages, *tables, self.checked]

    @property
    def checked(self) -> Path:
        """Written when no exhibit failed."""
        return self.layout.results / "checked.txt"

    @property
    def report(self) -> Path:
        return self.layout.results / "report.html"

    @property
    def opened(self) -> Path:
        """What there is to open at the end."""
        return self.notebook("raw").with_suffix(".html") if self.is_raw else self.report

    @property
    def compared(self) -> list[Path]:
        """What results are compared with: printed numbers, claims, tolerances, other simulators, the baseline."""
        folders = ("published", "claims", "reference", "expected")
        tables = (path for folder in folders for path in (self.layout.data / folder).rglob("*.*"))
        return sorted([*self.layout.data.glob("*.yaml"), *tables])

    def weights(self, paper: str, experiment: str) -> str | None:
        """The experiment that the NRU weights of this one come from."""
        weights = self.papers[paper].experiments[experiment].weights
        return weights.experiment if weights else None

    def weights_table(self, paper: str, experiment: str) -> list[Path]:
        """The metrics that the weights are taken from, if any."""
        weights = self.weights(paper, experiment)
        return [self.layout.metrics(paper, weights)] if weights else []

    def shown(self, paper: str) -> list[Path]:
        """What is computed for the notebook of a paper: the metrics of its experiments and their traces."""
        metrics = [self.layout.metrics(*pair) for pair in self.measured if pair[0] == paper]
        return metrics + [self.manifest(*pair) for pair in self.experiments if pair[0] == paper]

    def sources(self, paper: str) -> list[Path]:
        """The files that a notebook is made from besides: itself, its configuration, what it compares with, code."""
        config = self.layout.config / "raw.yaml" if self.is_raw else self.layout.paper_config(paper)
        return [self.notebook_source(paper), config, *self.compared, *self.code("notebook")]

    @property
    def recordings(self) -> list[Path]:
        """Files of the user's own trace, or of the shipped examples when none is named."""
        trace = self.root / (self.config.trace or "data/raw/examples")
        return sorted(trace.rglob("*")) if trace.is_dir() else [trace]

    def code(self, kind: str) -> list[Path]:
        """Source files of the layers that a step of this kind runs."""
        return code_files(self.root, kind)

    def stamp(self, kind: str, *item: str) -> str:
        """Digest of all that the output of one step depends on; ``item`` is (paper, experiment), (paper) or nothing."""
        key = (kind, *item)
        if key not in self._stamps:
            self._stamps[key] = digest([kind, *getattr(self, f"_inputs_of_{kind}")(*item)])
        return self._stamps[key]

    def _inputs_of_simulate(self, paper: str, experiment: str) -> Iterator[Any]:
        yield self.config.source
        yield simulated_slice(self.papers[paper], experiment)
        yield self.config.smoke_duration_s if self.config.smoke else None
        yield file_hashes(self.root, self.code("simulate"))

    def _inputs_of_trace(self, paper: str, experiment: str) -> Iterator[Any]:
        if self.config.source == "bundled":
            yield file_hashes(self.root, [self.manifest(paper, experiment)])
        else:
            yield self.stamp("simulate", paper, experiment)

    def _inputs_of_measure(self, paper: str, experiment: str) -> Iterator[Any]:
        yield self.stamp("trace", paper, experiment)
        yield measured_slice(self.papers[paper], experiment)
        weights = self.weights(paper, experiment)
        yield self.stamp("measure", paper, weights) if weights else None
        yield file_hashes(self.root, self.code("measure"))

    def _inputs_of_rehearse(self, paper: str) -> Iterator[Any]:
        for kind, pairs in (("trace", self.experiments), ("measure", self.measured)):
            yield [self.stamp(kind, *pair) for pair in pairs if pair[0] == paper]

    def _inputs_of_notebook(self, paper: str) -> Iterator[Any]:
        yield sorted(self.config.only)
        for kind, pairs in (("trace", self.experiments), ("measure", self.measured)):
            yield [self.stamp(kind, *pair) for pair in pairs if pair[0] == paper]
        yield self.config.trace
        yield file_hashes(self.root, self.sources(paper) + (self.recordings if self.is_raw else []))

    def _inputs_of_ledger(self) -> Iterator[Any]:
        yield [self.stamp("notebook", paper) for paper in self.notebooks]
        yield [self.stamp("measure", *pair) for pair in self.measured]
        files = [self.layout.paper_config(paper) for paper in self.papers]
        yield file_hashes(self.root, [*files, *self.compared, *self.code("ledger")])

    def _inputs_of_report(self) -> Iterator[Any]:
        yield self.stamp("ledger")
        yield (self.layout.validation / "report.html").is_file()  # which it links to
        yield file_hashes(self.root, self.code("report"))

    def steps(self) -> list[Step]:
        """Every step whose output stays, in the order in which data passes through them."""
        if self.config.smoke:
            rehearsed = [paper for paper in self.papers if any(paper == pair[0] for pair in self.experiments)]
            return [Step("rehearse", p, self.rehearsal(p), self.stamp("rehearse", p)) for p in rehearsed]
        simulated = [] if self.config.source == "bundled" else self.experiments
        found = [("simulate", pair, self.manifest(*pair)) for pair in simulated]
        found += [("measure", pair, self.layout.metrics(*pair)) for pair in self.measured]
        found += [("notebook", (paper,), self.notebook(paper)) for paper in self.notebooks]
        if not self.is_raw:
            found += [("ledger", (), self.ledger_tables[0]), ("report", (), self.report)]
        return [Step(kind, "/".join(item), out, self.stamp(kind, *item)) for kind, item, out in found]

    def discard_stale(self, kinds: tuple[str, ...] = KINDS) -> None:
        """Remove outputs made from other inputs than the plan's, and notebooks whose figures failed or are gone."""
        for paper, experiment in self.experiments if self.config.source != "bundled" else []:
            for shard in self.shards(paper, experiment).glob("*/manifest.json"):
                if not is_fresh(shard, self.stamp("simulate", paper, experiment)):
                    shutil.rmtree(shard.parent)
        for step in self.steps():
            if step.kind in kinds and not self.is_done(step):
                if self.is_raw:  # what was recorded of another trace
                    shutil.rmtree(self.layout.results / "exhibits", ignore_errors=True)
                step.output.unlink(missing_ok=True)
                stamp_path(step.output).unlink(missing_ok=True)

    def is_done(self, step: Step) -> bool:
        """True when the output is there, whole, and made from the inputs that the plan has now."""
        return is_fresh(step.output, step.stamp) and (step.kind != "notebook" or self._is_drawn(step.item))

    def _is_drawn(self, paper: str) -> bool:
        """True when no exhibit of ``paper`` is recorded as failed, and the files of those drawn are still there."""
        for path in (self.layout.results / "exhibits").glob(f"{'*' if self.is_raw else paper}/*.json"):
            record = json.loads(path.read_text())
            if record["status"] == "failed" or not all((self.root / name).is_file() for name in record["files"]):
                return False
        return True

    def shards(self, paper: str, experiment: str) -> Path:
        """Where the parts of a simulation stand until they are gathered."""
        return self.layout.results / "shards" / paper / experiment


def check_algorithms(paper: PaperConfig, path: Path) -> None:
    """InputError when a protocol of a paper's configuration names an algorithm that is not there."""
    for label, protocol in paper.protocols.items():
        if isinstance(protocol.cc, Value) and protocol.cc.value not in cc.names():
            known = ", ".join(cc.names())
            raise InputError(f"{path}: protocols.{label}.cc: unknown protocol {protocol.cc.value!r}; known are {known}")


def needed(paper: PaperConfig, exhibit: Exhibit) -> list[tuple[str, str]]:
    """(paper, experiment) of what one exhibit draws, each after the experiment that its NRU weights come from."""
    names = []
    for experiment in exhibit.experiments:
        weights = paper.experiments[experiment].weights
        names += [weights.experiment] if weights else []
        names.append(experiment)
    return [(paper.paper, name) for name in dict.fromkeys(names)]


def find_exhibit(papers: dict[str, PaperConfig], exhibit_id: str) -> tuple[PaperConfig, Exhibit]:
    """The paper and the exhibit of an id as a user writes it; InputError naming the known ids when there is none."""
    name = exhibit_id.split(".", 1)[0].strip().lower()
    if name not in papers:
        raise InputError(f"exhibit {exhibit_id!r}: write PAPER.EXHIBIT with one of the papers {', '.join(papers)}")
    for exhibit in papers[name].exhibits:
        if short_id(exhibit.id) == short_id(exhibit_id):
            return papers[name], exhibit
    known = ", ".join(exhibit.id for exhibit in papers[name].exhibits)
    raise InputError(f"exhibit {exhibit_id!r}: not among those of {name}; known are {known}")


def load_values(path: Path, overrides: dict[str, Any]) -> dict[str, Any]:
    """A configuration file with ``overrides`` on top; InputError names an unknown key and the known ones."""
    values = load_yaml(path)
    for where, given in ((path.name, values), ("--config", overrides)):
        for name in given:
            if name not in Config.model_fields:
                raise InputError(f"{where}: {name}: unknown; known are {', '.join(Config.model_fields)}")
    return {**values, **overrides}
