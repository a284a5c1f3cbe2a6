"""Verdicts, measured values and counts of the ledger for the front page.

The sentences of the front page are in its template, and each is shown only if the ledger has the verdicts that it is about.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd

from tcpfair.verdicts.certainty import percent
from tcpfair.verdicts.claims import margins
from tcpfair.verdicts.claims.why import said
from tcpfair.verdicts.report.marks import Ledger
from tcpfair.verdicts.yardsticks import SHARE


class Facts:
    """Queries of the ledger for the template."""

    def __init__(self, ledger: Ledger):
        self._verdicts = dict(ledger["claims"][["id", "verdict"]].itertuples(index=False))
        clauses = ledger["clauses"]
        self._values = dict(zip(clauses["id"] + "." + clauses["clause"], clauses["value"], strict=True))
        self._reasons = Counter(ledger["claims"][["verdict", "cause"]].itertuples(index=False, name=None))
        together = ledger["margins"][ledger["margins"]["margin"] == margins.ALL]
        self._turned = dict(zip(together["tried"], together["claims_turned"].astype(int), strict=True))
        self._held_out = ledger["ensemble_held_out"]
        self._yardsticks = ledger["yardsticks"][ledger["yardsticks"]["measure"] == SHARE]

    def are(self, verdict: str, *claims: str) -> bool:
        """Whether some claims all have one verdict."""
        return all(self._verdicts.get(claim) == verdict for claim in claims)

    def value(self, clause: str, how: str = "") -> str:
        """The measured value of ``ogura.c16.fair`` as text, in a format of `tcpfair.verdicts.claims.why`."""
        return said(float(self._values[clause]), how)

    def caused(self, cause: str, *verdicts: str) -> int:
        """The number of claims with a cause and one of some verdicts."""
        return sum(self._reasons.get((verdict, cause), 0) for verdict in verdicts)

    def turned(self, tried: str) -> int:
        """The number of verdicts that change with other margins: ``half``, ``twice``, ``measured scatter``."""
        return self._turned[tried]

    def predicted(self, paper: str, judged: str, fitted_paper: str, hypothesis: str = "") -> dict[str, str]:
        """Shares of some numbers within tolerance (``base``, ``prior``, ``inferred``), from a held-out check; empty without it.

        ``better`` is empty unless the inferred testbed has a smaller mean error than the mean over the prior.
        """
        asked = {"paper": paper, "judged": judged, "fitted_paper": fitted_paper, "hypothesis": hypothesis}
        rows = self._held_out
        rows = rows[(rows[list(asked)] == pd.Series(asked)).all(axis=1)].to_dict("records")
        if not rows:
            return {}
        better = float(rows[0]["inferred"]) < float(rows[0]["prior"])
        shares = {name: percent(rows[0][f"within_{name}"]) for name in ("base", "prior", "inferred")}
        return {**shares, "better": "better" if better else ""}

    def measured_against(self, yardstick: str, *papers: str) -> tuple[str, str] | None:
        """Share within tolerance here and by a yardstick, over the numbers of some papers that both have."""
        rows = self._yardsticks
        rows = rows[(rows["yardstick"] == yardstick) & rows["paper"].isin(papers)]
        numbers = pd.to_numeric(rows["numbers"])
        if not numbers.sum():
            return None
        here, there = ((pd.to_numeric(rows[name]) * numbers).sum() / numbers.sum() for name in ("reproduced", "value"))
        return percent(here), percent(there)
