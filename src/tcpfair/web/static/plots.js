/**
 * The plots, with a shared cursor and zoom; compared sides are in one plot: A solid, B dashed.
 *
 * Each flow has one of six colours, which are distinct with any colour vision; further flows are dashed, then dotted.
 */
"use strict";

tcpfair.plots = (() => {
  const { make, svg, svgText, Pen, COLOURS, flowColour, plain, fixed } = tcpfair.dom;
  const { marksOf } = tcpfair.plane;
  const { placeAt, lossesOf, leastOf, largestOf } = tcpfair.measures;
  const DASHES = [[], [7, 4], [2, 3]];
  const FLOWS_DRAWN = 28; // more lines cannot be distinguished
  const LABEL = "600 12px";
  const W_MAX_MOST = 400; // losses of a flow
  const MARKS_MOST = 1500; // ticks of losses in sight; with more they are thinned out
  const FLOWS_TOLD = 6; // values in the text of the cursor
  const SPREAD_FLOWS = 4; // bands of more flows would overlap
  const ZOOM = 0.7;
  const DASH_OF_B = [6, 3];

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colourOf = (n) => (n === null ? style("--ink") : style(`--flow-${n % COLOURS}`));
  const dashOf = (n) => DASHES[Math.floor((n ?? 0) / COLOURS) % DASHES.length];
  /** The style of a line of the side at this place. */
  const lookOf = (line, place) => line.recorded ? { stroke: style("--ink"), width: 2.2, dash: [1, 4] } : ({ stroke: colourOf(line.flow), width: place ? 1.8 : 1.4, dash: [...(place ? DASH_OF_B : []), ...dashOf(line.flow ?? (line.dash || 0) * COLOURS)] });

  /** The legend line of flow n. */
  const swatch = (n, dash = dashOf(n)) =>
    svg("svg", { class: "swatch", viewBox: "0 0 26 8", "aria-hidden": "true" },
      svg("line", { x1: 1, x2: 25, y1: 4, y2: 4, "stroke-width": 3, stroke: flowColour(n), "stroke-dasharray": dash.join(" ") }));

  /**
   * Fills `container`, which has the tables. `onCursor(tS)` gets the time at the cursor (null: no cursor), `onZoom([fromS, toS])` what is in sight.
   */
  function create(container, { onCursor, onZoom }) {
    let shown = new Set(tcpfair.panels.PANELS.filter((panel) => panel.shown).map((panel) => panel.key));
    const cells = new Map(); // by key of the panel: {node, panel, plot, shape, of: [{side, lines, bands}]}
    let sides = [];
    let recorded = []; // lines of a recording, drawn in its panels with the first side
    let covered = null; // {key, drawn, range}: the curve that a reader draws over a plot
    let pointed = null; // {plot, to, says}: the place that a tour points at
    let spanS = [0, 1];
    let zoom = null; // null: all of the run
    let cursorS = null;
    let moving = false;

    const inSight = () => zoom || spanS;
    const panelOf = (key) => tcpfair.panels.PANELS.find((panel) => panel.key === key);
    /** The cells with a plot. */
    const plotted = () => [...cells.values()].filter(({ plot }) => plot);
    /** The cells with lines. */
    const drawn = () => [...cells.values()].filter(({ of }) => of.length);

    function scaleTime(plot) {
      const [min, max] = inSight();
      plot.setScale("x", { min, max });
    }

    /** `endS` is the end of a run that has not been drawn yet. */
    function setZoom(next, endS = spanS[1]) {
      spanS = [0, endS];
      const [fromS, toS] = next ? [Math.max(0, next[0]), Math.min(endS, next[1])] : spanS;
      zoom = toS > fromS && (fromS > 0 || toS < endS) ? [fromS, toS] : null;
      moving = true;
      for (const { plot } of plotted()) scaleTime(plot);
      drawPlanes();
      moving = false;
      tellCursor();
      onZoom(inSight(), zoom !== null);
    }

    /** Around the cursor, or else around its middle: `factor` < 1 goes nearer. */
    function zoomBy(factor) {
      const [low, high] = inSight();
      const middle = cursorS !== null && cursorS > low && cursorS < high ? cursorS : (low + high) / 2;
      setZoom([middle - (middle - low) * factor, middle + (high - middle) * factor]);
    }

    /** Moves the visible range by a share of its width; -1 is one width to the left. */
    function moveBy(share) {
      const [low, high] = inSight();
      const width = high - low;
      const fromS = Math.min(Math.max(low + share * width, spanS[0]), spanS[1] - width);
      setZoom([fromS, fromS + width]);
    }

    function setCursor(tS) {
      cursorS = tS;
      const at = (plot) => (tS === null ? { left: -10, top: -10 } : { left: plot.valToPos(tS, "x"), top: 10 });
      for (const { plot } of plotted()) plot.setCursor(at(plot), false, false);
      drawPlanes();
      tellCursor();
      onCursor(tS);
    }

    /** The cursor of a plot as the value of a slider, for screen readers. */
    function tellCursor() {
      const [low, high] = inSight();
      for (const { node, panel } of drawn()) {
        const marks = { valuemin: low, valuemax: high, valuenow: cursorS ?? low, valuetext: cursorS === null ? "no cursor" : valueText(panel) };
        for (const [mark, value] of Object.entries(marks)) node.setAttribute(`aria-${mark}`, typeof value === "number" ? String(Number(value.toPrecision(6))) : value);
      }
    }

    const nameOf = (side) => tcpfair.runs.prefix(sides, side);

    function valueText(panel) {
      const values = sides.map((side) => {
        const found = valuesAt(panel.key, side, cursorS).slice(0, FLOWS_TOLD);
        return nameOf(side) + found.map(({ label, value }) => `${label} ${fixed(value, panel.decimals)}`).join(", ");
      });
      return `${fixed(cursorS, cursorS < 10 ? 3 : 2)} s: ${values.join("; ")} ${panel.unit}`.trim();
    }

    function onKey(event) {
      const [low, high] = inSight();
      const step = ((high - low) / 100) * (event.shiftKey ? 10 : 1);
      const at = cursorS === null || cursorS < low || cursorS > high ? (low + high) / 2 : cursorS;
      const cursorTo = { ArrowLeft: Math.max(low, at - step), ArrowRight: Math.min(high, at + step), Home: low, End: high, ...(cursorS !== null && { Escape: null }) };
      const acts = {
        ...Object.fromEntries(Object.entries(cursorTo).map(([key, tS]) => [key, () => setCursor(tS)])),
        ...{ "+": () => zoomBy(ZOOM), "=": () => zoomBy(ZOOM), "-": () => zoomBy(1 / ZOOM), 0: () => setZoom(null) },
        ...{ PageUp: () => moveBy(-0.5), PageDown: () => moveBy(0.5) },
      };
      if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[event.key]();
    }

    // --- Marks next to the lines ------------------------------------------------------------------------------------

    /** Draws within the axes of a plot: `paint(pen, {x, y, width, height})`, px from their corner; `x` and `y` place a value. */
    function within(plot, paint, isClipped = true) {
      const { ctx, bbox } = plot;
      const [width, height] = [bbox.width / devicePixelRatio, bbox.height / devicePixelRatio];
      ctx.save();
      ctx.translate(bbox.left, bbox.top);
      ctx.scale(devicePixelRatio, devicePixelRatio);
      ctx.beginPath();
      ctx.rect(0, 0, width, height);
      if (isClipped) ctx.clip();
      paint(new Pen(ctx), { x: (tS) => plot.valToPos(tS, "x"), y: (value) => plot.valToPos(value, "y"), width, height });
      ctx.restore();
    }

    /** Losses as ticks along the axis, of B at the top, and of a side alone CUBIC's W_max from a loss to the flow's next. */
    function drawMarks(plot, side, place) {
      const [low, high] = inSight();
      const { flows } = side.result; // events of short flows have higher numbers
      const seen = (event) => event.kind !== "recovery_end" && event.flow < flows.length && event.t_s >= low && event.t_s <= high;
      const events = side.result.events.filter(seen);
      const every = Math.max(1, Math.ceil(events.length / MARKS_MOST));
      within(plot, (pen, { x, y, height }) => {
        for (const { kind, flow, t_s } of events.filter((_, k) => k % every === 0)) {
          const tall = kind === "rto" ? 13 : 7;
          pen.fill(x(t_s), place ? 0 : height - tall, 1.4, tall, colourOf(flow));
        }
        if (sides.length > 1 || flows.length > SPREAD_FLOWS) return;
        side.of.scenario.flows.forEach(({ cc }, n) => {
          const losses = cc.startsWith("cubic") ? lossesOf(side.result.events, n) : [];
          if (losses.length > W_MAX_MOST) return;
          losses.forEach(({ t_s, w_max }, k) => {
            const endS = losses[k + 1]?.t_s ?? side.result.t_s.at(-1);
            pen.line([[x(t_s), y(w_max)], [x(endS), y(w_max)]], colourOf(n), 1.2, [1.5, 3]);
          });
        });
      });
    }

    /** Where `to` is on the lines of a side, such as "loss 2": a loss of flow 2 in the middle of the run; null where it is not. */
    function placeOf(to, { lines, side }) {
      const [what, n] = to.split(" ");
      const line = lines.find(({ flow }) => flow === n - 1) || lines[0];
      const [fromS, toS] = [Math.max(side.of.measuring.fromS, inSight()[0]), Math.min(side.of.measuring.toS, inSight()[1])];
      const inside = [...line.tS.keys()].filter((k) => line.y[k] !== null && line.tS[k] >= fromS && line.tS[k] <= toS);
      if (!inside.length) return null;
      const best = (score) => inside.reduce((k, other) => (score(other) > score(k) ? other : k), inside[0]);
      const middleS = (fromS + toS) / 2;
      const near = (tS) => best((k) => -Math.abs(line.tS[k] - tS));
      const lossTS = side.result.events.filter((event) => event.flow === n - 1 && event.kind === "loss" && event.t_s >= fromS && event.t_s <= toS).map(({ t_s }) => t_s);
      const bdp = () => tcpfair.findings.value({ of: "bdp", flow: Number(n) }, side);
      const places = {
        mid: () => near(middleS), end: () => inside.at(-1), peak: () => best((k) => line.y[k]), low: () => best((k) => -line.y[k]),
        loss: () => lossTS.length && near(lossTS[lossTS.length >> 1]),
        full: () => inside.find((k) => line.y[k] >= bdp()),
      };
      const k = places[what]();
      return k ? [line.tS[k], line.y[k]] : null;
    }

    /** Draws a ring and a label at what a tour points at. */
    function drawPointed(plot, cell) {
      const place = placeOf(pointed.to, cell.of[0]);
      if (!place) return;
      within(plot, (pen, at) => {
        const [x, y] = [at.x(place[0]), Math.max(at.y(place[1]), 0)];
        const away = y < at.height / 2 ? 1 : -1; // the label is on the side with more room
        const [accent, top] = [style("--accent"), y + 26 * away];
        const half = pen.widthOf(pointed.says, LABEL) / 2;
        const middle = Math.max(Math.min(x, at.width - half - 4), half + 4);
        pen.circle(x, y, 7, accent, false, 2);
        pen.line([[x, y + 7 * away], [x, top - 8 * away]], accent, 2);
        pen.context.globalAlpha = 0.85;
        pen.fill(middle - half - 3, top - 9, 2 * half + 6, 18, style("--back"));
        pen.context.globalAlpha = 1;
        pen.text(pointed.says, middle, top, accent, "center", LABEL);
      }, false);
    }

    /** From the least to the largest over several seeds, behind the lines. */
    function drawSpread(plot, bands) {
      within(plot, (pen, { x, y }) => {
        pen.context.globalAlpha = 0.22;
        for (const { flow, low, high, tS } of bands) {
          const edge = (values) => tS.map((t, k) => [x(t), y(values[k])]);
          pen.line([...edge(high), ...edge(low).reverse()], colourOf(flow), 1, [], "fill");
        }
      });
    }

    const drawLevel = (plot, level) => within(plot, (pen, { y, width }) => pen.line([[0, y(level)], [width, y(level)]], style("--soft"), 1, [5, 5]));

    /** Least and largest of each interval over the seeds of a side. */
    function bandsOf(panel, side) {
      const runs = side.seeds?.runs;
      if (!runs || !panel.spread || side.run.flows.length > SPREAD_FLOWS) return [];
      const all = runs.map((each) => panel.spread(each, side));
      return all[0].map((_, k) => {
        const tS = Array.from(runs[0].run.tS);
        const of = (pick) => tS.map((__, i) => {
          const values = all.map((lines) => lines[k][i]).filter(Number.isFinite);
          return values.length ? pick(...values) : NaN;
        });
        return { flow: panel.ofAll ? null : side.run.foreground[k], tS, low: of(Math.min), high: of(Math.max) };
      });
    }

    // --- The plots --------------------------------------------------------------------------------------------------

    function optionsOf(panel, cell, width) {
      const ink = style("--ink");
      const axis = { stroke: ink, font: `${style("--plot-type")} system-ui, sans-serif`, grid: { stroke: style("--grid"), width: 1 }, ticks: { stroke: style("--grid"), width: 1 } };
      return {
        ...{ width, height: panel.height, legend: { show: false }, padding: [8, 2 * parseFloat(style("--plot-type")), 0, 0] },
        cursor: { sync: { key: "tcpfair", scales: ["x", null] }, drag: { x: true, y: false }, points: { show: false }, y: false },
        scales: {
          x: { time: false, auto: false, range: () => inSight() },
          y: { range: (_, low, high) => (covered?.key === panel.key ? covered.range : cell.range) ?? rangeWith(panel, low ?? 0, high ?? 1) },
        },
        axes: [{ ...axis, size: 30, values: (_, marks) => marks.map((mark, k) => plain(mark, 6) + (k === marks.length - 1 ? " s" : "")) }, { ...axis, size: 52, space: 26, values: (_, marks) => marks.map((mark) => plain(mark, 4)) }],
        series: [{}, ...cell.of.flatMap(({ side, lines }) => lines.map((line) => ({ label: line.label, ...lookOf(line, sides.indexOf(side)), points: { show: false }, spanGaps: false })))],
        hooks: {
          drawAxes: [(plot) => (cell.of.forEach(({ bands }) => drawSpread(plot, bands)), panel.level && drawLevel(plot, panel.level(sides[0])))],
          draw: [() => panel.key === covered?.key && placeCover(), (plot) => (panel.marks && sides.forEach((side, place) => drawMarks(plot, side, place)), pointed?.plot === panel.key && covered?.key !== panel.key && drawPointed(plot, cell))],
          setCursor: [(plot) => plot === cell.plot && cell.node.matches(":hover") && hovered(plot)],
          setSelect: [(plot) => plot.select.width > 3 && setZoom([plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")])],
          ready: [(plot) => plot.over.addEventListener("dblclick", () => setZoom(null))],
        },
      };
    }

    function hovered(plot) {
      const { left } = plot.cursor;
      const tS = left < 0 ? null : plot.posToVal(left, "x");
      if (tS === cursorS || moving) return;
      cursorS = tS;
      drawPlanes();
      onCursor(tS);
    }

    /** The range that bands need; null without bands. */
    function rangeOf(panel, of) {
      const bands = of.flatMap((one) => one.bands);
      if (!bands.length) return null;
      const [fromS, toS] = inSight();
      const seen = (tS, values) => values.filter((value, k) => value !== null && !Number.isNaN(value) && tS[k] >= fromS && tS[k] <= toS);
      const known = [...of.flatMap(({ lines }) => lines.map(({ tS, y }) => seen(tS, y))), ...bands.flatMap(({ tS, low, high }) => [seen(tS, low), seen(tS, high)])].flat();
      const [low, high] = [leastOf(known), largestOf(known)];
      return low <= high ? rangeWith(panel, low, high) : null;
    }

    /** The range of a panel, which has all values of a recording in it. */
    function rangeWith(panel, low, high) {
      const [least, most] = panel.range(low, high, sides);
      const own = recorded.filter((line) => line.panel === panel.key).map(({ y }) => 1.06 * largestOf(y.filter(Number.isFinite)));
      return [least, Math.max(most, ...own.filter(Number.isFinite))];
    }

    function drawCell(panel) {
      const cell = cells.get(panel.key);
      const all = sides.map((side) => panel.lines(side));
      cell.of = sides.map((side, k) => ({ side, lines: all[k].slice(0, FLOWS_DRAWN), bands: bandsOf(panel, side) })).filter(({ lines }) => lines.length);
      const most = largestOf(all.map(({ length }) => length));
      if (cell.of.length) cell.of.push(...recorded.filter((line) => line.panel === panel.key).map((line) => ({ side: sides[0], lines: [line], bands: [] })));
      const there = cell.of.length > 0;
      cell.node.dataset.lines = cell.of.reduce((sum, { lines }) => sum + lines.length, 0);
      cell.node.classList.toggle("empty", !there);
      dimCell(cell);
      cell.node.tabIndex = there ? 0 : -1;
      cell.node.setAttribute("role", there ? "slider" : "group");
      const leftOut = most > FLOWS_DRAWN ? `The first ${FLOWS_DRAWN} of ${most} flows; the CSV has all.` : "";
      cell.node.querySelector(".nothing").textContent = there ? leftOut : nothingText(panel.key, sides[0]);
      if (!there) {
        for (const mark of ["valuemin", "valuemax", "valuenow", "valuetext"]) cell.node.removeAttribute(`aria-${mark}`);
        cell.plot?.destroy();
        cell.plot = cell.shape = null;
        cell.node.querySelector(".canvas").replaceChildren();
        return;
      }
      if (panel.plane) return void drawPlane(cell);
      cell.range = rangeOf(panel, cell.of);
      const tables = cell.of.map(({ lines }) => [lines[0].tS, ...lines.map((line) => line.y)]);
      const data = tables.length > 1 ? uPlot.join(tables) : tables[0];
      const shape = cell.of.map(({ side, lines }) => side.name + lines.map((line) => line.flow).join()).join();
      const width = Math.max(cell.node.clientWidth, 120);
      if (cell.plot && cell.shape === shape) {
        moving = true;
        if (cell.plot.width !== width) cell.plot.setSize({ width, height: panel.height });
        cell.plot.setData(data, false);
        scaleTime(cell.plot);
        moving = false;
        return;
      }
      cell.plot?.destroy();
      cell.shape = shape;
      cell.plot = new uPlot(optionsOf(panel, cell, width), data, cell.node.querySelector(".canvas"));
    }

    /** Puts what a reader draws exactly over the axes of its plot. */
    function placeCover() {
      const { plot, node } = cells.get(covered?.key) ?? {};
      if (!plot) return;
      const { left, top, width, height } = plot.bbox;
      const px = (value) => `${value / devicePixelRatio}px`;
      Object.assign(covered.drawn.node.style, { left: px(left), top: `calc(${node.offsetTop}px + ${px(top)})`, width: px(width), height: px(height) });
      if (covered.drawn.node.parentElement !== node.parentElement) node.parentElement.append(covered.drawn.node);
      covered.drawn.draw();
    }

    /**
     * Covers the plot of a panel by what a reader draws, over this range of values; null takes it away. The values at the cursor
     * stay hidden, too.
     */
    function cover(key, drawn, range) {
      covered?.drawn.node.remove();
      covered = drawn && { key, drawn, range };
      for (const [other, { node }] of cells) node.inert = Boolean(drawn) && other === key;
      placeCover();
    }

    /** Shows the plot below what a reader drew. */
    function uncover() {
      covered?.drawn.uncover();
      for (const { node } of cells.values()) node.inert = false;
    }

    /** What of the plot of a panel is in sight: {fromS, toS, low, high}. */
    const scaleOf = (key) => (({ x, y }) => ({ fromS: x.min, toS: x.max, low: y.min, high: y.max }))(cells.get(key).plot.scales);

    function drawPlane(cell) {
      const to = pointed?.plot === cell.panel.key && placeOf(pointed.to, cell.of[0]);
      const how = { width: Math.max(cell.node.clientWidth, 240), height: cell.panel.height, spanS: inSight(), cursorS, pointed: to ? { tS: to[0], says: pointed.says } : null };
      cell.node.querySelector(".canvas").replaceChildren(tcpfair.plane.of(cell.of, how));
    }

    const drawPlanes = () => drawn().filter(({ panel }) => panel.plane).forEach(drawPlane);

    const [tables] = container.children;

    /** Creates rows and cells of the shown panels, the tables below the first one; existing ones are kept. */
    function layOut() {
      const wanted = [...shown].map(panelOf);
      const shape = wanted.map((panel) => panel.key).join() + sides.length;
      if (container.dataset.shape === shape) return wanted;
      container.dataset.shape = shape;
      for (const { plot } of plotted()) plot.destroy();
      cells.clear();
      const key = sides.length > 1 ? [" ", make("span", { className: "key" }, swatch(null), "A ", swatch(null, DASH_OF_B), "B")] : [];
      container.replaceChildren(
        ...wanted.map((panel) => {
          const title = panel.unit ? `${panel.title}, ${panel.unit}` : panel.title;
          const node = make("div", { className: "plot", tabIndex: 0, "aria-label": `Plot of ${title}: cursor`, "aria-describedby": "plot-keys", on: { keydown: onKey, mouseleave: () => setCursor(null) }, data: { panel: panel.key } },
            make("div", { className: "canvas" }), make("p", { className: "nothing" }, ""));
          cells.set(panel.key, { node, panel, plot: null, shape: null, of: [] });
          return make("figure", { className: "panel" }, make("figcaption", {}, make("strong", {}, title), key.map((part) => part.cloneNode?.(true) ?? part), " ", make("span", { className: "source" }, panel.what)), node);
        }),
      );
      container.insertBefore(tables, container.children[1] ?? null);
      return wanted;
    }

    /** A panel as SVG, as it is in sight: a frame, the lines, and marks of the axes. */
    function svgOf(key) {
      const panel = panelOf(key);
      const { of, plot, node } = cells.get(key);
      const [x0, x1] = inSight();
      const [width, left, bottom, line] = [640, 64, 40, 16];
      const colourIn = (line, side) => lookOf(line, sides.indexOf(side)).stroke;
      const named = ({ side, lines }) => lines.map((one, k) => [(k ? "" : nameOf(side)) + one.label, colourIn(one, side)]);
      const notes = [sides.length > 1 ? "(B dashed)" : "", node.querySelector(".nothing").textContent].map((text) => [text]);
      const pieces = [[`${panel.title}${panel.unit ? `, ${panel.unit}` : ""}:`], ...of.flatMap(named), ...notes];
      const pen = new Pen(make("canvas").getContext("2d"));
      const most = width - left - line;
      let [nextX, row] = [left, 0];
      const names = pieces.map(([text, fill = "var(--ink)"]) => {
        const wide = pen.widthOf(text, "12px");
        if (nextX > left && nextX + wide > left + most) [nextX, row] = [left, row + 1];
        const x = nextX;
        nextX += wide + 6;
        const squeezed = wide > most && { textLength: most, lengthAdjust: "spacingAndGlyphs" };
        return svg("tspan", { x, y: 14 + row * line, fill, ...squeezed }, text);
      });
      const [height, top] = [300 + row * line, 34 + row * line];
      const words = (x, y, what, more) => svgText(x, y, what, { "dominant-baseline": "auto", ...more });
      const parts = [svgText(left, 14, names),
        words(width - 16, height - 4, `${panel.plane ? "" : "time, s; "}run ${sides.map(({ result }) => result.digest?.slice(0, 16) ?? "").join(" and ")}`, { "text-anchor": "end" })];
      if (plot) {
        plot.batch(() => {}); // sets the scales of a new plot now, not in a later task
        const { min: y0, max: y1 } = plot.scales.y;
        const x = (tS) => left + ((tS - x0) / (x1 - x0)) * (width - left - 16);
        const y = (v) => height - bottom - ((v - y0) / (y1 - y0)) * (height - bottom - top);
        const path = ({ tS, y: values }) => Array.from(tS, (t, k) => (values[k] === null || t < x0 || t > x1 ? "" : `${k && values[k - 1] !== null && tS[k - 1] >= x0 ? "L" : "M"}${x(t).toFixed(1)} ${y(values[k]).toFixed(1)}`)).join("");
        const drawn = (line, place) => (({ stroke, width: wide, dash }) => svg("path", { d: path(line), fill: "none", stroke, "stroke-width": wide, "stroke-dasharray": dash.join(" ") }))(lookOf(line, place));
        parts.push(
          svg("rect", { x: left, y: top, width: width - left - 16, height: height - bottom - top, fill: "none", stroke: "var(--soft)" }),
          ...marksOf(x0, x1).map((t) => words(x(t), height - bottom + 16, plain(t, 4), { "text-anchor": "middle" })),
          ...marksOf(y0, y1).map((v) => words(left - 6, y(v) + 4, plain(v, 4), { "text-anchor": "end" })),
          svg("clipPath", { id: "frame" }, svg("rect", { x: left, y: top, width: width - left - 16, height: height - bottom - top })),
          svg("g", { "clip-path": "url(#frame)" }, of.flatMap(({ side, lines }) => lines.map((line) => drawn(line, sides.indexOf(side))))));
      } else if (of.length) parts.push(svg("g", { transform: `translate(0 ${top - 8})` }, tcpfair.plane.of(of, { width, height: height - top, spanS: [x0, x1] })));
      const whole = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height }, svg("rect", { width: "100%", height: "100%", fill: "var(--back)" }), parts);
      return new XMLSerializer().serializeToString(whole).replace(/var\((--[\w-]+)\)/g, (_, name) => style(name));
    }

    /** Points at something in a plot, or removes the pointer. */
    function point(what) {
      pointed = what;
      for (const { plot } of plotted()) plot.redraw(false);
      drawPlanes();
    }

    /** Dims what is of older settings. */
    const dim = () => cells.forEach(dimCell);

    const dimCell = ({ node, of }) => node.classList.toggle("old", !of.every(({ side }) => tcpfair.runs.isCurrent(side)));

    function redraw() {
      if (!sides.length) return;
      for (const panel of layOut()) drawCell(panel);
      tellCursor();
    }

    /** Why a panel has no lines. */
    function nothingText(key, side) {
      if (key === "nru" && side.run.flows.length > 1) return { waiting: "needs the self-runs: press Run them below", running: "the self-runs are being simulated" }[side.weights.state] || "";
      if (key === "k") return "no flow runs CUBIC";
      return key === "plane" ? "needs two flows, or flows of two protocols" : "needs two flows";
    }

    /** Draws the sides that have a result. Zoom and cursor are kept as far as possible. */
    function show(next) {
      const before = String(inSight());
      sides = next;
      if (!sides.length) return;
      spanS = [0, Math.max(...sides.map((side) => side.of.scenario.duration_s))];
      if (zoom && zoom[0] >= spanS[1]) zoom = null;
      if (zoom) zoom = [zoom[0], Math.min(zoom[1], spanS[1])];
      redraw();
      if (String(inSight()) !== before) onZoom(inSight(), zoom !== null);
    }

    /** The panels of these keys, in this order. */
    function setShown(keys) {
      shown = new Set(keys);
      redraw();
    }

    function record(lines) {
      recorded = lines;
      redraw();
    }

    /** Redraws everything after a change of colours or width. */
    function rebuild() {
      container.dataset.shape = "";
      redraw();
    }

    function resize() {
      for (const { plot, node } of plotted()) {
        const width = node.clientWidth;
        if (width && plot.width !== width) plot.setSize({ width, height: plot.height });
      }
      drawPlanes();
    }

    new ResizeObserver(resize).observe(container.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", rebuild);

    /** The value of a side's lines of a panel at `tS`: [{flow, value}]. */
    const valuesAt = (key, side, tS) => {
      const lines = cells.get(key)?.of.find((one) => one.side === side)?.lines || panelOf(key).lines(side);
      const interval = ["throughput", "jfi", "nru"].includes(key);
      return lines.map((line) => {
        const k = placeAt(line.tS, tS);
        const stepS = line.tS[1] - line.tS[0];
        if (tS > line.tS.at(-1) + stepS) return { flow: line.flow, label: line.label, value: null };
        return { flow: line.flow, label: line.label, value: line.y[interval && line.tS[k] < tS ? Math.min(k + 1, line.y.length - 1) : k] };
      });
    };

    return { show, record, cover, uncover, scaleOf, redraw, rebuild, dim, point, svgOf, setShown, shown: () => [...shown], setZoom, zoomBy, moveBy, valuesAt, zoomed: () => zoom };
  }

  return { create, swatch, style };
})();
