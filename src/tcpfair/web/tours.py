"""The guided tours, checked: `tours.yaml` with its presets, equations and numbers resolved, as plain data for the page.

A tour is a few steps. A step has text, equations of the papers, a run that the page is set to (a run of a paper's experiment,
perhaps with changes, and perhaps a second one to compare) or a stretch for the packet view, what to look for, and a question
whose answer unfolds. Its texts contain no numbers: ``{name}`` is replaced by one of the step's `numbers`, which are
either cells of the committed baseline (``data/expected``: means over runs) or what one run gives (``value``, held by
`tests/web/test_tours.py`, which simulates it).
"""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tcpfair.errors import InputError, unknown
from tcpfair.files.layout import Layout
from tcpfair.papers.expand import RunSpec, run_specs
from tcpfair.papers.papers import PaperConfig, load_paper, load_yaml
from tcpfair.papers.scenario import make_scenario, one_line
from tcpfair.verdicts.typeset import tex_of, typeset

FILE = Path(__file__).with_name("tours.yaml")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_EMPHASIS = re.compile(r"\*([^*\n]+)\*|`([^`\n]+)`|(?<![A-Za-z])([A-Za-z])_(\w+|\{[^}]*\})")
PaperName = Literal["ogura", "bhatti2008", "bhatti2009", "kozu2014", "ha2006"]
# what a number of one run can be, see tests/web/tour_numbers.py
Quantity = Literal["mbps", "ratio", "jfi", "losses", "cwnd_mean", "window_ratio", "k_mean"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Run(_Strict):
    """A run of a paper's experiment, with what is changed in it."""

    paper: PaperName
    experiment: str
    point: dict[str, Any] = Field(default_factory=dict)
    replicate: int = Field(default=0, ge=0)
    change: dict[str, Any] = Field(default_factory=dict, description="fields of the scenario that get other values")
    flow: dict[str, Any] = Field(default_factory=dict, description="fields of all flows that get other values")


class Number(_Strict):
    """A number in a text: a cell of the baseline, or what one run gives."""

    show: str = ".3g"
    times: float = 1.0
    exhibit: str | None = None
    key: str | None = None
    metric: str | None = None
    part: Literal["value", "sd"] = "value"
    of: Quantity | None = None
    flow: int = Field(default=1, ge=1)
    against: int = Field(default=2, ge=1, description="the other flow of a ratio")
    run: Run | None = None
    value: float | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Number:
        given = [part is not None for part in (self.exhibit, self.key, self.metric)]
        if any(given) if self.of else not all(given):
            raise ValueError("a number is either a cell (exhibit, key, metric) or one run's (of, value)")
        return self


class Step(_Strict):
    """One step of a tour."""

    title: str
    text: str
    equations: tuple[str, ...] = ()
    run: Run | None = None
    beside: Run | None = None
    packets: str | None = Field(default=None, description="an example of the packet view, by name")
    panel: Literal["plots", "numbers", "epochs", "seeds"] = Field(default="plots", description="the tab to look at")
    plots: tuple[Literal["throughput", "cwnd", "queue", "rtt", "jfi", "nru", "k"], ...] = ()
    look: str | None = None
    question: str
    answer: str
    numbers: dict[str, Number] = Field(default_factory=dict)


class Tour(_Strict):
    """A tour; ``asks`` says in a sentence what it is about."""

    id: str = Field(pattern=r"^[a-z_]+$")
    title: str
    asks: str
    steps: tuple[Step, ...] = Field(min_length=2)


class Tours(_Strict):
    equations: dict[str, str] = Field(description="the note next to each equation, such as what its letters are")
    tours: tuple[Tour, ...] = Field(min_length=1)


def load(path: Path = FILE) -> Tours:
    """The file, checked by itself. Raises InputError with one line naming file and field."""
    try:
        return Tours.model_validate(load_yaml(path))
    except ValidationError as error:
        raise one_line(error, path.name) from None


def tours(layout: Layout, path: Path = FILE) -> dict[str, Any]:
    """All tours as the page takes them: texts as HTML, equations as MathML.

    Raises InputError when a run, an equation, a number or a placeholder does not exist.
    """
    found = load(path)
    tex = tex_of(layout)
    missing = next((name for name in found.equations if name not in tex), None)
    if missing:
        raise InputError(f"{path.name}: equations.{missing}: data/equations.yaml has no such equation")
    used = {name for tour in found.tours for step in tour.steps for name in step.equations}
    unmatched = ", ".join(sorted(used ^ found.equations.keys()))
    if unmatched:
        raise InputError(f"{path.name}: equations: {unmatched}: not here or not used")
    return {
        "equations": {
            name: {"mathml": typeset(tex[name]), "note": _html(note, {}), "label": label(name)}
            for name, note in found.equations.items()
        },
        "tours": [
            tour.model_dump(include={"id", "title", "asks"})
            | {"steps": [_step(layout, step, f"{path.name}: {tour.id}: {step.title}") for step in tour.steps]}
            for tour in found.tours
        ],
    }


def label(equation: str) -> str:
    """The name of ``kozu2014.eq6`` for a reader."""
    paper, _, number = equation.partition(".")
    number = number.removeprefix("eq")
    return f"{paper}, equation {number}" if number.isdigit() else f"{paper}, not numbered"


def _step(layout: Layout, step: Step, where: str) -> dict[str, Any]:
    for run in (step.run, step.beside, *(number.run for number in step.numbers.values())):
        if run is not None:
            spec_of(layout, run, where)
    values = {}
    for name, number in step.numbers.items():
        value = number.value if number.of else cell(layout, number, where)
        if value is None:
            raise InputError(f"{where}: numbers.{name}: has no value; python -m tests.web.tour_numbers prints it")
        values[name] = shown(number, value)
    texts = {name: getattr(step, name) or "" for name in ("text", "look", "question", "answer")}
    unmatched = values.keys() ^ {name for text in texts.values() for name in _PLACEHOLDER.findall(text)}
    if unmatched:
        raise InputError(f"{where}: numbers: {', '.join(sorted(unmatched))}: not given or not in the text")
    plain = {"title", "equations", "packets", "panel", "plots", "run", "beside"}
    return step.model_dump(mode="json", include=plain) | {
        name: _html(text, values) if text else None for name, text in texts.items()
    }


def shown(number: Number, value: float) -> str:
    """The number as the text has it."""
    return format(number.times * value, number.show).replace("-", "−")


def _html(text: str, values: dict[str, str]) -> str:
    """Paragraphs with *emphasis*, `code` and subscripts (``U_n``) as HTML."""

    def marked(found: re.Match) -> str:
        emphasis, code, base, low = found.groups()
        if emphasis:
            return f"<em>{_EMPHASIS.sub(marked, emphasis)}</em>"
        return f"<code>{code}</code>" if code else f"<i>{base}</i><sub>{low.strip('{}')}</sub>"

    filled = _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), escape(text, quote=False))
    paragraphs = [" ".join(part.split()) for part in filled.split("\n\n")]
    return "".join(f"<p>{_EMPHASIS.sub(marked, part)}</p>" for part in paragraphs if part)


@cache
def _paper(layout: Layout, name: str) -> PaperConfig:
    return load_paper(layout.paper_config(name))


def spec_of(layout: Layout, run: Run, where: str = "tours") -> RunSpec:
    """The run of the experiment, with its changes. Raises InputError when the grid has no such point."""
    paper = _paper(layout, run.paper)
    if run.experiment not in paper.experiments:
        raise unknown(f"{where}: {run.paper}: experiment", run.experiment, paper.experiments)
    experiment = paper.experiments[run.experiment]
    grid = experiment.grid
    on_grid = run.point.keys() == grid.keys() and all(run.point[axis] in grid[axis].value for axis in grid)
    if not on_grid or run.replicate >= experiment.runs.value:
        raise InputError(f"{where}: {run.paper}.{run.experiment} has no run {run.replicate} at {run.point}")
    point = {axis: values.model_copy(update={"value": [run.point[axis]]}) for axis, values in grid.items()}
    once = experiment.runs.model_copy(update={"value": 1})
    alone = experiment.model_copy(update={"grid": point, "runs": once})
    [spec] = run_specs(paper.model_copy(update={"experiments": {run.experiment: alone}}), run.experiment, run.replicate)
    if not run.change and not run.flow:
        return spec
    values = spec.scenario.model_dump() | run.change
    values["flows"] = [flow | run.flow for flow in values["flows"]]
    return replace(spec, scenario=make_scenario(values, f"{run.paper}.{run.experiment}: change"))


@cache
def _table(path: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with path.open(newline="") as rows:
        return {(row["exhibit"], row["key"], row["metric"]): row for row in csv.DictReader(rows)}


def cell(layout: Layout, number: Number, where: str = "tours") -> float:
    """A number of the committed baseline, or its standard deviation. Raises InputError when it is missing."""
    paper = str(number.exhibit).partition(".")[0]
    for path in sorted((layout.data / "expected" / paper).glob("*.csv")):
        row = _table(path).get((number.exhibit, number.key, number.metric), {})
        if row.get(number.part):
            return float(row[number.part])
    raise InputError(f"{where}: data/expected has no {number.metric} of {number.exhibit} at {number.key}")
