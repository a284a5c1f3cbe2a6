"""The packet-level dumbbell simulator: N flows, one drop-tail bottleneck, compiled by numba.

How it gets by without an event queue: with a FIFO bottleneck and constant propagation, the ACKs of a flow come back in
the order in which its packets were handed over. A ring per flow holds their arrival times; the next event of the
simulation is the least head of all rings, found by a winner tree. Lindley's recursion gives a packet's departure from the
bottleneck as soon as it enters, so the queue holds no packets. The flow with the earliest event is run on until another
flow is due (a *train*).

=============  ====================================================================================================
`dumbbell`     scenario in, result out: :func:`~tcpfair.engine.dumbbell.run`; a run in pieces: ``Simulation``
`setup`        the records of a run from those of its scenario, compiled
`loop`         whose turn it is, what happens then, samples; all state is in records, so that a run can be continued
`cruise`       the common case of that in one tight loop
`endpoint`     the two ends of a flow: ACKs, recovery, timers, sending
`link`         the bottleneck
`traffic`      short flows
`tree`         the winner tree
`blocks`       the flows' parts of the shared arrays
`state`        the records
=============  ====================================================================================================

Where its world ends:

* A retransmission timer runs only while nothing of the flow is on the way, so that no timeout is spurious and none is
  undone: a queue that grows faster than the estimate of the RTT does not fire it, as it may in Linux and does in ns-2
  where the RTT is near the least timeout. F-RTO, Eifel and DSACK have nothing to do.
* Nothing overtakes: jitter delays, and keeps a flow's packets in order; three later arrivals prove a loss.
* Links neither fail nor change their rate; the bottleneck drops at the tail.
* Without a reverse bottleneck the receivers stand right behind the bottleneck and all propagation is on the way back, so
  that no interval delivers more than the link carries; with one, each direction takes half.
"""
