"""Measures of the runs of a trace, for experiments, recordings and the validation.

A *metric* (`tcpfair.metrics`) is a formula on arrays, independent of traces; a *measure* is a quantity of a run that
configurations request by name in ``measures:``; an exhibit *draws* measures. `runs` has the arrays and measures without
configuration, `weights` the NRU weights, `groups` the table that an experiment requests, `growth` windows between
losses compared with the kernel's formulas. The vocabulary, with units:

* sample: the counts of one interval of ``sample_s``; window ``window_s``: the measured time span in s. A congestion
  window is named as such, or has the unit packets.
* goodput or throughput, Mb/s: payload in order at the receiver (``delivered_bytes``); received: payload at its first
  arrival, in order or not; carried: bytes on the wire, counted by the link. A mean is over the samples in the window.
* ceiling, Mb/s: the payload that a full link carries, capacity times payload over bytes on the wire.
* utilisation, a share: of all flows together over the ceiling (`Runs.utilisation`). Of goodput in ``throughput`` and
  for recordings, of received bytes in the validation (as in ns-2 and ns-3). Only in ``bottleneck`` it is the carried
  load over the capacity, ACKs and background included; ``utilisation_counts`` selects whether headers count.
* share: a flow's mean goodput over that of all. jfi: Jain's index, of each sample and then the mean (``jfi_mean``, as
  in the papers), or of the means (``jfi_of_means``; ``jfi`` of the validation).
* loss: a reduction of the window, by fast recovery or timeout; epoch, s: from one to the flow's next. Both count in the
  window, its ends included.
* ``peak``: of the group of that name, the largest sample of goodput, Mb/s; in the validation, the mean of the congestion
  window just before a loss, packets (`Runs.mean_peaks_pkts`).
* mean window, packets: over all samples (``cwnd_mean``) or over whole epochs (`Runs.mean_windows_pkts`).
* window fit: a curve through the recorded congestion windows of one epoch by least squares: a line
  (`tcpfair.metrics.series.fitted_slope`) or CUBIC's (`growth.Epoch.fit`).
* weight, 1/(Mb/s): one over a flow's goodput in its self-pair, by a rule of `weights.RULES`; NRU, dB: weight times
  goodput, where a sample without delivery counts as one segment (`weights.u_db`).
"""

from tcpfair.measures.groups import BY_RULE, SYSTEM, measure

__all__ = ["BY_RULE", "SYSTEM", "measure"]
