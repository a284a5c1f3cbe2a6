/**
 * The plane of Chiu and Jain (Computer Networks and ISDN Systems 17, 1989): the window of flow 1 against that of flow 2, or of
 * two groups of flows, as a path over time. Below the line of the full link a part of it is idle; beyond the line of the full
 * buffer packets are lost; on the fairness line all flows have the same throughput.
 */
"use strict";

tcpfair.plane = (() => {
  const { svg, svgText, flowColour, plain } = tcpfair.dom;
  const m = tcpfair.measures;
  const SHADES = 6; // of a path, from its beginning to its end
  const [LEFT, TOP, BOTTOM, KEY] = [58, 10, 40, 250];
  const WITH_KEY = 480; // px, from which the names of the lines fit

  /** The two sides of the plane, as places in the scenario: each of two flows, or the flows of each of two protocols. */
  function groupsOf({ scenario }, foreground) {
    if (foreground.length === 2) return foreground.map((n) => [n]);
    const protocols = [...new Set(foreground.map((n) => scenario.flows[n].protocol))];
    return protocols.length === 2 ? protocols.map((name) => foreground.filter((n) => scenario.flows[n].protocol === name)) : [];
  }

  /** Windows at which the link is just full and the buffer is, and those with equal throughputs: [[x, y], ...] each. */
  function linesOf({ scenario }, groups) {
    const perS = scenario.capacity_bps / (8 * scenario.wire_bytes);
    const queueS = scenario.buffer_pkts / perS;
    const rtt = groups.map((group) => m.mean(group.map((n) => scenario.flows[n].rtt_s)));
    const each = perS / (groups[0].length + groups[1].length);
    const fullAt = (s) => [[perS * (rtt[0] + s), 0], [0, perS * (rtt[1] + s)]];
    const fairAt = (s) => rtt.map((own, k) => groups[k].length * each * (own + s));
    return { link: fullAt(0), buffer: fullAt(queueS), fair: [[0, 0], fairAt(0), fairAt(queueS)] };
  }

  /** Round numbers from `low` to `high`, about five. */
  function marksOf(low, high) {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((part) => part * power).find((each) => each >= rough);
    return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, k) => (Math.ceil(low / step) + k) * step);
  }

  /**
   * The plane of `cells`, {side, lines} each, over `spanS`, without the time before the measured one; `cursorS` and `pointed`, {tS, says}, may be null.
   */
  function of(cells, { width, height, spanS: [firstS, toS], cursorS = null, pointed = null }) {
    const startS = cells[0].side.of.measuring.fromS;
    const fromS = startS < toS ? Math.max(firstS, startS) : firstS;
    const inside = ({ lines: [one, other] }) => [...one.tS.keys()].filter((k) => one.tS[k] >= fromS && one.tS[k] <= toS && one.y[k] !== null && other.y[k] !== null);
    const paths = cells.map((cell) => ({ ...cell, at: inside(cell) }));
    const [{ side, lines }] = cells;
    const { link, buffer, fair } = linesOf(side.of, lines.map(({ group }) => group));
    const most = [0, 1].map((key) => 1.08 * Math.max(fair[2][key], ...paths.map(({ lines: own, at }) => m.largestOf(at.map((k) => own[key].y[k])))));
    const high = Math.max(height - TOP - BOTTOM, 60);
    const wide = Math.max(Math.min(1.6 * high, width - LEFT - (width > WITH_KEY ? KEY : 12)), 60);
    const x = (pkts) => LEFT + (wide * pkts) / most[0];
    const y = (pkts) => TOP + high - (high * pkts) / most[1];
    const path = (points) => `M${points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("L")}`;
    const line = (points, more) => svg("path", { d: path(points), fill: "none", stroke: "var(--soft)", "stroke-width": 1.3, ...more });
    const clip = svg("clipPath", { id: "plane-clip" }, svg("rect", { x: LEFT, y: TOP, width: wide, height: high }));
    const dash = (place) => (place ? "5 4" : undefined);
    const ofSide = ({ lines: [one, other], at }, place) => {
      const part = Math.ceil(at.length / SHADES) || 1;
      return Array.from({ length: Math.ceil(at.length / part) }, (_, k) =>
        line(at.slice(k * part, (k + 1) * part + 1).map((i) => [one.y[i], other.y[i]]), { stroke: place ? "var(--accent)" : "var(--ink)", "stroke-width": 1.4, "stroke-opacity": 0.25 + (0.75 * (k + 1)) / SHADES, "stroke-dasharray": dash(place), "stroke-linejoin": "round" }));
    };
    const placeAt = ({ lines: [one, other] }, tS) => {
      const k = m.placeAt(one.tS, tS);
      return [one.y[k] ?? 0, other.y[k] ?? 0];
    };
    const dot = ([a, b], more) => svg("circle", { cx: x(a).toFixed(1), cy: y(b).toFixed(1), r: 5, fill: "var(--back)", stroke: "var(--ink)", "stroke-width": 2, ...more });
    const ends = paths.filter(({ at }) => at.length).flatMap((cell) => [dot(placeAt(cell, fromS), {}), dot(placeAt(cell, toS), { fill: "var(--ink)" })]);
    const axis = (key) => [
      ...marksOf(0, most[key]).map((v) => (key ? svgText(LEFT - 6, y(v), plain(v, 4), { "text-anchor": "end", "font-size": 11 }) : svgText(x(v), TOP + high + 12, plain(v, 4), { "text-anchor": "middle", "font-size": 11 }))),
      svgText(...(key ? [0, 0] : [LEFT + wide / 2, TOP + high + 30]), `window of ${lines[key].label}, packets`, { "text-anchor": "middle", "font-weight": 600, fill: flowColour(lines[key].flow), ...(key && { transform: `translate(12 ${TOP + high / 2}) rotate(-90)` }) }),
    ];
    const ofA = cells.length > 1 ? "A: " : "";
    const key = [
      [{ "stroke-dasharray": "7 3" }, `${ofA}the link is full, no queue`], [{ "stroke-width": 2.4 }, `${ofA}the buffer is full, too`],
      [{ stroke: "var(--good)", "stroke-width": 2 }, `${ofA}equal throughputs`],
      ...cells.map((cell, place) => [{ stroke: place ? "var(--accent)" : "var(--ink)", "stroke-dasharray": dash(place) }, `${cells.length > 1 ? `${cell.side.name}: ` : ""}the run, ${plain(fromS, 4)} (○) to ${plain(toS, 4)} s (●)`]),
    ];
    const ring = pointed && placeAt(cells[0], pointed.tS);
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "plane", xmlns: "http://www.w3.org/2000/svg", "aria-hidden": "true" }, clip,
      svg("rect", { x: LEFT, y: TOP, width: wide, height: high, fill: "none", stroke: "var(--grid)" }),
      svg("g", { "clip-path": "url(#plane-clip)" }, line(link, key[0][0]), line(buffer, key[1][0]), line(fair, key[2][0]), paths.flatMap(ofSide), ends,
        cursorS === null ? [] : cells.map((cell) => dot(placeAt(cell, cursorS), { r: 7, fill: "none", stroke: "var(--accent)", "stroke-width": 3 }))),
      axis(0), axis(1),
      width > WITH_KEY ? key.flatMap(([look, words], k) => [svg("path", { d: `M${LEFT + wide + 14} ${TOP + 14 + 22 * k}h26`, fill: "none", stroke: "var(--soft)", "stroke-width": 1.3, ...look }), svgText(LEFT + wide + 46, TOP + 14 + 22 * k, words)]) : [],
      ring ? [dot(ring, { r: 8, fill: "none", stroke: "var(--accent)" }), svgText(x(ring[0]), y(ring[1]) - 14, pointed.says, { "text-anchor": x(ring[0]) > LEFT + wide / 2 ? "end" : "start", "font-weight": 600, fill: "var(--accent)", stroke: "var(--back)", "stroke-width": 4, "paint-order": "stroke" })] : [],
    );
  }

  return { of, groupsOf, linesOf, marksOf };
})();
