"""Scenarios on which the engine of the page is held against the native one: the papers' runs, cut short, and random dumbbells."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple
from zlib import crc32

from tcpfair.cc.registry import algorithms
from tcpfair.engine.state import RTO_LAWS
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers.expand import run_specs, shorten
from tcpfair.papers.papers import load_paper
from tcpfair.papers.scenario import Scenario, make_scenario

SECONDS = 3.0
RANDOM = 400
SEED = 20260101
STACKS = ("text", "linux", "linux_6", "ns2")
RECOVERIES = ("sack", "newreno", "reno")
REDUCTIONS = ("immediate", "prr", "rate_halving")


class Case(NamedTuple):
    name: str
    seed: int
    scenario: Scenario


def every(layout: Layout) -> list[Case]:
    """All of them, always in the same order."""
    return [*of_papers(layout), *of_algorithms(), *random_dumbbells()]


def of_papers(layout: Layout, papers: Iterable[str] = PAPERS) -> Iterator[Case]:
    """Every grid point of every experiment for a few seconds, in one replicate, which the experiment's name chooses."""
    for name in papers:
        paper = load_paper(layout.paper_config(name))
        for experiment, values in paper.experiments.items():
            chosen, values.runs.value = crc32(f"{name}/{experiment}".encode()) % int(values.runs.value), 1
            for spec in run_specs(paper, experiment, chosen):
                short = shorten(spec, SECONDS).scenario
                finer = {"sample_s": min(short.sample_s, short.duration_s / 4)}  # where a paper's samples are longer
                yield Case(f"{name}/{experiment} {spec.point} {chosen}", spec.seed, short.model_copy(update=finer))


def of_algorithms() -> Iterator[Case]:
    """Every algorithm with every loss recovery and every reduction, with losses, own links and delayed ACKs."""
    link = {"capacity_bps": 2e7, "wire_bytes": 1500, "payload_bytes": 1448, "buffer_pkts": 40}
    link |= {"duration_s": SECONDS, "sample_s": 0.5, "loss_rate": 1e-3, "jitter_s": 1e-4}
    for name, recovery, reduction in product(algorithms(), RECOVERIES, REDUCTIONS):
        flow = {"protocol": name, "cc": name, "access_bps": 1e8, "access_jitter_s": 1e-5}
        flow |= {"recovery": recovery, "reduction": reduction}
        back = {"reverse_bps": 2e7, "reverse_buffer_pkts": 40} if recovery == "reno" else {}
        flows = [
            {**flow, "rtt_s": 0.02, "ack_every": 2},
            {**flow, "rtt_s": 0.1, "start_s": 0.5, "byte_counting": True},
        ]
        yield Case(f"{name} {recovery} {reduction}", 7, make_scenario({**link, **back, "flows": flows}))


def random_dumbbells() -> Iterator[Case]:
    """Dumbbells drawn from all that a scenario may have."""
    draw = random.Random(SEED)
    for number in range(RANDOM):
        yield Case(f"random {number}", draw.getrandbits(62), _random(draw))


def _random(draw: random.Random) -> Scenario:
    capacity_bps, two_way = 10 ** draw.uniform(6, 8.3), draw.random() < 0.4
    links = {"reverse_bps": capacity_bps * draw.uniform(0.1, 2), "reverse_buffer_pkts": draw.uniform(2, 200)}
    values = {
        **{"capacity_bps": capacity_bps, "wire_bytes": 1500, "payload_bytes": 1448},
        "buffer_pkts": 10 ** draw.uniform(0, 2.5),
        "duration_s": draw.uniform(1, SECONDS),
        "sample_s": draw.uniform(0.02, 0.5),
        "loss_rate": draw.choice([0, 0, 1e-4, 1e-2]),
        "jitter_s": draw.choice([0, 1e-4, 5e-3]),
        "synchronised_losses": draw.random() < 0.1,
        "tick_s": draw.choice([0, 0, 1e-3]),
        **(links if two_way else {}),
        "flows": [_flow(draw, two_way) for _ in range(draw.randint(1, 6))],
        "web": [_web(draw, two_way) for _ in range(draw.choice([0, 0, 1, 2]))],
    }
    return make_scenario(values)


def _flow(draw: random.Random, two_way: bool) -> dict:
    chosen = draw.choice([*algorithms().values()])
    has_ns2 = chosen.recovery == "sack" or not chosen.reliable
    stack = draw.choice(STACKS if has_ns2 else STACKS[:3])
    flow = {
        **{"protocol": chosen.name, "cc": chosen.name, "stack": stack},
        "rtt_s": 10 ** draw.uniform(-3, -0.5),
        "start_s": draw.random(),
        "iw_pkts": draw.choice([1, 2, 3.5, 10]),
        "ack_every": draw.choice([1, 2]),
        "byte_counting": draw.random() < 0.3,
        "reduction": draw.choice(REDUCTIONS),
        "direction": "reverse" if two_way and draw.random() < 0.4 else "forward",
        "rto_min_s": draw.choice([0.2, 1.0]),
        **({} if stack == "ns2" else {"recovery": draw.choice(RECOVERIES)}),
    }
    optional = {
        "stop_s": draw.uniform(1, 3),
        "size_pkts": draw.randrange(1, 5000),
        "rwnd_pkts": draw.randrange(2, 500),
        "initial_ssthresh_pkts": draw.uniform(2, 100),
        "access_bps": 10 ** draw.uniform(6, 8.5),
        "access_queue_pkts": draw.randrange(2, 300),
        "access_jitter_s": draw.uniform(0, 1e-3),
        "rto": draw.choice([*RTO_LAWS]),
    }
    return flow | {name: value for name, value in optional.items() if draw.random() < 0.25}


def _web(draw: random.Random, two_way: bool) -> dict:
    flow = _flow(draw, two_way) | {"iw_pkts": 3}
    flow.pop("stop_s", None)
    return {
        "flow": flow,
        "arrivals_per_s": 10 ** draw.uniform(0, 2.7),
        "sizes": [
            {"law": "lognormal", "share": 0.8, "mu": 9.0, "sigma": 1.2},
            {"law": "pareto", "share": 0.2, "shape": 1.2, "min_bytes": 1e4, "cap_bytes": 1e7},
        ],
        **({"rtt_extra_mean_s": 0.05, "rtt_cap_s": 0.4} if draw.random() < 0.5 else {}),
    }
