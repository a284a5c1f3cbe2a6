"""The packet-level dumbbell simulator: N flows, one drop-tail bottleneck, compiled by numba.

How it gets by without an event queue: with a FIFO bottleneck and constant propagation, the ACKs of a flow come back in
the order in which its packets were handed over. A ring per flow holds their arrival times; the next event of the
simulation is the least head of all rings, found by a winner tree. Lindley's recursion gives a packet's departure from the
bottleneck as soon as it enters, so the queue holds no packets. The flow with the earliest event is run on until another
flow is due (a *train*).

:func:`tcpfair.engine.dumbbell.run` is the entry point.
"""
