"""Links in both directions between claims, exhibits, sections, equations, assumptions, notebooks, configuration and traces.

A claim names its exhibits; claims and exhibits name their experiments; experiments lead to assumptions, configuration and
traces. Links to files are relative to the folder of the report.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from tcpfair.files.layout import Layout
from tcpfair.papers.papers import SAFE_LOADER, Exhibit, PaperConfig, load_yaml
from tcpfair.verdicts.assumptions import ALL
from tcpfair.verdicts.cell_links import notebook_cells
from tcpfair.verdicts.claims.statement import Claim, load_claims
from tcpfair.verdicts.report.marks import View
from tcpfair.verdicts.report.words import anchor, equation_label, label

Link = tuple[str, str]  # address, text


def to(name: str, text: str = "") -> Link:
    """The link to an element by its name, with the `label` of an exhibit or a claim by default."""
    return f"#{anchor(name)}", text or label(name)


def to_experiment(paper: str, name: str) -> Link:
    return to(f"{paper}-x-{name}", name)


@dataclass(frozen=True)
class Section:
    """A section of a paper and what belongs to it: ids of exhibits, equations and claims."""

    paper: str
    id: str
    title: str
    exhibits: list[str]
    equations: list[str]
    claims: list[str]

    @property
    def anchor(self) -> str:
        return anchor(f"{self.paper}-s-{self.id}")

    @property
    def link(self) -> Link:
        return to(self.anchor, self.id.replace("appendix-", "appendix "))


@dataclass(frozen=True)
class Lines:
    """A part of a configuration file: its first and last line, counted from 1, and its text with the numbers."""

    file: str
    first: int
    last: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.file}, lines {self.first} to {self.last}"


@dataclass(frozen=True)
class Chain:
    """All connections, by paper and name."""

    configs: Mapping[str, PaperConfig]
    claims: Mapping[str, list[Claim]]
    sections: Mapping[str, list[Section]]
    lines: Mapping[tuple[str, str], Lines]  # by paper and experiment, or `ALL`
    cells: Mapping[str, str]  # id of the notebook's cell by exhibit
    notebooks: Mapping[str, str]  # address by paper
    traces: Mapping[tuple[str, str], str]  # address of the manifest by paper and experiment

    def notebook(self, paper: str, exhibit_id: str = "") -> Link | None:
        """The executed notebook at the cell that shows an exhibit; the notebook itself if it was not executed."""
        place = self.notebooks.get(paper)
        if not place:
            return None
        cell = self.cells.get(exhibit_id, "")
        return f"{place}#cell-id={cell}" if cell and place.endswith(".html") else place, Path(place).name

    # --- From a claim, an exhibit, an equation, an experiment -----------------------------------------------------

    def sections_of(self, member: str) -> list[Section]:
        """The sections of a claim, an exhibit or an equation."""
        of_paper = self.sections.get(member.partition(".")[0], [])
        return [section for section in of_paper if member in section.claims + section.exhibits + section.equations]

    def around_claim(self, claim: Claim) -> View:
        first, equations = next(iter(claim.exhibits), ""), self.equations_of_claim(claim)
        return self._around(claim.id, first, equations, claim.experiments, self.command_of_claim(claim))

    def around_exhibit(self, exhibit: Exhibit, config: PaperConfig) -> View:
        behind = config.behind(exhibit.experiments)
        ordered = [name for name in config.experiments if name in behind]
        return self._around(exhibit.id, exhibit.id, exhibit.uses, ordered, f"./reproduce figure {exhibit.id}")

    def _around(
        self, member: str, shown: str, equations: Iterable[str], experiments: Iterable[str], command: str
    ) -> View:
        """Everything that a claim or an exhibit is linked with; ``lines`` have the address of their experiment."""
        paper = member.partition(".")[0]
        places = [(paper, name) for name in experiments]
        known = self.configs[paper].experiments
        return {
            "sections": [section.link for section in self.sections_of(member)],
            "equations": [to(equation, equation_label(equation)) for equation in equations],
            "experiments": [to_experiment(*place) for place in places if place[1] in known],
            "lines": [(to_experiment(*place)[0], self.lines[place]) for place in places if place in self.lines],
            "traces": [(self.traces[place], place[1]) for place in places if place in self.traces],
            "notebook": self.notebook(paper, shown),
            "command": command,
        }

    def equations_of_claim(self, claim: Claim) -> list[str]:
        """The equations of the exhibits that show a claim, else those of its sections."""
        exhibits = {each.id: each for each in self.configs[claim.paper].exhibits}
        shown = [equation for name in claim.exhibits if name in exhibits for equation in exhibits[name].uses]
        own = [equation for section in self.sections_of(claim.id) for equation in section.equations]
        return list(dict.fromkeys(shown or own))

    def command_of_claim(self, claim: Claim) -> str:
        """The command that decides a claim: for the exhibits that show it, and those whose experiments it also needs."""
        config = self.configs[claim.paper]
        chosen = [each for each in config.exhibits if each.id in claim.exhibits]
        open_ = set(claim.experiments).difference(*(config.behind(each.experiments) for each in chosen))
        for exhibit in config.exhibits:
            if open_.intersection(behind := config.behind(exhibit.experiments)):
                chosen.append(exhibit)
                open_.difference_update(behind)
        if open_ or not chosen:
            return f"./reproduce --config papers={claim.paper}"
        names = ",".join(exhibit.id for exhibit in chosen)
        return f"./reproduce --config 'only=[{names}]'" if len(chosen) > 1 else f"./reproduce --config only={names}"

    def claims_of(self, paper: str, name: str) -> list[str]:
        """Claims that name an exhibit or an experiment of a paper."""
        return [claim.id for claim in self.claims[paper] if name in (*claim.exhibits, *claim.experiments)]

    def claims_of_equation(self, paper: str, equation: str) -> list[str]:
        """The claims of a paper that need an equation."""
        return [claim.id for claim in self.claims[paper] if equation in self.equations_of_claim(claim)]

    def exhibits_of_experiment(self, paper: str, name: str) -> list[str]:
        config = self.configs[paper]
        return [each.id for each in config.exhibits if name in config.behind(each.experiments)]


def build(
    layout: Layout, configs: Mapping[str, PaperConfig], run_plan: pd.DataFrame, linked: Collection[Path] = ()
) -> Chain:
    """The links of some papers; ``run_plan`` is the ledger's table, with the folders of the traces.

    ``linked`` are pages that exist or will: the executed notebooks among them, in place of their sources.
    """
    claims = {paper: load_claims(layout.data / "claims" / f"{paper}.yaml") for paper in configs}
    lines, cells, notebooks, traces = {}, {}, {}, {}
    for paper, config in configs.items():
        lines |= {(paper, name): part for name, part in config_lines(layout, paper).items()}
        source = layout.root / "notebooks" / f"{paper}.ipynb"
        executed = layout.results / "notebooks" / f"{paper}.html"
        if source.is_file():
            cells |= notebook_cells(source, config)
        if executed in linked:
            notebooks[paper] = relative(layout, executed)
        elif source.is_file():
            notebooks[paper] = relative(layout, source)
    for paper, experiment, trace in run_plan[["paper", "experiment", "trace"]].itertuples(index=False):
        manifest = layout.root / trace / "manifest.json"
        if trace and manifest.is_file():
            traces[paper, experiment] = relative(layout, manifest)
    return Chain(configs, claims, read_sections(layout, claims), lines, cells, notebooks, traces)


def relative(layout: Layout, path: Path) -> str:
    """The address of a file, from the folder of the report."""
    return Path(os.path.relpath(path, layout.results)).as_posix()


# --- Sections -----------------------------------------------------------------------------------------------------


def read_sections(layout: Layout, claims: Mapping[str, list[Claim]]) -> dict[str, list[Section]]:
    """The sections of each paper by ``data/sections.yaml``, with the claims that name them."""
    listed = load_yaml(layout.data / "sections.yaml")
    found = {}
    for paper, of_paper in claims.items():
        exhibit_section = {name: each["id"] for each in listed[paper] for name in each.get("exhibits", ())}
        of_section: dict[str, list[str]] = defaultdict(list)
        for claim in of_paper:
            for name in section_ids(claim, exhibit_section):
                of_section[name].append(claim.id)
        found[paper] = [
            Section(
                paper,
                each["id"],
                each["title"],
                *([f"{paper}.{name}" for name in each.get(kind, ())] for kind in ("exhibits", "equations")),
                of_section[each["id"]],
            )
            for each in listed[paper]
        ]
    return found


def section_ids(claim: Claim, exhibit_section: Mapping[str, str]) -> list[str]:
    """The sections that a claim names: ``5.4, Fig 8`` -> 5.4; one that names only a figure is in the figure's section."""
    named = [part.strip() for part in claim.section.split(",")]
    sections = [part.replace("appendix ", "appendix-") for part in named if not part.startswith("Fig")]
    # kozu2014 names its appendices only by their letters
    sections = [
        f"appendix-{part}" if len(part) == 1 and part.isupper() and part not in "IVX" else part for part in sections
    ]
    figures = [re.sub(r"Fig (\d+)\w*", r"fig\1", part) for part in named if part.startswith("Fig")]
    return sections or [exhibit_section[name] for name in figures if name in exhibit_section]


# --- Configuration and notebooks ----------------------------------------------------------------------------------


def config_lines(layout: Layout, paper: str) -> dict[str, Lines]:
    """The lines of ``config/papers/<paper>.yaml`` by experiment, and under `ALL` those that all experiments share."""
    path = layout.paper_config(paper)
    text = path.read_text(encoding="utf-8")
    root = yaml.compose(text, Loader=SAFE_LOADER)
    entries = {key.value: (key, value) for key, value in root.value}
    name, all_lines = path.relative_to(layout.root).as_posix(), text.splitlines()
    key, experiments = entries["experiments"]
    found = {ALL: _lines(name, all_lines, 0, key.start_mark.line)}
    for own, value in experiments.value:
        found[own.value] = _lines(name, all_lines, own.start_mark.line, value.end_mark.line)
    return found


def _lines(file: str, lines: list[str], start: int, end: int) -> Lines:
    """Lines from ``start`` (from 0) up to ``end``, without blank lines and comments at the end."""
    while end > start + 1 and re.match(r"\s*(#|$)", lines[end - 1]):
        end -= 1
    width = len(str(end))
    text = "\n".join(f"{number:>{width}}  {lines[number - 1]}" for number in range(start + 1, end + 1))
    return Lines(file, start + 1, end, text)
