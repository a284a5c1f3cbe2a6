/**
 * Single inputs with their label, unit and explanation: a quantity with or without a slider, a choice, a switch.
 *
 * A quantity is kept in the unit of the scenario (s, b/s, packets) and shown in one that is easy to read (ms, Mb/s):
 * shown = kept * factor. "none" stands for a limit that is not there (infinity).
 */
"use strict";
var tcpfair = globalThis.tcpfair || (globalThis.tcpfair = {});

tcpfair.inputs = (() => {
  const { make, newId, short } = tcpfair.dom;
  const STEPS = 240; // of a slider: one is 2 to 4 % of a value on a logarithmic one
  const DIGITS = 3; // that a slider gives
  const SHOWN_DIGITS = 6;
  const NONE = "none";
  const TYPED_MS = 1000; // letters that follow each other so closely are the beginning of one option

  /** What a box shows: six significant digits, all of a larger whole number. */
  function plainText(x) {
    if (x === Infinity) return NONE;
    const whole = Math.abs(x) >= 1 ? Math.floor(Math.log10(Math.abs(x))) + 1 : 0;
    return String(Number(x.toPrecision(Math.min(Math.max(SHOWN_DIGITS, whole), 15))));
  }

  /** The number that a reader has typed; NaN for what is none. */
  function parsed(text) {
    const plain = text.trim().replace(/[\u202f ,]/g, "").replace("−", "-").toLowerCase();
    if (["", NONE, "inf", "infinity", "∞"].includes(plain)) return Infinity;
    return Number(plain);
  }

  /** Place 0..STEPS of a value on a slider, and back. A slider with `zero` has 0 at its first place. */
  function scaleOf({ min, max, log = false, zero = false }) {
    const [low, high] = log ? [Math.log(min), Math.log(max)] : [min, max];
    const first = zero && log ? 1 : 0;
    return {
      placeOf(x) {
        if (x <= 0 && log) return 0;
        const place = first + ((log ? Math.log(x) : x) - low) / ((high - low) / (STEPS - first));
        return Math.min(Math.max(Math.round(place), first), STEPS);
      },
      valueAt(place) {
        if (place < first) return 0;
        const value = low + (place - first) * ((high - low) / (STEPS - first));
        return Number((log ? Math.exp(value) : value).toPrecision(DIGITS));
      },
    };
  }

  /** One more text that tells about an input. */
  function describe(control, id) {
    control.setAttribute("aria-describedby", `${control.getAttribute("aria-describedby") || ""} ${id}`.trim());
  }

  /**
   * The explanation of a row's inputs: read out with them, and seen below the row while that is pointed at or reached by keyboard;
   * Escape takes it away.
   */
  function explained(row, what, ...controls) {
    if (!what) return row;
    const tip = make("span", { className: "tip", id: newId("tip"), role: "tooltip" }, what);
    row.append(tip);
    for (const control of controls) if (control) describe(control, tip.id);
    const speak = () => row.classList.remove("quiet");
    row.addEventListener("focusout", speak);
    row.addEventListener("mouseleave", speak);
    row.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented || !tip.checkVisibility()) return;
      event.preventDefault();
      row.classList.add("quiet");
    });
    return row;
  }

  /** Escape in a box brings back what it held, when something else was typed; `then` takes a complaint away. */
  function undoing(box, kept, then) {
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || box.value === kept()) return;
      event.preventDefault();
      box.value = kept();
      then();
    });
  }

  /**
   * A number with its unit.
   *
   * `get` and `set` read and write the kept value; `least`, `most` (kept units) and `above` bound it, `infinite` allows
   * "none"; `slider` is {min, max, log, zero} in kept units; `hint` gives a text below. Returns the row, with a
   * method `refresh` that shows the kept value anew.
   */
  function quantity({ label, unit = "", factor = 1, get, set, least = -Infinity, most = Infinity, above = null, infinite = false, slider, hint, what = "", key = label }) {
    const id = newId("q");
    const complaint = make("span", { className: "complaint", id: `${id}-complaint` });
    const box = make("input", { type: "text", inputMode: "decimal", id, autocomplete: "off", data: { key } });
    box.setAttribute("aria-describedby", `${id}-unit ${id}-complaint`);
    const note = make("span", { className: "unit", id: `${id}-unit` }, unit);
    const aside = hint && make("span", { className: "hint" });
    const scale = slider && scaleOf(slider);
    const range = slider && make("input", { type: "range", min: 0, max: STEPS, step: 1, data: { key: `${key} slider` } });
    if (range) range.setAttribute("aria-label", `${label}, slider`);

    function refuse(text) {
      complaint.textContent = text;
      box.setAttribute("aria-invalid", text ? "true" : "false");
    }
    function showUnit() {
      if (hint) aside.textContent = hint();
      range?.setAttribute("aria-valuetext", `${box.value} ${unit}`);
    }
    const held = () => (get() === undefined ? "" : plainText(get() * factor));
    function refresh() {
      const value = get();
      if (document.activeElement !== box) box.value = held();
      if (range && document.activeElement !== range) range.value = scale.placeOf(value);
      showUnit();
    }
    /** What is wrong with a value, empty when nothing is. */
    function wrong(value) {
      if (Number.isNaN(value)) return "a number is needed here";
      if (value === Infinity && !infinite) return "a finite number is needed here";
      if (above !== null && !(value > above)) return `must be above ${short(above * factor)}`;
      if (value < least) return `must be at least ${short(least * factor)}`;
      if (value > most) return `must be at most ${short(most * factor)}`;
      return "";
    }
    function take(value) {
      const complaints = wrong(value);
      refuse(complaints);
      if (!complaints && value !== get()) set(value);
      return !complaints;
    }
    box.addEventListener("change", () => {
      const shown = parsed(box.value);
      // through 12 digits, so that 10 ms is 0.01 s and not the nearest product
      const kept = Number.isFinite(shown) ? Number((shown / factor).toPrecision(15)) : shown;
      if (take(kept)) {
        if (range) range.value = scale.placeOf(get());
        box.value = plainText(get() * factor);
        showUnit();
      }
    });
    range?.addEventListener("input", () => {
      if (take(scale.valueAt(Number(range.value)))) {
        box.value = plainText(get() * factor);
        showUnit();
      }
    });
    undoing(box, held, () => refuse(""));
    const row = make("div", { className: range ? "row with-slider" : "row" }, make("label", { htmlFor: id }, label), range, make("span", { className: "value" }, box, note), aside, complaint);
    row.refresh = refresh;
    refresh();
    return explained(row, what, box, range);
  }

  /** A choice among values: `options` are [value, text] or texts. */
  function choice({ label, options, get, set, what = "", key = label, wide = false }) {
    const id = newId("c");
    const select = make("select", { id, data: { key } });
    for (const option of options) {
      const [value, text] = Array.isArray(option) ? option : [option, String(option)];
      select.append(make("option", { value: String(value) }, text));
    }
    const values = options.map((option) => (Array.isArray(option) ? option[0] : option));
    const refresh = () => (select.value = String(get()));
    // a choice may build the inputs anew, which would cut a word that is being typed
    let typedMs = -Infinity;
    let waiting = 0;
    const take = () => {
      clearTimeout(waiting);
      waiting = 0;
      if (select.isConnected) set(values[select.selectedIndex]);
    };
    const wait = () => {
      clearTimeout(waiting);
      waiting = setTimeout(take, TYPED_MS);
    };
    select.addEventListener("keydown", ({ key: pressed, ctrlKey, metaKey, altKey }) => {
      typedMs = pressed.length === 1 && !ctrlKey && !metaKey && !altKey ? performance.now() : -Infinity;
      if (!waiting) return;
      if (typedMs > 0) wait();
      else if (pressed === "Enter") take();
    });
    select.addEventListener("change", () => (performance.now() - typedMs < TYPED_MS ? wait() : take()));
    select.addEventListener("blur", () => waiting && take());
    const row = make("div", { className: wide ? "row wide" : "row" }, make("label", { htmlFor: id }, label), select);
    row.refresh = refresh;
    refresh();
    return explained(row, what, select);
  }

  /** Yes or no. */
  function toggle({ label, get, set, what = "", key = label }) {
    const id = newId("t");
    const box = make("input", { type: "checkbox", id, data: { key } });
    const refresh = () => (box.checked = Boolean(get()));
    box.addEventListener("change", () => set(box.checked));
    const row = make("div", { className: "row check" }, box, make("label", { htmlFor: id }, label));
    row.refresh = refresh;
    refresh();
    return explained(row, what, box);
  }

  /** A line of text, such as a label or a seed. `check` gives a complaint or nothing. */
  function line({ label, get, set, check = () => "", what = "", key = label }) {
    const id = newId("l");
    const complaint = make("span", { className: "complaint", id: `${id}-complaint` });
    const box = make("input", { type: "text", id, autocomplete: "off", "aria-describedby": `${id}-complaint`, data: { key } });
    const refresh = () => document.activeElement !== box && (box.value = get());
    const refuse = (text) => {
      complaint.textContent = text;
      box.setAttribute("aria-invalid", text ? "true" : "false");
    };
    box.addEventListener("change", () => {
      refuse(check(box.value.trim()));
      if (!complaint.textContent) set(box.value.trim());
    });
    undoing(box, get, () => refuse(""));
    const row = make("div", { className: "row" }, make("label", { htmlFor: id }, label), box, complaint);
    row.refresh = refresh;
    refresh();
    return explained(row, what, box);
  }

  /** For tests: the values at these places of a slider, and the places that they have. */
  const there = (options, places) => places.map((place) => scaleOf(options).valueAt(place));
  const back = (options, values) => values.map((value) => scaleOf(options).placeOf(value));

  return { quantity, choice, toggle, line, describe, explained, parsed, plainText, there, back };
})();
