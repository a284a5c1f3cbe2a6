/**
 * The guided tours: a few steps each, with an equation, a run that the page is set to, what to look for, and a question whose
 * answer unfolds. Texts come checked from tours.yaml (tours.py), as HTML and MathML.
 */
"use strict";

tcpfair.tours = (() => {
  const { make, button } = tcpfair.dom;
  let root, known, place; // place: {tour, step} or null

  /** Texts of tours.yaml are this project's own and were escaped when the page was built. */
  function html(text, className) {
    const box = make("div", { className });
    box.innerHTML = text;
    return box;
  }

  // ---------------------------------------------------------------- what the page is set to

  /** What lab.apply takes: a preset, or its scenario with the changes of the step. */
  function asked(run) {
    const preset = { paper: run.paper, experiment: run.experiment, point: run.point, replicate: run.replicate };
    if (!Object.keys(run.change).length && !Object.keys(run.flow).length) return [preset, {}];
    const { scenario, seed, measuring } = tcpfair.presets.load(tcpfair.schema, preset);
    Object.assign(scenario, run.change);
    scenario.flows = scenario.flows.map((flow) => ({ ...flow, ...run.flow }));
    return [scenario, { seed, measuring }];
  }

  function apply(step) {
    const { lab } = tcpfair;
    if (step.packets) {
      lab.select("packets");
      tcpfair.packets.show(step.packets);
      return;
    }
    if (!step.run) return;
    const [first, options] = asked(step.run);
    lab.apply(first, step.beside ? { ...options, compare: asked(step.beside)[0] } : options);
    for (const { key } of tcpfair.panels.PANELS) lab.show(key, step.plots.includes(key));
    lab.select(step.panel);
  }

  /** The run of a step in words. */
  function named(run) {
    const at = Object.entries(run.point).map(([axis, value]) => `${axis.replace(/_ms$/, " (ms)").replaceAll("_", " ")} ${value}`);
    const changes = Object.entries({ ...run.change, ...run.flow }).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`);
    return [`${run.paper}, ${run.experiment.replaceAll("_", " ")}`, ...at, ...changes].join("; ");
  }

  // ---------------------------------------------------------------- drawing

  function contents() {
    place = null;
    const card = ({ id, title, asks }, k) =>
      make("button", { type: "button", className: "tour-card", data: { tour: id }, on: { click: () => go(k, 0) } }, make("strong", {}, title), make("span", {}, asks));
    root.replaceChildren(
      make("details", { className: "tour-list", open: root.dataset.open === "true", on: { toggle: (event) => (root.dataset.open = String(event.target.open)) } },
        make("summary", {}, make("h2", {}, "Guided tours")),
        make("ul", {}, known.tours.map((tour, k) => make("li", {}, card(tour, k))))),
    );
  }

  function go(tourNumber, stepNumber) {
    place = { tour: tourNumber, step: stepNumber };
    const tour = known.tours[tourNumber];
    const step = tour.steps[stepNumber];
    const last = stepNumber === tour.steps.length - 1;
    const heading = make("h2", { tabIndex: -1 }, `${tour.title}: ${step.title}`);
    const answer = make("details", { className: "tour-answer" }, make("summary", {}, "Answer"), html(step.answer));
    const isSet = step.beside ? `A: ${named(step.run)}. B: ${named(step.beside)}. ` : step.run && `The page is set to ${named(step.run)}. `;
    const [words, act] = step.packets ? [`Packet view: ${step.packets}. `, "Show it again"] : [isSet, "Set the page to this again"];
    const setTo = make("p", { className: "tour-set" }, words, button(act, () => apply(step)));
    root.replaceChildren(
      make("article", { className: "tour", "aria-label": `Tour: ${tour.title}` },
        make("div", { className: "tour-head" },
          make("span", { className: "tour-count" }, `Step ${stepNumber + 1} of ${tour.steps.length}`),
          button("All tours", () => leave(tour.id))),
        heading,
        make("div", { className: "tour-body" },
          make("div", { className: "tour-text" }, html(step.text), equations(step), setTo),
          make("div", { className: "tour-play" },
            step.look ? make("section", {}, make("h3", {}, "Look for"), html(step.look)) : null,
            make("section", {}, make("h3", {}, "Find out"), html(step.question), answer))),
        make("div", { className: "buttons tour-steps" },
          stepNumber > 0 ? button("◀ Back", () => go(tourNumber, stepNumber - 1), { key: "back" }) : null,
          button(last ? "Done" : "Next ▶", () => (last ? leave(tour.id) : go(tourNumber, stepNumber + 1)), { key: "next" })),
      ),
    );
    heading.focus({ preventScroll: true });
    root.scrollIntoView({ block: "nearest" });
    apply(step);
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

  /** Escape leaves a tour; within an answer that is unfolded it folds that away, as everywhere. */
  function onEscape(event) {
    if (event.key !== "Escape" || event.defaultPrevented || !place || event.target.closest("details[open]")) return;
    event.preventDefault();
    leave(known.tours[place.tour].id);
  }

  function leave(id) {
    root.dataset.open = "true";
    contents();
    root.querySelector(`[data-tour="${id}"]`)?.focus();
  }

  // ---------------------------------------------------------------- the beginning

  async function begin() {
    await tcpfair.ready;
    root = document.getElementById("tours");
    root.addEventListener("keydown", onEscape);
    known = await (await tcpfair.unpacked("tcpfair-tours")).json();
    root.dataset.open = String(matchMedia("(min-width: 60rem)").matches);
    contents();
  }

  begin().catch((error) => console.error(`tours: ${error.message}`));

  return { go, get place() { return place; } };
})();
