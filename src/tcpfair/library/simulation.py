"""Scenarios, their runs and the metrics of these: `flow`, `simulate`, `Run`.

>>> from tcpfair import flow, simulate
>>> r = simulate(flow("cubic", rtt_ms=20), flow("reno", rtt_ms=80), rate_mbps=20, duration_s=20)
>>> r.nru_db.round(1).tolist()  # against their own kind, one wins and one loses
[1.4, -2.4]
>>> r.but(seed=range(3)).jfi.round(2).tolist()
[0.72, 0.77, 0.78]
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from tcpfair.cc.registry import algorithm, algorithms
from tcpfair.engine.dumbbell import DumbbellResult
from tcpfair.errors import InputError, check_known
from tcpfair.library import digest
from tcpfair.library.own import located
from tcpfair.library.workers import Job, run_all
from tcpfair.metrics import fairness
from tcpfair.metrics import ruler as rulers
from tcpfair.papers.scenario import Flow, Scenario, make_scenario
from tcpfair.units import BPS_PER_MBPS, MS_PER_S, bdp_pkts, mbps, service_time_s

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from tcpfair.exhibits import run_panels

Floats = npt.NDArray[np.float64]
Number: TypeAlias = "float | Sequence[float] | range | npt.NDArray[Any] | None"
Kind = Literal["self", "solo"]

WIRE_BYTES, PAYLOAD_BYTES = 1500, 1448
JITTER_PKTS = 3  # service times: without any jitter the phase of single packets decides which flow wins
SAMPLE_S = 0.1  # of windows and queue
RATE_S = 1.0  # over which a rate is taken, as in the papers
SETTLED = 0.25  # of the time after the last start is excluded from averages
RECOVERY_END = 2  # among the kinds of events; below are losses and timeouts
_LISTS = ("record", "web")  # settings whose one value is a list
LABELS = {  # of axes and of the arrays of `Run.to_xarray`
    "goodput_t_mbps": "goodput (Mb/s)",
    "jfi_t": "J(t)",
    "nru_t_db": "NRU (dB)",
    "cwnd_pkts": "cwnd (packets)",
    "queue_pkts": "queue (packets)",
}


def flow(cc: str | os.PathLike[str], rtt_ms: float, **settings: Any) -> dict[str, Any]:
    """A flow: its algorithm, its RTT without queue in ms, and any further fields of `tcpfair.papers.scenario.Flow`, such as
    ``start_s``, ``params`` of the algorithm or ``rwnd_pkts``.

    ``cc`` names a file of `tcpfair.cc`, or your own algorithm that implements the contract of `tcpfair.cc.api`: the
    path of its file (``"my_cc.py"``) or a module that can be imported. Raises InputError for an unknown algorithm or
    field and for a file that does not exist.

    >>> flow("cubic", rtt_ms=20, start_s=5)
    {'protocol': 'cubic, 20 ms', 'cc': 'cubic', 'rtt_s': 0.02, 'start_s': 5}
    """
    cc = os.fspath(cc) if isinstance(cc, os.PathLike) else cc
    if not isinstance(cc, str) or not _is_positive(rtt_ms):
        raise InputError(f"flow: it needs the name of an algorithm, and an rtt_ms above 0 (got {cc!r}, {rtt_ms!r})")
    path = located(cc)
    name = Path(path).stem if path else cc
    if not path:
        check_known("flow: algorithm", [cc], algorithms())
        for given in settings.keys() & {param.name for param in algorithm(cc).params}:
            raise InputError(f"flow: {given} is a parameter of {cc}: write params={{{given!r}: {settings[given]!r}}}")
    if "rtt_s" in settings:
        raise InputError("flow: rtt_s: give rtt_ms instead")
    check_known("flow: field", settings, Flow.model_fields)
    return {"protocol": f"{name}, {rtt_ms:g} ms", "cc": path or cc, "rtt_s": rtt_ms / MS_PER_S, **settings}


def simulate(
    *flows: Mapping[str, Any] | Scenario,
    rate_mbps: Number = 100,
    buffer_bdp: Number = None,
    buffer_pkts: Number = None,
    duration_s: Number = 60,
    seed: Number = 1,
    cores: int | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Run:
    """Simulate flows of `flow` on a link of ``rate_mbps`` with a buffer in packets, or in BDP of the longest RTT (1 when neither
    is given), for ``duration_s``.

    ``settings`` are further fields of `tcpfair.papers.scenario.Scenario`, such as ``loss_rate``. Defaults: packets of
    1500 bytes with 1448 of payload, and a delay that jitters by three packet times. A setting that is a list, a range
    or an array is an axis of the result. Each combination is one run, on ``cores`` processes if that is faster; the
    results do not depend on their number. ``progress`` shows how many are done. A `Scenario` instead of flows is
    simulated unchanged. Raises InputError in one line for invalid values.

    >>> simulate(flow("reno", rtt_ms=40), rate_mbps=[5, 10], duration_s=10).goodput_mbps.round(1).tolist()
    [[4.8], [9.6]]
    """
    if "capacity_bps" in settings and not any(isinstance(each, Scenario) for each in flows):
        stated = settings["capacity_bps"]  # `Run.but` of a Scenario gives both
        same = isinstance(rate_mbps, float) and _is_positive(stated) and stated / BPS_PER_MBPS == rate_mbps
        if not same:
            raise InputError("simulate: capacity_bps: give rate_mbps instead")
    flows = tuple(dict(each) if isinstance(each, Mapping) else each for each in flows)  # later changes have no effect
    given = {"rate_mbps": rate_mbps, "buffer_bdp": buffer_bdp, "buffer_pkts": buffer_pkts, "duration_s": duration_s}
    if len(flows) == 1 and isinstance(flows[0], Scenario):
        if settings or given != {"rate_mbps": 100, "buffer_bdp": None, "buffer_pkts": None, "duration_s": 60}:
            raise InputError("simulate: a Scenario is simulated as it is; change the result's settings with `but`")
        given = {name: getattr(flows[0], name) for name in Scenario.model_fields if name != "flows"}
        given["rate_mbps"] = flows[0].capacity_bps / BPS_PER_MBPS
        flows = tuple(each.model_dump() for each in flows[0].flows)
    given = {**given, **settings, "seed": seed}
    for name, value in given.items():
        if isinstance(value, list):
            given[name] = list(value)
        elif isinstance(value, np.ndarray) and value.ndim == 0:
            given[name] = value.item()
    if cores is not None and (not isinstance(cores, int) or cores < 1):
        raise InputError(f"simulate: cores: must be a whole number above 0 (got {cores!r})")
    axes = {n: list(v) for n, v in given.items() if isinstance(v, list | range | np.ndarray) and n not in _LISTS}
    if empty := [name for name, values in axes.items() if not values]:
        raise InputError(f"simulate: {empty[0]}: an empty list; give a value or several")
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    jobs = [_job(flows, **{**given, **point}) for point in points]
    results = run_all(jobs, cores, progress)
    members = tuple(_One(*job, result) for job, result in zip(jobs, results, strict=True))
    return Run(axes, members, flows, given, cores, progress)


def compare(runs: Mapping[str, Run]) -> Run:
    """Single runs combined into one, with their names as the axis ``run``.

    >>> r = simulate(flow("reno", rtt_ms=20), flow("reno", rtt_ms=40), rate_mbps=10, duration_s=10)
    >>> compare({"1 BDP": r, "a tenth": r.but(buffer_bdp=0.1)}).jfi.round(2).tolist()
    [0.97, 0.78]
    """
    own = list(runs.values()) if isinstance(runs, Mapping) else []
    if not own or not all(isinstance(run, Run) and len(run.members) == 1 for run in own):
        raise InputError("compare: it needs single runs of `simulate`, each under its name")
    return Run({"run": list(runs)}, tuple(run.members[0] for run in own), (), {}, None, None)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(value > 0)


def _job(
    flows: tuple[Any, ...],
    /,
    *,
    rate_mbps: Any,
    seed: Any,
    buffer_bdp: Any = None,
    buffer_pkts: Any = None,
    **settings: Any,
) -> Job:
    """One run, all settings of which are single values."""
    are_flows = all(isinstance(each, Mapping) and {"cc", "rtt_s"} <= each.keys() for each in flows)
    if not flows or not are_flows or "flows" in settings:
        raise InputError("simulate: it needs flows, each from flow(...)")
    if not _is_positive(rate_mbps):
        raise InputError(f"simulate: rate_mbps: must be a number above 0 (got {rate_mbps!r})")
    if buffer_bdp is not None and buffer_pkts is not None:
        raise InputError("simulate: give buffer_bdp or buffer_pkts, not both")
    seed = digest.seed_of(seed, "simulate")
    wire_bytes = settings.get("wire_bytes", WIRE_BYTES)
    own = {each["cc"]: Path(each["cc"]).stem for each in flows if str(each["cc"]).endswith(".py")}
    if len(set(own.values())) < len(own):
        raise InputError(f"simulate: two own algorithms have one name: {', '.join(sorted(own))}")
    values = {
        "capacity_bps": rate_mbps * BPS_PER_MBPS,
        "wire_bytes": wire_bytes,
        "payload_bytes": PAYLOAD_BYTES,
        "buffer_pkts": buffer_pkts,
        "sample_s": SAMPLE_S,
        "record": ("samples", "cwnd", "events", "link"),
        **settings,
        "flows": [{**each, "cc": own.get(each["cc"], each["cc"])} for each in flows],
    }
    try:
        bdp = bdp_pkts(values["capacity_bps"], max(each["rtt_s"] for each in flows), wire_bytes)
        values.setdefault("jitter_s", JITTER_PKTS * service_time_s(wire_bytes, values["capacity_bps"]))
        if buffer_pkts is None:
            values["buffer_pkts"] = bdp * (1 if buffer_bdp is None else buffer_bdp)
    except (TypeError, ZeroDivisionError):
        pass  # the invalid field is named below
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    return Job(make_scenario(values, "simulate"), seed, tuple(sorted(own)))


@contextmanager
def _extra(name: str) -> Iterator[None]:
    """Import an optional package; InputError names the extra that installs it when it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is not installed; pip install 'tcpfair[{name}]' brings it") from None


# --- One run -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _One:
    """One scenario with one seed; arrays have the shape (flows, times)."""

    scenario: Scenario
    seed: int
    own: tuple[str, ...]
    result: DumbbellResult
    references: dict[Kind, list[_One]] = field(default_factory=dict, repr=False)  # of each flow; filled by `_refer`

    def jobs_of(self, kind: Kind) -> list[Job]:
        """The run of each flow's reference: all flows are of its kind with their starts unchanged, or it is alone."""
        worlds: Iterator[tuple[Flow, ...]]
        if kind == "solo":
            worlds = ((each,) for each in self.scenario.flows)
        else:
            starts_s = [each.start_s for each in self.scenario.flows]
            worlds = (tuple(each.model_copy(update={"start_s": s}) for s in starts_s) for each in self.scenario.flows)
        return [Job(self.scenario.model_copy(update={"flows": world}), self.seed, self.own) for world in worlds]

    @property
    def labels(self) -> list[str]:
        return [each.protocol for each in self.scenario.flows]

    @property
    def sample_t_s(self) -> Floats:
        """Ends of the samples of windows and queue, (..., samples)."""
        return self.result.t_s

    @property
    def cwnd_pkts(self) -> Floats:
        """Congestion windows, (..., flows, samples)."""
        return self.result.cwnd_pkts.T

    @property
    def queue_pkts(self) -> Floats:
        """Packets that wait at the bottleneck, (..., samples)."""
        return self.result.queue_pkts

    @cached_property
    def t_s(self) -> Floats:
        """Ends of the intervals of 1 s over which rates are taken, (..., intervals)."""
        return self.result.t_s[self._step - 1 :: self._step]

    @cached_property
    def goodput_t_mbps(self) -> Floats:
        """Goodput in order at each receiver, (..., flows, intervals)."""
        there_pkts = self.result.delivered_pkts[self._step - 1 :: self._step].T
        new_pkts = np.diff(there_pkts, axis=-1, prepend=0)
        return self._step_mbps * new_pkts

    @property
    def goodput_mbps(self) -> Floats:
        """Mean goodput in the window, (..., flows)."""
        return self._mean(self.goodput_t_mbps)

    @property
    def jfi_t(self) -> Floats:
        """Jain's index of each interval, J(t), (..., intervals)."""
        return fairness.jfi_over_time(self.goodput_t_mbps)

    @property
    def jfi(self) -> Floats:
        """Mean of J(t) in the window, as in the papers, (...); intervals without any delivery do not count."""
        j = self.during(self.jfi_t, *self.window_s)
        return np.asarray(j[~np.isnan(j)].mean() if (~np.isnan(j)).any() else np.nan)

    @property
    def jfi_of_means(self) -> Floats:
        """Jain's index of the mean goodputs, (...)."""
        return np.asarray(fairness.jfi(self.goodput_mbps))

    @property
    def gini(self) -> Floats:
        """Gini's coefficient of the mean goodputs, (...): 0 is equal."""
        return rulers.gini(self.goodput_mbps)

    @property
    def entropy(self) -> Floats:
        """Shannon's entropy of the shares of the mean goodput, over that of equal shares, (...): 1 is equal."""
        return rulers.entropy(self.goodput_mbps)

    @property
    def self_mbps(self) -> Floats:
        """Each flow's goodput, in its position, when all flows are of its kind, (..., flows)."""
        return np.array([own.goodput_mbps[n] for n, own in enumerate(self.references["self"])])

    @property
    def solo_mbps(self) -> Floats:
        """Each flow's goodput alone, in the window of this run, (..., flows)."""
        alone = self.references["solo"]
        return np.array([float(each._mean(each.goodput_t_mbps, window_s=self.window_s)[0]) for each in alone])

    @property
    def max_min_mbps(self) -> Floats:
        """Each flow's max-min share of the link's payload, bounded by its access link, (..., flows)."""
        payload = self.scenario.payload_bytes / self.scenario.wire_bytes / BPS_PER_MBPS
        access_bps = [each.access_bps or np.inf for each in self.scenario.flows]
        return rulers.max_min(self.scenario.capacity_bps * payload, np.array(access_bps) * payload)

    @property
    def nru_t_db(self) -> Floats:
        """U_n(t), (..., flows, intervals); an interval without delivery counts as one segment."""
        y_self = self.self_mbps[:, np.newaxis]
        return rulers.nru_db(rulers.ruler(np.maximum(self.goodput_t_mbps, self._step_mbps), "self", y_self=y_self))

    @property
    def nru_db(self) -> Floats:
        """Flow NRU U_n, the mean of U_n(t) in the window (bhatti2009, eq. 5), (..., flows)."""
        return self._mean(self.nru_t_db)

    @property
    def nru_of_mean_db(self) -> Floats:
        """NRU of the mean goodput, (..., flows): above `nru_db` by Jensen's inequality, and more so for a less steady flow."""
        return rulers.nru_db(rulers.ruler(self.goodput_mbps, "self", y_self=self.self_mbps))

    @property
    def harm(self) -> Floats:
        """Harm in goodput, (..., flows): the part of what the flow gets alone that the others take (Ware et al., sec. 4)."""
        return rulers.harm(self.solo_mbps, self.goodput_mbps)

    @property
    def harm_in_delay(self) -> Floats:
        """Harm in the mean queueing delay, (..., flows)."""
        alone_ms = np.array([each._queueing_ms(self.window_s) for each in self.references["solo"]])
        return rulers.harm(alone_ms, self.queueing_ms, less_is_better=True)

    @property
    def harm_in_loss(self) -> Floats:
        """Harm in the share of lost packets, (..., flows)."""
        alone = np.array([each.loss_share[0] for each in self.references["solo"]])
        return rulers.harm(alone, self.loss_share, less_is_better=True)

    @property
    def queueing_ms(self) -> Floats:
        """Mean queueing delay at the bottleneck in the window, (...)."""
        return np.asarray(self._queueing_ms(self.window_s))

    def _queueing_ms(self, window_s: tuple[float, float]) -> float:
        per_pkt_ms = MS_PER_S * service_time_s(self.scenario.wire_bytes, self.scenario.capacity_bps)
        return float(self._mean(self.queue_pkts, self.sample_t_s, window_s)) * per_pkt_ms

    @property
    def loss_share(self) -> Floats:
        """Lost packets over those sent, whole run, (..., flows)."""
        ends = self.result.ends
        return np.asarray(ends["dropped"] / np.maximum(ends["sent"] + ends["resent"], 1))

    @property
    def losses(self) -> Floats:
        """Reductions of each flow's window in the window of averages, by recovery or timeout, (..., flows); NaN where
        ``record`` excludes events."""
        if "events" not in self.scenario.record:
            return np.full(len(self.scenario.flows), np.nan)
        events = self.result.events
        start_s, end_s = self.window_s
        counted = events[(events["kind"] < RECOVERY_END) & (events["t_s"] >= start_s) & (events["t_s"] <= end_s)]
        return np.bincount(counted["flow"], minlength=len(self.scenario.flows)).astype(float)

    @property
    def cwnd_mean_pkts(self) -> Floats:
        """Mean congestion window, (..., flows)."""
        return self._mean(self.cwnd_pkts, self.sample_t_s)

    @property
    def window_s(self) -> tuple[float, float]:
        """The window of averages: from a quarter of the time after the last start, to the end."""
        started_s = max(each.start_s for each in self.scenario.flows)
        end_s = float(self.t_s[-1]) if len(self.t_s) else self.scenario.duration_s
        return started_s + SETTLED * (end_s - started_s), end_s

    @property
    def digest(self) -> str:
        """SHA-256 over all outputs of the run, as the packet lab and ``./reproduce digest`` print it."""
        result = self.result
        if "events" not in self.scenario.record:
            logged = self.scenario.model_copy(update={"record": (*self.scenario.record, "events")})
            [result] = run_all([Job(logged, self.seed, self.own)])
        return digest.digest_of_result(result)

    @property
    def _step(self) -> int:
        return max(round(RATE_S / self.scenario.sample_s), 1)

    @property
    def _step_mbps(self) -> float:
        """Rate of one packet in an interval."""
        return float(mbps(self.scenario.payload_bytes, self._step * self.scenario.sample_s))  # type: ignore[no-untyped-call]

    def _mean(self, x: Floats, t_s: Floats | None = None, window_s: tuple[float, float] | None = None) -> Floats:
        """Mean in the window of averages, or another; NaN when it contains no interval."""
        inside = self.during(x, *(window_s or self.window_s), t_s=t_s)
        return np.asarray(inside.mean(axis=-1)) if inside.shape[-1] else np.full(x.shape[:-1], np.nan)

    def during(self, x: Floats, start_s: float, end_s: float, t_s: Floats | None = None) -> Floats:
        """The intervals of ``x`` within a span."""
        t_s, rounding_s = self.t_s if t_s is None else t_s, 1e-6
        return x[..., (t_s > start_s + rounding_s) & (t_s <= end_s + rounding_s)]


# --- Runs --------------------------------------------------------------------------------------------------------


class _Measure:
    """An attribute of `Run`: the values of all members, in an array with the run's axes first."""

    def __init__(self, needs: Kind | None = None) -> None:
        self._needs = needs

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        measured = getattr(_One, name)
        self.__doc__ = getattr(measured, "func", measured).__doc__

    def __get__(self, run: Run | None, owner: type) -> npt.NDArray[Any]:
        if run is None:
            return self  # type: ignore[return-value]  # for help()
        if self._needs:
            run._refer(self._needs)
        values = [np.asarray(getattr(one, self._name)) for one in run.members]
        if len({value.shape for value in values}) > 1:
            raise InputError(
                f"{self._name}: the runs have different numbers of flows or times; take one of them, see Run.one"
            )
        return np.stack(values).reshape(run.shape + values[0].shape)[()]


@dataclass(frozen=True, eq=False)
class Run:
    """One run, or many with ``axes``: the name and the values of each setting that was given as a list.

    Arrays have the axes first: for a single run ``jfi`` is a number and ``goodput_mbps`` has a value for each flow.
    Averages exclude the first quarter of the time after the last start (``window_s``). The runs of a flow alone, and
    among its own kind, are simulated on first use.
    """

    axes: Mapping[str, list[Any]]
    members: tuple[_One, ...] = field(repr=False)
    flows: tuple[Any, ...]
    given: Mapping[str, Any]
    cores: int | None = field(default=None, repr=False)
    progress: bool | None = field(default=None, repr=False)

    t_s = _Measure()
    sample_t_s = _Measure()
    window_s = _Measure()
    goodput_mbps = _Measure()
    goodput_t_mbps = _Measure()
    cwnd_pkts = _Measure()
    cwnd_mean_pkts = _Measure()
    queue_pkts = _Measure()
    queueing_ms = _Measure()
    losses = _Measure()
    loss_share = _Measure()
    jfi = _Measure()
    jfi_t = _Measure()
    jfi_of_means = _Measure()
    gini = _Measure()
    entropy = _Measure()
    self_mbps = _Measure("self")
    solo_mbps = _Measure("solo")
    max_min_mbps = _Measure()
    nru_db = _Measure("self")
    nru_t_db = _Measure("self")
    nru_of_mean_db = _Measure("self")
    harm = _Measure("solo")
    harm_in_delay = _Measure("solo")
    harm_in_loss = _Measure("solo")
    digest = _Measure()

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each axis; () of a single run."""
        return tuple(len(values) for values in self.axes.values())

    def but(self, *flows: Mapping[str, Any], **changes: Any) -> Run:
        """The same with other flows or other settings, those of `simulate`; a list is an axis, such as ``seed=range(20)``."""
        if not self.given:
            raise InputError("but: these runs were put together by `compare`; change one of them")
        given = dict(self.given)
        if changes.keys() & {"buffer_bdp", "buffer_pkts"}:  # only one may set the buffer
            given |= {"buffer_bdp": None, "buffer_pkts": None}
        if "rate_mbps" in changes:
            given.pop("capacity_bps", None)
        settings = {"cores": self.cores, "progress": self.progress, **given, **changes}
        return simulate(*(flows or self.flows), **settings)

    def one(self, **at: Any) -> Run:
        """The single run with these values of the axes: ``r.one(seed=3)``."""
        if at.keys() != self.axes.keys() or not all(value in self.axes[name] for name, value in at.items()):
            wanted = "; ".join(f"{name}: one of {', '.join(map(str, v))}" for name, v in self.axes.items())
            raise InputError(f"one: give a value of each axis ({wanted or 'there is none'})")
        place = np.ravel_multi_index([self.axes[name].index(at[name]) for name in self.axes], self.shape) if at else 0
        return Run({}, (self.members[int(place)],), self.flows, {**self.given, **at} if self.given else {})

    def ruler(self, reference: rulers.Reference) -> Floats:
        """Mean goodput over that of a reference world, (..., flows): see `tcpfair.metrics.ruler`."""
        check_known("ruler: reference", [reference], get_args(rulers.Reference))
        value = getattr(self, f"{reference}_mbps")
        return rulers.ruler(self.goodput_mbps, reference, y_self=value, x=value, m=value)

    @property
    def labels(self) -> list[str]:
        """Name of each flow."""
        return self.members[0].labels

    @property
    def scenario(self) -> Scenario:
        """All parameters of a single run."""
        return self._single("scenario").scenario

    @property
    def result(self) -> DumbbellResult:
        """All outputs of the simulator for a single run."""
        return self._single("result").result

    def to_json(self) -> str:
        """A single run as a file for the packet lab and ``./reproduce digest``."""
        one = self._single("to_json")
        values = one.scenario.model_dump(mode="json", exclude_defaults=True)
        return json.dumps({"scenario": values, "seed": one.seed}, ensure_ascii=False)

    def summary(self) -> pd.DataFrame:
        """A row for each run and flow: mean goodput and window, losses, its measures by each reference; and J of the run."""
        of_flows = (
            "goodput_mbps",
            "cwnd_mean_pkts",
            "losses",
            "nru_db",
            "nru_of_mean_db",
            "harm",
            "harm_in_delay",
            "harm_in_loss",
        )
        of_all = ("jfi", "jfi_of_means")
        for kind in ("self", "solo"):
            self._refer(kind)
        return self._table(
            lambda one, n: {k: getattr(one, k)[n] for k in of_flows} | {k: getattr(one, k) for k in of_all}
        )

    def to_pandas(self) -> pd.DataFrame:
        """A row for each run, flow and interval: goodput, window at its end, and the queue and J(t) of the run."""

        def rows(one: _One, n: int) -> dict[str, Any]:
            at_ends = slice(one._step - 1, None, one._step)
            windows, queue = one.cwnd_pkts[n, at_ends], one.queue_pkts[at_ends]
            found = {"t_s": one.t_s, "goodput_mbps": one.goodput_t_mbps[n], "cwnd_pkts": windows, "queue_pkts": queue}
            return found | {"jfi": one.jfi_t}

        return self._table(rows)

    def to_xarray(self) -> xr.Dataset:
        """Goodput, J(t), windows and queue with named axes and units."""
        with _extra("tables"):
            import xarray as xr
        dims = {"goodput_t_mbps": ("flow", "t_s"), "jfi_t": ("t_s",), "cwnd_pkts": ("flow", "sample_t_s")}
        arrays = {}
        for name, own in (dims | {"queue_pkts": ("sample_t_s",)}).items():
            words, _, unit = LABELS[name].rstrip(")").partition(" (")
            attributes = {"long_name": words, "units": unit or "1"}
            arrays[name] = ((*self.axes, *own), getattr(self, name), attributes)
        first = self.members[0]
        coordinates = {name: (name, getattr(first, name), {"units": "s"}) for name in ("t_s", "sample_t_s")}
        if all(one.labels == first.labels for one in self.members):
            coordinates["label"] = ("flow", first.labels, {})
        return xr.Dataset(arrays, {**self.axes, **coordinates, "flow": range(1, len(first.labels) + 1)})

    def plot(self) -> run_panels.Figure:
        """Draw windows, queue, goodput, J(t) and U_n(t) over time, a column for each run; for many runs goodput and J
        by axis."""
        with _extra("plot"):
            from tcpfair.exhibits.run_panels import draw
        self._refer("self")
        return draw(self, LABELS)

    def lab(self) -> Any:
        """A single run in the packet lab, for a notebook in a checkout that ``./reproduce`` has built."""
        with _extra("plot"):
            from tcpfair.exhibits import packet_lab
        return packet_lab.of_run(json.loads(self.to_json()))

    def _table(self, rows: Callable[[_One, int], dict[str, Any]]) -> pd.DataFrame:
        with _extra("tables"):
            import pandas as pd
        frames = []
        for one, point in zip(self.members, itertools.product(*self.axes.values()), strict=True):
            for n, each in enumerate(one.scenario.flows):
                about = {**dict(zip(self.axes, point, strict=True)), "flow": n + 1, "cc": each.cc}
                columns = {**about, "rtt_ms": each.rtt_s * MS_PER_S, **rows(one, n)}
                length = next((len(value) for value in columns.values() if np.ndim(value)), 1)
                frames.append(pd.DataFrame({name: np.broadcast_to(value, length) for name, value in columns.items()}))
        return pd.concat(frames, ignore_index=True)

    def _single(self, what: str) -> _One:
        if len(self.members) > 1:
            raise InputError(f"{what}: of a single run; this has {len(self.members)}, see Run.one")
        return self.members[0]

    def _refer(self, kind: Kind) -> None:
        """Simulate the missing references of all members in parallel, equal runs only once."""
        lacking = [one for one in self.members if kind not in one.references]
        jobs = [one.jobs_of(kind) for one in lacking]
        distinct = {(job.scenario.digest, job.seed, job.own): job for of_one in jobs for job in of_one}
        results = dict(zip(distinct, run_all(list(distinct.values()), self.cores, self.progress), strict=True))
        for one, of_one in zip(lacking, jobs, strict=True):
            found = [_One(*job, results[job.scenario.digest, job.seed, job.own]) for job in of_one]
            one.references[kind] = found
