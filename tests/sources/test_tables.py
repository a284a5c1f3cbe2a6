"""Tables of a trace from the counters that a simulator leaves."""

from types import SimpleNamespace

import numpy as np

from tcpfair.sources.tables import _link


def link(**counters):
    """Two links with three samples; what is not given stays at zero."""
    names = ("link_forwarded_pkts", "link_acks", "link_dropped_pkts", "link_acks_dropped", "link_queue_pkts")
    result = {name: np.array(counters.get(name, np.zeros((2, 3))), dtype=np.int64) for name in names}
    spec = SimpleNamespace(run_id=3, scenario=SimpleNamespace(wire_bytes=1500.0, ack_bytes=40.0))
    return _link(spec, SimpleNamespace(t_s=np.array([1.0, 2.0, 3.0]), **result))


def test_dropped_acks_count_as_dropped_packets():
    table = link(link_dropped_pkts=[[1, 4, 4], [0, 0, 2]], link_acks_dropped=[[0, 0, 0], [5, 5, 11]])
    assert table.groupby("direction", sort=False)["dropped_pkts"].apply(list).to_dict() == {
        "forward": [1, 3, 0],
        "reverse": [5, 0, 8],
    }


def test_carried_acks_count_with_their_own_bytes():
    table = link(link_forwarded_pkts=[[2, 2, 3], [0, 0, 1]], link_acks=[[0, 0, 0], [10, 20, 20]])
    assert table["forwarded_bytes"].tolist() == [3000, 0, 1500, 400, 400, 1500]
    assert table["t_s"].tolist() == [1.0, 2.0, 3.0] * 2
    assert set(table["run_id"]) == {3}
