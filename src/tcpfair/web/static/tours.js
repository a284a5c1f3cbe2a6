/**
 * The guided tours: a few steps each, with an equation, the one or two settings that the step is about, what to look for in the
 * picture next to it, and a question whose answer unfolds. tours.py checks the texts of tours.yaml and writes them as HTML and MathML;
 * their numbers are computed from the page's run (findings.js) whenever it changes.
 */
"use strict";

tcpfair.tours = (() => {
  const { make, button, newId, short, fixed } = tcpfair.dom;
  const { asked, values, holds, judged, judgedCurve, stretchOf } = tcpfair.findings;
  const LANDING = ["flow 2 rtt_s", "buffer"];
  let root, known, place; // place: {tour, step} or null
  let sketch = null; // the curve of this step: {digest, drawn, isOpen}

  /** Texts of tours.yaml are this project's own and were escaped when the page was built. */
  function html(text, className) {
    const box = make("div", { className });
    box.innerHTML = text;
    return box;
  }

  const stepAt = () => place && known.tours[place.tour].steps[place.step];

  // ---------------------------------------------------------------- what the page is set to

  function apply(step) {
    const { lab } = tcpfair;
    const [first, options] = asked(step.run);
    lab.show(step.plots);
    lab.apply(first, step.beside ? { ...options, compare: asked(step.beside)[0] } : options);
    lab.plots.setZoom(step.zoom, lab.sides()[0].scenario.duration_s);
    lab.look(step.stretch && { from_s: step.stretch[0], length_s: step.stretch[1] }, step.stretch && step.point);
    lab.select(step.panel);
  }

  /** The run of a step in words. */
  function named(run) {
    if (run.example) return `the example ${run.example}`;
    const at = Object.entries(run.point).map(([axis, value]) => `${axis.replace(/_ms$/, " (ms)").replaceAll("_", " ")} ${value}`);
    const changes = Object.entries({ ...run.change, ...run.flow }).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`);
    return [`${run.paper}, ${run.experiment.replaceAll("_", " ")}`, ...at, ...changes].join("; ");
  }

  // ---------------------------------------------------------------- numbers

  /** The sides whose results are of the settings as they are, by name. */
  const current = () => Object.fromEntries(tcpfair.lab.sides().filter((side) => side.result && tcpfair.runs.isCurrent(side)).map((side) => [side.name, side]));

  /** Fills in the numbers of the sides' runs, and of others, in a part of the step. */
  async function fill(box) {
    const step = stepAt();
    const sides = current();
    if (!step || !sides.A || !box.isConnected) return; // the event of an unfolded answer may come after its step was closed
    const isWanted = ([name]) => box.matches(".tour-answer") || box.querySelector(`data.live[value="${name}"]`);
    const found = await values(Object.fromEntries(Object.entries(step.numbers).filter(isWanted)), sides);
    if (!box.isConnected) return;
    for (const node of box.querySelectorAll("data.live")) {
      const { decimals, shipped, times, run } = step.numbers[node.value];
      const [live, before] = [found[node.value], times * shipped].map((x) => fixed(x, decimals).replaceAll("\u202f", ""));
      node.textContent = Number.isNaN(found[node.value]) ? "…" : live;
      node.title = run ? `of another run: ${named(run)}` : `of the run in the plots, digest ${sides.A.result.digest.slice(0, 16)}`;
      if (!Number.isNaN(found[node.value]) && shipped !== null && live !== before) node.append(make("small", {}, ` (as shipped ${before})`));
    }
    const verdict = box.querySelector(".tour-holds");
    if (!verdict) return;
    const kept = step.holds.every((condition) => holds(condition, found, sides.A));
    verdict.textContent = kept ? "Checked in these runs: it holds." : "It does not hold with these settings: the answer is about the run that the step begins with.";
    verdict.classList.toggle("otherwise", !kept);
  }

  /** After a result: the numbers of what is in sight. */
  function refresh() {
    if (!place) return;
    for (const box of root.querySelectorAll(".tour-text, .tour-look, .tour-ask")) fill(box);
    if (stepAt().draw) sketchOver(stepAt());
    const answer = root.querySelector(".tour-answer");
    if (answer.open) fill(answer).catch(() => {}); // the error of a run is shown above the plots
  }

  // ---------------------------------------------------------------- predictions

  const verdictLine = () => make("p", { className: "tour-verdict", role: "status" });
  const tell = (line, is, texts) => (Object.assign(line, { textContent: texts[is] }).dataset.is = is);

  /** A guess before the answer, judged by the runs: right, with a hint after the usual slip, or not yet. */
  function prediction(step, answer) {
    if (!step.predict) return null;
    const { number, unit, choices, hint } = step.predict;
    const verdict = verdictLine();
    const judge = async (text) => {
      const sides = current();
      if (!sides.A) return void (verdict.textContent = "The simulation has not finished yet.");
      verdict.textContent = "Being checked …";
      const { is, right } = judged(step.predict, text, await values(step.numbers, sides), sides.A);
      const told = number === null ? right : `${short(right, 3)} ${unit}`.trim();
      tell(verdict, is, { right: `Right: ${told}.`, slip: `Not yet. ${hint}`, other: "Not yet. Think again, or open the answer.", unknown: "This run does not give this value." });
      if (is === "right") answer.open = true;
    };
    const failed = (error) => (verdict.textContent = `The prediction cannot be checked: ${error.message}`);
    if (number === null) {
      const choose = (text) => button(text, ({ target }) => {
        for (const other of target.parentElement.children) other.setAttribute("aria-pressed", String(other === target));
        judge(text).catch(failed);
      }, { "aria-pressed": "false" });
      return make("div", { className: "tour-predict", role: "group", "aria-label": "Your prediction" }, make("div", { className: "buttons" }, Object.keys(choices).map(choose)), verdict);
    }
    const id = newId("guess");
    const box = make("input", { type: "text", id, inputMode: "decimal", autocomplete: "off", size: 6 });
    const check = (event) => {
      event.preventDefault();
      const guess = tcpfair.inputs.parsed(box.value.includes(".") ? box.value : box.value.replace(",", "."));
      if (Number.isFinite(guess)) judge(String(box.value.trim().replace(",", ".").replace("−", "-"))).catch(failed);
      else verdict.textContent = "A number is needed here, such as 0.5.";
    };
    return make("form", { className: "tour-predict", on: { submit: check } },
      make("div", { className: "buttons" }, make("label", { htmlFor: id }, "Your prediction"), box, unit, make("button", { type: "submit" }, "Check")), verdict);
  }

  // ---------------------------------------------------------------- a curve that is drawn before the run's curve is shown

  /** Covers the curve of the run of the page from the end of a recovery to the next loss, unless it is shown already. */
  function sketchOver(step) {
    const { A: side } = current();
    if (!side || sketch?.isOpen || sketch?.digest === side.result.digest) return;
    const { plot, label } = step.draw;
    const stretch = stretchOf(step.draw, side);
    if (!stretch) return hideSketch();
    const { startS, stopS, peakPkts, wMaxPkts } = stretch;
    const startY = valueAt(step, side, startS);
    const margin = 0.1 * Math.max(peakPkts - startY, 1);
    const drawn = tcpfair.drawn.create({ label, startY, levelY: wMaxPkts, scale: () => tcpfair.lab.plots.scaleOf(plot) });
    sketch = { digest: side.result.digest, drawn, isOpen: false };
    tcpfair.lab.plots.cover(plot, drawn, [startY - margin, peakPkts + margin]);
    tcpfair.lab.plots.setZoom([startS, stopS], side.scenario.duration_s);
    document.body.classList.remove("covering");
  }

  /** The value of the curve that a reader draws, in the run. */
  const valueAt = ({ draw: { plot, flow } }, side, tS) => tcpfair.lab.plots.valuesAt(plot, side, tS).find((line) => line.flow === flow - 1).value;

  function hideSketch() {
    sketch = null;
    document.body.classList.remove("covering");
    tcpfair.lab.plots.cover(null, null);
  }

  /** The task to draw a curve: judged by the curve of the run, which is then shown below it. */
  function drawing(step) {
    if (!step.draw) return null;
    const { ask, hint } = step.draw;
    const verdict = verdictLine();
    const check = () => {
      const { A: side } = current();
      if (!side || !sketch) return void (verdict.textContent = "The simulation has not finished yet.");
      const values = sketch.drawn.values();
      if (!values) return void (verdict.textContent = "Draw the curve first: over the plot, or with the arrow keys.");
      const is = judgedCurve(step.draw, values, sketch.drawn.timesS().map((tS) => valueAt(step, side, tS)), side);
      tell(verdict, is, { right: "Right: your curve is close to that of the run.", slip: `Not yet. ${hint}`, other: "Not yet. Draw another curve, or show the run." });
      if (is === "right") show();
    };
    const show = () => {
      tcpfair.lab.plots.uncover();
      sketch = { ...sketch, isOpen: true };
    };
    return make("div", { className: "tour-predict", role: "group", "aria-label": "Your curve" },
      html(ask), make("div", { className: "buttons" }, button("Check", check, { key: "check curve" }), button("Show the run", show, { key: "show run" })), verdict);
  }

  // ---------------------------------------------------------------- drawing

  function contents() {
    place = null;
    hideSketch();
    tcpfair.lab.plots.point(null);
    document.body.classList.remove("touring");
    const card = ({ id, title, asks }, k) =>
      make("button", { type: "button", className: "tour-card", data: { tour: id }, on: { click: () => go(k, 0) } }, make("strong", {}, title), make("span", {}, asks));
    const own = make("div", { className: "named", role: "group", "aria-label": "Settings to try" });
    root.replaceChildren(
      own,
      make("details", { className: "tour-list", open: root.dataset.open === "true", on: { toggle: (event) => (root.dataset.open = String(event.target.open)) } },
        make("summary", {}, make("h2", {}, "Guided tours")),
        make("ul", {}, known.tours.map((tour, k) => make("li", {}, card(tour, k))))),
    );
    const { preset } = tcpfair.lab.sides()[0];
    tcpfair.lab.named(own, [...Object.keys(preset?.point ?? {}).map((axis) => `axis ${axis}`), ...LANDING]);
  }

  function go(tourNumber, stepNumber, applies = true) {
    place = { tour: tourNumber, step: stepNumber };
    hideSketch();
    const tour = known.tours[tourNumber];
    const step = tour.steps[stepNumber];
    const last = stepNumber === tour.steps.length - 1;
    const heading = make("h2", { tabIndex: -1 }, step.title);
    const answer = make("details", { className: "tour-answer", on: { toggle: ({ target }) => target.open && fill(target) } },
      make("summary", {}, "Answer"), html(step.answer), step.holds.length ? make("p", { className: "tour-holds source" }, "Being checked …") : null);
    const own = make("div", { className: "named", role: "group", "aria-label": "The settings of this step" });
    const setTo = step.beside ? `A: ${named(step.run)}. B: ${named(step.beside)}.` : `The step begins with ${named(step.run)}.`;
    document.body.classList.add("touring");
    document.getElementById("settings").open = false;
    root.replaceChildren(
      make("article", { className: "tour", "aria-label": `Tour: ${tour.title}` },
        make("div", { className: "tour-head" },
          make("span", { className: "tour-count" }, `${tour.title} · Step ${stepNumber + 1} of ${tour.steps.length}`),
          button("Lecture", lecture, { key: "lecture", "aria-pressed": String(isLecture()), title: "Full screen, large type; the arrow keys go through the steps" }),
          button("All tours", () => leave(tour.id))),
        heading,
        html(step.text, "tour-text result"),
        own,
        equations(step),
        make("section", { className: "tour-look result" }, html(step.look)),
        make("section", { className: "tour-question" }, drawing(step), html(step.question, "tour-ask result"), prediction(step, answer), answer),
        make("div", { className: "buttons tour-steps" },
          stepNumber > 0 ? button("◀ Back", () => go(tourNumber, stepNumber - 1), { key: "back" }) : null,
          button(last ? "Done" : "Next ▶", () => (last ? leave(tour.id) : go(tourNumber, stepNumber + 1)), { key: "next" })),
        make("p", { className: "tour-set source" }, setTo),
      ),
    );
    if (root.querySelector("data.shipped")) root.querySelector(".tour-set").append(" Numbers with a dotted underline are means over many runs with the settings as shipped.");
    document.body.classList.toggle("covering", Boolean(step.draw)); // until the curve alone can be covered
    if (applies) apply(step);
    tcpfair.lab.named(own, step.controls);
    tcpfair.lab.plots.point(step.stretch ? null : step.point);
    scrollTo(0, 0);
    heading.focus({ preventScroll: true });
    refresh();
    tcpfair.lab.keepLink();
  }

  function equations(step) {
    if (!step.equations.length) return null;
    return make("div", { className: "tour-equations" },
      step.equations.map((name) => {
        const { mathml, note, label } = known.equations[name];
        const box = make("figure", {});
        box.innerHTML = mathml;
        box.append(make("figcaption", {}, `${label}${note ? ": " : ""}`));
        if (note) box.lastChild.append(...html(note).querySelector("p").childNodes);
        return box;
      }),
    );
  }

  // ---------------------------------------------------------------- lecture: full screen and large type

  const isLecture = () => document.body.classList.contains("lecture");

  function setLecture(on) {
    document.body.classList.toggle("lecture", on);
    root.querySelector("[data-key=lecture]")?.setAttribute("aria-pressed", String(on));
    tcpfair.lab.plots.rebuild();
  }

  function lecture() {
    const on = !isLecture();
    setLecture(on);
    // browsers refuse full screen to scripts and log an error; the type is large without it, too
    if (on && navigator.userActivation?.isActive !== false) document.documentElement.requestFullscreen?.().catch(() => {});
    else if (!on && document.fullscreenElement) document.exitFullscreen();
  }

  /** The arrow keys go through the steps, unless the focus is in something that they move. */
  function onArrow(event) {
    const by = { ArrowRight: "next", ArrowLeft: "back" }[event.key];
    if (!by || !place || !isLecture() || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.("input, select, textarea, [role=slider], [role=tab]")) return;
    event.preventDefault();
    root.querySelector(`[data-key=${by}]`)?.click();
  }

  /** Escape leaves a tour; within an unfolded answer it folds the answer. */
  function onEscape(event) {
    if (event.key !== "Escape" || event.defaultPrevented || !place || event.target.closest("details[open]")) return;
    event.preventDefault();
    leave(known.tours[place.tour].id);
  }

  function leave(id) {
    if (isLecture()) lecture();
    root.dataset.open = "true";
    contents();
    tcpfair.lab.look(null);
    document.getElementById("settings").open = matchMedia("(min-width: 60rem)").matches;
    root.querySelector(`[data-tour="${id}"]`)?.focus();
    tcpfair.lab.keepLink();
  }

  // ---------------------------------------------------------------- the beginning

  async function begin() {
    await tcpfair.ready;
    root = document.getElementById("tours");
    root.addEventListener("keydown", onEscape);
    document.addEventListener("keydown", onArrow);
    document.addEventListener("fullscreenchange", () => !document.fullscreenElement && isLecture() && setLecture(false));
    known = await tcpfair.unpacked("tcpfair-tours").json();
    root.dataset.open = "true";
  }

  const ready = begin().catch((error) => console.error(`tours: ${error.message}`));

  return {
    go, refresh, ready,
    /** The step as an address names it, such as "cubic/2"; empty without one. */
    name: () => (place ? `${known.tours[place.tour].id}/${place.step + 1}` : ""),
    /** Whether an address names a tour of this page. */
    has: (name) => known.tours.some((tour) => tour.id === name.split("/")[0]),
    /** Opens the step that an address names, or the list of tours; `applies`: the page is set to it. */
    open(name, applies) {
      const [id, number] = name.split("/");
      const k = known.tours.findIndex((tour) => tour.id === id);
      const step = Math.min(Math.max(Math.trunc(number) || 1, 1), known.tours[k]?.steps.length ?? 1) - 1;
      if (k >= 0) go(k, step, applies);
      else contents();
    },
  };
})();
