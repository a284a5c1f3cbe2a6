"""The statement of a claim: its clauses, each a quantity with its bounds and their origin.

``data/claims/<paper>.yaml`` has the claims of a paper, ``data/claims/margins.yaml`` the margins that clauses share. A bound
comes from the text. ``give`` widens it by the scatter of independent repetitions, if the text gives a number or has "about".
``clear`` tightens it by the width of a tie, if the text gives an order, because two values within a tie have no order. A
clause names at most one of the two.

``of`` of a clause lists the cells of its quantity, and the steps from them; `tcpfair.verdicts.claims.expressions` evaluates it.
``of`` of the claim applies to all clauses, and each clause narrows it with ``where``. A claim without ``of`` has a function.

``cause`` and ``why`` explain the verdict of a claim, see `tcpfair.verdicts.claims.why`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from tcpfair.errors import InputError, check_known
from tcpfair.papers.papers import load_models, read_yaml
from tcpfair.papers.scenario import Frozen, validated
from tcpfair.verdicts.claims import why

MARGINS = "margins.yaml"
Flow = Annotated[int, Field(ge=0)]
_OPERANDS = {"less": "by", "base": "by", "join": "by", "above": "bound", "power": "bound", "names": "names"}


class Margin(Frozen):
    """The largest difference that does not count, in ``unit`` or as a share of the bound, and the reason."""

    value: float = Field(ge=0, allow_inf_nan=False)
    unit: str = ""
    relative: bool = False
    reason: str = Field(min_length=1)
    of: str = Field(default="", description="metric of data/scatter.csv whose scatter it is")
    measured: str = Field(
        default="", description="metric of data/tolerances_scatter.yaml whose scatter was measured but is not used"
    )
    measured_per: float = Field(
        default=1, gt=0, allow_inf_nan=False, description="units of that metric in one of value"
    )

    def width(self, bound: float) -> float:
        """The width at a bound, in the unit of ``bound``."""
        return self.value * abs(bound) if self.relative else self.value


class Cells(Frozen):
    """Cells of the metrics, with the keys of ``data/cells.yaml``; in an operand, only what differs from the first cells.

    ``where`` gives a grid variable one value, a list of values, a range (``{from: 50}``, ``{to: 100}``), or all values except
    some (``{but: Reno}``); omitted variables have all their values.
    """

    experiment: str = Field(default="", description="the only one of the claim, if left out")
    measure: str = ""
    flow: Flow | tuple[Flow, ...] | Literal["each"] | None = Field(
        default=None, description="0, the system, if left out"
    )
    where: dict[str, Any] = Field(default={})

    def but(self, other: Cells) -> Cells:
        """These cells with the values that ``other`` gives."""
        given = {name: value for name, value in other if value not in ("", None)}
        return self.model_copy(update=given | {"where": self.where | other.where})


class Step(Frozen):
    """One operation on a table: ``less``, ``base`` and ``join`` take cells, ``above`` and ``power`` a number, ``names`` labels,
    the others at most ``along``.
    """

    do: Literal[
        *("less", "base", "join", "above", "power", "names", "mean", "geometric mean", "min", "max", "range"),
        *("median", "trend", "factor", "abs", "typical factor"),
    ]
    by: Expression | None = None
    bound: float | None = Field(default=None, allow_inf_nan=False, description="of ``above`` and ``power``")
    names: tuple[str, ...] = ()
    along: str = ""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"do": given}
        if isinstance(given, dict) and len(given) == 1 and "do" not in given:
            ((do, what),) = given.items()
            return {"do": do, _OPERANDS.get(do, "along"): what}
        return given

    @model_validator(mode="after")
    def _fits(self) -> Step:
        if (self.by is not None) != (_OPERANDS.get(self.do) == "by"):
            raise ValueError("less, base and join need cells; other steps take none")
        if (self.bound is not None) != (_OPERANDS.get(self.do) == "bound"):
            raise ValueError("above and power need a number; other steps take none")
        if bool(self.names) != (self.do == "names"):
            raise ValueError("names needs labels; other steps take none")
        if self.along and self.do not in ("mean", "geometric mean", "min", "max", "range"):
            raise ValueError(f"{self.do} takes no `along:`; it combines all columns or works cell by cell")
        return self


class Expression(Frozen):
    """Cells and the steps from them to a quantity; in YAML a list, or the cells alone."""

    cells: Cells
    steps: tuple[Step, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        if isinstance(given, list) and given:
            return {"cells": given[0], "steps": given[1:]}
        return given if isinstance(given, dict) and "cells" in given else {"cells": given}

    def experiments(self) -> set[str]:
        """All experiments that it names."""
        operands = (name for step in self.steps if step.by for name in step.by.experiments())
        return {self.cells.experiment, *operands} - {""}


class Clause(Frozen):
    """One assertion of the sentence: a quantity is at least ``at_least``, at most ``at_most``, or both."""

    says: str = Field(min_length=1)
    quantity: str = Field(min_length=1, description="what is bounded, in words")
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    why: str = Field(min_length=1, description="where the bounds come from: the text, or the reason")
    give: str = ""
    clear: str = ""
    in_print: bool | None = Field(
        default=None, description="whether the paper's own numbers satisfy it, where they suffice"
    )
    print_note: str = ""
    margin: Margin | None = Field(default=None, exclude=True)
    of: Expression | None = Field(default=None, description="its quantity as an expression")
    where: dict[str, Any] = Field(default={}, description="its cells of the claim's ``of``")

    @model_validator(mode="after")
    def _bounded(self) -> Clause:
        if self.at_least is None and self.at_most is None:
            raise ValueError("give at_least, at_most or both")
        if self.give and self.clear:
            raise ValueError("give widens the bounds and clear tightens them: one of the two")
        if self.low > self.high:
            raise ValueError(f"no value is at least {self.low:g} and at most {self.high:g}")
        return self

    @property
    def low(self) -> float:
        """The least value with which the clause holds."""
        return -float("inf") if self.at_least is None else self.at_least - self._wider(self.at_least)

    @property
    def high(self) -> float:
        """The largest value with which the clause holds."""
        return float("inf") if self.at_most is None else self.at_most + self._wider(self.at_most)

    def _wider(self, bound: float) -> float:
        if self.margin is None:
            return 0.0
        return self.margin.width(bound) if self.give else -self.margin.width(bound)

    @property
    def asks(self) -> str:
        """The bounds in words: ``at least 0.9, within 0.03``, ``at most 1, clear of a tie of 5 %``."""
        sign = {True: "within", False: "clear of a tie of"}[bool(self.give)]
        bounds = [f"at least {self.at_least:g}"] if self.at_least is not None else []
        bounds += [f"at most {self.at_most:g}"] if self.at_most is not None else []
        if self.at_least == self.at_most:
            bounds = [f"{self.at_least:g}"]
        text = " and ".join(bounds) + (f" {self.unit}" if self.unit else "")
        if self.margin is None:
            return text
        width = (
            f"{100 * self.margin.value:g} %" if self.margin.relative else f"{self.margin.value:g} {self.margin.unit}"
        )
        return f"{text}, {sign} {width.strip()}"


class Claim(Frozen):
    """One entry of ``data/claims/<paper>.yaml``."""

    id: str = Field(pattern=r"^[a-z]+\d*\.c\d\d$")
    section: str
    claim: str
    cause: str = Field(default="", description="why it is not reproduced: a name of causes.yaml; none when it is")
    why: str = Field(
        default="", description="the same in one plain sentence, or what supports it, with values by clause"
    )
    of: Expression | None = Field(default=None, description="the expression that its clauses narrow with ``where``")
    clauses: dict[str, Clause] = Field(min_length=1)
    numbers: dict[str, Any] = Field(
        default={}, description="cells that the clauses are about, by the names its function uses"
    )
    experiments: list[str] = Field(default=[], description="experiments that decide it; none for a closed form")
    exhibits: list[str] = Field(default=[], description="exhibits that show it")
    by_construction: str = Field(default="", description="why it cannot fail: an identity, a calibration, a theorem")
    untested: str = Field(default="", description="why no run can decide it, and what would")

    @model_validator(mode="after")
    def _one_kind(self) -> Claim:
        if self.by_construction and self.untested:
            raise ValueError("by_construction and untested exclude each other")
        return self

    @model_validator(mode="after")
    def _expressed(self) -> Claim:
        given = [clause.of or self.of for clause in self.clauses.values()]
        if any(given) and not all(given):
            raise ValueError("of: all clauses have one, or none and the claim has a function")
        if not any(given) and any(clause.where for clause in self.clauses.values()):
            raise ValueError("where: needs an `of` to narrow")
        for name, of in self.expressions.items():
            if not of.cells.measure:
                raise ValueError(f"{name}: of: measure is missing")
            if not of.cells.experiment:
                raise ValueError(f"{name}: of: name the experiment, as the claim has {len(self.experiments)}")
            for unread in sorted(of.experiments() - set(self.experiments)):
                raise ValueError(f"experiments: add {unread!r}, which {name} reads")
        return self

    @property
    def expressions(self) -> dict[str, Expression]:
        """The expressions by clause; none for a claim with a function."""
        only = Cells(experiment=self.experiments[0] if len(self.experiments) == 1 else "")
        return {
            name: of.model_copy(update={"cells": only.but(of.cells).but(Cells(where=clause.where))})
            for name, clause in self.clauses.items()
            if (of := clause.of or self.of)
        }

    @property
    def paper(self) -> str:
        return self.id.split(".")[0]

    @property
    def function_name(self) -> str:
        return self.id.replace(".", "_")

    @property
    def contradicted(self) -> list[str]:
        """Ids of the clauses that the paper's own numbers contradict."""
        return [name for name, clause in self.clauses.items() if clause.in_print is False]


def load_margins(folder: Path) -> dict[str, Margin]:
    """The shared margins of ``folder/margins.yaml`` by name. Raises InputError with one line naming file and field."""
    return load_models(folder / MARGINS, Margin)


def load_claims(path: Path) -> list[Claim]:
    """The claims of one ``data/claims/<paper>.yaml``. Raises InputError with one line naming file, claim and field."""
    margins, causes = load_margins(path.parent), why.load_causes(path.parent)
    entries = read_yaml(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path}: must be a list of claims")
    claims = []
    for number, entry in enumerate(entries, 1):
        where = f"{path}: {entry.get('id', f'claim {number}')}"
        clauses = entry.get("clauses")
        if isinstance(clauses, dict):
            entry = entry | {
                "clauses": {name: _with_margin(c, margins, f"{where}: {name}") for name, c in clauses.items()}
            }
        claims.append(validated(Claim, entry, where))
        _check_why(claims[-1], causes, where)
    return claims


def _check_why(claim: Claim, causes: Mapping[str, why.Cause], where: str) -> None:
    why.check(claim.why, claim.clauses, where)
    if claim.cause:
        check_known(f"{where}: cause", [claim.cause], causes)
    kinds = {
        "contradicted in print": claim.contradicted,
        "untested": claim.untested,
        "by construction": claim.by_construction,
    }
    fixed = next((verdict for verdict, is_so in kinds.items() if is_so), "")
    if fixed and claim.cause and fixed not in causes[claim.cause].verdicts:
        raise InputError(f"{where}: cause: {claim.cause!r} does not fit the verdict {fixed!r}")


def _with_margin(clause: Any, margins: dict[str, Margin], where: str) -> Any:
    """A clause with the margin that it names."""
    if not isinstance(clause, dict):
        return clause
    if "margin" in clause:
        raise InputError(f"{where}: margin: name it in give or clear; its value is in {MARGINS}")
    for side in ("give", "clear"):
        name = clause.get(side)
        if name:
            check_known(f"{where}: {side}: margin", [name], margins)
            clause = clause | {"margin": margins[name]}
    return clause
