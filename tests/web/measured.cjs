// For tests alone: what the page's groups of measures give of a result of the native engine.
"use strict";
const { GROUPS, arraysOf, measure } = tcpfair.analysis;
tcpfair.measured = {
  groupNames: () => Object.keys(GROUPS),
  measureResult: (scenario, result, sampleS, groups, how) => measure(arraysOf(scenario, result, sampleS), groups, how),
};
