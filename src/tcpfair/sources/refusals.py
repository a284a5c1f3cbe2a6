"""Refusals of simulators other than the engine: fields without a counterpart, with their place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from tcpfair.errors import InputError
from tcpfair.papers.expand import RunSpec
from tcpfair.papers.papers import PaperConfig
from tcpfair.papers.scenario import Flow, Scenario


def refuse_unknown(part: Scenario | Flow, known: Collection[str], tool: str, prefix: str = "") -> None:
    """Raise InputError for a field outside ``known``, such as a new one, unless it has its default."""
    for name, field in type(part).model_fields.items():
        if name not in known and getattr(part, name) != field.get_default(call_default_factory=True):
            raise InputError(f"{prefix}{name}: {tool} does not support it (got {getattr(part, name)!r})")


def checked(
    paper: PaperConfig, experiment: str, specs: Iterable[RunSpec], check: Callable[[Scenario], object]
) -> list[RunSpec]:
    """The runs of an experiment, checked by ``check``. Raises its InputError with file and experiment."""
    specs = list(specs)
    for spec in specs:
        try:
            check(spec.scenario)
        except InputError as error:
            raise InputError(f"{paper.place}: experiments.{experiment}: {error}") from None
    return specs
