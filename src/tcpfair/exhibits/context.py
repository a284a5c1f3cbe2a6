"""What a drawing kind is given and what it gives back; the register of drawing kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pandas as pd
from matplotlib.figure import Figure
from pydantic import BaseModel, ConfigDict, ValidationError

from tcpfair.errors import InputError
from tcpfair.papers.papers import Exhibit
from tcpfair.papers.scenario import one_line
from tcpfair.verdicts.columns import no_numbers
from tcpfair.verdicts.context import Context
from tcpfair.verdicts.numbers import numbers_of


class Options(BaseModel):
    """The options of one drawing kind, or a part of them, as `options:` of an exhibit in config/papers/ gives them."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Table:
    """A table as it is read: cells of HTML, with column and row headings."""

    cells: pd.DataFrame
    note: str = ""


@dataclass(frozen=True)
class Drawn:
    """What a drawing kind makes of an exhibit.

    ``numbers`` are compared with print (columns of `tcpfair.verdicts.numbers.NUMBER_COLUMNS`); ``data`` holds all that
    is drawn when that is more than the numbers, such as curves. ``n_runs`` counts the runs behind one point, 0 for
    what no run went into. A kind leaves the numbers, and their runs, to `draw`.
    """

    output: Figure | Table
    numbers: pd.DataFrame = field(default_factory=no_numbers)
    n_runs: int | None = None
    data: pd.DataFrame | None = None
    note: str = ""  # of the corner, on the runs or on what is drawn


Draw = Callable[..., Drawn]


@dataclass(frozen=True)
class Kind:
    """A drawing kind: its function, what it draws, and the model of its options, if it has any."""

    draw: Draw
    is_table: bool
    options: type[Options] | None


KINDS: dict[str, Kind] = {}


def drawing(options: type[Options] | None = None, *, table: bool = False) -> Callable[[Draw], Draw]:
    """Register a function under its own name.

    A kind is ``draw(context, exhibit, numbers, options) -> Drawn`` for exhibits that name it; ``numbers`` are those of
    `tcpfair.verdicts.numbers.numbers_of`. The drawing of a single exhibit may have no options. It is named as the exhibit
    with ``_`` for the dot: ``ogura_table1``.
    """

    def register(draw: Draw) -> Draw:
        KINDS[draw.__name__] = Kind(draw, table, options)
        return draw

    return register


def kind_of(context: Context, exhibit: Exhibit) -> Kind:
    """What draws an exhibit; InputError naming file and field when nothing does, or when it draws another form."""
    where = context.where(exhibit)
    name = exhibit.draw or exhibit.id.replace(".", "_")
    if name not in KINDS:
        raise InputError(f"{where}.draw: {name!r} is unknown; known are {', '.join(sorted(KINDS))}")
    kind = KINDS[name]
    if kind.is_table != exhibit.is_table:
        form = "table" if kind.is_table else "figure"
        raise InputError(f"{where}: `{name}` draws a {form}; say so in `kind`, or in `form` of a supplement")
    return kind


def read_options(context: Context, exhibit: Exhibit) -> Options:
    """The options of an exhibit; InputError naming file and field when an option is wrong."""
    try:
        return (kind_of(context, exhibit).options or Options).model_validate(exhibit.options)
    except ValidationError as error:
        raise one_line(error, f"{context.where(exhibit)}.options") from None


def draw(context: Context, exhibit: Exhibit) -> Drawn:
    """Draw one exhibit, and its numbers, as its configuration says."""
    kind, options, numbers = kind_of(context, exhibit), read_options(context, exhibit), numbers_of(context, exhibit)
    drawn = kind.draw(context, exhibit, numbers, *([options] if kind.options else []))
    n_runs = numbers.n_runs if drawn.n_runs is None else drawn.n_runs
    return replace(drawn, numbers=numbers.table, n_runs=n_runs)
