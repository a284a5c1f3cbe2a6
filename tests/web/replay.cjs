// Plays the frames of replay.py to the recorder of the packet view: [{flows, until_s, frames}] on stdin, recordings out;
// a time is NaN while it is unknown and Infinity if it never comes.
const { given, print } = require("./plain.cjs");
globalThis.tcpfair = {};
require("../../src/tcpfair/web/static/recording.js");

function session(frames) {
  let k = 0;
  return {
    now_s: 0,
    rows: frames[0].ends.length,
    get next_s() {
      return frames[k].next_s;
    },
    get turn() {
      return frames[k].turn;
    },
    runTo(t_s) {
      while (k + 1 < frames.length && frames[k].next_s < t_s) k += 1;
    },
    raw: {
      end: (i, name) => frames[k].ends[i][name],
      state: (i, name) => frames[k].states[i][name],
      link: (d, name) => frames[k].links[d][name],
      slot: (block, i, number, name) => frames[k].slots[i][block][number][name],
    },
  };
}

const recorded = given().map(({ flows, until_s, frames }) => globalThis.tcpfair.record(session(frames), flows, { until_s }));
print(recorded);
