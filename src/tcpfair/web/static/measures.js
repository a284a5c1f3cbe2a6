/**
 * Measures of time series, as in `tcpfair.metrics`: a test compares the two on random arrays.
 *
 * Everything here is a pure function of arrays. Throughputs `r` are arrays of flows, each an array over the
 * samples, in any one unit; times are in s, windows in packets, NRU in dB. A missing value is NaN.
 */
"use strict";

tcpfair.measures = (() => {
  /** Unfairness of at most 10 %: 10 log10(0.9), as in the paper (bhatti2008, sec. III-D), dB. */
  const U_C_DB = -0.46;
  /** Sample times are multiples of the interval in floating point; no two of them are this close, s. */
  const TIME_TOLERANCE_S = 1e-6;
  const LOSS_KINDS = ["loss", "rto"];

  /** Index of the last element of `ordered` for which `holds`, which must be true up to there only; -1 for none. */
  function placeOfLast(ordered, holds) {
    let [low, high] = [0, ordered.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(ordered[middle])) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Index of the last of `tS` at or before `t`; 0 before the first. */
  const placeAt = (tS, t) => Math.max(placeOfLast(tS, (each) => each <= t), 0);

  /** The losses and timeouts of a flow among the events of a run. */
  const lossesOf = (events, flow) => events.filter((event) => event.flow === flow && LOSS_KINDS.includes(event.kind));

  // --- Series ---------------------------------------------------------------------------------------------------

  const sum = (x) => x.reduce((total, value) => total + value, 0);
  const mean = (x) => (x.length ? sum(x) / x.length : NaN);
  const known = (x) => Array.from(x).filter((value) => !Number.isNaN(value));
  const meanOfKnown = (x) => mean(known(x));
  const leastOf = (x) => x.reduce((least, value) => (value < least ? value : least), Infinity);
  const largestOf = (x) => x.reduce((largest, value) => (value > largest ? value : largest), -Infinity);

  /** Sample standard deviation; NaN for fewer than two values. */
  function deviation(x) {
    if (x.length < 2) return NaN;
    const middle = mean(x);
    return Math.sqrt(sum(x.map((value) => (value - middle) ** 2)) / (x.length - 1));
  }

  /** Sample standard deviation over the magnitude of the mean. */
  const coefficientOfVariation = (x) => deviation(x) / Math.abs(mean(x));

  /** The middle value, or the mean of the middle two; NaN do not count. */
  function median(x) {
    const ordered = known(x).sort((a, b) => a - b);
    return mean(ordered.slice((ordered.length - 1) >> 1, (ordered.length >> 1) + 1));
  }

  /** First and last + 1 of the samples whose interval is within [startS, stopS]; `tS` holds the ends of the intervals. */
  function windowOf(tS, startS, stopS) {
    const after = (boundS) => 1 + placeOfLast(tS, (t) => t <= boundS + TIME_TOLERANCE_S);
    const first = after(startS);
    return [first, Math.max(first, after(stopS))];
  }

  /** Earliest of `tS` at which `holds(k)` is true. */
  const firstTimeS = (holds, tS) => tS.find((_, k) => holds(k)) ?? NaN;

  /** Earliest time at which `x` reaches `fraction` of its maximum. */
  const timeToFractionS = (x, tS, fraction) => firstTimeS((k) => x[k] >= fraction * largestOf(x), tS);

  /** Mean of each sample and the `samples` - 1 before it: `samples` - 1 fewer values than `x`. */
  function movingMean(x, samples) {
    const means = [];
    let total = 0;
    for (let k = 0; k < x.length; k += 1) {
      total += x[k] - (k >= samples ? x[k - samples] : 0);
      if (k >= samples - 1) means.push(total / samples);
    }
    return means;
  }

  /** Mean share of `capacity` that all flows of `r` use together; both in one unit. */
  const utilisation = (r, capacity) => sum(r.map(mean)) / capacity;

  /** Smallest over largest of the values: 1 is equal, 0 is starved. */
  const smallerToLargerRatio = (x) => leastOf(x) / largestOf(x);

  // --- Jain's fairness index ------------------------------------------------------------------------------------

  /** Jain's fairness index of the values, in [1/n, 1]; NaN when all are zero (bhatti2008 and bhatti2009, eq. 1). */
  function jfi(x) {
    const total = sum(x);
    return (total * total) / (x.length * sum(x.map((value) => value * value)));
  }

  /** J(t): the index of the flows' throughputs in each sample (eq. 2). */
  function jfiOverTime(r) {
    return Array.from(r[0], (_, k) => jfi(r.map((flow) => flow[k])));
  }

  /** Time mean of J(t), the index that the papers publish; samples in which no flow delivers do not count. */
  const meanJfi = (r) => meanOfKnown(jfiOverTime(r));

  /** Index of the flows' mean throughputs. */
  const jfiOfMeans = (r) => jfi(r.map(mean));

  // --- Normalised resource usage --------------------------------------------------------------------------------

  /**
   * Weights of the flows by rule, from `ofSelf`: `ofSelf[n][m]` is what flow m gets on average when every flow runs the
   * protocol of flow n. In one over the unit of `ofSelf`.
   */
  const WEIGHT_RULES = {
    /** Each flow's own place in its calibration run (bhatti2009 eq. 9-10 and sec. II-G, III-B). */
    per_column: (ofSelf) => ofSelf.map((flows, n) => 1 / flows[n]),
    /** The mean over all flows of the calibration run (bhatti2008 eq. 13-14 and sec. V-A). */
    mean_of_columns: (ofSelf) => ofSelf.map((flows) => 1 / mean(flows)),
    /** Half of what all flows of the calibration run carry together; with more than two flows no paper's wording. */
    half_of_sum: (ofSelf) => ofSelf.map((flows) => 2 / sum(flows)),
    /** All that the flows of the calibration run carry together; no paper's wording. */
    sum_of_columns: (ofSelf) => ofSelf.map((flows) => 1 / sum(flows)),
  };

  /**
   * `ofSelf` in such an order that flow n starts in the place of column n. Before, the last axis is in order of the starts
   * in the self-run; `startS` are the flows' own starts, s.
   */
  function inOwnPlace(ofSelf, startS) {
    const order = startS.map((_, n) => n).sort((a, b) => startS[a] - startS[b]);
    return ofSelf.map((flows) => startS.map((_, n) => flows[order.indexOf(n)]));
  }

  /** U_n(t) in dB (eq. 3-4); a sample below `floor` counts as `floor`, the rate of one segment per sample. */
  const nruOverTimeDb = (r, weights, floor) =>
    r.map((flow, n) => Array.from(flow, (x) => 10 * Math.log10(weights[n] * Math.max(x, floor))));

  /** Flow NRU U_n: the mean over samples of U_n(t) in dB (eq. 5). */
  const flowNruDb = (uDb) => uDb.map(mean);

  /** NRU in dB of each flow's mean throughput; -Infinity for a flow that never delivers. */
  const flowNruDbOfMean = (r, weights) => r.map((flow, n) => 10 * Math.log10(weights[n] * mean(flow)));

  /** Share of each flow's samples in which it does not deliver. */
  const zeroShare = (r) => r.map((flow) => flow.filter((x) => x === 0).length / flow.length);

  /** System NRU in dB: mean over all flows, over those at or above 0, over those below (bhatti2009 eq. 6-8). */
  const nruTuple = (uNDb) => ({
    uMean: mean(uNDb),
    uPlus: mean(uNDb.filter((u) => u >= 0)),
    uMinus: mean(uNDb.filter((u) => u < 0)),
  });

  /** To `decimals` places, halves to the even neighbour, as numpy rounds. */
  function rounded(x, decimals) {
    const scaled = x * 10 ** decimals;
    const down = Math.floor(scaled);
    const part = scaled - down;
    const whole = part < 0.5 || (part === 0.5 && down % 2 === 0) ? down : down + 1;
    return whole / 10 ** decimals;
  }

  /** Case A (all flows unfair) to E (all flows fair) of a system NRU; "-" without any flow (table II of both papers). */
  function caseLetter(uPlusDb, uMinusDb, decimals = 2) {
    const uPlus = rounded(uPlusDb, decimals);
    const uMinus = rounded(uMinusDb, decimals);
    const unfair = uMinus < 0;
    if (Number.isNaN(uPlus) && uMinus !== 0) return unfair ? "A" : "-";
    if (unfair) return uPlus > 0 ? "B" : "C";
    return uPlus > 0 ? "D" : "E";
  }

  // --- One ruler ------------------------------------------------------------------------------------------------

  /** Max-min shares of a link of `capacity`; a flow never gets more than it demands (tcpfair.metrics.ruler). */
  function maxMin(capacity, demands) {
    const shares = new Array(demands.length);
    let left = capacity;
    const order = demands.map((_, n) => n).sort((a, b) => (demands[a] === demands[b] ? 0 : demands[a] - demands[b])); // two may be infinite
    order.forEach((n, served) => {
      shares[n] = Math.min(demands[n], left / (demands.length - served));
      left -= shares[n];
    });
    return shares;
  }

  // --- Stability and convergence --------------------------------------------------------------------------------

  /** S_n: coefficient of variation of U_n(t) over the samples; lower is steadier (bhatti2008 eq. 9). */
  const flowStability = (uDb) => uDb.map(coefficientOfVariation);

  /** S_N: mean of the flow stabilities (eq. 10). */
  const systemStability = (uDb) => mean(flowStability(uDb));

  /** Means of U over the windows of `windowS` after `fromS`, and the ends of the windows. */
  function windowMeans(uDb, tS, fromS, windowS) {
    const samples = Math.max(1, Math.round(windowS / (tS[1] - tS[0])));
    const first = 1 + placeOfLast(tS, (t) => t <= fromS);
    if (tS.length - first < samples) return [uDb.map(() => []), []];
    const endsS = Array.from(tS).slice(first + samples - 1);
    // each window by itself: a running sum would miss a level that a mean just reaches
    const means = uDb.map((u) => endsS.map((_, k) => mean(u.slice(first + k, first + k + samples))));
    return [means, endsS];
  }

  /** T_Un: time from the epoch `fromS` until each flow's NRU reaches `levelDb`, s (bhatti2008 eq. 11-12). */
  function convergenceTimeS(uDb, tS, fromS, levelDb = U_C_DB, windowS = 1) {
    const [means, endsS] = windowMeans(uDb, tS, fromS, windowS);
    return means.map((u) => firstTimeS((k) => u[k] >= levelDb, endsS) - fromS);
  }

  /** T_U: time from `fromS` until all flows have reached `levelDb` at once, s. */
  function systemConvergenceTimeS(uDb, tS, fromS, levelDb = U_C_DB, windowS = 1) {
    const [means, endsS] = windowMeans(uDb, tS, fromS, windowS);
    return firstTimeS((k) => means.every((u) => u[k] >= levelDb), endsS) - fromS;
  }

  // --- Windows between losses -----------------------------------------------------------------------------------

  /** The loss times within [startS, stopS]. */
  const lossesBetweenS = (lossTS, startS, stopS) => lossTS.filter((t) => t >= startS && t <= stopS);

  /** CUBIC's K in force at each of `tS`, s: a loss ends the epoch whose K it is logged with; NaN after the last. */
  function kOverTimeS(tS, losses) {
    let next = 0;
    return Array.from(tS, (t) => {
      while (next < losses.length && losses[next].t_s < t) next += 1;
      return losses[next]?.k_s ?? NaN;
    });
  }

  /** Place in `times` of the value nearest to `t`, the first of equally near ones. */
  function nearest(times, t) {
    return times.reduce((best, time, k) => (Math.abs(time - t) < Math.abs(times[best] - t) ? k : best), 0);
  }

  /** Losses of two flows that belong together: pairs of places, each the other's nearest and at most `withinS` away. */
  function commonLosses(firstTS, secondTS, withinS) {
    if (!firstTS.length || !secondTS.length) return [];
    const pairs = firstTS.map((t, k) => [k, nearest(secondTS, t)]);
    return pairs.filter(
      ([k, other]) => nearest(firstTS, secondTS[other]) === k && Math.abs(firstTS[k] - secondTS[other]) <= withinS,
    );
  }

  /** Mean share of the other flows that also lose within `windowS` of a loss, over all losses; NaN without any. */
  function synchronisedLossShare(lossTS, windowS) {
    const pairs = lossTS.flatMap((own, n) => lossTS.filter((_, k) => k !== n).map((other) => [own, other]));
    const near = (t, other) => other.some((s) => s >= t - windowS && s <= t + windowS);
    const shared = pairs.map(([own, other]) => own.filter((t) => near(t, other)).length);
    return sum(shared) / sum(pairs.map(([own]) => own.length));
  }

  // --- Over runs ------------------------------------------------------------------------------------------------

  /** Time by which `share` of the runs has converged, NaN for a run that never does; NaN when fewer do. */
  function reachedByShare(timesS, share) {
    const ordered = Float64Array.from(timesS, (t) => (Number.isNaN(t) ? Infinity : t)).sort();
    const place = share * (ordered.length - 1);
    const upper = ordered[Math.ceil(place)];
    return Number.isFinite(upper) ? (ordered[Math.floor(place)] + upper) / 2 : NaN;
  }

  return {
    ...{ U_C_DB, LOSS_KINDS, WEIGHT_RULES, placeOfLast, placeAt, lossesOf, sum, mean, known, meanOfKnown, leastOf, largestOf, deviation, median },
    ...{ coefficientOfVariation, windowOf, firstTimeS, timeToFractionS, movingMean, utilisation, smallerToLargerRatio },
    ...{ jfi, jfiOverTime, meanJfi, jfiOfMeans, inOwnPlace, nruOverTimeDb, flowNruDb, flowNruDbOfMean, zeroShare, nruTuple, maxMin },
    ...{ caseLetter, flowStability, systemStability, convergenceTimeS, systemConvergenceTimeS, lossesBetweenS },
    ...{ kOverTimeS, commonLosses, synchronisedLossShare, reachedByShare },
  };
})();
