// Calls functions of the page's scripts: [file, ...] are loaded, {schema, calls: [[path of the function, ...arguments]]} comes by
// stdin. Prints what each call gave, or the kind and text of its error.
"use strict";
const path = require("node:path");
const { given, print } = require("./plain.cjs");
const STATIC = path.join(__dirname, "../../src/tcpfair/web/static");
const { schema, calls } = given();
globalThis.tcpfair = { schema };
globalThis.jsyaml = require(path.join(STATIC, "vendor/js-yaml.min.js"));
for (const name of process.argv.slice(2)) require(path.resolve(STATIC, name));

(async () => {
  for (const [name, ...values] of calls) {
    const found = name.split(".").reduce((node, part) => node[part], globalThis.tcpfair);
    try {
      print((await found(...values)) ?? null);
    } catch (error) {
      print(`${error.constructor.name}: ${error.message}`);
    }
  }
})();
