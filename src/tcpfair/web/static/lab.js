/**
 * The page: stores the sides that are compared, and connects settings, runs, plots and tables.
 *
 * Guided tours and tests use `tcpfair.lab`:
 *   apply(scenario | preset, {seed, compare, measuring})   shows and runs it; `compare` is a second one next to it
 *   sides()                         the sides; those that tests and tours read are {result, run, of, measures}
 *   scenario(side), seed(side)      of side "A" (without a name: of the edited one) or "B"
 *   busy()                          whether a run or a self-run is in progress or about to start
 *   select(panel)                   selects a tab: "plots", "numbers", "epochs", "seeds", "packets", "copy"
 *   show(plots)                     these plots, in this order
 *   plots                           what `tcpfair.plots.create` returns
 *   named(box, names)               puts these settings into a box: see `controls.named`
 *   look(stretch, mark)             another stretch in the packet view: see packets.js
 *   keepLink()                      updates the address after a change
 *
 * The page shows the run of the current settings, or the part simulated so far; older results are dimmed.
 */
"use strict";

(() => {
  const { make, button, renew, say, short, plain, fixed } = tcpfair.dom;
  const { copy } = tcpfair.scenarios;
  const CANCELLED = "Cancelled.";
  const LINK_MS = 600; // from the last change to the update of the address
  const TELL_MS = 800; // from the last result to its announcement to screen readers
  const byId = (id) => document.getElementById(id);

  const sides = []; // one, or two that are compared: {name, scenario, seed, preset, measuring, bufferUnit, ...see runs.js}
  const past = []; // earlier settings as text, for "Undo"
  let home = null; // the settings that "Reset" restores
  let edited = 0; // place of the side whose settings are open
  let runs, controls, picker, plots;
  let editTimer = 0;
  let cursorS = null;

  /** `act`, called a while after the last of several calls. */
  function later(ms, act) {
    let timer;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(act, ms);
    };
  }

  /** `act`, called in the next frame, once for all calls before it. */
  function inFrame(act) {
    let frame = 0;
    return () => (frame ||= requestAnimationFrame(() => ((frame = 0), act())));
  }

  const onClick = (acts) => Object.entries(acts).forEach(([id, act]) => byId(id).addEventListener("click", act));

  const side = () => sides[edited];
  const { isCurrent } = tcpfair.runs;
  const ready = () => sides.filter((each) => each.result);
  /** The drawn part of each side: the first part of its current run, or else its last result. */
  const inSight = () => sides.map((one) => (!isCurrent(one) && one.part && isCurrent(one, one.part.of) ? one.part : one)).filter(({ result }) => result);
  const sideNamed = (name) => (name ? sides.find((each) => each.name === name) : side());

  const prefix = (one) => tcpfair.runs.prefix(sides, one);

  // --- Sides ------------------------------------------------------------------------------------------------------------

  /** The first scenario of the page: two well-known flows. */
  const FIRST = {
    ...{ capacity_bps: 100e6, wire_bytes: 1500, payload_bytes: 1448, buffer_pkts: 417, duration_s: 120, sample_s: 0.1, jitter_s: 360e-6 },
    flows: [
      { protocol: "NewReno", cc: "reno", rtt_s: 0.05 },
      { protocol: "CUBIC", cc: "cubic", rtt_s: 0.05, start_s: 10 },
    ],
  };

  function sideOf(scenario, { seed = "1", measuring, preset = null, bufferUnit = "packets" } = {}) {
    const own = copy(scenario);
    const how = tcpfair.presets.measuringOf(own, preset);
    if (!preset) how.everyS = Math.max(own.sample_s, Math.min(1, own.duration_s / 20));
    Object.assign(how, measuring, { analysis: { ...how.analysis, ...measuring?.analysis } });
    return { scenario: own, seed: String(seed), preset, measuring: how, bufferUnit };
  }

  /** A side with the run of a preset or a scenario. */
  function toSide(given, options = {}) {
    if (!("paper" in given)) return sideOf(given, options);
    const own = tcpfair.presets.load(given);
    return { ...own, seed: String(options.seed ?? own.seed), measuring: { ...own.measuring, ...options.measuring } };
  }

  /** Sets the settings of a side. Its old result stays visible until the new one is available. */
  function settle(place, next) {
    const begun = sides[place] || { weights: { state: "none" } };
    sides[place] = Object.assign(begun, { seeds: null, after: null, error: "", keepBuffer: null }, next, { name: place ? "B" : "A" });
  }

  function dropSecond() {
    if (sides.length < 2) return;
    runs.cancel(sides[1]);
    sides.pop();
    edited = 0;
  }

  /** The one or two settings shown next to a picture. */
  let namedIn = null;
  const drawNamed = () => namedIn && controls.named(...namedIn, picker.axis);

  /** Sets a value of a grid axis, for each side whose experiment has it. */
  function move(axis, value) {
    sides.forEach((one, place) => {
      const values = one.preset && tcpfair.presets.experimentOf(one.preset).grid[axis];
      if (values?.includes(value)) take(place, tcpfair.presets.load({ ...one.preset, point: { ...one.preset.point, [axis]: value } }));
    });
  }

  /** Rebuilds what depends on the number of sides and on the edited one. */
  function reshape() {
    picker.build();
    controls.build();
    drawNamed();
    drawSides();
  }

  function drawSides() {
    const two = sides.length > 1;
    const choose = (one, place) => button(`Settings of ${one.name}`, () => ((edited = place), reshape()), { key: `side ${place}`, "aria-pressed": String(edited === place) });
    const again = button(two ? "End comparison" : "Keep as A, change B", () => compare(!two), { key: "compare" });
    renew(
      byId("sides"),
      ...(two ? sides.map(choose) : []),
      tcpfair.inputs.explained(make("span", { className: "tipped" }, again), two ? "Show only A" : "Keeps these settings as A. You then change a copy of them, B. The plots show both", again),
    );
  }

  function compare(on) {
    if (on) {
      const { scenario, seed, preset, measuring, bufferUnit } = side();
      settle(1, copy({ scenario, seed, preset, measuring, bufferUnit }));
      edited = 1;
      runs.ask(sides[1]);
    } else dropSecond();
    reshape();
    draw();
    keepLink();
    byId("sides").querySelector("[data-key=compare]").focus();
  }

  // --- Settings change ----------------------------------------------------------------------------------------------------

  function onEdit() {
    const one = side();
    byId("undo").disabled = byId("reset").disabled = false;
    picker.refresh();
    drawState();
    keepLink();
    clearTimeout(editTimer);
    editTimer = setTimeout(() => {
      editTimer = 0;
      runs.edited(one);
    });
  }

  /** Sets and runs the sides from `place` on. */
  function put(place, ...next) {
    next.forEach((one, k) => settle(place + k, one));
    reshape();
    drawState();
    keepLink();
    next.forEach((_, k) => runs.edited(sides[place + k]));
  }

  /** `put`, to begin with: "Reset" returns to these settings. */
  function take(place, ...next) {
    put(place, ...next);
    plots.setZoom(null);
    home = snapshot();
  }

  /** The settings that "Undo" and "Reset" restore, as text. */
  const snapshot = () => JSON.stringify(sides.map(tcpfair.copying.kept));

  /** Stores the settings for "Undo", if they have changed. */
  function remember() {
    const now = snapshot();
    if (now !== past.at(-1)) past.push(now);
    drawActs();
  }

  const known = ({ preset }) => (preset && tcpfair.schema.presets[preset.paper]?.[preset.experiment] ? preset : null);

  /** Restores the sides from what `copying.kept` returned. */
  function restore(kept) {
    const next = kept.slice(0, 2).map((own) => sideOf(own.scenario, { ...own, preset: known(own) }));
    if (next.length < 2) dropSecond();
    edited = Math.min(edited, next.length - 1);
    put(0, ...next);
  }

  function undo() {
    remember();
    if (past.length < 2) return drawActs();
    past.pop();
    restore(JSON.parse(past.at(-1)));
    past[past.length - 1] = snapshot();
    drawActs();
  }

  function drawActs() {
    byId("undo").disabled = past.length < 2 && snapshot() === past.at(-1);
    byId("reset").disabled = home === snapshot();
  }

  /** The view, for the address. */
  function view() {
    const list = plots.shown();
    const ordinary = tcpfair.panels.PANELS.filter((panel) => panel.shown).map((panel) => panel.key);
    const stretch = tcpfair.packets.view?.stretch;
    return {
      tab: tab === "plots" ? "" : tab,
      plots: list.join() === ordinary.join() ? "" : list.join(),
      zoom: plots.zoomed()?.map((tS) => plain(tS, 6)).join("~"),
      seeds: sides[0]?.seeds ? String(sides[0].seeds.runs.length) : "",
      packets: stretch ? `${stretch.from_s}~${stretch.length_s}` : "",
      tour: tcpfair.tours.name(),
    };
  }

  /** Writes settings and view into the address after a pause of changes. */
  const keepLink = later(LINK_MS, async () => {
    remember();
    const fragment = await tcpfair.copying.fragmentOf(sides, view());
    try {
      history.replaceState(null, "", `#${fragment}`);
    } catch {
      // the browser does not allow a file to change its address; the link can still be copied
    }
    drawCopy(fragment);
  });

  // --- Drawing --------------------------------------------------------------------------------------------------------------

  /** A column for each side, named if two are shown. */
  function perSide(box, content) {
    const found = ready().map((one) => [one, content(one)]).filter(([, node]) => node);
    box.classList.toggle("two", found.length > 1);
    renew(box, ...found.map(([one, node]) => (sides.length > 1 ? make("div", {}, make("h2", {}, `Scenario ${one.name}`), node) : node)));
  }

  /** Shows whether the plots are of the current settings, and a line if they are not. */
  function drawState() {
    const old = sides.some((one) => !isCurrent(one));
    const parts = inSight().filter((one) => one.result.digest === undefined);
    renew(byId("differs"), sides.length > 1 ? tcpfair.results.differing(sides) : "");
    document.body.dataset.state = !old ? "current" : parts.length ? "part" : "old";
    const upTo = parts.map((one) => `${prefix(one)}${plain(one.result.t_s.at(-1), 3)} of ${plain(one.of.scenario.duration_s, 4)} s`).join(", ");
    byId("state").textContent = !old || !ready().length ? "" : parts.length ? `Being simulated: ${upTo}. Dimmed parts show the settings before.` : "Dimmed: the run of the settings before.";
    plots.dim();
  }

  /** Redraws what shows the progress of a run. */
  function drawPart() {
    plots.show(inSight());
    drawState();
    drawStrip();
  }

  function drawStrip() {
    if (tab === "packets") return;
    byId("strip").classList.toggle("two", sides.length > 1);
    byId("strip").replaceChildren(...inSight().map((one) => tcpfair.strip.of(one, cursorS, prefix(one))));
  }

  function draw() {
    drawPart();
    perSide(byId("sentence"), (one) => make("p", {}, tcpfair.results.sentence(one)));
    renew(byId("tiles"), ready().length ? tcpfair.results.tiles(ready()) : "");
    drawFlows();
    perSide(byId("references"), (one) => tcpfair.results.references(one, () => runs.askReferences(one)));
    tcpfair.tours.refresh();
    perSide(byId("print"), tcpfair.results.printTable);
    drawOpenTab();
    drawAsk();
  }

  const drawFlows = () => perSide(byId("flows-now"), (one) => tcpfair.results.flowTable(one, plots, cursorS));

  const drawAtCursor = inFrame(() => ready().length && (drawFlows(), drawStrip()));

  const TABS = {
    plots: null,
    numbers: () => renew(byId("numbers"), tcpfair.results.numbers(ready())),
    epochs: () => perSide(byId("epochs"), tcpfair.results.epochs),
    seeds: () => perSide(byId("seeds-found"), (one) => (one.seeds ? tcpfair.results.seeds(one) : null)),
    packets: () => tcpfair.packets.mount(byId("tab-packets")).follow(ready().includes(side()) ? side() : ready()[0]),
    copy: () => keepLink(),
  };
  let tab = "plots";

  const drawOpenTab = () => ready().length && TABS[tab]?.();

  function drawCopy(fragment) {
    if (tab !== "copy") return;
    const link = `${isInNotebook ? "lab.html" : location.href.split("#")[0]}#${fragment}`;
    perSide(byId("copies"), (one) => tcpfair.copying.panel(one, link));
  }

  function select(name, focus = false) {
    if (!(name in TABS)) throw new Error(`panel: ${name} is unknown; known are ${Object.keys(TABS).join(", ")}`);
    tab = name;
    for (const button of document.querySelectorAll("#tabs [role=tab]")) {
      const on = button.dataset.tab === name;
      button.setAttribute("aria-selected", String(on));
      button.tabIndex = on ? 0 : -1;
      byId(`tab-${button.dataset.tab}`).hidden = !on;
      if (on && focus) button.focus();
    }
    document.body.dataset.tab = name;
    plots.redraw();
    drawOpenTab();
    drawStrip();
    keepLink();
  }

  function onTabKey(event) {
    const names = Object.keys(TABS);
    const at = names.indexOf(tab);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    select(names[(next + names.length) % names.length], true);
  }

  // --- Progress ---------------------------------------------------------------------------------------------------------------

  const drawProgress = inFrame(() => {
    const working = sides.filter((one) => one.job);
    const old = working.filter((one) => performance.now() - one.job.startedMs > 250);
    if (!old.length && byId("progress").contains(document.activeElement)) byId("work").focus({ preventScroll: true });
    byId("progress").hidden = !old.length;
    if (working.length && !old.length) setTimeout(drawProgress, 260);
    if (!old.length) return;
    byId("bar").value = Math.min(...old.map((one) => one.job.share));
    const words = (one) => [make("span", { className: "what" }, `${prefix(one)}${one.job.what}, `), `${Math.round(100 * one.job.share)} % `];
    byId("doing").replaceChildren(...old.flatMap(words));
  });

  /** Shows the error of a side's last run at the top. */
  function drawFailed() {
    const failed = sides.filter((one) => one.error);
    const line = (one) => `${prefix(one)}${one.error}${one.result ? ". The page shows the run before it" : ""}.`;
    const box = byId("failed");
    const text = failed.map(line).join("\n");
    if (box.dataset.text === text) return;
    box.dataset.text = text;
    renew(box, ...failed.map((one) => make("p", {}, make("span", { className: "error" }, line(one)), " ", button("Try again", () => runs.ask(one)))));
  }

  /** One line on each side's last run. */
  function drawStatus() {
    drawFailed();
    byId("status").replaceChildren(
      ...ready().map((one) => {
        const { packets, seconds, digest } = one.result;
        const speed = seconds > 0.02 ? ` (${short(packets / seconds / 1e6, 2)} million a second)` : "";
        return make("p", {}, `${prefix(one)}${fixed(packets, 0)} packets in ${short(seconds, 2)} s${speed}; digest `, make("code", { title: digest }, digest.slice(0, 16)), one.weights.state === "ready" ? `; weights ${one.weights.note}` : "");
      }),
    );
  }

  /** Offers to run self-runs that are too long to start automatically. */
  function drawAsk() {
    const waiting = ready().filter((one) => one.weights.state === "waiting");
    renew(byId("ask"), ...waiting.map((one) => make("p", {}, `NRU needs ${one.weights.note}${sides.length > 1 ? ` for ${one.name}` : ""}. `, button("Run them", () => runs.askSelfRuns(one)))));
  }

  /** Announces the main numbers after a pause of results. */
  const tell = later(TELL_MS, () => {
    const numbersOf = (one) => tcpfair.results.mainNumbers(one).map(([name, value]) => `${name}: ${value}`).join("; ");
    say(ready().map((one) => `${sides.length > 1 ? `Run ${one.name}` : "The run"} has finished. ${numbersOf(one)}.`).join(" "));
  });

  function onRuns(one, what) {
    if (!sides.includes(one)) return;
    if (what === "progress") return void (drawFailed(), drawProgress(), drawState());
    if (what === "part") return void drawPart();
    if (what === "cancelled") byId("said").textContent = CANCELLED;
    if (what === "result") {
      if (byId("said").textContent === CANCELLED) byId("said").textContent = "";
      draw();
      tell();
      document.body.dataset[`digest${one.name}`] = one.result.digest;
      keepLink(); // with the number of seeds that have ended
    }
    drawState();
    drawStatus();
    drawAsk();
  }

  // --- Keys --------------------------------------------------------------------------------------------------------------

  /** Escape folds the part with the focus. An open select handles Escape itself. */
  function onEscape(event) {
    if (event.key !== "Escape" || event.defaultPrevented || event.target.tagName === "SELECT") return;
    for (let node = event.target.closest("details[open]"); node; node = node.parentElement?.closest("details[open]")) {
      const summary = node.querySelector("summary");
      if (!summary.getClientRects().length) continue; // settings next to the plots do not fold
      event.preventDefault();
      summary.click(); // not `open`: the parts of the settings remember what a reader does
      summary.focus();
      return;
    }
  }

  /** Scrolls back to a focus in a column that has stopped at its end. Browsers do not, because the column moves less than the page. */
  function onFocus({ target }) {
    if (isNarrow()) return; // the results scroll in their own box
    for (let at; (at = target.getBoundingClientRect()).bottom < 0 && scrollY > 0; ) scrollBy(0, at.top);
  }

  const isNarrow = () => matchMedia("(max-width: 60rem)").matches;

  // --- The bar above the plots ----------------------------------------------------------------------------------------------

  function setUpPlots() {
    const range = byId("sight");
    plots = tcpfair.plots.create(byId("plots"), {
      onCursor: (tS) => ((cursorS = tS), drawAtCursor()),
      onZoom: ([fromS, toS], zoomed) => {
        range.textContent = zoomed ? `${plain(fromS, 5)} to ${plain(toS, 5)} s` : "all of the run";
        keepLink();
      },
    });
    onClick({
      ...{ "zoom-in": () => plots.zoomBy(0.5), "zoom-out": () => plots.zoomBy(2), "zoom-all": () => plots.setZoom(null) },
      ...{ "move-left": () => plots.moveBy(-0.5), "move-right": () => plots.moveBy(0.5) },
    });
    byId("which").append(
      ...tcpfair.panels.PANELS.map((panel) => {
        const id = `show-${panel.key}`;
        const toggle = ({ target }) => tcpfair.lab.show([...plots.shown().filter((key) => key !== panel.key), ...(target.checked ? [panel.key] : [])]);
        const box = make("input", { type: "checkbox", id, checked: panel.shown, on: { change: toggle } });
        return make("span", { className: "check" }, box, make("label", { htmlFor: id }, panel.title));
      }),
    );
  }

  /** Saves a plot as a picture, or the samples as a table. */
  function setUpSaving() {
    const which = byId("save-which");
    which.append(...tcpfair.panels.PANELS.map((panel) => make("option", { value: panel.key }, panel.title)));
    const nameOf = (ending, { result } = ready()[0]) => `tcpfair-${result.digest.slice(0, 8)}-${ending}`;
    const file = (content, type, name) => {
      const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
    };
    const shown = () => (plots.shown().includes(which.value) || tcpfair.lab.show([...plots.shown(), which.value]), plots.svgOf(which.value));
    const savePng = async () => {
      const name = nameOf(`${which.value}.png`); // another run may end meanwhile
      const picture = new Image();
      picture.src = `data:image/svg+xml,${encodeURIComponent(shown())}`;
      await picture.decode();
      const canvas = make("canvas", { width: 2 * picture.width, height: 2 * picture.height });
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => file(blob, "image/png", name));
    };
    onClick({
      "save-svg": () => ready().length && file(shown(), "image/svg+xml", nameOf(`${which.value}.svg`)),
      "save-png": () => ready().length && savePng(),
      "save-csv": () => ready().forEach((one) => file(tcpfair.copying.csvOf(one), "text/csv", nameOf(`${one.name}.csv`, one))),
    });
  }

  /** Reads scenarios that are pasted, and dropped files. */
  function setUpPasting() {
    const use = (text) => {
      const { scenario, seed } = tcpfair.paste.scenarioOf(text);
      take(edited, sideOf(scenario, { seed }));
    };
    /** Shows a recording next to the simulated throughputs, until it is removed. */
    const record = (name, found) => {
      if (!found) return false;
      plots.record(found.lines);
      const streams = found.lines.filter(({ panel }) => panel === "throughput").length;
      const remove = button("Remove", () => (plots.record([]), byId("recorded").replaceChildren()), { "aria-label": "Remove the recording" });
      byId("recorded").replaceChildren(make("p", {}, `Dotted: ${name}, ${streams === 1 ? "a stream" : `${streams} streams`} of ${found.by}, ${found.of}. `, remove));
      if (!plots.shown().includes("throughput")) tcpfair.lab.show(["throughput", ...plots.shown()]);
      select("plots");
      return true;
    };
    const told = (act, tell) => {
      try {
        act();
        tell("");
      } catch (error) {
        tell(error.message);
      }
    };
    onClick({ "use-paste": () => told(() => use(byId("paste").value), (text) => (byId("paste-complaint").textContent = text)) });
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", async (event) => {
      event.preventDefault();
      const [file, ...others] = event.dataTransfer.files;
      const text = await file?.text().catch(() => null); // a folder has none
      const read = () => {
        const wanted = "a scenario, a report of iperf3 or a log of ss";
        if (others.length || text === null) throw new Error(`drop one file: ${wanted}`);
        if (!text.trim()) throw new Error(`this file is empty; drop ${wanted}`);
        if (text.includes("\0")) throw new Error(`this file is no text; drop ${wanted}`);
        return record(file.name, tcpfair.paste.recordingOf(text)) || use(text);
      };
      if (file) told(read, (complaint) => (byId("said").textContent = complaint && `${file.name}: ${complaint}.`));
    });
  }

  async function runSeeds() {
    const box = byId("seed-count");
    box.value = Math.min(Math.max(Math.round(Number(box.value)) || 10, 2), 100);
    for (const one of ready()) await runs.askSeeds(one, Number(box.value));
  }

  // --- For the other parts of the page ----------------------------------------------------------------------------------------

  tcpfair.lab = {
    apply(given, { compare: second = null, ...options } = {}) {
      if (!second) dropSecond();
      edited = 0;
      take(0, ...[given, second].filter(Boolean).map((one) => toSide(one, options)));
    },
    sides: () => sides,
    named: (box, names) => {
      namedIn = [box, names];
      drawNamed();
    },
    get plots() {
      return plots;
    },
    look: (stretch, mark) => tcpfair.packets.mount(byId("tab-packets")).look(stretch, mark),
    keepLink,
    scenario: (name) => copy(sideNamed(name)?.scenario ?? null),
    seed: (name) => sideNamed(name)?.seed,
    busy: () => editTimer !== 0 || sides.some((one) => one.job || one.wanted),
    select,
    show(keys) {
      plots.setShown(keys);
      for (const { key } of tcpfair.panels.PANELS) byId(`show-${key}`).checked = keys.includes(key);
      keepLink();
    },
  };

  // --- The beginning ------------------------------------------------------------------------------------------------------------

  async function begin() {
    await tcpfair.ready;
    const lab = { side, edited: onEdit, reshaped: reshape };
    runs = tcpfair.runs.create(onRuns);
    controls = tcpfair.controls.create(byId("controls"), lab);
    picker = tcpfair.picker.create(byId("presets"), {
      ...lab,
      load: (preset) => take(edited, tcpfair.presets.load(preset)),
      free: () => take(edited, sideOf(side().scenario, { seed: side().seed })),
      example: (name) => {
        const { scenario, from_s, length_s } = tcpfair.schema.examples[name];
        take(edited, sideOf(scenario));
        tcpfair.lab.look({ from_s, length_s });
        select("packets");
      },
      move,
    });
    setUpPlots();
    setUpSaving();
    setUpPasting();
    onClick({
      undo,
      reset: () => (restore(JSON.parse(home)), (home = snapshot())),
      larger: ({ target }) => target.setAttribute("aria-pressed", String(document.body.classList.toggle("large"))),
      cancel: () => sides.forEach((one) => runs.cancel(one)),
      "run-seeds": runSeeds,
    });
    document.body.classList.toggle("embed", isInNotebook || new URLSearchParams(location.search).has("embed"));
    byId("tabs").addEventListener("keydown", onTabKey);
    byId("tabs").addEventListener("click", ({ target }) => target.dataset.tab && select(target.dataset.tab));
    document.addEventListener("keydown", onEscape);
    document.addEventListener("focusin", onFocus);
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault(); // the address has the settings
      byId("work").focus();
    });
    if (document.body.matches(".embed") || isNarrow()) byId("settings").open = false;
    await fromAddress();
    addEventListener("hashchange", fromAddress);
    document.body.dataset.ready = "true";
  }

  /** Whether the page is in a notebook, in a frame without an address. */
  const isInNotebook = location.protocol === "about:";

  /** The fragment with the settings; in a notebook it is the name of the frame. */
  const fragment = () => (isInNotebook ? `#${name}` : location.hash);

  /** Sets the page to the settings of the address, or to the first scenario. */
  async function fromAddress() {
    let found = null;
    byId("said").textContent = "";
    try {
      const named = tcpfair.presets.named(fragment());
      found = named ? [named] : await tcpfair.copying.sidesOf(fragment());
      found?.forEach((kept) => tcpfair.check(kept.scenario));
    } catch (error) {
      found = null;
      byId("said").textContent = `The link cannot be opened: ${error.message}`;
    }
    const seen = tcpfair.copying.viewOf(fragment());
    await tcpfair.tours.ready;
    if (seen.tour && !tcpfair.tours.has(seen.tour)) {
      byId("said").textContent = `The link cannot be opened: there is no tour ${seen.tour}`;
      seen.tour = "";
    }
    if (!found && seen.tour) tcpfair.tours.open(seen.tour, true);
    else if (found || !sides.length) {
      restore(found || [{ scenario: FIRST }]);
      home = snapshot();
      tcpfair.tours.open(seen.tour || "", false);
    }
    if (found || seen.tour) look(seen);
    remember();
  }

  /** Tab, plots, zoom, stretch and seeds as an address has them. */
  function look({ tab: name, plots: keys, zoom, seeds, packets }) {
    const pair = (text) => text.split("~").map(Number);
    const known = (key) => tcpfair.panels.PANELS.some((panel) => panel.key === key);
    if (keys) tcpfair.lab.show(keys.split(",").filter(known));
    const [from_s, length_s] = pair(packets ?? "");
    if (packets) tcpfair.lab.look({ from_s, length_s });
    if (name in TABS) select(name);
    if (zoom) plots.setZoom(pair(zoom), sides[0].scenario.duration_s);
    for (const one of sides) if (Number(seeds) > 0) runs.askSeeds(one, Math.min(Number(seeds), 100));
  }

  begin().catch((error) => {
    byId("said").textContent = `The page cannot start: ${error.message}`;
    byId("said").className = "error";
  });
})();
