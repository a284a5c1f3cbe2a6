"""The ledger's tables about the ensembles: papers and hypotheses, numbers, inferred testbeds and held-out checks.

They follow only from shipped results, so they are a separate step: `write_shipped` writes them to
``results/<source>/placed``, and the ledger reads them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tcpfair.errors import InputError
from tcpfair.files.files import whole_folder
from tcpfair.files.layout import ENSEMBLE_TABLES, Layout
from tcpfair.files.rounding import rounded_table
from tcpfair.papers.papers import PaperConfig, load_paper
from tcpfair.papers.settings import BASE, Assumption
from tcpfair.runs.ensemble import EnsembleConfig, Excluded, HeldOut, Judging, Numbers, ensemble_of, load
from tcpfair.runs.ensemble_table import Shipped
from tcpfair.verdicts import printed
from tcpfair.verdicts.cells import cells as cells_of
from tcpfair.verdicts.columns import filled
from tcpfair.verdicts.ensemble import inference, placing
from tcpfair.verdicts.ensemble.members import Members, fresh, members_of
from tcpfair.verdicts.scatter import reprints

COLUMNS = {
    "ensemble_papers": [
        *("paper", "hypothesis", "what", "settings", "refused", "numbers", "within_best", "best_setting", "explained"),
        *("with_table", "error_base", "error_best", "crps", "effective_settings", "effective_second"),
    ],
    "ensemble_numbers": [
        *("paper", "hypothesis", *printed.IDENTITY, *placing.PLACED),
        *("in_best", "with_table", "second", "within_second"),
    ],
    "ensemble_testbed": ["paper", "hypothesis", *inference.MARGINALS],
    "ensemble_held_out": [
        *("paper", "hypothesis", "fitted_paper", "fitted", "judged", "n_fitted", "n", "effective_settings"),
        *(f"{kind}{name}" for kind in ("", "within_") for name in ("base", "prior", "inferred", "nearest")),
        "within_best",
    ],
}


@dataclass(frozen=True)
class Judged:
    """The ensemble of one paper compared with the published values, under one hypothesis."""

    members: Members
    cells: pd.DataFrame
    width: pd.Series
    judging: Judging
    assumptions: tuple[Assumption, ...]
    what: str
    others: Mapping[str, Judged] = field(
        default_factory=dict
    )  # other papers, as published, from which this is inferred
    second_reference: str = ""  # one of them
    reprints: frozenset[int] = frozenset()  # numbers that are measurements of one of them

    @property
    def paper(self) -> str:
        return self.members.config.paper

    @cached_property
    def values(self) -> pd.DataFrame:
        """The published numbers in each setting, without those in the text that only repeat a table."""
        return placing.simulated(self.members, self.cells[~placing.repeats(self.cells)])

    @cached_property
    def compared(self) -> pd.DataFrame:
        """Those of the `values` that are compared by a distance."""
        return self.values[[number for number in self.values if np.isfinite(self.width[number])]]

    @cached_property
    def off(self) -> pd.DataFrame:
        return inference.off(self.compared, self.cells, self.width, self.judging.far)

    @cached_property
    def distance(self) -> pd.Series:
        return self.off.abs().mean(axis=1)

    @cached_property
    def hit(self) -> pd.DataFrame:
        return placing.within(self.compared, self.cells, self.width)

    @cached_property
    def best(self) -> int:
        """The setting with most published numbers within tolerance; of equal ones, the nearest."""
        share = self.hit.mean(axis=1)
        return int(self.distance[share[share == share.max()].index].idxmin())

    @cached_property
    def weight(self) -> pd.Series:
        return inference.weights(self.distance, self.judging.accepted)

    @cached_property
    def transferred(self) -> dict[str, pd.Series]:
        """Weight of each setting, inferred from all published numbers of another paper (`inference`), by that paper."""
        found = {}
        for paper, other in self.others.items():
            terms = inference.terms(self.assumptions, self.members.drawn, other.assumptions, other.members.drawn)
            distance = inference.transferred(other.off, terms, self.members.settings, self.judging.far)
            found[paper] = inference.weights(distance, self.judging.accepted)
        return found

    def second(self) -> pd.DataFrame:
        """Predictions of the testbed inferred from the second reference: columns second, within_second by number."""
        if not self.second_reference:
            return pd.DataFrame(columns=["second", "within_second"])
        found = inference.predicted(self.compared, self.transferred[self.second_reference])
        hit = placing.within(found.to_frame().T, self.cells, self.width).iloc[0]
        return pd.DataFrame({"second": found, "within_second": hit})

    @cached_property
    def numbers(self) -> pd.DataFrame:
        found = placing.place(self.compared, self.cells, self.width, self.judging.inside)
        about = self.cells.loc[found.index, printed.IDENTITY]
        with_table = placing.with_their_table(self.hit, self.cells, self.judging.with_table)
        return about.join([found, self.second()]).assign(
            **self._about,
            in_best=self.hit.loc[self.best].reindex(found.index),
            with_table=with_table.reindex(found.index),
        )

    @property
    def _about(self) -> dict[str, str]:
        return {"paper": self.paper, "hypothesis": self.members.hypothesis}

    def summary(self) -> dict:
        about = self._about | {"what": self.what, "settings": len(self.members.settings)}
        about |= {"refused": self.members.refused, "numbers": len(self.compared.columns)}
        if not about["numbers"]:
            return about
        found = self.numbers
        if self.second_reference:
            about["effective_second"] = inference.effective_settings(self.transferred[self.second_reference])
        return about | {
            "within_best": int(self.hit.loc[self.best].sum()),
            "best_setting": self.best,
            "explained": int(found["explained"].sum()),
            "with_table": int(found["with_table"].sum()),
            "error_base": self.distance.get(BASE, np.nan),
            "error_best": self.distance[self.best],
            "crps": float((found["crps"] / found["tolerance"]).mean()),
            "effective_settings": inference.effective_settings(self.weight),
        }

    def testbed(self) -> pd.DataFrame:
        found = inference.marginals(self.weight, self.members.drawn, self.judging.least_effective)
        return found.assign(**self._about)

    def held_out(self, check: HeldOut) -> dict:
        judged = self._chosen(check.predict)
        if check.fit.paper:
            fitted, weight = list(self.others[check.fit.paper].compared), self.transferred[check.fit.paper]
            judged = [number for number in judged if number not in self.reprints]
        else:
            fitted = self._chosen(check.fit)
            weight = inference.weights(self.off[fitted].abs().mean(axis=1), self.judging.accepted)
        return {
            **self._about,
            "fitted_paper": check.fit.paper or self.paper,
            "fitted": check.fit.in_words,
            "judged": check.predict.in_words,
            "n_fitted": len(fitted),
            **inference.held_out(self.values, self.cells, self.width, weight, judged, self.judging.far),
        }

    def _chosen(self, part: Numbers) -> list[int]:
        """The compared numbers that are selected."""
        named = self.cells.loc[list(self.compared), ["exhibit", "key"]].itertuples()
        return [number for number, exhibit, key in named if part.has(exhibit, printed.parse_key(key))]


def tables(
    layout: Layout,
    paper: str,
    papers: Mapping[str, PaperConfig],
    shipped: Mapping[str, Shipped],
    config: EnsembleConfig,
) -> dict[str, pd.DataFrame]:
    """The tables of the ledger, `ENSEMBLE_TABLES`, for one paper; the columns are `COLUMNS`.

    Its testbed may be inferred from the others of ``papers``. No rows without a shipped ensemble.
    """
    parts: dict[str, list] = {name: [] for name in ENSEMBLE_TABLES}
    if paper in shipped:
        plan = config.papers[paper]
        others = {
            name: next(_judged(layout, papers[name], shipped[name], config))
            for name in plan.inferred_from
            if name in shipped
        }
        added = {"others": others, "reprints": reprints(papers[paper], layout) if others else frozenset()}
        added["second_reference"] = plan.second_reference if plan.second_reference in others else ""
        for judged in _judged(layout, papers[paper], shipped[paper], config, **added):
            parts["ensemble_papers"].append(pd.DataFrame([judged.summary()]))
            if judged.compared.empty:  # these experiments have no published numbers
                continue
            parts["ensemble_numbers"].append(judged.numbers)
            if len(judged.members.settings) > 1:
                parts["ensemble_testbed"].append(judged.testbed())
                checks = [
                    judged.held_out(check)
                    for check in plan.held_out
                    if check.predict.hypothesis == judged.members.hypothesis and check.fit.paper in ("", *others)
                ]
                parts["ensemble_held_out"].append(pd.DataFrame(checks))
    return {name: _joined(frames, COLUMNS[name]) for name, frames in parts.items()}


def _joined(frames: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    return filled(frames, pd.DataFrame(columns=columns)).reindex(columns=columns)


def _judged(
    layout: Layout, paper: PaperConfig, found: Shipped, config: EnsembleConfig, **added: Any
) -> Iterator[Judged]:
    """The ensemble of a paper as published and under each hypothesis with members; ``added`` are further fields."""
    numbers = cells_of(paper, layout)
    numbers = numbers[pd.to_numeric(numbers["value"], errors="coerce").notna()]
    width = placing.widths(numbers, printed.load_tolerances(layout.data / "tolerances.yaml"))
    assumptions = ensemble_of(config, paper).assumptions
    plan = config.papers[paper.paper]
    for members in members_of(found, paper, plan):
        what = plan.hypotheses[members.hypothesis].what if members.hypothesis else "the paper as published"
        judged = numbers[~excluded(numbers, members.reading.excluded)]
        yield Judged(members, judged, width, config.judging, assumptions, what, **added)


def excluded(numbers: pd.DataFrame, which: Sequence[Excluded]) -> pd.Series:
    """Whether each of some published numbers is excluded."""
    rows = zip(numbers["exhibit"], numbers["key"], strict=True)
    out = [any(part.has(exhibit, printed.parse_key(key)) for part in which) for exhibit, key in rows]
    return pd.Series(out, numbers.index, dtype=bool)


def of_shipped(layout: Layout, paper: PaperConfig) -> dict[str, pd.DataFrame]:
    """As `tables`, from the shipped ensembles. Stale ones are omitted; `ensemble_table.stale_lines` lists the reasons."""
    if fresh(layout, paper, paper.paper) is None:
        return {name: _joined([], COLUMNS[name]) for name in ENSEMBLE_TABLES}
    config = load(layout.ensemble_config)
    others = config.papers[paper.paper].inferred_from
    papers = {paper.paper: paper, **{name: load_paper(layout.paper_config(name)) for name in others}}
    found = {name: shipped for name in papers if (shipped := fresh(layout, papers[name], name)) is not None}
    return tables(layout, paper.paper, papers, found, config)


def write_shipped(layout: Layout, paper: str, place: Path) -> None:
    """Write the tables of `of_shipped` for one paper to a folder. Raises InputError for an invalid configuration."""
    found = of_shipped(layout, load_paper(layout.paper_config(paper)))
    write_parts(place, {name: rounded_table(table) for name, table in found.items()})


def read_shipped(layout: Layout, papers: Iterable[str]) -> dict[str, pd.DataFrame]:
    """The published tables of `write_shipped` for some papers. Raises InputError when one is missing or damaged."""
    return {
        name: read_parts(layout, layout.placed, papers, name).reindex(columns=COLUMNS[name]) for name in ENSEMBLE_TABLES
    }


def write_parts(place: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write tables of one paper to a folder, where `read_parts` reads them."""
    with whole_folder(place) as folder:
        for name, table in tables.items():
            table.to_parquet(folder / f"{name}.parquet", index=False)


def read_parts(layout: Layout, folder: Path, papers: Iterable[str], name: str) -> pd.DataFrame:
    """The rows of a table that steps wrote for each paper below ``folder``. Raises InputError when one is missing or damaged."""
    frames = []
    for paper in papers:
        path = folder / paper / f"{name}.parquet"
        try:
            frames.append(pd.read_parquet(path))
        except (OSError, ValueError):
            where = path.relative_to(layout.root).as_posix()
            why = "not a Parquet table" if path.is_file() else "missing"
            raise InputError(f"{where}: {why}; ./reproduce rebuilds it") from None
    return filled(frames, frames[0])
