/**
 * Results as text and tables: main numbers, values at the cursor, published values next to the run, all measures, epochs,
 * several seeds.
 */
"use strict";

tcpfair.results = (() => {
  const { make, button, svg, flowColour, short, plain, fixed, table, MISSING } = tcpfair.dom;
  const FLOWS_LISTED = 14; // with more, measures only of all flows together
  const m = tcpfair.measures;
  const { countDuring, givenBack } = tcpfair.analysis;
  const { isCurrent, flowName, prefix } = tcpfair.runs;
  const MS_PER_S = 1e3;
  const EPOCHS_SHOWN = 200; // of one flow

  /** Words and unit of a measure, by its name without the rule of the weights. */
  const told = (metric) => tcpfair.schema.metrics[metric.split("@")[0]] || {};
  const wordsOf = (metric) => (told(metric).words || metric) + (metric.includes("@") ? `, by ${metric.split("@")[1].replaceAll("_", " ")}` : "");
  const unitOf = (metric) => told(metric).unit || "";

  /** A value of a plot, with its decimals. */
  const asPlotted = (key, value) => fixed(value, tcpfair.schema.plots[key].decimals);

  /** The time that is measured. */
  const measured = ({ of: { measuring: { fromS, toS } } }) => `${plain(fromS)} to ${plain(toS)} s`;

  const valueOf = (side, metric, flow = 0) => side.measures.find((row) => row.metric === metric && row.flow === flow)?.value ?? NaN;

  const caseOf = (side) => m.caseLetter(valueOf(side, "U_N+"), valueOf(side, "U_N-"));

  // --- The main numbers ---------------------------------------------------------------------------------------------

  const CASES = { A: "all flows unfair", B: "some fair, some unfair", C: "some exactly fair, some unfair", D: "all at or above fair", E: "all exactly fair" };

  /** The main numbers: [name, value, explanation]. */
  function mainNumbers(side) {
    const several = side.run.flows.length > 1;
    const weighted = several && side.weights.state === "ready";
    const { fromS, toS, analysis } = side.of.measuring;
    const [tU, fairShare] = [valueOf(side, "T_U"), valueOf(side, "converged_share")];
    const since = Number.isNaN(fairShare) ? "" : `, then ${fixed(100 * fairShare, 0)} % of the time`;
    const overflows = countDuring(side.result.t_s, side.result.link.dropped_pkts, fromS, toS);
    return [
      ["of the link used", `${fixed(100 * valueOf(side, "utilisation"), 1)} %`, "payload of all flows over what the full link carries"],
      several && [wordsOf("jfi_mean"), fixed(valueOf(side, "jfi_mean"), 3), "Jain's index of each interval, averaged: 1 when all get the same"],
      several && ["J of the means", fixed(valueOf(side, "jfi_of_means"), 3), "Jain's index of the mean throughputs"],
      side.run.flows.length === 2 && [wordsOf("ratio"), short(ratioOf(side)), "ratio of the mean throughputs"],
      weighted && ["NRU case", `case ${caseOf(side)}`, CASES[caseOf(side)] || "no flow"],
      weighted && ["all flows fair at once", Number.isNaN(tU) ? "never" : `first after ${fixed(tU, 1)} s${since}`, `T_U: since t_e = ${plain(analysis.t_e_s)} s, in means over ${plain(analysis.convergence_window_s)} s; once is not for good`],
      ["overflows", fixed(overflows, 0), `packets that found the buffer full, from ${measured(side)}; several may be one loss event`],
    ].filter(Boolean);
  }

  /** The main numbers to unfold, with explanations; two sides next to each other. */
  function tiles(sides) {
    const all = sides.map((side) => new Map(mainNumbers(side).map(([name, ...rest]) => [name, rest])));
    const names = [...new Set(all.flatMap((of) => [...of.keys()]))];
    const rows = names.map((name) => [name, ...all.map((of) => make("strong", {}, of.get(name)?.[0] ?? MISSING)), [...new Set(all.map((of) => of.get(name)?.[1]).filter(Boolean))].join("; ")]);
    const head = ["measure", ...(sides.length > 1 ? sides.map(({ name }) => name) : ["value"]), "meaning"];
    return make("details", { className: "more measures" }, make("summary", {}, sides.length > 1 ? "Measures of A and B, in words" : "Measures of this run, in words"),
      table("The main measures", head, rows, { className: "tiles", align: [...head.slice(1).map(() => ""), "left"] }));
  }

  const DIFFERENCES_TOLD = 6;

  /** What A and B differ in, in a line. */
  function differing([one, other]) {
    const told = (value) => (typeof value === "number" ? plain(value) : String(value));
    const found = tcpfair.scenarios.differences(one, other);
    const parts = found.slice(0, DIFFERENCES_TOLD).map(([field, ...values]) => make("span", {}, make("code", {}, field), ` ${values.map(told).join(" | ")}`));
    const more = found.length - parts.length;
    return make("p", {}, found.length ? "A and B differ in (A | B): " : "A and B are equal: change a setting of B.", parts.flatMap((part, k) => [k ? "; " : "", part]), more > 0 ? `; and ${more} more` : "");
  }

  const percent = (share) => `${fixed(100 * share, 0)} %`;
  const EVEN = 0.05; // shares that differ by less from equal ones

  /** The result in a sentence: the share of each flow, and what distinguishes the flows. */
  function sentence(side) {
    const { run, result } = side;
    const means = run.foreground.map((_, k) => valueOf(side, "throughput_mean", k + 1));
    const total = m.sum(means);
    if (!(total > 0)) return "No data arrives in the measured time.";
    const order = means.map((_, k) => k).sort((a, b) => means[b] - means[a]);
    const name = (k) => (run.flows.filter(({ protocol }) => protocol === run.flows[k].protocol).length > 1 ? `flow ${k + 1} (${run.flows[k].protocol})` : run.flows[k].protocol);
    const upper = (text) => text[0].toUpperCase() + text.slice(1);
    const [first, last] = [order[0], order.at(-1)];
    const carried = valueOf(side, "utilisation");
    // data in order counts when a hole before it is filled, which may be after the seconds in which the link carried it
    const used = carried > 1 + EVEN ? "Data that was held back by losses before the measured time arrives in it." : `${percent(Math.min(carried, 1))} of the link is used.`;
    if (means.length === 1) return `${upper(name(0))} alone has ${fixed(means[0], 1)} Mb/s: ${used}`;
    const share = means[first] / total;
    if (Math.abs(share - 1 / means.length) < EVEN) return `The flows share equally: ${upper(name(first))} has ${percent(share)} of what they carry, ${name(last)} ${percent(means[last] / total)}. ${used}`;
    const back = [first, last].map((k) => givenBack(result.events.filter((event) => event.flow === run.foreground[k])));
    const rtt = [first, last].map((k) => run.flows[k].rtt_s * MS_PER_S);
    const why = [];
    if (Math.abs(back[0] - back[1]) > EVEN) why.push(`it reduces its window by ${percent(back[0])} at a loss, ${name(last)} by ${percent(back[1])}`);
    if (Math.abs(Math.log(rtt[0] / rtt[1])) > EVEN) why.push(`its round trip without queue takes ${plain(rtt[0], 3)} ms, that of ${name(last)} ${plain(rtt[1], 3)} ms`);
    return `${upper(name(first))} gets ${percent(share)} of the throughput${means.length > 2 ? `, an equal share is ${percent(1 / means.length)}` : ""}${why.length ? `: ${why.join(", and ")}` : ""}. ${used}`;
  }

  const ratioOf = (side) => valueOf(side, "throughput_mean", 2) / valueOf(side, "throughput_mean", 1);

  // --- Values at the cursor -------------------------------------------------------------------------------------------

  /** A table of the flows: at the cursor, or means over what is measured. */
  function flowTable(side, plots, tS) {
    const at = (key) => new Map(tS === null ? [] : plots.valuesAt(key, side, tS).map(({ flow, value }) => [flow, value]));
    const [throughput, cwnd, ssthresh, rtt, u] = ["throughput", "cwnd", "ssthresh", "rtt", "nru"].map(at);
    const { fromS, toS } = side.of.measuring;
    const place = new Map(side.run.foreground.map((n, k) => [n, k]));
    const [first, last] = m.windowOf(side.result.t_s, fromS, toS);
    const mean = (values) => m.meanOfKnown(values.subarray(first, last));
    const rows = side.result.flows.map((flow, n) => {
      const k = place.get(n);
      const counted = k !== undefined;
      const background = !counted && flow.delivered_pkts;
      const seconds = Math.max((last - first) * side.of.scenario.sample_s, 1e-12);
      const packets = background ? countDuring(side.result.t_s, flow.delivered_pkts, fromS, toS) : 0;
      const losses = m.lossesOf(side.result.events, n).filter(({ t_s }) => t_s > fromS && t_s <= toS).length;
      const meanMbps = counted ? valueOf(side, "throughput_mean", k + 1) : (packets * side.of.scenario.payload_bytes * 8) / seconds / 1e6;
      const name = make("span", { className: "flow-name" }, tcpfair.plots.swatch(n), flowName(side, n), make("span", { className: "source" }, ` ${plain(side.of.scenario.flows[n].rtt_s * MS_PER_S, 4)} ms`));
      if (tS !== null) return [name, asPlotted("throughput", throughput.get(n)), "", ...Object.entries({ nru: u, cwnd, ssthresh, rtt }).map(([key, of]) => asPlotted(key, of.get(n)))];
      const uN = counted && side.weights.state === "ready" ? asPlotted("nru", valueOf(side, "U_n", k + 1)) : "";
      const total = valueOf(side, "throughput_sum");
      return [name, asPlotted("throughput", meanMbps), counted ? `${fixed((100 * meanMbps) / total, 1)} %` : "", uN, asPlotted("cwnd", mean(flow.cwnd_pkts)), String(losses), asPlotted("rtt", mean(flow.srtt_s) * MS_PER_S)];
    });
    const time = tS === null ? `Means from ${measured(side)}` : `At ${fixed(tS, tS < 10 ? 3 : 2)} s`;
    const head = ["flow", "Mb/s", tS === null ? "share" : "", "NRU, dB", tS === null ? "mean cwnd" : "cwnd", tS === null ? "loss events" : "ssthresh", tS === null ? "mean RTT, ms" : "RTT, ms"];
    const line = (key, name) => plots.valuesAt(key, side, tS).map(({ label, value }) => `${name}${label === "reverse" ? " (reverse)" : ""} ${asPlotted(key, value)} ${tcpfair.schema.plots[key].unit}`.trim());
    const more = tS === null ? "" : [...line("queue", "queue"), ...(side.run.flows.length > 1 ? line("jfi", "J") : [])].join(" · ");
    return make("div", { className: "flows-now" }, table(more ? `${time} · ${more}` : time, head, rows, { className: "numbers" }));
  }

  // --- The three references -------------------------------------------------------------------------------------------

  /** Goodput over that in three reference worlds, or the offer to simulate them: `ask` does. */
  function references(side, ask) {
    if (side.run.flows.length < 2 || side.run.flows.length > FLOWS_LISTED) return null;
    const { references: found } = side;
    const now = found && isCurrent(side, found.of) && JSON.stringify(found.of.measuring) === JSON.stringify(side.measuring);
    const again = button(found ? "Compare again, with these settings" : "Compare with three references", ask, { key: `references ${side.name}` });
    if (!found) return make("p", {}, again, make("span", { className: "source" }, " The references are what each flow gets against its own kind, alone, and at an equal share."));
    const { rows } = found;
    const pair = (y, reference) => [fixed(reference, 2), fixed(y / reference, 3)];
    const cells = rows.map(({ n, y, self, solo, maxMin }) => [flowName(found, n), fixed(y, 2), ...[self, solo, maxMin].flatMap((reference) => pair(y, reference))]);
    const head = ["flow", "gets, Mb/s", "against its own kind, Mb/s", "ratio", "alone, Mb/s", "ratio", "max-min share, Mb/s", "ratio"];
    return make("div", { className: now ? "" : "stale" },
      table(`What each flow gets over three references, means from ${measured(found)}${now ? "" : ": of the settings before"}`, head, cells, { className: "numbers" }),
      make("p", { className: "source" }, "Against its own kind: all flows have the algorithm and the RTT of this one, and start at the same times; 10 log₁₀ of the ratio is the NRU of the mean, in dB. Alone: no other long flow; 1 − ratio is the harm done. Max-min share: an equal part of the link, and of what others cannot use."),
      now ? null : again);
  }

  // --- Published values and the run --------------------------------------------------------------------------------------

  const exhibitText = (id) => id.replace(/^[a-z]+[0-9]*\./, "").replace(/^fig(?=\d)/, "figure ").replace(/^table(?=\d)/, "table ").replace(/^sec-/, "section ");

  const open = new Set(); // unfolded parts

  /** The published values of the preset, next to this run and, if available, several seeds. */
  function printTable(side) {
    const numbers = tcpfair.presets.printedAt(side.of.preset);
    if (!numbers.length) return null;
    const analysis = side.of.measuring.analysis;
    const seeds = (side.seeds?.runs || []).map((each) => each.measures);
    const changed = !tcpfair.presets.isUnchanged(side.of);
    const row = (number) => {
      const scatter = tcpfair.presets.SCATTER[number.runs];
      const live = scatter ? null : tcpfair.presets.liveValue(number, [side.measures], analysis);
      const many = seeds.length ? tcpfair.presets.liveValue(number, seeds, analysis) : null;
      const judged = many || live;
      const within = judged ? tcpfair.presets.isWithin(number, judged.value) : null;
      const verdict = within === null ? "" : within ? "within" : "outside";
      const unit = unitOf(number.metric);
      const spread = many && !scatter && !Number.isNaN(many.sd) ? ` ± ${short(many.sd, 2)}` : "";
      const where = [...(number.exhibits || []).map(exhibitText), number.derived].filter(Boolean).join("; ");
      return [
        make("span", {}, wordsOf(number.metric), scatter ? `, ${scatter}` : "", number.flow ? `, flow ${number.flow}` : "", unit && number.runs !== "cv" ? `, ${unit}` : ""),
        plain(number.value, 4),
        live ? short(live.value, 3) : make("span", { className: "source" }, scatter ? "with several seeds" : needsWeights(number) ? "after the self-runs" : MISSING),
        ...(seeds.length ? [many ? `${short(many.value, 3)}${spread}` : ""] : []),
        make("span", { className: `verdict ${verdict}` }, verdict),
        make("span", { className: "source" }, where),
      ];
    };
    const head = ["number", "published", "this run", ...(seeds.length ? [`${seeds.length} runs`] : []), "(tolerance)", "(source)"];
    const align = ["", "", "", ...(seeds.length ? [""] : []), "left", "left"];
    const show = (caption, rows) => table(caption, head, rows.map(row), { className: "numbers print", align });
    const stated = numbers.filter((number) => !number.derived);
    const derived = numbers.filter((number) => number.derived);
    const where = `${measured(side)}${changed ? "; the settings are no longer the paper's" : ""}`;
    return make("div", {},
      stated.length ? show(`Published and simulated, ${where}`, stated) : null,
      derived.length ? make("details", { className: "more", open: open.has("derived"), on: { toggle: ({ target }) => open[target.open ? "add" : "delete"]("derived") } },
        make("summary", {}, derived.length === 1 ? "one number that follows from the published ones" : `${derived.length} numbers that follow from the published ones`), show(`Numbers that follow from the published ones, ${where}`, derived)) : null,
    );
  }

  const needsWeights = (number) => /^(U_|S_|T_U|converged)/.test(number.metric);

  // --- All measures -----------------------------------------------------------------------------------------------------

  /** Every measure of these sides: a row for each, columns for all flows together and for each flow. */
  function numbers(sides) {
    const names = [...new Set(sides.flatMap((side) => side.measures.map((row) => row.metric)))];
    const columns = sides.flatMap((side) => {
      const of = prefix(sides, side);
      const flows = side.run.foreground.length > FLOWS_LISTED ? [] : side.run.foreground;
      return [{ side, flow: 0, name: `${of}all` }, ...flows.map((place, k) => ({ side, flow: k + 1, name: `${of}${flowName(side, place)}` }))];
    });
    const cell = ({ side, flow }, metric) => {
      const row = side.measures.find((each) => each.metric === metric && each.flow === flow);
      return row ? plain(row.value, 4) : "";
    };
    const head = ["measure", "unit", ...columns.map((column) => column.name)];
    const rows = (chosen) => chosen.map((metric) => [wordsOf(metric), unitOf(metric), ...columns.map((column) => cell(column, metric))]);
    const spans = sides.map((side) => `${prefix(sides, side)}${measured(side)} in intervals of ${plain(side.of.measuring.everyS)} s`);
    const show = (what, chosen) => table(`${what}, ${spans.join("; ")}`, head, rows(chosen), { className: "numbers", align: ["", "left"] });
    const others = names.filter((name) => name.includes("@"));
    return make("div", {},
      show("Measures", names.filter((name) => !others.includes(name))),
      others.length ? make("details", { className: "more" }, make("summary", {}, "the same by the other rules of the weights"), show("By other rules", others)) : null,
      sides.filter((side) => side.weights.state === "ready").map((side) => weightsTable(side, sides.length > 1 ? ` (${side.name})` : "")),
    );
  }

  /** Throughputs of the flows in the self-runs, and the weights by each rule. */
  function weightsTable(side, of) {
    const { ofSelf } = side.weights;
    const rules = Object.keys(m.WEIGHT_RULES);
    const weights = rules.map((rule) => m.WEIGHT_RULES[rule](ofSelf));
    const rows = side.run.foreground.map((n, k) => [flowName(side, n), ofSelf[k].map((value) => fixed(value, 2)).join(", "), ...weights.map((of) => short(1 / of[k], 4))]);
    const head = ["flow", "its self-run: each place, Mb/s", ...rules.map((rule) => `Rr by ${rule.replaceAll("_", " ")}, Mb/s`)];
    return table(`What the weights are made of${of}: w = 1/Rr, ${side.weights.note}`, head, rows, { className: "numbers" });
  }

  // --- Epochs -------------------------------------------------------------------------------------------------------------

  /** Every flow's loss epochs; of CUBIC with K and W_max. */
  function epochs(side) {
    const flows = side.result.flows.map((_, n) => n).slice(0, FLOWS_LISTED);
    return make("div", {}, flows.map((n) => {
      const found = tcpfair.analysis.epochsOf(side.of.scenario, side.result, n);
      const cubic = side.of.scenario.flows[n].cc.startsWith("cubic");
      const head = ["from", "to", "length", "ended by", "peak", ...(cubic ? ["after the loss", "W_max", "K", "∛((W_max−after)/C)", "K−∛(1/C)", "back at W_max"] : [])];
      const rows = found.slice(0, EPOCHS_SHOWN).map((epoch) => [
        ...[fixed(epoch.startS, 2), fixed(epoch.stopS, 2), fixed(epoch.stopS - epoch.startS, 2), epoch.kind === "rto" ? "timeout" : "loss", plain(epoch.peakPkts, 4)],
        ...(cubic ? [plain(epoch.startPkts, 4), plain(epoch.wMaxPkts, 4), ...[epoch.kS, epoch.lawKS, epoch.nearKS, epoch.backS].map((x) => fixed(x, 2))] : []),
      ]);
      const mean = m.mean(found.map((epoch) => epoch.stopS - epoch.startS));
      const text = found.length ? `${flowName(side, n)}: ${found.length} epochs, ${fixed(mean, 2)} s on average` : `${flowName(side, n)}: fewer than two losses`;
      const more = found.length > EPOCHS_SHOWN ? make("p", { className: "source" }, `The first ${EPOCHS_SHOWN} of ${found.length}.`) : null;
      return make("details", { className: "part", open: n < 2 }, make("summary", {}, text), found.length ? table(`Epochs of flow ${n + 1}, from a loss to the next: times in s, windows in packets`, head, rows, { className: "numbers" }) : null, more);
    }));
  }

  // --- Several seeds --------------------------------------------------------------------------------------------------------

  /** Values on a line, a short stroke for their mean. */
  function strip(values, low, high, colour) {
    const x = (value) => 6 + (188 * (value - low)) / (high - low || 1);
    const finite = values.filter(Number.isFinite);
    const middle = m.mean(finite);
    return svg("svg", { class: "strip", viewBox: "0 0 200 18", role: "img", "aria-label": `from ${short(Math.min(...finite))} to ${short(Math.max(...finite))}` },
      svg("line", { x1: 6, x2: 194, y1: 9, y2: 9, stroke: "var(--grid)" }),
      finite.map((value) => svg("circle", { cx: x(value).toFixed(1), cy: 9, r: 3.4, fill: colour, "fill-opacity": 0.55 })),
      finite.length ? svg("line", { x1: x(middle).toFixed(1), x2: x(middle).toFixed(1), y1: 1, y2: 17, stroke: "var(--ink)", "stroke-width": 2 }) : []);
  }

  /** Which measures are shown over several runs. */
  const OVER_SEEDS = ["throughput_mean", "utilisation", "jfi_mean", "jfi_of_means", "ratio", "U_n", "U_N+", "U_N-", "T_U", "fair_ratio", "load_mean", "load_cov", "cwnd_mean", "k_mean"];

  /** Mean, deviation and extremes of the main measures over the runs, each run a dot. */
  function seeds(side) {
    const { runs } = side.seeds;
    const rows = [];
    for (const metric of OVER_SEEDS) {
      const flows = [...new Set(side.measures.filter((row) => row.metric === metric).map((row) => row.flow))];
      const ofFlow = flows.map((flow) => runs.map((each) => valueOf(each, metric, flow)));
      const finite = ofFlow.flat().filter(Number.isFinite);
      if (!finite.length) continue;
      const [low, high] = [Math.min(...finite), Math.max(...finite)];
      flows.forEach((flow, k) => {
        if (k >= FLOWS_LISTED) return;
        const values = m.known(ofFlow[k]).filter(Number.isFinite);
        const name = [wordsOf(metric), flow && `flow ${flow}`, unitOf(metric)].filter(Boolean).join(", ");
        const colour = flow ? flowColour(side.run.foreground[flow - 1] ?? 0) : "var(--soft)";
        rows.push([name, plain(m.mean(values), 4), values.length > 1 ? short(m.deviation(values), 2) : "", plain(Math.min(...values), 4), plain(Math.max(...values), 4), String(values.length), strip(values, low, high, colour)]);
      });
    }
    const head = ["measure", "mean", "standard deviation", "least", "largest", "runs", "each run; of one measure on one scale"];
    const names = `${runs[0].name} to ${runs[runs.length - 1].name}`;
    return table(`${runs.length} runs, ${names}`, head, rows, { className: "numbers seeds" });
  }

  return { mainNumbers, tiles, differing, sentence, flowTable, references, printTable, numbers, epochs, seeds };
})();
