/**
 * The numbers of the guided tours, worked out from runs: what the page shows, what a reader can pick, and whether it holds.
 *
 * A number is {of, flow, against, times, decimals, side, run}: `of` names a metric of `analysis` or one of OWN, `run` another run
 * than the page's. A condition is an expression over the numbers of a step, `epochs(flow)` and Math's functions.
 */
"use strict";

tcpfair.findings = (() => {
  const m = tcpfair.measures;
  const { measure, bdpPkts, arraysOf, epochsOf, ceilingMbps } = tcpfair.analysis;
  const S_TOLERANCE = 1e-9;
  const FAST = 0.85; // of W_max is what a loss leaves: 0.8 without fast convergence, 0.8/0.9 with it
  const GROUP_OF = {
    ...{ throughput_mean: "throughput", utilisation: "throughput", ratio: "ratio", jfi_mean: "jfi", cwnd_mean: "cwnd", k_mean: "cubic_k" },
    ...{ losses: "common_losses", common_loss_share: "common_losses", t1_s: "growth", t2_s: "growth", load_mean: "bottleneck" },
    ...{ fair_ratio: "sharing", web_mean: "background" },
  };

  /** Numbers that no group of measures has, of a side and two flows counted from 0. */
  const OWN = {
    /** Mean throughput, and mean window, of the flow over that of the other. */
    rate_ratio: (side, k, other) => ratioOf("throughput_mean", side, k, other),
    window_ratio: (side, k, other) => ratioOf("cwnd_mean", side, k, other),
    /** Share of what all flows carry in the second half of the run, and in the quarter before it. */
    late_share: (side, k) => shareBetween(side, k, 0.5, 1),
    early_share: (side, k) => shareBetween(side, k, 0.25, 0.5),
    /** Equations 8 and 14 of ogura for a Reno flow: from the residual capacity to the BDP, and until the buffer is full, s. */
    law_t1: (side, k) => side.of.measuring.analysis.residual_share * OWN.bdp(side, k) * rttS(side, k),
    law_t2: (side, k) => OWN.buffer(side) * (rttS(side, k) + fullQueueS(side) / 2),
    rtt_ms: (side, k) => rttS(side, k) * MS_PER_S,
    rtt_ratio: (side, k, other) => rttS(side, k) / rttS(side, other),
    bdp: (side, k) => bdpPkts(side.of.scenario.capacity_bps, rttS(side, k), side.of.scenario.wire_bytes),
    buffer: (side) => side.of.scenario.buffer_pkts,
    rwnd: (side, k) => side.of.scenario.flows[k]?.rwnd_pkts ?? NaN,
    service_ms: (side) => serviceS(side) * MS_PER_S,
    jitter_us: (side) => (side.of.scenario.jitter_s || 0) * 1e6,
    jitter_services: (side) => (side.of.scenario.jitter_s || 0) / serviceS(side),
    full_queue_ms: (side) => fullQueueS(side) * MS_PER_S,
    /** Round trips and their ratio with a full queue, and with the mean one. */
    full_rtt_ms: (side, k) => (rttS(side, k) + fullQueueS(side)) * MS_PER_S,
    full_rtt_ratio: (side, k, other) => (rttS(side, k) + fullQueueS(side)) / (rttS(side, other) + fullQueueS(side)),
    mean_queue: ({ result, of: { measuring } }) => m.mean(result.link.queue_pkts.slice(...m.windowOf(result.t_s, measuring.fromS, measuring.toS))),
    mean_queue_ms: (side) => OWN.mean_queue(side) * OWN.service_ms(side),
    queued_rtt_ms: (side, k) => OWN.rtt_ms(side, k) + OWN.mean_queue_ms(side),
    needed_windows: (side, k, other) => OWN.queued_rtt_ms(side, k) / OWN.queued_rtt_ms(side, other),
    /** 1/k^2, k with a full queue or an empty one. */
    law_common: (side, k, other) => OWN.full_rtt_ratio(side, k, other) ** -2,
    law_common_empty: (side, k, other) => OWN.rtt_ratio(side, k, other) ** -2,
    /** What the full link carries, Mb/s: of payload, and with headers. */
    capacity: (side) => ceilingMbps(side.of.scenario),
    link_mbps: (side) => side.of.scenario.capacity_bps / 1e6,
    dropped: (side) => side.result.link.dropped_pkts.at(-1),
    /** Packets that the first overflow drops: in samples that follow each other. */
    first_drops: ({ result }) => {
      const drops = result.link.dropped_pkts;
      return drops.find((count, k) => count > 0 && drops[k + 1] === count) ?? 0;
    },
    /** Most packets in the queue after the first two round trips. */
    queue_after_start: (side, k) => m.largestOf(side.result.link.queue_pkts.filter((_, i) => side.result.t_s[i] > 2 * rttS(side, k) + fullQueueS(side))),
    /** Time from the first loss that the flow notices to the end of its recovery. */
    recovery_ms: (side, k) => {
      const own = side.result.events.filter((event) => event.flow === k);
      const first = own.find(({ kind }) => kind === "loss");
      return ((own.find(({ kind, t_s }) => kind === "recovery_end" && t_s > first?.t_s)?.t_s ?? NaN) - first?.t_s) * MS_PER_S;
    },
    /** Packets that path and queue hold. */
    room: (side, k) => OWN.bdp(side, k) + OWN.buffer(side),
    all_epochs: (side) => allEpochs(side).length,
    fast_epochs: (side) => allEpochs(side).filter(isFast).length,
    near_k_s: (side) => allEpochs(side).map(({ kS, nearKS }) => kS - nearKS)[0] ?? NaN,
  };

  const MS_PER_S = 1e3;
  const rttS = (side, k) => side.of.scenario.flows[k]?.rtt_s ?? NaN; // a reader may remove a flow
  const serviceS = ({ of: { scenario } }) => (8 * scenario.wire_bytes) / scenario.capacity_bps;
  const fullQueueS = (side) => side.of.scenario.buffer_pkts * serviceS(side);
  const ratioOf = (of, side, k, other) => value({ of, flow: k + 1 }, side) / value({ of, flow: other + 1 }, side);
  const allEpochs = (side) => side.of.scenario.flows.flatMap((_, k) => epochsOf(side.of.scenario, side.result, k));

  /** An epoch whose loss came below the W_max before: fast convergence has taken W_max below the window. */
  const isFast = ({ wMaxPkts, startPkts }) => startPkts / wMaxPkts > FAST;

  function shareBetween(side, k, from, to) {
    const { tS, goodput } = side.run;
    const [a, b] = [Math.floor(from * tS.length), Math.floor(to * tS.length)];
    const means = goodput.map((x) => m.mean(x.slice(a, b)));
    return means[k] / m.sum(means);
  }

  /** A number of a side; NaN if the run does not have it (yet). */
  function value({ of, flow = 1, against = 2 }, side) {
    if (OWN[of]) return OWN[of](side, flow - 1, against - 1);
    const { fromS, toS, analysis } = side.of.measuring;
    const group = GROUP_OF[of];
    const rows = group ? measure(side.run, [group], { windowS: [fromS, toS], analysis, weights: null }) : side.measures;
    const found = rows.filter(({ metric }) => metric === of);
    return (found.find((row) => row.flow === flow) || found.find((row) => row.flow === 0))?.value ?? NaN;
  }

  // --- Other runs than the page's ---------------------------------------------------------------------------------------

  /** What lab.apply takes for a run of a tour: a scenario or preset, and options. */
  function asked(run) {
    if (run.example) return [tcpfair.schema.examples[run.example].scenario, {}];
    const preset = { paper: run.paper, experiment: run.experiment, point: run.point, replicate: run.replicate };
    if (!Object.keys(run.change).length && !Object.keys(run.flow).length) return [preset, {}];
    const { scenario, seed, measuring } = tcpfair.presets.load(preset);
    Object.assign(scenario, run.change);
    scenario.flows = scenario.flows.map((flow) => ({ ...flow, ...run.flow }));
    return [scenario, { seed, measuring }];
  }

  const others = new Map(); // by JSON of the run

  /** The parts of a side that `value` needs, with a separate run; each is simulated once. */
  function other(run) {
    const key = JSON.stringify(run);
    if (!others.has(key)) others.set(key, simulated(run).catch((error) => (others.delete(key), Promise.reject(error))));
    return others.get(key);
  }

  /** The settings of a run of a tour: {scenario, seed, preset, measuring}. */
  function settings(run) {
    const [given, { seed = "1", measuring = null }] = asked(run);
    if (given.paper) return tcpfair.presets.load(given);
    return { scenario: given, seed, preset: null, measuring: measuring ?? tcpfair.presets.measuringOf(given) };
  }

  async function simulated(run) {
    const own = settings(run);
    const result = await tcpfair.run(own.scenario, own.seed);
    return { of: own, result, run: arraysOf(own.scenario, result, own.measuring.everyS), measures: [] };
  }

  /** The values of these numbers, NaN for missing ones: of the sides {A, B}, and of other runs. */
  async function values(numbers, sides) {
    const found = {};
    for (const [name, number] of Object.entries(numbers)) {
      const side = number.run ? await other(number.run) : sides[number.side];
      found[name] = side ? number.times * value(number, side) : NaN;
    }
    return found;
  }

  /** What an expression over the numbers, and over a side's run, gives. */
  function evaluated(expression, found, side) {
    const known = { ...found, epochs: (flow) => epochsOf(side.of.scenario, side.result, flow - 1), sampleS: side.of.scenario.sample_s + S_TOLERANCE, isFast };
    for (const name of ["abs", "cbrt", "max", "min", "sqrt"]) known[name] = Math[name];
    return new Function(...Object.keys(known), `return (${expression});`)(...Object.values(known));
  }

  const holds = (condition, found, side) => Boolean(evaluated(condition, found, side));

  const NEAR = 0.05; // of the right number; one that is rounded may be off by half of its last digit
  const ROUNDED = 0.15; // of the right number, at most

  /** What a prediction is, as typed or chosen: {is: "right" | "slip" | "other" | "unknown", right: the number or choice}. */
  function judged({ number, choices, slip }, text, found, side) {
    if (number === null) {
      const right = Object.keys(choices).find((choice) => holds(choices[choice], found, side));
      return { right, is: right === undefined ? "unknown" : text === right ? "right" : text === slip ? "slip" : "other" };
    }
    const [right, mistaken] = [number, slip].map((expression) => evaluated(expression, found, side));
    const decimals = text.split(".")[1]?.length ?? 0;
    const near = (target) => Math.abs(Number(text) - target) <= Math.max(NEAR * Math.abs(target), Math.min(0.5 * 10 ** -decimals, ROUNDED * Math.abs(target)));
    return { right, is: Number.isNaN(right) ? "unknown" : near(right) ? "right" : near(mistaken) ? "slip" : "other" };
  }

  /** The longest stretch of a flow, in the measured time, from the end of a recovery to the next loss; null without one. */
  function stretchOf({ flow }, side) {
    const { scenario, measuring: { fromS, toS } } = side.of;
    const epochs = epochsOf(scenario, side.result, flow - 1).filter(({ startS, stopS }) => startS >= fromS && stopS <= toS);
    if (!epochs.length) return null;
    const epoch = epochs.reduce((long, other) => (other.stopS - other.startS > long.stopS - long.startS ? other : long));
    const recovered = side.result.events.find((event) => event.flow === flow - 1 && event.kind === "recovery_end" && event.t_s >= epoch.startS);
    return { ...epoch, startS: recovered?.t_s ?? epoch.startS };
  }

  const NEAR_CURVE = 0.12; // mean distance of a drawn curve, of the range of the run's

  /** How a drawn curve compares with the run's at the same places: "right", "slip" where the usual mistake is nearer, "other". */
  function judgedCurve({ slip }, drawn, seen, side) {
    const range = m.largestOf(seen) - m.leastOf(seen);
    const distance = (to) => m.mean(drawn.map((value, k) => Math.abs(value - to[k]))) / range;
    const [right, mistaken] = [distance(seen), distance(evaluated(slip, { seen }, side))];
    return mistaken < right ? "slip" : right <= NEAR_CURVE ? "right" : "other";
  }

  return { value, values, holds, judged, stretchOf, judgedCurve, asked, settings, other };
})();
