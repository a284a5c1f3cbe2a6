"""The guided tours, checked: `tours.yaml` with its presets, equations and numbers resolved, as plain data for the page.

A tour is a few steps. A step has text, equations of the papers, a run that the page is set to (of a paper's experiment, perhaps
with changes, or one of `examples.yaml`; perhaps with a second one to compare), the settings to try, what to look for, and a
question, often with a prediction that the runs judge, whose answer unfolds. Its texts contain no numbers: ``{name}`` is
replaced by one of the step's `numbers`. Most are worked out on the page from its run (``of``: ``static/findings.js``), next to
what the settings as shipped give (``shipped``, which ``python -m tests.web.tour_numbers`` writes); means over many runs are
cells of the committed baseline. `holds` are the conditions that make the answer true, in every row that a reader can pick.
"""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from tcpfair.errors import InputError, unknown
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers.expand import RunSpec, run_specs
from tcpfair.papers.papers import PaperConfig, load_paper, load_yaml
from tcpfair.papers.scenario import Frozen, make_scenario, one_line
from tcpfair.papers.settings import grid_points
from tcpfair.verdicts.typeset import tex_of, typeset
from tcpfair.web.schema import examples

FILE = Path(__file__).with_name("tours.yaml")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_EMPHASIS = re.compile(r"\*([^*\n]+)\*|`([^`\n]+)`|(?<![A-Za-z])([A-Za-z])_(\w+|\{[^}]*\})")
PlotName = Literal["throughput", "cwnd", "queue", "rtt", "jfi", "nru", "k", "plane"]


class Run(Frozen):
    """A run of a paper's experiment, with what is changed in it, or an example of the packet view."""

    example: str | None = None
    paper: Literal[*PAPERS] | None = None
    experiment: str | None = None
    point: dict[str, Any] = Field(default_factory=dict)
    replicate: int = Field(default=0, ge=0)
    change: dict[str, Any] = Field(default_factory=dict, description="fields of the scenario that get other values")
    flow: dict[str, Any] = Field(default_factory=dict, description="fields of all flows that get other values")


class Number(Frozen):
    """A number in a text: a cell of the baseline, or what one run gives."""

    show: str = Field(default=".2f", pattern=r"^\.\df$")
    times: float = 1.0
    exhibit: str | None = None
    key: str | None = None
    metric: str | None = None
    part: Literal["value", "sd"] = "value"
    of: str | None = Field(default=None, description="what of a run, see findings.js")
    flow: int = Field(default=1, ge=1)
    against: int = Field(default=2, ge=1, description="the other flow of a ratio")
    side: Literal["A", "B"] = "A"
    run: Run | None = Field(default=None, description="another run than those of the page")
    shipped: float | None = Field(default=None, description="its value with the settings of the step")

    @model_validator(mode="after")
    def _one_kind(self) -> Number:
        given = [part is not None for part in (self.exhibit, self.key, self.metric)]
        if any(given) if self.of else not all(given):
            raise ValueError("a number is either a cell (exhibit, key, metric) or one run's (of)")
        return self


class Point(Frozen):
    """What to point at: a place on a line of a plot, such as ``loss 2``, or the next event of a kind in the packet view."""

    plot: PlotName | None = None
    to: str = Field(pattern=r"^(loss|mid|end|peak|low|full) \d$|^(loss|change|sent)$")
    says: str = Field(max_length=48)


class Predict(Frozen):
    """A prediction before the answer: a number, or one of a few choices. What is right follows from the step's numbers."""

    number: str | None = Field(default=None, description="an expression over the numbers")
    unit: str = ""
    choices: dict[str, str] = Field(default_factory=dict, description="text: condition, of which one holds")
    slip: str = Field(description="the usual mistake: an expression, or one of the choices")
    hint: str = Field(pattern=r"^[^{}]+$", description="what to think of after that mistake")

    @model_validator(mode="after")
    def _one_kind(self) -> Predict:
        if (self.number is None) != bool(self.choices):
            raise ValueError("a prediction is either a number or one of the choices")
        if self.choices and self.slip not in self.choices:
            raise ValueError(f"slip {self.slip!r} is not one of the choices: {', '.join(self.choices)}")
        return self


class Draw(Frozen):
    """A curve that a reader draws from a loss to the next one, before the curve of the run is shown."""

    plot: PlotName
    flow: int = Field(default=1, ge=1)
    ask: str = Field(pattern=r"^[^{}]+$")
    label: str = Field(description="the name of the curve for screen readers")
    slip: str = Field(
        description="the usual mistake: an expression that gives a curve, over ``seen``, the curve of the run"
    )
    hint: str = Field(pattern=r"^[^{}]+$", description="what to think of after that mistake")


class Step(Frozen):
    """One step of a tour."""

    title: str
    text: str
    equations: tuple[str, ...] = ()
    run: Run
    beside: Run | None = None
    stretch: tuple[float, float] | None = Field(default=None, description="in the packet view: from, for, s")
    zoom: tuple[float, float] | None = Field(default=None, description="what of the run is in sight: from, to, s")
    panel: Literal["plots", "numbers", "epochs", "seeds", "packets"] = Field(default="plots", description="the tab")
    plots: tuple[PlotName, ...] = Field(min_length=1, description="the first is the picture next to the text")
    controls: tuple[str, ...] = Field(min_length=1, max_length=2, description="settings next to the text")
    point: Point
    look: str
    question: str
    draw: Draw | None = None
    predict: Predict | None = None
    answer: str
    numbers: dict[str, Number] = Field(default_factory=dict)
    holds: tuple[str, ...] = Field(min_length=1)


class Tour(Frozen):
    """A tour; ``asks`` is its question, in a sentence."""

    id: str = Field(pattern=r"^[a-z_]+$")
    title: str
    asks: str
    steps: tuple[Step, ...] = Field(min_length=2)


class Tours(Frozen):
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
    if missing := found.equations.keys() - tex.keys():
        raise InputError(f"{path.name}: equations.{min(missing)}: data/equations.yaml has no such equation")
    used = {name for tour in found.tours for step in tour.steps for name in step.equations}
    if unmatched := used ^ found.equations.keys():
        raise InputError(f"{path.name}: equations: {', '.join(sorted(unmatched))}: not here or not used")
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
        if run and run.example is None:
            spec_of(layout, run, where)
        elif run and run.example not in examples():
            raise unknown(f"{where}: example", run.example, examples())
    tags, live = {}, {}
    for name, number in step.numbers.items():
        if number.of:
            tags[name] = f'<data class="live" value="{name}">…</data>'
            fields = number.model_dump(
                mode="json", include={"of", "flow", "against", "side", "times", "run", "shipped"}
            )
            live[name] = fields | {"decimals": int(number.show[1])}
        else:
            text = format(number.times * cell(layout, number, where), number.show).replace("-", "−")
            what = f"{number.metric} of {number.exhibit}, {number.part} over its runs, with the settings as shipped"
            tags[name] = f'<data class="shipped" value="{text}" title="{escape(what)}">{text}</data>'
    texts = {name: getattr(step, name) for name in ("text", "look", "question", "answer")}
    named = {name for text in texts.values() for name in _PLACEHOLDER.findall(text)}
    guess = step.predict
    conditions = [*step.holds, *([guess.number or "", guess.slip, *guess.choices.values()] if guess else [])]
    judged = {name for name in live if any(re.search(rf"\b{name}\b", condition) for condition in conditions)}
    if unmatched := (named - tags.keys()) | (tags.keys() - named - judged):
        raise InputError(f"{where}: numbers: {', '.join(sorted(unmatched))}: not given or not in the text")
    drawn = {"draw": step.draw.model_dump() | {"ask": _html(step.draw.ask, {})}} if step.draw else {}
    written = {name: _html(text, tags) for name, text in texts.items()}
    return step.model_dump(mode="json") | drawn | written | {"numbers": live}


def _html(text: str, tags: dict[str, str]) -> str:
    """Paragraphs with *emphasis*, `code`, subscripts (``U_n``) and the tags of numbers as HTML."""

    def marked(found: re.Match) -> str:
        emphasis, code, base, low = found.groups()
        if emphasis:
            return f"<em>{_EMPHASIS.sub(marked, emphasis)}</em>"
        return f"<code>{code}</code>" if code else f"<i>{base}</i><sub>{low.strip('{}')}</sub>"

    names = list(tags)  # by number, because a name such as k_128 would be a letter with a subscript
    hidden = _PLACEHOLDER.sub(
        lambda found: f"\0{names.index(found[1])}\0" if found[1] in tags else found[0], escape(text, quote=False)
    )
    paragraphs = [" ".join(part.split()) for part in hidden.split("\n\n")]
    made = "".join(f"<p>{_EMPHASIS.sub(marked, part)}</p>" for part in paragraphs if part)
    return re.sub("\0(\\d+)\0", lambda found: tags[names[int(found[1])]], made)


@cache
def _paper(layout: Layout, name: str) -> PaperConfig:
    return load_paper(layout.paper_config(name))


def spec_of(layout: Layout, run: Run, where: str = "tours") -> RunSpec:
    """The run of the experiment, with its changes. Raises InputError when the grid has no such point."""
    if run.paper is None:
        raise InputError(f"{where}: run: paper and experiment, or an example, must be given")
    paper = _paper(layout, run.paper)
    if run.experiment not in paper.experiments:
        raise unknown(f"{where}: {run.paper}: experiment", run.experiment, paper.experiments)
    experiment = paper.experiments[run.experiment]
    if run.point not in grid_points(experiment) or run.replicate >= experiment.runs.value:
        raise InputError(f"{where}: {run.paper}.{run.experiment} has no run {run.replicate} at {run.point}")
    point = {axis: values.model_copy(update={"value": [run.point[axis]]}) for axis, values in experiment.grid.items()}
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
    paper, _, _ = str(number.exhibit).partition(".")
    for path in sorted(layout.expected(paper).glob("*.csv")):
        row = _table(path).get((number.exhibit, number.key, number.metric), {})
        if row.get(number.part):
            return float(row[number.part])
    raise InputError(f"{where}: data/expected has no {number.metric} of {number.exhibit} at {number.key}")
