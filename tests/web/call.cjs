// Calls functions of the page's scripts: [file, ...] are loaded, {calls: [[path of the function, ...arguments]]} comes by stdin.
// NaN and infinities are texts, as JSON has no words for them; so are they in the answer, a list with what each call gave.
"use strict";
const path = require("node:path");
const STATIC = path.join(__dirname, "../../src/tcpfair/web/static");
globalThis.tcpfair = {};
globalThis.jsyaml = require(path.join(STATIC, "vendor/js-yaml.min.js"));
for (const name of process.argv.slice(2)) require(path.resolve(STATIC, name));

const NOT_FINITE = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };
const read = (_, value) => (typeof value === "string" && value in NOT_FINITE ? NOT_FINITE[value] : value);
const write = (_, value) => {
  if (ArrayBuffer.isView(value)) return Array.from(value);
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
};

async function main() {
  const { calls } = JSON.parse(require("node:fs").readFileSync(0, "utf8"), read);
  const answers = [];
  for (const [name, ...given] of calls) {
    const found = name.split(".").reduce((node, part) => node[part], globalThis.tcpfair);
    answers.push(await found(...given));
  }
  process.stdout.write(JSON.stringify(answers, write));
}

main();
