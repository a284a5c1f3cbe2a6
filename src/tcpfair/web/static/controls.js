/**
 * The settings of a scenario: the link, the run, what is measured, the flows and the sources of short flows.
 *
 * Every field of `tcpfair.papers.scenario` has an input here, with the unit that is easiest to read; explanations and
 * defaults come from the schema. Folded parts are built when they are opened.
 */
"use strict";

tcpfair.controls = (() => {
  const { make, button, renew, newId, plain } = tcpfair.dom;
  const { quantity, choice, toggle, line, describe } = tcpfair.inputs;
  const { fieldOf, valueOf, setValue, bdp, bufferUnits, copy } = tcpfair.scenarios;
  const FLOWS_OPEN = 4; // cards of more flows are folded at first
  const FLOWS_SHOWN = 20; // further ones are built on request
  const FACTORS = { "Mb/s": 1e-6, ms: 1e3, "µs": 1e6 }; // from the units of a scenario: b/s and s

  /** Fields of a flow other than algorithm, RTT and start: name, label, unit. */
  const FLOW_FIELDS = [
    ["stop_s", "Stops at", "s"], ["size_pkts", "Sends", "packets"], ["rwnd_pkts", "Receiver window", "packets"],
    ["iw_pkts", "First window", "packets"], ["initial_ssthresh_pkts", "First ssthresh", "packets"],
    ["access_bps", "Sender's own link", "Mb/s, 0: no limit"], ["access_queue_pkts", "Queue of that link", "packets"],
    ["access_jitter_s", "Jitter of the host", "µs"], ["delack_s", "ACK waits at most", "ms"], ["rto_min_s", "Least timeout", "ms"],
  ];
  const FLOW_CHOICES = [
    ["ack_every", "ACK for every", [[1, "packet"], [2, "second packet"]]],
    ["direction", "Direction", [["forward", "forward"], ["reverse", "reverse"]]],
    ["role", "Counted as", [["foreground", "foreground"], ["background", "background"]]],
    ["recovery", "Loss recovery", [[null, "as the algorithm is meant for"], ["sack", "SACK"], ["newreno", "NewReno"], ["reno", "Reno"]]],
    ["reduction", "Window goes down", [["immediate", "at once"], ["prr", "by PRR"], ["rate_halving", "by rate halving"]]],
    ["rto", "Timeout", [[null, "as the stack has it"], ["rfc6298", "RFC 6298"], ["linux", "Linux"]]],
    ["stack", "Arithmetic", [["text", "of the texts"], ["linux", "Linux 2.6: whole packets"], ["linux_2_6_22", "Linux 2.6.22"], ["linux_6", "Linux 6"], ["ns2", "Linux in ns-2"]]],
  ];

  /**
   * Fills `form`. `lab` gives {side(): what is edited, edited(): to be called after a change,
   * reshaped(): after one that needs other inputs}.
   */
  function create(form, lab) {
    const folded = new Map(); // by key: whether a reader has opened or folded a part
    let rows = []; // of the form
    const namedRows = []; // of the one or two settings that a step names
    let kept = rows; // where the next row belongs
    let flowsShown = FLOWS_SHOWN;

    const what = (model, name) => fieldOf(model, name).what || "";
    const keep = (row) => (kept.push(row), row);
    const refresh = () => [...rows, ...namedRows].forEach((row) => row.refresh());
    const changed = () => {
      refresh();
      lab.edited();
    };

    /** A part that can be folded; `build` returns its content when it is first opened. */
    function part(key, title, build, className = "part", openAtFirst = false) {
      const summary = make("summary", {}, title);
      const node = make("details", { className, "aria-label": summary.textContent, open: folded.has(key) ? !folded.get(key) : openAtFirst }, summary);
      const fill = () => node.childElementCount > 1 || node.append(...build().filter(Boolean));
      if (node.open) fill();
      node.firstChild.addEventListener("click", () => folded.set(key, node.open)); // before it changes
      node.addEventListener("toggle", () => node.open && fill());
      return node;
    }

    /** What an input for a field of `record` has: see inputs.js. `then` is called after a change. */
    const ofField = (model, record, name, { then, ...options }, key = name) => ({
      ...{ what: what(model, name), key },
      get: () => valueOf(model, record, name),
      set: (value) => (setValue(model, record, name, value), then?.(), changed()),
      ...options,
    });
    const chosen = (model, record, name, options, key) => keep(choice(ofField(model, record, name, options, key)));
    const switched = (model, record, name, label, key) => keep(toggle(ofField(model, record, name, { label }, key)));

    /** A number, with the bounds of the schema. */
    function field(model, record, name, label, unit, options = {}, key = name) {
      const { gt: above, ge: least, default: usual } = fieldOf(model, name);
      const number = { label, unit, factor: FACTORS[unit.split(",")[0]], above, least, infinite: usual === "Infinity" };
      return keep(quantity(ofField(model, record, name, { ...number, ...options }, key)));
    }

    /** An input that is a property of `record`. */
    const property = (input, record, name, options) =>
      keep(input({ key: name, get: () => record[name], set: (value) => ((record[name] = value), changed()), ...options }));

    /** A button that changes the inputs and requests a run. */
    const reshaping = (text, key, act, more) => button(text, () => (act(), lab.reshaped(), lab.edited()), { key, ...more });

    // --- The link -------------------------------------------------------------------------------------------------

    /** The settings of the link that a slider moves, each by its name. */
    function linkRows(side) {
      const s = side.scenario;
      const perUnit = () => bufferUnits[side.bufferUnit](s);
      // a buffer in bytes or BDP stays what it is when the rate, the RTT or the packets change
      const keepBuffer = () => side.bufferUnit !== "packets" && (s.buffer_pkts = Math.max(side.bufferSize * perUnit(), 1));
      const keepSize = () => (side.bufferSize = s.buffer_pkts / perUnit());
      return {
        perUnit, keepBuffer, keepSize,
        capacity_bps: (key) => field("scenario", s, "capacity_bps", "Rate", "Mb/s", { slider: { min: 1e6, max: 1e10, log: true }, then: keepBuffer }, key),
        buffer: (key = "buffer") => field("scenario", s, "buffer_pkts", "Buffer", "packets", {
          ...{ slider: { min: 1, max: 1e5, log: true }, then: keepSize },
          hint: () => `${plain(s.buffer_pkts / bdp(s), 3)} BDP · ${plain((s.buffer_pkts * s.wire_bytes) / 1e3, 3)} kB`,
        }, key),
        loss_rate: (key) => field("scenario", s, "loss_rate", "Random loss", "share", { most: 0.999, slider: { min: 1e-7, max: 0.1, log: true, zero: true } }, key),
        jitter_s: (key) => field("scenario", s, "jitter_s", "Jitter up to", "µs", {
          ...{ slider: { min: 1e-6, max: 1e-2, log: true, zero: true } },
          hint: () => `${plain((s.jitter_s || 0) * s.capacity_bps / 8 / s.wire_bytes, 2)} packet times`,
        }, key),
      };
    }

    function linkPart(side) {
      const s = side.scenario;
      const { perUnit, keepBuffer, keepSize, ...own } = linkRows(side);
      const inUnit = property(quantity, side, "bufferSize", {
        ...{ label: "the same in its unit", unit: side.bufferUnit, key: "buffer in unit", above: 0 },
        get: () => s.buffer_pkts / perUnit(),
        set: (value) => ((side.bufferSize = value), keepBuffer(), changed()),
      });
      const unit = property(choice, side, "bufferUnit", {
        ...{ label: "Buffer is given in", key: "buffer unit", options: Object.keys(bufferUnits) },
        what: "What stays the same when rate, RTT or packet size change; BDP at the longest RTT",
        set: (value) => ((side.bufferUnit = value), keepSize(), lab.reshaped()),
      });
      keepSize();
      side.keepBuffer = keepBuffer;
      return [
        own.capacity_bps(),
        own.buffer(),
        unit,
        side.bufferUnit === "packets" ? null : inUnit,
        own.loss_rate(),
        own.jitter_s(),
        part("link more", "packet sizes, reverse link, synchronised losses", () => [
          field("scenario", s, "wire_bytes", "Packet on the link", "bytes", { then: keepBuffer }),
          field("scenario", s, "payload_bytes", "of it payload", "bytes"),
          field("scenario", s, "reverse_bps", "Reverse rate", "Mb/s, 0: ACKs pass freely", { then: () => s.reverse_bps && !s.reverse_buffer_pkts && (s.reverse_buffer_pkts = s.buffer_pkts) }),
          field("scenario", s, "reverse_buffer_pkts", "Reverse buffer", "packets"),
          field("scenario", s, "ack_bytes", "ACK on that link", "bytes"),
          switched("scenario", s, "synchronised_losses", "Synchronised losses: at an overflow every flow loses a packet"),
        ], "more"),
      ];
    }

    // --- The run and its measures ---------------------------------------------------------------------------------

    function runPart(side) {
      const s = side.scenario;
      const m = side.measuring;
      const measure = (name, options) => property(quantity, m, name, { key: `measure ${name}`, ...options });
      const ofAnalysis = (name, options) => property(quantity, m.analysis, name, options);
      const fits = () => ((m.toS = Math.min(m.toS, s.duration_s)), m.fromS >= m.toS && (m.fromS = 0));
      const aSeed = (text) => (/^\d{1,19}$/.test(text) && BigInt(text) < 2n ** 63n ? "" : "a whole number below 2^63");
      const another = () => ((side.seed = String(Math.floor(Math.random() * 2 ** 48))), changed());
      return [
        field("scenario", s, "duration_s", "Duration", "s", { slider: { min: 1, max: 1000, log: true }, then: fits }),
        field("scenario", s, "sample_s", "A sample every", "s"),
        make("div", { className: "beside" },
          property(line, side, "seed", { label: "Seed", check: aSeed }),
          button("another", another, { key: "another seed", "aria-label": "another seed" }),
        ),
        part("measuring", "what is measured, and how", () => [
          measure("fromS", { label: "Measured from", unit: "s", least: 0 }),
          measure("toS", { label: "Measured to", unit: "s", above: 0 }),
          measure("everyS", { label: "in intervals of", unit: "s", above: 0, what: "Throughput, J(t) and U_n(t) are of intervals of this length; a multiple of the sampling" }),
          property(choice, m, "rule", {
            ...{ label: "NRU weights", wide: true },
            what: "One over what a flow gets in its self-run, in which every flow has its protocol",
            options: [
              ["per_column", "its own place in the self-run (bhatti2009)"],
              ["mean_of_columns", "mean of the self-run (bhatti2008)"],
              ["half_of_sum", "half of the self-run's sum"],
              ["sum_of_columns", "all of the self-run's sum"],
            ],
          }),
          measure("selfRuns", { label: "Self-runs per kind", unit: "seeds", least: 1, most: 25 }),
          ofAnalysis("U_c_db", { label: "Fair above U_c", unit: "dB" }),
          ofAnalysis("t_e_s", { label: "Convergence since t_e", unit: "s", least: 0 }),
          ofAnalysis("convergence_from_s", { label: "looked for from", unit: "s", least: 0 }),
          ofAnalysis("convergence_window_s", { label: "in means over", unit: "s", above: 0 }),
        ], "more"),
      ];
    }

    // --- Flows ----------------------------------------------------------------------------------------------------

    /** Algorithm, parameters and the settings of hosts that a flow and a source of short flows share. */
    function protocolRows(flow, key) {
      const algorithms = tcpfair.schema.algorithms;
      const algorithm = algorithms.find((each) => each.name === flow.cc);
      return [
        part(`${key} params`, `parameters of ${flow.cc}`, () => [
          make("p", { className: "source" }, algorithm.source || algorithm.title || ""),
          ...(algorithm.params.length ? algorithm.params.map((param) => paramRow(flow, param, key)) : [make("p", { className: "source" }, "This algorithm has no parameters.")]),
        ], "more"),
        part(`${key} hosts`, "end hosts", () => [
          property(line, flow, "protocol", { label: "Label", key: `${key} protocol`, set: (value) => ((flow.protocol = value || flow.cc), changed()), what: what("flow", "protocol") }),
          ...FLOW_FIELDS.map(([name, label, unit]) => field("flow", flow, name, label, unit, {}, `${key} ${name}`)),
          ...FLOW_CHOICES.map(([name, label, options]) => chosen("flow", flow, name, { label, options }, `${key} ${name}`)),
          switched("flow", flow, "byte_counting", "Grows per packet acknowledged, not per ACK", `${key} byte_counting`),
        ], "more"),
      ];
    }

    function paramRow(flow, param, key) {
      const get = () => flow.params?.[param.name] ?? param.default;
      const set = (value) => {
        flow.params = { ...flow.params, [param.name]: value };
        if (value === param.default) delete flow.params[param.name];
        changed();
      };
      const about = make("span", { className: "source", id: newId("param") }, `${param.source || ""}; default ${param.default}`);
      const common = { key: `${key} ${param.name}` };
      const row = param.unit === "0 or 1"
        ? toggle({ ...common, label: param.name, get, set: (value) => set(value ? 1 : 0) })
        : quantity({ ...common, label: param.name, unit: param.unit === "1" ? "" : param.unit, get, set, least: param.least ?? -Infinity, most: param.most ?? Infinity });
      row.querySelectorAll("input").forEach((input) => describe(input, about.id));
      return make("div", { className: "param" }, keep(row), about);
    }

    function algorithmChoice(flow, key, label) {
      return keep(choice({
        ...{ label, key: `${key} cc`, wide: true },
        options: tcpfair.schema.algorithms.map((each) => [each.name, each.title && each.title !== each.name ? `${each.name}: ${each.title}` : each.name]),
        get: () => flow.cc,
        set: (name) => {
          flow.cc = flow.protocol = name;
          delete flow.params;
          lab.reshaped();
          lab.edited();
        },
      }));
    }

    /** What a slider moves of a flow. Where the RTT is one of an experiment, other values may follow from that of the grid. */
    const flowRows = (side, n) => ({
      rtt_s: (key) => field("flow", side.scenario.flows[n], "rtt_s", side.preset ? "RTT alone" : "RTT", "ms", { slider: { min: 1e-3, max: 1, log: true }, then: () => side.keepBuffer?.() }, key),
      start_s: (key) => field("flow", side.scenario.flows[n], "start_s", "Starts at", "s", { slider: { min: 0, get max() { return side.scenario.duration_s; } } }, key),
    });

    function flowCard(side, n) {
      const flow = side.scenario.flows[n];
      const flows = side.scenario.flows;
      const key = `flow ${n + 1}`;
      const act = (text, title, then, disabled = false) => reshaping(text, `${key} ${title}`, then, { "aria-label": `${title} ${n + 1}`, disabled });
      const about = flow.protocol.toLowerCase() === flow.cc ? flow.protocol : `${flow.protocol} (${flow.cc})`;
      const title = make("span", { className: "flow-head" }, tcpfair.plots.swatch(n), make("strong", {}, `Flow ${n + 1}`), make("span", { className: "source" }, about));
      const build = () => [
        algorithmChoice(flow, key, "Algorithm"),
        flowRows(side, n).rtt_s(`${key} rtt_s`),
        flowRows(side, n).start_s(`${key} start_s`),
        ...protocolRows(flow, key),
        make("div", { className: "buttons" }, act("Copy", "Copy flow", () => flows.splice(n + 1, 0, copy(flow))), act("Remove", "Remove flow", () => flows.splice(n, 1), flows.length === 1)),
      ];
      return part(key, title, build, "flow", flows.length <= FLOWS_OPEN);
    }

    function flowsPart(side) {
      const flows = side.scenario.flows;
      const more = (count) => () => flows.push(...Array.from({ length: count }, () => copy(flows.at(-1))));
      const hidden = flows.length - flowsShown;
      return [
        ...flows.slice(0, flowsShown).map((_, n) => flowCard(side, n)),
        hidden > 0 && button(`show ${Math.min(hidden, FLOWS_SHOWN)} of ${hidden} more`, () => ((flowsShown += FLOWS_SHOWN), lab.reshaped()), { key: "more flows" }),
        make("div", { className: "buttons" }, reshaping("Add a flow", "add flow", more(1)), reshaping("Add ten", "add ten", more(10))),
      ];
    }

    // --- Short flows ----------------------------------------------------------------------------------------------

    /** Fields of the laws of sizes: label and unit. */
    const LAW_FIELDS = {
      ...{ share: ["Share of the transfers"], mu: ["mean of ln(bytes)"], sigma: ["standard deviation of ln(bytes)"] },
      ...{ shape: ["shape"], min_bytes: ["at least", "bytes"], cap_bytes: ["at most", "bytes"] },
    };

    /** Laws of sizes that can be added: the two that a new source begins with. */
    const LAW_NAMES = { lognormal: "log-normal", pareto: "Pareto" };

    function sizeRows(web, key) {
      const act = (text, of, disabled, then) => reshaping(text, of, then, { "aria-label": `${text} of ${key.replace("web", "short flows")}`, disabled });
      return [
        ...web.sizes.map((law, k) =>
          make("fieldset", { className: "law" }, make("legend", {}, `${LAW_NAMES[law.law]} part ${k + 1} of ${web.sizes.length}`), lawRows(law, `${key} size ${k + 1}`),
            act("Remove this part", `${key} size ${k + 1} remove`, web.sizes.length === 1, () => web.sizes.splice(k, 1)))),
        make("div", { className: "buttons" },
          NEW_WEB.sizes.map((law) => act(`Add a ${LAW_NAMES[law.law]} part`, `${key} add ${law.law}`, false, () => web.sizes.push(copy(law))))),
      ];
    }

    function lawRows(law, key) {
      const names = Object.keys(tcpfair.schema.defaults.laws[law.law]).filter((name) => name in LAW_FIELDS);
      const rowOf = (name, [label, unit = ""]) => field(law.law, law, name, label, unit, { what: "" }, `${key} ${name}`);
      return make("div", {}, names.map((name) => rowOf(name, LAW_FIELDS[name])));
    }

    function webCard(side, n) {
      const web = side.scenario.web[n];
      const key = `web ${n + 1}`;
      return make("section", { className: "flow web", "aria-label": `Short flows ${n + 1}` },
        make("div", { className: "flow-head" }, make("strong", {}, `Short flows ${n + 1}`),
          make("span", { className: "source" }, web.flow.direction === "reverse" ? "reverse" : "forward"),
          reshaping("Remove", `${key} remove`, () => side.scenario.web.splice(n, 1), { "aria-label": `Remove short flows ${n + 1}` })),
        algorithmChoice(web.flow, key, "Algorithm"),
        field("web", web, "arrivals_per_s", "Arrivals", "per s", { slider: { min: 0.1, max: 1000, log: true } }, `${key} arrivals`),
        field("flow", web.flow, "rtt_s", "Least RTT", "ms", {}, `${key} rtt_s`),
        field("web", web, "rtt_extra_mean_s", "further RTT, mean", "ms", { then: () => web.rtt_extra_mean_s && !web.rtt_cap_s && (web.rtt_cap_s = 10 * (web.flow.rtt_s + web.rtt_extra_mean_s)) }, `${key} extra`),
        field("web", web, "rtt_cap_s", "RTT at most", "ms", {}, `${key} cap`),
        part(`${key} sizes`, "sizes", () => sizeRows(web, key), "more"),
        ...protocolRows(web.flow, key),
      );
    }

    /** A source of short flows of a few packets, with some long ones: sizes as in ha2006's Type II. */
    const NEW_WEB = {
      flow: { protocol: "web", cc: "reno", rtt_s: 0.01, rwnd_pkts: 44 },
      arrivals_per_s: 5,
      sizes: [{ law: "lognormal", share: 0.7, mu: 9.357, sigma: 1.318 }, { law: "pareto", share: 0.3, shape: 1.1, min_bytes: 1e6, cap_bytes: 2147483647 }],
      rtt_extra_mean_s: 0.098,
      rtt_cap_s: 0.6,
    };

    function webPart(side) {
      const add = (direction) => () => {
        const web = copy(NEW_WEB);
        if (direction === "reverse") web.flow.direction = direction;
        const s = side.scenario;
        s.web = [...(s.web || []), web];
        if (direction === "reverse" && !s.reverse_bps) Object.assign(s, { reverse_bps: s.capacity_bps, reverse_buffer_pkts: s.buffer_pkts });
      };
      return [
        make("p", { className: "source" }, "Transfers that arrive at random and end: recorded together, one line per direction."),
        ...(side.scenario.web || []).map((_, n) => webCard(side, n)),
        make("div", { className: "buttons" },
          reshaping("Add short flows", "add web", add("forward")), reshaping("Add them in reverse", "add web reverse", add("reverse"))),
      ];
    }

    // --- All of it --------------------------------------------------------------------------------------------------

    /** The settings of these names, such as "buffer" or "flow 2 rtt_s", as shown next to a picture. */
    function named(box, names, axisOf) {
      const side = lab.side();
      kept = namedRows;
      kept.length = 0;
      const rowOf = (name) => {
        const [, n, ofFlow] = name.match(/^flow (\d+) (\w+)$/) || [];
        const ofAxis = name.startsWith("axis ") && axisOf(name.slice(5));
        const build = n ? side.scenario.flows[n - 1] && flowRows(side, n - 1)[ofFlow] : ofAxis || linkRows(side)[name];
        const row = build?.(`named ${name}`);
        if (n) row?.querySelector("label").prepend(`Flow ${n}: `);
        return row;
      };
      renew(box, ...names.map(rowOf).filter(Boolean));
      kept = rows;
    }

    /** Rebuilds all inputs; focus and open parts are kept. */
    function build() {
      const side = lab.side();
      kept = rows = [];
      renew(
        form,
        part("link", "Bottleneck link", () => linkPart(side), "part", true),
        part("run", "Run and measures", () => runPart(side), "part", true),
        part("flows", `Flows (${side.scenario.flows.length})`, () => flowsPart(side), "part", true),
        part("web", `Short flows${side.scenario.web?.length ? ` (${side.scenario.web.length})` : ""}`, () => webPart(side)),
      );
    }

    return { build, named };
  }

  return { create };
})();
