"""The packet lab: one HTML file that simulates any dumbbell, packet by packet, with the engine that made the figures.

============  =====================================================================================================
`entry`       what the page calls: lays out memory, calls the engine's own set-up and loop
`wasm`        that, compiled: numba's IR -> llvmlite's wasm32 object; `link`: object -> module
`schema`      what the page has to know; `presets`: every run of the papers' experiments, and what they print;
              `examples.yaml`: scenarios for the packet view
`tours`       the guided tours, checked: `tours.yaml`, and in `shipped.json` what their runs give
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

A scenario is the JSON of `tcpfair.papers.scenario.Scenario`; what is left out has its default, ``Infinity`` may be a
number or text. A seed is a number, a BigInt or decimal text (seeds of presets have 62 bits: text). ``run`` rejects with an
Error of one line, or with an AbortError after ``signal``. ``on_part`` gets what there is of a run on its way: its first
samples, and no digest. Its result::

    { t_s, packets, seconds, digest,                          // digest: hexadecimal, of the scenario with its own sample_s
      flows: [{protocol, cc, rtt_s, direction, role, delivered_pkts, received_pkts, cwnd_pkts, ssthresh_pkts, srtt_s,
               sent, resent, dropped, reductions, timeouts}],  // series: Float64Array, counts cumulative
      link: {forwarded_pkts, dropped_pkts, queue_pkts, acks, acks_dropped, service_s}, reverse_link: the same or null,
      web: {arrivals, forward: {delivered_pkts, received_pkts, active}, reverse} or null,
      events: [{t_s, flow, kind: "loss" | "rto" | "recovery_end", cwnd_before, cwnd_after, w_max, k_s}] }

The other scripts describe themselves at their beginning. ``tcpfair.schema`` is what `schema.schema` returns; in a preset's
``printed``, names and units are those of `tcpfair.measures.measure`, a value of null is a printed dash, ``derived`` is empty
for what is printed as it is, and ``runs`` is which mean over runs it is, or that it is their scatter ("sd", "cv").

All that is in sight is of one run, that of the settings as they are, or of two that are compared in the same plots. Numbers in
the texts of tours are worked out from it (``static/findings.js``), the packet view records its packets, a run on its way shows
the part that there is. What is still of older settings is dimmed and labelled. An address holds settings and view:
``#1.SETTINGS&tab=packets&tour=cubic/2`` (``tour=``, ``preset=`` alone set the page, too); ``?embed`` leaves the picture and the
settings of a step. Dropped files (``static/paste.js``) are scenarios, or reports of iperf3, which no address holds.

By keyboard alone: whatever can be pressed or set is reached by Tab, has a name, and shows its focus; a plot is a slider whose
value is the one at the shared cursor; explanations are `tcpfair.inputs.explained`; Escape takes an explanation away, brings
back what a box held, and folds away what is unfolded. What is drawn anew goes through `tcpfair.dom.renew`, which keeps the focus.
A run that traps or hangs costs its worker: the page says so above the plots, and the next run has a new one.
"""
