"""The scope of one run: the requested part of the papers, which the ledger judges.

A run may request only some papers, or some exhibits (``only``). The ledger then has the tables of these papers and counts

* requested exhibits and their numbers; any other exhibit is ``pending``, even if an earlier run has built it;
* claims whose experiments all belong to requested exhibits (including weights), so that this run has measured them. A closed
  form, which has no experiments, counts if an exhibit that shows it was requested. Any other claim is ``not run``.

Exhibits and claims that do not count are not compared with the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcpfair.errors import unknown
from tcpfair.files.layout import Layout, short_id
from tcpfair.papers.papers import Config, PaperConfig, load_paper
from tcpfair.verdicts.claims.statement import Claim


@dataclass(frozen=True)
class Scope:
    """The requested papers and ids of exhibits, and (paper, experiment) of all experiments that these need."""

    papers: Mapping[str, PaperConfig]
    exhibits: frozenset[str]
    experiments: frozenset[tuple[str, str]]
    only: tuple[str, ...] = ()

    def left_out(self, claim: Claim) -> str:
        """Why a claim does not count; empty if it does."""
        needed = {(claim.paper, name) for name in claim.experiments}
        covered = needed <= self.experiments if needed else bool(self.exhibits & set(claim.exhibits))
        return "" if covered or not self.only else f"not requested: this run was limited to {', '.join(self.only)}"


def scope_of(layout: Layout, config: Config) -> Scope:
    """The scope of a configuration. Raises InputError for an invalid configuration of a paper or an unknown exhibit."""
    named = [exhibit.partition(".")[0].strip().lower() for exhibit in config.only]
    papers = {name: load_paper(layout.paper_config(name)) for name in config.papers if not named or name in named}
    exhibits = {exhibit.id: (paper, exhibit) for paper in papers.values() for exhibit in paper.exhibits}
    if config.only:
        exhibits = {exhibit_id: exhibits[exhibit_id] for exhibit_id in _ids(config.only, list(exhibits))}
        behind = {(paper.paper, name) for paper, each in exhibits.values() for name in paper.behind(each.experiments)}
    else:
        behind = {(paper.paper, name) for paper in papers.values() for name in paper.experiments}
    return Scope(papers, frozenset(exhibits), frozenset(behind), tuple(config.only))


def _ids(only: list[str], known: list[str]) -> list[str]:
    """The exhibits that ``only`` names, as the configuration spells them: ``ogura.fig09`` is ``ogura.fig9``."""
    ids = {(name.partition(".")[0], short_id(name)): name for name in known}
    found = []
    for name in only:
        place = (name.partition(".")[0].strip().lower(), short_id(name))
        if place not in ids:
            raise unknown("exhibit", name, known)
        found.append(ids[place])
    return found
