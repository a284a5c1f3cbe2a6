/**
 * The papers' experiments: any grid point and replicate as a scenario, and the numbers that a paper prints of it.
 *
 * A preset is {paper, experiment, point: {axis: value}, replicate}. `tcpfair.preset` (expand.js) makes a scenario of it.
 */
"use strict";

tcpfair.presets = (() => {
  const m = tcpfair.measures;
  const { copy, packetsKey } = tcpfair.scenarios;
  const SAMPLES_DRAWN = 1200; // at least about this number, if the paper's own sampling is coarser
  const LEAST_SAMPLE_S = 0.01;

  const experimentOf = ({ paper, experiment }) => tcpfair.schema.presets[paper][experiment];
  const runOf = ({ paper, experiment, point, replicate }) => tcpfair.preset(paper, experiment, point, replicate);

  /** The first point of an experiment's grid. */
  const firstPoint = (experiment) => Object.fromEntries(Object.entries(experiment.grid).map(([axis, values]) => [axis, values[0]]));

  /** A sampling that the paper's is a whole multiple of, fine enough to see windows, s. */
  function drawnSampleS(scenario) {
    const wantedS = Math.max(scenario.duration_s / SAMPLES_DRAWN, LEAST_SAMPLE_S);
    const parts = [1, 2, 4, 5, 10, 20, 25, 50, 100].filter((part) => scenario.sample_s / part >= wantedS * 0.999);
    return Number((scenario.sample_s / (parts.pop() || 1)).toPrecision(12));
  }

  /** Default parameters of `analysis` for a scenario without a paper. */
  function freeAnalysis(scenario) {
    const lastStartS = Math.max(0, ...scenario.flows.map((flow) => flow.start_s || 0));
    const fromS = Math.min(Math.ceil(lastStartS), scenario.duration_s / 2);
    return {
      ...{ U_c_db: m.U_C_DB, t_e_s: fromS, convergence_from_s: fromS, convergence_window_s: 1, peak_share: 0.9 },
      ...{ common_within_s: 0.1, residual_share: 0.1, rates_count: "delivered", utilisation_counts: "payload" },
      ...{ sharing_from_s: fromS, sharing_end_s: 60, fair_ratio: 0.8, fair_mean_s: 60, together_rtts: 1.5 },
      target_rate_bps: scenario.capacity_bps / scenario.flows.length,
    };
  }

  /** How a scenario is measured: `window` and `rule` as the paper has them, or all of it after the last start. */
  function measuringOf(scenario, preset = null) {
    const experiment = preset && experimentOf(preset);
    const analysis = { ...freeAnalysis(scenario), ...(preset ? tcpfair.schema.papers[preset.paper].analysis : {}) };
    const [fromS, toS] = experiment?.window_s || [preset ? 0 : analysis.t_e_s, scenario.duration_s];
    return {
      ...{ fromS, toS: Math.min(toS, scenario.duration_s), everyS: scenario.sample_s, selfRuns: 1 },
      rule: experiment?.weights?.rule || "per_column",
      analysis,
    };
  }

  /** The experiment of these names. Throws a line for an unknown one. */
  function known(paper, experiment) {
    const { presets } = tcpfair.schema;
    const own = Object.hasOwn(presets, paper) ? presets[paper] : null;
    if (own && Object.hasOwn(own, experiment)) return own[experiment];
    const names = own ? Object.keys(own).map((name) => `${paper}/${name}`) : Object.keys(presets).map((name) => `${name}/...`);
    const path = [paper, experiment].filter(Boolean).join("/") || "none";
    throw new Error(`experiment: ${path} is unknown; known are ${names.join(", ")}`);
  }

  /**
   * A side of the page (see lab.js) with the run of a preset; axes that it does not name have their first value. Throws a line
   * for an unknown experiment.
   */
  function load({ paper, experiment, point, replicate = 0 }) {
    const preset = copy({ paper, experiment, point: { ...firstPoint(known(paper, experiment)), ...point }, replicate });
    const { scenario, seed } = runOf(preset);
    const measuring = measuringOf(scenario, preset);
    return { scenario: { ...scenario, sample_s: drawnSampleS(scenario) }, seed, preset, measuring, bufferUnit: "packets" };
  }

  /**
   * The side that a fragment such as `#preset=ogura/loss_sweep&loss_rate=0.01&replicate=2` names; null if it names none. A missing
   * axis has its first value. Throws a line for an unknown run.
   */
  function named(fragment) {
    const { preset: path, replicate = "0", ...asked } = tcpfair.copying.viewOf(fragment);
    if (path === undefined) return null;
    const [paper, experiment] = path.split("/");
    const own = known(paper, experiment);
    const valueOf = ([axis, values]) => {
      const value = values.find((each) => String(each) === asked[axis] || (typeof each === "number" && each === Number(asked[axis])));
      if (value === undefined) throw new Error(`${axis}: ${asked[axis]} is not a value of ${path}; known are ${values.join(", ")}`);
      return [axis, value];
    };
    const point = Object.fromEntries(Object.entries(own.grid).filter(([axis]) => axis in asked).map(valueOf));
    if (!(Number(replicate) in Array(own.replicates).fill())) throw new Error(`replicate: must be from 0 to ${own.replicates - 1}, got ${replicate}`);
    return load({ paper, experiment, point, replicate: Number(replicate) });
  }

  /** Whether what was simulated still is the run of its preset, whatever is recorded of it. */
  function isUnchanged({ preset, scenario, seed }) {
    if (!preset) return false;
    const own = runOf(preset);
    return own.seed === seed && packetsKey(own.scenario) === packetsKey(scenario);
  }

  // --- Published numbers --------------------------------------------------------------------------------------------

  /** The published numbers of this grid point: {metric, flow, value, derived, ...}, value NaN for a dash. */
  function printedAt(preset) {
    if (!preset) return [];
    const here = (number) => Object.entries(number.point).every(([axis, value]) => preset.point[axis] === value);
    const rows = (experimentOf(preset).printed || []).filter(here);
    return rows.map((number) => ({ ...number, value: number.value === null ? NaN : number.value }));
  }

  const OVER_RUNS = {
    mean: m.meanOfKnown,
    median: (x) => (m.known(x).length >= x.length / 2 ? m.median(x) : NaN),
    reached: m.reachedByShare,
    sd: (x) => m.deviation(m.known(x)),
    cv: (x) => m.coefficientOfVariation(m.known(x)),
  };
  /** Names of statistics over several runs. */
  const SCATTER = { sd: "standard deviation over runs", cv: "standard deviation over mean, of runs" };

  /**
   * The value of `measured`, the measures of one or more runs, for a published number, combined over the runs by its rule; and
   * `sd`, the deviation of single runs. Null if the runs do not have it.
   */
  function liveValue(number, measured, analysis) {
    const values = measured.map((rows) => rows.find((row) => row.metric === number.metric && row.flow === number.flow)?.value);
    if (values.includes(undefined)) return null;
    const value = OVER_RUNS[number.runs || "mean"](values, analysis.converged_runs_share ?? 0.5);
    return { value, sd: m.deviation(m.known(values)) };
  }

  /** Whether a live value is within the tolerance of a published one; null without a tolerance. */
  function isWithin(number, value) {
    if (!number.tolerance) return null;
    if (Number.isNaN(number.value) || Number.isNaN(value)) return Number.isNaN(number.value) && Number.isNaN(value);
    const width = number.tolerance.absolute ?? number.tolerance.relative * Math.abs(number.value);
    return Math.abs(value - number.value) <= width * (1 + 1e-9);
  }

  return { experimentOf, runOf, firstPoint, drawnSampleS, load, named, isUnchanged, measuringOf, printedAt, liveValue, isWithin, SCATTER };
})();
