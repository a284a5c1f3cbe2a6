// The engine in a page, in a worker and in node. It writes a scenario into the module's memory as the records that the engine
// is set up from, runs it, and reads what it leaves. Names, places and numbers come from the schema that Python writes; a
// scenario is what papers/scenario.Scenario dumps, with Infinity as a number or as text.
"use strict";

var tcpfair = globalThis.tcpfair || {};
globalThis.tcpfair = tcpfair;

(() => {
  const IN_PAGE = typeof document !== "undefined";
  const SOURCE = IN_PAGE && document.currentScript ? document.currentScript.textContent : "";
  const PAGE_BYTES = 65536;
  const LINE_BYTES = 64;
  const KEPT_BYTES = 32 << 20; // memory that is cleared and reused
  const SLICE_MS = 20; // of work between two checks for messages
  const HANG_MS = 20000; // a worker without messages for this time is replaced
  const GRACE_MS = 500; // in which a cancelled run ends by itself, or its worker is replaced
  const PART_MS = 45; // of work before the first part of a run is sent, and between parts
  const PART_VALUES = 2e5; // samples of all flows: a part with more is not sent
  const PART_EVENTS = 2000; // a part with more has none
  const DONE = 0, WANTS_MEMORY = 1, WANTS_ROWS = 2;

  // What is sampled of each flow, link and direction of short flows, in the order of the engine's arrays.
  const SERIES = {
    flows: ["delivered_pkts", "received_pkts", "cwnd_pkts", "ssthresh_pkts", "srtt_s"],
    link: ["forwarded_pkts", "dropped_pkts", "queue_pkts", "acks", "acks_dropped"],
    web: ["delivered_pkts", "received_pkts", "active"],
  };

  // What the engine samples while a threshold is infinite and an RTT has no estimate: no value in a result.
  const NO_VALUE = { ssthresh_pkts: 2 ** 60, srtt_s: 0 };

  const named = (names, valueOf) => Object.fromEntries(names.map((name, k) => [name, valueOf(k)]));
  const up = (n) => Math.ceil(n / LINE_BYTES) * LINE_BYTES;
  const pause = () => new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => { channel.port1.close(); resolve(); };
    channel.port2.postMessage(0);
  });

  // ---------------------------------------------------------------- records

  // whole numbers as doubles, exact up to 2^53
  const whole = (view, at) => view.getUint32(at, true) + view.getInt32(at + 4, true) * 2 ** 32;
  const GET = { f8: (view, at) => view.getFloat64(at, true), i8: whole, u8: whole, i4: (view, at) => view.getInt32(at, true) };
  const PUT = {
    f8: (view, at, value) => view.setFloat64(at, Number(value), true),
    i8: (view, at, value) => view.setBigInt64(at, BigInt(value), true),
    u8: (view, at, value) => view.setBigUint64(at, BigInt.asUintN(64, BigInt(value)), true),
  };

  function put(view, at, record, values) {
    for (const [name, value] of Object.entries(values)) {
      const field = record.fields[name];
      if (field) PUT[field[1]](view, at + field[0], typeof value === "boolean" ? Number(value) : value);
    }
  }

  function get(view, at, record) {
    const row = {};
    for (const [name, [offset, kind]] of Object.entries(record.fields)) row[name] = GET[kind](view, at + offset);
    return row;
  }

  // ---------------------------------------------------------------- scenarios: defaults, and one line for what is wrong

  class Refusal extends Error {}

  const BOUNDS = [
    ["gt", "greater than", (x, limit) => x > limit],
    ["ge", "at least", (x, limit) => x >= limit],
    ["lt", "less than", (x, limit) => x < limit],
  ];

  function number(value) {
    if (typeof value === "string") return value.trim() === "" ? NaN : Number(value.trim().replace(/^([+-]?)(\.?inf|infinity)$/i, "$1Infinity"));
    return typeof value === "number" ? value : NaN;
  }

  function checkedField(value, field, where) {
    const shown = typeof value === "object" ? JSON.stringify(value) : String(value);
    if (value === null || value === undefined) {
      if (field.none) return null;
      throw new Refusal(`${where}: is missing`);
    }
    if (field.choices) {
      const found = field.choices.find((choice) => choice === value || (typeof choice === "number" && choice === number(value)));
      if (found === undefined) throw new Refusal(`${where}: must be ${field.choices.join(" or ")} (got ${shown})`);
      return found;
    }
    if (field.kind === "text") return String(value);
    if (field.kind === "truth") {
      if (typeof value !== "boolean" && value !== 0 && value !== 1) throw new Refusal(`${where}: must be true or false (got ${shown})`);
      return Boolean(value);
    }
    const x = number(value);
    if (Number.isNaN(x)) throw new Refusal(`${where}: must be a number (got ${shown})`);
    for (const [bound, words, holds] of BOUNDS) {
      const limit = field[bound];
      if (limit !== undefined && !holds(x, limit)) throw new Refusal(`${where}: must be ${words} ${limit} (got ${shown})`);
    }
    if (!Number.isFinite(x) && number(field.default) !== x) throw new Refusal(`${where}: must be finite (got ${shown})`);
    return x;
  }

  function checkedFields(values, fields, others, where) {
    if (typeof values !== "object" || values === null || Array.isArray(values)) throw new Refusal(`${where}: must be a mapping of names to values`);
    for (const name of Object.keys(values)) {
      if (!fields[name] && !others.includes(name)) {
        throw new Refusal(`${where}.${name}: unknown; known are ${[...Object.keys(fields), ...others].join(", ")}`);
      }
    }
    const whole = {};
    for (const [name, field] of Object.entries(fields)) {
      const value = name in values ? values[name] : field.default;
      if (value === undefined) throw new Refusal(`${where}.${name}: is missing`);
      whole[name] = checkedField(value, field, `${where}.${name}`);
    }
    return whole;
  }

  function checkedFlow(values, schema, where) {
    const flow = checkedFields(values, schema.defaults.flow, ["params"], where);
    const algorithm = schema.algorithms.find((each) => each.name === flow.cc);
    if (!algorithm) throw new Refusal(`${where}.cc: unknown protocol ${flow.cc}; known are ${schema.algorithms.map((each) => each.name).join(", ")}`);
    flow.params = {};
    if (values.params && (typeof values.params !== "object" || Array.isArray(values.params))) throw new Refusal(`${where}.params: must be a mapping of names to values`);
    for (const [name, value] of Object.entries(values.params || {})) {
      const param = algorithm.params.find((each) => each.name === name);
      if (!param) throw new Refusal(`${where}.params: ${flow.cc} has no ${name}; it has ${algorithm.params.map((each) => each.name).join(", ") || "none"}`);
      const x = number(value);
      if (!Number.isFinite(x)) throw new Refusal(`${where}.params.${name}: must be a number (got ${value})`);
      if (!(x >= number(param.least) && x <= number(param.most))) throw new Refusal(`${where}.params.${name}: must be from ${param.least} to ${param.most} (got ${value})`);
      flow.params[name] = x;
    }
    const recovery = flow.recovery || algorithm.recovery;
    if (flow.stack === "ns2" && algorithm.reliable && recovery !== "sack") throw new Refusal(`${where}.recovery: stack ns2 has sack only`);
    return flow;
  }

  // The scenario with every default filled in. Throws an Error with one line that names the field.
  function check(scenario, schema = tcpfair.schema) {
    const fields = schema.defaults;
    const whole = checkedFields(scenario, fields.scenario, ["flows", "web", "record"], "scenario");
    if (!Array.isArray(scenario.flows) || !scenario.flows.length) throw new Refusal("scenario.flows: must have one flow at least");
    whole.flows = scenario.flows.map((flow, i) => checkedFlow(flow, schema, `flows.${i}`));
    for (const name of ["web", "record"]) if (scenario[name] && !Array.isArray(scenario[name])) throw new Refusal(`scenario.${name}: must be a list`);
    whole.web = (scenario.web || []).map((source, i) => {
      const where = `web.${i}`;
      const web = checkedFields(source, fields.web, ["flow", "sizes"], where);
      web.flow = checkedFlow(source.flow || {}, schema, `${where}.flow`);
      if (!Array.isArray(source.sizes) || !source.sizes.length) throw new Refusal(`${where}.sizes: must have one law at least`);
      web.sizes = source.sizes.map((law, k) => {
        if (!fields.laws[law.law]) throw new Refusal(`${where}.sizes.${k}.law: must be ${Object.keys(fields.laws).join(" or ")} (got ${law.law})`);
        return checkedFields(law, fields.laws[law.law], [], `${where}.sizes.${k}`);
      });
      if (web.rtt_extra_mean_s > 0 && !Number.isFinite(web.rtt_cap_s)) throw new Refusal(`${where}: rtt_cap_s must be given where rtt_extra_mean_s is`);
      return web;
    });
    whole.record = scenario.record || ["samples"];
    const every = [...whole.flows, ...whole.web.map((web) => web.flow)];
    if (whole.payload_bytes > whole.wire_bytes) throw new Refusal("scenario: payload_bytes must not exceed wire_bytes");
    if (every.some((flow) => flow.direction === "reverse") && !whole.reverse_bps) throw new Refusal("scenario: reverse_bps must be above 0 where flows go in the reverse direction");
    if (whole.reverse_bps && !(whole.reverse_buffer_pkts > 0)) throw new Refusal("scenario: reverse_buffer_pkts must be above 0 where reverse_bps is");
    checkLimits(whole, every, schema.limits);
    return whole;
  }

  // Checks the limits of the page, see tcpfair/web/schema.py.
  function checkLimits(scenario, every, limits) {
    const short = (x) => x.toPrecision(3).replace(/\.?0+(e|$)/, "$1");
    for (const [name, most, unit] of limits.fields) {
      for (const [where, values] of [["scenario", scenario], ...every.map((flow) => ["flows", flow])]) {
        if (Number.isFinite(values[name]) && values[name] > most) throw new Refusal(`${where}.${name}: this page takes ${short(most)} ${unit} at most (got ${short(values[name])})`);
      }
    }
    const n = scenario.flows.length;
    if (n > limits.flows) throw new Refusal(`scenario.flows: this page runs ${limits.flows} flows at most (got ${n})`);
    const samples = scenario.duration_s / scenario.sample_s;
    if (samples < 1 - 1e-9) throw new Refusal("scenario: sample_s is longer than duration_s");
    if (samples * n > limits.samples) throw new Refusal(`scenario: ${short(samples)} samples of ${n} flows; this page keeps ${short(limits.samples)} at most: take a longer sample_s or a shorter duration_s`);
    const pkts = (Math.max(scenario.capacity_bps, scenario.reverse_bps) * scenario.duration_s) / (8 * scenario.wire_bytes);
    if (pkts > limits.packets) throw new Refusal(`scenario: a full link carries ${short(pkts)} packets; this page simulates ${short(limits.packets)} at most: take a lower capacity_bps or a shorter duration_s`);
    const arrivals = scenario.web.reduce((sum, web) => sum + web.arrivals_per_s * Math.max(Math.min(web.flow.stop_s, scenario.duration_s) - web.flow.start_s, 0), 0);
    if (arrivals > limits.arrivals) throw new Refusal(`scenario: ${short(arrivals)} short flows; this page runs ${short(limits.arrivals)} at most: take a lower arrivals_per_s or a shorter duration_s`);
  }

  // ---------------------------------------------------------------- one run in one instance of the module

  class Engine {
    constructor(module, schema) {
      const byName = Object.fromEntries(schema.algorithms.map((each) => [each.name, each]));
      Object.assign(this, { module, schema, records: schema.records, numbers: schema.numbers, byName, instance: null });
    }

    get memory() { return this.instance.exports.memory; }
    get base() { return this.instance.exports.heap.value; }
    places() { return get(new DataView(this.memory.buffer), this.base, this.records.places); }

    // Sets up a checked scenario, at time 0.
    async open(scenario, seed) {
      const used = this.instance ? this.places().used : 0;
      if (!this.instance || this.memory.buffer.byteLength > KEPT_BYTES) {
        this.instance = null; // released first: memory may not suffice for both
        this.instance = await WebAssembly.instantiate(this.module, {});
      } else {
        new Uint8Array(this.memory.buffer, this.base, used).fill(0);
      }
      this.scenario = scenario;
      const inputs = this.inputs(scenario, seed);
      this.grow(inputs.length);
      new Uint8Array(this.memory.buffer, this.base).set(inputs);
      this.advance(0);
      return this;
    }

    grow(heapBytes) {
      const missing = this.base + heapBytes - this.memory.buffer.byteLength;
      if (missing <= 0) return;
      const { heap_bytes: most } = this.schema.limits;
      const refusal = new Refusal(
        `scenario: flows, samples and packets in flight may need ${(heapBytes / 1e9).toFixed(1)} GB, and a page has ${(most / 1e9).toFixed(1)} GB; ` +
          "take fewer flows, a lower capacity_bps times rtt_s, a smaller rwnd_pkts or a longer sample_s",
      );
      if (heapBytes > most) throw refusal;
      try {
        this.memory.grow(Math.ceil(missing / PAGE_BYTES));
      } catch {
        throw refusal;
      }
    }

    // Simulate on to a time, at most to the end.
    advance(untilS) {
      for (;;) {
        const status = this.instance.exports.run(this.base, this.memory.buffer.byteLength - this.base, untilS);
        if (status === DONE) return;
        const places = this.places();
        if (status === WANTS_MEMORY) this.grow(places.needed_bytes);
        else if (status === WANTS_ROWS) new Uint8Array(this.memory.buffer, this.base + places.inputs_end, places.used - places.inputs_end).fill(0);
        else throw new Error(`the engine returned ${status}`);
      }
    }

    // PLACES, GIVEN, GIVEN_FLOW and parameters of flows and sources, SOURCE, LAW, ends of the laws; each from a new line on.
    inputs(scenario, seed) {
      const { records, numbers } = this;
      const given = [...scenario.flows, ...scenario.web.map((web) => web.flow)];
      const laws = scenario.web.flatMap((web) => web.sizes);
      const n = scenario.web.length;
      const sizes = [records.places.bytes, records.given.bytes, given.length * records.given_flow.bytes, given.length * records.params.bytes, n * records.source.bytes, laws.length * records.law.bytes, n * 8];
      const places = [0];
      for (const bytes of sizes) places.push(up(places.at(-1) + bytes));
      const [, given_at, given_flows_at, given_params_at, sources_at, laws_at, law_ends_at, inputs_end] = places;
      const stopS = (web) => Math.min(web.flow.stop_s, scenario.duration_s);
      const expected = scenario.web.map((web) => Math.floor(1.2 * web.arrivals_per_s * Math.max(stopS(web) - web.flow.start_s, 0)) + 64);
      const bytes = new Uint8Array(inputs_end);
      const view = new DataView(bytes.buffer);
      put(view, 0, records.places, {
        flows: scenario.flows.length,
        sources: n,
        laws: laws.length,
        logs: 1,
        samples: Math.floor(scenario.duration_s / scenario.sample_s + numbers.rounding),
        links: scenario.reverse_bps ? 2 : 1,
        arrival_rows: expected.reduce((sum, rows) => sum + rows, 0),
        inputs_end, given_at, given_flows_at, given_params_at, sources_at, laws_at, law_ends_at,
      });
      put(view, given_at, records.given, { ...scenario, seed });
      given.forEach((flow, i) => {
        const algorithm = this.byName[flow.cc];
        const asOwnAgent = algorithm.own_agent && numbers.stacks[flow.stack] === numbers.stacks.ns2;
        put(view, given_flows_at + i * records.given_flow.bytes, records.given_flow, {
          ...flow,
          algorithm: algorithm.number,
          recovery: numbers.recovery[flow.recovery || algorithm.recovery],
          reduction: numbers.reduction[flow.reduction],
          direction: numbers.directions.indexOf(flow.direction),
          halving_floor: algorithm.halving_floor,
          reliable: algorithm.reliable,
          whole: algorithm.whole || asOwnAgent ? (numbers.whole_of_algorithm[flow.cc] || numbers.whole)[flow.stack] : numbers.whole.text,
          stack: asOwnAgent ? numbers.own_agent : numbers.stacks[flow.stack],
          rto: numbers.rto_laws[flow.rto || (numbers.rto_of_algorithm[flow.cc] || numbers.rto_of_stack)[flow.stack]],
          own_clamp: algorithm.own_clamp,
          watches_acks: algorithm.watches_acks,
        });
        const defaults = Object.fromEntries(algorithm.params.map((param) => [param.name, param.default]));
        put(view, given_params_at + i * records.params.bytes, records.params, { ...defaults, ...flow.params });
      });
      let end = 0;
      scenario.web.forEach((web, i) => {
        put(view, sources_at + i * records.source.bytes, records.source, {
          random: BigInt(seed) ^ BigInt.asUintN(64, BigInt(numbers.stream) * BigInt(i + 1)),
          rate_per_s: web.arrivals_per_s,
          payload_bytes: scenario.payload_bytes,
          start_s: web.flow.start_s,
          stop_s: stopS(web),
          rtt_s: web.flow.rtt_s,
          rtt_extra_s: web.rtt_extra_mean_s,
          rtt_cap_s: web.rtt_cap_s,
        });
        let upTo = 0;
        const shares = web.sizes.map((law) => (upTo += law.share));
        web.sizes.forEach((law, k) => {
          const [a, b] = law.law === "lognormal" ? [law.mu, law.sigma] : [law.shape, law.min_bytes];
          put(view, laws_at + (end + k) * records.law.bytes, records.law, { up_to: shares[k] / upTo, kind: numbers.laws[law.law], a, b, cap: law.cap_bytes });
        });
        end += web.sizes.length;
        PUT.i8(view, law_ends_at + i * 8, end);
      });
      return bytes;
    }

    // ---------------------------------------------------------------- what a run leaves

    floats(at, n) { return new Float64Array(this.memory.buffer, this.base + at, n); }
    rows(at, n, name) {
      const view = new DataView(this.memory.buffer), record = this.records[name];
      return Array.from({ length: n }, (_, i) => get(view, this.base + at + i * record.bytes, record));
    }

    // Where the series of a finished run begin: of all flows, of link `d` and of short flows in direction `d`.
    seriesAt(places, what, d, k) {
      const bytes = 8 * places.samples;
      if (what === "flows") return places.out_at + k * bytes * places.flows;
      return places[what === "link" ? "link_out_at" : "web_out_at"] + (d * SERIES[what].length + k) * bytes;
    }

    // Every array of a finished run by name, as bytes of the module's memory: what the digest is made of.
    arrays() {
      const places = this.places();
      const { flows, samples, links } = places;
      const [link] = this.rows(places.links_at, 1, "link");
      const found = [];
      const add = (name, at, bytes) => found.push([name, new Uint8Array(this.memory.buffer, this.base + at, bytes)]);
      SERIES.flows.forEach((name, k) => add(name, this.seriesAt(places, "flows", 0, k), samples * flows * 8));
      for (const [what, directions] of [["link", links], ["web", 2]]) {
        this.numbers.directions.slice(0, directions).forEach((direction, d) => {
          SERIES[what].forEach((name, k) => add(`${what}_${direction}.${name}`, this.seriesAt(places, what, d, k), samples * 8));
        });
      }
      add("events", places.log_at, link.logged * this.records.event.bytes);
      add("arrivals", places.arrivals_at, places.arrivals * this.records.arrival.bytes);
      return found;
    }

    // A copy of the result; of a run in progress its first `s` samples, without events if they are more than `most`.
    result(s = this.places().samples, most = Infinity) {
      const places = this.places();
      const { flows: n } = places;
      const ends = this.rows(places.ends_at, n, "endpoint");
      const links = this.rows(places.links_at, places.links, "link");
      const column = (k, i) => {
        const values = this.floats(this.seriesAt(places, "flows", 0, k), s * n);
        const none = NO_VALUE[SERIES.flows[k]];
        return Float64Array.from({ length: s }, (_, row) => (values[row * n + i] === none ? NaN : values[row * n + i]));
      };
      const series = (what, d) => named(SERIES[what], (k) => this.floats(this.seriesAt(places, what, d, k), s).slice());
      const ofLink = (d) => ({ ...series("link", d), service_s: links[d].service_s });
      const web = places.arrivals ? { arrivals: places.arrivals, forward: series("web", 0), reverse: series("web", 1) } : null;
      const events = links[0].logged > most ? [] : this.rows(places.log_at, links[0].logged, "event");
      const flows = this.scenario.flows.map(({ protocol, cc, rtt_s, direction, role }, i) => {
        const { sent, resent, dropped, reductions, timeouts } = ends[i];
        return {
          ...{ protocol, cc, rtt_s, direction, role, sent, resent, dropped, reductions, timeouts },
          ...named(SERIES.flows, (k) => column(k, i)),
        };
      });
      const received = [...flows, ...(web ? [web.forward, web.reverse] : [])];
      return {
        t_s: Float64Array.from({ length: s }, (_, k) => this.scenario.sample_s * (k + 1)),
        flows,
        link: ofLink(0),
        reverse_link: places.links === 2 ? ofLink(1) : null,
        web,
        events: events.map((row) => ({ ...row, kind: this.numbers.events[row.kind] })),
        packets: received.reduce((sum, { received_pkts }) => sum + received_pkts[s - 1], 0),
      };
    }

    // The part of a result up to `nowS`; null where it is empty or too large to send.
    part(nowS) {
      const places = this.places();
      const s = Math.floor(nowS / this.scenario.sample_s) - 1; // the next sample may be missing
      return s > 1 && s * places.flows < PART_VALUES ? this.result(s, PART_EVENTS) : null;
    }
  }

  // ---------------------------------------------------------------- digest

  const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const sha256 = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));

  // SHA-256 of each array, and of all these lines: what `./reproduce digest` prints.
  async function digestOf(arrays) {
    const lines = [];
    for (const [name, bytes] of arrays) lines.push(`${name} ${await sha256(bytes.slice())}\n`);
    return sha256(new TextEncoder().encode(lines.join("")));
  }

  // ---------------------------------------------------------------- a run from beginning to end, wherever this is

  // Runs in slices; between them, progress and parts are sent and an abort is handled.
  async function runHere(engine, scenario, seed, { on_progress, on_part, signal } = {}) {
    const startedMs = performance.now();
    let partMs = startedMs;
    await engine.open(scenario, seed);
    const endS = scenario.duration_s;
    let nowS = 0, stepS = endS / 2048;
    while (nowS < endS) {
      const sliceMs = performance.now();
      nowS = Math.min(nowS + stepS, endS);
      engine.advance(nowS);
      const tookMs = performance.now() - sliceMs;
      if (tookMs < SLICE_MS / 2) stepS *= 2;
      if (tookMs > SLICE_MS) stepS = Math.max(stepS / 2, endS / 65536);
      if (nowS === endS) break;
      on_progress?.(nowS / endS);
      if (on_part && performance.now() - partMs > PART_MS) {
        const part = engine.part(nowS);
        if (part) on_part(part);
        partMs = performance.now();
      }
      if (signal) await pause();
      if (signal?.aborted) throw cancelled();
    }
    const result = engine.result();
    result.digest = await digestOf(engine.arrays());
    result.seconds = (performance.now() - startedMs) / 1e3;
    return result;
  }

  const cancelled = () => new DOMException("the run was cancelled", "AbortError");

  // ---------------------------------------------------------------- in a worker: one run at a time

  function serve() {
    let engine = null;
    let turn = Promise.resolve();
    let stop = null; // of the run under way
    globalThis.onmessage = ({ data }) => {
      if (data.kind === "cancel") stop?.abort();
      else if (data.kind === "load") engine = new Engine(data.module, data.schema);
      else turn = turn.then(() => serveRun(data));
    };

    async function serveRun({ scenario, seed }) {
      let lastMs = performance.now();
      const on_progress = (share) => {
        if (performance.now() - lastMs < 50) return;
        lastMs = performance.now();
        postMessage({ kind: "progress", share });
      };
      const on_part = (result) => postMessage({ kind: "part", result }, buffersOf(result));
      stop = new AbortController();
      try {
        const result = await runHere(engine, scenario, seed, { on_progress, on_part, signal: stop.signal });
        stop = null;
        postMessage({ kind: "done", result }, buffersOf(result));
      } catch (error) {
        if (stop?.signal.aborted) return void postMessage({ kind: "cancelled" });
        const broken = !(error instanceof Refusal);
        const trapped = `the engine stopped during the run (${error.message}); its results are discarded, and the next run starts a new engine`;
        postMessage({ kind: "failed", message: broken ? trapped : error.message, broken });
      }
    }
  }

  function buffersOf(node, found = new Set()) {
    if (ArrayBuffer.isView(node)) found.add(node.buffer);
    else if (node && typeof node === "object") for (const child of Object.values(node)) buffersOf(child, found);
    return [...found];
  }

  // ---------------------------------------------------------------- the pool of workers, in the page

  class Pool {
    constructor(module, schema, size) {
      const { presets, ...needed } = schema; // two megabytes that workers do not need
      const url = URL.createObjectURL(new Blob([`${SOURCE}\ntcpfair.serve();`], { type: "text/javascript" }));
      Object.assign(this, { module, schema: needed, size, url, seats: [], queue: [] });
    }

    make() {
      const seat = { worker: new Worker(this.url), task: null, timer: 0 };
      seat.worker.onmessage = ({ data }) => seat.task && this.hear(seat, data);
      seat.worker.onerror = (event) => {
        event.preventDefault();
        this.replace(seat, new Error(`the engine's worker stopped: ${event.message || "no reason given"}`));
      };
      seat.worker.postMessage({ kind: "load", module: this.module, schema: this.schema });
      this.seats.push(seat);
      return seat;
    }

    ask(scenario, seed, { on_progress, on_part, signal }) {
      return new Promise((resolve, reject) => {
        const task = { scenario, seed, on_progress, on_part, resolve, reject };
        this.queue.push(task);
        signal?.addEventListener("abort", () => this.cancel(task), { once: true });
        if (signal?.aborted) this.cancel(task);
        this.serveQueue();
      });
    }

    // Cancels a run; its worker is stopped if the run does not end in time.
    cancel(task) {
      this.queue = this.queue.filter((each) => each !== task);
      task.reject(cancelled());
      const seat = this.seats.find((each) => each.task === task);
      if (!seat) return;
      seat.task = { resolve() {}, reject() {} };
      seat.worker.postMessage({ kind: "cancel" });
      clearTimeout(seat.timer);
      seat.timer = setTimeout(() => this.replace(seat, cancelled()), GRACE_MS);
    }

    serveQueue() {
      while (this.queue.length) {
        const seat = this.seats.find((each) => !each.task) || (this.seats.length < this.size && this.make());
        if (!seat) return;
        seat.task = this.queue.shift();
        this.watch(seat);
        const { scenario, seed } = seat.task;
        seat.worker.postMessage({ kind: "run", scenario, seed });
      }
    }

    watch(seat) {
      const message = `the run was stopped because it did not respond for ${HANG_MS / 1e3} s; its results are discarded, and the next run starts a new engine`;
      clearTimeout(seat.timer);
      seat.timer = setTimeout(() => this.replace(seat, new Error(message)), HANG_MS);
    }

    hear(seat, { kind, share, result, message, broken }) {
      const { task } = seat;
      if (kind === "progress" || kind === "part") {
        if (!task.scenario) return; // cancelled
        this.watch(seat);
        if (kind === "part") task.on_part?.(result);
        else task.on_progress?.(share);
        return;
      }
      if (broken) return void this.replace(seat, new Error(message)); // a module that has trapped is not reused
      clearTimeout(seat.timer);
      seat.task = null;
      if (kind === "done") task.resolve(result);
      else task.reject(new Error(message));
      this.serveQueue();
    }

    replace(seat, error) {
      clearTimeout(seat.timer);
      seat.worker.terminate();
      this.seats = this.seats.filter((each) => each !== seat);
      seat.task?.reject(error);
      seat.task = null;
      this.serveQueue();
    }
  }

  // ---------------------------------------------------------------- what the others call

  let pool = null, compiled = null;

  async function loadEngine(bytes, schema) {
    compiled = await WebAssembly.compile(bytes);
    tcpfair.schema = schema;
    return new Engine(compiled, schema);
  }

  // Result of a scenario. In a page many may be requested at once; each runs in a worker. Rejects with one clear line.
  async function run(scenario, seed = 1, options = {}) {
    const asked = check(options.sample_s ? { ...scenario, sample_s: options.sample_s } : scenario);
    if (!IN_PAGE) return runHere(new Engine(compiled, tcpfair.schema), asked, seed, options);
    pool ||= new Pool(compiled, tcpfair.schema, Math.max(1, Math.min(navigator.hardwareConcurrency || 2, 8)));
    return pool.ask(asked, String(seed), options);
  }

  const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

  // Bytes after a stream that compresses or decompresses them, as a Response.
  const through = (stream, bytes) => new Response(new Blob([bytes]).stream().pipeThrough(stream));

  // The content, compressed by gzip, of an element of the page, as a Response.
  const unpacked = (id) => through(new DecompressionStream("gzip"), bytesOf(document.getElementById(id).textContent.trim()));

  async function start() {
    const schema = await unpacked("tcpfair-schema").json();
    return loadEngine(await unpacked("tcpfair-wasm").arrayBuffer(), schema);
  }

  Object.assign(tcpfair, { loadEngine, run, check, bytesOf, through, unpacked, serve, Engine, GET });
  if (IN_PAGE && document.getElementById("tcpfair-wasm")) tcpfair.ready = start();
  if (typeof module !== "undefined") module.exports = tcpfair;
})();
