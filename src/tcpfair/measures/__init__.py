"""Measures: what is read off the runs of a trace. Experiments, recordings and the validation all measure through here.

A *metric* (`tcpfair.metrics`) is a formula on arrays and knows no trace; a *measure* is a quantity of a run under a name
that configurations ask for in ``measures:``; an exhibit *draws* measures. `runs` has the arrays and what needs no
configuration, `weights` the NRU weights, `groups` the table that an experiment requests, `growth` windows between losses
beside the kernel's formulas. The vocabulary, with units:

* sample: what was counted in one interval of ``sample_s``; window ``window_s``: the time in s that is measured. Where a
  congestion window is meant it is called that, or its unit says it (packets).
* goodput or throughput, Mb/s: payload in order at the receiver (``delivered_bytes``); received: payload at its first
  arrival, in order or not; carried: bytes on the wire, as the link counts them. A mean is over the samples in the window.
* ceiling, Mb/s: the payload that a full link carries, capacity times payload over bytes on the wire.
* utilisation, a share: of all flows together over the ceiling (`Runs.utilisation`). Of goodput in ``throughput`` and for
  recordings, of what is received in the validation (as ns-2 and ns-3 count it). In ``bottleneck`` alone it is what the link
  carried over its capacity, ACKs and background included; ``utilisation_counts`` says whether headers count.
* share: a flow's mean goodput over that of all. jfi: Jain's index, of each sample and then the mean (``jfi_mean``, as the
  papers print it), or of the means (``jfi_of_means``; ``jfi`` of the validation).
* loss: a reduction of the window, by fast recovery or timeout; epoch, s: from one to the flow's next. Both count in the
  window, its ends included.
* ``peak``: of the group of that name, the largest sample of goodput, Mb/s; in the validation, the mean of the congestion
  window just before a loss, packets (`Runs.mean_peaks_pkts`).
* mean window, packets: over all samples (``cwnd_mean``) or over whole epochs (`Runs.mean_windows_pkts`).
* window fit: a curve through the recorded congestion windows of one epoch by least squares: a line
  (`tcpfair.metrics.series.fitted_slope`) or CUBIC's (`growth.Epoch.fit`).
* weight, 1/(Mb/s): one over what a flow gets in its self-pair, by a rule of `weights.RULES`; NRU, dB: weight times goodput,
  where a sample without delivery counts as one segment (`weights.u_db`).
"""

from tcpfair.measures.groups import BY_RULE, SYSTEM, measure

__all__ = ["BY_RULE", "SYSTEM", "measure"]
