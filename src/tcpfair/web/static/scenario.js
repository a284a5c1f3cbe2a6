/**
 * Scenarios as `tcpfair.papers.scenario` has them: defaults, differences, units of the buffer, self-runs.
 *
 * A scenario is plain JSON. Infinite values are omitted: every field that can be infinite is so by default.
 */
"use strict";

tcpfair.scenarios = (() => {
  const { bdpPkts } = tcpfair.analysis;

  /** Fields of a flow that belong to the protocol, and are copied into a self-run; all others belong to the place. */
  const OF_PROTOCOL = [
    ...["protocol", "cc", "params", "iw_pkts", "initial_ssthresh_pkts", "ack_every", "delack_s"],
    ...["byte_counting", "recovery", "reduction", "rto_min_s", "rto", "stack"],
  ];

  const copy = (value) => JSON.parse(JSON.stringify(value));
  const isInfinite = (value) => value === null || value === Infinity || value === "Infinity" || value === "inf";

  /** What the schema states about a field of "scenario", "flow", "web" or a law of sizes. */
  function fieldOf(model, name) {
    const { defaults } = tcpfair.schema;
    return (defaults[model] || defaults.laws[model])[name] || {};
  }

  /** The default of a field; JSON has infinity as text. */
  function defaultOf(model, name) {
    const value = fieldOf(model, name).default;
    return value !== null && isInfinite(value) ? Infinity : value;
  }

  /** The value of a field of `record`, its default if it is missing. */
  function valueOf(model, record, name) {
    const value = record[name];
    if (value === undefined || (value === null && name !== "recovery")) return defaultOf(model, name);
    return isInfinite(value) && name !== "recovery" ? Infinity : value;
  }

  /** Sets a field; its default and infinite values are omitted. */
  function setValue(model, record, name, value) {
    if (value === Infinity || value === defaultOf(model, name)) delete record[name];
    else record[name] = value;
  }

  /** The scenario without fields that are at their defaults: what links, YAML and Python hold. */
  function compact(scenario) {
    const of = (model, record) => {
      const isDefault = (name, value) => JSON.stringify(value) === JSON.stringify(name === "params" ? {} : defaultOf(model, name));
      const stated = ([name, value]) => value !== undefined && !isInfinite(value) && !isDefault(name, value);
      return Object.fromEntries(Object.entries(record).filter(stated));
    };
    const { web: _, ...plain } = of("scenario", scenario);
    plain.flows = scenario.flows.map((flow) => of("flow", flow));
    const finite = (law) => Object.fromEntries(Object.entries(law).filter(([, value]) => !isInfinite(value)));
    const ofWeb = (web) => ({ ...of("web", web), flow: of("flow", web.flow), sizes: web.sizes.map(finite) });
    return scenario.web?.length ? { ...plain, web: scenario.web.map(ofWeb) } : plain;
  }

  /** All plain values below `value` by their place, such as "flow 2 rtt_s". */
  function leaves(value, place = "", found = {}) {
    if (value === null || typeof value !== "object") found[place] = value;
    else for (const [key, part] of Object.entries(value)) leaves(part, Array.isArray(value) ? `${place.replace(/s$/, "")} ${Number(key) + 1}` : `${place} ${key}`.trim(), found);
    return found;
  }

  /** What two sides differ in: [field, value of the first, value of the second]; a missing value is the default. */
  function differences(...sides) {
    const all = sides.map(({ scenario, seed, measuring: { analysis: _, ...measured } }) => leaves({ ...compact(scenario), seed, measured }));
    const defaultAt = (place) => {
      const value = defaultOf(place.startsWith("flow ") ? "flow" : "scenario", place.split(" ").at(-1));
      return value === undefined ? "none" : value;
    };
    const names = [...new Set(all.flatMap(Object.keys))];
    return names.map((place) => [place, ...all.map((of) => of[place] ?? defaultAt(place))]).filter(([, one, other]) => one !== other);
  }

  /** BDP in packets at the longest RTT of the long flows in the foreground. */
  function bdp(scenario) {
    const own = scenario.flows.filter((flow) => flow.role !== "background");
    const rttS = Math.max(...(own.length ? own : scenario.flows).map((flow) => flow.rtt_s));
    return bdpPkts(scenario.capacity_bps, rttS, scenario.wire_bytes);
  }

  /** Packets per unit of the buffer. */
  const bufferUnits = { packets: () => 1, bytes: (scenario) => 1 / scenario.wire_bytes, BDP: bdp };

  /** What decides the packets of a run: the scenario without what is recorded of it, as text. */
  function packetsKey(scenario) {
    const { sample_s: _, record: __, ...rest } = compact(scenario);
    return JSON.stringify(Object.entries(leaves(rest)).sort());
  }

  /** The run in which every foreground flow has the protocol of `flow`, each in its own place. */
  function selfRun(scenario, flow) {
    const own = Object.fromEntries(OF_PROTOCOL.map((name) => [name, flow[name]])); // `copy` omits what is undefined
    const flows = scenario.flows.map((other) => (other.role === "background" ? other : { ...other, ...own }));
    return copy({ ...scenario, flows });
  }

  /** Packets that fully used links would carry in the run, in both directions: the unit of what it costs. */
  const expectedPkts = (scenario) =>
    ((scenario.capacity_bps + (scenario.reverse_bps || 0)) * scenario.duration_s) / (8 * scenario.wire_bytes);

  return { copy, fieldOf, leaves, differences, valueOf, setValue, compact, bdp, bufferUnits, packetsKey, selfRun, expectedPkts };
})();
