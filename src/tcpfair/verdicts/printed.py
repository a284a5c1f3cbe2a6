"""The published numbers, their distance from reproduced numbers, and the exhibits that they belong to.

This is the only module that reads ``data/published``: code that computes or draws has no access to published values.
A number is identified by its exhibit, a key such as ``flow=2;protocol=CUBIC;rtt_ms=100`` and a metric.
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
from pydantic import (
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tcpfair.errors import InputError
from tcpfair.papers.papers import Exhibit, PaperConfig, load_models, read_yaml
from tcpfair.papers.scenario import Frozen, Strict

IDENTITY = ["exhibit", "key", "metric"]  # of a number
PRINTED_COLUMNS = ["exhibit", "key", "metric", "value", "unit", "kind", "how", "quotes", "note"]
LEDGER_COLUMNS = [
    *("paper", "exhibit", "key", "metric", "printed", "reproduced", "sd", "n_runs", "error", "tolerance", "within"),
    *("source", "quotes", "tolerance_scatter", "within_scatter"),
]
OUTCOMES = ("within", "outside", "not computed")  # of a published number
NO_VALUE = "-"  # as in the papers, e.g. for the convergence time of a pair that never converges

_CASE_METRICS = {"case", "case_1dp"}
_CASE_LETTERS = set("ABCDE")
_EXHIBIT = re.compile(r"([a-z]+\d*)\.[\w.-]+")
_PAIR = r"[a-z][a-z0-9_]*=[^;=\s]+(?: [^;=\s]+)*"
_KEY = re.compile(f"{_PAIR}(;{_PAIR})*")


def make_key(**parts: str | float | None) -> str:
    """Canonical key of a number: ``name=value`` pairs joined by ``;`` in alphabetical order of the names.

    Missing parts (None, NaN) are omitted and whole numbers are written without ``.0``. Raises ValueError without any part, or
    for a part that `parse_key` could not read.
    """
    given = {name: _key_text(value) for name, value in parts.items() if not pd.isna(value)}
    if not given:
        raise ValueError("a key needs at least one part")
    pairs = [f"{name}={given[name]}" for name in sorted(given)]
    for pair in pairs:
        if not re.fullmatch(_PAIR, pair):
            raise ValueError(f"'{pair}' is not a name=value pair, such as rtt_ms=100")
    return ";".join(pairs)


def _key_text(value: str | float) -> str:
    if isinstance(value, Real):
        number = float(value)
        return str(int(number)) if number.is_integer() else str(number)
    return value


def parse_key(key: str) -> dict[str, str]:
    """Parts of a canonical key, as text: the inverse of `make_key`. Raises ValueError for any other key."""
    pairs = [pair.partition("=") for pair in key.split(";")]
    parts = {name: value for name, _, value in pairs}
    if not _KEY.fullmatch(key) or [name for name, *_ in pairs] != sorted(parts):
        raise ValueError(f"'{key}' is not canonical, write '{make_key(**parts)}'")
    return parts


def key_text(key: str) -> str:
    """``flow=2;protocol=CUBIC;rtt_ms=100`` -> ``CUBIC, flow 2, 100 ms``."""
    parts = parse_key(key)
    words = [parts.pop("protocol", ""), f"flow {parts.pop('flow')}" if "flow" in parts else ""]
    words += [f"{parts.pop('rtt_ms')} ms"] if "rtt_ms" in parts else []
    words += [value if name in ("item", "condition") else f"{name} {value}" for name, value in parts.items()]
    return ", ".join(word for word in words if word)


class _PrintedNumber(Strict):
    """One row of ``data/published/<paper>.csv``; each field comes after those that its check needs."""

    exhibit: str
    key: str
    metric: str = Field(min_length=1)
    kind: Literal["result", "parameter"]
    value: str
    unit: str
    how: Literal["table", "text"]
    quotes: str
    note: str

    @field_validator("exhibit")
    @classmethod
    def _of_the_paper(cls, exhibit: str, info: ValidationInfo) -> str:
        named = _EXHIBIT.fullmatch(exhibit)
        if not named or named[1] != info.context["paper"]:
            raise ValueError(f"'{exhibit}' is not an exhibit of this paper, such as {info.context['paper']}.fig1")
        return exhibit

    @field_validator("key")
    @classmethod
    def _canonical(cls, key: str) -> str:
        parse_key(key)
        return key

    @field_validator("value")
    @classmethod
    def _comparable(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("kind") != "result" or value == "":
            return value
        if info.data.get("metric") in _CASE_METRICS:
            if value not in _CASE_LETTERS:
                raise ValueError(f"'{value}' is not a case letter from A to E")
        elif isinstance(number := as_number(value), str) or not math.isfinite(number):
            raise ValueError(f"'{value}' is not a number; a printed '-' is left empty")
        return value

    @field_validator("quotes")
    @classmethod
    def _of_an_exhibit(cls, quotes: str, info: ValidationInfo) -> str:
        if quotes and info.data.get("how") == "table":
            raise ValueError("only a number in the text quotes an exhibit")
        if quotes and quotes not in info.context["quotable"]:
            raise ValueError(f"'{quotes}' is neither an exhibit nor an equation of this paper")
        return quotes


def as_number(text: str) -> float | str:
    """The number that a text is, else the text."""
    try:
        return float(text)
    except ValueError:
        return text


def load_printed(paper: PaperConfig, data_dir: str | Path) -> pd.DataFrame:
    """Published numbers of a paper, one row each, all columns as text (`PRINTED_COLUMNS`).

    `value` keeps the published digits and is empty for a dash; definitions keep their words. Raises InputError naming file,
    line and column when ``<data_dir>/published/<paper>.csv`` is missing or invalid.
    """
    path = Path(data_dir) / "published" / f"{paper.paper}.csv"
    context = {
        "paper": paper.paper,
        "quotable": {exhibit.id for exhibit in paper.exhibits} | {*load_equations(Path(data_dir) / "equations.yaml")},
    }
    rows, seen = [], {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file, restkey="surplus", restval=None)
            if reader.fieldnames != PRINTED_COLUMNS:
                raise InputError(f"{path}:1: the columns must be {','.join(PRINTED_COLUMNS)}")
            for row in reader:
                place = f"{path}:{reader.line_num}"
                _check_row(row, context, place)
                first_line = seen.setdefault(_identity(row), reader.line_num)
                if first_line != reader.line_num:
                    raise InputError(f"{place}: column 'key': same exhibit, key and metric as line {first_line}")
                rows.append(row)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {error}") from error
    return pd.DataFrame(rows, columns=PRINTED_COLUMNS, dtype=str)


def load_equations(path: Path) -> dict[str, dict[str, str]]:
    """The equations of all papers by id. Raises InputError when the file cannot be read."""
    return {entry["id"]: entry for entry in read_yaml(path)}


def _check_row(row: dict, context: dict, place: str) -> None:
    if "surplus" in row or None in row.values():
        raise InputError(f"{place}: {len(PRINTED_COLUMNS)} columns expected, quote a field that holds a comma")
    try:
        _PrintedNumber.model_validate(row, context=context)
    except ValidationError as error:
        first = error.errors()[0]
        column, why = first["loc"][0], first["msg"].removeprefix("Value error, ")
        raise InputError(f"{place}: column '{column}': {why}") from error


class Tolerance(Frozen):
    """The largest accepted distance of a reproduced number from the published one: one of the three."""

    absolute: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    relative: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    exact: Literal[True] | None = None

    @model_validator(mode="after")
    def _one_of_three(self) -> "Tolerance":
        if len(self.model_fields_set) != 1:
            raise ValueError("give exactly one of absolute, relative and exact")
        return self

    def __str__(self) -> str:
        if self.exact:
            return "exact"
        return f"{self.absolute:g}" if self.absolute is not None else f"{100 * self.relative:g} %"

    def width(self, printed: float) -> float:
        """Largest distance from `printed` that counts as reproduced, in the unit of `printed`."""
        return self.absolute if self.absolute is not None else self.relative * abs(printed)


def load_tolerances(path: str | Path) -> dict[str, Tolerance]:
    """Tolerance of each metric, from a YAML file. Raises InputError naming file and metric for an invalid one."""
    return load_models(Path(path), Tolerance)


def both_tolerances(data: Path) -> list[dict[str, Tolerance]]:
    """The tolerances set by hand, and those by the scatter of repetitions."""
    return [load_tolerances(data / name) for name in ("tolerances.yaml", "tolerances_scatter.yaml")]


class Deviation(NamedTuple):
    """Distance of a reproduced number from the published one; `within` is None if no number was computed."""

    tolerance: str
    error: float | None
    within: bool | None


def within(
    printed: str, reproduced: float | str | None, metric: str, tolerances: Mapping[str, Tolerance], exhibit: str = ""
) -> Deviation:
    """Whether a reproduced number agrees with the published one.

    `printed` is the published text, empty or ``-`` for a dash. `reproduced` is a number in the same unit, a case letter, NaN
    or ``-`` if it was computed and has no value, or None if it was not computed. `error` is reproduced - printed, None if
    either has no value. The tolerance of ``exhibit metric`` takes precedence over that of the metric. Raises InputError when
    the metric has no tolerance.
    """
    tolerance = tolerances.get(f"{exhibit} {metric}") or tolerances.get(metric)
    if tolerance is None:
        raise InputError(f"tolerances.yaml: metric '{metric}' is missing, add '{metric}: {{absolute: ...}}'")
    # for a bound, only the wrong side counts
    below, above = metric.endswith("_lower_bound"), metric.endswith("_upper_bound")
    text = f"{tolerance} below" if below else f"{tolerance} above" if above else str(tolerance)
    if reproduced is None:
        return Deviation(text, None, None)
    if tolerance.exact:
        return Deviation(text, None, printed == reproduced)

    printed_value, reproduced_value = _number(printed), _number(reproduced)
    if math.isnan(printed_value) or math.isnan(reproduced_value):
        return Deviation(text, None, math.isnan(printed_value) and math.isnan(reproduced_value))
    error = reproduced_value - printed_value
    excess = -error if below else error if above else abs(error)
    width = tolerance.width(printed_value)
    # 0.90 - 0.85 is a little more than 0.05 in binary
    return Deviation(text, error, excess <= width or math.isclose(excess, width))


def _number(value: float | str) -> float:
    return math.nan if value in ("", NO_VALUE) else float(value)


def compare(
    printed: pd.DataFrame,
    reproduced: pd.DataFrame,
    tolerances: Mapping[str, Tolerance],
    by_scatter: Mapping[str, Tolerance] | None = None,
) -> pd.DataFrame:
    """Each published result next to the reproduced number: the ledger's ``numbers.csv`` (`LEDGER_COLUMNS`).

    `printed` comes from `load_printed`; settings and definitions are omitted. `reproduced` has the columns exhibit, key,
    metric, value, sd, n_runs and source, with values in the published units, NaN or ``-`` for a number that was computed and
    has no value. A published number without a reproduced one has `reproduced` and `within` empty. A number in the text that
    quotes an exhibit is compared with that exhibit's number. `within_scatter` is the comparison by the tolerances
    ``by_scatter``, which are given by metric or by ``exhibit metric``. Raises ValueError when `reproduced` has a number twice
    or a key that is not canonical.
    """
    computed = {_identity(row): row for row in reproduced.to_dict("records")}
    if len(computed) != len(reproduced):
        twice = reproduced[reproduced.duplicated(IDENTITY)].iloc[0]
        raise ValueError(f"reproduced twice: {' '.join(twice[IDENTITY])}")
    for _, key, _ in computed:
        parse_key(key)
    rows = []
    for number in printed[printed["kind"] == "result"].to_dict("records"):
        found = computed.get(_identity(number)) or computed.get(quoted_identity(number), {})
        value = found.get("value")
        if found and pd.isna(value):
            value = NO_VALUE
        about = {"paper": number["exhibit"].partition(".")[0], "printed": number["value"] or NO_VALUE}
        row = {"source": ""} | found | number | about | {"reproduced": value}
        row |= within(number["value"], value, number["metric"], tolerances)._asdict()
        if by_scatter is not None:
            scatter = within(number["value"], value, number["metric"], by_scatter, number["exhibit"])
            row |= {"tolerance_scatter": scatter.tolerance, "within_scatter": scatter.within}
        rows.append(row)
    types = {"sd": "float64", "n_runs": "Int64", "error": "float64", "within": "boolean", "within_scatter": "boolean"}
    return pd.DataFrame(rows, columns=LEDGER_COLUMNS).astype(types)


def _identity(row: Mapping) -> tuple[str, str, str]:
    return tuple(row[column] for column in IDENTITY)


def quoted_identity(number: Mapping) -> tuple[str, str, str] | None:
    """Identity (exhibit, key, metric, without `condition`) of the exhibit's number that a number in the text quotes."""
    if not number["quotes"]:
        return None
    parts = parse_key(number["key"])
    parts.pop("condition", None)
    return number["quotes"], make_key(**parts), number["metric"]


def units(printed: pd.DataFrame) -> dict[tuple[str, str], str]:
    """The published unit of each metric of an exhibit; empty for a pure number."""
    places = pd.concat([printed.assign(place=printed["exhibit"]), printed.assign(place=printed["quotes"])])
    names = zip(places["place"], places["metric"], strict=True)
    return dict(zip(names, places["unit"].replace("1", ""), strict=True))


# --- Counts ------------------------------------------------------------------------------------------------------


class Counted(NamedTuple):
    """Counts of some published numbers by outcome."""

    within: int
    outside: int
    not_computed: int
    in_text: int  # numbers in the text, not in the exhibit that they are counted for

    @property
    def total(self) -> int:
        return self.within + self.outside + self.not_computed

    def __str__(self) -> str:
        parts = [f"{self.within} of {self.total} published numbers within tolerance"]
        parts += [f"{self.outside} outside"] if self.outside else []
        parts += [f"{self.not_computed} not computed"] if self.not_computed else []
        text = f" ({self.in_text} of them in the text)" if self.in_text else ""
        return ", ".join(parts) + text


def by_category(values: Iterable[str], categories: Iterable[str]) -> dict[str, int]:
    """The number of values in each category."""
    found = Counter(values)
    return {name: found[name] for name in categories}


def outcomes(within: pd.Series) -> pd.Series:
    """The outcomes of published numbers, one of `OUTCOMES` each; without a value, a number was not computed."""
    return within.map({True: "within", False: "outside"}).fillna("not computed")


def count(compared: pd.DataFrame) -> dict[str, int]:
    """Counts of the rows of a table of `compare` by outcome."""
    return by_category(outcomes(compared["within"]), OUTCOMES)


def belonging(compared: pd.DataFrame, exhibit_id: str) -> pd.DataFrame:
    """The published numbers of an exhibit or a section: its own, then those in the text that quote it.

    Published marks in a figure belong to the exhibit that has these numbers (`drawn_marks`).
    """
    own = compared[compared["exhibit"] == exhibit_id]
    return pd.concat([own, compared[compared["quotes"] == exhibit_id]])


def count_within(compared: pd.DataFrame, exhibit_id: str) -> Counted:
    """Counts of the published numbers that belong to an exhibit, shown with it everywhere.

    ``compared`` is a table of `compare` with all published numbers of the paper.
    """
    rows = belonging(compared, exhibit_id)
    return Counted(*count(rows).values(), in_text=int((rows["exhibit"] != exhibit_id).sum()))


def drawn_marks(exhibit: Exhibit, printing: Collection[str]) -> list[str]:
    """Those of the exhibits ``printing`` whose published numbers an exhibit draws as marks, as named in its options."""
    named = dict.fromkeys(text for text in _texts(exhibit.options) if text in printing)
    return [name for name in named if name != exhibit.id]


def _texts(options: Any) -> Iterator[str]:
    if isinstance(options, str):
        yield options
    elif isinstance(options, dict | list):
        for child in options.values() if isinstance(options, dict) else options:
            yield from _texts(child)
