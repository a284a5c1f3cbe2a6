/** Writes a run as a link, as Python and as YAML for `./reproduce digest`; reads links. */
"use strict";

tcpfair.copying = (() => {
  const { bytesOf, through } = tcpfair;
  const { compact } = tcpfair.scenarios;
  const { make, button, newId, say } = tcpfair.dom;
  const VERSION = "1"; // of the format of links

  // --- Links ----------------------------------------------------------------------------------------------------------

  const toText = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  const toBytes = (text) => bytesOf(text.replaceAll("-", "+").replaceAll("_", "/"));

  /** The settings of a side that links and "Undo" store. */
  const kept = (side) => ({
    ...{ scenario: compact(side.scenario), seed: side.seed, measuring: side.measuring },
    ...(side.preset ? { preset: side.preset } : {}),
    ...(side.bufferUnit === "packets" ? {} : { bufferUnit: side.bufferUnit }),
  });

  /** The fragment of a link: the settings of the sides, and the view as texts by name. */
  async function fragmentOf(sides, view = {}) {
    const json = JSON.stringify(sides.map(kept));
    const settings = toText(new Uint8Array(await through(new CompressionStream("deflate-raw"), json).arrayBuffer()));
    return [`${VERSION}.${settings}`, ...Object.entries(view).filter(([, text]) => text).map(([name, text]) => `${name}=${text}`)].join("&");
  }

  /** The view that a fragment stores, as texts by name. */
  const viewOf = (fragment) => Object.fromEntries(new URLSearchParams(fragment.replace(/^#/, "")));

  /** The sides that a fragment stores, or null. Throws an Error of one line if it is damaged. */
  async function sidesOf(fragment) {
    const [, version, text] = fragment.match(/^#?(\d+)\.([^&]+)/) || [];
    if (!text) return null;
    if (version !== VERSION) throw new Error(`this link is of version ${version}, the page reads ${VERSION}`);
    try {
      const sides = await through(new DecompressionStream("deflate-raw"), toBytes(text)).json();
      if (!Array.isArray(sides) || !sides[0]?.scenario?.flows) throw new Error("no scenario");
      return sides;
    } catch {
      throw new Error("the link's settings cannot be read: it is cut off or changed");
    }
  }

  // --- Python and YAML ------------------------------------------------------------------------------------------------

  /** A value as Python writes it. */
  function python(value, indent = "") {
    if (typeof value !== "object") return { true: "True", false: "False" }[value] ?? JSON.stringify(value);
    if (value === null) return "None";
    const inner = `${indent}    `;
    const list = Array.isArray(value);
    const parts = list ? value.map((each) => python(each, inner)) : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${python(each, inner)}`);
    const [open, close] = list ? "[]" : "{}";
    const flat = open + parts.join(", ") + close;
    if (flat.length + indent.length < 100 && !flat.includes("\n")) return flat;
    return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
  }

  /** A value as YAML. Quoted text has the same type in YAML 1.1, which PyYAML reads. */
  const yaml = (value) => jsyaml.dump(value, { forceQuotes: true, quotingType: '"', lineWidth: -1, noRefs: true });

  /** Python that gives the run of a side, from a checkout's environment. */
  function pythonOf(side) {
    const { scenario, seed } = side.of;
    return [
      "from tcpfair.papers.scenario import make_scenario",
      "from tcpfair.engine.dumbbell import run",
      "",
      `scenario = make_scenario(${python(compact(scenario))})`,
      `result = run(scenario, seed=${seed}, log_events=True)`,
      "print(result.delivered_pkts[-1], result.dropped_pkts[-1])",
      "",
    ].join("\n");
  }

  /** A file for `./reproduce digest`. */
  function yamlOf(side) {
    const { scenario, seed } = side.of;
    return `# ./reproduce digest FILE prints ${side.result.digest}\nseed: ${seed}\n${yaml({ scenario: compact(scenario) })}`;
  }

  /** The samples of a side's run as a table. */
  function csvOf({ of, result }) {
    const columns = [["t_s", result.t_s], ["queue_pkts", result.link.queue_pkts], ["dropped_pkts", result.link.dropped_pkts]];
    result.flows.forEach((flow, n) => ["delivered_pkts", "cwnd_pkts", "ssthresh_pkts", "srtt_s"].forEach((name) => columns.push([`${name}_${n + 1}`, tcpfair.panels.gaps(flow[name])])));
    const rows = Array.from(result.t_s, (_, k) => columns.map(([, values]) => String(values[k] ?? "")).join(","));
    const names = of.scenario.flows.map(({ protocol }, n) => `${n + 1} ${protocol}`).join(", ");
    return [`# digest ${result.digest}; seed ${of.seed}; flows ${names}`, columns.map(([name]) => name).join(","), ...rows, ""].join("\n");
  }

  // --- On the page ----------------------------------------------------------------------------------------------------

  async function toClipboard(text, pressed, field) {
    const said = pressed.textContent;
    try {
      await navigator.clipboard.writeText(text);
      pressed.textContent = "copied";
    } catch {
      // a page from file:// may not use the clipboard, so the text is selected
      field.select();
      pressed.textContent = document.execCommand("copy") ? "copied" : "selected: copy it";
    }
    say(pressed.textContent);
    setTimeout(() => (pressed.textContent = said), 1500);
  }

  /** A text with a button that copies it. */
  function copyable(title, text, note = "") {
    const id = newId("copy");
    const field = make("textarea", { id, readOnly: true, rows: Math.min(14, Math.max(3, text.split("\n").length)), value: text, spellcheck: false });
    const copy = button("Copy", () => toClipboard(text, copy, field), { "aria-label": `Copy: ${title}` });
    return make("div", { className: "copyable" }, make("div", { className: "copy-head" }, make("label", { htmlFor: id }, title), copy), note ? make("p", { className: "source" }, note) : null, field);
  }

  /** All of it for one side; `link` is the address with all settings. */
  function panel(side, link) {
    const { digest } = side.result;
    return make("div", {},
      make("p", {}, "SHA-256 of all outputs of this run: ", make("code", { className: "digest" }, digest)),
      make("p", { className: "source" }, "Save the YAML as run.yaml in a checkout; ", make("code", {}, "./reproduce digest run.yaml"), " prints the same digest from the native engine."),
      copyable("Link", link, "The part after # contains the settings. It works with any copy of this file."),
      copyable("YAML", yamlOf(side)),
      copyable("Python", pythonOf(side), "In the environment of a checkout: .venv/bin/python."),
    );
  }

  return { kept, fragmentOf, sidesOf, viewOf, pythonOf, yamlOf, csvOf, yamlText: yaml, panel };
})();
