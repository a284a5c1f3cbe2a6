// Records a short stretch of a run, packet by packet: the fate of each packet and the effect of each event.
//
// The engine keeps no packets: a bottleneck is a time at which it is free again, a flow a ring of arrivals. But whatever
// happens is written into these records, so it is enough to stop after every event and to look at what was appended.
// No drawing here: packets.js.
"use strict";

(() => {
  const DUPLICATE = 2; // state.py: a copy of data that has arrived
  const OF_END = [
    "head", "rx_head", "tail", "acks_head", "acks_tail", "access_head", "access_tail", "resend", "shown", "lost_tail", "una",
    "snd_nxt", "in_recovery", "after_timeout", "reductions", "timeouts", "sent", "resent", "dropped", "received", "started",
    "halving_limit", "start_s",
  ];
  // one of these changes with every event: enough to see whether a flow had one at the same time as another
  const TOLD_BY = ["head", "rx_head", "acks_head", "acks_tail", "access_head", "sent", "timeouts", "started"];
  const OF_STATE = ["cwnd", "ssthresh"];
  const CONSTANT = ["recovery", "reliable", "direction", "two_way", "rtt_s", "path_s", "access_service_s", "ack_every"];
  const OF_LINK = ["free_s", "dropped"];
  const SACK = 0; // state.py

  /** The least time after `t_s`: a run to it includes the events at `t_s` itself. */
  const after = (t_s) => Math.max(t_s * (1 + Number.EPSILON), t_s + Number.MIN_VALUE);

  const fieldsOf = (names, valueOf) => Object.fromEntries(names.map((name) => [name, valueOf(name)]));

  const look = ({ raw }, i) => ({ ...fieldsOf(OF_END, (name) => raw.end(i, name)), ...fieldsOf(OF_STATE, (name) => raw.state(i, name)) });

  /** RFC 6675's pipe, as endpoint.packets_out. */
  function inFlight(row, constant) {
    let pipe = row.tail - row.head + (row.access_tail - row.access_head) + (row.lost_tail - row.shown);
    if (constant.recovery !== SACK && row.after_timeout === 0) pipe += row.shown - row.resend;
    return pipe;
  }

  function mode(row) {
    if (row.after_timeout) return "after a timeout";
    if (row.in_recovery) return "recovery";
    return row.cwnd < row.ssthresh ? "slow start" : "congestion avoidance";
  }

  class Recorder {
    constructor(session, flows) {
      this.session = session;
      this.n = flows;
      this.rows = new Map(); // row of the engine -> what it was after its last event, and its packets
      this.packets = [];
      this.acks = [];
      this.events = [];
      this.links = [];
      for (let d = 0; d < 2; d++) {
        const service_s = d === 0 || session.raw.end(0, "two_way") ? session.raw.link(d, "service_s") : NaN;
        if (service_s > 0) this.links.push({ service_s, ack_service_s: session.raw.link(d, "ack_service_s") });
      }
      for (let i = 0; i < flows; i++) this.of(i);
    }

    /** What is recorded of a row of the engine; `seen` is what it was after its last event. */
    of(i) {
      if (!this.rows.has(i)) this.rows.set(i, this.begin(i, look(this.session, i)));
      return this.rows.get(i);
    }

    begin(i, seen) {
      // packets from before the recording: they are in the rings, their places on the way are unknown
      const unknown = (count) => new Array(count).fill(null);
      return {
        i,
        seen,
        constant: fieldsOf(CONSTANT, (name) => this.session.raw.end(i, name)),
        waiting: unknown(seen.access_tail - seen.access_head), // on the access link
        flying: unknown(seen.tail - seen.head), // handed over, not acknowledged; `landed` of them are at the receiver
        landed: seen.rx_head - seen.head,
        hidden: unknown(seen.lost_tail - seen.shown), // lost, not detected by the sender
        answers: unknown(seen.acks_tail - seen.acks_head), // ACKs on their way (two-way runs)
      };
    }

    /** One event of the engine (or several at the very same time). */
    step() {
      const { session } = this;
      const t_s = session.next_s;
      const turn = session.turn;
      const first = turn === this.n && session.rows > this.n ? null : this.of(turn);
      const before = this.links.map((_, d) => this.linkNow(d));
      session.runTo(after(t_s));
      const acted = first ? [first] : [];
      for (let i = 0; i < this.n; i++) {
        if (i !== turn && TOLD_BY.some((name) => session.raw.end(i, name) !== this.of(i).seen[name])) acted.push(this.of(i));
      }
      if (!first) {
        for (let i = this.n + 1; i < session.rows; i++) {
          if (session.raw.end(i, "start_s") !== t_s || session.raw.end(i, "source") < 0) continue;
          const nothing = fieldsOf([...OF_END, ...OF_STATE], () => 0);
          this.rows.set(i, this.begin(i, { ...nothing, start_s: t_s })); // an earlier flow may have had this row
          acted.push(this.of(i));
        }
      }
      const now = this.links.map((_, d) => this.linkNow(d));
      const entered = this.links.map(() => []);
      for (const row of acted) {
        const old = row.seen;
        const is = look(session, row.i);
        row.seen = is;
        this.changes(row, old, is, t_s, entered, now);
      }
      // of what has entered a link in one instant the last one leaves when the link is free again
      entered.forEach((packets, d) => {
        const dropped = now[d].dropped - before[d].dropped;
        const lost = packets.filter((packet) => packet.lost);
        lost.forEach((packet, k) => (packet.lost = k < lost.length - dropped ? "link" : "queue"));
        const accepted = packets.filter((packet) => packet.lost !== "queue");
        accepted.forEach((packet, k) => {
          packet.leave_s = now[d].free_s - (accepted.length - 1 - k) * this.links[d].service_s;
          if (!packet.two_way) packet.land_s = packet.leave_s;
          if (packet.lost) packet.land_s = packet.heard_s = NaN;
        });
      });
      return t_s;
    }

    linkNow(d) {
      return fieldsOf(OF_LINK, (name) => this.session.raw.link(d, name));
    }

    /** What one flow's event was, from its records before and after it. */
    changes(row, old, is, t_s, entered, links) {
      const { raw } = this.session;
      const { constant, i } = row;
      const to = entered[constant.two_way ? constant.direction : 0];
      const event = { t_s, flow: this.flowOf(row), sent: [], again: [], dropped: [], heard: 0, landed: 0 };

      // from the access link into the queue
      const entering = row.waiting.splice(0, is.access_head - old.access_head);
      const fromAccess = entering.length > 0;
      // into the queue: accepted packets are in the ring now, lost ones in the list of the lost
      const outcomes = [];
      const found = (block, first, end, lost) => {
        for (let k = first; k < end; k++) {
          const slot = (name) => raw.slot(block, i, k, name);
          outcomes.push({ ...fieldsOf(["seq", "again", "sent_s"], slot), arrival_s: lost ? NaN : slot("arrival_s"), lost });
        }
      };
      found("ring", old.tail, is.tail, null);
      found("lost", old.lost_tail, is.lost_tail, "queue");
      for (let k = is.lost_tail - old.lost_tail; k < is.dropped - old.dropped; k++) {
        outcomes.push({ seq: is.una, again: DUPLICATE, sent_s: t_s, arrival_s: NaN, lost: "queue" });
      }
      outcomes.sort((a, b) => Number(b.again !== 0) - Number(a.again !== 0) || a.seq - b.seq);
      for (const outcome of outcomes) {
        let packet = entering.find((p) => p && p.seq === outcome.seq && p.again === outcome.again);
        if (!packet) {
          packet = this.packet(row, outcome.seq, outcome.again, fromAccess ? outcome.sent_s : t_s, t_s);
          if (!fromAccess) this.note(event, packet);
        }
        packet.enter_s = t_s;
        packet.lost = outcome.lost;
        if (constant.two_way) packet.land_s = outcome.arrival_s;
        else packet.heard_s = outcome.arrival_s;
        if (outcome.lost) event.dropped.push(packet);
        (outcome.lost ? row.hidden : row.flying).push(packet);
        if (outcome.lost && outcome.again === DUPLICATE) row.hidden.pop(); // the sender does not miss a copy
        to.push(packet);
      }
      // onto the access link
      for (let k = old.access_tail; k < is.access_tail; k++) {
        const slot = (name) => raw.slot("access", i, k, name);
        const packet = this.packet(row, slot("seq"), slot("again"), t_s, slot("enter_s"));
        row.waiting.push(packet);
        this.note(event, packet);
      }
      // at the receiver, and its ACKs
      if (constant.two_way) {
        event.landed = is.rx_head - old.rx_head;
        row.landed += event.landed;
        const back = links[1 - constant.direction];
        for (let k = old.acks_tail; k < is.acks_tail; k++) {
          const slot = (name) => raw.slot("acks", i, k, name);
          const ack = {
            flow: event.flow, next: slot("rcv_nxt"), enter_s: t_s, leave_s: back.free_s, heard_s: slot("arrival_s"),
            direction: 1 - constant.direction,
          };
          this.acks.push(ack);
          row.answers.push(ack);
        }
        for (let k = old.acks_head; k < is.acks_head; k++) row.answers.shift();
      }
      // at the sender
      event.heard = is.head - old.head;
      for (let k = 0; k < event.heard; k++) {
        const packet = row.flying.shift();
        if (packet) packet.acked_s = t_s;
      }
      row.landed = Math.max(row.landed - event.heard, 0);
      for (let k = old.shown; k < is.shown; k++) {
        const packet = row.hidden.shift();
        if (packet) packet.shown_s = t_s;
      }
      Object.assign(event, {
        duplicate: event.heard > 0 && is.una === old.una && constant.reliable === 1,
        noticed: is.shown - old.shown,
        reduced: is.reductions > old.reductions,
        timeout: is.timeouts > old.timeouts,
        ended: old.in_recovery === 1 && is.in_recovery === 0,
        began: old.started === 0 && is.started === 1,
        cwnd_before: old.cwnd,
        cwnd: Math.max(is.cwnd, is.halving_limit),
        ssthresh: is.ssthresh,
        una: is.una,
        next: is.snd_nxt,
        in_flight: inFlight(is, constant),
        mode: mode(is),
      });
      this.events.push(event);
    }

    /** The number of a long flow; -1 for a short one. */
    flowOf({ i }) {
      return i < this.n ? i : -1;
    }

    packet(row, seq, again, sent_s, enter_s) {
      const packet = {
        flow: this.flowOf(row), seq, again, sent_s, enter_s, leave_s: NaN, land_s: NaN, heard_s: NaN,
        acked_s: Infinity, shown_s: Infinity, lost: null, two_way: row.constant.two_way, direction: row.constant.direction,
      };
      this.packets.push(packet);
      return packet;
    }

    note(event, packet) {
      (packet.again ? event.again : event.sent).push(packet.seq);
    }
  }

  /**
   * Record from the session's time to `until_s` or `most` events, whichever comes first.
   * Times in s, windows in packets. `until_s` of the result is where it ended.
   */
  tcpfair.record = (session, flows, { until_s, most = 60000 }) => {
    const recorder = new Recorder(session, flows);
    while (session.next_s < until_s && recorder.events.length < most) recorder.step();
    const { links, packets, acks, events } = recorder;
    const stopped_s = Math.min(session.next_s, until_s);
    return { until_s: stopped_s, cut: stopped_s < until_s, two_way: links.length === 2, links, packets, acks, events };
  };

  /**
   * A paused run with its records open: `next_s` is the time of the next event and `turn` its source,
   * `raw` reads a field of a record. `engine`: an instance whose module is used again; by default the page's.
   */
  tcpfair.openRaw = async (scenario, seed, engine = null) => {
    const { GET } = tcpfair;
    const { module, schema } = engine || (await tcpfair.ready);
    const own = await new tcpfair.Engine(module, schema).open(tcpfair.check(scenario, schema), seed);
    const { records } = schema;
    const RECORD = { ring: "slot", acks: "ack_slot", access: "packet", lost: "packet" };
    let view, places;
    // memory may grow and records may move whenever the engine runs
    const lookAgain = () => {
      view = new DataView(own.memory.buffer);
      places = own.places();
    };
    const read = (kind, first, i, name) => {
      const [offset, type] = records[kind].fields[name];
      return GET[type](view, own.base + places[first] + i * records[kind].bytes + offset);
    };
    const raw = {
      end: (i, name) => read("endpoint", "ends_at", i, name),
      state: (i, name) => read("state", "states_at", i, name),
      link: (d, name) => read("link", "links_at", d, name),
      slot(block, i, number, name) {
        const [first, mask] = [raw.end(i, `${block}_first`), raw.end(i, `${block}_mask`)];
        return read(RECORD[block], `${block}_at`, first + (number % (mask + 1)), name);
      },
    };
    lookAgain();
    return {
      raw,
      get rows() { return places.rows; },
      get next_s() { return GET.f8(view, own.base + places.keys_at + 8); },
      get turn() { return GET.u8(view, own.base + places.winners_at + 8); },
      runTo(t_s) {
        own.advance(t_s);
        lookAgain();
      },
      close() { own.instance = null; },
    };
  };

  /** Where a packet is at `t_s`: [place, part of the way through it, 0 to 1]; null before it was sent and after its ACK was received. */
  tcpfair.placeOf = (packet, t_s, service_s) => {
    if (t_s < packet.sent_s) return null;
    const through = (from, to) => (to > from ? Math.min(Math.max((t_s - from) / (to - from), 0), 1) : 1);
    if (t_s < packet.enter_s) return ["access", through(packet.sent_s, packet.enter_s)];
    if (packet.lost === "queue") return ["dropped", t_s - packet.enter_s];
    if (!(packet.leave_s >= 0)) return null;
    if (t_s < packet.leave_s - service_s) return ["queue", (packet.leave_s - service_s - t_s) / service_s];
    if (t_s < packet.leave_s) return ["link", through(packet.leave_s - service_s, packet.leave_s)];
    if (packet.lost) return ["dropped", t_s - packet.leave_s];
    if (t_s < packet.land_s) return ["forward", through(packet.leave_s, packet.land_s)];
    if (packet.two_way) return null; // its ACK is an own packet
    if (t_s < packet.heard_s) return ["back", through(packet.land_s, packet.heard_s)];
    return t_s < packet.acked_s ? ["back", 1] : null;
  };
})();
