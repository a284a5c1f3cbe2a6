"""The metrics of a single run as one row, which a study stores for each run.

The same measures as `tcpfair.measures.measure`, without the tables around them, which cost more than measuring one run.
"""

from __future__ import annotations

from tcpfair.errors import InputError
from tcpfair.measures.groups import BY_GROUP, ExperimentRuns, Named
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs.trace import Trace, empty

FLOW = "_flow"  # between a metric and the number of its flow
_NO_OTHERS = empty("samples").assign(role="", direction="")


def row(trace: Trace, config: PaperConfig, experiment: str) -> dict[str, float]:
    """The metrics of a trace of one run: ``jfi_mean`` of the system, ``throughput_mean_flow1`` of a flow.

    The flows must be in order, with equal numbers of samples, as from simulators. Raises InputError for a trace of
    several runs, and for two metrics with one name.
    """
    if len(trace.runs) != 1:
        raise InputError(f"a row of metrics needs a trace of one run (got {len(trace.runs)})")
    chosen = config.experiments[experiment]
    duration_s = float(trace.runs["duration_s"].iloc[0])
    window_s = tuple(chosen.window_s.value) if chosen.window_s else (0.0, duration_s)
    flows, samples, others = trace.flows, trace.samples, _NO_OTHERS
    if (flows["role"] != "foreground").any():
        about = flows.loc[flows["role"] != "foreground", ["flow_id", "role", "direction"]]
        others = samples.merge(about)
        flows = flows[flows["role"] == "foreground"]
        samples = samples[samples["flow_id"].isin(flows["flow_id"])]
    runs = ExperimentRuns(window_s, trace.runs, flows, samples, trace.events, trace.link, others, config, chosen, None)
    found: dict[str, float] = {}
    for group in chosen.measures:
        for metric, values in _values(group, runs):
            of_flows = values[0].tolist() if values.ndim == 2 else values.tolist()
            names = [f"{metric}{FLOW}{i}" for i in range(1, len(of_flows) + 1)] if values.ndim == 2 else [metric]
            if not found.keys().isdisjoint(names):
                raise InputError(f"measures: {group}: {metric} is a metric of another group too; leave one of them out")
            found |= zip(names, of_flows, strict=True)
    return found


def _values(group: str, runs: ExperimentRuns) -> Named:
    """A group's metrics; InputError for a parameter that is not given, and for fewer flows than it compares."""
    try:
        return BY_GROUP[group](runs)
    except KeyError as error:
        raise InputError(f"measures: {group}: reads a value that is not given, analysis.{error.args[0]}") from None
    except IndexError:
        raise InputError(f"measures: {group}: compares two flows or more (got {len(runs.flows)})") from None
