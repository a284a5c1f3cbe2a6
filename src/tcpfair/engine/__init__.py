"""The packet-level dumbbell simulator: N flows, one drop-tail bottleneck, compiled by numba.

The simulator needs no event queue. With a FIFO bottleneck and constant propagation, the ACKs of a flow return in the
order in which its packets were sent. A ring per flow holds their arrival times. The next event of the simulation is the
smallest head of all rings, found by a winner tree. Lindley's recursion gives a packet's departure from the bottleneck
when it enters, so the queue stores no packets. The flow with the earliest event runs until another flow is due (a
*train*).

=============  ====================================================================================================
`dumbbell`     scenario in, result out: :func:`~tcpfair.engine.dumbbell.run`; a resumable run: ``Simulation``
`setup`        the records of a run from the records of its scenario, compiled
`loop`         selects the next flow, handles its event, samples; all state is in records, so a run can be resumed
`cruise`       the common case of the loop, as one tight loop
`endpoint`     the two ends of a flow: ACKs, recovery, timers, sending
`link`         the bottleneck
`clock`        the ticks of an emulator
`traffic`      short flows
`tree`         the winner tree
`blocks`       the flows' parts of the shared arrays
`state`        the records
=============  ====================================================================================================

Modelled features. "Kernels" are the Linux versions that have the feature by default; some less relevant versions are
omitted. Effects are those visible when flows on one dumbbell are compared.

==============================  ======  ==============================  ==========================================================
feature                         engine  kernels                         effect, or where it is chosen
==============================  ======  ==============================  ==========================================================
windows in whole packets        in      all                             ``stack: linux``, ``ns2``; shares by up to 0.1 below
                                                                        ten packets
slow start below ssthresh only  in      4.3 and later                   ``stack: linux_6``; before, also at ssthresh: two packets
                                                                        back after each loss, a fifth of Scalable's cut
counter that keeps its rest     in      4.0 and later                   ``stack: linux_6`` (tcp_cong_avoid_ai)
ACK that ends a recovery        in      4.6 and later                   ``stack: linux_6``: it makes the window grow as others do
                                                                        (tcp_cong_control); at windows of six packets losses are
                                                                        7 % more frequent
SACK, NewReno, Reno recovery    in      2.2 and later                   ``recovery``
rate halving                    in      2.2 to 3.1                      ``reduction: rate_halving``
proportional rate reduction     in      3.2 and later                   ``reduction: prr``; ``stack: linux_6`` sends more than
                                                                        arrives only after ACKs that advance and show no loss
                                                                        (tcp_cwnd_reduction): shares by up to 0.03
lower bound of the RTO          in      2.4 and later                   ``rto``: linux bounds the variation, rfc6298 the sum; at
                                                                        two packets a flow's share may halve
RTT variation kept for one RTT  out     2.4 and later                   ``tcp_rtt_estimator``, mdev_max: longer timeouts for some
                                                                        RTTs after the RTT has changed by more than 50 ms
first timeout                   in      3.1 and later (before: 3 s)     1 s; only without any RTT sample (no handshake)
handshake                       out     all                             data start with the first packet
timer with packets in flight    out     all                             no spurious timeout; one may occur where a queue grows
                                                                        faster than the estimate of the RTT
F-RTO, Eifel, DSACK undo        out     DSACK 2.4, F-RTO 2.6.24         never used without spurious timeouts or reordering
reordering                      out     all adapt to it                 jitter keeps a flow's packets in order; three later
                                                                        arrivals prove a loss
early retransmit                out     3.5 to 4.10                     short flows and windows below four: fewer timeouts
tail loss probe                 out     3.10 and later                  ends of short flows: a probe in place of a timeout
RACK and its timer              in      4.4 and later                   ``stack: linux_6``: where three packets take longer than a
                                                                        quarter of the least RTT, a timer starts the recovery,
                                                                        and its retransmission is one packet more in the path:
                                                                        at windows of ten packets a second reduction follows
                                                                        one in eight; before, three later arrivals prove a loss
quick ACKs while the window     in      2.4 and later                   ``stack: linux_6``, ``linux_2_6_22`` with ``rwnd_pkts``:
grows                                                                   all packets, while the window grows to it from 64 KiB or
                                                                        4 packets (tcp_grow_window): a window that counts ACKs
                                                                        doubles in each RTT of slow start
growth of the receiver window   out     2.4 and later                   ``rwnd_pkts`` limits the flight from the beginning
quick ACKs after a packet out   in      2.4 to 4.17                     ``stack: linux_2_6_22``: 16 (tcp_enter_quickack_mode); at
of order                                                                windows of seven packets a fifth more throughput
lost retransmissions            in      2.6.15 to 2.6.23 do not see     ``stack: linux_2_6_22``: they wait for a timeout or a new
                                        them                            hole (tcp_sacktag_write_queue with its hint); after the
                                                                        overshoot of slow start a flow may stop for half a second
timer of the first packet       in      all                             ``stack: linux_2_6_22``, after a lost retransmission: it
                                                                        expires although ACKs arrive (tcp_ack_packets_out)
threshold after a timeout       in      2.4 and later                   ``stack: linux_2_6_22``: kept within a recovery, reduced
                                                                        again after progress (tcp_enter_loss)
two packets at first            in      to 2.6.38                       ``iw_pkts: 2``, without metrics of an earlier connection
                                                                        (tcp_init_metrics)
quick ACKs at the start         out     2.4 and later                   the first 16 packets at most
RTT with the wait of a delayed  out     2.6.22, not 6.1                 from the first packet that an ACK covers, not the last:
ACK                                                                     Vegas alone has 38 packets in place of 46
ACK of PSH at once              out     6.1.56, 6.6 and later           a sender that writes a packet at a time gets an ACK for
                                                                        each; bulk senders almost none
CCID 2 sends at ticks           in      DCCP to 2.6.35                  ``stack: linux_2_6_22``: it looks at its window once in a
                                                                        tick of 4 ms (dccp_write_xmit_timer), so it sends bursts
                                                                        and has up to 0.06 more of a link it shares with TCP
a second reduction of CCID 2    in      DCCP                            ``stack: linux_2_6_22``, ``linux_6``: by a lost packet
                                                                        that was sent in the tick of the first
                                                                        (ccid2_congestion_event); with windows of whole packets,
                                                                        shares by up to 0.1
Ack Ratio of CCID 2             in      DCCP of 3.2 and later           ``stack: linux_6``: 10 to 19 ACKs per window, so bursts
                                                                        grow with the window; in 2.6.22 it is 1: ``ack_every``
adaptive delayed ACKs           out     2.4 and later (40 to 200 ms)    a fixed ``delack_s``; at windows of six packets 55 ms
                                                                        in place of 40 take 6 % of the window
pacing                          out     with BBR or fq only             bursts of a window reach the access link
TSO and GRO, stretch ACKs       out     TSO 2.6, GRO 2.6.29 and later   longer bursts and fewer ACKs, which slow the growth of
                                                                        modules that count ACKs
window autotuning               out     2.6.7 and later                 a fixed ``rwnd_pkts``; a flow may be held back at first
metrics kept for a destination  out     2.4 and later                   a second run would start with the last threshold
HyStart                         in      2.6.29 and later                ``cubic_linux_6``; of ``cubic`` by two parameters, off
window after idle times         out     2.4 and later                   senders always have data
full interface queue            in      2.4 and later                   ``access_queue_pkts``: a reduction without a loss
ECN, queue management           out     on request                      drop tail
emulator with a clock           in                                      ``tick_s``: service in batches, delays in whole ticks
outages, changes of rate        out
==============================  ======  ==============================  ==========================================================

Without a reverse bottleneck the receivers are directly behind the bottleneck and all propagation delay is on the return
path, so no interval delivers more than the link carries. With one, each direction has half of the delay.
"""
