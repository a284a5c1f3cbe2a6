"""What one configuration asks for: the runs that are missing, the steps to take, and from what each output is made."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tcpfair import cc
from tcpfair.contract import checksums, code, costs, reach, record, recordings, stamps, store
from tcpfair.contract.expand import check, plain_values, run_specs, shorten
from tcpfair.contract.files import discard_scratch, is_editors, write_whole
from tcpfair.contract.layout import ENSEMBLE_TABLES, LEDGER_TABLES, PAPERS, WRITE_UP, Layout, short_id
from tcpfair.contract.papers import Config, Exhibit, PaperConfig, Value, check_config, load_paper, load_yaml
from tcpfair.contract.stamps import Stamp, files_part, part
from tcpfair.contract.store import Asked
from tcpfair.errors import InputError, unknown
from tcpfair.verdicts.cell_links import notebook_cells
from tcpfair.web import tours, wasm
from tcpfair.workflow.state import PLANNED_PKTS_PER_S

PART_PKTS = 1.5e9  # of a part at least, about: a minute of one core, long against starting a process or a cluster's job
BASELINE = "baseline"  # the part of the ledger's stamp that has data/expected
_OF_ENSEMBLES = (
    "contract/ensemble_table.py",
    "measures/groups.py",
    "measures/replicates.py",
)  # the code that decides on them
SMALL = "small"  # the group of experiments that are not worth a cluster's job each

# files of data/ that exhibits of a kind read beside print; tests/workflow/test_opened_files.py checks that none is missing
READ_BY_KIND = {"definition_table": ("equations.yaml",)}


@dataclass(frozen=True)
class Step:
    """One step whose output stays: its kind, what it works on, the file that stands for its output, and its stamp."""

    kind: str
    item: str  # paper/experiment, paper, exhibit id or nothing
    output: Path
    stamp: Stamp


class Plan:
    """Experiments and notebooks that a configuration asks for, and the stamp of every output.

    ``values`` is the content of ``config/config.yaml`` with the overrides of the command line. Raises InputError
    with one line when it, or the configuration of a paper, is wrong.
    """

    AT_ONCE = 10**9  # the priority of a step that goes before every simulation

    def __init__(self, values: dict[str, Any], root: Path, where: str = "config") -> None:
        self.root = root
        self.config: Config = check_config(values, where)
        if self.config.smoke and self.config.source != "engine":
            raise InputError(f"{where}: smoke: goes with source engine; {self.config.source!r} simulates nothing")
        self.layout = Layout(root, self.config.source, recordings.folder_of(self.config.trace))
        self.is_raw = self.config.source == "raw"
        if self.config.trace and not self.is_raw:
            papers = recordings.load_raw(self.layout.config / "raw.yaml").beside.papers
            if not set(self.config.papers) <= set(papers):
                raise InputError(
                    f"{where}: trace: {self.config.trace!r} is shown with source=raw, or beside the figures of a paper: "
                    f"papers={' or papers='.join(papers)}"
                )
        for each in recordings.recordings_in(self.config.trace):
            if not (root / each).exists():
                raise InputError(f"{where}: trace: {each}: no such file or folder")
        wanted = {exhibit_id.split(".", 1)[0] for exhibit_id in self.config.only}
        names = [paper for paper in self.config.papers if paper in wanted] or self.config.papers
        self.papers = {name: load_paper(self.layout.paper_config(name)) for name in names if not self.is_raw}
        self.only = [find_exhibit(self.papers, exhibit_id) for exhibit_id in self.config.only if not self.is_raw]
        self._exhibit_stamps: dict[str, Stamp] = {}
        for name in self.config.only if self.is_raw else ():
            exhibit = name.rpartition(".")[2]
            if exhibit not in recordings.EXHIBITS:
                raise unknown(f"{where}: only: exhibit of a recording", exhibit, recordings.EXHIBITS)
        for name, paper in self.papers.items():
            check_algorithms(paper, self.layout.paper_config(name))

    # --- What is asked for ---------------------------------------------------------------------------------------

    @cached_property
    def exhibits(self) -> list[tuple[PaperConfig, Exhibit]]:
        """The exhibits to draw: those named in ``only``, or all."""
        every = [(paper, exhibit) for paper in self.papers.values() for exhibit in paper.exhibits]
        return self.only or every

    @cached_property
    def experiments(self) -> list[tuple[str, str]]:
        """(paper, experiment) of the experiments of all papers, or of the exhibits in ``only`` and their weights."""
        if not self.only:
            return [(name, experiment) for name, paper in self.papers.items() for experiment in paper.experiments]
        return list(dict.fromkeys(pair for paper, exhibit in self.only for pair in needed(paper, exhibit)))

    @cached_property
    def measured(self) -> list[tuple[str, str]]:
        """The experiments among them that ask for metrics."""
        return [pair for pair in self.experiments if self.papers[pair[0]].experiments[pair[1]].measures]

    @cached_property
    def notebooks(self) -> list[str]:
        """Papers that have a notebook; ``raw`` is the notebook of recordings."""
        if self.is_raw:
            return ["raw"]
        return [paper for paper in self.papers if self.notebook_source(paper).is_file()]

    def weights(self, paper: str, experiment: str) -> str | None:
        """The experiment that the NRU weights of this one come from."""
        weights = self.papers[paper].experiments[experiment].weights
        return weights.experiment if weights else None

    def specs(self, paper: str, experiment: str) -> list:
        """The runs of an experiment; in a smoke run one of each grid point, cut short."""
        specs = run_specs(self.papers[paper], experiment)
        if not self.config.smoke:
            return specs
        return [shorten(spec, self.config.smoke_duration_s) for spec in specs if spec.replicate == 0]

    # --- Runs that are there, and runs to simulate -----------------------------------------------------------------

    @cached_property
    def _remembered(self) -> _Remembered:
        return _Remembered(self.layout.results / "asked.json", self.config)

    @cached_property
    def asked(self) -> dict[tuple[str, str], list[Asked]]:
        """The runs that every wanted experiment asks for. Raises InputError for a value that no run can have."""
        remembered = self._remembered
        for pair in self.experiments:
            key = self._expanded_from(pair[0])
            if remembered.get(pair, key) is None:
                check(self.papers[pair[0]], pair[1])
                remembered.put(pair, key, store.asked(self.specs(*pair)))
        return {pair: remembered.get(pair, self._expanded_from(pair[0])) for pair in self.experiments}

    @cache  # noqa: B019  (a plan lives as long as the process)
    def _expanded_from(self, paper: str) -> str:
        """What the runs of a paper's experiments are expanded from: its configuration and the code that does it."""
        return part([files_part(self.root, [self.layout.paper_config(paper)]), code.of_rooms("contract", "units.py")])

    @cached_property
    def traces(self) -> dict[tuple[str, str], Path | None]:
        """Folder of the trace that is just what is asked for; None where it has to be made."""
        if self.config.smoke:
            return dict.fromkeys(self.experiments)
        return {pair: store.whole_trace(self.layout, *pair, runs) for pair, runs in self.asked.items()}

    @cached_property
    def lacking(self) -> dict[tuple[str, str], list[Asked]]:
        """The runs that have to be simulated, by experiment; an experiment may need none and yet a new trace."""
        open_pairs = (pair for pair, folder in self.traces.items() if folder is None)
        return {pair: store.missing(self.layout, *pair, self.asked[pair]) for pair in open_pairs}

    def trace_folder(self, paper: str, experiment: str) -> Path:
        """Where the trace of an experiment stands, or will."""
        return self.traces[paper, experiment] or self.layout.simulated(paper, experiment)

    def trace_mark(self, paper: str, experiment: str) -> Path:
        """The file that stands for the trace: its manifest where it is shipped, else one beside what is made."""
        folder = self.trace_folder(paper, experiment)
        shipped = folder.is_relative_to(self.layout.bundled_root)
        return folder / "manifest.json" if shipped else folder.with_name(f"{folder.name}.json")

    def parts(self, paper: str, experiment: str) -> list[str]:
        """Names of the parts in which the missing runs of an experiment are simulated: ``1-of-2``, ``2-of-2``."""
        missing = self.lacking.get((paper, experiment), [])
        n = min(len(missing), self._n_parts(sum(run.pkts for run in missing)))
        return [f"{number}-of-{n}" for number in range(1, n + 1)]

    def batch(self, paper: str, experiment: str) -> str | None:
        """The group of small experiments that a cluster simulates one after another; None for one that has jobs of its own.

        Says the same whatever has been simulated already: a group's jobs read the plan again, each when it starts.
        """
        return SMALL if self._asked_pkts(paper, experiment) < 1.5 * PART_PKTS else None

    def gathering(self, paper: str, experiment: str) -> str:
        """The group of an experiment's trace and metrics: one for those that take weights from another's metrics.

        So that what hangs together in a group is a chain, never two steps side by side, which would want two processors.
        """
        return "weigh" if self.weights(paper, experiment) else "measure"

    def minutes(self, paper: str, experiment: str) -> int:
        """What a cluster is asked for, for one part of an experiment."""
        return costs.runtime_min(self._part_pkts(paper, experiment) / PLANNED_PKTS_PER_S)

    def priority(self, paper: str, experiment: str) -> int:
        """Of the parts of an experiment: the longest go first, so that none is left to run alone at the end."""
        return round(self._part_pkts(paper, experiment) / 1e6)

    def _part_pkts(self, paper: str, experiment: str) -> float:
        """Packets of one part, where nothing has been simulated yet."""
        pkts = self._asked_pkts(paper, experiment)
        return pkts / self._n_parts(pkts)

    def _n_parts(self, pkts: float) -> int:
        return min(self.config.shards, max(1, round(pkts / PART_PKTS)))

    def _asked_pkts(self, paper: str, experiment: str) -> float:
        return sum(run.pkts for run in self.asked[paper, experiment])

    def part_file(self, paper: str, experiment: str, name: str) -> Path:
        """What a finished part leaves."""
        return self.layout.finished_runs(paper, experiment) / f"{name}.json"

    def why_simulated(self, paper: str, experiment: str) -> list[str]:
        """What of the configuration or the code makes runs missing; empty when there never was a trace."""
        specs = self.specs(paper, experiment)
        return store.differences(self.layout, self.papers[paper], experiment, specs)

    # --- Outputs ---------------------------------------------------------------------------------------------------

    def notebook_source(self, paper: str) -> Path:
        return self.root / "notebooks" / f"{paper}.ipynb"

    def notebook(self, paper: str) -> Path:
        """The executed notebook."""
        return self.layout.results / "notebooks" / f"{paper}.ipynb"

    @property
    def numbered(self) -> list[str]:
        """The papers that have exhibits to draw, and thus numbers."""
        return list(dict.fromkeys(config.paper for config, _ in self.exhibits))

    def numbers(self, paper: str) -> list[Path]:
        """The tables of numbers of a paper's exhibits."""
        mine = (exhibit.id for config, exhibit in self.exhibits if config.paper == paper)
        return [record.place(self.layout, "numbers", name, ".csv") for name in mine]

    @property
    def placed_tables(self) -> list[Path]:
        return [self.layout.placed / f"{table}.parquet" for table in ENSEMBLE_TABLES]

    @property
    def ledger_tables(self) -> list[Path]:
        return [self.layout.ledger / f"{table}.csv" for table in LEDGER_TABLES]

    def rehearsal(self, paper: str) -> Path:
        """What a smoke run says of a paper's experiments."""
        return self.layout.results / "rehearsals" / f"{paper}.csv"

    @property
    def report(self) -> Path:
        return self.layout.results / "report.html"

    @property
    def checked(self) -> Path:
        """Written when no exhibit failed."""
        return self.layout.results / "checked.txt"

    @property
    def planned(self) -> Path:
        """The stamps that the outputs are to have, for the steps of the workflow."""
        return self.layout.results / "planned.json"

    @property
    def opened(self) -> Path:
        """What there is to open at the end."""
        return self.notebook("raw").with_suffix(".html") if self.is_raw else self.report

    def record(self, exhibit: Exhibit) -> Path:
        """The record that stands for the files of an exhibit."""
        return record.place(self.layout, "exhibits", exhibit.id, ".json")

    @property
    def write_up(self) -> Path | None:
        """The executed notebook that says what reproduces; none where only a part is asked for: it speaks of all papers."""
        return self.notebook(WRITE_UP) if self._is_whole and self.notebook_source(WRITE_UP).is_file() else None

    @property
    def lab(self) -> Path | None:
        """The packet lab, a page with the engine in it and presets of all papers; none where only a part is asked for."""
        return self.layout.lab if self._is_whole else None

    @property
    def _is_whole(self) -> bool:
        return set(self.papers) == set(PAPERS) and not (self.config.smoke or self.config.only or self.config.trace)

    def drawn_of(self, paper: str) -> list[Exhibit]:
        """The exhibits that the notebook of a paper draws in this run; it shows the others as they are."""
        return [exhibit for config, exhibit in self.stale_exhibits if config.paper == paper]

    def drawn_by(self, paper: str) -> list[Path]:
        """The figure files and records that the notebook of a paper makes in this run."""
        mine = self.drawn_of(paper)
        return [path for each in mine for path in (*record.figure_files(self.layout, each), self.record(each))]

    @property
    def outputs(self) -> list[Path]:
        """Every file that a finished run leaves; all are asked for by name, so that none stays missing between others."""
        if self.config.smoke:
            return [self.rehearsal(paper) for paper in self.rehearsed]
        marks = [self.trace_mark(*pair) for pair in self.experiments]
        metrics = [self.layout.metrics(*pair) for pair in self.measured]
        pages = [path for paper in self.notebooks for path in self.pages(paper)]
        judged = [path for paper in self.numbered for path in self.numbers(paper)]
        judged += [] if self.is_raw else [*self.placed_tables, *self.ledger_tables, self.report]
        judged += self.pages(WRITE_UP) if self.write_up else []
        judged += [self.lab] if self.lab else []
        return [*marks, *metrics, *pages, *judged, self.checked]

    def pages(self, paper: str) -> list[Path]:
        """The executed notebook and its HTML."""
        return [self.notebook(paper), self.notebook(paper).with_suffix(".html")]

    @property
    def rehearsed(self) -> list[str]:
        return [name for name, paper in self.papers.items() if paper.experiments]

    @property
    def compared(self) -> list[Path]:
        """What results are compared with: printed numbers, claims, tolerances, their scatter, other simulators, the baseline."""
        return [*self.published, *self.baseline]

    @property
    def published(self) -> list[Path]:
        """Those of them that do not come from here: all but the baseline."""
        return sorted([*self.placed_from, *self._data_files("scatter.csv", "reference/**/*.*")])

    @property
    def baseline(self) -> list[Path]:
        """The accepted numbers and verdicts."""
        return sorted(self._data_files("expected/**/*.*"))

    @property
    def placed_from(self) -> list[Path]:
        """What is printed, and the ensembles among whose settings it is placed."""
        return sorted(self._data_files("*.yaml", "published/**/*.*", "claims/**/*.*", "ensemble/**/*.*"))

    def _data_files(self, *patterns: str) -> list[Path]:
        """Files of ``data`` without those of editors."""
        found = (path for pattern in patterns for path in self.layout.data.glob(pattern))
        return [path for path in found if not is_editors(path.name)]

    def weights_table(self, paper: str, experiment: str) -> list[Path]:
        """The metrics that the weights of an experiment are taken from, if any."""
        weights = self.weights(paper, experiment)
        return [self.layout.metrics(paper, weights)] if weights else []

    def shown(self, paper: str) -> list[Path]:
        """What a paper's notebook shows: the metrics of its experiments and their traces."""
        metrics = [self.layout.metrics(*pair) for pair in self.measured if pair[0] == paper]
        return metrics + [self.trace_mark(*pair) for pair in self.experiments if pair[0] == paper]

    @property
    def recordings(self) -> list[Path]:
        """Files of the user's own recordings, or of the shipped examples when none is named."""
        traces = [self.root / each for each in recordings.recordings_in(self.config.trace or "data/raw/examples")]
        found = {
            path
            for trace in traces
            for path in (trace, recordings.sidecar_path(trace), *trace.rglob("*"))
            if path.is_file()
        }
        return sorted(found)

    # --- Stamps ----------------------------------------------------------------------------------------------------

    @cached_property
    def runs_parts(self) -> dict[tuple[str, str], str]:
        """Digest of the runs of each experiment and of the code that makes them."""
        return {pair: part(store.identity(runs)) for pair, runs in self.asked.items()}

    @cache  # noqa: B019
    def measure_stamp(self, paper: str, experiment: str) -> Stamp:
        return store.measure_stamp(self.papers[paper], experiment, lambda name: self.asked[paper, name])

    def exhibit_stamp(self, paper: PaperConfig, exhibit: Exhibit) -> Stamp:
        if exhibit.id not in self._exhibit_stamps:
            self._exhibit_stamps[exhibit.id] = self._exhibit_stamp(paper, exhibit)
        return self._exhibit_stamps[exhibit.id]

    def _exhibit_stamp(self, paper: PaperConfig, exhibit: Exhibit) -> Stamp:
        pairs = needed(paper, exhibit)
        behind = {name: paper.experiments[name] for _, name in pairs}
        shared = {name: getattr(paper, name) for name in ("settings", "flow", "protocols", "traffic", "analysis")}
        return {
            "runs": part([self.runs_parts[pair] for pair in pairs]),
            "metrics": part([self.measure_stamp(*pair) for pair in pairs if pair in self.measured]),
            "configuration": part(plain_values({"exhibit": exhibit, "experiments": behind, **shared})),
            "print": files_part(self.root, [self._printed(paper.paper), *self._read_by(exhibit)]),
            **reach.of_modules(*reach.EXHIBITS),
        }

    def _read_by(self, exhibit: Exhibit) -> list[Path]:
        """Files of ``data`` that drawing an exhibit reads, beside what is printed."""
        names = ("cells.yaml", "tolerances.yaml", *READ_BY_KIND.get(exhibit.draw, ()))
        return [self.layout.data / name for name in names]

    def _printed(self, paper: str) -> Path:
        return self.layout.data / "published" / f"{paper}.csv"

    def numbers_stamp(self, paper: str) -> Stamp:
        return {
            "exhibits": part(
                {e.id: self.exhibit_stamp(config, e) for config, e in self.exhibits if config.paper == paper}
            ),
            **reach.of_step("numbers"),
        }

    def notebook_stamp(self, paper: str) -> Stamp:
        common = self._of_notebook(paper)
        settings = self.layout.config / "raw.yaml"
        if self.is_raw:
            return {
                **common,
                "configuration": part([files_part(self.root, [settings]), self.config.only, self.config.trace]),
                "recordings": files_part(self.root, self.recordings),
            }
        if self.config.trace:
            common["recordings"] = files_part(self.root, self.recordings)
            common["configuration"] = files_part(self.root, [settings])
        mine = {e.id: self.exhibit_stamp(config, e) for config, e in self.exhibits if config.paper == paper}
        return {**common, "exhibits": part(mine)}

    def _of_notebook(self, name: str) -> Stamp:
        found = cells(self.notebook_source(name))
        return {"cells": part(found), **reach.of_notebook(cell.source for cell in found if cell.kind == "code")}

    @property
    def _configuration(self) -> str:
        papers = (self.layout.paper_config(paper) for paper in self.papers)
        return files_part(self.root, [self.layout.ensemble_config, *papers])

    def place_stamp(self) -> Stamp:
        return {
            "configuration": self._configuration,
            "scope": part(list(self.papers)),
            "print": files_part(self.root, self.placed_from),
            "simulator": part(code.of_algorithms(cc.names())),  # an ensemble of another one than today's is left out
            **reach.of_step("place"),
        }

    def ledger_stamp(self) -> Stamp:
        return {
            "exhibits": part({exhibit.id: self.exhibit_stamp(paper, exhibit) for paper, exhibit in self.exhibits}),
            "metrics": part([self.measure_stamp(*pair) for pair in self.measured]),
            "ensembles": part(self.place_stamp()),
            "configuration": self._configuration,
            "scope": part([self.config.papers, sorted(self.config.only)]),
            "print": files_part(self.root, self.published),
            BASELINE: files_part(self.root, self.baseline),
            **reach.of_step("ledger"),
        }

    def write_up_stamp(self) -> Stamp:
        return {**self._of_notebook(WRITE_UP), "ledger": part(self.ledger_stamp())}

    def report_stamp(self) -> Stamp:
        linked = [self.layout.validation / "report.html", *self.beside]
        there = [page.is_file() or page in self.beside_made for page in linked]
        sources = {name: self.notebook_source(name) for name in self.papers}
        shown = {
            name: notebook_cells(path, self.papers[name]) for name, path in sources.items() if path.is_file()
        }  # the report leads to these cells
        return {
            "ledger": part(self.ledger_stamp()),
            "linked": part([there, shown]),
            "checksums": part(checksums.listed_of_compared(self.layout.data)),  # the report names altered files
            **reach.of_step("report"),
        }

    @property
    def beside(self) -> list[Path]:
        """Pages that the report links to where they are there: the packet lab and the write-up."""
        return [self.layout.lab, self.layout.write_up]

    @property
    def beside_made(self) -> list[Path]:
        """Those of them that this run has as outputs, and the report therefore waits for."""
        return [page for page, made in zip(self.beside, (self.lab, self.write_up), strict=True) if made]

    @property
    def lab_inputs(self) -> list[Path]:
        """Configuration and print of all papers, whichever are asked for: the lab has presets and tours of each."""
        papers = [self.layout.paper_config(name) for name in PAPERS]
        tables = (self.layout.data / f"{name}.yaml" for name in ("cells", "tolerances", "equations"))
        return [*papers, *(self._printed(name) for name in PAPERS), *tables, *tours.baseline(self.layout)]

    def lab_stamp(self) -> Stamp:
        return {
            "engine": wasm.digest()[: code.DIGEST_LENGTH],
            "configuration": files_part(self.root, self.lab_inputs),
            **reach.of_step("packet_lab"),
        }

    @cached_property
    def steps(self) -> list[Step]:
        """Every step whose output stays, in the order in which data passes through them."""
        if self.config.smoke:
            return [Step("rehearse", p, self.rehearsal(p), self._rehearsal_stamp(p)) for p in self.rehearsed]
        found = [Step("measure", "/".join(p), self.layout.metrics(*p), self.measure_stamp(*p)) for p in self.measured]
        found += [Step("numbers", p, self.numbers(p)[-1], self.numbers_stamp(p)) for p in self.numbered]
        found += [Step("draw", e.id, self.record(e), self.exhibit_stamp(p, e)) for p, e in self.exhibits]
        found += [Step("notebook", p, self.notebook(p), self.notebook_stamp(p)) for p in self.notebooks]
        if not self.is_raw:
            found.append(Step("place", "", self.placed_tables[0], self.place_stamp()))
            found.append(Step("ledger", "", self.ledger_tables[0], self.ledger_stamp()))
            found.append(Step("report", "", self.report, self.report_stamp()))
        if self.write_up:
            found.append(Step("notebook", WRITE_UP, self.write_up, self.write_up_stamp()))
        if self.lab:
            found.append(Step("lab", "", self.lab, self.lab_stamp()))
        return found

    def _rehearsal_stamp(self, paper: str) -> Stamp:
        of_paper = [pair for pair in self.experiments if pair[0] == paper]
        measured = [self.measure_stamp(*pair) for pair in self.measured if pair[0] == paper]
        return {"runs": part([self.runs_parts[pair] for pair in of_paper]), "metrics": part(measured)}

    @property
    def stale_ensembles(self) -> list[str]:
        """A line for each paper whose shipped ensemble was made from other code or other ranges."""
        if not self.layout.ensembles.is_dir():
            return []
        files = [path for path in self.layout.ensembles.glob("*") if not is_editors(path.name)]
        acting = (code.of_algorithms(cc.names()), reach.of_modules(*_OF_ENSEMBLES))
        made_from = part([self._configuration, files_part(self.root, sorted(files)), acting])

        def work_out() -> list[str]:
            from tcpfair.contract import ensemble_table

            return ensemble_table.stale_lines(self.layout, self.papers)

        return self._remembered.lines("ensembles", made_from, work_out)

    # --- What is stale ---------------------------------------------------------------------------------------------

    def reasons(self, step: Step) -> list[str]:
        """Why a step has to be taken: names of what has changed, ``missing``, or ``failed``; empty when it is done."""
        found = stamps.changed(step.output, step.stamp)
        if not found and step.kind == "draw":
            return self._fault_of(step.output)
        return found

    def _fault_of(self, path: Path) -> list[str]:
        """Why what a record says does not do: the exhibit failed, or its files are gone or are others now."""
        try:
            found = record.read(path)
        except InputError:
            return ["missing"]
        if found.status != "built":
            return ["failed"]
        return [] if record.is_whole(self.root, found, hashes=True) else ["missing"]

    @cached_property
    def stale(self) -> list[tuple[Step, list[str]]]:
        """The steps to take, each with its reasons, as things are when this is first asked."""
        return [(step, reasons) for step in self.steps if (reasons := self.reasons(step))]

    @cached_property
    def stale_exhibits(self) -> list[tuple[PaperConfig, Exhibit]]:
        """The exhibits to draw anew."""
        drawn = {step.item for step, _ in self.stale if step.kind == "draw"}
        return [(paper, exhibit) for paper, exhibit in self.exhibits if exhibit.id in drawn]

    def refuse_what_is_missing(self) -> None:
        """With ``missing: refuse``: InputError when a run is asked for that is not there."""
        if self.config.missing == "refuse" and self.lacking:
            short = [f"{name} ({len(runs)} runs)" for name, runs in _by_name(self.lacking).items()]
            pair = next(iter(self.lacking))
            why = "; ".join(self.why_simulated(*pair)[:3])
            raise InputError(
                f"source {self.config.source}: not held: {', '.join(short)}{f' ({why})' if why else ''}; "
                "without source=bundled, ./reproduce simulates what is missing"
            )

    def refuse_stale_ledger(self, command: str) -> None:
        """InputError when the ledger, or what it was made from, is not what the configuration asks for now.

        The baseline does not count: the ledger is compared with it and gives the next one. Nor do exhibits that failed.
        """
        judged = ("measure", "numbers", "draw", "place", "ledger")
        stale = {
            f"{step.kind} {step.item}".strip(): named
            for step, reasons in self.stale
            if step.kind in judged and (named := [name for name in reasons if name not in (BASELINE, "failed")])
        }
        if stale or not all(self.traces.values()):
            last = list(stale.items())[-1:] or [("traces", ["missing"])]
            why = "; ".join(f"{name}: {', '.join(reasons)}" for name, reasons in last)
            raise InputError(
                f"{command}: {self.layout.ledger.relative_to(self.root)}: stale ({why}); run ./reproduce first, look at what "
                f"moved, then ./reproduce {command}"
            )

    def is_up_to_date(self) -> bool:
        """True when every output is there and made from what it should be: Snakemake would find nothing to do."""
        whole = self.config.smoke or all(self.traces.values())
        return whole and not self.stale and all(path.is_file() for path in self.outputs)

    def discard_stale(self, kinds: Sequence[str] = ()) -> None:
        """Remove the outputs of some kinds of steps (none = all) that are not what they should be; write the plan down.

        A trace is not removed: the runs in it that are still asked for are taken over into the new one.
        """
        self._discard_scratch()
        self._remembered.save()
        for pair, folder in self.traces.items():
            mark = self.layout.simulated(*pair).with_name(f"{pair[1]}.json")
            if folder is None or folder != self.layout.simulated(*pair):
                mark.unlink(missing_ok=True)
            elif not mark.is_file():
                write_whole(mark, store.MARK)  # its manifest says that it is whole
            if folder is None:
                self._discard_parts(*pair)
                costs.forget(self.layout, "simulate", "/".join(pair))
        again = {exhibit.id for _, exhibit in self.stale_exhibits}
        shown = {paper.paper for paper, exhibit in self.exhibits if exhibit.id in again}
        for step in self.steps:
            is_stale = any(step == stale for stale, _ in self.stale) or (step.kind == "notebook" and step.item in shown)
            if is_stale and (not kinds or step.kind in kinds):
                stamps.discard(step.output)
        record.discard_unreadable(self.layout)
        if not kinds and not all(path.is_file() for path in (self.checked, *self.outputs)):
            self.checked.unlink(missing_ok=True)
        stamps.write_planned(self.planned, self.root, {step.output: step.stamp for step in self.steps})

    def _discard_scratch(self) -> None:
        """Remove what killed runs left half written, but in the folders that other commands may write to meanwhile."""
        others = {self.layout.study("").name, self.layout.ensemble_members("").name}
        discard_scratch(self.layout.results)
        for folder in self.layout.results.glob("*/"):
            if folder.name not in others:
                discard_scratch(folder, deep=True)
        discard_scratch(self.layout.figures(""), deep=True)

    def _discard_parts(self, paper: str, experiment: str) -> None:
        """Remove what an interrupted simulation left but runs that are still asked for."""
        runs = self.asked[paper, experiment]
        place = self.layout.finished_runs(paper, experiment)
        discard_scratch(place)
        for path in place.glob("*") if place.is_dir() else ():
            if store.held(store.manifest_of(self.layout, path), runs):
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


class Cell(NamedTuple):
    """What counts of a cell: links lead to its id, and a tag may let it fail or leave it out."""

    kind: str
    source: str
    id: str
    tags: list[str]


def cells(notebook: Path) -> list[Cell]:
    """What counts of a notebook: its cells without outputs, counters and what an editor adds."""
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


class _Remembered:
    """What takes seconds to work out, kept between starts: the runs of experiments, and which ensembles are stale."""

    def __init__(self, path: Path, config: Config) -> None:
        self.path = path
        self.cut = f"{config.smoke_duration_s:g}" if config.smoke else ""
        self.entries = self._read()
        self.is_new = False

    def _read(self) -> dict[str, list]:
        try:
            return dict(json.loads(self.path.read_text()))
        except (OSError, ValueError, TypeError):
            return {}

    def get(self, pair: tuple[str, str], key: str) -> list[Asked] | None:
        try:
            made_from, kinds, rows = self.entries["/".join(pair)]
            if made_from == key + self.cut:
                return [Asked(run, tuple(kinds[kind]), pkts) for run, kind, pkts in rows]
        except (KeyError, TypeError, ValueError, IndexError):  # not there, or no entry: expanded again
            pass
        return None

    def put(self, pair: tuple[str, str], key: str, runs: list[Asked]) -> None:
        kinds = sorted({run.algorithms for run in runs})
        rows = [(run.key, kinds.index(run.algorithms), run.pkts) for run in runs]
        self.entries["/".join(pair)] = [key + self.cut, kinds, rows]
        self.is_new = True

    def lines(self, name: str, made_from: str, work_out: Callable[[], list[str]]) -> list[str]:
        """Lines of text that ``work_out`` gives for what ``made_from`` is a digest of."""
        match self.entries.get(name):
            case [str(known), list(lines)] if known == made_from and all(isinstance(line, str) for line in lines):
                return lines
        lines = work_out()
        self.entries[name] = [made_from, lines]
        self.is_new = True
        self.save()
        return lines

    def save(self) -> None:
        if self.is_new:
            write_whole(self.path, json.dumps(self.entries))
            self.is_new = False


def check_algorithms(paper: PaperConfig, path: Path) -> None:
    """InputError when a protocol of a paper's configuration names an algorithm that is not there."""
    for label, protocol in paper.protocols.items():
        if isinstance(protocol.cc, Value) and protocol.cc.value not in cc.names():
            raise unknown(f"{path}: protocols.{label}.cc: protocol", str(protocol.cc.value), cc.names())


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
        raise unknown("exhibit (PAPER.EXHIBIT): paper", name, papers)
    for exhibit in papers[name].exhibits:
        if short_id(exhibit.id) == short_id(exhibit_id):
            return papers[name], exhibit
    raise unknown("exhibit", exhibit_id, [exhibit.id for exhibit in papers[name].exhibits])


def load_values(path: Path, overrides: dict[str, Any]) -> dict[str, Any]:
    """A configuration file with ``overrides`` on top; InputError names an unknown key and the known ones.

    A source that is named on the command line is taken at its word: ``bundled`` then refuses what is not shipped.
    """
    values = load_yaml(path)
    if overrides.get("source") == "bundled":
        overrides = {"missing": "refuse", **overrides}
    for where, given in ((path.name, values), ("--config", overrides)):
        for name in given:
            if name not in Config.model_fields:
                raise unknown(f"{where}: key", name, Config.model_fields)
    return {**values, **overrides}


def _by_name(runs: dict[tuple[str, str], list[Asked]]) -> dict[str, list[Asked]]:
    return {"/".join(pair): of_pair for pair, of_pair in runs.items()}


def simulated_runs(plan: Plan) -> Iterator[tuple[str, int, float]]:
    """(paper/experiment, runs, packets) of what has to be simulated."""
    for pair, runs in plan.lacking.items():
        yield "/".join(pair), len(runs), sum(run.pkts for run in runs)
