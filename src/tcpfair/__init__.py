"""tcpfair: five papers on TCP fairness, rebuilt and checked by one command, and their simulator as a library.

>>> from tcpfair import flow, simulate
>>> r = simulate(flow("cubic", rtt_ms=20), flow("reno", rtt_ms=80, start_s=5), rate_mbps=100, duration_s=60)
>>> r.goodput_mbps.round(1).tolist(), round(float(r.jfi), 3)
([79.6, 17.0], 0.704)

Names are loaded on first use, because all modules of the project import this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tcpfair.errors import InputError
    from tcpfair.library.simulation import Run, compare, flow, simulate
    from tcpfair.metrics.ruler import ruler

__all__ = ["InputError", "Run", "compare", "flow", "ruler", "simulate"]
_ELSEWHERE = {"InputError": "errors", "ruler": "metrics.ruler"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # not an import statement, which would make the library a part of every step (`tcpfair.runs.reach`)
    module = __import__(f"{__name__}.{_ELSEWHERE.get(name, 'library.simulation')}", fromlist=[name])
    globals()[name] = found = getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
