"""The assumptions of a paper as random variables: drawn jointly from their ranges, and inserted into the configuration.

An *assumption* is a value with ``assumed:`` and ``range:``. A value that the configuration references again (YAML's
``&x`` and ``*x``) is in several places but is one assumption. The parsed file has no anchors. So values with the same
last name, value, reason and range are one assumption. If their reasons differ, they are two, unless `tied`.

How a range is drawn (`Kind`): whole numbers between whole bounds, ``[0, 1]`` as a switch, other numbers as real ones, and
everything else (words, lists, truth values, more than two numbers) as a choice among the values listed. ``scale: log`` draws
the logarithm; ``scale: choices`` allows only the two numbers, not values between them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ValidationError

from tcpfair.errors import InputError, unknown
from tcpfair.papers.papers import NO_TRAFFIC, Experiment, PaperConfig, Value

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["real", "integer", "switch", "choice"]
Place = tuple[str | int, ...]  # keys and list positions from the top of a PaperConfig

BASE = 0  # the configured setting; drawn ones count from 1
_DIGITS = 6  # of drawn real numbers, so that a table shows the exact values of the runs
# the size of an experiment: the ensemble has other replicates, and grids define the experiment
_DESIGN = ("runs", "grid")


@dataclass(frozen=True)
class Assumption:
    """One assumption: its places, its configured value, and its range.

    ``low`` and ``high`` are the bounds of numbers, ``choices`` the values of a choice or a switch.
    """

    places: tuple[Place, ...]
    value: Any
    kind: Kind
    scale: Literal["linear", "log"] = "linear"
    low: float = math.nan
    high: float = math.nan
    choices: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """The first of its places, as the ledger writes it: ``flow.ack_every``."""
        return place_name(self.places[0])

    @property
    def names(self) -> list[str]:
        """All of its places."""
        return [place_name(place) for place in self.places]

    def at(self, u: float) -> Any:
        """The value at the share ``u`` in [0, 1) of the range."""
        if self.choices:
            return self.choices[min(int(u * len(self.choices)), len(self.choices) - 1)]
        low, high = (self.low - 0.5, self.high + 0.5) if self.kind == "integer" else (self.low, self.high)
        if self.scale == "log":
            drawn = math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
        else:
            drawn = low + u * (high - low)
        if self.kind == "integer":
            return int(min(max(math.floor(drawn + 0.5), self.low), self.high))
        return min(max(float(f"{drawn:.{_DIGITS}g}"), self.low), self.high)


# --- Values of a configuration --------------------------------------------------------------------------------


def values_in(node: Any, place: Place = ()) -> Iterator[tuple[Place, Value]]:
    """(place, value) of every Value below ``node``, in the order of the configuration."""
    if isinstance(node, Value):
        yield place, node
    elif isinstance(node, BaseModel | dict):
        for key, child in dict(node).items():
            yield from values_in(child, (*place, key))
    elif isinstance(node, list):
        for number, child in enumerate(node):
            yield from values_in(child, (*place, number))


def place_name(place: Place) -> str:
    """``("flows", 0, "rtt_ms")`` -> ``flows[0].rtt_ms``."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place).removeprefix(".")


def grid_points(experiment: Experiment) -> list[dict[str, Any]]:
    """The points of an experiment's grid, with the configured values."""
    axes = experiment.grid
    return [
        dict(zip(axes, values, strict=True)) for values in itertools.product(*(axis.value for axis in axes.values()))
    ]


def point_text(point: Mapping[str, Any]) -> str:
    """A point of a grid as text: ``protocol=CUBIC;rtt_ms=25``."""
    return ";".join(f"{name}={value}" for name, value in point.items())


def labels_of(paper: PaperConfig, experiment: Experiment) -> set[str]:
    """The protocols that an experiment's flows and its background traffic can have."""
    found = {label for axis in experiment.grid.values() for label in axis.value if label in paper.protocols}
    found |= {flow["protocol"].value for flow in experiment.flows if isinstance(flow.get("protocol"), Value)}
    for kind in traffic_of(paper, experiment):
        traffic = paper.traffic[kind]
        found |= {traffic.protocol, *([traffic.long_lived.protocol] if traffic.long_lived else [])}
    return found


def traffic_of(paper: PaperConfig, experiment: Experiment) -> set[str]:
    """The kinds of background traffic that an experiment can have."""
    if not experiment.background:
        return set()
    named = [each.traffic.value for each in experiment.background if isinstance(each.traffic, Value)]
    named += [value for axis in experiment.grid.values() for value in axis.value]
    return {kind for kind in named if isinstance(kind, str) and kind != NO_TRAFFIC and kind in paper.traffic}


def part_used(paper: PaperConfig, experiments: Iterable[str]) -> PaperConfig:
    """A paper's configuration with only some experiments and their protocols and traffic; no exhibits."""
    chosen = {name: paper.experiments[name] for name in experiments}
    labels = set().union(*(labels_of(paper, experiment) for experiment in chosen.values()))
    kinds = set().union(*(traffic_of(paper, experiment) for experiment in chosen.values()))
    return paper.model_copy(
        update={
            "protocols": {label: protocol for label, protocol in paper.protocols.items() if label in labels},
            "traffic": {kind: traffic for kind, traffic in paper.traffic.items() if kind in kinds},
            "experiments": chosen,
            "exhibits": [],
        }
    )


def assumptions_of(
    paper: PaperConfig, held: Mapping[str, str] | None = None, tied: Sequence[Sequence[str]] = (), where: str = ""
) -> list[Assumption]:
    """The drawn assumptions, in order of the file: all with a range except numbers of runs, grids, and those in ``held``.

    ``held`` has the dotted names of places (``*`` matches any text) with the reason why they stay as configured. One
    place holds all places of the assumption. Each of ``tied`` names assumptions with the same range that are drawn as
    one. Raises InputError, with ``where`` as the place of the lists, for a name without a match, and for tied ones with
    different ranges.
    """
    found: dict[tuple, Assumption] = {}
    for place, value in values_in(paper):
        is_design = place[0] == "experiments" and place[2] in _DESIGN
        if not is_design and (drawn := _drawn_from(value)):
            key = (place[-1], repr(value.value), value.assumed, repr(value.range))
            places = found[key].places if key in found else ()
            found[key] = Assumption((*places, place), value.value, **drawn)
    known = list(found.values())
    for names in tied:
        known = _as_one(known, names, where)
    for pattern in held or {}:
        if not any(fits(pattern, name) for each in known for name in each.names):
            raise unknown(f"{where}held", pattern, [each.name for each in known])
    return [each for each in known if not any(fits(pattern, name) for pattern in held or {} for name in each.names)]


def fits(pattern: str, name: str) -> bool:
    """Whether a dotted name matches a pattern, in which ``*`` matches any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def _drawn_from(value: Value) -> dict[str, Any] | None:
    """Kind, scale and bounds or choices of a value's range; None if the value is not drawn."""
    if value.assumed is None or not value.range:
        return None
    among = [item for item in value.range if item is not None]
    if value.scale == "choices" or len(among) != 2 or not all(_is_number(item) for item in among):
        is_listed = any(type(item) is type(value.value) and item == value.value for item in among)
        choices = among if is_listed else [value.value, *among]
        return {"kind": "choice", "choices": tuple(choices)} if len(choices) > 1 else None
    low, high = among
    if low >= high or not _is_number(value.value):
        return None
    if all(isinstance(item, int) for item in (low, high, value.value)):
        if (low, high) == (0, 1):
            return {"kind": "switch", "choices": (0, 1)}
        return {"kind": "integer", "scale": value.scale, "low": low, "high": high}
    return {"kind": "real", "scale": value.scale, "low": float(low), "high": float(high)}


def drawn_between(values: Sequence[Any], scale: str = "linear") -> Assumption | None:
    """An assumption for a range without a configured value; None for a range that cannot be drawn from.

    Two numbers are bounds, of whole numbers where both are whole; anything else, or ``scale: choices``, is a choice.
    """
    try:
        drawn = _drawn_from(Value(value=values[0], assumed="drawn", range=list(values), scale=scale))
    except ValidationError:
        return None
    return Assumption((), values[0], **drawn) if drawn else None


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool)


def _as_one(known: list[Assumption], names: Sequence[str], where: str) -> list[Assumption]:
    """``known`` with those named in ``names`` merged into one, at the position of the first."""
    for name in names:
        if not any(fits(name, place) for each in known for place in each.names):
            raise unknown(f"{where}tied", name, [each.name for each in known])
    together = [each for each in known if any(fits(name, place) for name in names for place in each.names)]
    ranges = {(each.kind, each.scale, repr((each.value, each.low, each.high, each.choices))) for each in together}
    if len(ranges) > 1:
        raise InputError(
            f"{where}tied: {', '.join(names)}: must have the same value, range and scale to be drawn as one"
        )
    first = together[0]
    one = replace(first, places=tuple(place for each in together for place in each.places))
    return [one if each is first else each for each in known if each is first or each not in together]


# --- Drawing -----------------------------------------------------------------------------------------------------


def draw(assumptions: Sequence[Assumption], n: int, seed: int) -> pd.DataFrame:
    """The setting as configured and ``n`` drawn ones: a row per setting (index ``setting``), a column per assumption's name.

    Without an assumption, all rows are equal. The drawn rows are the first ``n`` points of a scrambled Sobol sequence,
    so a smaller sample is the beginning of a larger one.
    """
    import pandas as pd  # takes half a second, which a start without work avoids

    rows = [[each.value for each in assumptions]]
    if not assumptions:
        rows *= 1 + n
    elif n:
        import numpy as np
        from scipy.stats import qmc  # takes a second, only needed to draw

        sequence = qmc.Sobol(len(assumptions), scramble=True, rng=np.random.default_rng(seed))
        shares = sequence.random_base2((n - 1).bit_length())[:n]  # balanced for powers of two
        rows += [[each.at(u) for each, u in zip(assumptions, point, strict=True)] for point in shares]
    columns = [each.name for each in assumptions]
    return pd.DataFrame(rows, columns=columns, index=pd.RangeIndex(len(rows), name="setting"), dtype=object)


def with_values(paper: PaperConfig, assumptions: Sequence[Assumption], row: Mapping[str, Any]) -> PaperConfig:
    """A paper's configuration with the values of one row of `draw` at all places of the assumptions."""
    new: dict[Any, Any] = {}
    for each in assumptions:
        for place in each.places:
            branch = new
            for key in place[:-1]:
                branch = branch.setdefault(key, {})
            branch[place[-1]] = row[each.name]
    return _replaced(paper, new)


def _replaced(node: Any, new: Mapping[Any, Any]) -> Any:
    """A copy of ``node`` with the values of a nested mapping of places; other parts are shared."""
    if isinstance(node, BaseModel | dict):
        parts = dict(node)
        update = {key: _value_or_branch(parts[key], inner) for key, inner in new.items()}
        return node.model_copy(update=update) if isinstance(node, BaseModel) else {**node, **update}
    return [_value_or_branch(child, new[i]) if i in new else child for i, child in enumerate(node)]


def _value_or_branch(node: Any, new: Any) -> Any:
    return node.model_copy(update={"value": new}) if isinstance(node, Value) else _replaced(node, new)
