// node tours.cjs engine.wasm schema.json here|everywhere [STEP ...]: of every step of the tours that come by stdin, as "cubic/2",
// its numbers and whether its conditions hold: at what the page is set to, or at every value of the axes beside its text, too.
"use strict";
const { readFileSync } = require("node:fs");
const STATIC = "../../src/tcpfair/web/static";
const tcpfair = require(`${STATIC}/engine.js`);
for (const name of ["expand", "dom", "measures", "analysis", "scenario", "presets", "runs", "findings"]) require(`${STATIC}/${name}.js`);

/** A side as the page has it; where numbers need weights, after its self-runs. */
function side(run, weighted) {
  if (!weighted) return tcpfair.findings.other(run);
  const [given, options] = tcpfair.findings.asked(run);
  const own = given.paper ? tcpfair.presets.load(tcpfair.schema, given) : { scenario: given, seed: options.seed ?? "1", preset: null, measuring: options.measuring ?? tcpfair.presets.measuringOf(tcpfair.schema, given) };
  const one = { ...own, weights: { state: "none" } };
  return new Promise((resolve, reject) => {
    const changed = (_, what) => {
      if (what === "failed") reject(new Error(one.error));
      if (what === "progress" && !one.job && one.result) resolve(one);
    };
    tcpfair.runs.create({ schema: tcpfair.schema, changed }).ask(one);
  });
}

/** The runs that a reader can pick beside the text: [what, run of A, run of B]. */
function variants({ run, beside, controls }) {
  const axes = controls.filter((name) => name.startsWith("axis ")).map((name) => name.slice(5));
  const at = (one, axis, value) => one && { ...one, point: { ...one.point, [axis]: value } };
  const of = (axis) => tcpfair.schema.presets[run.paper][run.experiment].grid[axis].map((value) => [`${axis} ${value}`, at(run, axis, value), axis === "protocol" ? beside : at(beside, axis, value)]);
  return [["", run, beside], ...axes.flatMap(of)];
}

(async () => {
  const [wasm, schema, where, ...chosen] = process.argv.slice(2);
  await tcpfair.loadEngine(readFileSync(wasm), JSON.parse(readFileSync(schema)));
  for (const { id, steps } of JSON.parse(readFileSync(0, "utf8")).tours) {
    for (const [k, step] of steps.entries()) {
      const name = `${id}/${k + 1}`;
      if (chosen.length && !chosen.includes(name)) continue;
      const weighted = Object.values(step.numbers).some(({ of }) => of.startsWith("U_"));
      const found = { name, holds: [] };
      for (const [what, first, second] of where === "here" ? variants(step).slice(0, 1) : variants(step)) {
        const sides = { A: await side(first, weighted), ...(second ? { B: await side(second, weighted) } : {}) };
        const numbers = await tcpfair.findings.values(step.numbers, sides);
        if (!what) found.numbers = Object.fromEntries(Object.entries(numbers).map(([number, x]) => [number, x / step.numbers[number].times]));
        for (const condition of step.holds) found.holds.push({ at: what, condition, holds: tcpfair.findings.holds(condition, numbers, sides.A) });
      }
      console.log(JSON.stringify(found));
    }
  }
})();
