"""Configuration: the experiments of each paper, with the source or the assumption of every value.

Only ``config/papers/<paper>.yaml`` contains parameters of experiments. Each value is written ``{value: 500, source:
"sec. 5.4"}`` or ``{value: 0.1, assumed: "why", range: [0, 1]}``; a string ``=name`` takes the value of the grid
variable ``name``. Unknown keys are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import ConfigDict, Field, model_validator

from tcpfair.errors import InputError, unknown
from tcpfair.files.files import read_small
from tcpfair.files.layout import PAPERS, SOURCES, short_id
from tcpfair.papers.scenario import (
    AnyModel,
    Direction,
    Flow,
    NonNegative,
    Positive,
    Record,
    Scenario,
    Strict,
    validated,
)

SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader, if PyYAML was built with it


class _Loader(SAFE_LOADER):  # type: ignore[misc, valid-type]
    """Refuses a key that a mapping has twice; PyYAML would keep the last value."""

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict:
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if (key.tag, key.value) in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is given twice", key.start_mark)
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


_FILE_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
_DEEPEST = 50  # levels of a file; those of the papers have 8
_MOST_NODES = 1_000_000  # values of a file, counted at every reference


Share = Annotated[float, Field(gt=0, le=1)]
Scale = Literal["linear", "log", "choices"]


class Value(Strict):
    """A value and its source: stated in the paper, or assumed with a reason and a plausible range.

    ``scale`` selects how the ensemble draws from the range (`tcpfair.papers.settings`): evenly (``linear``), evenly in
    the logarithm (``log``), or only one of the two ends (``choices``).
    """

    value: Any
    source: str | None = None
    assumed: str | None = None
    range: list[Any] | None = None
    scale: Scale = "linear"

    @model_validator(mode="after")
    def _one_origin(self) -> Value:
        if self.source is None and self.assumed is None:
            raise ValueError("give `source:` (section of the paper) or `assumed:` (the reason)")
        if self.assumed is not None and self.source is None and self.range is None:
            raise ValueError("an assumed value needs `range:`, the values that would be as plausible")
        if self.scale == "log" and not self._has_log_range():
            raise ValueError("`scale: log` needs a `range:` of two numbers above 0; from 0 on, only linear is possible")
        if self.scale == "choices" and not self.range:
            raise ValueError("`scale: choices` needs `range:`, the values to choose from")
        return self

    def _has_log_range(self) -> bool:
        bounds = self.range or []
        return len(bounds) == 2 and all(type(bound) in (int, float) and bound > 0 for bound in bounds)


Setting = Value | str  # a string is a reference, "=rtt_ms"

BUFFER_SETTINGS = {"buffer_pkts", "buffer_bytes", "buffer_bdp"}
# settings that are fields of Scenario or Flow, and those that are converted into one
_OF_SCENARIO = set(Scenario.model_fields) - {"flows", "web", "record", "reverse_buffer_pkts"}
_OF_SCENARIO |= BUFFER_SETTINGS | {"bdp_rtt_ms"}
_OF_FLOW = set(Flow.model_fields) - {"rtt_s", "params"} | {"rtt_ms", "initial_ssthresh_bdp"}
NO_TRAFFIC = "none"
Perturbation = Literal["rtt_rel", "start_s", "access_rel", "order", "seeds"]
_ORDERS = ("listed", "shuffle")


def _check_names(place: str, names: Iterable[str], known: set[str]) -> None:
    """ValueError for an unknown setting."""
    for name in names:
        if name not in known:
            raise ValueError(f"{place}.{name}: unknown; known are {', '.join(sorted(known))}")


class Protocol(Strict):
    """The meaning of a label of the paper: the algorithm, its parameters and the settings of its end hosts."""

    cc: Setting
    params: dict[str, Setting] = Field(default_factory=dict)
    flow: dict[str, Setting] = Field(default_factory=dict, description="settings of its end hosts")


class LongLived(Strict):
    """Long-lived flows that belong to a kind of background traffic."""

    protocol: str
    flows: Value = Field(description="how many in each direction")
    start_s: Value = Field(description="they start at random within this time")


class Traffic(Strict):
    """A kind of background traffic: Poisson arrivals of short flows, and optional long-lived flows.

    Round-trip times are ``rtt_ms`` plus an exponential part of mean ``rtt_extra_mean_ms``, at most ``rtt_cap_ms``.
    """

    protocol: str
    arrivals_per_s: Setting
    sizes: list[dict[str, Value]] = Field(min_length=1, description="law, share and parameters of scenario.Web.sizes")
    rtt_ms: Setting
    rtt_extra_mean_ms: Setting
    rtt_cap_ms: Setting
    long_lived: LongLived | None = None


class Background(Strict):
    """The traffic of each direction; the label ``none`` means no traffic."""

    traffic: Setting
    direction: Direction


WeightRule = Literal["per_column", "mean_of_columns", "half_of_sum", "sum_of_columns"]


class Weights(Strict):
    """The source of the NRU weights: the self-pair experiment and the rule that combines its flows."""

    experiment: str
    rule: WeightRule
    also: list[WeightRule] = Field(default_factory=list, description="rules to compare with, in further metrics")


class Experiment(Strict):
    """One experiment: fixed settings, a grid of variables, the flows, and the number of replicates."""

    what: str
    settings: dict[str, Setting] = Field(default_factory=dict)
    flow: dict[str, Setting] = Field(default_factory=dict, description="settings shared by all flows")
    grid: dict[str, Value] = Field(default_factory=dict)
    flows: list[dict[str, Setting]] = Field(default_factory=list)
    background: list[Background] = Field(default_factory=list)
    runs: Value
    perturb: dict[Perturbation, Value] = Field(
        default_factory=dict,
        description="what differs from run to run. rtt_rel, access_rel: by up to this share either way; start_s: up to this "
        "later; order: shuffle = the flows change places, one order for each replicate; seeds: the paper whose seeds these "
        "runs have, where two papers publish the same runs",
    )
    window_s: Value | None = None
    record: list[Record] = Field(default=["samples"])
    measures: list[str] = Field(default_factory=list)
    weights: Weights | None = None
    supplement: bool = Field(default=False, description="a sensitivity study of ours, not an experiment of the paper")

    @model_validator(mode="after")
    def _known_names(self) -> Experiment:
        _check_names("settings", self.settings, _OF_SCENARIO)
        _check_names("flow", self.flow, _OF_FLOW)
        for i, flow in enumerate(self.flows):
            _check_names(f"flows[{i}]", flow, _OF_FLOW)
        for name, value in self.grid.items():
            if not isinstance(value.value, list) or not value.value:
                raise ValueError(f"grid.{name}: must be a list of values")
        for name in ("rtt_rel", "start_s", "access_rel"):
            value = self.perturb[name].value if name in self.perturb else 0
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"perturb.{name}: must be a number (got {value!r})")
        order = self.perturb.get("order")
        if order and order.value not in _ORDERS:
            raise ValueError(f"perturb.order: must be {' or '.join(_ORDERS)} (got {order.value!r})")
        seeds = self.perturb.get("seeds")
        if seeds and seeds.value not in PAPERS:
            raise ValueError(f"perturb.seeds: must be one of the papers {', '.join(PAPERS)} (got {seeds.value!r})")
        return self


class Exhibit(Strict):
    """One table, figure or diagram: its drawing and its experiments."""

    id: str
    kind: Literal["table", "figure", "diagram", "supplement"]
    form: Literal["table", "figure"] | None = Field(
        default=None, description="of a supplement that is drawn as a table"
    )
    title: str
    draw: str = Field(default="", description="kind of the drawing; empty for a one-off drawing")
    experiments: list[str] = Field(default_factory=list)
    options: dict[str, Any] = Field(default_factory=dict)
    caption: str = ""
    uses: list[str] = Field(default_factory=list, description="equations")

    @property
    def is_table(self) -> bool:
        """True for a page with a table, False for a picture."""
        return "table" in (self.kind, self.form)


class MeasureValues(Strict):
    """The values of ``analysis`` that measures read (`tcpfair.measures.groups`); exact types, because they are not converted."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    peak_share: Share = None
    target_rate_bps: Positive = None
    common_within_s: NonNegative = None
    residual_share: Share = None
    utilisation_counts: Literal["payload", "wire"] = None
    rates_count: Literal["received", "delivered"] = None
    sharing_from_s: NonNegative = None
    sharing_end_s: Positive = None
    fair_mean_s: Positive = None
    fair_ratio: Share = None
    together_rtts: NonNegative = None


class PaperConfig(Strict):
    """All of ``config/papers/<paper>.yaml``; or a configuration without a paper: the validation, the testbed, a user's study."""

    paper: Literal[(*PAPERS, "validation", "testbed", "guest", "study")]
    cite: str
    protocols: dict[str, Protocol] = Field(default_factory=dict)
    traffic: dict[str, Traffic] = Field(default_factory=dict, description="kinds of background traffic")
    settings: dict[str, Setting] = Field(default_factory=dict)
    flow: dict[str, Setting] = Field(default_factory=dict)
    analysis: dict[str, Value] = Field(default_factory=dict, description="parameters of models and metrics")
    experiments: dict[str, Experiment] = Field(default_factory=dict)
    exhibits: list[Exhibit] = Field(default_factory=list)

    @model_validator(mode="after")
    def _references(self) -> PaperConfig:
        _check_names("flow", self.flow, _OF_FLOW)
        for kind, names in (("experiments", self.experiments), ("exhibits", [each.id for each in self.exhibits])):
            for name in names:  # they name files
                if not _FILE_NAME.fullmatch(name):
                    raise ValueError(f"{kind}: {name!r}: must be letters, digits and _, parts of it joined by a dot")
        for label, protocol in self.protocols.items():
            _check_names(f"protocols.{label}.flow", protocol.flow, _OF_FLOW)
        for exhibit in self.exhibits:
            for name in exhibit.experiments:
                if name not in self.experiments:
                    raise ValueError(f"exhibits.{exhibit.id}: experiment {name!r} is not among the experiments")
        for name, experiment in self.experiments.items():
            if experiment.weights and experiment.weights.experiment not in self.experiments:
                raise ValueError(f"experiments.{name}.weights: unknown experiment {experiment.weights.experiment!r}")
        values = {name: value.value for name, value in self.analysis.items() if name in MeasureValues.model_fields}
        # a list is no value of a measure: ogura's fair_ratio is a band, for claims and a figure
        validated(MeasureValues, {name: x for name, x in values.items() if not isinstance(x, list)}, "analysis")
        return self

    @property
    def place(self) -> str:
        """Its file, as messages name it."""
        own = ("validation", "testbed", "guest")
        return f"config/{self.paper}.yaml" if self.paper in own else f"config/papers/{self.paper}.yaml"

    def behind(self, experiments: Iterable[str]) -> list[str]:
        """Some experiments, each followed by the one that its NRU weights come from; none twice."""
        found = {}
        for name in experiments:
            weights = self.experiments[name].weights
            found |= dict.fromkeys([name, weights.experiment] if weights else [name])
        return list(found)

    def analysis_value(self, name: str) -> Any:
        """The value of one analysis parameter."""
        return self.analysis[name].value

    def analysis_or(self, name: str, default: Any = None) -> Any:
        """The value of an analysis parameter that a configuration may lack."""
        return self.analysis_value(name) if name in self.analysis else default

    def exhibit(self, exhibit_id: str) -> Exhibit:
        """The exhibit of an id as a user may write it (`short_id`); InputError with the known ids for an unknown one."""
        for exhibit in self.exhibits:
            if short_id(exhibit.id) == short_id(exhibit_id):
                return exhibit
        raise unknown("exhibit", exhibit_id, [exhibit.id for exhibit in self.exhibits])


class Config(Strict):
    """``config/config.yaml``: the outputs to build and their source."""

    source: Literal[SOURCES] = "bundled"
    papers: list[Literal[PAPERS]] = Field(default=list(PAPERS))
    only: list[str] = Field(default_factory=list, description="exhibit ids; empty = all")
    trace: str = Field(
        default="", description="your own recordings (source raw): files or folders, separated by commas"
    )
    missing: Literal["simulate", "refuse"] = Field(default="simulate", description="what to do about missing runs")
    shards: int = Field(default=2, ge=1, le=64, description="jobs for each experiment with missing runs, at most")
    smoke: bool = Field(default=False, description="one run per grid point and short durations, to try everything")
    smoke_duration_s: float = Field(default=12.0, gt=0)


def load_yaml(path: Path) -> dict:
    """A YAML mapping; InputError naming file and line when it cannot be read."""
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise InputError(f"{path}: must be a mapping of names to values")
    return values


def read_yaml(path: Path) -> Any:
    """The content of a YAML file, parsed once while it does not change; InputError naming file and line."""
    try:
        text = read_small(path).decode()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not text in UTF-8") from None
    return deepcopy(_parsed(text, f"{path}:"))


def plain_yaml(text: str, where: str) -> Any:
    """The content of YAML as plain data. Tags that construct objects and exponential growth by references are refused.

    Raises InputError that begins with ``where``.
    """
    try:
        _refuse_deep(text, where)
        values = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        problem = str(getattr(error, "problem", None) or error).splitlines()[0]
        raise InputError(f"{where}{line} not valid YAML ({problem})") from None
    except InputError:
        raise
    except ValueError as error:  # a date that does not exist
        raise InputError(f"{where} not valid YAML ({error})") from None
    if not _is_small(values):
        raise InputError(f"{where} more than {_MOST_NODES} values, or a value that contains itself; check &x and *x")
    return values


_parsed = lru_cache(maxsize=32)(plain_yaml)


def _refuse_deep(text: str, where: str) -> None:
    """InputError for lists nested too deeply: the C loader recurses for each, until its stack overflows."""
    depth = 0
    for event in yaml.parse(text, SAFE_LOADER):
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            depth += 1
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise InputError(f"{where} line {event.start_mark.line + 1}: nested more than {_DEEPEST} levels deep")


def _is_small(values: Any) -> bool:
    """Whether plain data has at most `_MOST_NODES` values, each counted at every reference."""
    left, todo = _MOST_NODES, [values]
    while todo and left > 0:
        node = todo.pop()
        children = [*node, *node.values()] if isinstance(node, dict) else node if isinstance(node, list) else ()
        left -= 1 + len(children)
        todo.extend(children)
    return left > 0


def load_model(path: Path, model: type[AnyModel]) -> AnyModel:
    """A YAML file as a model. Raises InputError with one line naming file and field."""
    return validated(model, load_yaml(path), str(path))


def load_models(path: Path, model: type[AnyModel]) -> dict[str, AnyModel]:
    """A YAML file of models by name. Raises InputError with one line naming file, entry and field."""
    return {name: validated(model, entry, f"{path}: {name}") for name, entry in load_yaml(path).items()}


def load_paper(path: Path) -> PaperConfig:
    """Read and validate one paper's configuration. Raises InputError with one line naming file and field."""
    return load_model(path, PaperConfig)
