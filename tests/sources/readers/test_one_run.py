"""One run of the testbed as four tools saw it: iperf3, ss, TCP_INFO and a capture tell the same of goodput and fairness.

Reno and CUBIC over 10 Mb/s and 50 ms. ``ss`` was written by scripts/poll_ss.sh every 30 ms, the captures by tcpdump, both at the
senders; the polls of TCP_INFO, every 10 ms, and iperf3's reports with the receivers' seconds are the testbed's own. All were made
anonymous; after 13 s only iperf3's go on.

Flows pass the bottleneck in trains as long as a round trip, so a second of J(t) moves by 0.01 to 0.02 when its edges do by
half of one, or when a counter is known only every 0.1 s. The four agree because to all of them a flow begins at the same moment.
"""

import itertools

import numpy as np
import pytest

from tcpfair.metrics.fairness import jfi_over_time
from tcpfair.sources.readers import read_any
from tests.sources.readers import edits

SAMPLES = edits.SAMPLES / "one_run"
TOOLS = ("iperf3", "ss", "tcp_info", "pcap")
SECONDS = 12


def goodput_bytes(folder):
    """Bytes in each second of flow 1 and 2, (2, SECONDS)."""
    run = read_any(folder)
    names = run.provenance["names"]
    per_s = round(1 / run.runs["sample_s"].item())
    rows = run.samples.pivot(index="flow_id", columns="t_s", values="delivered_bytes").to_numpy()[:, : SECONDS * per_s]
    order = [next(i for i, name in enumerate(names) if f"flow{number}" in name) for number in (1, 2)]
    return rows[order].reshape(2, SECONDS, per_s).sum(axis=2)


@pytest.fixture(scope="module")
def seen():
    return {tool: goodput_bytes(SAMPLES / tool) for tool in TOOLS}


def j_apart(one, other, every_s=1):
    """Largest difference of J(t) of intervals of ``every_s``."""
    j = [jfi_over_time(x.reshape(2, -1, every_s).sum(axis=2)) for x in (one, other)]
    return np.abs(j[0] - j[1]).max()


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(TOOLS, 2)])
def test_goodput_and_every_second_of_j_are_the_same_within_a_hundredth(seen, one, other):
    assert seen[one].sum(axis=1) == pytest.approx(seen[other].sum(axis=1), rel=0.01)
    assert j_apart(seen[one], seen[other]) < 0.01


def test_polls_every_tenth_of_a_second_need_longer_intervals(seen, tmp_path):
    """Every fourth poll of ss, 0.12 s apart, begun at each of four: single seconds can be off by more than a hundredth."""
    apart = []
    for first in range(4):
        for file in (SAMPLES / "ss").iterdir():
            polls = edits.sample_text(file).split("\n946")
            text = polls[0] + "".join(f"\n946{poll}" for poll in polls[1 + first :: 4])
            (tmp_path / file.stem).write_text(text + "\n")
        thinned = goodput_bytes(tmp_path)
        assert thinned.sum(axis=1) == pytest.approx(seen["iperf3"].sum(axis=1), rel=0.01)
        apart.append([j_apart(thinned, seen["iperf3"], every_s) for every_s in (1, 2, 3)])
    of_1_s, of_2_s, of_3_s = np.max(apart, axis=0)
    assert 0.01 < of_1_s < 0.02
    assert max(of_2_s, of_3_s) < 0.01
