"""The packet lab: one HTML file that simulates any dumbbell, packet by packet, with the engine that made the figures.

============  =====================================================================================================
`entry`       what the page calls: lays out memory, calls the engine's own set-up and loop
`wasm`        that, compiled: numba's IR -> llvmlite's wasm32 object; `link`: object -> module
`schema`      data of the page; `presets`: every run of the papers' experiments, and the published numbers;
              `examples.yaml`: scenarios for the packet view
`tours`       the guided tours, checked: `tours.yaml`
`page`        puts the file together, from ``static/lab.html`` and all it refers to
============  =====================================================================================================

The page shows the digest of a run that `tcpfair.library.digest` and ``./reproduce digest FILE`` give.
``python -m tcpfair.web OUTPUT`` writes the page from ``static/`` as it is; ``./reproduce`` writes ``results/<source>/lab.html``.

All scripts of the page are classic scripts, inlined in the order of their ``<script src>`` in ``static/lab.html``; each adds
its part to one global, ``tcpfair``, which ``static/engine.js`` makes (page, worker and node)::

    await tcpfair.ready                         // in the page: module and schema are loaded, tcpfair.schema too
    engine = await tcpfair.loadEngine(wasm_bytes, schema)      // in node; `ready` has done it in the page
    result = await tcpfair.run(scenario, seed, {on_progress(share), on_part(result), signal, sample_s})
    whole = tcpfair.check(scenario)             // with all defaults; throws an Error with one line that names the field

A scenario is the JSON of `tcpfair.papers.scenario.Scenario`. A missing field has its default; ``Infinity`` may be a number
or text. A seed is a number, a BigInt or decimal text (seeds of presets have 62 bits: text). ``run`` rejects with an Error of
one line, or with an AbortError after ``signal``. During a run, ``on_part`` gets its first samples, without a digest. The result::

    { t_s, packets, seconds, digest,                          // digest: hexadecimal, of the scenario with its own sample_s
      flows: [{protocol, cc, rtt_s, direction, role, delivered_pkts, received_pkts, cwnd_pkts, ssthresh_pkts, srtt_s,
               sent, resent, dropped, reductions, timeouts}],  // series: Float64Array, counts cumulative; NaN: no value yet
      link: {forwarded_pkts, dropped_pkts, queue_pkts, acks, acks_dropped, service_s}, reverse_link: the same or null,
      web: {arrivals, forward: {delivered_pkts, received_pkts, active}, reverse} or null,
      events: [{t_s, flow, kind: "loss" | "rto" | "recovery_end", cwnd_before, cwnd_after, w_max, k_s}] }

A comment at the beginning of each of the other scripts describes it. ``tcpfair.schema`` is the result of `schema.schema`. In
``printed`` of a preset, names and units are those of `tcpfair.measures.measure`, null is a published dash, ``derived`` is empty
for a value as published, and ``runs`` names a mean over runs or their scatter ("sd", "cv").

The page shows one run, that of the current settings, or two that are compared in the same plots. ``static/findings.js`` computes
the numbers in texts of tours from this run, and the packet view records its packets. During a run the plots show its first part.
Results of older settings are dimmed and labelled. An address holds settings and view: ``#1.SETTINGS&tab=packets&tour=cubic/2``.
``#tour=cubic/2`` or ``#preset=ogura/loss_sweep&protocol=Reno&loss_rate=0.01`` alone set the page, too. With ``?embed`` the page
shows only the picture and its settings. In a notebook (`tcpfair.exhibits.packet_lab`) the frame holds the page itself, and its
name is the address. Dropped files (``static/paste.js``) are scenarios, or recordings by iperf3 or ss, which no address holds.

Every control is usable by keyboard alone: Tab reaches it, it has a name, and it shows its focus. A plot is a slider whose value
is the one at the shared cursor. Explanations are `tcpfair.inputs.explained`. Escape closes an explanation, restores the text of
a box, and folds what is unfolded. `tcpfair.dom.renew` replaces elements and keeps the focus. When a run traps or hangs, the page
reports it above the plots, and the next run starts a new worker.
"""
