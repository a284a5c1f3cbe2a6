/**
 * What a reader brings: a scenario in YAML or JSON, as `./reproduce digest` takes it; the JSON of iperf3; or a log of `ss -tin` with a
 * time before each poll. Mistakes are one line.
 *
 * Of YAML it reads what such files are made of: mappings, lists, both also in brackets, plain and quoted values, comments.
 */
"use strict";

tcpfair.paste = (() => {
  const WORDS = { "": null, "~": null, null: null, true: true, false: false, ".inf": Infinity, "-.inf": -Infinity };
  const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/;

  /** The text before a comment. */
  const uncommented = (line) => line.match(/^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|(?!(?:^|\s)#).)*/)[0].trimEnd();

  function scalar(text, fail) {
    if (Object.hasOwn(WORDS, text)) return WORDS[text];
    if (NUMBER.test(text)) return Number.isInteger(Number(text)) && !Number.isSafeInteger(Number(text)) && /^\d+$/.test(text) ? text : Number(text); // a long seed stays text
    if (/^".*"$/.test(text)) {
      try {
        return JSON.parse(text);
      } catch {
        fail(`${text} is no text in quotes`);
      }
    }
    if (/^'.*'$/.test(text)) return text.slice(1, -1).replaceAll("''", "'");
    if (/^[&*!|>%@`"']/.test(text)) fail(`${text.slice(0, 20)}: of YAML only plain values, lists and mappings are read here`);
    return text;
  }

  /** A mapping gets a key, once. */
  function put(found, key, value, fail) {
    if (Object.hasOwn(found, key)) fail(`${key} is given twice`);
    Object.defineProperty(found, key, { value, enumerable: true, configurable: true, writable: true });
  }

  /** A value in brackets. */
  function bracketed(text, fail) {
    const tokens = text.match(/"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[{}[\],]|:(?=\s|$)|(?:[^{}[\],:"'\s]|:(?!\s|$)|\s+(?=[^{}[\],:\s]))+|\s+/g).map((token) => token.trim()).filter(Boolean);
    let k = 0;
    const next = () => tokens[k] ?? fail("a bracket is not closed");
    function value() {
      const token = next();
      k += 1;
      if (token === "[") {
        const found = [];
        while (next() !== "]") (found.push(value()), next() === "," ? (k += 1) : next() === "]" || fail(`a comma or ] is needed before ${next()}`));
        k += 1;
        return found;
      }
      if (token === "{") {
        const found = {};
        while (next() !== "}") {
          const key = scalar(next(), fail);
          k += 1;
          if (next() !== ":") fail(`a colon is needed after ${key}`);
          k += 1;
          put(found, key, [",", "}"].includes(next()) ? null : value(), fail);
          next() === "," ? (k += 1) : next() === "}" || fail(`a comma or } is needed before ${next()}`);
        }
        k += 1;
        return found;
      }
      if (",:]}".includes(token)) fail(`${token} is not expected here`);
      return scalar(token, fail);
    }
    const found = value();
    return k < tokens.length ? fail(`${tokens[k]} is not expected after the last bracket`) : found;
  }

  /** The values of a text in YAML. */
  function yaml(text) {
    const lines = text.split(/\r?\n/).map((raw, k) => ({ number: k + 1, indent: raw.match(/^ */)[0].length, text: uncommented(raw).trim(), raw })).filter(({ text: own }) => own && own !== "---");
    const failAt = (line) => (what) => { throw new Error(`line ${line.number}: ${what}`); };
    let k = 0;
    const tab = lines.find(({ raw }) => /^ *\t/.test(raw));
    if (tab) failAt(tab)("indented by a tab; YAML takes spaces");

    const depth = (own) => [...own.replace(/"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'/g, "")].reduce((sum, letter) => sum + ("[{".includes(letter) ? 1 : "]}".includes(letter) ? -1 : 0), 0);

    /** A value that begins on the line of its key or dash, or below it. */
    function inline(own, line, indent) {
      if (!own) return k < lines.length && (lines[k].indent > indent || (lines[k].indent === indent && /^-(\s|$)/.test(lines[k].text) && !/^-(\s|$)/.test(line.text))) ? block(lines[k].indent) : null;
      if (!/^[[{]/.test(own)) return scalar(own, failAt(line));
      while (depth(own) > 0 && k < lines.length) own += ` ${lines[k++].text}`;
      return bracketed(own, failAt(line));
    }

    function block(indent) {
      const isList = /^-(\s|$)/.test(lines[k].text);
      const found = isList ? [] : {};
      while (k < lines.length && lines[k].indent === indent && /^-(\s|$)/.test(lines[k].text) === isList) {
        const line = lines[k];
        const fail = failAt(line);
        const entry = line.text.match(/^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^{}[\]"',&*!|>%@`][^:]*?)\s*:(?:\s+(.*))?$/);
        if (isList) {
          const rest = line.text.slice(1).trim();
          if (/^("[^"]*"|'(?:[^']|'')*'|[^{}[\]"':]+):(\s|$)/.test(rest) || /^-(\s|$)/.test(rest)) {
            lines[k] = { ...line, text: rest, indent: indent + line.text.length - rest.length };
            found.push(block(lines[k].indent));
          } else (k += 1), found.push(inline(rest, line, indent));
        } else if (!entry) fail(`${line.text.slice(0, 30)}: a name, a colon and a space are needed here`);
        else (k += 1), put(found, scalar(entry[1], fail), inline(entry[2] ?? "", line, indent), fail);
      }
      if (k < lines.length && lines[k].indent > indent) failAt(lines[k])("its indentation fits no line above");
      return found;
    }

    if (!lines.length) return null;
    const found = /^[[{]/.test(lines[0].text) ? ((k = 1), inline(lines[0].text, lines[0], 0)) : block(lines[0].indent);
    return k < lines.length ? failAt(lines[k])("its indentation fits no line above") : found;
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
    return { scenario: tcpfair.scenarios.compact(tcpfair.schema, tcpfair.check(whole.scenario)), seed };
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
    const intervals = received?.length ? received : report.intervals;
    const streams = new Map();
    for (const { streams: own = [] } of Array.isArray(intervals) ? intervals : []) {
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
