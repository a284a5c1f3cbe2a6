/**
 * A curve that a reader draws over a covered plot, by pointer or by keyboard: Left and Right choose a place, Up and Down move the
 * curve there. Between the places that were set the curve is straight.
 */
"use strict";

tcpfair.drawn = (() => {
  const { svg, fixed } = tcpfair.dom;
  const COLUMNS = 24;
  const STEP = 0.02; // of the height, for a key

  /** `scale()` gives {fromS, toS, low, high} of the plot. `startY` is where the curve begins, `levelY` a level to refer to. */
  function create({ label, startY, levelY, scale }) {
    const knots = new Map([[0, startY]]); // values by column
    let at = 0; // the column of the keyboard
    const line = (more) => svg("path", { fill: "none", "vector-effect": "non-scaling-stroke", ...more });
    const [level, cursor, curve] = [line({ stroke: "var(--soft)", "stroke-dasharray": "2 4" }), line({ stroke: "var(--grid)" }), line({ stroke: "var(--ink)", "stroke-width": 3 })];
    const cover = svg("rect", { width: 100, height: 100, fill: "var(--back)" });
    const node = svg("svg", { class: "drawn", viewBox: "0 0 100 100", preserveAspectRatio: "none", tabindex: 0, role: "slider", "aria-label": label }, cover, level, cursor, curve);

    /** The curve at the places, in the plot's unit; null where only its beginning is given. */
    function values() {
      const set = [...knots.keys()].sort((a, b) => a - b);
      if (set.length < 2) return null;
      return Array.from({ length: COLUMNS + 1 }, (_, k) => {
        const after = set.find((column) => column >= k) ?? set.at(-1);
        const before = set.findLast((column) => column <= k);
        const share = after > before ? (k - before) / (after - before) : 0;
        return knots.get(before) + share * (knots.get(after) - knots.get(before));
      });
    }

    const timesS = () => Array.from({ length: COLUMNS + 1 }, (_, k) => scale().fromS + (k / COLUMNS) * (scale().toS - scale().fromS));

    function draw() {
      const { low, high } = scale();
      const y = (value) => 100 - (100 * (value - low)) / (high - low);
      const x = (column) => (100 * column) / COLUMNS;
      level.setAttribute("d", `M0 ${y(levelY)}H100`);
      cursor.setAttribute("d", `M${x(at)} 0V100`);
      const all = values() ?? [startY, startY];
      curve.setAttribute("d", all.map((value, k) => `${k ? "L" : "M"}${all.length > 2 ? x(k) : k} ${y(value)}`).join(""));
      const value = (values() ?? [])[at] ?? startY;
      const marks = { min: low, max: high, now: value, text: `${fixed(timesS()[at], 1)} s: ${fixed(value, 0)} packets` };
      for (const [mark, of] of Object.entries(marks)) node.setAttribute(`aria-value${mark}`, of);
    }

    function set(column, value) {
      const { low, high } = scale();
      if (column > 0) knots.set(column, Math.min(Math.max(value, low), high));
      draw();
    }

    let last = null; // {column, value} of the pointer
    function onPointer(event) {
      if (event.type === "pointerdown") node.setPointerCapture(event.pointerId);
      else if (!node.hasPointerCapture(event.pointerId)) return;
      const { left, top, width, height } = node.getBoundingClientRect();
      const { low, high } = scale();
      const column = Math.min(Math.max(Math.round(((event.clientX - left) / width) * COLUMNS), 0), COLUMNS);
      const value = high - ((event.clientY - top) / height) * (high - low);
      const from = event.type === "pointerdown" || !last ? { column, value } : last;
      const [a, b] = [Math.min(from.column, column), Math.max(from.column, column)];
      for (let k = a; k <= b; k += 1) set(k, from.column === column ? value : from.value + ((k - from.column) / (column - from.column)) * (value - from.value));
      last = { column, value };
      at = column;
      draw();
    }

    function onKey(event) {
      const { low, high } = scale();
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if ((!by && !up) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      if (by) at = Math.min(Math.max(at + by, 0), COLUMNS);
      else set(at, ((values() ?? [])[at] ?? startY) + up * STEP * (event.shiftKey ? 5 : 1) * (high - low));
      draw();
    }

    for (const kind of ["pointerdown", "pointermove"]) node.addEventListener(kind, onPointer);
    node.addEventListener("keydown", onKey);
    /** Removes the cover; the curve stays. */
    const uncover = () => (cover.remove(), cursor.remove(), node.classList.add("uncovered"), node.removeAttribute("tabindex"), node.setAttribute("role", "img"));
    return { node, values, timesS, draw, uncover };
  }

  return { create };
})();
