/**
 * The packet view: a short stretch of the page's run, every packet on its way through the sender's link, the queue, the
 * bottleneck and back as an ACK. The same content is in text and in a table, for screen readers and keyboards.
 */
"use strict";

tcpfair.packets = (() => {
  const { make, button, newId, renew, short, table, Pen, COLOURS } = tcpfair.dom;
  const { placeOfLast } = tcpfair.measures;
  const MOST_EVENTS = 40000;
  const MOST_FLOWS = 40; // lanes that can be distinguished
  const MOST_LISTED = 9; // events in the list
  const HEAVY_PKTS = 3e7; // before the stretch: more than this takes many seconds
  /** Events that a tour can point at. */
  const MARKED = {
    loss: (event) => event.dropped.length,
    change: (event) => event.reduced || event.timeout || event.ended,
    sent: (event) => event.heard && event.sent.length,
  };

  /** The number of the last of some events at or before t_s; -1 before the first. */
  const eventAt = (events, t_s) => placeOfLast(events, (event) => event.t_s <= t_s);

  // ---------------------------------------------------------------- words

  const plain = (x, digits = 4) => String(Number(x.toPrecision(digits)));
  const time = (t_s) => `${t_s.toFixed(4)} s`;
  const plural = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;

  /** Packet numbers as ranges: 3, 5 to 8. */
  function ranges(numbers) {
    const sorted = [...numbers].sort((a, b) => a - b);
    const starts = sorted.filter((number, k) => !(number <= sorted[k - 1] + 1));
    const ends = sorted.filter((number, k) => !(sorted[k + 1] <= number + 1));
    const parts = starts.map((first, k) => (ends[k] > first ? `${first} to ${ends[k]}` : `${first}`));
    return parts.length > 6 ? `${parts.slice(0, 5).join(", ")} and others` : parts.join(", ");
  }

  const window_ = (x) => (x >= 1e9 ? "unlimited" : short(x, 3));

  /** One event in a few sentences. */
  function describe(event) {
    if (event.flow < 0) return `${time(event.t_s)}, a short flow: ${event.sent.length ? `sends ${plural(event.sent.length, "packet")}.` : "continues."}`;
    const said = [];
    if (event.began) said.push(`starts with a window of ${window_(event.cwnd)}`);
    if (event.heard) {
      if (event.duplicate) said.push(`gets a duplicate ACK: ${event.una} is still missing`);
      else said.push(`gets an ACK for ${plural(event.heard, "packet")}: all before ${event.una} have arrived`);
    } else if (event.landed) said.push(`${plural(event.landed, "packet")} at the receiver`);
    if (event.timeout) said.push("timeout: the missing packets are sent again, from a window of 1");
    if (event.noticed && !event.timeout) said.push(`notices ${plural(event.noticed, "loss").replace("losss", "losses")}`);
    if (event.reduced) said.push(`reduces its window: ssthresh ${window_(event.ssthresh)}`);
    if (event.ended) said.push("the recovery ends");
    if (event.heard && event.cwnd !== event.cwnd_before) said.push(`window ${window_(event.cwnd_before)} to ${window_(event.cwnd)}`);
    if (event.again.length) said.push(`sends again ${ranges(event.again)}`);
    if (event.sent.length) said.push(`sends ${ranges(event.sent)}`);
    for (const [lost, how] of [["queue", "the queue full and"], ["link", "its way through the queue and"]]) {
      const found = event.dropped.filter((packet) => packet.lost === lost).map((packet) => packet.seq);
      if (found.length) said.push(`${ranges(found)} ${found.length === 1 ? "finds" : "find"} ${how} ${found.length === 1 ? "is" : "are"} lost`);
    }
    if (!said.length) said.push("a packet goes from the sender's link into the queue");
    return `${time(event.t_s)}, flow ${event.flow + 1}: ${said.join("; ")}.`;
  }

  class Canvas extends Pen {
    constructor(node) {
      super(node.getContext("2d"));
      this.node = node;
    }

    /** Sets the size on the page, px, and clears the canvas. */
    fit(width, height) {
      const ratio = window.devicePixelRatio || 1;
      Object.assign(this, { width, height });
      Object.assign(this.node, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
      Object.assign(this.node.style, { width: `${width}px`, height: `${height}px` });
      this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    }

    clear() {
      this.context.clearRect(0, 0, this.width, this.height);
    }
  }

  // ---------------------------------------------------------------- the view

  class View {
    constructor(root) {
      this.root = root;
      this.playing = false;
      this.t_s = 0;
      this.recording = null;
      this.asked = 0;
      this.stretch = null; // {from_s, length_s} that a reader has chosen, else `usual`
      this.mark = null; // {to, says}: the place that a tour points at
      this.build();
    }

    build() {
      const field = (label, control, unit) => {
        control.id = newId("packets");
        return make("label", { className: "pv-field", htmlFor: control.id }, `${label} `, control, unit ? ` ${unit}` : null);
      };
      const number = (aria, least) => make("input", { type: "number", step: "any", min: least, "aria-label": aria, on: { change: () => this.read() } });
      this.from = number("from: start of the stretch, s", 0);
      this.length = number("for: length of the stretch, s", 0.000001);
      this.says = make("p", { className: "pv-says source" });
      const step = (text, what, act) => {
        const stop = () => (this.play(false), this.recording && act());
        return tcpfair.inputs.explained(make("span", { className: "tipped" }, button(text, stop, { key: what, "aria-label": `${text}, ${what}` })), what);
      };
      this.playButton = button("Play", () => this.play(!this.playing), { key: "Play", "aria-label": "Play" });
      this.speed = make("select", {}, ["1", "3", "8", "20"].map((value) => make("option", { value, selected: value === "3" }, `${value} s`)));
      const go = () => this.go(Number(this.range.value));
      this.range = make("input", { type: "range", min: 0, max: 1, step: "any", value: 0, "aria-label": "time within the stretch", on: { input: go } });
      this.clock = make("output", { className: "pv-clock" });
      this.net = new Canvas(make("canvas", { className: "pv-net", role: "img", "aria-label": "the network; the table below has the same content" }));
      this.strip = new Canvas(make("canvas", {
        className: "pv-strip", role: "img",
        "aria-label": "windows, queue and packet numbers over the stretch; the text below describes the chosen time",
        on: {
          pointerdown: (event) => (event.target.setPointerCapture(event.pointerId), this.point(event)),
          pointermove: (event) => event.buttons && this.point(event),
        },
      }));
      this.paper = new Canvas(document.createElement("canvas")); // the strip without its cursor
      this.status = make("p", { className: "pv-status", role: "status" });
      this.places = make("div", { className: "pv-places" });
      this.list = make("ol", { className: "pv-events" });
      this.root.replaceChildren(
        this.net.node,
        make("div", { className: "pv-steps", role: "group", "aria-label": "steps" },
          step("|◀", "to the start", () => this.go(this.recording.from_s)),
          step("◀ RTT", "back by one round trip", () => this.go(this.t_s - this.rtt())),
          step("◀ packet", "back by one event", () => this.toEvent(-1)),
          this.playButton,
          step("packet ▶", "on by one event", () => this.toEvent(1)),
          step("RTT ▶", "on by one round trip", () => this.go(this.t_s + this.rtt())),
          step("next loss ▶", "to the next loss", () => this.toNext(MARKED.loss)),
          step("next change ▶", "to the next loss noticed, timeout or end of a recovery", () => this.toNext(MARKED.change)),
          field("a round trip takes", this.speed),
        ),
        make("div", { className: "pv-time" }, this.range, this.clock),
        this.strip.node,
        this.status,
        make("div", { className: "pv-controls" }, field("from", this.from, "s"), field("for", this.length, "s"), this.says),
        this.places,
        make("details", { className: "pv-log" }, make("summary", {}, "Event by event"), this.list),
      );
      this.root.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && !event.defaultPrevented && this.playing) event.preventDefault(), this.play(false);
      });
      const redraw = () => this.recording && (this.measure(), this.draw());
      new ResizeObserver(redraw).observe(this.root);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    }

    /** The default stretch of a run: a few round trips from its beginning. */
    usual({ flows, wire_bytes, capacity_bps, buffer_pkts, duration_s }) {
      const service_s = (8 * wire_bytes) / capacity_bps;
      const rtt_s = Math.max(...flows.map((flow) => flow.rtt_s));
      const length_s = Math.max(4 * (rtt_s + buffer_pkts * service_s), 50 * service_s);
      return { from_s: 0, length_s: Math.min(length_s, 5000 * service_s, duration_s) };
    }

    read() {
      const [from_s, length_s] = [this.from, this.length].map((input) => Number(input.value));
      const { duration_s } = this.side.of.scenario;
      if (from_s >= 0 && length_s > 0 && from_s + length_s <= duration_s) this.look({ from_s, length_s });
      else this.refuse(`Start and length are seconds, within the ${plain(duration_s)} s of the run.`);
    }

    /** Another stretch of the run, and what to point at in it. */
    look(stretch, mark = null) {
      Object.assign(this, { stretch, mark });
      if (this.side) this.follow(this.side);
    }

    /** Record and show the stretch of the run that a side of the page shows. */
    async follow(side) {
      this.play(false);
      this.side = side;
      const { of: { scenario, seed }, result: { digest } } = side;
      const wanted = this.stretch;
      const what = wanted && wanted.from_s + wanted.length_s <= scenario.duration_s ? wanted : this.usual(scenario);
      const asked = (this.asked += 1);
      this.from.value = plain(what.from_s, 9);
      this.length.value = plain(what.length_s, 6);
      try {
        const recording = await this.recorded(structuredClone(scenario), { ...what, seed }, () => asked === this.asked);
        if (!recording) return;
        this.take(recording, what, scenario);
        this.root.dataset.digest = digest;
        this.says.textContent = `of the run in the plots, digest ${digest.slice(0, 16)}`;
      } catch (error) {
        const trapped = error instanceof WebAssembly.RuntimeError;
        if (asked === this.asked) this.refuse(trapped ? `The engine stopped (${error.message}): choose another stretch.` : error.message);
      }
    }

    /** The recording of a stretch; null when it was cancelled. Throws an Error of one line when it would take too long. */
    async recorded(scenario, { from_s, length_s, seed }, isWanted) {
      const { flows } = scenario;
      if (flows.length > MOST_FLOWS) throw new Error(`flows: the packet view shows at most ${MOST_FLOWS} flows (got ${flows.length})`);
      const until_s = from_s + length_s;
      scenario.sample_s = scenario.duration_s; // samples are not needed here
      const pktsPerS = scenario.capacity_bps / (8 * scenario.wire_bytes);
      if (pktsPerS * from_s > HEAVY_PKTS) throw new Error(`from: ${short(pktsPerS * from_s, 2)} packets come before this stretch; take an earlier start`);
      const session = await tcpfair.openRaw(scenario, seed);
      try {
        // one path and queue earlier, so that all packets on the way at the start are known
        const back_s = scenario.reverse_bps ? (scenario.reverse_buffer_pkts * 8 * scenario.wire_bytes) / scenario.reverse_bps : 0;
        const lead_s = Math.max(...flows.map((flow) => flow.rtt_s)) + scenario.buffer_pkts / pktsPerS + back_s + 2 * (scenario.jitter_s || 0);
        const begin_s = Math.max(from_s - lead_s, 0);
        const parts = Math.ceil((pktsPerS * begin_s) / 1e6);
        for (let k = 1; k <= parts; k++) {
          this.status.textContent = `Running to ${time(begin_s)}: ${Math.round((100 * k) / parts)} %`;
          await new Promise((then) => setTimeout(then));
          if (!isWanted()) return null;
          session.runTo((begin_s * k) / parts);
        }
        return isWanted() ? tcpfair.record(session, flows.length, { until_s, most: MOST_EVENTS }) : null;
      } finally {
        session.close();
      }
    }

    /** Shows why a recording is missing, and removes that of an older run. */
    refuse(text) {
      this.play(false);
      this.recording = null;
      for (const canvas of [this.net, this.strip]) canvas.width && canvas.clear();
      for (const box of [this.places, this.list]) box.replaceChildren();
      this.status.textContent = text;
    }

    take(recording, what, scenario) {
      this.scenario = scenario;
      this.recording = recording;
      recording.from_s = Math.min(what.from_s, recording.until_s);
      const { events, packets } = recording;
      this.perFlow = scenario.flows.map((_, i) => events.filter((event) => event.flow === i));
      // the packets that can be on the way at a time t: those sent before it, from the first that is still under way
      this.ends = packets.map((packet) => this.endOf(packet));
      this.longest_s = packets.reduce((most, packet, k) => Math.max(most, this.ends[k] - packet.sent_s), 0);
      Object.assign(this.range, { min: recording.from_s, max: recording.until_s });
      this.queueOver = this.queueSeries();
      const to = this.mark && recording.events.find((event) => event.t_s > recording.from_s && MARKED[this.mark.to](event));
      this.marked_s = to?.t_s ?? null;
      this.measure();
      this.go(this.marked_s ?? recording.from_s);
      if (recording.cut) {
        this.status.textContent = `Cut to ${short(recording.until_s - recording.from_s, 3)} s: ${MOST_EVENTS} events are enough for once. ${this.status.textContent}`;
      }
    }

    /** Time at which a packet is no longer visible. */
    endOf(packet) {
      if (packet.lost === "queue") return packet.enter_s + this.fade(packet);
      if (packet.lost) return packet.leave_s + this.fade(packet);
      if (packet.two_way) return packet.land_s;
      return Number.isFinite(packet.acked_s) ? packet.acked_s : Math.max(packet.heard_s, this.recording.until_s);
    }

    /** How long a lost packet falls, s. */
    fade(packet) {
      return 0.3 * this.scenario.flows[Math.max(packet.flow, 0)].rtt_s;
    }

    rtt() {
      return Math.min(...this.scenario.flows.map((flow) => flow.rtt_s));
    }

    // -------------------------------------------------------------- time

    go(t_s) {
      if (!this.recording) return;
      const { from_s, until_s } = this.recording;
      this.t_s = Math.min(Math.max(t_s, from_s), until_s);
      this.draw();
      if (!this.playing) this.tell();
    }

    toEvent(step) {
      const { events, from_s, until_s } = this.recording;
      const k = step > 0 ? eventAt(events, this.t_s) + 1 : placeOfLast(events, (event) => event.t_s < this.t_s);
      this.go(events[k]?.t_s ?? (step > 0 ? until_s : from_s));
    }

    toNext(wanted) {
      const found = this.recording.events.find((event) => event.t_s > this.t_s && wanted(event));
      if (found) this.go(found.t_s);
      else this.status.textContent = "None before the end of this stretch: take a longer one or a later start.";
    }

    play(on) {
      if (on && !this.recording) return;
      this.playing = on;
      this.playButton.textContent = this.playButton.ariaLabel = on ? "Pause" : "Play";
      if (!on) return void (this.recording && this.tell());
      if (this.t_s >= this.recording.until_s) this.t_s = this.recording.from_s;
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      let before;
      const tick = (at_ms) => {
        if (!this.playing) return;
        const elapsed_s = before === undefined ? 0 : Math.min((at_ms - before) / 1000, 0.1);
        if (!calm || before === undefined || at_ms - before > 400) {
          if (calm && before !== undefined) this.toEvent(1);
          else this.go(this.t_s + (elapsed_s * this.rtt()) / Number(this.speed.value));
          before = at_ms;
        }
        if (this.t_s >= this.recording.until_s) this.play(false);
        else requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    }

    point(event) {
      if (!this.recording) return;
      this.play(false);
      const box = this.strip.node.getBoundingClientRect();
      const { left, right } = this.plot;
      const share = (event.clientX - box.left - left) / (right - left);
      this.go(this.recording.from_s + share * (this.recording.until_s - this.recording.from_s));
    }

    // -------------------------------------------------------------- words and table

    /** Packets on the way at t_s with their places. */
    *under(t_s) {
      const { packets, links } = this.recording;
      const first = 1 + placeOfLast(packets, (packet) => packet.sent_s < t_s - this.longest_s);
      for (let k = first; k < packets.length && packets[k].sent_s <= t_s; k++) {
        const packet = packets[k];
        if (this.ends[k] < t_s) continue;
        const link = links[packet.two_way ? packet.direction : 0];
        const place = tcpfair.placeOf(packet, t_s, link.service_s);
        if (place) yield [packet, ...place];
      }
    }

    tell() {
      const { events } = this.recording;
      const k = eventAt(events, this.t_s);
      const before = k >= 0 ? `Before: ${describe(events[k])}` : "No event yet.";
      this.status.textContent = events[k]?.t_s === this.t_s ? describe(events[k]) : `${time(this.t_s)}. ${before}`;
      const first = Math.max(0, k - MOST_LISTED + 3);
      this.list.start = first + 1;
      const item = (event, m) => {
        const now = first + m === k;
        return make("li", { className: now ? "now" : "", "aria-current": now ? "step" : null }, describe(event));
      };
      this.list.replaceChildren(...events.slice(first, first + MOST_LISTED).map(item));
      this.tabulate();
    }

    tabulate() {
      const names = ["access", "queue", "link", "forward", "back", "dropped"];
      const flows = this.scenario.flows.map(() => Object.fromEntries(names.map((name) => [name, []])));
      let others = 0;
      for (const [packet, place] of this.under(this.t_s)) {
        if (packet.flow < 0) others += place === "queue" ? 1 : 0;
        else if (place !== "dropped") flows[packet.flow][place].push(packet.seq);
      }
      const isDuring = ({ flow, enter_s }, until_s) => flow >= 0 && enter_s <= this.t_s && until_s > this.t_s;
      for (const packet of this.recording.packets) if (packet.lost && isDuring(packet, packet.shown_s)) flows[packet.flow].dropped.push(packet.seq);
      for (const ack of this.recording.acks) if (isDuring(ack, ack.heard_s)) flows[ack.flow].back.push(ack.next);
      const cell = (numbers) => (numbers.length ? `${numbers.length} (${ranges(numbers)})` : "0");
      const two_way = this.recording.two_way;
      const head = [
        "Flow", "window", "ssthresh", "in flight", "state", "on the sender's link", "in the queue", "on the bottleneck",
        ...(two_way ? ["to the receiver", "ACKs on the way (next expected)"] : ["ACKs on the way (of packets)"]),
        "lost, not noticed yet",
      ];
      const rows = this.scenario.flows.map((flow, i) => {
        const state = this.perFlow[i][eventAt(this.perFlow[i], this.t_s)];
        const { access, queue, link, forward, back, dropped } = flows[i];
        return [
          `${i + 1}: ${flow.protocol || flow.cc}, ${plain(flow.rtt_s * 1000)} ms`,
          ...(state ? [window_(state.cwnd), window_(state.ssthresh), String(state.in_flight), state.mode] : ["–", "–", "–", "not started"]),
          ...[access, queue, link, ...(two_way ? [forward] : []), back, dropped].map(cell),
        ];
      });
      const note = others ? `; ${plural(others, "packet")} of short flows in the queue` : "";
      const caption = `Where the packets are at ${time(this.t_s)} (number of packets, and which)${note}`;
      renew(this.places, table(caption, head, rows, { align: head.map((_, k) => (k === 4 ? "left" : "")) }));
    }

    // -------------------------------------------------------------- drawing

    color(flow) {
      return flow < 0 ? this.soft : this.colors[flow % this.colors.length];
    }

    /** Colours, and sizes of everything for the available width. */
    measure() {
      const { style } = tcpfair.plots;
      for (const name of ["ink", "soft", "line", "back", "accent"]) this[name] = style(`--${name}`);
      this.colors = Array.from({ length: COLOURS }, (_, k) => style(`--flow-${k}`));
      const width = Math.max(this.root.clientWidth, 300);
      const flows = this.scenario.flows.length + (this.scenario.web?.length ? 1 : 0);
      const lane = Math.max(5, Math.min(24, 200 / flows));
      const half = Math.max(flows * lane, 46);
      const gap = 40;
      const top = 24;
      const height = top + half + gap + half + 22;
      const [link, linkEnd] = this.recording.two_way ? [0.66, 0.78] : [0.72, 0.86];
      const x = { sender: 30, queue: width * 0.2, link: width * link, linkEnd: width * linkEnd, receiver: width - 26 };
      this.net_ = { width, height, flows, lane, half, top, low: top + half + gap, x };
      this.net.fit(width, height);
      const bands = [120, 70, 130];
      this.plot = { left: 46, right: width - 8, bands, top: 16, gap: 24, height: 16 + 120 + 70 + 130 + 24 * 2 + 30 };
      this.strip.fit(width, this.plot.height);
      this.paper.fit(width, this.plot.height);
      this.drawStrip();
    }

    draw() {
      this.range.value = String(this.t_s);
      this.clock.textContent = this.range.ariaValueText = time(this.t_s);
      this.drawNet();
      const { strip, paper } = this;
      strip.clear();
      strip.context.drawImage(paper.node, 0, 0, strip.width, strip.height);
      const x = this.atTime(this.t_s);
      strip.line([[x, this.plot.top - 6], [x, this.plot.height - 24]], this.ink);
    }

    laneY(flow, lower) {
      const { top, low, lane, half, flows } = this.net_;
      const k = flow < 0 ? flows - 1 : flow;
      return (lower ? low : top) + half / 2 + (k - (flows - 1) / 2) * lane;
    }

    /** Between the lanes: where queue and link are. */
    middleY(lower) {
      return this.laneY((this.scenario.flows.length - 1) / 2, lower);
    }

    drawNet() {
      const { net } = this;
      const { width, x, low, flows, lane } = this.net_;
      const { two_way, links } = this.recording;
      net.clear();
      this.frame(false);
      if (two_way) this.frame(true);
      net.text("senders", 4, 10, this.soft, "left");
      net.text(`queue, room for ${plain(this.scenario.buffer_pkts)}`, (x.queue + x.link) / 2, 10, this.soft);
      net.text("link", x.link + 4, 10, this.soft, "left");
      net.text("receivers", width - 4, 10, this.soft, "right");
      net.text(two_way ? "the other direction: ACKs, and data of reverse flows" : "ACKs on their way back: the whole RTT of the path", width / 2, low - 12, this.soft);
      const named = this.scenario.flows.length;
      for (let i = 0; i < flows; i++) {
        const flow = i < named ? i : -1;
        const y = this.laneY(flow, true);
        if (!two_way) net.line([[x.sender, y], [x.receiver, y]], this.line);
        const reverse = this.scenario.flows[flow]?.direction === "reverse";
        this.wires(flow, reverse);
        if (lane >= 10) this.badge(reverse ? x.receiver + 10 : 12, this.laneY(flow, reverse), flow);
      }
      this.slot = (x.link - x.queue) / Math.max(this.scenario.buffer_pkts + 1, 1);
      this.size = Math.max(2.5, Math.min(16, this.slot * 0.8, lane * 1.1));
      for (const [packet, place, part] of this.under(this.t_s)) this.drawPacket(packet, place, part);
      if (this.marked_s === this.t_s) net.text(this.mark.says, (x.queue + x.linkEnd) / 2, this.middleY(false) + 34, this.accent, "center", "bold 12px");
      if (!two_way) return;
      for (const ack of this.recording.acks) {
        if (ack.enter_s > this.t_s || ack.heard_s <= this.t_s) continue;
        const { service_s, ack_service_s } = links[ack.direction];
        const moving = { ...ack, sent_s: ack.enter_s, land_s: ack.heard_s, two_way: 1, lost: null };
        const found = tcpfair.placeOf(moving, this.t_s, ack_service_s);
        if (!found) continue;
        const [place, part] = found;
        this.dot(...this.spot(ack.flow, place, place === "queue" ? (part * ack_service_s) / service_s : part, ack.direction === 1), ack.flow);
      }
    }

    /** The queue and the link of one direction. */
    frame(lower) {
      const { x, half, width } = this.net_;
      const y = this.middleY(lower);
      const [a, b, c] = [x.queue, x.link, x.linkEnd].map((px) => (lower ? width - px : px));
      const h = Math.min(half, 30);
      this.net.box(Math.min(a, b), y - h / 2, Math.abs(b - a), h, this.soft);
      for (const side of [-1, 1]) this.net.line([[b, y + (side * h) / 4], [c, y + (side * h) / 4]], this.soft);
    }

    /** A flow's own links: from its sender to the queue, from the bottleneck to its receiver. */
    wires(flow, lower) {
      const { x, width } = this.net_;
      const [own, middle] = [this.laneY(flow, lower), this.middleY(lower)];
      for (const points of [[[x.sender, own], [x.queue - 12, own], [x.queue, middle]], [[x.linkEnd, middle], [x.linkEnd + 12, own], [x.receiver, own]]]) {
        this.net.line(points.map(([px, py]) => [lower ? width - px : px, py]), this.line);
      }
    }

    badge(x, y, flow) {
      this.net.circle(x, y, 8, this.color(flow));
      this.net.text(flow < 0 ? "s" : String(flow + 1), x, y + 0.5, this.back, "center", "bold 10px");
    }

    /** Position on the canvas: the lower half mirrors the upper one. */
    spot(flow, place, part, lower) {
      const { x, width } = this.net_;
      const [own, middle] = [this.laneY(flow, lower), this.middleY(lower)];
      const bend = (from, to, share) => from + (to - from) * share;
      const spots = {
        access: () => [bend(x.sender, x.queue - 4, part), bend(own, middle, part ** 3)],
        queue: () => [x.link - this.slot * (part + 0.5), middle],
        link: () => [bend(x.link, x.linkEnd, part), middle],
        forward: () => [bend(x.linkEnd, x.receiver, part), bend(middle, own, Math.min(3 * part, 1))],
      };
      const [px, py] = spots[place]?.() ?? [x.link, middle];
      return [lower ? width - px : px, py];
    }

    drawPacket(packet, place, part) {
      const { net } = this;
      const { x, width } = this.net_;
      const lower = packet.two_way && packet.direction === 1;
      // without a reverse bottleneck: receivers are at the end of the link, the whole way is the ACK's
      if (place === "back") return this.dot(x.receiver + (x.sender - x.receiver) * part, this.laneY(packet.flow, true), packet.flow);
      if (place === "dropped") {
        const share = part / this.fade(packet);
        const at = packet.lost === "queue" ? x.queue - 2 : x.linkEnd;
        net.cross(lower ? width - at : at, this.middleY(lower) + 8 + share * 26, this.ink, 1 - share);
        return;
      }
      const [px, py] = this.spot(packet.flow, place, part, lower);
      const s = this.size;
      net.square(px, py, s, this.color(packet.flow));
      if (packet.again) net.box(px - s / 2 - 1, py - s / 2 - 1, s + 2, s + 2, this.ink, Math.max(1, s / 8));
      if (s >= 14) net.text(String(packet.seq % 1000), px, py + 0.5, this.back, "center", "9px");
    }

    /** An ACK. */
    dot(px, py, flow) {
      this.net.circle(px, py, Math.max(1.5, Math.min(3, this.net_.lane / 4)), this.color(flow));
    }

    // -------------------------------------------------------------- strips over time

    atTime(t_s) {
      const { left, right } = this.plot;
      const { from_s, until_s } = this.recording;
      return left + ((t_s - from_s) / Math.max(until_s - from_s, 1e-12)) * (right - left);
    }

    /** The queue of the forward bottleneck at every change, from the packets themselves. */
    queueSeries() {
      const { packets, acks, links, from_s, until_s } = this.recording;
      const steps = [];
      for (const packet of packets) {
        if ((packet.two_way && packet.direction === 1) || packet.lost === "queue" || !(packet.leave_s >= 0)) continue;
        const out_s = packet.leave_s - links[0].service_s;
        if (out_s > packet.enter_s) steps.push([packet.enter_s, 1], [out_s, -1]);
      }
      steps.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      let queue = 0;
      const series = [[from_s, 0]];
      for (const [t_s, change] of steps) {
        queue += change;
        if (t_s < from_s) series[0][1] = queue;
        else if (t_s <= until_s) series.push([t_s, queue]);
      }
      return series;
    }

    drawStrip() {
      const { paper } = this;
      const { left, right, bands, gap } = this.plot;
      const { from_s, until_s, packets } = this.recording;
      const wide = paper.width > 560;
      let top = this.plot.top;
      const label = (words, x, y, align) => paper.text(words, x, y, this.soft, align, "11px");
      /** A part of the strip from 0 to `most`; `paint` gets the function from a value to its y. */
      const band = (title, height, most, paint) => {
        label(title, left + 4, top - 8, "left");
        paper.box(left, top, right - left, height, this.line);
        label(short(most, 3), left - 4, top + 6, "right");
        label(short(0, 3), left - 4, top + height - 5, "right");
        const bottom = top + height;
        const { context } = paper;
        context.save();
        context.beginPath();
        context.rect(left, top - 1, right - left, height + 2);
        context.clip();
        paint((value) => bottom - (value / Math.max(most, 1e-12)) * height);
        context.restore();
        top += height + gap;
      };
      const stairs = (steps, y, color, width = 1, dash = []) => {
        const points = [];
        for (const [t_s, value] of steps) {
          if (points.length) points.push([this.atTime(t_s), points.at(-1)[1]]);
          points.push([this.atTime(t_s), y(value)]);
        }
        if (points.length) points.push([this.atTime(until_s), points.at(-1)[1]]);
        paper.line(points, color, width, dash);
      };
      const visible = this.perFlow.map((events) => events.slice(Math.max(eventAt(events, from_s), 0)));
      const mostWindow = Math.max(2, ...visible.flat().map((event) => Math.max(Math.min(event.cwnd, 1e9), event.in_flight)));
      band(wide ? "window (line) and packets in flight (dashes), packets" : "window, and in flight (dashes)", bands[0], mostWindow * 1.05, (y) => {
        visible.forEach((events, i) => {
          stairs(events.map((event) => [event.t_s, event.cwnd]), y, this.color(i), 1.6);
          stairs(events.map((event) => [event.t_s, event.in_flight]), y, this.color(i), 1, [3, 2]);
          for (const event of events) {
            if (event.reduced || event.timeout) paper.cross(this.atTime(event.t_s), y(event.cwnd_before), this.color(i));
          }
        });
      });
      const mostQueue = Math.max(this.scenario.buffer_pkts, ...this.queueOver.map((step) => step[1])) * 1.1;
      band("packets in the queue; crosses: lost", bands[1], mostQueue, (y) => {
        stairs([[from_s, this.scenario.buffer_pkts]], y, this.soft, 1, [5, 3]);
        stairs(this.queueOver, y, this.ink);
        for (const packet of packets) {
          if (packet.lost && packet.enter_s >= from_s) paper.cross(this.atTime(packet.enter_s), y(this.scenario.buffer_pkts), this.color(packet.flow));
        }
      });
      const base = visible.map((events) => (events.length ? events[0].una : 0));
      const upTo = visible.map((events, i) => (events.length ? events.at(-1).next - base[i] : 0));
      band(wide ? "packet numbers: sent (dots), sent again (rings), lost (crosses), acknowledged (line)" : "packet numbers: sent, again (rings), lost, ACKed (line)", bands[2], Math.max(4, ...upTo) * 1.05, (y) => {
        visible.forEach((events, i) => stairs(events.map((event) => [event.t_s, event.una - base[i]]), y, this.color(i)));
        for (const packet of packets) {
          if (packet.flow < 0 || packet.sent_s < from_s) continue;
          const at = [this.atTime(packet.sent_s), y(packet.seq - base[packet.flow])];
          if (packet.lost) paper.cross(...at, this.color(packet.flow));
          else if (packet.again) paper.circle(...at, 3.5, this.color(packet.flow), false);
          else paper.square(...at, 2, this.color(packet.flow));
        }
      });
      if (this.marked_s !== null) {
        const x = this.atTime(this.marked_s);
        paper.line([[x, this.plot.top], [x, paper.height - 24]], this.accent, 1.5, [2, 3]);
        paper.text(this.mark.says, x + (x > (left + right) / 2 ? -4 : 4), this.plot.top + 10, this.accent, x > (left + right) / 2 ? "right" : "left", "bold 11px", this.back);
      }
      const parts = right - left > 500 ? 6 : 3;
      for (let k = 0; k <= parts; k++) {
        const t_s = from_s + (k / parts) * (until_s - from_s);
        const align = { 0: "left", [parts]: "right" }[k] ?? "center";
        label(`${short(t_s, 4)}${k === parts ? " s" : ""}`, this.atTime(t_s), paper.height - 10, align);
      }
    }
  }

  let view = null;
  return {
    /** The view; `element` is where it is put at first. */
    mount: (element) => (view ||= new View(element)),
    get view() {
      return view;
    },
  };
})();
