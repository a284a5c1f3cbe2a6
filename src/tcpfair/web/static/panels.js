/**
 * The plots: their lines, ranges and other marks.
 *
 * A panel's `lines(side)` gives [{flow, label, tS, y}], flow null for all flows together; y has null where a value is missing.
 * `tS` are times in s: of the samples for windows and queue, of the measured intervals for rates, J and U. `spread(run, side)`
 * gives the values of one of several seeds, at the measured intervals: a line for each foreground flow, or `ofAll` one.
 */
"use strict";

tcpfair.panels = (() => {
  const m = tcpfair.measures;
  const { flowName } = tcpfair.runs;
  const MS_PER_S = 1e3;
  const PEAKS_MOST = 4000; // losses whose windows are drawn between the samples

  /** Values, null where one is missing. */
  const gaps = (y) => Array.from(y, (value) => (Number.isFinite(value) ? value : null));

  /** One line for each long flow from a column of its samples. */
  const ofSamples = (column, factor = 1) => (side) =>
    side.result.flows.map((flow, n) => ({
      ...{ flow: n, label: flowName(side, n), tS: side.result.t_s },
      y: gaps(flow[column].map((value) => value * factor)),
    }));

  /** Windows: samples, and just before each loss, where a window is largest, the window that the loss meets. */
  function windows(side) {
    const { result } = side;
    const losses = result.flows.map((_, n) => m.lossesOf(result.events, n).filter((loss) => loss.t_s < result.t_s.at(-1)));
    if (losses.flat().length > PEAKS_MOST) return ofSamples("cwnd_pkts")(side);
    const tS = Float64Array.from([...result.t_s, ...losses.flat().map((loss) => loss.t_s)]).sort();
    return result.flows.map((flow, n) => {
      const own = new Map(losses[n].map((loss) => [loss.t_s, loss.cwnd_before]));
      let k = 0; // the first sample at or after a time; between samples of a flow its line is straight
      const y = Array.from(tS, (t) => {
        while (result.t_s[k] < t) k += 1;
        if (own.has(t)) return own.get(t);
        const [after, before] = [flow.cwnd_pkts[k], flow.cwnd_pkts[Math.max(k - 1, 0)]];
        const span = result.t_s[k] - (result.t_s[k - 1] ?? 0);
        return t === result.t_s[k] ? after : before + ((after - before) * (t - (result.t_s[k - 1] ?? 0))) / span;
      });
      return { flow: n, label: flowName(side, n), tS, y: gaps(y) };
    });
  }

  /** The windows of two flows, or the sums of those of two groups of flows; none unless they are two. */
  function windowsOfTwo(side) {
    const groups = tcpfair.plane.groupsOf(side.of, side.run.foreground);
    const all = groups.length ? windows(side) : [];
    return groups.map((group) => {
      const [{ flow, label, tS }] = group.map((n) => all[n]);
      const sum = (k) => (group.some((n) => all[n].y[k] === null) ? null : m.sum(group.map((n) => all[n].y[k])));
      return { flow, group, tS, label: group.length > 1 ? `all ${side.of.scenario.flows[flow].protocol}` : label, y: Array.from(tS, (_, k) => sum(k)) };
    });
  }

  /** One line for each foreground flow from rates over the measured intervals. */
  const ofIntervals = (values) => (side) => {
    const found = values(side);
    return (found || []).map((y, k) => ({ flow: side.run.foreground[k], label: flowName(side, side.run.foreground[k]), tS: side.run.tS, y: gaps(y) }));
  };

  const fromZero = (low, high) => [0, high > 0 ? high * 1.06 : 1];

  /** Data behind a hole is delivered at once, at many times the link's rate; such peaks may exceed the plot. */
  const aboutTheLink = (low, high, sides) => fromZero(low, Math.min(high, 1.2 * Math.max(...sides.map((side) => tcpfair.analysis.ceilingMbps(side.of.scenario)))));

  const PANELS = [
    {
      ...{ key: "throughput", height: 170, shown: true },
      what: "payload in order at the receiver, of each measured interval",
      lines: ofIntervals((side) => side.run.goodput),
      spread: (each) => each.run.goodput,
      range: aboutTheLink,
    },
    {
      ...{ key: "cwnd", height: 190, shown: true },
      what: "with the peak before each loss; ticks: losses (of B at the top), long ones: timeouts; dotted: W_max of CUBIC",
      lines: windows,
      marks: true,
      spread: (each) => each.run.cwnd,
      range: fromZero,
    },
    { ...{ key: "ssthresh", height: 130 }, what: "slow-start threshold; nothing while it is infinite", lines: ofSamples("ssthresh_pkts"), range: fromZero },
    {
      ...{ key: "queue", height: 120, shown: true },
      what: "at the bottleneck, at the time of the sample",
      lines: (side) => {
        const links = [["forward", side.result.link], ["reverse", side.result.reverse_link]].filter(([, link]) => link);
        return links.map(([label, link], k) => ({ flow: null, label, tS: side.result.t_s, y: gaps(link.queue_pkts), dash: k }));
      },
      spread: (each) => [each.queuePkts],
      ofAll: true,
      range: fromZero,
    },
    { ...{ key: "rtt", height: 130 }, what: "as the sender estimates it", lines: ofSamples("srtt_s", MS_PER_S), spread: (each) => each.srttS.map((values) => values.map((value) => value * MS_PER_S)), range: (low, high) => [Math.max(0, low - 0.1 * (high - low)), high + 0.06 * (high - low || 1)] },
    {
      ...{ key: "jfi", height: 120, shown: true },
      what: "1: equal shares; 1/n: one of n flows has all",
      lines: (side) => (side.run.goodput.length > 1 ? [{ flow: null, label: "J", tS: side.run.tS, y: gaps(m.jfiOverTime(side.run.goodput)) }] : []),
      spread: (each) => (each.run.goodput.length > 1 ? [m.jfiOverTime(each.run.goodput)] : []),
      ofAll: true,
      range: () => [0, 1.03],
    },
    {
      ...{ key: "nru", height: 150, shown: true },
      what: "0 dB: what the flow gets among its own kind; dashed: U_c, below which it is unfair",
      lines: ofIntervals((side) => (side.weights.state === "ready" ? m.nruOverTimeDb(side.run.goodput, side.weights.values, side.run.floorMbps) : null)),
      spread: (each, side) => (side.weights.state === "ready" ? m.nruOverTimeDb(each.run.goodput, side.weights.values, each.run.floorMbps) : []),
      level: (side) => side.of.measuring.analysis.U_c_db,
      range: (low, high) => [Math.max(Math.min(low, -1) * 1.06, -25), Math.max(high, 1) * 1.1],
    },
    {
      ...{ key: "k", height: 120 },
      what: "time that the curve takes back to W_max; known for epochs that a loss has ended",
      lines: (side) =>
        side.of.scenario.flows.flatMap(({ cc }, n) => {
          if (!cc.startsWith("cubic")) return [];
          return { flow: n, label: flowName(side, n), tS: side.result.t_s, y: gaps(m.kOverTimeS(side.result.t_s, m.lossesOf(side.result.events, n))) };
        }),
      range: fromZero,
    },
    {
      ...{ key: "plane", title: "Flow 1 against flow 2", unit: "packets", decimals: 1, height: 270, plane: true },
      what: "windows as a path (Chiu and Jain 1989): growth leads away from the origin, a loss towards it",
      lines: windowsOfTwo,
    },
  ];

  // title, unit and decimals of a quantity over time are those of the page's data
  for (const panel of PANELS.filter(({ plane }) => !plane)) {
    for (const what of ["title", "unit", "decimals"]) Object.defineProperty(panel, what, { get: () => tcpfair.schema.plots[panel.key][what] });
  }

  return { PANELS, gaps };
})();
