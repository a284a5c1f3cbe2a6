/**
 * What is measured of one run: the groups of `tcpfair.measures.groups`, under the same names and in the same units.
 *
 * Rates are in Mb/s, times in s, windows in packets, NRU in dB. Counters of a result are cumulative; here they become rates
 * over intervals of `sampleS`, which may be longer than the result's own. A value that the run is too short for is NaN.
 */
"use strict";

tcpfair.analysis = (() => {
  const m = tcpfair.measures;
  const BITS_PER_BYTE = 8;
  const BPS_PER_MBPS = 1e6;

  /** Bandwidth-delay product in packets. */
  const bdpPkts = (capacityBps, rttS, wireBytes) => (capacityBps * rttS) / (BITS_PER_BYTE * wireBytes);

  /** Payload that the full link carries, Mb/s. */
  const ceilingMbps = (scenario) => (scenario.capacity_bps * scenario.payload_bytes) / scenario.wire_bytes / BPS_PER_MBPS;

  /** Differences of a cumulative counter between `places`, times `factor`. */
  function perInterval(counter, places, factor) {
    return Float64Array.from(places, (place, k) => (counter[place] - (k ? counter[places[k - 1]] : 0)) * factor);
  }

  /**
   * The arrays of a run, sampled every `sampleS`: time, goodput, first arrivals and windows of the foreground flows, what
   * the links carry (ACKs included), what background and short flows deliver, and each foreground flow's losses.
   */
  function arraysOf(scenario, result, sampleS = scenario.sample_s) {
    const step = Math.max(1, Math.round(sampleS / scenario.sample_s)); // samples of an interval
    const places = Array.from({ length: Math.floor(result.t_s.length / step) }, (_, k) => (k + 1) * step - 1); // their last
    const tS = Float64Array.from(places, (place) => result.t_s[place]);
    const intervalS = step * scenario.sample_s;
    const pktMbps = (bytes) => (Math.round(bytes) * BITS_PER_BYTE) / intervalS / BPS_PER_MBPS;
    const payloadMbps = pktMbps(scenario.payload_bytes);
    const foreground = scenario.flows.map((_, n) => n).filter((n) => scenario.flows[n].role !== "background");
    const at = (column) => foreground.map((n) => Float64Array.from(places, (place) => result.flows[n][column][place]));
    const rates = (column) => foreground.map((n) => perInterval(result.flows[n][column], places, payloadMbps));
    const carried = (link) => {
      if (!link) return null;
      const data = perInterval(link.forwarded_pkts, places, pktMbps(scenario.wire_bytes));
      const acks = perInterval(link.acks, places, pktMbps(scenario.ack_bytes ?? 52));
      return data.map((rate, k) => rate + acks[k]);
    };
    const losses = foreground.map((n) => m.lossesOf(result.events, n));
    const longLived = result.flows
      .filter((_, n) => scenario.flows[n].role === "background" && scenario.flows[n].direction !== "reverse")
      .map((flow) => perInterval(flow.delivered_pkts, places, payloadMbps));
    const web = result.web ? perInterval(result.web.forward.delivered_pkts, places, payloadMbps) : null;
    return {
      ...{ scenario, foreground, tS, sampleS: intervalS, losses, longLived, web, floorMbps: payloadMbps },
      flows: foreground.map((n) => scenario.flows[n]),
      goodput: rates("delivered_pkts"),
      received: rates("received_pkts"),
      cwnd: at("cwnd_pkts"),
      carried: { forward: carried(result.link), reverse: carried(result.reverse_link) },
    };
  }

  /** The samples of `x` in [startS, stopS]. */
  const during = (run, x, startS, stopS) => x.slice(...m.windowOf(run.tS, startS, stopS));

  /** The samples of each flow in the window that is measured. */
  const inWindow = (run, xs, windowS) => xs.map((x) => during(run, x, ...windowS));

  /** The rates that ha2006 counts: of data in order, or of first arrivals. */
  const counted = (run, { rates_count: what }) => (what === "received" ? run.received : run.goodput);

  /** Moments of each foreground flow's losses in the window, its ends included, s. */
  const lossTimesS = (run, windowS) => run.losses.map((losses) => m.lossesBetweenS(losses.map((loss) => loss.t_s), ...windowS));

  /** U_n(t) in dB of the foreground flows during [startS, stopS]. */
  const uDbDuring = (run, weights, spanS) => m.nruOverTimeDb(inWindow(run, run.goodput, spanS), weights, run.floorMbps);

  /** The weights, and those by other rules with the suffix of their measures' names. */
  const byRules = (weights, also) => [["", weights], ...Object.entries(also).map(([rule, w]) => [`@${rule}`, w])];

  // --- Groups of measures -----------------------------------------------------------------------------------------
  // Each takes the arrays of a run and `how` it is measured: {windowS, analysis, weights, also}. It gives pairs of a name
  // and a value: a number of all flows together, or an array with one of each foreground flow.

  const GROUPS = {
    /** Mean throughputs in Mb/s and the share that they are of the payload the link can carry. */
    throughput(run, { windowS }) {
      const r = inWindow(run, run.goodput, windowS);
      const means = r.map(m.mean);
      return [
        ["throughput_mean", means],
        ["received_mean", inWindow(run, run.received, windowS).map(m.mean)],
        ["throughput_sum", m.sum(means)],
        ["utilisation", m.utilisation(r, ceilingMbps(run.scenario))],
      ];
    },

    /** Mean throughput of flow 2 over that of flow 1. */
    ratio(run, { windowS }) {
      const [first, second] = inWindow(run, run.goodput, windowS).map(m.mean);
      return [["ratio", second / first]];
    },

    /** Jain's index: mean of J(t) as the papers print it, of the mean throughputs, and of first arrivals. */
    jfi(run, { windowS }) {
      const r = inWindow(run, run.goodput, windowS);
      return [
        ["jfi_mean", m.meanJfi(r)],
        ["jfi_of_means", m.jfiOfMeans(r)],
        ["jfi_mean_received", m.meanJfi(inWindow(run, run.received, windowS))],
      ];
    },

    /** Normalised resource usage in dB: of each flow as eq. 5 and of its mean throughput, and the system's tuple. */
    nru(run, { windowS, weights, also = {} }) {
      const found = [];
      for (const [suffix, chosen] of byRules(weights, also)) {
        const uN = m.flowNruDb(uDbDuring(run, chosen, windowS));
        const tuple = m.nruTuple(uN);
        found.push([`U_n${suffix}`, uN], [`U_N${suffix}`, tuple.uMean]);
        found.push([`U_N+${suffix}`, tuple.uPlus], [`U_N-${suffix}`, tuple.uMinus]);
      }
      const r = inWindow(run, run.goodput, windowS);
      return [...found, ["U_n_of_means", m.flowNruDbOfMean(r, weights)], ["zero_share", m.zeroShare(r)]];
    },

    /** Coefficients of variation of the NRU: S_n, their mean S_N (eq. 10), their sum, and S_N as table VI prints it. */
    stability(run, { windowS, weights, also = {} }) {
      return byRules(weights, also).flatMap(([suffix, chosen]) => {
        const uDb = uDbDuring(run, chosen, windowS);
        const ofFlows = m.flowStability(uDb);
        return [
          ...[[`S_n${suffix}`, ofFlows], [`S_N_eq10${suffix}`, m.systemStability(uDb)], [`S_N_sum${suffix}`, m.sum(ofFlows)]],
          [`S_N${suffix}`, m.coefficientOfVariation(m.flowNruDb(uDb))],
        ];
      });
    },

    /** T_U since t_e of each flow and of the system, when that was, and how much of the time after it all stay fair. */
    convergence(run, { windowS, weights, analysis }) {
      const spanS = [analysis.convergence_from_s, windowS[1]];
      const uDb = uDbDuring(run, weights, spanS);
      const tS = uDb[0].map((_, k) => spanS[0] + run.sampleS * (k + 1));
      const when = [analysis.t_e_s, analysis.U_c_db, analysis.convergence_window_s];
      const system = uDb[0].length > 1 ? m.systemConvergenceTimeS(uDb, tS, ...when) : NaN;
      const each = uDb[0].length > 1 ? m.convergenceTimeS(uDb, tS, ...when) : uDb.map(() => NaN);
      const atS = system + analysis.t_e_s;
      const after = [...tS.keys()].filter((k) => tS[k] > atS);
      const fair = after.filter((k) => uDb.every((u) => u[k] >= analysis.U_c_db));
      return [
        ["T_U", each],
        ["T_U", system],
        ["converged_at_s", atS],
        ["converged_share", fair.length / after.length],
      ];
    },

    /** Largest sample in Mb/s, when the flow first comes near it, and the mean over the whole run. */
    peak(run, { analysis }) {
      return [
        ["throughput_peak", run.goodput.map(m.largestOf)],
        ["time_to_90_s", run.goodput.map((x) => m.timeToFractionS(x, run.tS, analysis.peak_share))],
        ["throughput_full_mean", run.goodput.map(m.mean)],
      ];
    },

    /** Mean congestion window in packets. */
    cwnd: (run, { windowS }) => [["cwnd_mean", inWindow(run, run.cwnd, windowS).map(m.mean)]],

    /** Share of the time in which the window carries the target rate at the RTT without queue (kozu2014 eq. 10, 11). */
    window_needed(run, { windowS, analysis }) {
      const shares = inWindow(run, run.cwnd, windowS).map((cwnd, n) => {
        const neededBytes = (analysis.target_rate_bps * run.flows[n].rtt_s) / BITS_PER_BYTE;
        return m.mean(cwnd.map((pkts) => (pkts * run.scenario.payload_bytes >= neededBytes ? 1 : 0)));
      });
      return [["window_enough_share", shares]];
    },

    /** Mean of CUBIC's K in s, and the share of the time in which that of flow 2 is the larger. */
    cubic_k(run, { windowS }) {
      const kS = run.losses.map((losses) => during(run, m.kOverTimeS(run.tS, losses), ...windowS));
      const [first, second = []] = kS;
      const both = first.map((_, k) => k).filter((k) => !Number.isNaN(first[k]) && !Number.isNaN(second[k] ?? NaN));
      return [
        ["k_mean", kS.map(m.meanOfKnown)],
        ["k_larger_share", both.filter((k) => second[k] > first[k]).length / both.length],
      ];
    },

    /** Losses of each of two flows in the window, and the share of them that the other has too. */
    common_losses(run, { windowS, analysis }) {
      const times = lossTimesS(run, windowS);
      const shared = m.commonLosses(times[0], times[1], analysis.common_within_s).length;
      return [
        ["losses", times.map((t) => t.length)],
        ["common_loss_share", times.map((t) => shared / t.length)],
      ];
    },

    /** t1, in which the window fills the residual capacity, and t2, from the BDP to the first loss (ogura Model I, II). */
    growth(run, { analysis }) {
      const found = run.flows.map((flow, n) => {
        const bdp = bdpPkts(run.scenario.capacity_bps, flow.rtt_s, run.scenario.wire_bytes);
        const reaches = (pkts) => m.firstTimeS((k) => run.cwnd[n][k] >= pkts, run.tS);
        const fullS = reaches(bdp);
        const firstLossS = run.losses[n].length ? run.losses[n][0].t_s : NaN;
        return [fullS - reaches((1 - analysis.residual_share) * bdp), firstLossS - fullS];
      });
      return [
        ["t1_s", found.map(([t1]) => t1)],
        ["t2_s", found.map(([, t2]) => t2)],
      ];
    },

    /** Use of the bottleneck as its own record has it, ACKs of the other direction included (ha2006), Mb/s and shares. */
    bottleneck(run, { windowS, analysis }) {
      const wire = during(run, run.carried.forward, ...windowS);
      const reverse = run.carried.reverse ? during(run, run.carried.reverse, ...windowS) : [];
      const capacity = run.scenario.capacity_bps / BPS_PER_MBPS;
      const payload = run.scenario.payload_bytes / run.scenario.wire_bytes;
      const counted = analysis.utilisation_counts === "payload" ? payload : 1;
      const load = counted * m.mean(wire);
      const cov = m.coefficientOfVariation(wire);
      return [
        ["utilisation", load / capacity],
        ["utilisation_wire", m.mean(wire) / capacity],
        ["utilisation_payload", (payload * m.mean(wire)) / capacity],
        ["load_mean", load],
        ["load_both_ways", (load + counted * m.mean(reverse)) / 2],
        ["load_sd", cov * load],
        ["load_cov", cov],
      ];
    },

    /** Mean and largest sample of each flow's rate in Mb/s, counted by `rates_count` (ha2006). */
    rates(run, { windowS, analysis }) {
      const r = inWindow(run, counted(run, analysis), windowS);
      return [
        ["throughput_mean", r.map(m.mean)],
        ["rate_largest", r.map((x) => (x.length ? m.largestOf(x) : NaN))],
      ];
    },

    /** How two or more flows share from `sharing_from_s` on (ha2006): means, smaller over larger, time to become fair. */
    sharing(run, { windowS, analysis }) {
      const rates = counted(run, analysis);
      const r = inWindow(run, rates, [analysis.sharing_from_s, windowS[1]]);
      const atEnd = inWindow(run, rates, [windowS[1] - analysis.sharing_end_s, windowS[1]]);
      const samples = Math.round(analysis.fair_mean_s / run.sampleS);
      const smooth = r.map((x) => m.movingMean(x, samples));
      const tS = smooth[0].map((_, k) => run.sampleS * (samples + k));
      const fair = (k) => m.smallerToLargerRatio(smooth.map((x) => x[k])) >= analysis.fair_ratio;
      const leads = smooth[0].map((x, k) => Math.sign(x - smooth[1][k]));
      const ratio = m.smallerToLargerRatio(r.map(m.mean));
      const changes = leads.filter((lead, k) => k > 0 && lead !== leads[k - 1]).length;
      return [
        ["throughput_mean", r.map(m.mean)],
        ["fair_ratio", ratio],
        ["ratio_at_end", m.smallerToLargerRatio(atEnd.map(m.mean))],
        ["fair_at_s", m.firstTimeS(fair, tS)],
        ["lead_changes", Number.isNaN(ratio) ? NaN : changes],
      ];
    },

    /** Goodput forward in Mb/s: of the short flows together, and of the long-lived background flows together. */
    background(run, { windowS }) {
      const total = (flows) => m.sum(flows.map((x) => m.mean(during(run, x, ...windowS))));
      return [
        ["web_mean", total(run.web ? [run.web] : [])],
        ["long_lived_mean", total(run.longLived)],
      ];
    },

    /** Mean share of the other flows that lose with a flow, within `together_rtts` round trips; losses per flow. */
    synchronisation(run, { windowS, analysis }) {
      const times = lossTimesS(run, windowS);
      const withinS = analysis.together_rtts * m.largestOf(run.flows.map((flow) => flow.rtt_s));
      const losses = m.sum(times.map((t) => t.length));
      return [
        ["shared_losses", m.synchronisedLossShare(times, withinS)],
        ["losses_per_flow", losses / run.flows.length],
      ];
    },
  };

  /**
   * The measures of the named groups: {metric, flow, value}, flow 0 being all flows together and 1, 2, .. for the
   * foreground flows. `how` is {windowS: [s, s], analysis: the paper's parameters, weights: 1/(Mb/s) of each foreground
   * flow or null, also: {rule: weights}}.
   */
  function measure(run, groups, how) {
    const ready = groups.filter((name) => how.weights || !tcpfair.schema.weighted.includes(name));
    const pairs = ready.flatMap((name) => GROUPS[name](run, how));
    return pairs.flatMap(([metric, values]) =>
      Array.isArray(values) ? values.map((value, n) => ({ metric, flow: n + 1, value })) : [{ metric, flow: 0, value: values }],
    );
  }

  /** CUBIC's C of a flow, packets/s^3: what it is given, or the default of the algorithm. */
  function cubicC({ cc, params }) {
    const own = tcpfair.schema?.algorithms.find(({ name }) => name === cc)?.params.find(({ name }) => name === "C");
    return params?.C ?? own?.default ?? NaN;
  }

  /** Mean share of its window that a flow gives back at a loss; NaN without any. */
  const givenBack = (losses) => m.mean(losses.filter(({ kind }) => kind === "loss").map((loss) => 1 - loss.cwnd_after / loss.cwnd_before));

  /** What a cumulative counter grows by within [fromS, toS]. */
  function countDuring(tS, counter, fromS, toS) {
    const [first, last] = m.windowOf(tS, fromS, toS);
    return last > first ? counter[last - 1] - (first ? counter[first - 1] : 0) : 0;
  }

  /**
   * The loss epochs of one flow: {startS, stopS, kind, startPkts (window that the loss at its start leaves), peakPkts (window
   * just before the loss that ends it), and for CUBIC wMaxPkts and kS, as the algorithm has them, lawKS, what equation 2 makes
   * of W_max and startPkts, and backS, from the end of recovery until the window is back at W_max}. An event of a loss is
   * logged with K of the epoch that it ends.
   */
  function epochsOf(scenario, result, flow) {
    const losses = m.lossesOf(result.events, flow);
    const C = cubicC(scenario.flows[flow] ?? {});
    const ends = result.events.filter((e) => e.flow === flow && e.kind === "recovery_end");
    return losses.slice(1).map((loss, k) => {
      const before = losses[k];
      const recovered = ends.find((e) => e.t_s >= before.t_s && e.t_s <= loss.t_s);
      const cwnd = result.flows[flow].cwnd_pkts;
      const back = (startS) =>
        m.firstTimeS((i) => result.t_s[i] >= startS && result.t_s[i] < loss.t_s && cwnd[i] >= before.w_max, result.t_s);
      return {
        ...{ startS: before.t_s, stopS: loss.t_s, kind: loss.kind, startPkts: before.cwnd_after, peakPkts: loss.cwnd_before },
        ...{ wMaxPkts: before.w_max, kS: loss.k_s, lawKS: Math.cbrt(Math.max(before.w_max - before.cwnd_after, 0) / C) },
        ...{ nearKS: loss.k_s - Math.cbrt(1 / C), backS: recovered ? back(recovered.t_s) - recovered.t_s : NaN },
      };
    });
  }

  return { bdpPkts, ceilingMbps, arraysOf, measure, inWindow, epochsOf, givenBack, countDuring };
})();
