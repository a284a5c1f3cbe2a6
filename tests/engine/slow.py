"""The engine and the independent slow simulator on the same scenario, compared packet by packet."""

from __future__ import annotations

import itertools
import math
import random
from collections import deque

import pytest

from tcpfair.engine.dumbbell import run
from tcpfair.engine.state import LOSS, RTO
from tests.engine.scenarios import PACKET_BYTES, SLOW_BPS, dumbbell
from tests.reference.dumbbell import REVERSE_SEED, Cubic, FlowSpec, Result, WholeScalable, simulate

MASK = (1 << 64) - 1


class EngineNumbers:
    """The engine's random numbers from their published definitions: splitmix64 seeds xorshift64*.

    Steele, Lea and Flood 2014, figure 17; Vigna 2016, figure 3.
    """

    def __init__(self, seed: int) -> None:
        z = (seed + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        self.state = (z ^ (z >> 31)) or 0x9E3779B97F4A7C15  # 0 would never change

    def random(self) -> float:
        self.state ^= self.state >> 12
        self.state ^= (self.state << 25) & MASK
        self.state ^= self.state >> 27
        return (((self.state * 0x2545F4914F6CDD1D) & MASK) >> 11) * 2.0**-53


class EngineChance:
    """The engine's losses and delays on one link, drawn as a packet enters: a geometric number of packets to the next
    loss, and a delay for each packet that is not lost."""

    def __init__(self, seed: int, loss_rate: float, jitter_s: float) -> None:
        self.numbers = EngineNumbers(seed)
        self.loss_rate = loss_rate
        self.jitter_s = jitter_s
        self.delays_s: deque[float] = deque()  # of the packets that have not left yet
        self.pkts_to_loss = self._pkts_to_loss() if loss_rate else math.inf

    def _pkts_to_loss(self) -> int:
        return int(math.log(1.0 - self.numbers.random()) / math.log(1.0 - self.loss_rate))

    def loses(self) -> bool:
        if self.pkts_to_loss == 0:
            self.pkts_to_loss = self._pkts_to_loss()
            return True
        self.pkts_to_loss -= 1
        self.delays_s.append(self.jitter_s * self.numbers.random() if self.jitter_s else 0.0)
        return False

    def delay_s(self) -> float:
        return self.delays_s.popleft()

    def access_delay_s(self, longest_s: float) -> float:
        return longest_s * self.numbers.random()


def spec_of(flow: dict) -> FlowSpec:
    rules = {
        "cubic": {"cc": Cubic(), "halving_floor": 1.0},
        "scalable": {"cc": WholeScalable(flow.get("stack") == "linux_6")},
    }
    return FlowSpec(**(flow | rules.get(flow.get("cc"), {})))


def agree(*flows: dict, seed: int = 5, **network) -> Result:
    """Run both simulators and compare them; returns the reference's result, to see that what was meant has happened."""
    network = {"buffer_pkts": 30.37, "duration_s": 15.0, "jitter_s": 0.002, "loss_rate": 0.0} | network
    chances = [
        EngineChance(link_seed, network["loss_rate"], network["jitter_s"]) for link_seed in (seed, seed ^ REVERSE_SEED)
    ]
    slow = simulate([spec_of(flow) for flow in flows], SLOW_BPS, PACKET_BYTES, chances=chances, **network)
    fast = run(dumbbell(*flows, **network), seed, log_events=True)
    for i in range(len(flows)):
        for kind, noted in ((LOSS, slow.reductions[i]), (RTO, slow.timeouts[i])):
            logged = [(e["t_s"], e["cwnd_before"]) for e in fast.events if e["flow"] == i and e["kind"] == kind]
            shared = min(len(logged), len(noted))  # the first difference says most; the numbers are compared below
            times_s, cwnds_pkts = [[e[k] for e in logged[:shared]] for k in (0, 1)]
            assert times_s == pytest.approx([e[0] for e in noted[:shared]], abs=1e-7), f"flow {i}, events {kind}"
            assert cwnds_pkts == pytest.approx([e[1] for e in noted[:shared]], rel=1e-7), f"flow {i}, events {kind}"
    totals = {
        "sent": slow.sent,
        "resent": slow.retransmitted,
        "dropped": [lost + doomed for lost, doomed in zip(slow.drops, slow.doomed, strict=True)],
        "reductions": [len(events) for events in slow.reductions],
        "timeouts": [len(events) for events in slow.timeouts],
    }
    assert {name: fast.ends[name].tolist() for name in totals} == totals
    assert fast.received_pkts[-1].tolist() == slow.received_pkts
    assert fast.delivered_pkts.T.tolist() == [
        list(itertools.accumulate(delivered)) for delivered in slow.delivered_samples_pkts
    ]
    return slow


def forward(rtt_s: float, cc: str = "reno", **fields) -> dict:
    return {"rtt_s": rtt_s, "cc": cc, **fields}


def reverse(rtt_s: float, cc: str = "reno", **fields) -> dict:
    return {"rtt_s": rtt_s, "cc": cc, "direction": "reverse", **fields}


def two_way(reverse_bps: float = SLOW_BPS, reverse_buffer_pkts: float = 30.41, ack_bytes: float = 40.0, **more) -> dict:
    return {"reverse_bps": reverse_bps, "reverse_buffer_pkts": reverse_buffer_pkts, "ack_bytes": ack_bytes, **more}


def some_of(numbers: range) -> list:
    """Numbers of random scenarios of which the default tests take every fourth."""
    return [pytest.param(number, marks=[pytest.mark.slow] if number % 4 else []) for number in numbers]


def covering(*levels: tuple, of: int = 2) -> list:
    """All combinations; the default tests take those whose positions add up to a multiple of ``of``.

    They have every pair of values of two parameters where ``of`` suits the numbers of levels: 2 for three parameters of two or
    three values, 3 for three of three values, and for four of which only one has more than two.
    """
    return [
        pytest.param(*(value for _, value in case), marks=[pytest.mark.slow] if sum(n for n, _ in case) % of else [])
        for case in itertools.product(*map(enumerate, levels))
    ]


def any_scenario(number: int, *, with_stacks: bool = False) -> tuple[list[dict], dict]:
    """Flows and network, the same for the same number. Jitter keeps events of different flows apart.

    ``with_stacks``: whole windows, Linux's timer and CCID 2 of Linux 6 too.
    """
    draw = random.Random(number)
    is_two_way = draw.random() < 0.85
    flows = []
    for _ in range(draw.randint(2, 6)):
        cc = draw.choice(["reno", "reno", "cubic"])
        flow = forward(
            draw.uniform(0.005, 0.15),
            cc,
            start_s=draw.uniform(0, 4),
            iw_pkts=draw.randint(1, 20),
            rwnd_pkts=draw.choice([3.0, 40.0, 400.0, 1e6]),
            initial_ssthresh_pkts=draw.choice([4.0, 30.0, 1e6]),
            ack_every=draw.choice([1, 2]),
            delack_s=draw.uniform(0.01, 0.2),
            byte_counting=draw.random() < 0.5,
            recovery=draw.choice(["sack", "sack", "newreno", "reno"]),
            reduction=draw.choice(["immediate", "prr", "rate_halving"]),
            access_bps=draw.choice([0, 0, 0, 13e6, 100e6]),
            access_queue_pkts=draw.choice([5, 1000]),
            size_pkts=draw.choice([3, 400, math.inf, math.inf, math.inf, math.inf]),
            stop_s=draw.choice([8.0, math.inf, math.inf]),
        )
        if is_two_way and draw.random() < 0.5:
            flow["direction"] = "reverse"
        flows.append(flow)
    if with_stacks:
        for flow in flows:
            flow["stack"] = (
                draw.choice(["text", "linux", "linux_2_6_22", "linux_6"]) if flow["cc"] == "reno" else "text"
            )
            flow["rto"] = draw.choice([None, "rfc6298", "linux"])
    network = {
        "buffer_pkts": draw.uniform(1.1, 60),
        "jitter_s": draw.uniform(0.0005, 0.005),
        "loss_rate": draw.choice([0.0, 0.0, 0.002, 0.03]),
        "synchronised_losses": draw.random() < 0.4,
        "duration_s": 15.0,
        "seed": draw.getrandbits(32),
    }
    if is_two_way:
        buffer_pkts = draw.choice([draw.uniform(0.3, 2.5), draw.uniform(0.3, 2.5), draw.uniform(2.5, 50)])
        network |= two_way(draw.uniform(1e6, 15e6), buffer_pkts, draw.choice([40.0, 52.0, 300.0]))
    for flow in flows:
        if flow.get("stack") in ("linux_2_6_22", "linux_6") and draw.random() < 0.5:
            flow["cc"] = "ccid2"
    return flows, network
