"""All algorithms by name: every module of this package that defines ``PARAMS`` and ``STATE``."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tcpfair import cc
from tcpfair.cc import reno
from tcpfair.cc.api import Param, flow_dtype, params_dtype
from tcpfair.errors import InputError
from tcpfair.jit import jit


@dataclass(frozen=True)
class Algorithm:
    """One algorithm for the engine; ``number`` is its place in the dispatch."""

    name: str
    number: int
    doc: str
    params: tuple[Param, ...]
    state: tuple[str, ...]
    on_ack: Callable
    on_loss: Callable
    on_timeout: Callable
    on_round: Callable
    on_every_ack: Callable | None
    recovery: str
    reliable: bool
    halving_floor: float
    whole: bool
    own_clamp: bool
    own_agent: bool


@jit
def nothing(f, p):
    """Default of ``on_round`` and ``on_every_ack``."""


def _params(module) -> tuple[Param, ...]:
    """A module's own parameters, and those of Reno's rules where they replace missing rules."""
    own = {param.name for param in module.PARAMS}
    read_by = zip(("on_ack", "on_loss"), reno.PARAMS, strict=True)
    return (*module.PARAMS, *(param for rule, param in read_by if not hasattr(module, rule) and param.name not in own))


@cache
def algorithms() -> dict[str, Algorithm]:
    """Every algorithm by name, in alphabetical order."""
    found = {}
    for info in sorted(pkgutil.iter_modules(cc.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{cc.__name__}.{info.name}")
        if not hasattr(module, "PARAMS") or not hasattr(module, "STATE"):
            continue
        on_loss = getattr(module, "on_loss", reno.on_loss)
        found[info.name] = Algorithm(
            name=info.name,
            number=len(found),
            doc=module.__doc__ or "",
            params=_params(module),
            state=module.STATE,
            on_ack=getattr(module, "on_ack", reno.on_ack),
            on_loss=on_loss,
            on_timeout=getattr(module, "on_timeout", on_loss),
            on_round=getattr(module, "on_round", nothing),
            on_every_ack=getattr(module, "on_every_ack", None),
            recovery=getattr(module, "RECOVERY", "sack"),
            reliable=getattr(module, "RELIABLE", True),
            halving_floor=getattr(module, "HALVING_FLOOR", 0.5),
            whole=getattr(module, "WHOLE", False),
            own_clamp=getattr(module, "OWN_CLAMP", False),
            own_agent=getattr(module, "OWN_AGENT", False),
        )
    return found


def algorithm(name: str) -> Algorithm:
    """The algorithm called ``name``; InputError listing the known ones when it is unknown."""
    try:
        return algorithms()[name]
    except KeyError:
        raise InputError(f"cc: unknown protocol {name!r}; known are {', '.join(algorithms())}") from None


@cache
def dtypes() -> tuple:
    """Record types (state of a flow, parameters of a flow) that hold every algorithm's variables."""
    every = algorithms().values()
    return (
        flow_dtype(list({name for a in every for name in a.state})),
        params_dtype(list({param.name for a in every for param in a.params})),
    )


def param_values(name: str, overrides: dict[str, float]) -> dict[str, float]:
    """All parameters of an algorithm with ``overrides`` applied; InputError for an invalid name or value."""
    params = {param.name: param for param in algorithm(name).params}
    values = {param.name: param.default for param in params.values()}
    for key, value in overrides.items():
        if key not in values:
            known = ", ".join(values) or "none"
            raise InputError(f"cc {name}: unknown parameter {key!r}; known are {known}")
        bounds = params[key]
        if not (math.isfinite(value) and bounds.least <= value <= bounds.most):
            between = f"from {bounds.least:g} to {bounds.most:g}"
            raise InputError(f"cc {name}: {key}: must be finite, {between} (got {value:g})")
        values[key] = float(value)
    return values
