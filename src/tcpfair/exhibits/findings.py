"""What reproduces, for readers: the ledger's verdicts, conditions and inferred testbeds as tables and figures.

Everything is read from ``results/<source>/ledger``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tcpfair.errors import InputError, check_known, unknown
from tcpfair.exhibits import style
from tcpfair.files.layout import Layout, repository_root, short_id
from tcpfair.runs.ensemble import AS_PRINTED, digits
from tcpfair.runs.ensemble import load as load_ensembles
from tcpfair.verdicts.certainty import percent, verdict_text
from tcpfair.verdicts.claims.statement import Claim, load_claims

_SHOWN = 12  # assumptions in a figure
_ROW_IN, _HEAD_IN = 0.34, 1.1
_OWNED = ("traffic.", "protocols.", "experiments.")  # prefixes whose next part names the owner of a value


@dataclass(frozen=True)
class Findings:
    """The ledger of one source."""

    layout: Layout

    @classmethod
    def open(cls, source: str = "bundled") -> Findings:
        """Raises InputError, with the command that writes it, when the ledger is missing."""
        found = cls(Layout(repository_root(), source))
        if not (found.layout.ledger / "claims.csv").is_file():
            option = "" if source == "bundled" else f" --config source={source}"
            raise InputError(f"{found.layout.ledger}: no ledger; ./reproduce{option} writes it")
        return found

    def table(self, name: str) -> pd.DataFrame:
        """One table of the ledger."""
        table = pd.read_csv(self.layout.ledger / f"{name}.csv")
        if "hypothesis" in table:
            table["hypothesis"] = table["hypothesis"].astype(object).fillna(AS_PRINTED)
        return table

    @cached_property
    def claims(self) -> pd.DataFrame:
        return self.table("claims").set_index("id")

    @cached_property
    def clauses(self) -> pd.DataFrame:
        return self.table("clauses")

    @cached_property
    def ensemble(self) -> pd.DataFrame:
        """Clauses among the settings of the ensemble, for the papers as published."""
        table = self.table("ensemble_clauses")
        return table[table["hypothesis"] == AS_PRINTED]

    @cached_property
    def _stated(self) -> dict[str, Claim]:
        folder = self.layout.data / "claims"
        return {c.id: c for paper in self.claims["paper"].unique() for c in load_claims(folder / f"{paper}.yaml")}

    # --- Tables --------------------------------------------------------------------------------------------------

    def verdicts(self) -> pd.DataFrame:
        """The number of claims with each verdict, by paper and in all."""
        counts = pd.crosstab(self.claims["paper"], self.claims["verdict"])
        counts.loc["all"] = counts.sum()
        return counts

    def numbers(self) -> pd.DataFrame:
        """Published numbers by paper and reading: how many were compared, and shares within several limits.

        Columns: compared, within (the tolerance set by hand), within the scatter (by which two independent repetitions differ),
        inside the settings (of the ensemble).
        """
        table = self.table("readings").set_index(["paper", "reading"])
        parts = {
            "within": ("within", "numbers"),
            "within the scatter": ("within_scatter", "numbers"),
            "inside the settings": ("inside", "in_ensemble"),
        }
        shares = {
            name: (table[count] / table[of].where(table[of] > 0)).map(percent) for name, (count, of) in parts.items()
        }
        return table[["numbers"]].rename(columns={"numbers": "compared"}).assign(**shares)

    def conclusions(self) -> pd.DataFrame:
        """The conclusion of each abstract, with its verdict and certainty."""
        table = self.table("headlines")
        table["verdict"] = [verdict_text(row) for _, row in table.iterrows()]
        return table.set_index("paper")[["says", "verdict"]].rename(columns={"says": "what the abstract concludes"})

    def behind(self, paper: str) -> pd.DataFrame:
        """The claims behind the conclusion of a paper: sentence, verdict and reason."""
        table = self.table("headlines").set_index("paper")
        check_known("paper", [paper], table.index)
        chosen = self.claims.loc[table.at[paper, "claims"].split(";")].fillna({"why": ""})
        rows = [(name, self._stated[name].claim, verdict_text(row), row["why"]) for name, row in chosen.iterrows()]
        return pd.DataFrame(rows, columns=["claim", "the paper says", "verdict", "why"]).set_index("claim")

    def sentence(self, claim_id: str, clause: str) -> str:
        """One clause in one sentence: its statement, outcome, value, bounds, and the settings in which it holds."""
        own = self.clauses[self.clauses["id"] == claim_id].set_index("clause")
        check_known(f"clause of {claim_id}", [clause], own.index)
        row = own.loc[clause]
        unit = f" {row['unit']}" if isinstance(row["unit"], str) else ""
        text = f"{row['says']}: {row['outcome']} ({row['quantity']} {row['value']:.3g}{unit}, required: {row['asks']})"
        share = self.ensemble[(self.ensemble["id"] == claim_id) & (self.ensemble["clause"] == clause)]
        return f"{text}; {share['decides'].iloc[0]}" if len(share) else text

    def told(self, *names: str) -> pd.DataFrame:
        """`sentence` of some clauses, named ``ogura.c16.fair``, with the sentence of the paper."""
        rows = []
        for name in names:
            claim_id, _, clause = name.rpartition(".")
            rows.append((name, self._stated[claim_id].claim, self.sentence(claim_id, clause)))
        return pd.DataFrame(rows, columns=["clause", "the paper says", "found"]).set_index("clause")

    def foretold(self, paper: str, by: str, judged: str, hypothesis: str = AS_PRINTED) -> HTML:
        """One sentence: shares of some numbers of ``paper`` that the testbed inferred from the paper ``by`` predicts."""
        table = self.table("ensemble_held_out")
        asked = {"paper": paper, "fitted_paper": by, "judged": judged, "hypothesis": hypothesis}
        rows = table[(table[list(asked)] == pd.Series(asked)).all(axis=1)]
        if rows.empty:
            raise unknown(f"check of {paper} by {by}", judged, table["judged"])
        row = rows.iloc[0]
        share = {name: percent(row[f"within_{name}"]) for name in ("base", "prior", "inferred", "best")}
        under = f", under {hypothesis}" if hypothesis else ""
        return HTML(
            f"<p>Of {row['n']:.0f} numbers of {paper} ({judged}{under}), a testbed inferred from {by} alone has "
            f"{share['inferred']} within tolerance; the mean of all settings has {share['prior']}, the setting as configured "
            f"{share['base']}, and no single setting more than {share['best']}.</p>"
        )

    def figures(self, *exhibits: str) -> HTML:
        """The figures of some exhibits (``ogura.fig8``) from the last run, side by side.

        Raises InputError, with the command that draws it, for one that is missing.
        """
        shown = []
        for exhibit in exhibits:
            paper, short = exhibit.partition(".")[0], short_id(exhibit)
            path = self.layout.figures(paper) / f"{short}.png"
            if not path.is_file():
                raise InputError(f"{path}: no such figure; ./reproduce figure {exhibit} draws it")
            data = base64.b64encode(path.read_bytes()).decode()
            shown.append(
                f'<figure style="flex: 1 1 22em; max-width: 36em; margin: 0">'
                f'<img src="data:image/png;base64,{data}" alt="{paper}, {short}" style="width: 100%">'
                f"<figcaption>{paper}, {short}</figcaption></figure>"
            )
        return HTML(f'<div style="display: flex; flex-wrap: wrap; gap: 1em">{"".join(shown)}</div>')

    # --- Inferred testbeds ---------------------------------------------------------------------------------------

    def testbed(self, paper: str, hypothesis: str = AS_PRINTED) -> Figure | str:
        """The inferred testbed of a paper: for each assumption the inferred interval within the plausible range.

        A grey bar is the range from which settings were drawn (5 to 95 %), the blue one that of the settings weighted by
        their distance from all published numbers, with its median; the cross is the configured value. Without an inference,
        returns the reason.
        """
        table = self.table("ensemble_testbed")
        own = table[(table["paper"] == paper) & (table["hypothesis"] == hypothesis)]
        of = self.table("ensemble_papers").query("paper == @paper")
        if own.empty:
            if of.empty:
                return f"No ensemble of {paper} is shipped; ./reproduce ensemble {paper} simulates one."
            return f"The ensemble of {paper} has no number of the paper, so no testbed can be inferred."
        own = own.sort_values("shift", ascending=False).head(_SHOWN)
        ranges = own[own["low"].notna()]
        n = of[of["hypothesis"] == hypothesis].iloc[0]
        if ranges.empty:
            return f"{paper}: {n['effective_settings']:.0f} settings carry the weight, too few for an interval."
        with style.applied():
            figure, [[ax]] = style.new_figure(width_in=style.PAGE_IN, height_in=_HEAD_IN + _ROW_IN * len(ranges))
            for place, (_, row) in enumerate(ranges[::-1].iterrows()):
                _marginal(ax, place, row)
            ax.set_yticks(range(len(ranges)), self._labels(ranges["assumption"][::-1]))
            ax.set(xlim=(-0.2, 1.2), ylim=(-0.6, len(ranges) + 0.4), xticks=[], xlabel="within the plausible range")
            ax.grid(visible=False)  # its lines would cross the numbers
            ax.legend(loc="upper center", ncols=3)
            weight = f"{int(n['settings'])} settings, {n['effective_settings']:.0f} of weight"
            style.corner_note(figure, f"engine, {weight}; {int(n['numbers'])} numbers")
        return figure

    def _labels(self, assumptions: Iterable[str]) -> list[str]:
        """Labels of assumptions; equal ones get the traffic, the protocol or the experiment that has the value."""
        labels = [self._label(name) for name in assumptions]
        return [
            f"{label}, {name.split('.')[1]}" if labels.count(label) > 1 and name.startswith(_OWNED) else label
            for name, label in zip(assumptions, labels, strict=True)
        ]

    def _label(self, assumption: str) -> str:
        """``a receive window {} packets`` -> ``receive window (packets)``."""
        mark = "\t"
        name, _, unit = load_ensembles(self.layout.ensemble_config).in_words(assumption, mark).partition(mark)
        name = name.strip().removeprefix("a ").removeprefix("an ")
        return f"{name} ({unit.strip()})" if unit.strip() else name


def _marginal(ax: Axes, place: int, row: pd.Series) -> None:
    """One assumption as bars between 0, the smallest drawn value, and 1, the largest; logarithmic if it spans decades."""
    ends = row[["prior_low", "prior_high"]].to_numpy(dtype=float)
    scale = np.log if ends[0] > 0 and ends[1] / ends[0] > 8 else np.asarray

    def at(value: float) -> float:
        x, low, high = scale([np.clip(value, *ends), *ends])
        return (x - low) / (high - low) if high > low else 0.5

    drawn, inferred, as_used = ("drawn (5 to 95 %)", "inferred (5 to 95 %)", "as used") if place == 0 else (None,) * 3
    ax.barh(place, 1, height=0.62, color="#E3E6EA", label=drawn)
    left, right = at(row["low"]), at(row["high"])
    ax.barh(place, right - left, left=left, height=0.3, color=style.SKY, label=inferred)
    ax.plot(at(row["median"]), place, "|", color=style.BLUE, ms=12, mew=2)
    used = pd.to_numeric(row["used"], errors="coerce")
    if np.isfinite(used):
        ax.plot(at(float(used)), place, "x", color=style.VERMILION, label=as_used)
    for x, value, side, move in ((0, ends[0], "right", -7), (1, ends[1], "left", 7)):
        look = {"ha": side, "va": "center", "fontsize": "small", "color": style.GREY}
        style.note(ax, digits(value), (x, place), (move, 0), **look)
