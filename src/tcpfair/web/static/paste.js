/**
 * Reads pasted text and dropped files: a scenario in YAML or JSON, as `./reproduce digest` takes it; the JSON of iperf3; or a log of `ss -tin` with a
 * time before each poll. Each mistake is reported in one line.
 */
"use strict";

tcpfair.paste = (() => {
  const { int, merge } = jsyaml.types;
  const SCHEMA = jsyaml.CORE_SCHEMA.extend({
    implicit: [
      merge,
      new jsyaml.Type(int.tag, {
        kind: "scalar",
        resolve: int.resolve,
        // as a number, a seed of 62 bits would be rounded
        construct: (text) => (Number.isSafeInteger(int.construct(text)) ? int.construct(text) : text),
      }),
    ],
  });

  /** What is wrong and what would be right, for reasons that js-yaml gives in terms of its parser. */
  const REASONS = {
    "bad indentation of a mapping entry": "its indentation fits no line above, or its value needs quotes",
    "bad indentation of a sequence entry": "its indentation fits no line above",
    "can not read a block mapping entry; a multiline key may not be an implicit key": "a name, a colon and a space are needed here or on the line above",
    "duplicated mapping key": "a name is given twice",
    "end of the stream or a document separator is expected": "a name, a colon and a space, or a dash, are needed here or on the line above",
    "missed comma between flow collection entries": "a comma or a closing bracket is needed",
    "tab characters must not be used in indentation": "indented by a tab; YAML takes spaces",
    "unexpected end of the stream within a double quoted scalar": "a quote is not closed",
    "unexpected end of the stream within a flow collection": "a bracket is not closed",
    "unexpected end of the stream within a single quoted scalar": "a quote is not closed",
  };

  /** The values of a text in YAML. */
  function yaml(text) {
    try {
      return jsyaml.load(text, { schema: SCHEMA });
    } catch ({ reason, mark }) {
      if (!mark) throw new Error(reason);
      const lines = text.trimEnd().split(/\r?\n/);
      const number = Math.min(mark.line, lines.length - 1); // js-yaml reports the end of the text as a separate line
      const own = lines[number].slice(Math.max(0, mark.column - 25), mark.column + 25).trim();
      throw new Error(`line ${number + 1}: ${own}: ${REASONS[reason] ?? reason}`);
    }
  }

  const isNode = (value) => value !== null && typeof value === "object";
  const isMapping = (value) => isNode(value) && !Array.isArray(value);

  /** {scenario, seed} of a text; the scenario has been checked. */
  function scenarioOf(text) {
    const values = yaml(text);
    const whole = isMapping(values) && "flows" in values ? { scenario: values } : values;
    if (!isMapping(whole) || !isMapping(whole.scenario)) throw new Error("scenario: is missing; write scenario: {capacity_bps: ..., flows: [...]}");
    const unknown = Object.keys(whole).find((name) => !["scenario", "seed"].includes(name));
    if (unknown) throw new Error(`${unknown}: unknown; known are scenario, seed`);
    const seed = isNode(whole.seed) ? "a list or mapping" : String(whole.seed ?? 1);
    if (!/^\d{1,20}$/.test(seed) || BigInt(seed) >= 1n << 63n) throw new Error(`seed: must be a whole number from 0 to 2^63 - 1 (got ${seed})`);
    return { scenario: tcpfair.scenarios.compact(tcpfair.check(whole.scenario)), seed };
  }

  const recordedLine = (panel, n) => ({ label: `recorded ${n}`, recorded: true, panel, flow: null, tS: [], y: [] });

  /**
   * The rates of a report of `iperf3 --json`: {lines: [{panel, label, tS, y: Mb/s}], by, of: who counted}; null where the text is none.
   * What the receiver counted is preferred; a sender's bytes are those that it handed to its socket.
   */
  function iperfOf(text) {
    if (!/^\s*\{/.test(text)) return null;
    let report;
    try {
      report = JSON.parse(text);
    } catch {
      return null;
    }
    if (!("intervals" in report)) return null;
    const received = report.server_output_json?.intervals;
    const [where, intervals] = received?.length ? ["server_output_json.intervals", received] : ["intervals", report.intervals];
    const streams = new Map();
    for (const [k, interval] of (Array.isArray(intervals) ? intervals : []).entries()) {
      const own = interval?.streams;
      if (!Array.isArray(own) || !own.every(isMapping)) {
        throw new Error(`${where}.${k}.streams: must be a list of streams, each with end and bits_per_second`);
      }
      for (const { socket, end, bits_per_second: rate, omitted } of own) {
        if (omitted || !Number.isFinite(end) || !Number.isFinite(rate)) continue;
        if (!streams.has(socket)) streams.set(socket, recordedLine("throughput", streams.size + 1));
        const line = streams.get(socket);
        if (end > (line.tS.at(-1) ?? -1)) line.tS.push(end), line.y.push(rate / 1e6);
      }
    }
    if (!streams.size) throw new Error(report.error ? `iperf3 reports an error: ${report.error}` : "intervals: no stream with end and bits_per_second");
    const byReceiver = received?.length || report.start?.test_start?.reverse === 1;
    return { lines: [...streams.values()], by: "iperf3", of: byReceiver ? "as the receiver counted" : "as the sender handed it to its socket" };
  }

  const ADDRESS = String.raw`(?:\[[^\]]+\]|[\d.]+(?:%\w+)?):\d+`;
  const SOCKET = new RegExp(`(?:^|\\s)(${ADDRESS})\\s+(${ADDRESS})(?=\\s|$)`);
  const RATE_S = 1; // over which a rate is taken, as in the simulation
  const LEAST_SHARE = 0.01; // of the bytes of the largest connection; one with less is a control connection

  /**
   * Rates and windows of the connections in a log of `ss -tin`, whose polls each follow a line with the time in s (`date +%s.%N`), as
   * `iperfOf` gives them; null where the text is none. Time 0 is that of the first poll.
   */
  function ssOf(text) {
    if (!/\bcwnd:\d/.test(text) || /^\s*[{[]/.test(text)) return null;
    const sockets = new Map(); // polls {tS, bytes, cwnd} by the addresses of both ends
    let [firstS, nowS, socket, received] = [null, null, null, 0];
    text.split(/\r?\n/).forEach((line, k) => {
      const fail = (what) => { throw new Error(`line ${k + 1}: ${what}`); };
      const [stamp] = line.match(/^\d{9,10}(\.\d+)?$/) || [];
      if (stamp) {
        if (Number(stamp) < nowS) fail(`the time ${stamp} is before that of the last poll`);
        firstS ??= Number(stamp);
        return void ([nowS, socket] = [Number(stamp), null]);
      }
      const [, ...ends] = line.match(SOCKET) || [];
      if (ends.length) socket = ends.join(" ");
      const [cwnd, bytes, own] = ["cwnd", "bytes_acked", "bytes_received"].map((name) => Number(line.match(new RegExp(`\\b${name}:(\\d+)`))?.[1] ?? NaN));
      if (Number.isNaN(cwnd)) return;
      if (nowS === null) fail("a time in s is needed before each poll, as scripts/poll_ss.sh writes it: date +%s.%N; ss -tin");
      if (!socket) fail("cwnd without the addresses of its connection");
      const polls = sockets.get(socket) ?? sockets.set(socket, []).get(socket);
      received = Math.max(received, own || 0);
      const last = polls.at(-1)?.bytes ?? 0;
      if (bytes < last) fail(`bytes_acked: ${bytes} after ${last} of the same connection`);
      polls.push({ tS: nowS - firstS, bytes: bytes || last, cwnd });
    });
    const largest = Math.max(0, ...[...sockets.values()].map((polls) => polls.at(-1).bytes));
    if (!largest) throw new Error("bytes_acked: is in no line; ss shows it from iproute2 4.1 on, at the sender");
    if (received > largest) throw new Error("bytes_received: is above bytes_acked; give the log of the sender, whose windows are shown");
    const lines = [...sockets.values()].filter((polls) => polls.at(-1).bytes >= LEAST_SHARE * largest).flatMap((polls, n) => {
      const [rates, windows] = ["throughput", "cwnd"].map((panel) => recordedLine(panel, n + 1));
      let from = polls[0];
      for (const poll of polls) {
        windows.tS.push(poll.tS), windows.y.push(poll.cwnd);
        if (poll.tS - from.tS < RATE_S) continue;
        rates.tS.push(poll.tS), rates.y.push((8e-6 * (poll.bytes - from.bytes)) / (poll.tS - from.tS));
        from = poll;
      }
      return rates.tS.length ? [rates, windows] : [];
    });
    if (!lines.length) throw new Error("the polls of each connection cover less than 1 s");
    return { lines, by: "ss", of: "as the sender's kernel counted" };
  }

  /** What is recorded in a text of either kind; null where it is a scenario. */
  const recordingOf = (text) => iperfOf(text) ?? ssOf(text);

  return { yaml, scenarioOf, iperfOf, ssOf, recordingOf };
})();
