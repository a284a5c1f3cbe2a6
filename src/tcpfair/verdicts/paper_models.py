"""The papers' models, set up from their configuration: Model I and II of ogura, the map of kozu2014 and its runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcpfair.metrics.epochs import LOSS_KINDS, common_losses
from tcpfair.models import aimd, cubic, cubic_map
from tcpfair.models.aimd import link_capacity_pps
from tcpfair.papers.papers import PaperConfig
from tcpfair.units import MS_PER_S
from tcpfair.verdicts.columns import joined
from tcpfair.verdicts.context import Context

# --- Model I and Model II -------------------------------------------------------------------------------------------

MODEL_PROTOCOLS = ("Reno", "Libra", "Alpha")


def plain_protocol(label: str) -> str:
    """``Libra (eq. 15)``, the configuration's name of the variant whose k follows the queue -> ``Libra``."""
    return label.partition(" (eq. ")[0]


def _capacity_pps(paper: PaperConfig) -> float:
    return link_capacity_pps(paper.settings["capacity_bps"].value, paper.settings["wire_bytes"].value)


@dataclass(frozen=True)
class AimdLink:
    """The bottleneck of the models, in their symbols."""

    B: float  # capacity, packets per second
    R: float  # residual capacity at the start of Model I
    S: float  # buffer, packets
    reference_rtt_s: float  # RTT of the Reno flow that k and k' assume
    rtts_s: tuple[float, ...]

    @classmethod
    def of(cls, paper: PaperConfig) -> AimdLink:
        """The link that the paper's configuration describes."""
        B, value = _capacity_pps(paper), paper.analysis_value
        rtts_s = tuple(value("model_rtt_s"))
        return cls(B, value("residual_share") * B, value("model_buffer_pkts"), value("rtt_ref_s"), rtts_s)

    def mean_rtt_s(self, rtt_s: float) -> float:
        """RTT with its average queueing delay: RTT + alpha in eq. 15 and 16."""
        return aimd.average_rtt_s(rtt_s, self.B, self.S)

    def bdp_pkts(self, rtt_s: float) -> float:
        return aimd.bdp_pkts(rtt_s, self.B)

    def increment_pkts(self, protocol: str, rtt_s: float, model: int) -> float:
        """Increment per RTT, in Model II at the average RTT."""
        if model == 1:
            return aimd.increment_per_rtt_pkts(protocol.lower(), rtt_s, self.reference_rtt_s)
        rtts_s = (self.mean_rtt_s(rtt_s), self.mean_rtt_s(self.reference_rtt_s))
        return aimd.increment_per_rtt_pkts(protocol.lower(), *rtts_s)

    def time_s(self, protocol: str, rtt_s: float, model: int) -> float:
        """t1 (eq. 8) or t2 (eq. 14)."""
        increment_pkts = self.increment_pkts(protocol, rtt_s, model)
        if model == 1:
            return aimd.t1_s(self.R, rtt_s, increment_pkts)
        return aimd.t2_s(self.mean_rtt_s(rtt_s), self.S, increment_pkts)

    def cwnd_pkts(self, protocol: str, rtt_s: float, model: int, t_s: np.ndarray) -> np.ndarray:
        """Window of the model (eq. 11 or 17)."""
        increment_pkts = self.increment_pkts(protocol, rtt_s, model)
        if model == 1:
            return aimd.model1_cwnd_pkts(t_s, rtt_s, self.B, self.R, increment_pkts)
        return aimd.model2_cwnd_pkts(t_s, rtt_s, self.B, self.mean_rtt_s(rtt_s), increment_pkts)

    def exact_t2_s(self, protocol: str, rtt_s: float) -> float:
        """t2 with the instantaneous RTT; k and k' follow the queue."""
        return aimd.exact_t2_s(protocol.lower(), rtt_s, self.B, self.S, self.reference_rtt_s, follow_queue=True)


# --- Two CUBIC flows with common losses -----------------------------------------------------------------------------

EQUAL_SHARE = 0.5  # of the first flow in the throughput
READINGS = {"paper": "sum of windows as before", "physical": "link and buffer full"}
ENGINE, AS_THEY_FALL = "engine", "engine, losses not forced"
_MAP = " (map)"  # suffix of the labels of variants that follow the equations exactly


def link_of(paper: PaperConfig, rtts_ms: tuple[float, float]) -> cubic_map.Link:
    """The paper's bottleneck with two flows of these RTTs."""
    rtt_s = tuple(rtt_ms / MS_PER_S for rtt_ms in rtts_ms)
    return cubic_map.Link(_capacity_pps(paper), paper.settings["buffer_pkts"].value, rtt_s)


def two_flows(paper: PaperConfig) -> tuple[cubic_map.Link, np.ndarray]:
    """The bottleneck with the two RTTs of the paper's models, and the windows at an equal share."""
    link = link_of(paper, tuple(paper.analysis_value("model_rtt_ms")))
    return link, link.windows_pkts(EQUAL_SHARE)


def standard_maps(link: cubic_map.Link) -> dict[str, cubic_map.CubicMap]:
    """Standard CUBIC by both readings of the time of the next common loss."""
    readings = (cubic_map.PAPER, cubic_map.Reading(full_link=True))
    return {
        text: cubic_map.CubicMap(link, cubic_map.STANDARD, r)
        for text, r in zip(READINGS.values(), readings, strict=True)
    }


def after_loss(paper: PaperConfig, scaled_c: bool) -> Iterator[tuple[float, float, dict[str, tuple[float, float]]]]:
    """For each RTT of the models: the RTT in ms, W_max, and K in s and C of standard CUBIC and of the proposal."""
    link, windows_pkts = two_flows(paper)
    proposed = "Proposed K and C'" if scaled_c else "Proposed K"
    rtts_ms = paper.analysis_value("model_rtt_ms")
    for rtt_ms, rtt_s, w_max_pkts in zip(rtts_ms, link.rtt_s, windows_pkts, strict=True):
        c = cubic.scaled_c(rtt_s) if scaled_c else cubic.C
        standard = (cubic.cubic_k_s(w_max_pkts), cubic.C)
        yield rtt_ms, w_max_pkts, {"CUBIC": standard, proposed: (cubic.proposed_k_s(w_max_pkts, rtt_s), c)}


def reading(paper: PaperConfig, name: str) -> cubic_map.Reading:
    """The paper's reading of the time of the next common loss, or the physical one with its ACK ratio."""
    return cubic_map.PAPER if name == "paper" else cubic_map.physical(paper.flow["ack_every"].value)


def method_of(paper: PaperConfig, protocol: str, x: float = 1.0) -> cubic_map.Method:
    """The map's rule for a protocol of the configuration; ``x`` is that of the second flow (eq. 9)."""
    given = paper.protocols[protocol]
    params = {name: setting.value for name, setting in given.params.items() if not isinstance(setting, str)}
    if given.cc.value == "cubic":
        return cubic_map.STANDARD
    if params.get("constant_K"):
        return cubic_map.constant(params["K_s"])
    if params.get("by_rtt") == 0:
        return cubic_map.existing((1.0, x))
    return cubic_map.PROPOSED_WITH_C if params.get("scaled_C") else cubic_map.PROPOSED


def heading(protocol: str) -> str:
    """``CUBIC (map)``, the configuration's name of the variant that follows the equations exactly -> ``CUBIC``."""
    return protocol.removesuffix(_MAP)


def maps(paper: PaperConfig) -> Iterator[tuple[str, str, cubic_map.CubicMap]]:
    """Protocol, name of the reading and map of every variant that follows the equations exactly."""
    link, _ = two_flows(paper)
    x = paper.analysis_value("map_example_x")
    for protocol in (label for label in paper.protocols if label.endswith(_MAP)):
        for name in READINGS:
            yield protocol, name, cubic_map.CubicMap(link, method_of(paper, protocol, x), reading(paper, name))


def simulated_paths(context: Context, experiment: str) -> Iterator[tuple[pd.Series, cubic_map.Link, pd.DataFrame]]:
    """Each run, its link, and flow 1's share and both windows at its common losses after slow start."""
    trace, value = context.trace(experiment), context.value
    losses = trace.events[trace.events["kind"].isin(LOSS_KINDS)].sort_values("t_s", kind="stable")
    by_flow = dict(iter(losses.groupby(["run_id", "flow_id"])))
    rtts_s = trace.flows.set_index(["run_id", "flow_id"])["rtt_s"]
    for _, run in trace.runs.iterrows():
        run_id = run["run_id"]
        capacity_pps = link_capacity_pps(run["capacity_bps"], run["wire_bytes"])
        link = cubic_map.Link(capacity_pps, run["buffer_pkts"], (rtts_s[run_id, 1], rtts_s[run_id, 2]))
        first, second = (by_flow.get((run_id, flow), losses.iloc[:0]) for flow in (1, 2))
        pairs = common_losses(first["t_s"], second["t_s"], value("common_within_s"))
        t_s = first["t_s"].to_numpy()[pairs[:, 0]]
        w1, w2 = (flow["cwnd_before"].to_numpy()[pairs[:, i]] for i, flow in enumerate((first, second)))
        path = pd.DataFrame({"t_s": t_s, "w1_pkts": w1, "w2_pkts": w2}).query("t_s >= @value('map_settled_s')")
        shares = [link.share(windows) for windows in path[["w1_pkts", "w2_pkts"]].to_numpy()]
        yield run, link, path.assign(share=shares).reset_index(drop=True)


def shares_by_form(
    paper: PaperConfig, run: pd.Series, link: cubic_map.Link, path: pd.DataFrame
) -> Iterator[tuple[str, np.ndarray]]:
    """Flow 1's share at the common losses of a run: simulated, and by each reading of the map from the first loss on."""
    yield ENGINE, path["share"].to_numpy()
    method = method_of(paper, run["protocol"], run.get("x", 1.0))
    for name in READINGS:
        windows = path[["w1_pkts", "w2_pkts"]].to_numpy(dtype=float)[:1]
        if len(path):
            _, windows = cubic_map.CubicMap(link, method, reading(paper, name)).path(windows[0], len(path) - 1)
        yield name, np.array([link.share(w_pkts) for w_pkts in windows])


def example_paths(context: Context, experiments: Sequence[str]) -> pd.DataFrame:
    """Flow 1's share at each common loss of the example runs at the longest RTT: protocol, loss, form, share."""
    parts, rtt_ms = [], max(context.value("model_rtt_ms"))
    for name in experiments:
        for run, link, path in simulated_paths(context, name):
            example = run["replicate"] == context.value("example_replicate")
            if example and run["synchronised"] and run["rtt_ms"] == rtt_ms and len(path):
                about = {"protocol": run["protocol"], "loss": np.arange(len(path))}
                forms = shares_by_form(context.paper, run, link, path)
                parts += [pd.DataFrame({**about, "form": form, "share": shares}) for form, shares in forms]
    return joined(parts)
