"""The output of one run, from any simulator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Result:
    """Cumulative packets per sample and flow, windows, counters of the links, short flows, events.

    Links: one row, or two (forward, reverse) with a reverse bottleneck.
    """

    t_s: np.ndarray  # (samples,) end of each interval
    delivered_pkts: np.ndarray  # (samples, flows) in order, cumulative
    received_pkts: np.ndarray  # (samples, flows) first arrivals, cumulative
    cwnd_pkts: np.ndarray  # (samples, flows)
    ssthresh_pkts: np.ndarray  # (samples, flows)
    srtt_s: np.ndarray  # (samples, flows)
    link_forwarded_pkts: np.ndarray  # (links, samples) cumulative, data
    link_dropped_pkts: np.ndarray  # (links, samples) cumulative, queue overflows of data
    link_queue_pkts: np.ndarray  # (links, samples)
    link_acks: np.ndarray  # (links, samples) cumulative, ACKs carried
    link_acks_dropped: np.ndarray  # (links, samples) cumulative
    web_delivered_pkts: np.ndarray  # (2, samples) short flows by direction, cumulative, in order
    web_received_pkts: np.ndarray  # (2, samples) first arrivals
    web_active: np.ndarray  # (2, samples) short flows under way
    events: np.ndarray  # records of state.EVENT

    @property
    def forwarded_pkts(self) -> np.ndarray:
        """(samples,) data packets that the forward bottleneck carried, cumulative."""
        return self.link_forwarded_pkts[0]

    @property
    def dropped_pkts(self) -> np.ndarray:
        """(samples,) overflows of the forward bottleneck, cumulative."""
        return self.link_dropped_pkts[0]

    @property
    def queue_pkts(self) -> np.ndarray:
        """(samples,) queue of the forward bottleneck."""
        return self.link_queue_pkts[0]

    @property
    def received_total_pkts(self) -> int:
        """Packets that reached a receiver for the first time, including short flows: the unit of the benchmark."""
        return int(self.received_pkts[-1].sum() + self.web_received_pkts[:, -1].sum())
