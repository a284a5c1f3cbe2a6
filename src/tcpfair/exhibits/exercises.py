"""Checks of the exercises at the end of the notebooks, with computed answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcpfair.errors import check_known
from tcpfair.files.layout import Layout, repository_root
from tcpfair.metrics import fairness
from tcpfair.models import aimd, cubic, rtt_fairness
from tcpfair.papers.papers import load_paper
from tcpfair.units import MS_PER_S

OPEN = "Still open: put your answer in the place of None, and run the cell again."
RIGHT = "Right."


@dataclass(frozen=True)
class Number:
    """An exercise whose answer is a number."""

    truth: Callable[..., float]  # function of what the check is given besides the answer
    slips: Mapping[str, Callable[..., float]]  # a hint for each answer from a common mistake
    hint: str
    within: float = 0.01  # relative tolerance

    def judge(self, answer: Any, *given: Any) -> str:
        """The reply to an answer."""
        if not isinstance(answer, int | float | np.number) or isinstance(answer, bool):
            return f"Not a number: {answer!r}."
        if self._near(answer, self.truth(*given)):
            return RIGHT
        slips = (text for text, slip in self.slips.items() if self._near(answer, slip(*given)))
        return f"Not yet. {next(slips, self.hint)}".rstrip()

    def _near(self, answer: float, value: float) -> bool:
        return bool(np.isclose(answer, value, rtol=self.within, atol=0))


@dataclass(frozen=True)
class Found:
    """An exercise whose answer is a run of `tcpfair.simulate`: ``lacks`` returns what is still wrong, or an empty string."""

    lacks: Callable[[Any], str]

    def judge(self, answer: Any) -> str:
        """The reply to an answer."""
        if not hasattr(answer, "goodput_mbps") or answer.axes:
            return f"Not a single run of simulate(...): {answer!r}."
        return self.lacks(answer) or RIGHT


def check(name: str, answer: Any, *given: Any) -> None:
    """Print in one line whether an answer is right, or else a hint; None is an exercise that was not tried yet.

    ``given`` is the object of the answer, such as a run. Raises InputError for an unknown exercise.
    """
    check_known("exercise", [name], EXERCISES)
    print(OPEN if answer is None else EXERCISES[name].judge(answer, *given))


# --- Answers -----------------------------------------------------------------------------------------------------


def _larger_buffer(queue: float = 2.0) -> float:
    """t2 of Reno at 120 ms with twice the buffer of ogura's Model II, over that with the buffer itself.

    ``queue`` is the factor of the queue in the mean RTT.
    """
    paper = load_paper(Layout(repository_root()).paper_config("ogura"))
    capacity_pps = aimd.link_capacity_pps(paper.settings["capacity_bps"].value, paper.settings["wire_bytes"].value)
    buffer_pkts = paper.analysis_value("model_buffer_pkts")
    mean_rtts_s = [aimd.average_rtt_s(120 / MS_PER_S, capacity_pps, times * buffer_pkts) for times in (1, queue)]
    return aimd.t2_s(mean_rtts_s[1], 2 * buffer_pkts, 1.0) / aimd.t2_s(mean_rtts_s[0], buffer_pkts, 1.0)


def _k_after_two(fast_convergence: bool = True) -> float:
    """K in s after a loss at 900 packets that follows one at 1000 (kozu2014, eq. 2 and 4)."""
    w_max_pkts = 900 * (2 - cubic.BETA) / 2 if fast_convergence else 900
    return float(np.cbrt((w_max_pkts - (1 - cubic.BETA) * 900) / cubic.C))


def _lacks_fairness(run: Any) -> str:
    rtts_s = [flow.rtt_s for flow in run.scenario.flows]
    if len(rtts_s) < 2 or max(rtts_s) < 4 * min(rtts_s):
        return "Not yet. The longest RTT must be four times the shortest, or more."
    index, used, ceiling_mbps = run.jfi_of_means, run.goodput_mbps.sum(), run.max_min_mbps.sum()
    if index < 0.95:
        return (
            f"Not yet. J of means is {index:.2f}; it must be 0.95 or more. Whose increment does not depend on the RTT?"
        )
    if used < 0.5 * ceiling_mbps:
        return f"Not yet. Fair, but the flows use {used / ceiling_mbps:.0%} of the link; use at least half of it."
    return ""


def _lacks_a_victim(run: Any) -> str:
    u_n = run.nru_db
    if len({flow.rtt_s for flow in run.scenario.flows}) > 1:
        return "Not yet. All flows must have one RTT, so that the protocols alone make the difference."
    if u_n.min() > -3:
        return f"Not yet. The lowest U_n is {u_n.min():.1f} dB; half of what a flow has against its own kind is -3 dB."
    return ""


EXERCISES: dict[str, Number | Found] = {
    "jfi_of_run": Number(
        lambda run: run.jfi,
        {"That is J of the mean goodputs; take J of each second first, then the mean.": lambda run: run.jfi_of_means},
        "J of each second: run.goodput_t_mbps has a row for each flow; take the seconds after run.window_s[0].",
        0.002,
    ),
    "nru_of_run": Number(
        lambda run: run.nru_db[0],
        {"That is the dB of the mean; take the dB of each second first.": lambda run: run.nru_of_mean_db[0]},
        "10 log10(goodput / run.self_mbps) of each second after run.window_s[0], then the mean.",
        0.005,
    ),
    "alpha_law": Number(
        lambda: rtt_fairness.random_loss_ratio("alpha", 9.0),
        {"That is Reno's, whose increment does not depend on the RTT: e is 0. Alpha has e = 1.": lambda: 1 / 9},
        "Put e = 1 and the ratio of the RTTs into the law of the last worked result.",
    ),
    "larger_buffer": Number(
        _larger_buffer,
        {"The mean RTT grows as well: twice the buffer is twice the queue.": lambda: _larger_buffer(1.0)},
        "Equation 14 has S twice, once in the mean RTT.",
    ),
    "jfi_of_turns": Number(
        lambda: np.mean([fairness.jfi([94.0, 0.0]), fairness.jfi([0.0, 94.0])]),
        {"That is the index of the means. The paper has the mean of J(t).": lambda: 1.0},
        "J of each second first. In each second one of two flows has everything.",
    ),
    "u_of_swings": Number(
        lambda: np.mean(10 * np.log10([0.5, 1.5])),
        {"That is U of the mean. Take the dB of each second first.": lambda: 10 * np.log10((0.5 + 1.5) / 2)},
        "The mean of 10 log10(0.5) and 10 log10(1.5).",
    ),
    "share_of_jfi": Number(
        lambda: (1 - np.sqrt(1 / 0.8 - 1)) / 2,
        {
            "J is not one minus the share: write J with the shares s and 1 - s.": lambda: 1 - 0.8,
            "That is the share of the larger flow.": lambda: (1 + np.sqrt(1 / 0.8 - 1)) / 2,
        },
        "With shares s and 1 - s, J = 1 / (2 (s^2 + (1 - s)^2)). Solve it for s.",
    ),
    "victims": Number(
        lambda: np.mean([-3.0, -5.0]),
        {"That is U_N, the mean of all flows.": lambda: np.mean([1.0, -3.0, -5.0])},
        "Only the flows below 0 dB count.",
    ),
    "k_after_two": Number(
        _k_after_two,
        {"That is without fast convergence (equation 4).": lambda: _k_after_two(False)},
        "The second loss comes below W_max, so W_max becomes (2 - beta) / 2 of 900. The window starts from (1 - beta) of 900.",
    ),
    "k_at_rtt": Number(
        lambda: cubic.proposed_k_s(1000.0, 64 / MS_PER_S),
        {"That is CUBIC's K. The proposal divides it (equation 6).": lambda: cubic.cubic_k_s(1000.0)},
        "K of 1000 packets, divided by the cube root of 64.",
    ),
    "pareto_mean": Number(
        lambda: 1.1 * 133e3 / (1.1 - 1) / 1e6,
        {"That is the median. The mean is a m / (a - 1).": lambda: 133e3 * 2 ** (1 / 1.1) / 1e6},
        "Without a cut, the last term of the mean is 0: a m / (a - 1).",
    ),
    "common_law": Number(
        lambda: rtt_fairness.synchronised_loss_ratio("reno", 162 / 42),
        {"That is for losses by chance. Flows that lose together have the square.": lambda: 42 / 162},
        "1 / k^2, where k is the ratio of the RTTs.",
    ),
    "fair_pair": Found(_lacks_fairness),
    "victim": Found(_lacks_a_victim),
}
