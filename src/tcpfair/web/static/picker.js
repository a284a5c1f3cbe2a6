/** The choice of a preset: paper, experiment, place in the grid, replicate. */
"use strict";

tcpfair.picker = (() => {
  const { make, renew } = tcpfair.dom;
  const { choice } = tcpfair.inputs;
  const { compact, leaves } = tcpfair.scenarios;

  /** Labels of the grid axes: name and unit; or a key and a label. */
  const AXES = {
    ...{ protocol: "Protocol", rtt_ms: ["RTT, ms", "RTT of the experiment, ms"], loss_rate: "Loss rate", buffer_pkts: "Buffer, packets", buffer_bytes: "Buffer, bytes" },
    ...{ buffer_bdp: "Buffer, BDP", traffic: "Background", jitter_s: "Jitter, s", ack_every: "Packets per ACK", access_bps: "Own link, b/s" },
    ...{ access_jitter_s: "Host jitter, s", wire_bytes: "Packet, bytes", rwnd_pkts: "Receiver window, packets", recovery: "Recovery", reduction: "Reduction" },
    ...{ root: "Root", x: "x(RTT)", synchronised: "Synchronised", beta: "beta", hystart: "HyStart", rtt_unit_s: "Unit of the RTT, s" },
  };

  const EDITED = "edited";

  /**
   * Fills `box`. `lab` gives {side(), load(preset), free(), example(name), move(axis, value)}: the second is what is
   * edited, the others are called with what a reader picks.
   */
  function create(box, lab) {
    const { presets, papers: about } = tcpfair.schema;
    let rows = [];

    const pick = (name, options, get, then, wide = false) => {
      const [key, label] = [name].flat();
      return choice({ label: label || key, options, get, set: then, key: `preset ${key}`, wide });
    };
    const EXAMPLE = "example: ";

    function build() {
      const { preset } = lab.side();
      const examples = Object.keys(tcpfair.schema.examples).map((name) => `${EXAMPLE}${name}`);
      const papers = [["", "own settings"], ...Object.keys(presets).map((paper) => [paper, `${paper}: ${about[paper].cite}`]), ...examples];
      const parts = [
        pick("Paper", papers, () => preset?.paper ?? "", (paper) => {
          if (!paper) return lab.free();
          if (paper.startsWith(EXAMPLE)) return lab.example(paper.slice(EXAMPLE.length));
          const experiments = presets[paper];
          const printed = ([, each]) => (each.supplement ? -1 : each.printed.length);
          const [name] = Object.entries(experiments).sort((one, other) => printed(other) - printed(one))[0];
          return lab.load({ paper, experiment: name });
        }),
      ];
      if (preset) parts.push(...ofPaper(preset));
      rows = parts;
      renew(box, ...parts);
    }

    const fieldsOf = (scenario) => leaves(compact(scenario));
    let own = {}; // {preset, seed, fields, sets}: the run of the preset last compared, and by axis the fields that it sets
    function ownOf(preset) {
      if (own.preset !== preset) {
        const { scenario, seed } = tcpfair.presets.runOf(preset);
        const experiment = presets[preset.paper][preset.experiment];
        const at = (point) => leaves(tcpfair.scenarioAt(experiment, point));
        const here = at(preset.point);
        const setBy = ([axis, values]) => {
          const others = values.map((value) => at({ ...preset.point, [axis]: value }));
          return [axis, Object.keys(Object.assign({}, here, ...others)).filter((place) => others.some((there) => there[place] !== here[place]))];
        };
        own = { preset, seed, fields: fieldsOf(scenario), sets: Object.fromEntries(Object.entries(experiment.grid).map(setBy)) };
      }
      return own;
    }

    /** The value of an axis, or EDITED where a field that this axis sets has another value in the settings. */
    function held(axis) {
      const { preset, scenario } = lab.side();
      const { fields, sets } = ownOf(preset);
      const now = fieldsOf(scenario);
      return sets[axis].some((place) => now[place] !== fields[place]) ? EDITED : preset.point[axis];
    }

    function ofPaper(preset) {
      const experiments = presets[preset.paper];
      const experiment = experiments[preset.experiment];
      const names = Object.entries(experiments).map(([name, each]) => [name, `${name}: ${each.title}`]);
      const load = (change) => lab.load({ ...preset, ...change });
      const axes = Object.entries(experiment.grid).map(([axis, values]) =>
        pick(AXES[axis] || axis, values, () => held(axis), (value) => load({ point: { ...preset.point, [axis]: value } })),
      );
      const replicates = [...Array(experiment.replicates).keys()];
      return [
        pick("Experiment", names, () => preset.experiment, (name) => load({ experiment: name, point: nearPoint(experiments[name], preset.point), replicate: 0 }), true),
        ...axes,
        experiment.replicates > 1 ? pick(`Replicate of ${experiment.replicates}`, replicates, () => (lab.side().seed === ownOf(preset).seed ? preset.replicate : EDITED), (replicate) => load({ replicate })) : null,
        make("p", { className: "source" }, about[preset.paper].cite),
      ].filter(Boolean);
    }

    /** An axis of the grid alone, for `controls.named`; on all sides that have it. */
    function axis(name) {
      const { preset } = lab.side();
      const values = preset && presets[preset.paper][preset.experiment].grid[name];
      const label = `${[AXES[name] || name].flat().at(-1)}${tcpfair.lab.sides().length > 1 ? ", A and B" : ""}`;
      return values && ((key) => choice({ label, key, options: values, get: () => held(name), set: (value) => lab.move(name, value) }));
    }

    /** The point of another grid that has as much as it can of this one. */
    function nearPoint(experiment, point) {
      const first = tcpfair.presets.firstPoint(experiment);
      return Object.fromEntries(Object.entries(first).map(([axis, value]) => [axis, experiment.grid[axis].includes(point[axis]) ? point[axis] : value]));
    }

    return { build, axis, refresh: () => rows.forEach((row) => row.refresh?.()) };
  }

  return { create };
})();
