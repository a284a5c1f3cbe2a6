// node identity.cjs engine.wasm schema.json: of every scenario from stdin, name and SHA-256 of each array it leaves.
const { readFileSync } = require("node:fs");
const { createHash } = require("node:crypto");
const tcpfair = require("../../src/tcpfair/web/static/engine.js");

const { given } = require("./plain.cjs");
const [wasm, schema] = process.argv.slice(2).map((file) => readFileSync(file));
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

(async () => {
  const engine = await tcpfair.loadEngine(wasm, JSON.parse(schema));
  for (const { name, seed, scenario } of given()) {
    const found = { name };
    try {
      const whole = tcpfair.check(scenario);
      await engine.open(whole, seed);
      engine.advance(whole.duration_s);
      found.hashes = Object.fromEntries(engine.arrays().map(([array, bytes]) => [array, sha256(bytes)]));
      const places = engine.places();
      const bytes = places.flows * engine.records.endpoint.bytes;
      found.hashes.ends = sha256(new Uint8Array(engine.memory.buffer, engine.base + places.ends_at, bytes));
    } catch (error) {
      found.error = error.message;
    }
    console.log(JSON.stringify(found));
  }
})();
