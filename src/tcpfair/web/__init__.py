"""The packet lab: one HTML file in which any dumbbell is run again, packet by packet, by the engine that made the figures.

============  =====================================================================================================
`entry`       what the page calls: lays out memory, calls the engine's own set-up and loop
`wasm`        that, compiled: numba's IR -> llvmlite's wasm32 object; `link`: object -> module
`schema`      what the page has to know; `presets`: every run of the papers' experiments, and what they print
`digest`      SHA-256 over all that a run gives: ``./reproduce digest FILE`` and the page show the same
`tours`       the guided tours, checked: `tours.yaml`
`page`        puts the file together, from ``static/lab.html`` and all it refers to
============  =====================================================================================================

``python -m tcpfair.web OUTPUT`` makes the page from ``static/`` as it is; ``./reproduce`` makes ``results/<source>/lab.html``.

What the scripts of the page say to each other. All are classic scripts, inlined in the order of their ``<script src>`` in
``static/lab.html``; everything hangs on one global, ``tcpfair``.

``static/engine.js`` (page, worker and node)::

    await tcpfair.ready                         // in the page: module and schema are there, tcpfair.schema too
    engine = await tcpfair.loadEngine(wasm_bytes, schema)      // in node; `ready` has done it in the page
    result = await tcpfair.run(scenario, seed, {on_progress(share), signal, sample_s})
    session = await tcpfair.open(scenario, seed)
    whole = tcpfair.check(scenario)             // with all defaults; throws an Error with one line that names the field

A scenario is the JSON of `tcpfair.papers.scenario.Scenario`; what is left out has its default, ``Infinity`` may be a
number or text. A seed is a number, a BigInt or decimal text (seeds of presets have 62 bits: text). ``run`` rejects with an
Error of one line, or with an AbortError when ``signal`` says so. Its result::

    { t_s, packets, seconds, digest,                          // digest: hexadecimal, of the scenario with its own sample_s
      flows: [{protocol, cc, rtt_s, direction, role, delivered_pkts, received_pkts, cwnd_pkts, ssthresh_pkts, srtt_s,
               sent, resent, dropped, reductions, timeouts}],  // series: Float64Array, counts cumulative
      link: {forwarded_pkts, dropped_pkts, queue_pkts, acks, acks_dropped, service_s}, reverse_link: the same or null,
      web: {arrivals, forward: {delivered_pkts, received_pkts, active}, reverse} or null,
      events: [{t_s, flow, kind: "loss" | "rto" | "recovery_end", cwnd_before, cwnd_after, w_max, k_s}] }

A session goes forward only::

    session.runTo(t_s); session.now_s; session.close(); session.events(first)
    session.flows()   -> [{state: "not started" | "slow start" | "avoidance" | "recovery" | "after timeout", stopped,
                           cwnd_pkts, ssthresh_pkts, in_flight_pkts, una, snd_nxt, rx_nxt, srtt_s, rtt_s, w_max, k_s,
                           sent, resent, lost, reductions, timeouts}]
    session.link()    -> {queue_pkts, free_s, service_s, buffer_pkts, forwarded_pkts, dropped_pkts, acks, acks_dropped}
    session.reverse_link() -> the same or null
    session.packets() -> [{flow, direction, seq, again: 0 new | 1 sent again | 2 copy, sent_s, lost,
                           place: "access" | "queue" | "link" | "forward" | "ack_queue" | "ack", from_s, to_s}]

Without a reverse bottleneck receivers stand right behind the bottleneck: nothing is ever in "forward", and what has left the
link is an "ack" on its way back, with the number of its packet; with one, an ACK has the number that it asks for. ``lost``
packets (place "queue", ``to_s`` = ``from_s`` = when they were sent) stay in the list until they are sent again.

``static/recording.js`` and ``static/packets.js``, the packet view::

    session = await tcpfair.openRaw(scenario, seed, engine)     // with next_s, turn, rows, raw.{end, state, link, slot}
    recording = tcpfair.record(session, flows, {until_s, most}) // every packet's way and every event
    tcpfair.packets.show(name | {scenario, seed, from_s, length_s, says})       // after lab.select("packets")

``static/expand.js``::

    tcpfair.points(paper, experiment)            -> [{axis: value}], the grid
    tcpfair.preset(paper, experiment, point, replicate) -> {scenario, seed, point}      // point: its number, or {axis: value}

``tcpfair.schema``::

    { engine_digest, papers: {paper: {cite}},
      algorithms: [{name, title, source, params: [{name, default, unit, source, least, most}], recovery, ...}],
      defaults: {scenario, flow, web, laws: {lognormal, pareto}},   // field -> {kind | choices, default, gt, ge, lt, what}
      metrics: {name: {words, unit}}, plots: {name: {title, words, unit, decimals, symbol}}, limits,
      presets: {paper: {experiment: {title, supplement, exhibits, grid: {axis: [value]}, replicates, window_s, measures,
                weights: {experiment, rule, also} or null,
                printed: [{point, flow: 0 = of all, metric, value or null = a dash, derived: "" = as printed}], ...}}} }

``printed`` has names and units of `tcpfair.measures.measure`; ``runs`` says which mean over runs it is, or that it is their
scatter ("sd", "cv").

By keyboard alone: whatever can be pressed or set is reached by Tab, has a name, and shows its focus; a plot is a slider whose
value is what stands at the shared cursor; explanations are `tcpfair.inputs.explained`; Escape takes an explanation away, brings
back what a box held, and folds away what is unfolded. What is drawn anew goes through `tcpfair.dom.renew`, which keeps the focus.
A run that traps or hangs costs its worker: the page says so above the plots, and the next run has a new one.
"""
