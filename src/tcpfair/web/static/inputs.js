/**
 * Single inputs with their label, unit and explanation: a quantity with or without a slider, a choice, a switch.
 *
 * A quantity is kept in the unit of the scenario (s, b/s, packets) and shown in one that is easy to read (ms, Mb/s):
 * shown = kept * factor. "none" is no limit (infinity).
 */
"use strict";

tcpfair.inputs = (() => {
  const { make, newId, short } = tcpfair.dom;
  const STEPS = 240; // of a slider; on a logarithmic one, a step is 2 to 4 % of the value
  const DIGITS = 3; // significant digits of a slider's value
  const SHOWN_DIGITS = 6;
  const NONE = "none";
  const TYPED_MS = 1000; // letters typed within this time select one option

  /** The text of a box: six significant digits, or all digits of a larger whole number. */
  function plainText(x) {
    if (x === Infinity) return NONE;
    const whole = Math.abs(x) >= 1 ? Math.floor(Math.log10(Math.abs(x))) + 1 : 0;
    return String(Number(x.toPrecision(Math.min(Math.max(SHOWN_DIGITS, whole), 15))));
  }

  /** The number that a reader has typed; NaN if it is not a number. */
  function parsed(text) {
    const decimal = text.trim().replace(/^([^.,]*),(?!\d{3}$)(\d+)$/, "$1.$2"); // a comma before other than three digits
    const plain = decimal.replace(/[\u202f ,]/g, "").replace("−", "-").toLowerCase();
    if (["", NONE, "inf", "infinity", "∞"].includes(plain)) return Infinity;
    return Number(plain);
  }

  const rangeOf = ({ min, max, log = false, zero = false }) => {
    const first = zero && log ? 1 : 0;
    const [low, high] = log ? [Math.log(min), Math.log(max)] : [min, max];
    return { first, low, step: (high - low) / (STEPS - first), log };
  };

  /** Place 0..STEPS of a value on a slider. A slider with `zero` has 0 at its first place. */
  function placeOf(slider, x) {
    const { first, low, step, log } = rangeOf(slider);
    if (x <= 0 && log) return 0;
    const place = first + ((log ? Math.log(x) : x) - low) / step;
    return Math.min(Math.max(Math.round(place), first), STEPS);
  }

  /** The value at a place of a slider. */
  function valueAt(slider, place) {
    const { first, low, step, log } = rangeOf(slider);
    if (place < first) return 0;
    const value = low + (place - first) * step;
    return Number((log ? Math.exp(value) : value).toPrecision(DIGITS));
  }

  /** Adds a description to an input. */
  function describe(control, id) {
    control.setAttribute("aria-describedby", `${control.getAttribute("aria-describedby") || ""} ${id}`.trim());
  }

  /**
   * Adds an explanation to a row: screen readers read it with the inputs. It is visible while the row is hovered or focused; Escape
   * hides it.
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

  /**
   * A text box: `kept` returns the stored text; `take` stores what is typed, and returns a complaint or "". Escape restores the
   * stored text. Returns the box and the element of its complaint.
   */
  function textBox(id, key, kept, take, more = {}) {
    const complaint = make("span", { className: "complaint", id: `${id}-complaint` });
    const box = make("input", { type: "text", id, autocomplete: "off", data: { key }, ...more });
    describe(box, complaint.id);
    const refuse = (text) => {
      complaint.textContent = text;
      box.setAttribute("aria-invalid", String(text !== ""));
    };
    box.addEventListener("change", () => refuse(take(box.value)));
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || box.value === kept()) return;
      event.preventDefault();
      box.value = kept();
      refuse("");
    });
    return { box, complaint, refuse };
  }

  /** A row of the settings, with an explanation; `refresh` updates it and is called once here. */
  function rowOf(className, refresh, what, controls, ...children) {
    const row = make("div", { className }, ...children);
    row.refresh = refresh;
    refresh();
    return explained(row, what, ...controls);
  }

  /**
   * A number with its unit.
   *
   * `get` and `set` read and write the kept value; `least`, `most` (kept units) and `above` bound it, `infinite` allows
   * "none"; `slider` is {min, max, log, zero} in kept units; `hint` gives a text below. Returns the row, with a
   * method `refresh` that shows the current value.
   */
  function quantity({ label, unit = "", factor = 1, get, set, least = -Infinity, most = Infinity, above = null, infinite = false, slider, hint, what = "", key = label }) {
    const id = newId("q");
    const note = make("span", { className: "unit", id: `${id}-unit` }, unit);
    const aside = hint && make("span", { className: "hint" });
    const range = slider && make("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": `${label}, slider`, data: { key: `${key} slider` } });
    const held = () => (get() === undefined ? "" : plainText(get() * factor));
    const { box, complaint, refuse } = textBox(id, key, held, typed, { inputMode: "decimal", "aria-describedby": note.id });

    /** The complaint about a value; empty for a valid one. */
    function wrong(value) {
      if (Number.isNaN(value)) return "a number is needed here";
      if (value === Infinity && !infinite) return "a finite number is needed here";
      if (above !== null && !(value > above)) return `must be above ${short(above * factor)}`;
      if (value < least) return `must be at least ${short(least * factor)}`;
      if (value > most) return `must be at most ${short(most * factor)}`;
      return "";
    }
    /** Stores and shows a value, or returns the complaint. */
    function take(value) {
      const complaints = wrong(value);
      if (complaints) return complaints;
      if (value !== get()) set(value);
      box.value = held();
      showAround();
      return "";
    }
    function typed(text) {
      const shown = parsed(text);
      // rounded to 15 digits, so that 10 ms is exactly 0.01 s
      return take(Number.isFinite(shown) ? Number((shown / factor).toPrecision(15)) : shown);
    }
    function showAround() {
      if (range && document.activeElement !== range) range.value = placeOf(slider, get());
      if (hint) aside.textContent = hint();
      range?.setAttribute("aria-valuetext", `${box.value} ${unit}`);
    }
    function refresh() {
      if (document.activeElement !== box && box.value !== held()) {
        box.value = held();
        refuse("");
      }
      showAround();
    }
    range?.addEventListener("input", () => refuse(take(valueAt(slider, Number(range.value)))));
    const value = make("span", { className: "value" }, box, note);
    return rowOf(range ? "row with-slider" : "row", refresh, what, [box, range], make("label", { htmlFor: id }, label), range, value, aside, complaint);
  }

  /** A choice among values: `options` are [value, text] or texts. */
  function choice({ label, options, get, set, what = "", key = label, wide = false }) {
    const id = newId("c");
    const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
    const select = make("select", { id, data: { key } }, pairs.map(([value, text]) => make("option", { value: String(value) }, String(text))));
    // a choice may rebuild the inputs, which would interrupt typing
    let typedMs = -Infinity;
    let waiting = 0;
    const take = () => {
      clearTimeout(waiting);
      waiting = 0;
      if (select.isConnected) set(pairs[select.selectedIndex][0]);
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
    const refresh = () => {
      const value = String(get());
      // a value that is not an option is shown, too
      if (![...select.options].some((option) => option.value === value)) select.append(make("option", { value, hidden: true, disabled: true }, value));
      select.value = value;
    };
    return rowOf(wide ? "row wide" : "row", refresh, what, [select], make("label", { htmlFor: id }, label), select);
  }

  /** A checkbox. */
  function toggle({ label, get, set, what = "", key = label }) {
    const id = newId("t");
    const box = make("input", { type: "checkbox", id, data: { key }, on: { change: () => set(box.checked) } });
    return rowOf("row check", () => (box.checked = Boolean(get())), what, [box], box, make("label", { htmlFor: id }, label));
  }

  /** A line of text, such as a label or a seed. `check` returns a complaint or undefined. */
  function line({ label, get, set, check = () => "", what = "", key = label }) {
    const id = newId("l");
    const take = (text) => check(text.trim()) || (set(text.trim()), "");
    const { box, complaint } = textBox(id, key, get, take);
    const refresh = () => document.activeElement !== box && (box.value = get());
    return rowOf("row", refresh, what, [box], make("label", { htmlFor: id }, label), box, complaint);
  }

  return { quantity, choice, toggle, line, describe, explained, parsed, plainText, placeOf, valueAt };
})();
