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
  const one = { ...tcpfair.findings.settings(run), weights: { state: "none" } };
  return new Promise((resolve, reject) => {
    const changed = (_, what) => {
      if (what === "failed") reject(new Error(one.error));
      if (what === "progress" && !one.job && one.result) resolve(one);
    };
    tcpfair.runs.create(changed).ask(one);
  });
}

/** What is right, how often, and what comes of it, of it rounded, and of the usual slip. */
function predicted(predict, numbers, side) {
  const { judged, holds } = tcpfair.findings;
  const judge = (text) => judged(predict, text, numbers, side).is;
  const { right } = judged(predict, "0", numbers, side);
  if (predict.number === null) return { right, ways: Object.values(predict.choices).filter((condition) => holds(condition, numbers, side)).length, exact: judge(right), rounded: judge(right), slip: judge(predict.slip) };
  const slip = judged({ ...predict, number: predict.slip }, "0", numbers, side).right;
  return { right, ways: 1, exact: judge(String(right)), rounded: judge(String(Number(right.toPrecision(2)))), slip: judge(String(Number(slip.toPrecision(3)))) };
}

/** What the curve of the run is, the usual slip, and a level line. */
function drawn(draw, side) {
  const { stretchOf, judgedCurve } = tcpfair.findings;
  const { startS, stopS } = stretchOf(draw, side);
  const { t_s, flows } = side.result;
  const seen = Array.from({ length: 25 }, (_, k) => flows[draw.flow - 1].cwnd_pkts[t_s.findLastIndex((tS) => tS <= startS + (k / 24) * (stopS - startS))]);
  const slip = new Function("seen", `return ${draw.slip}`)(seen);
  return [seen, slip, seen.map(() => 0)].map((curve) => judgedCurve(draw, curve, seen, side));
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
      const found = { name, holds: [], predicted: [], drawn: [] };
      for (const [what, first, second] of where === "here" ? variants(step).slice(0, 1) : variants(step)) {
        const sides = { A: await side(first, weighted), ...(second ? { B: await side(second, weighted) } : {}) };
        const numbers = await tcpfair.findings.values(step.numbers, sides);
        if (!what) found.numbers = Object.fromEntries(Object.entries(numbers).map(([number, x]) => [number, x / step.numbers[number].times]));
        if (step.predict) found.predicted.push({ at: what, ...predicted(step.predict, numbers, sides.A) });
        if (step.draw) found.drawn.push(drawn(step.draw, sides.A));
        for (const condition of step.holds) found.holds.push({ at: what, condition, holds: tcpfair.findings.holds(condition, numbers, sides.A) });
      }
      console.log(JSON.stringify(found));
    }
  }
})();
