// A run of a paper's experiment from the schema's presets: seed and scenario, as tcpfair/papers/expand.py makes them.
// Seeds are BLAKE2b (RFC 7693) of names; what differs from run to run is drawn as NumPy's Generator(Philox(seed)) draws it
// (Salmon et al. 2011; O'Neill's seed_seq as in NumPy). Tests compare every run with Python's.
"use strict";

(() => {
  const MASK64 = (1n << 64n) - 1n;

  // ---------------------------------------------------------------- BLAKE2b

  const IV = [
    0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
    0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
  ];
  const SIGMA = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
  ];
  const MIXED = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];
  const turned = (x, bits) => ((x >> bits) | (x << (64n - bits))) & MASK64;

  // The first 64 bits of a digest of 8 bytes, little-endian.
  function blake2b64(text) {
    const bytes = new TextEncoder().encode(text);
    const blocks = Math.max(1, Math.ceil(bytes.length / 128));
    const padded = new Uint8Array(blocks * 128);
    padded.set(bytes);
    const view = new DataView(padded.buffer);
    const h = [...IV];
    h[0] ^= 0x01010000n ^ 8n;
    for (let block = 0; block < blocks; block++) {
      const isLast = block === blocks - 1;
      const m = Array.from({ length: 16 }, (_, i) => view.getBigUint64(block * 128 + i * 8, true));
      const v = [...h, ...IV];
      v[12] ^= BigInt(isLast ? bytes.length : (block + 1) * 128);
      if (isLast) v[14] ^= MASK64;
      for (let round = 0; round < 12; round++) {
        const s = SIGMA[round % 10];
        MIXED.forEach(([a, b, c, d], i) => {
          for (const [word, first, second] of [[m[s[2 * i]], 32n, 24n], [m[s[2 * i + 1]], 16n, 63n]]) {
            v[a] = (v[a] + v[b] + word) & MASK64;
            v[d] = turned(v[d] ^ v[a], first);
            v[c] = (v[c] + v[d]) & MASK64;
            v[b] = turned(v[b] ^ v[c], second);
          }
        });
      }
      for (let i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
    }
    return h[0];
  }

  const seedOf = (...parts) => blake2b64(parts.join("/")) >> 2n;

  // ---------------------------------------------------------------- Philox

  // SeedSequence(seed).generate_state(2, uint64)
  function keyOf(seed) {
    const words = [];
    for (let left = seed; left > 0n || !words.length; left >>= 32n) words.push(Number(left & 0xffffffffn));
    let [factor, multiplier] = [0x43b0d7e5, 0x931e8875];
    const folded = (value) => (value ^ (value >>> 16)) >>> 0;
    const hashed = (value) => {
      value = (value ^ factor) >>> 0;
      factor = Math.imul(factor, multiplier) >>> 0;
      return folded(Math.imul(value, factor) >>> 0);
    };
    const mixed = (x, y) => folded((Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y)) >>> 0);
    const pool = [0, 1, 2, 3].map((i) => hashed(words[i] ?? 0));
    for (let from = 0; from < 4; from++) {
      for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mixed(pool[to], hashed(pool[from]));
    }
    [factor, multiplier] = [0x8b51f9dd, 0x58f38ded];
    const state = pool.map((value) => BigInt(hashed(value)));
    return [state[0] | (state[1] << 32n), state[2] | (state[3] << 32n)];
  }

  // A function that gives NumPy's `random()`: uniform in [0, 1) with 53 bits.
  function uniforms(seed) {
    const key = keyOf(seed);
    let counter = 0n, waiting = [];
    return () => {
      if (!waiting.length) {
        counter += 1n;
        let words = [counter & MASK64, 0n, 0n, 0n], [k0, k1] = key;
        for (let round = 0; round < 10; round++) {
          const one = words[0] * 0xd2e7470ee14c6c93n, two = words[2] * 0xca5a826395121157n;
          words = [(two >> 64n) ^ words[1] ^ k0, two & MASK64, (one >> 64n) ^ words[3] ^ k1, one & MASK64];
          k0 = (k0 + 0x9e3779b97f4a7c15n) & MASK64;
          k1 = (k1 + 0xbb67ae8584caa73bn) & MASK64;
        }
        waiting = words;
      }
      return Number(waiting.shift() >> 11n) * 2 ** -53;
    };
  }

  // ---------------------------------------------------------------- an exponential variate, rounded once

  const POINT = 160n; // binary places
  const ONE = 1n << POINT;

  // ln of a fixed-point number near 1: 2 artanh((x - 1) / (x + 1))
  function lnNear(x) {
    const z = ((x - ONE) << POINT) / (x + ONE), z2 = (z * z) / ONE;
    let sum = 0n, power = z;
    for (let k = 1n; power; k += 2n) {
      sum += power / k;
      power = (power * z2) / ONE; // towards zero, so that it ends
    }
    return 2n * sum;
  }

  const LN2 = -lnNear(ONE >> 1n);

  // -ln of a double in (0, 1], correctly rounded
  function minusLn(x) {
    let e = 0n;
    while (x < 0.75) (x *= 2), (e += 1n);
    const value = e * LN2 - lnNear(BigInt(x * 2 ** 53) << (POINT - 53n));
    if (value <= 0n) return 0;
    const spare = BigInt(Math.max(value.toString(2).length - 53, 0));
    const half = spare ? 1n << (spare - 1n) : 0n;
    return Number((value + half) >> spare) * 2 ** (Number(spare) - Number(POINT));
  }

  // ---------------------------------------------------------------- runs

  function listOf(grid) {
    let points = [{}];
    for (const [axis, values] of Object.entries(grid)) points = points.flatMap((point) => values.map((value) => ({ ...point, [axis]: value })));
    return points;
  }

  // Number of the grid point with these values of the axes.
  function indexOf({ grid }, point) {
    const found = listOf(grid).findIndex((each) => Object.keys(grid).every((axis) => each[axis] === point[axis]));
    if (found < 0) throw new Error(`no grid point ${JSON.stringify(point)}; axes are ${Object.keys(grid).join(", ") || "none"}`);
    return found;
  }

  // The scenario at a point of the grid of `schema.presets[paper][experiment]`, without what differs between runs, see presets.py.
  const scenarioAt = (given, point) => ({ ...given.shared, ...given.points[indexOf(given, point)] });

  // Scenario and seed (a decimal number as text) of one run. `point` has the values of the axes.
  function preset(paper, experiment, point, replicate) {
    const given = tcpfair.schema.presets[paper][experiment];
    const texts = Object.entries(listOf(given.texts)[indexOf(given, point)]);
    const seed = seedOf(given.seeds_of, experiment, ...texts.map((part) => part.join("=")), replicate);
    const { drawn, ...scenario } = structuredClone(scenarioAt(given, point));
    const random = uniforms(seed);
    const { rtt_rel = 0, start_s = 0, access_rel = 0 } = given.perturb;
    const own = scenario.flows.slice(0, scenario.flows.length - drawn.length);
    const starts = own.map((flow) => flow.start_s ?? 0);
    const places = given.orders ? given.orders[replicate] : starts.map((_, i) => i);
    own.forEach((flow, i) => {
      flow.rtt_s *= 1 + rtt_rel * (-1 + 2 * random());
      flow.start_s = starts[places[i]] + start_s * random();
      flow.access_bps = (flow.access_bps ?? 0) * (1 + access_rel * (-1 + 2 * random()));
    });
    drawn.forEach(([source, withinS], i) => {
      const flow = scenario.flows[own.length + i], web = scenario.web[source];
      flow.rtt_s = Math.min(web.flow.rtt_s + (web.rtt_extra_mean_s ?? 0) * minusLn(1 - random()), Number(web.rtt_cap_s ?? Infinity));
      flow.start_s = withinS * random();
    });
    return { scenario, seed: seed.toString() };
  }

  Object.assign(tcpfair, { preset, scenarioAt });
})();
