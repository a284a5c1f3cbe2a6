/**
 * Schedules simulations: the latest settings of each side, its self-runs for the NRU weights, several seeds.
 *
 * A side is {name, scenario, seed, preset, measuring}; its results are in the same object:
 *   side.result, side.run (arrays of `analysis`), side.measures, and what they are of: side.of = {scenario, seed, measuring}
 *   side.weights = {state: "none" | "waiting" | "running" | "ready", values: 1/(Mb/s), ofSelf: Mb/s, note}
 *   side.part = {of, result, run, ...} of the run in progress, or null
 *   side.references = {of, rows: [{n, y, self, solo, maxMin}]}: Mb/s of each foreground flow, and in the worlds of `metrics/ruler.py`
 *   side.seeds = {runs: [{seed, run, measures, queuePkts, srttS}]}: the last two at the times of the measured intervals
 */
"use strict";

tcpfair.runs = (() => {
  const { copy, selfRun, expectedPkts } = tcpfair.scenarios;
  const { arraysOf, measure, inWindow } = tcpfair.analysis;
  const m = tcpfair.measures;
  const SELF_RUNS_AT_ONCE_PKTS = 8e7; // longer self-runs start on request
  const SELF_RUNS_KEPT = 400;
  const SELF_RUNS = "self-runs for the weights";

  const packets = ({ scenario, seed }) => JSON.stringify([scenario, seed]);
  /** Whether a result of a side, or a part of the next one, is of the current settings. */
  const isCurrent = (side, of = side.of) => Boolean(of) && packets(of) === packets(side);

  /** Number and protocol of a flow of a side. */
  const flowName = ({ of: { scenario } }, n) => `${n + 1} ${scenario.flows[n].protocol}`;

  /** The name of one of the sides as a prefix; empty for a single side. */
  const prefix = (sides, { name }) => (sides.length > 1 ? `${name}: ` : "");

  /** The groups of measures of a side; without a preset, all that apply to the scenario. */
  function groupsOf(side) {
    if (!side.run.foreground.length) return ["bottleneck"];
    if (side.preset) {
      const asked = tcpfair.presets.experimentOf(side.preset).measures || [];
      return [...new Set([...asked, "throughput", "jfi", ...(side.run.flows.length > 1 ? ["nru", "stability", "convergence"] : [])])];
    }
    const two = side.run.flows.length === 2;
    const cubic = side.scenario.flows.some((flow) => flow.cc.startsWith("cubic"));
    return [
      ...["throughput", "jfi", "nru", "stability", "convergence", "peak", "cwnd", "bottleneck"],
      ...(two ? ["ratio", "common_losses"] : []),
      ...(cubic && side.run.flows.length < 3 ? ["cubic_k"] : []),
      ...(side.scenario.web?.length ? ["background"] : []),
    ];
  }

  /**
   * `changed(side, what)` is called with the kind of change: "progress", "part", "result" (of its run,
   * weights or seeds), "failed", "cancelled".
   */
  function create(changed) {
    const selfMeans = new Map(); // by scenario and seed: mean goodput of each foreground flow, Mb/s

    /** Measures of a run with the side's weights, if available. */
    function measuresOf(side, run) {
      const { fromS, toS, rule: chosen, analysis } = side.of.measuring;
      const { state, values, ofSelf } = side.weights;
      const rules = state === "ready" ? Object.entries(m.WEIGHT_RULES).filter(([rule]) => rule !== chosen) : [];
      const also = Object.fromEntries(rules.map(([rule, weightsOf]) => [rule, weightsOf(ofSelf)]));
      const how = { windowS: [fromS, toS], analysis, weights: state === "ready" ? values : null, also };
      return measure(run, side.groups, how);
    }

    function remeasure(side) {
      side.measures = measuresOf(side, side.run);
      for (const each of side.seeds?.runs || []) each.measures = measuresOf(side, each.run);
    }

    /** A job of a side; a run requested meanwhile follows it. */
    async function inJob(side, what, work) {
      const job = { controller: new AbortController(), startedMs: performance.now(), share: 0, what, seen: true };
      side.job = job;
      side.error = "";
      changed(side, "progress");
      try {
        await work(job);
      } catch (error) {
        if (!job.controller.signal.aborted) {
          side.error = error.message || String(error);
          changed(side, "failed");
        } else if (!side.wanted) changed(side, "cancelled");
      }
      side.job = side.part = null;
      changed(side, "progress");
      const after = side.wanted ? () => ask(side) : side.after;
      if (!side.wanted) side.after = null;
      await after?.();
    }

    /** Requests the next run of a side. A run in progress is cancelled once a part of it has been drawn. */
    function ask(side) {
      side.wanted = true;
      changed(side, "progress");
      if (!side.job) return inJob(side, "simulating", (job) => simulate(side, job));
      return void (side.job.seen && side.job.controller.abort());
    }

    async function simulate(side, job) {
      side.wanted = false;
      job.seen = false;
      const of = copy({ scenario: side.scenario, seed: side.seed, measuring: side.measuring, preset: side.preset });
      const progress = (share) => ((job.share = share), changed(side, "progress"));
      const onPart = (result) => {
        job.seen = true;
        const run = arraysOf(of.scenario, result, of.measuring.everyS);
        side.part = { name: side.name, ...of, of, result, run, weights: { state: "none" }, seeds: null, measures: [] };
        changed(side, "part");
        if (side.wanted) job.controller.abort();
      };
      const result = await tcpfair.run(of.scenario, of.seed, { signal: job.controller.signal, on_progress: progress, on_part: onPart });
      Object.assign(side, { result, of, seeds: null, error: "", part: null });
      job.seen = true;
      await weigh(side, (planned) => side.wanted || selfRuns(side, planned, job, false));
    }

    /** Measures a side, with weights from finished self-runs; `otherwise` is called if some are missing. */
    async function weigh(side, otherwise) {
      side.run = arraysOf(side.of.scenario, side.result, side.of.measuring.everyS);
      side.groups = groupsOf(side);
      const planned = plannedSelfRuns(side);
      side.weights = { state: "none" };
      const cached = planned.flat().every(({ key }) => selfMeans.has(key));
      if (planned.length && cached) combine(side, planned);
      remeasure(side);
      changed(side, "result");
      if (!cached) await otherwise(planned);
    }

    /** After a change of a side's settings: a new run, or new measures where only what is measured has changed. */
    function edited(side) {
      if (!side.result || side.job || !isCurrent(side)) return void ask(side);
      side.of = copy({ ...side.of, measuring: side.measuring, preset: side.preset });
      if (side.seeds?.runs.some(({ scenario }) => scenario.sample_s !== side.of.measuring.everyS)) side.seeds = null;
      return void weigh(side, (planned) => inIdle(side, SELF_RUNS, (job) => selfRuns(side, planned, job, false)));
    }

    /** Starts a job once the side has a result and no other job; of several waiting jobs, the last. */
    async function inIdle(side, what, work) {
      if (side.job || !side.result) side.after = () => inIdle(side, what, work);
      else await inJob(side, what, work);
    }

    /** Runs, {scenario, seed} each, side by side: what `take(run, result)` makes of each. */
    function simulateAll(side, job, all, take) {
      const shares = all.map(() => 0);
      const progress = (k) => (share) => ((shares[k] = share), (job.share = m.mean(shares)), changed(side, "progress"));
      return Promise.all(all.map(async (run, k) => {
        const result = await tcpfair.run(run.scenario, run.seed, { signal: job.controller.signal, on_progress: progress(k) });
        progress(k)(1);
        return take(run, result);
      }));
    }

    // --- Self-runs ------------------------------------------------------------------------------------------------

    /** For each foreground flow its self-runs: [{key, scenario, seed, windowS, inOrder}]. */
    function plannedSelfRuns(side) {
      const { scenario, preset, measuring, seed } = side.of;
      if (side.run.flows.length < 2) return [];
      const source = preset && tcpfair.presets.experimentOf(preset).weights;
      const inPrint = source && tcpfair.presets.isUnchanged(side.of);
      const count = Math.round(measuring.selfRuns);
      const planned = (flow, k) => (inPrint ? ofPaper(preset, source.experiment, flow, k) : derived(scenario, measuring, flow, seed, k));
      return side.run.flows.map((flow) => Array.from({ length: count }, (_, k) => planned(flow, k)));
    }

    /** The paper's own self-run at the same point of the grid. Its flows are in order of their starts. */
    function ofPaper(preset, experiment, flow, replicate) {
      const { grid, window_s: windowS } = tcpfair.presets.experimentOf({ ...preset, experiment });
      const point = Object.fromEntries(Object.keys(grid).map((axis) => [axis, axis === "protocol" ? flow.protocol : preset.point[axis]]));
      const { scenario, seed } = tcpfair.presets.runOf({ paper: preset.paper, experiment, point, replicate });
      const span = windowS || [0, scenario.duration_s];
      return { key: JSON.stringify([preset.paper, experiment, point, replicate]), scenario, seed, windowS: span, inOrder: true };
    }

    /** This scenario with the flow's protocol in every place. */
    function derived(scenario, measuring, flow, seed, k) {
      const own = selfRun({ ...scenario, sample_s: measuring.everyS }, flow);
      const windowS = [measuring.fromS, measuring.toS];
      const ownSeed = String(BigInt(seed) + BigInt(k));
      const plain = own.flows.map((each) => ({ ...each, protocol: "" }));
      return { key: JSON.stringify([{ ...own, flows: plain }, ownSeed, windowS]), scenario: own, seed: ownSeed, windowS, inOrder: false };
    }

    /** Sets the weights from the self-runs, by the chosen rule. */
    function combine(side, planned) {
      const starts = side.run.flows.map((flow) => flow.start_s || 0);
      const [[{ inOrder }]] = planned;
      const ofSelf = planned.map((runs) => {
        const means = runs.map(({ key }) => selfMeans.get(key));
        return means[0].map((_, place) => m.mean(means.map((of) => of[place])));
      });
      const placed = inOrder ? m.inOwnPlace(ofSelf, starts) : ofSelf;
      const values = m.WEIGHT_RULES[side.of.measuring.rule](placed);
      const note = inOrder ? "from the paper's own self-runs, run here" : "from self-runs of this scenario";
      side.weights = { state: "ready", values, ofSelf: placed, note };
    }

    /** Simulates the missing self-runs; `asked`: a reader requests them even if they are long. */
    async function selfRuns(side, planned, job, asked) {
      if (!planned.length) return;
      const missing = new Map(planned.flat().filter((run) => !selfMeans.has(run.key)).map((run) => [run.key, run]));
      const pkts = m.sum([...missing.values()].map((run) => expectedPkts(run.scenario)));
      if (pkts > SELF_RUNS_AT_ONCE_PKTS && !asked) {
        side.weights = { ...side.weights, state: "waiting", note: `${missing.size} self-runs of about ${tcpfair.dom.short(pkts / 1e6, 2)} million packets` };
        return void changed(side, "result");
      }
      job.what = SELF_RUNS;
      side.weights.state = "running";
      await simulateAll(side, job, [...missing.values()], (run, result) => {
        const arrays = arraysOf(run.scenario, result);
        if (selfMeans.size > SELF_RUNS_KEPT) selfMeans.delete(selfMeans.keys().next().value);
        selfMeans.set(run.key, inWindow(arrays, arrays.goodput, run.windowS).map(m.mean));
      });
      combine(side, planned);
      remeasure(side);
      changed(side, "result");
    }

    /** Starts the self-runs that were too long to start automatically. */
    const askSelfRuns = (side) => inIdle(side, SELF_RUNS, (job) => selfRuns(side, plannedSelfRuns(side), job, true));

    // --- Several seeds ------------------------------------------------------------------------------------------------

    /** The scenario and seed of further runs: the paper's replicates, or the same scenario with the next seeds. */
    function repeated(side, k) {
      const { scenario, seed, preset } = side.of;
      if (preset && tcpfair.presets.isUnchanged(side.of)) {
        const own = tcpfair.presets.runOf({ ...preset, replicate: k });
        return { scenario: { ...own.scenario, sample_s: scenario.sample_s }, seed: own.seed, name: `replicate ${k}` };
      }
      const next = String(BigInt(seed) + BigInt(k));
      return { scenario, seed: next, name: `seed ${next}` };
    }

    async function askSeeds(side, count) {
      await inIdle(side, `${count} runs`, async (job) => {
        const all = Array.from({ length: count }, (_, k) => repeated(side, k));
        for (const one of all) one.scenario = { ...one.scenario, sample_s: side.of.measuring.everyS };
        const runs = await simulateAll(side, job, all, (one, result) => {
          const run = arraysOf(one.scenario, result);
          return { ...one, digest: result.digest, run, queuePkts: result.link.queue_pkts, srttS: run.foreground.map((n) => result.flows[n].srtt_s) };
        });
        side.seeds = { runs };
        remeasure(side);
        changed(side, "result");
      });
    }

    // --- The three references ---------------------------------------------------------------------------------------

    /** What each foreground flow would get among its own kind, in its place, and alone; and its max-min share. */
    const askReferences = (side) => inIdle(side, "the three references", async (job) => {
      const of = copy({ scenario: side.of.scenario, seed: side.of.seed, measuring: side.of.measuring });
      const { scenario, seed, measuring: { fromS, toS, everyS } } = of;
      const worlds = side.run.foreground.flatMap((n) => {
        const flow = scenario.flows[n];
        const among = scenario.flows.map(({ start_s = 0 }) => ({ ...flow, start_s }));
        return [{ n, place: n, flows: among }, { n, place: 0, flows: [flow] }].map((one) => ({ ...one, seed, scenario: { ...scenario, sample_s: everyS, flows: one.flows } }));
      });
      const means = await simulateAll(side, job, worlds, ({ scenario: own, place }, result) => {
        const arrays = arraysOf(own, result);
        return m.mean(inWindow(arrays, [arrays.goodput[place]], [fromS, toS])[0]);
      });
      const payload = scenario.payload_bytes / scenario.wire_bytes / 1e6;
      const shares = m.maxMin(scenario.capacity_bps * payload, scenario.flows.map(({ access_bps }) => (access_bps || Infinity) * payload));
      const y = inWindow(side.run, side.run.goodput, [fromS, toS]).map(m.mean);
      side.references = { of, rows: side.run.foreground.map((n, k) => ({ n, y: y[k], self: means[2 * k], solo: means[2 * k + 1], maxMin: shares[n] })) };
      changed(side, "result");
    });

    function cancel(side) {
      side.wanted = false;
      side.after = null;
      side.job?.controller.abort();
    }

    return { ask, edited, askSelfRuns, askSeeds, askReferences, cancel };
  }

  return { create, isCurrent, flowName, prefix };
})();
