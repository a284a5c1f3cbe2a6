/** Creates elements and formats numbers, for all parts of the page. */
"use strict";

tcpfair.dom = (() => {
  let made = 0;

  /** An id that is unique on the page. */
  const newId = (stem = "e") => `${stem}-${(made += 1)}`;

  /**
   * An element. Properties and attributes by name; `on` holds listeners, `data` data attributes; children are nodes or
   * texts; null is skipped.
   */
  function make(tag, { on = {}, data = {}, ...given } = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) {
      if (value === null || value === undefined || value === false) continue;
      if (name in node && !name.startsWith("aria") && !["list", "role"].includes(name)) node[name] = value;
      else node.setAttribute(name, value === true ? "" : value);
    }
    for (const [name, listener] of Object.entries(on)) node.addEventListener(name, listener);
    for (const [name, value] of Object.entries(data)) node.dataset[name] = value;
    node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }

  /** A button; `key` is its name for `renew`. */
  const button = (text, act, { key, ...more } = {}) => make("button", { type: "button", data: key ? { key } : {}, on: { click: act }, ...more }, text);

  const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]";

  const focusableIn = (box) => [...box.querySelectorAll(FOCUSABLE)].filter((node) => !node.disabled && node.getClientRects().length);

  /** The element of `box` with the same key, or else the focusable one at the same place. */
  function sameIn(box, key, place) {
    const all = focusableIn(box);
    return (key && all.find((node) => node.dataset.key === key)) || all[Math.min(place, all.length - 1)] || box.closest("[tabindex]");
  }

  /** Replaces the children of `box`. Focus, scroll positions and unfolded parts are kept. */
  function renew(box, ...children) {
    const focused = box.contains(document.activeElement) && document.activeElement !== box ? document.activeElement : null;
    const place = focused && focusableIn(box).indexOf(focused);
    const scrolled = [...box.querySelectorAll(".scroll")].map(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]);
    const foldable = () => [...box.querySelectorAll("details:not([data-key])")];
    const folds = foldable().map(({ open }) => open);
    box.replaceChildren(...children);
    const details = foldable();
    if (details.length === folds.length) details.forEach((node, k) => (node.open = folds[k]));
    box.querySelectorAll(".scroll").forEach((node, k) => ([node.scrollLeft, node.scrollTop] = scrolled[k] || [0, 0]));
    if (focused) sameIn(box, focused.dataset.key, place)?.focus({ preventScroll: true });
  }

  /** Announces a text to screen readers. */
  function say(text) {
    const box = document.getElementById("heard");
    box.textContent = "";
    setTimeout(() => (box.textContent = text), 50); // an unchanged text would not be announced again
  }

  const SVG = "http://www.w3.org/2000/svg";

  /** An SVG element with these attributes and children. */
  function svg(tag, attributes = {}, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(name, value);
    node.append(...children.flat());
    return node;
  }

  const COLOURS = 6;
  /** Colour of flow n; null means all flows. */
  const flowColour = (n) => (n === null ? "var(--ink)" : `var(--flow-${n % COLOURS})`);

  /** Text in an SVG, centred on its line: words, or parts of them. */
  function svgText(x, y, words, more = {}) {
    const node = svg("text", { x, y, "font-size": 12, "font-family": "system-ui, sans-serif", fill: "var(--ink)", "dominant-baseline": "middle", ...more });
    node.append(...[words].flat());
    return node;
  }

  /** The few strokes that pictures on a canvas are drawn with. */
  class Pen {
    constructor(context) {
      this.context = context;
    }

    /** The context with a colour, and lines of `width`, dashed where `dash` has lengths. */
    dipped(color, width = 1, dash = []) {
      Object.assign(this.context, { strokeStyle: color, fillStyle: color, lineWidth: width }).setLineDash(dash);
      return this.context;
    }

    /** Straight lines through [x, y], or with `act` "fill" the area within them. */
    line(points, color, width, dash, act = "stroke") {
      const context = this.dipped(color, width, dash);
      context.beginPath();
      points.forEach(([x, y]) => context.lineTo(x, y));
      context[act]();
    }

    box(x, y, width, height, color, lineWidth) {
      this.dipped(color, lineWidth).strokeRect(x, y, width, height);
    }

    fill(x, y, width, height, color) {
      this.dipped(color).fillRect(x, y, width, height);
    }

    square(x, y, side, color) {
      this.fill(x - side / 2, y - side / 2, side, side, color);
    }

    circle(x, y, radius, color, filled = true, width = 1) {
      const context = this.dipped(color, width);
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context[filled ? "fill" : "stroke"]();
    }

    cross(x, y, color, alpha = 1) {
      this.context.globalAlpha = Math.max(alpha, 0);
      for (const side of [-1, 1]) this.line([[x - 4, y - 4 * side], [x + 4, y + 4 * side]], color, 2);
      this.context.globalAlpha = 1;
    }

    text(words, x, y, color, align = "center", font = "12px", behind = null) {
      Object.assign(this.context, { textBaseline: "middle", textAlign: align, font: `${font} system-ui, sans-serif` });
      if (behind) this.dipped(behind, 4).strokeText(words, x, y);
      this.dipped(color).fillText(words, x, y);
    }

    widthOf(words, font) {
      this.context.font = `${font} system-ui, sans-serif`;
      return this.context.measureText(words).width;
    }
  }

  const MISSING = "–";

  /** Removes trailing zeros of the decimals: for settings and axis labels, not for results. */
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

  /** `short`, trimmed. */
  const plain = (x, digits = 6) => trimmed(short(x, digits));

  /** What `text` returns for a finite number; otherwise an infinity sign, or a dash for NaN. */
  const unlessFinite = (x, text) => {
    if (x === null || x === undefined || Number.isNaN(x)) return MISSING;
    return Number.isFinite(x) ? text(x) : x > 0 ? "∞" : "−∞";
  };

  /** A number with `digits` significant digits; only very small and large ones have an exponent. */
  const short = (x, digits = 3) =>
    unlessFinite(x, () => {
      if (x === 0) return "0";
      const size = Math.abs(x);
      if (size < 1e-4 || size >= 1e9) return x.toExponential(Math.max(0, digits - 1)).replace("e+", "e").replace("-", "−");
      const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
      return grouped(x, Math.min(decimals, 12));
    });

  /** A number with a fixed number of decimals. */
  const fixed = (x, decimals) => unlessFinite(x, () => grouped(x, decimals));

  /** With thin spaces between thousands from 10,000 on, and a true minus sign. */
  function grouped(x, decimals) {
    const [whole, part] = Math.abs(x).toFixed(decimals).split(".");
    const spaced = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
    const negative = x < 0 && Number(x.toFixed(decimals)) !== 0;
    return (negative ? "−" : "") + spaced + (part ? `.${part}` : "");
  }

  /** The name of a column; one in parentheses is for screen readers only. */
  const heading = (text) => (/^\(.*\)$/.test(text) ? make("span", { className: "unseen" }, text.slice(1, -1)) : text);

  /** A table: `head` texts, `rows` arrays of texts or nodes; the first column is the name of the row. */
  function table(caption, head, rows, { className = "", align = [] } = {}) {
    const textual = (k) => (align[k] === "left" ? "text" : "");
    const cell = (content, k) => (k === 0 ? make("th", { scope: "row" }, content) : make("td", { className: textual(k) }, content));
    const columns = head.map((text, k) => make("th", { scope: "col", className: textual(k) }, heading(text)));
    return make("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": caption },
      make("table", { className },
        make("caption", {}, make("span", {}, caption)),
        make("thead", {}, make("tr", {}, columns)),
        make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell)))),
      ),
    );
  }

  return { newId, make, button, renew, say, svg, svgText, Pen, COLOURS, flowColour, short, plain, fixed, table, MISSING };
})();
