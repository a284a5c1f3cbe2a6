"""Input and output of a drawing kind; the register of drawing kinds."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import pandas as pd
from matplotlib.figure import Figure
from pydantic import create_model

from tcpfair.errors import InputError, check_known
from tcpfair.papers.papers import Exhibit
from tcpfair.papers.scenario import Strict, validated
from tcpfair.verdicts.columns import no_numbers
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.numbers import numbers_of


class Options(Strict):
    """A part of the options of a drawing kind, from `options:` of an exhibit in config/papers/."""


@dataclass(frozen=True)
class Table:
    """A table for readers: cells of HTML, with column and row headings."""

    cells: pd.DataFrame
    note: str = ""


@dataclass(frozen=True)
class Drawn:
    """The drawing of an exhibit.

    ``numbers`` are compared with published ones (columns `tcpfair.verdicts.columns.NUMBER_COLUMNS`); ``data`` has all drawn
    data if these are more than the numbers, such as curves. ``n_runs`` counts the runs behind one point, 0 without runs.
    `draw` fills in the numbers and their runs.
    """

    output: Figure | Table
    numbers: pd.DataFrame = field(default_factory=no_numbers)
    n_runs: int | None = None
    data: pd.DataFrame | None = None
    note: str = ""  # for the corner: about the runs or the drawing


Draw = Callable[..., Drawn]


@dataclass(frozen=True)
class Kind:
    """A drawing kind: its function, and whether it draws a table."""

    draw: Draw
    is_table: bool

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(self.draw, eval_str=True).parameters)

    @cached_property
    def options(self) -> type[Options]:
        """The model of its options, which are the keyword parameters."""
        own = {name: each for name, each in self.parameters.items() if each.kind is each.KEYWORD_ONLY}
        fields = {name: (p.annotation, ... if p.default is p.empty else p.default) for name, p in own.items()}
        return create_model(self.draw.__name__, __base__=Options, **fields)


KINDS: dict[str, Kind] = {}


def drawing(*, table: bool = False) -> Callable[[Draw], Draw]:
    """Register a function under its own name.

    A kind may have the parameters ``context``, ``exhibit``, ``experiment`` (the exhibit's first) and ``numbers`` (from
    `tcpfair.verdicts.numbers.numbers_of`), and its options as keywords, whose types are checked. A one-off drawing has the
    name of its exhibit, with ``_`` for the dot: ``ogura_table1``.
    """

    def register(draw: Draw) -> Draw:
        KINDS[draw.__name__] = Kind(draw, table)
        return draw

    return register


def kind_of(context: Context, exhibit: Exhibit) -> Kind:
    """The kind that draws an exhibit; InputError naming file and field for an unknown kind, or one with another form."""
    where = context.where(exhibit)
    name = exhibit.draw or exhibit.id.replace(".", "_")
    check_known(f"{where}.draw:", [name], sorted(KINDS))
    kind = KINDS[name]
    if kind.is_table != exhibit.is_table:
        form = "table" if kind.is_table else "figure"
        raise InputError(f"{where}: `{name}` draws a {form}; state this in `kind`, or in `form` of a supplement")
    return kind


def read_options(context: Context, exhibit: Exhibit) -> Options:
    """The options of an exhibit; InputError naming file and field for an invalid option."""
    return validated(kind_of(context, exhibit).options, exhibit.options, f"{context.where(exhibit)}.options")


def draw(context: Context, exhibit: Exhibit) -> Drawn:
    """Draw one exhibit and compute its numbers, according to its configuration."""
    kind, options, numbers = kind_of(context, exhibit), read_options(context, exhibit), numbers_of(context, exhibit)
    given = {"context": context, "exhibit": exhibit, "numbers": numbers, **dict(options)}
    if "experiment" in kind.parameters:
        _, given["experiment"] = context.experiment(exhibit)
    drawn = kind.draw(**{name: given[name] for name in kind.parameters})
    n_runs = numbers.n_runs if drawn.n_runs is None else drawn.n_runs
    return replace(drawn, numbers=numbers.table, n_runs=n_runs)
