"""What one configuration requests: the runs to simulate, the outputs to build, and the inputs of each output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from tcpfair import cc
from tcpfair.errors import InputError, check_known
from tcpfair.files import checksums
from tcpfair.files.digests import SHORT
from tcpfair.files.files import discard_scratch, is_editors
from tcpfair.files.layout import PAPERS, WRITE_UP, Layout, short_id
from tcpfair.files.manifest import file_hash
from tcpfair.files.remembered import Remembered
from tcpfair.papers import recordings
from tcpfair.papers.expand import plain_values
from tcpfair.papers.papers import Config, Exhibit, PaperConfig, Value, load_paper, load_yaml
from tcpfair.papers.scenario import validated
from tcpfair.runs import code, ensemble, outputs, reach, record, store
from tcpfair.runs.outputs import MADE, Parts, files_part, part
from tcpfair.runs.sidecar import trace_place
from tcpfair.runs.store import Asked
from tcpfair.verdicts.cell_links import notebook_cells
from tcpfair.web import wasm

BASELINE = "baseline"  # the part of the ledger that has data/expected
_OF_ENSEMBLES = ("runs/ensemble_table.py", "measures/groups.py", "measures/replicates.py")  # code that makes them stale
Pair = tuple[str, str]  # paper, experiment

# inputs below data/; tests/workflow/test_opened_files.py checks that none is missing
_PLACED_FROM = ("*.yaml", "published/**/*.*", "ensemble/**/*.*")
_JUDGED_FROM = (*_PLACED_FROM, "claims/**/*.*")  # published numbers too, which may contradict a claim
_REFERENCE = ("scatter.csv", "reference/**/*.*")
PUBLISHED = (*_JUDGED_FROM, *_REFERENCE)  # what results are compared with, without the baseline
_OF_NUMBERS = ("cells.yaml", "tolerances.yaml", "equations.yaml")  # inputs of the numbers
_TOLD = ("title", "caption")  # of an exhibit: the page of a table contains them, the files of a figure do not
READ_BY_KIND = {"definition_table": ("equations.yaml",)}


@dataclass(frozen=True)
class Step:
    """One step and its output: its kind, its item, and the parts that the output is made from.

    ``place`` is the output's folder without the digest of its parts.
    """

    kind: str
    item: str  # paper/experiment, paper, exhibit id or empty
    place: Path
    parts: Parts
    layout: Layout

    @cached_property
    def folder(self) -> Path:
        """The output's folder, with the digest of its parts in its name."""
        return outputs.folder_of(self.place, self.parts)

    @property
    def target(self) -> Path:
        """The file that represents the output in the workflow; written last."""
        return self.folder / MADE

    @property
    def name(self) -> str:
        return f"{self.kind} {self.item}".strip()


class Plan:
    """Experiments and notebooks that a configuration requests, and the inputs of every output.

    ``values`` is the content of ``config/config.yaml`` with the overrides of the command line. Raises InputError
    with one line when they, or the configuration of a paper, are invalid.
    """

    def __init__(self, values: dict[str, Any], root: Path, where: str = "config") -> None:
        self.root = root
        self.config = validated(Config, values, where)
        if self.config.smoke and self.config.source != "engine":
            raise InputError(f"{where}: smoke: requires source engine; {self.config.source!r} simulates nothing")
        self.layout = Layout(root, self.config.source, recordings.folder_of(self.config.trace))
        self.is_raw = self.config.source == "raw"
        if self.config.trace and not self.is_raw:
            papers = recordings.load_raw(self.layout.config / "raw.yaml").beside.papers
            if not set(self.config.papers) <= set(papers):
                raise InputError(
                    f"{where}: trace: {self.config.trace!r} is shown with source=raw, or next to the figures of a paper: "
                    f"papers={' or papers='.join(papers)}"
                )
        for each in recordings.recordings_in(self.config.trace):
            if not (root / each).exists():
                raise InputError(f"{where}: trace: {each}: no such file or folder")
        wanted = {exhibit_id.split(".", 1)[0] for exhibit_id in self.config.only}
        names = [paper for paper in self.config.papers if paper in wanted] or self.config.papers
        self.papers = {name: load_paper(self.layout.paper_config(name)) for name in names if not self.is_raw}
        self.only = [find_exhibit(self.papers, exhibit_id) for exhibit_id in self.config.only if not self.is_raw]
        if self.is_raw:
            exhibits = (name.rpartition(".")[2] for name in self.config.only)
            check_known(f"{where}: only: exhibit of a recording", exhibits, recordings.EXHIBITS)
        for name, paper in self.papers.items():
            check_algorithms(paper, self.layout.paper_config(name))

    # --- What is requested ---------------------------------------------------------------------------------------

    @cached_property
    def exhibits(self) -> list[tuple[PaperConfig, Exhibit]]:
        """The exhibits to draw: those named in ``only``, or all."""
        every = [(paper, exhibit) for paper in self.papers.values() for exhibit in paper.exhibits]
        return self.only or every

    @cached_property
    def experiments(self) -> list[tuple[str, str]]:
        """(paper, experiment) of the experiments of all papers, or of the exhibits in ``only`` and their weights."""
        wanted = {(paper.paper, name) for paper, each in self.exhibits for name in paper.behind(each.experiments)}
        every = [(name, experiment) for name, paper in self.papers.items() for experiment in paper.experiments]
        return [pair for pair in every if pair in wanted or not self.only]

    @cached_property
    def measured(self) -> list[tuple[str, str]]:
        """The experiments among them that request metrics."""
        return [pair for pair in self.experiments if self.papers[pair[0]].experiments[pair[1]].measures]

    @cached_property
    def notebooks(self) -> list[str]:
        """Papers that have a notebook; ``raw`` is the notebook of recordings."""
        if self.is_raw:
            return ["raw"]
        return [paper for paper in self.papers if self.notebook_source(paper).is_file()]

    # --- Available runs, and runs to simulate ----------------------------------------------------------------------

    @cached_property
    def _remembered(self) -> Remembered:
        return store.remembered(self.layout)

    @cached_property
    def held(self) -> dict[str, store.Held]:
        """The available runs and metrics of the source, by paper."""
        return {name: store.Held(self.layout, paper, self._remembered) for name, paper in self.papers.items()}

    @cached_property
    def asked(self) -> dict[Pair, list[Asked]]:
        """The runs that every requested experiment needs. Raises InputError for an invalid value."""
        return {(paper, experiment): self.held[paper].runs(experiment) for paper, experiment in self.experiments}

    @cached_property
    def traces(self) -> dict[Pair, Path | None]:
        """Folder of the trace with exactly the requested runs; None if it is missing."""
        return {(paper, experiment): self.held[paper].place(experiment) for paper, experiment in self.experiments}

    @cached_property
    def lacking(self) -> dict[Pair, list[Asked]]:
        """The runs to simulate, by experiment. An experiment without any may still need a new trace."""
        open_pairs = (pair for pair, folder in self.traces.items() if folder is None)
        return {pair: store.missing(self.layout, *pair, self.asked[pair]) for pair in open_pairs}

    def trace_folder(self, paper: str, experiment: str) -> Path:
        """Where the trace of an experiment is, or will be."""
        return self.traces[paper, experiment] or store.trace_folder(
            self.layout, paper, experiment, self.asked[paper, experiment]
        )

    # --- Outputs ---------------------------------------------------------------------------------------------------

    def notebook_source(self, paper: str) -> Path:
        return self.root / "notebooks" / f"{paper}.ipynb"

    @property
    def opened(self) -> Path:
        """The page to open at the end."""
        return self.layout.results / ("notebooks/raw.html" if self.is_raw else "report.html")

    @property
    def has_write_up(self) -> bool:
        """Whether the notebook that shows what reproduces is executed: only for all papers, because it covers them all."""
        return self._is_whole and self.notebook_source(WRITE_UP).is_file()

    @property
    def _is_whole(self) -> bool:
        """Whether all exhibits of all papers are requested; the packet lab needs them all, too."""
        return set(self.papers) == set(PAPERS) and not (self.config.smoke or self.config.only or self.config.trace)

    @property
    def made(self) -> list[Path]:
        """The files of a finished run by their stable names, without those of the shipped recordings."""
        own = (step for step in self.steps if step.layout == self.layout)
        return [path for step in own for path in outputs.stable_files(self.layout, step.folder)]

    def data_files(self, patterns: Iterable[str]) -> list[Path]:
        """Files of ``data`` without editors' temporary files, sorted."""
        found = (path for pattern in patterns for path in self.layout.data.glob(pattern))
        return sorted(path for path in found if not is_editors(path.name))

    @property
    def recordings(self) -> list[Path]:
        """Files of the user's recordings, or by default of the shipped examples."""
        found = [[each, recordings.sidecar_path(each), *each.rglob("*")] for each in self._recorded]
        return sorted({path for paths in found for path in paths if path.is_file()})

    @property
    def _recorded(self) -> list[Path]:
        return [self.root / each for each in recordings.recordings_in(self.config.trace or "data/raw/examples")]

    # --- Inputs of the outputs -------------------------------------------------------------------------------------

    @property
    def _recordings_part(self) -> str:
        """Digest of the recordings and, for a tool's own files, of the code that reads them."""
        places = [trace_place(self.root, each).name for each in self._recorded]
        return part([files_part(self.root, self.recordings), places])

    @cached_property
    def exhibit_parts(self) -> dict[str, Parts]:
        """The parts of each exhibit, by its id."""
        return {exhibit.id: self._exhibit_parts(paper, exhibit) for paper, exhibit in self.exhibits}

    def _exhibit_parts(self, paper: PaperConfig, exhibit: Exhibit) -> Parts:
        names, held = paper.behind(exhibit.experiments), self.held[paper.paper]
        behind = [held.configuration(name) for name in names]
        own = {name: value for name, value in plain_values(exhibit).items() if exhibit.is_table or name not in _TOLD}
        return {
            **self._runs_behind(paper.paper, names),
            "configuration": part([own, behind, held.shared]),
            "print": self._print([paper.paper], ["cells.yaml", "tolerances.yaml", *READ_BY_KIND.get(exhibit.draw, ())]),
            **self._drawing(exhibit),
        }

    def _shown(self, paper: str = "") -> str:
        """Digest of the exhibits of all papers or of one as pages show them, with title and caption."""
        of_papers = (each for config, each in self.exhibits if paper in ("", config.paper))
        return part([[each.id, self.exhibit_parts[each.id], each.title, each.caption] for each in of_papers])

    def _runs_behind(self, paper: str, names: Sequence[str]) -> Parts:
        """The parts that represent some experiments of a paper."""
        held = self.held[paper]
        measured = [name for name in names if self.papers[paper].experiments[name].measures]
        return {
            "runs": part([held.runs_part(name) for name in names]),
            "metrics": part([held.metrics_parts(name) for name in measured]),
        }

    def _of_paper(self, paper: str) -> Parts:
        """The parts that represent a paper: its requested experiments and its configuration."""
        names = [experiment for name, experiment in self.experiments if name == paper]
        return {**self._runs_behind(paper, names), "configuration": self._configuration(paper)}

    def _drawing(self, exhibit: Exhibit) -> Parts:
        try:
            return reach.of_drawing(exhibit.draw or exhibit.id.replace(".", "_"))
        except LookupError:  # the step reports what is wrong
            return reach.of_modules(reach.EXHIBITS)

    def _print(self, papers: Iterable[str], names: Iterable[str]) -> str:
        """Digest of the published numbers of some papers, and of other files of ``data``."""
        paths = [f"published/{paper}.csv" for paper in papers]
        return files_part(self.root, [self.layout.data / name for name in (*paths, *names)])

    @cache  # noqa: B019  (a plan lives as long as the process)
    def numbers_parts(self, paper: str) -> Parts:
        """The parts of the numbers of one paper's requested exhibits."""
        return {
            "exhibits": part([exhibit.id for config, exhibit in self.exhibits if config.paper == paper]),
            **self._of_paper(paper),
            "print": self._print([paper], _OF_NUMBERS),
            **reach.of_step("numbers"),
        }

    def notebook_parts(self, paper: str) -> Parts:
        common = self._of_notebook(paper)
        settings = self.layout.config / "raw.yaml"
        if self.is_raw:
            return {
                **common,
                "configuration": part([files_part(self.root, [settings]), self.config.only, self.config.trace]),
                "recordings": self._recordings_part,
            }
        if self.config.trace:
            common["recordings"] = self._recordings_part
            common["configuration"] = files_part(self.root, [settings])
        return {**common, "exhibits": self._shown(paper)}

    def _of_notebook(self, name: str) -> Parts:
        found = cells(self.notebook_source(name))
        sources = [cell.source for cell in found if cell.kind == "code"]
        return {"cells": part(found), **reach.of_notebook(sources, self.is_raw or bool(self.config.trace))}

    @cache  # noqa: B019
    def _configuration(self, paper: str) -> str:
        """Digest of a paper's configuration without texts that only pages show, and of the ensembles' configuration."""
        shown = {"exhibits": {"__all__": {"title", "caption"}}}
        config = self.papers.get(paper) or load_paper(self.layout.paper_config(paper))
        ensembles = files_part(self.root, [self.layout.ensemble_config])
        return part([config.model_dump(mode="json", exclude=shown), ensembles])

    @cached_property
    def _ensembles(self) -> Mapping[str, ensemble.PaperEnsemble]:
        path = self.layout.ensemble_config
        return ensemble.load(path).papers if path.is_file() else {}

    @cache  # noqa: B019
    def place_parts(self, paper: str) -> Parts:
        """The parts of one paper's published numbers among the settings of its ensemble.

        They include the papers from which its testbed is inferred.
        """
        read = [paper, *(self._ensembles[paper].inferred_from if paper in self._ensembles else [])]
        return {
            "configuration": part([self._configuration(name) for name in read]),
            "print": files_part(self.root, self._files_of(read, _PLACED_FROM)),
            "simulator": part(code.of_algorithms(cc.names())),  # an ensemble of another simulator is excluded
            **reach.of_step("place"),
        }

    @cache  # noqa: B019
    def judge_parts(self, paper: str) -> Parts:
        """The parts of the claims of one paper: the runs and the ensemble that decide on them."""
        return {
            **self._of_paper(paper),
            "scope": part(sorted(self.config.only)),
            "print": files_part(self.root, self._files_of([paper], _JUDGED_FROM)),
            "simulator": part(code.of_algorithms(cc.names())),
            **reach.of_step("judge"),
        }

    def _files_of(self, papers: Sequence[str], patterns: Iterable[str]) -> list[Path]:
        """Files of ``data`` without those of other papers."""
        others = set(PAPERS) - set(papers)
        return [path for path in self.data_files(patterns) if path.stem.partition("_")[0] not in others]

    @cache  # noqa: B019
    def compare_parts(self) -> Parts:
        return {
            **self._asked(),
            "ensembles": part([self.place_parts(paper) for paper in self.papers]),
            "print": files_part(self.root, self.data_files([*_PLACED_FROM, *_REFERENCE])),
            **reach.of_step("compare"),
        }

    @cache  # noqa: B019
    def ledger_parts(self) -> Parts:
        return {
            **self._asked(),
            "claims": part([self.judge_parts(paper) for paper in self.papers]),
            "print": files_part(self.root, self.data_files(["claims/**/*.*"])),
            BASELINE: files_part(self.root, self.data_files(["expected/**/*.*"])),
            **reach.of_step("ledger"),
        }

    def _asked(self) -> Parts:
        """The parts that both halves of the ledger have."""
        return {
            "numbers": part([self.numbers_parts(paper) for paper in self.papers]),
            "configuration": part([self._configuration(paper) for paper in self.papers]),
            "scope": part([self.config.papers, sorted(self.config.only)]),
        }

    def write_up_parts(self) -> Parts:
        sources = " ".join(cell.source for cell in cells(self.notebook_source(WRITE_UP)) if cell.kind == "code")
        named = {f"{paper}.{short_id(name)}" for paper, name in re.findall(r"(\w+)\.(\w+)", sources)}
        shown = [
            parts for name, parts in self.exhibit_parts.items() if f"{name.partition('.')[0]}.{short_id(name)}" in named
        ]
        return {
            **self._of_notebook(WRITE_UP),
            "ledger": part([self.compare_parts(), self.ledger_parts()]),
            "exhibits": part(shown),  # it displays the figures that its cells name
        }

    def report_parts(self) -> Parts:
        sources = {name: self.notebook_source(name) for name in self.papers}
        shown = {
            name: notebook_cells(path, self.papers[name]) for name, path in sources.items() if path.is_file()
        }  # the report links to these cells
        return {
            "ledger": part([self.compare_parts(), self.ledger_parts()]),
            "exhibits": self._shown(),
            "linked": part([[page.name for page in self.linked], shown]),
            "checksums": part(checksums.listed_of_compared(self.layout.data)),  # the report names altered files
            **reach.of_step("report"),
        }

    @property
    def linked(self) -> list[Path]:
        """Pages that the report links to: existing ones, and those that this run makes."""
        is_made = {self.layout.lab: self._is_whole, self.layout.write_up: self.has_write_up}
        is_made |= {self.layout.results / f"notebooks/{paper}.html": True for paper in self.notebooks}
        pages = [self.layout.validation / "report.html", *is_made]
        return [page for page in pages if is_made.get(page) or page.is_file()]

    def lab_parts(self) -> Parts:
        return {
            "engine": wasm.digest()[:SHORT],
            "configuration": part([self._configuration(paper) for paper in self.papers]),
            "print": self._print(PAPERS, _OF_NUMBERS),
            BASELINE: files_part(self.root, self.data_files(["expected/*/*.csv"])),
            **reach.of_step("packet_lab"),
        }

    @cached_property
    def steps(self) -> list[Step]:
        """Every step, in the order in which data passes through them."""
        found = [
            self._step("measure", f"{p}/{e}", f"metrics/{p}/{e}", self.held[p].metrics_parts(e))
            for p, e in self.measured
        ]
        found += [self._step("numbers", p, f"numbers/{p}", self.numbers_parts(p)) for p in self.papers]
        found += [
            self._step("draw", e.id, f"exhibits/{p.paper}/{short_id(e.id)}", self.exhibit_parts[e.id])
            for p, e in self.exhibits
        ]
        found += [self._step("notebook", p, f"notebooks/{p}", self.notebook_parts(p)) for p in self.notebooks]
        found += self.beside.steps if self.beside else []
        if not self.is_raw:
            found += [self._step("judge", p, f"judged/{p}", self.judge_parts(p)) for p in self.papers]
            found += [self._step("place", p, f"placed/{p}", self.place_parts(p)) for p in self.papers]
            found.append(self._step("compare", "", "compared", self.compare_parts()))
            found.append(self._step("ledger", "", "ledger", self.ledger_parts()))
            found.append(self._step("report", "", "report", self.report_parts()))
        if self.has_write_up:
            found.append(self._step("notebook", WRITE_UP, f"notebooks/{WRITE_UP}", self.write_up_parts()))
        if self._is_whole:
            found.append(self._step("lab", "", "lab", self.lab_parts()))
        return found

    def _step(self, kind: str, item: str, place: str, parts: Parts) -> Step:
        return Step(kind, item, self.layout.work / place, parts, self.layout)

    @cached_property
    def beside(self) -> Plan | None:
        """The shipped recordings, which a full run from bundled data shows too."""
        is_full = self._is_whole and self.config.source == "bundled" and self.config.missing == "simulate"
        is_full = is_full and (self.layout.data / "raw" / "examples").is_dir()
        return Plan({"source": "raw"}, self.root) if is_full else None

    def targets(self, kind: str = "", paper: str = "") -> list[Path]:
        """The target files of the steps, of all kinds or of one, of all papers or of one."""
        return [step.target for step in self.of_kind(kind, paper)]

    def of_kind(self, kind: str = "", paper: str = "") -> list[Step]:
        """The steps, of all kinds or of one, of all papers or of one."""
        return [
            step for step in self.steps if kind in ("", step.kind) and paper in ("", re.split("[/.]", step.item)[0])
        ]

    def to_make(self, kind: str, paper: str = "") -> list[Path]:
        """The missing ones of these targets."""
        return [target for target in self.targets(kind, paper) if not target.is_file()]

    @cached_property
    def stale_ensembles(self) -> list[str]:
        """A line for each shipped ensemble that was made from other code or other ranges, when this is first used."""
        if not self.layout.ensembles.is_dir():
            return []
        files = [path for path in self.layout.ensembles.glob("*") if not is_editors(path.name)]
        acting = (code.of_algorithms(cc.names()), reach.of_modules(*_OF_ENSEMBLES))
        made_from = part([*map(self._configuration, self.papers), files_part(self.root, sorted(files)), acting])

        def work_out() -> list[str]:
            from tcpfair.runs import ensemble_table

            return ensemble_table.stale_lines(self.layout, self.papers)

        lines = self._remembered.get("ensembles", made_from, work_out)
        self._remembered.save()
        return lines

    # --- Stale outputs ---------------------------------------------------------------------------------------------

    def reasons(self, step: Step) -> list[str]:
        """Why a step must run: the parts that changed, ``missing``, or ``failed``; empty if its output is up to date."""

        def hash_of(name: str, path: Path) -> str:  # most files have not changed since the last start
            return self._remembered.of_file(f"{step.name}: {name}", path, partial(file_hash, path))

        found = outputs.changed(step.folder, step.parts, hash_of)
        if not found and step.kind in ("draw", "notebook"):  # the notebook of recordings draws its exhibits itself
            drawn = (step.folder / "exhibits").rglob("*.json")
            if any(record.read(path).status == "failed" for path in drawn):
                return ["failed"]
        return found

    @cached_property
    def stale(self) -> list[tuple[Step, list[str]]]:
        """The steps to run, each with its reasons, when this is first used."""
        return [(step, reasons) for step in self.steps if (reasons := self.reasons(step))]

    def refuse_what_is_missing(self) -> None:
        """With ``missing: refuse``: InputError when a requested run is missing."""
        if self.config.missing == "refuse" and self.lacking:
            short = [f"{'/'.join(pair)} ({len(runs)} runs)" for pair, runs in self.lacking.items()]
            paper, experiment = next(iter(self.lacking))
            why = self.held[paper].why_missing(experiment)
            raise InputError(
                f"source {self.config.source}: missing runs: {', '.join(short)}{f' ({why})' if why else ''}; "
                "without source=bundled, ./reproduce simulates them"
            )

    def refuse_stale_ledger(self, command: str) -> None:
        """Raise InputError if the ledger or its inputs are stale.

        The baseline does not count, because the next one is made from the ledger. Nor do failed exhibits.
        """
        judged = ("measure", "numbers", "draw", "judge", "place", "compare", "ledger")
        stale = {
            step.name: named
            for step, reasons in self.stale
            if step.kind in judged and (named := [name for name in reasons if name not in (BASELINE, "failed")])
        }
        if stale or not all(self.traces.values()):
            name, reasons = [("traces", ["missing"]), *stale.items()][-1]
            raise InputError(
                f"{command}: {self.layout.ledger.relative_to(self.root)}: stale ({name}: {', '.join(reasons)}); "
                f"run ./reproduce first, look at what moved, then ./reproduce {command}"
            )

    def is_up_to_date(self) -> bool:
        """True when every output exists and is current, so that Snakemake has no work."""
        return all(self.traces.values()) and not self.stale

    def refuse_unfinished(self, command: str, first: str) -> None:
        """Raise InputError, with what to do ``first``, if an output is missing or stale."""
        if not self.is_up_to_date():
            left = ", ".join(step.name for step, _ in self.stale[:3]) or "some outputs"
            raise InputError(f"{command}: the run is not finished, or something has changed since ({left}); {first}")

    def publish(self) -> None:
        """Give all finished outputs their stable names."""
        for step in self.steps:
            outputs.publish(step.layout, step.folder)

    def prepare(self) -> None:
        """Prepare a run of the workflow: write the parts of outputs, remove damaged outputs.

        A failed exhibit is drawn again, and outputs made with it are rebuilt.
        """
        self._discard_scratch()
        self._remembered.save()
        _ = self.stale_ensembles  # now, before anybody edits the code while it runs
        failed = {
            step.item.partition(".")[0] for step, reasons in self.stale if step.kind == "draw" and reasons == ["failed"]
        }
        for step in self.steps:
            is_with_failed = failed and (
                step.kind in ("compare", "ledger", "report")
                or (step.kind in ("numbers", "notebook") and step.item in (*failed, WRITE_UP))
            )
            if is_with_failed or any(step is stale for stale, _ in self.stale):
                outputs.discard(step.folder)
            outputs.describe(step.folder, step.parts)
        record.discard_unreadable(self.layout)
        self.publish()

    def collect(self) -> None:
        """Remove old outputs after a complete run."""
        for step in self.steps:
            outputs.collect(step.folder)

    def _discard_scratch(self) -> None:
        """Remove unfinished files of killed runs, except in folders that other commands may be writing to."""
        others = {self.layout.study("").name, self.layout.ensemble_shards.name}
        discard_scratch(self.layout.results)
        for folder in self.layout.results.glob("*/"):
            if folder.name not in others:
                discard_scratch(folder, deep=True)
        discard_scratch(self.layout.figures(""), deep=True)


class Cell(NamedTuple):
    """The relevant parts of a cell: links lead to its id, and tags may let it fail or skip it."""

    kind: str
    source: str
    id: str
    tags: list[str]


def cells(notebook: Path) -> list[Cell]:
    """The cells of a notebook without outputs, counters and editors' additions."""
    try:
        found = json.loads(notebook.read_text())["cells"]
        return [
            Cell(
                cell["cell_type"], "".join(cell["source"]), cell.get("id", ""), cell.get("metadata", {}).get("tags", [])
            )
            for cell in found
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{notebook}: not a notebook; it must be JSON with cells, each with cell_type and source"
        ) from None


def check_algorithms(paper: PaperConfig, path: Path) -> None:
    """InputError when a protocol of a paper's configuration names an unknown algorithm."""
    for label, protocol in paper.protocols.items():
        if isinstance(protocol.cc, Value):
            check_known(f"{path}: protocols.{label}.cc: protocol", [protocol.cc.value], cc.names())


def check_params(paper: PaperConfig, where: str) -> None:
    """InputError when a number among the parameters of a protocol is invalid; the engine checks those of grid variables."""
    from tcpfair.cc.registry import param_values  # imports all algorithms, which only simulations need

    for label, protocol in paper.protocols.items():
        if isinstance(protocol.cc, Value):
            stated = {name: each.value for name, each in protocol.params.items() if isinstance(each, Value)}
            try:
                param_values(protocol.cc.value, {name: x for name, x in stated.items() if isinstance(x, int | float)})
            except InputError as error:
                raise InputError(f"{where}: protocols.{label}: {error}") from None


def find_exhibit(papers: dict[str, PaperConfig], exhibit_id: str) -> tuple[PaperConfig, Exhibit]:
    """The paper and the exhibit of an id as a user writes it; InputError with the known ones for an unknown one."""
    name = exhibit_id.split(".", 1)[0].strip().lower()
    check_known("exhibit (PAPER.EXHIBIT): paper", [name], papers)
    return papers[name], papers[name].exhibit(exhibit_id)


def load_values(path: Path, overrides: dict[str, Any]) -> dict[str, Any]:
    """A configuration file with ``overrides`` on top; InputError names an unknown key and the known ones.

    If the command line names the source ``bundled``, missing runs are refused rather than simulated.
    """
    values = load_yaml(path)
    if overrides.get("source") == "bundled":
        overrides = {"missing": "refuse", **overrides}
    for where, given in ((path.name, values), ("--config", overrides)):
        check_known(f"{where}: key", given, Config.model_fields)
    return {**values, **overrides}


def simulated_runs(plan: Plan) -> Iterator[tuple[Pair, int, float]]:
    """Experiment, number of runs and packets of the runs to simulate."""
    for pair, runs in plan.lacking.items():
        yield pair, len(runs), sum(run.pkts for run in runs)
