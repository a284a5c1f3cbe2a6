"""One run of the testbed, inside its namespaces: creates the network, runs the flows, writes their files.

    unshare --mount --pid --net --mount-proc --fork --kill-child=KILL python stage.py PLAN.json

A stand-alone script (standard library only). It is the first process of a PID namespace, so its children end with it.
Its network namespaces have names in a private /run and end with the last of these processes. So no clean-up is needed.
It ends when its standard input closes, which its parent keeps open.

    s1 --veth--+                                       s1 --veth-- r --TBF-- d     delay: netem, on the way back
               relay --veth-- r --TBF-- d
    s2 --veth--+  (or the bottleneck in the relay: relay --veth-- d)
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

TARGET = "10.99.200.1"
FIRST_PORT = 5201
RECEIVER_MAC = "02:00:00:00:02:01"
CLOSED_PORT = 9  # without listener: a connection is refused after one round trip
PROBES = 5
SPARE_S = 20.0  # for the connections' set-up and the exchange of reports
PRIORITY_RELAY, PRIORITY_POLL = 50, 40  # real-time; both sleep most of the time
# iperf3 may spin: with a real-time priority it would block all others. Socket buffers bridge the time that it waits.
NICE_FLOWS = -15
LONGEST_RUN_US = 500_000  # of a real-time process without sleeping, after which the kernel ends it
HELD = "1048576 134217728"  # bytes, initially and at most, of socket buffers: only the algorithm must limit windows
SYSCTLS = {
    "tcp_no_metrics_save": "1",
    "tcp_ecn": "0",
    "tcp_rmem": f"4096 {HELD}",
    "tcp_wmem": f"4096 {HELD}",
    "tcp_sack": "1",
    "tcp_timestamps": "1",
    # before iperf3 chooses another. A socket that began with bbr, the default of some machines, stays paced, and
    # CUBIC's HyStart then leaves slow start at twice the window.
    "tcp_congestion_control": "reno",
}
COUNTERS = (
    *("RetransSegs", "TCPLossProbes", "TCPTimeouts", "TCPDSACKRecv", "TCPSACKReorder", "TCPHystartTrainDetect"),
    *("TCPHystartDelayDetect", "TCPSpuriousRTOs", "TCPBacklogDrop", "TCPRcvQDrop"),
)
OFFLOADS = ("tx", "rx", "sg", "tso", "gso", "gro")


class StageError(Exception):
    """A command or a flow failed; the message is one line."""


def main() -> int:
    """Run PLAN.json; 0 when its files exist, 1 with one line on stderr when something failed."""
    plan = json.loads(Path(sys.argv[1]).read_text())
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        result = Stage(plan).run()
    except (StageError, OSError) as error:
        print(str(error).replace("\n", " "), file=sys.stderr)
        return 1
    Path(plan["folder"], "result.json").write_text(json.dumps(result))
    return 0


def _end_with_input() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def may_be_realtime() -> bool:
    """Whether this process may start others with a real-time priority."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError:
        return False
    resource.setrlimit(resource.RLIMIT_RTTIME, (LONGEST_RUN_US, LONGEST_RUN_US))
    return True


class Stage:
    """The network and the processes of one run."""

    def __init__(self, plan: dict) -> None:
        self.plan = plan
        self.folder = Path(plan["folder"])
        self.flows = list(enumerate(plan["flows"], start=1))
        self.realtime = False

    def run(self) -> dict:
        """Run all steps in order; return the content of the run's ``meta.json``."""
        self.make_network()
        loaders = [self.register(each) for each in self.plan["struct_ops"]]
        self.realtime = may_be_realtime()
        os.nice(NICE_FLOWS)
        relay = self.start_relay()
        rtts_ms = self.probe()
        poll = self.start_poll()
        logs = [self.start_ss(number) for number, _ in self.flows] if self.plan["ss"] else []
        before = [self.counters(number) for number, _ in self.flows]
        cpu_before, clock_before = cpu_ticks(), time.time() - time.monotonic()
        t0_s = self.run_flows()
        cpu_after, clock_after = cpu_ticks(), time.time() - time.monotonic()
        time.sleep(0.3 + 4 * max(flow["rtt_ms"] for _, flow in self.flows) / 1e3)
        after = [self.counters(number) for number, _ in self.flows]
        for log in logs:
            log.terminate()
        self.end(poll)
        said = self.end(relay) if relay else ""
        for loader in loaders:
            loader.stdin.close()
        spent = {name: cpu_after[name] - cpu_before[name] for name in cpu_after}
        total = sum(spent.values()) or 1
        return {
            "t0": t0_s,
            "bottleneck": self.plan["bottleneck"],
            "rtt_probe_ms": rtts_ms,
            "relay": json.loads(said) if said else {},
            "realtime": self.realtime,
            "counters": [{name: new[name] - old[name] for name in new} for old, new in zip(before, after, strict=True)],
            "cpu": {name: round(value / total, 4) for name, value in spent.items()},
            "own_cpu_s": round(own_cpu_s(), 3),
            "clock_step_s": round(clock_after - clock_before, 4),
        }

    # ---------------------------------------------------------------- the network

    def make_network(self) -> None:
        """Namespaces, links, addresses, delays and the bottleneck."""
        Path("/run").mkdir(exist_ok=True)
        run_line("mount -t tmpfs tmpfs /run")
        for space in ["d", *(f"s{number}" for number, _ in self.flows), *(["r"] if self.in_kernel else [])]:
            run_line(f"ip netns add {space}")
            for which in ("all", "default"):
                self.write(space, f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6", "1", may_lack=True)
            run_line(f"ip -n {space} link set lo up")
            for name, value in SYSCTLS.items():
                self.write(space, f"/proc/sys/net/ipv4/{name}", value)
        # of the relay's namespace: IPv6 announcements would pass the bottleneck
        self.write("", "/proc/sys/net/ipv6/conf/default/disable_ipv6", "1", may_lack=True)
        gate, interface = ("r", "in") if self.in_kernel else ("d", "e0")
        if self.in_kernel:
            self.write("r", "/proc/sys/net/ipv4/ip_forward", "1")
            self.link("r", "out", "d", "e0")
            run_line("ip -n r addr add 10.99.200.254/24 dev out")
            run_line(f"ip -n d addr add {TARGET}/24 dev e0")
            run_line("ip -n d route add default via 10.99.200.254")
        if self.plan["delay"] == "relay":
            self.link("", "wire", gate, interface)
            run_line(f"ip -n {gate} link set {interface} address {RECEIVER_MAC}")
        if not self.in_kernel:
            run_line(f"ip -n d addr add {TARGET}/32 dev e0")
        for number, flow in self.flows:
            self.connect(number, flow, gate, interface)
        if self.in_kernel:
            queue = f"burst {self.plan['burst_bytes']} limit {self.plan['buffer_bytes']}"
            rate = f"rate {self.plan['rate_bps']:.0f}bit {queue} overhead {self.plan['overhead_bytes']}"
            run_line(f"tc -n r qdisc add dev out root tbf {rate}")

    @property
    def in_kernel(self) -> bool:
        return self.plan["bottleneck"] == "tbf"

    def connect(self, number: int, flow: dict, gate: str, interface: str) -> None:
        """The link of a sender, through the relay or to the router, its address and its routes."""
        sender, network = f"s{number}", f"10.99.{number}"
        if self.plan["delay"] == "relay":  # the relay has no ARP
            mac = f"02:00:00:00:01:{number:02x}"
            self.link("", f"w{number}", sender, "e0")
            run_line(f"ip -n {sender} link set e0 address {mac}")
        else:
            interface = f"e{number}"
            self.link(sender, "e0", gate, interface)
            run_line(f"ip -n {gate} addr add {network}.254/24 dev {interface}")
            # the whole delay is on the return path: on the forward path TCP's small queues would react to it. netem
            # drops beyond its limit, 1000 packets by default.
            delay = f"delay {flow['rtt_ms'] * 1000:.0f}us limit 1000000"
            run_line(f"tc -n {gate} qdisc add dev {interface} root netem {delay}")
        run_line(f"ip -n {sender} addr add {network}.1/24 dev e0")
        run_line(f"ip -n {sender} route add default via {network}.254")
        if self.plan["delay"] == "relay":
            run_line(f"ip -n {sender} neigh add {network}.254 lladdr {RECEIVER_MAC} dev e0 nud permanent")
            run_line(f"ip -n {gate} route add {network}.0/24 dev {interface}")
            run_line(f"ip -n {gate} neigh add {network}.1 lladdr {mac} dev {interface} nud permanent")

    def link(self, space: str, interface: str, other: str, peer: str) -> None:
        """A veth pair without offloads between two namespaces; a ``space`` of '' is the relay's."""
        run_line(f"{ip_in(space)} link add {interface} type veth peer name {peer} netns {other}")
        for where, name in ((space, interface), (other, peer)):
            run(*inside_of(where), "ethtool", "-K", name, *(word for each in OFFLOADS for word in (each, "off")))
            run_line(f"{ip_in(where)} link set {name} up txqueuelen 100000")

    def write(self, space: str, path: str, value: str, may_lack: bool = False) -> None:
        try:
            run(*inside_of(space), "sh", "-c", f"echo '{value}' > {path}")
        except StageError:
            if not may_lack:
                raise

    # ---------------------------------------------------------------- processes

    def register(self, each: dict) -> subprocess.Popen:
        """Register a BPF congestion control under a name of this run, for its duration."""
        command = [each["loader"], each["object"], each["name"]]
        return self.start(command, "struct_ops", f"the kernel refuses the congestion control {each['label']}")

    def start_relay(self) -> subprocess.Popen | None:
        if self.plan["delay"] != "relay":
            return None
        command = [self.plan["relay"], "-n", str(self.plan["slots"])]
        if self.realtime:
            command += ["-f", str(PRIORITY_RELAY)]
        if not self.in_kernel:
            command += ["-r", str(self.plan["rate_bps"]), "-b", str(self.plan["buffer_bytes"])]
            command += ["-o", str(self.plan["overhead_bytes"])]
            command += ["-q", str(self.folder / "queue.csv"), "-d", str(self.folder / "drops.csv")]
        if self.plan["pcap"]:
            command += ["-w", str(self.folder / "headers.pcap")]
        command += ["wire"]
        for number, flow in self.flows:
            forward_ns = round(flow["rtt_ms"] * 1e6 * self.plan["forward_share"])
            command += [f"w{number},{number},{forward_ns},{round(flow['rtt_ms'] * 1e6) - forward_ns}"]
        return self.start(command, "relay", "relay does not start")

    def start_poll(self) -> subprocess.Popen:
        spec = {
            "period_s": self.plan["period_s"],
            "senders": [
                {"namespace": f"/run/netns/s{n}", "port": FIRST_PORT + n, "file": str(self.folder / f"s{n}.tcp.csv")}
                for n, _ in self.flows
            ],
        }
        if self.in_kernel:
            file = str(self.folder / "queue.csv")
            spec["queue"] = {"namespace": "/run/netns/r", "interface": "out", "file": file}
        path = self.folder / "poll.json"
        path.write_text(json.dumps(spec))
        script = Path(__file__).with_name("poll.py")
        command = [sys.executable, "-I", str(script), str(path)]
        return self.start(command, "poll", "poll does not start", PRIORITY_POLL)

    def start_ss(self, number: int) -> subprocess.Popen:
        """``ss -tin`` every tenth of a second, each after a line with the time."""
        loop = "while :; do date +%s.%N; ss -tin; sleep 0.1; done"
        log = (self.folder / f"s{number}.ss.log").open("w")
        return subprocess.Popen([*inside_of(f"s{number}"), "sh", "-c", loop], stdout=log, stderr=subprocess.DEVNULL)

    def start(self, command: list[str], name: str, failure: str, level: int = 0) -> subprocess.Popen:
        """A process that prints "ready" after its start. Raises StageError ``failure``, with the last line of its log."""
        if level and self.realtime:
            command = ["chrt", "-f", str(level), *command]
        log = self.folder / f"{name}.log"
        pipe = subprocess.PIPE
        started = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log.open("w"), text=True)
        if started.stdout.readline().strip() != "ready":
            started.wait()
            said = log.read_text().strip().splitlines()[-1:] or ["no reason given"]
            raise StageError(f"{failure}: {said[0]}")
        return started

    def end(self, process: subprocess.Popen) -> str:
        """End a process with SIGTERM and return its output."""
        process.terminate()
        try:
            said, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            raise StageError(f"{process.args[0]} does not end") from None
        if process.returncode:
            raise StageError(f"{process.args[0]} failed in the middle of the run, status {process.returncode}")
        return said.strip()

    # ---------------------------------------------------------------- the flows

    def probe(self) -> list[float]:
        """The round trip of each sender without a queue, ms: the shortest time in which a connection is refused."""
        script = (
            "import socket, sys, time\n"
            "for _ in range(int(sys.argv[3]) + 1):\n"
            "    began = time.perf_counter()\n"
            "    try:\n"
            "        socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)\n"
            "    except ConnectionRefusedError:\n"
            "        print(1e3 * (time.perf_counter() - began))\n"
        )
        found = []
        for number, _ in self.flows:
            words = [sys.executable, "-I", "-S", "-c", script, TARGET, str(CLOSED_PORT), str(PROBES)]
            try:
                times_ms = [float(line) for line in run(*inside_of(f"s{number}"), *words).split()]
            except StageError:
                times_ms = []
            if not times_ms:
                why = "is something filtering packets?"
                raise StageError(f"nothing comes back from the receiver to sender {number}; {why}")
            found.append(round(min(times_ms), 4))
        return found

    def run_flows(self) -> float:
        """Start each flow on time and wait for all; return the wall clock of t = 0."""
        for number, _ in self.flows:
            server = ["iperf3", "-s", "-1", "-J", "-p", str(FIRST_PORT + number)]
            server += ["-i", f"{self.plan['interval_s']:g}"]
            subprocess.Popen([*inside_of("d"), *server], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for number, _ in self.flows:
            self.wait_for_server(FIRST_PORT + number)
        t0_s = time.time() + 0.2
        clients = []
        for number, flow in sorted(self.flows, key=lambda each: each[1]["start_s"]):
            time.sleep(max(0.0, t0_s + flow["start_s"] - time.time()))
            words = ["iperf3", "-c", TARGET, "-p", str(FIRST_PORT + number), "-C", flow["cc"], "-i"]
            words += [f"{self.plan['interval_s']:g}", "-t", str(flow["seconds"]), "-J", "--get-server-output"]
            words += ["--title", f"start={flow['start_s']:g}"]
            report = (self.folder / f"flow{number}.iperf.json").open("w")
            clients.append((number, subprocess.Popen([*inside_of(f"s{number}"), *words], stdout=report)))
        ends_s = t0_s + self.plan["duration_s"] + SPARE_S
        for number, client in clients:
            try:
                client.wait(max(0.1, ends_s - time.time()))
            except subprocess.TimeoutExpired:
                late = f"{SPARE_S:g} s after the end of the run"
                raise StageError(f"flow {number}: iperf3 has not ended {late}") from None
        return t0_s

    def wait_for_server(self, port: int) -> None:
        """Wait until a server listens, by /proc/net/tcp of the receiver's namespace."""
        wanted = f":{port:04X} "
        for _ in range(200):
            sockets = run(*inside_of("d"), "sh", "-c", "cat /proc/net/tcp*").splitlines()
            if any(wanted in line and " 0A " in line for line in sockets):
                return
            time.sleep(0.02)
        raise StageError(f"iperf3 does not listen on port {port}")

    def counters(self, number: int) -> dict[str, int]:
        """The TCP counters of a sender's namespace."""
        found = {}
        lines = run(*inside_of(f"s{number}"), "cat", "/proc/net/snmp", "/proc/net/netstat").splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            if names.startswith(("Tcp:", "TcpExt:")):
                found |= dict(zip(names.split()[1:], map(int, values.split()[1:]), strict=True))
        return {name: found[name] for name in COUNTERS if name in found}


def own_cpu_s() -> float:
    """CPU time of all ended children in s."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def cpu_ticks() -> dict[str, int]:
    """Ticks of all processors by kind."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    values = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    return {name: int(value) for name, value in zip(names, values, strict=False)}


def ip_in(space: str) -> str:
    """The command ip for a namespace."""
    return f"ip -n {space}" if space else "ip"


def inside_of(space: str) -> list[str]:
    """The prefix that runs a command in a namespace."""
    return ["nsenter", f"--net=/run/netns/{space}"] if space else []


def run(*words: str) -> str:
    """Run a command to its end; StageError with the last line that it prints when it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or [f"status {done.returncode}"]
        raise StageError(f"{' '.join(words)}: {said[0]}")
    return done.stdout


def run_line(line: str) -> str:
    """`run` the words of a line."""
    return run(*line.split())


if __name__ == "__main__":
    sys.exit(main())
