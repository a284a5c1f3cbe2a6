/** A drawing of the network: senders with windows, queue, link and each flow's rate, at the cursor or on average. */
"use strict";

tcpfair.strip = (() => {
  const { svg, svgText: text, flowColour: colour, fixed, plain, short } = tcpfair.dom;
  const m = tcpfair.measures;
  const FLOWS_SHOWN = 4;
  const LANE = 24;
  const MBPS = 1e-6;
  const SMALL = { "font-size": 11, fill: "var(--soft)" };

  /** Mean of a column over what is measured, or its value at `tS`. */
  function at(side, values, times, tS) {
    if (tS !== null) return values[m.placeAt(times, tS)];
    const { fromS, toS } = side.of.measuring;
    return m.meanOfKnown(values.slice(...m.windowOf(times, fromS, toS)));
  }

  /** A picture of a side; without a time, means over what is measured, of a run on its way its last sample. */
  function of(side, cursorS, name) {
    const { scenario } = side.of;
    const { result, run } = side;
    const onItsWay = result.digest === undefined;
    const tS = cursorS ?? (onItsWay ? result.t_s.at(-1) : null);
    const flows = run.foreground.slice(0, FLOWS_SHOWN);
    const height = Math.max(flows.length, 2) * LANE + 22;
    const y = (k) => 26 + (k + (Math.max(flows.length, 2) - flows.length) / 2) * LANE;
    const middle = 26 + ((Math.max(flows.length, 2) - 1) / 2) * LANE;
    const rates = flows.map((_, k) => at(side, run.goodput[k], run.tS, tS));
    const queue = at(side, result.link.queue_pkts, result.t_s, tS);
    const ceiling = tcpfair.analysis.ceilingMbps(scenario);
    const filled = Math.min(queue / Math.max(scenario.buffer_pkts, 1), 1) || 0;
    const when = tS === null ? `means from ${plain(side.of.measuring.fromS)} to ${plain(side.of.measuring.toS)} s` : `at ${fixed(tS, 1)} s${onItsWay ? ", being simulated" : ""}`;
    const lanes = flows.flatMap((n, k) => {
      const { protocol, rtt_s } = scenario.flows[n];
      const width = Math.max((76 * rates[k]) / ceiling, 0) || 0;
      return [
        svg("path", { d: `M160 ${y(k)}H204L228 ${middle}`, fill: "none", stroke: colour(n), "stroke-width": 1.5 }),
        svg("path", { d: `M380 ${middle}L404 ${y(k)}H420`, fill: "none", stroke: colour(n), "stroke-width": Math.max(0.8, (6 * rates[k]) / ceiling || 0) }),
        svg("circle", { cx: 10, cy: y(k), r: 6, fill: colour(n) }),
        text(22, y(k), `${protocol}, ${plain(rtt_s * 1e3, 3)} ms`, { "font-weight": 600, textLength: protocol.length > 14 ? 124 : undefined }),
        text(163, y(k) - 9, `cwnd ${short(at(side, result.flows[n].cwnd_pkts, result.t_s, tS), 3)}`, { ...SMALL, "font-size": 10 }),
        svg("rect", { x: 422, y: y(k) - 7, width: width.toFixed(1), height: 14, fill: colour(n) }),
        text(428 + width, y(k), `${fixed(rates[k], 1)} Mb/s`),
      ];
    });
    const words = flows.map((n, k) => `flow ${n + 1}, ${scenario.flows[n].protocol}: ${fixed(rates[k], 1)} Mb/s`).join("; ");
    return svg("svg", { viewBox: `0 0 580 ${height}`, role: "img", class: "strip-net", "aria-label": `${name}${when}: ${words}; ${fixed(queue, 0)} packets in the queue` },
        ...lanes,
        svg("rect", { x: 228, y: middle - 12, width: 84, height: 24, fill: "none", stroke: "var(--soft)" }),
        svg("rect", { x: (312 - 84 * filled).toFixed(1), y: middle - 12, width: (84 * filled).toFixed(1), height: 24, fill: "var(--soft)" }),
        svg("rect", { x: 312, y: middle - 5, width: 68, height: 10, fill: "none", stroke: "var(--soft)" }),
        text(270, middle - 20, `queue ${fixed(queue, 0)} of ${plain(scenario.buffer_pkts, 4)}`, { ...SMALL, "text-anchor": "middle" }),
        text(346, middle + 17, `${plain(scenario.capacity_bps * MBPS, 4)} Mb/s`, { ...SMALL, "text-anchor": "middle" }),
        text(4, 8, name.replace(":", ""), { "font-weight": 700, "font-size": 15 }),
        text(580, 8, when, { ...SMALL, "text-anchor": "end" }),
        ...(run.foreground.length > FLOWS_SHOWN ? [text(40, 8, `${FLOWS_SHOWN} of ${run.foreground.length} flows`, SMALL)] : []));
  }

  return { of };
})();
