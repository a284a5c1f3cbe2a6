"""Logs of ss: 10 s of two CUBIC flows and, from 3 s, a Reno flow over 20 Mb/s, polled at both ends by ss of iproute2 6.1.

``sender`` and ``receiver`` were written by scripts/poll_ss.sh, ``multi_line`` and ``date`` by shell loops with other clocks. What
iperf3 reported of the same run is the truth to hold them against.
"""

import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from tcpfair.sources.readers import polls, tcp_info
from tests.sources.readers.edits import NOTHING, SAMPLES, by_name, sample_text, told
from tests.sources.readers.mutations import assert_sound

POLLER = Path(__file__).parents[3] / "scripts" / "poll_ss.sh"
SENDER, RECEIVER, LINES, DATES = (
    SAMPLES / f"ss/{name}.log.gz" for name in ("sender", "receiver", "multi_line", "date")
)
FLOWS = ["192.0.2.1:40001", "192.0.2.1:40002", "192.0.2.1:40005"]
IPERF3_RECEIVED_BYTES = [11_404_376, 10_730_240, 1_798_416]


# --- what ss wrote --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [SENDER, RECEIVER, LINES, DATES], ids=lambda path: path.name)
def test_bytes_are_what_iperf3_says(read, path):
    observed = read(path)
    flows = by_name(observed)
    assert sorted(flows) == FLOWS
    got = [flows[flow].total_bytes[-1] for flow in FLOWS]
    # the last poll comes up to 0.2 s before the end of 10 s (6 s), the first later than the start
    assert got == pytest.approx(IPERF3_RECEIVED_BYTES, rel=0.035)
    assert (np.subtract(got, IPERF3_RECEIVED_BYTES) < polls.COOKIE_BYTES).all()
    assert re.search(r"192\.0\.2\.1:40000 \(.*192\.0\.2\.1:40003 \(", told(observed))


def test_readings_are_the_polls_of_the_log(read):
    flow = by_name(read(SENDER))["192.0.2.1:40005"]
    polls = re.findall(
        r"^(\d{9}\.\d{6})\n(?:ESTAB .*\n)*?ESTAB 0 0 192\.0\.2\.1:40005 .* bytes_acked:(\d+)", sample_text(SENDER), re.M
    )
    # the first shows no more than the SYN acknowledged: the flow begins after it
    (idle_s, idle_bytes), *polls = polls
    assert (idle_s, idle_bytes) == ("946684804.511531", "1")
    assert float(idle_s) < flow.clock_s < float(polls[0][0])
    offset = len(flow.times_s) - len(polls)
    assert flow.total_bytes[:offset].tolist() == [0] * offset
    assert flow.total_bytes[offset:] == pytest.approx([int(acked) - 1 for _, acked in polls], abs=0)
    assert flow.clock_s + flow.times_s[offset:] == pytest.approx([float(t) for t, _ in polls], abs=1e-6)
    assert flow.interval_s == 0.1  # polls are 0.109 s apart; ten of its intervals make a second
    assert (flow.cc, flow.origin) == ("reno", "sender: bytes_acked")


def test_what_a_socket_carried_before_its_first_poll_counts(read):
    flow = by_name(read(SENDER))["192.0.2.1:40001"]
    # polls at 1.303802 without and at 1.437811 with the socket, which then had 11622 bytes acknowledged and busy:4ms
    assert flow.clock_s == pytest.approx(946_684_801.437811 - 0.004, abs=1e-6)
    assert flow.times_s[:2] == pytest.approx([0, 0.004], abs=1e-6)
    assert flow.total_bytes[1] == 11_622


def test_windows_and_rtt_are_those_of_the_sender(read):
    flow = by_name(read(SENDER))["192.0.2.1:40001"]
    shown = re.findall(r" 192\.0\.2\.1:40001 .* rtt:([\d.]+)/.* cwnd:(\d+)(?: ssthresh:(\d+))?", sample_text(SENDER))
    assert flow.windows["cwnd_pkts"].tolist() == [float(cwnd) for _, cwnd, _ in shown]
    assert flow.windows["srtt_s"].tolist() == pytest.approx([float(rtt) / 1e3 for rtt, _, _ in shown], rel=1e-6)
    assert flow.windows["ssthresh_pkts"].tolist() == [float(s) if s else np.inf for _, _, s in shown]
    assert flow.rtt_s == pytest.approx(2e-6)  # minrtt:0.002
    assert flow.cc == "cubic"


def test_losses_are_those_that_tcp_info_tells(read):
    """TCP_INFO of the same sockets, polled beside, has the kernel's own state; one loss came before its first poll."""
    own, other = by_name(read(SENDER)), by_name(tcp_info.read(SAMPLES / "tcp_info/three_flows.csv.gz", NOTHING))
    for name in FLOWS:
        mine, its = (
            flow.events[flow.events["kind"] == "loss"].assign(at_s=lambda rows, flow=flow: rows["t_s"] + flow.clock_s)
            for flow in (own[name], other[name.rpartition(":")[2]])
        )
        assert len(mine) - len(its) in (0, min(len(its), 1))
        both = mine.tail(len(its))
        assert both["cwnd_after"].tolist() == its["cwnd_after"].tolist()
        assert both["at_s"].tolist() == pytest.approx(its["at_s"].tolist(), abs=0.15)


def test_layouts_give_the_same_flows(read):
    """The two loops ran beside each other; each stamp is older than its poll by what ``date`` and a fork take."""
    one, other = by_name(read(SENDER)), by_name(read(LINES))
    for name in FLOWS:
        at_s = one[name].clock_s + np.array([1.0, 5.0])
        mine, its = (
            np.diff(np.interp(at_s, flow.clock_s + flow.times_s, flow.total_bytes)) for flow in (one[name], other[name])
        )
        assert mine == pytest.approx(its, rel=0.03)


def test_stamps_of_whole_seconds_are_spread_over_the_second(read):
    observed = read(DATES)
    flow = by_name(observed)["192.0.2.1:40001"]
    assert flow.clock_error_s == 1
    assert flow.interval_s == pytest.approx(0.2)
    assert np.diff(flow.times_s).max() < 0.5
    assert "whole seconds" in told(observed)


def test_both_ends_of_a_connection_are_one_flow(read):
    """One log of both ends: the polls of the two in order of time."""
    both = sample_text(SENDER) + sample_text(RECEIVER)
    flows = by_name(read("".join(sorted(re.findall(r"^(\d{9}\.\d{6}\n(?:ESTAB.*\n)*)", both, re.M)))))
    receivers, senders = by_name(read(RECEIVER)), by_name(read(SENDER))
    assert sorted(flows) == FLOWS
    for name in FLOWS:
        assert flows[name].origin == "receiver: bytes_received"
        assert flows[name].total_bytes[-1] == pytest.approx(receivers[name].total_bytes[-1], rel=0.01)
        assert flows[name].windows["cwnd_pkts"].tolist() == senders[name].windows["cwnd_pkts"].tolist()
        assert flows[name].cc == senders[name].cc


def test_receiver_alone_has_goodput_and_no_windows(read):
    flow = by_name(read(RECEIVER))["192.0.2.1:40001"]
    assert (flow.origin, flow.cc) == ("receiver: bytes_received", "unknown")
    assert flow.windows.empty


# --- layouts and clocks -----------------------------------------------------------------------------------------------

DETAIL = (
    "ts sack {cc} wscale:7,7 rto:204 rtt:50.5/0.7 ato:40 mss:1448 cwnd:{cwnd} ssthresh:{ssthresh} {more}send 2.3Mbps"
)
TIMES = {
    "epoch": "1700000000.{0}00000",
    "epoch comma": "1700000000,{0}",
    "milliseconds": "1700000000{0}00",
    "nanoseconds": "1700000000{0}00000000",
    "iso": "2023-11-14T22:13:20,{0}00000000+00:00",
    "rfc 3339": "2023-11-14 23:13:20.{0}00000000+01:00",
    "zulu": "2023-11-14T22:13:20.{0}Z",
    "decorated": "=== 1700000000.{0} ===",
    "bracketed": "[1700000000.{0}]",
}


def log(polls, stamp="{t:.1f}", one_line=True, header=False):
    """A log of (time, [(local, peer, {field: value}), ...]) in some layout."""
    lines = []
    for t, sockets in polls:
        if stamp:
            lines.append(stamp.format(t=t))
        if header:
            lines.append("State  Recv-Q  Send-Q  Local Address:Port  Peer Address:Port  Process")
        for local, peer, fields in sockets:
            values = {"cc": "cubic", "cwnd": 10, "ssthresh": 7, **fields}
            shown = ("lost", "retrans", "backoff", "bytes_sent", "bytes_acked", "bytes_received", "minrtt")
            more = "".join(f"{name}:{values[name]} " for name in shown if name in values)
            detail = DETAIL.format(more=more, **{name: values[name] for name in ("cc", "cwnd", "ssthresh")})
            cookie = f" sk:{values['sk']}" if "sk" in values else ""
            head = f"ESTAB  0  0  {local}  {peer} {cookie}"
            lines += [f"{head} {detail}"] if one_line else [head, f"\t {detail}"]
    return "\n".join(lines) + "\n"


def steady(n=10, local="10.0.0.1:4000", peer="10.0.0.2:5201", start=1_700_000_000.0, **more):
    return [(start + i / 10, [(local, peer, {"bytes_acked": 1000 + i * 100_000, **more})]) for i in range(n)]


@pytest.mark.parametrize("stamp", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("one_line", [True, False])
def test_stamps(read, stamp, one_line):
    text = "".join(
        stamp.format(i) + "\n" + log([poll], stamp="", one_line=one_line, header=not one_line)
        for i, poll in enumerate(steady())
    )
    (flow,) = read(text).flows
    assert flow.clock_s == pytest.approx(1_700_000_000, abs=1e-6)
    assert flow.times_s == pytest.approx(np.arange(10) / 10, abs=1e-6)
    assert flow.total_bytes[-1] == 900_000


@pytest.mark.parametrize(
    ("stamp", "is_wall"),
    [
        ("Tue Nov 14 22:13:{0:02} UTC 2023", True),
        ("Tue Nov 14 10:13:{0:02} PM UTC 2023", True),
        ("Tue 14 Nov 2023 11:13:{0:02} PM CET", True),
        ("Tue 14 Nov 22:13:{0:02} GMT 2023", True),
        ("Tue, 14 Nov 2023 17:13:{0:02} -0500", True),
        ("2023-11-14T22:13:{0:02}+00:00", True),
        ("2023-11-14 22:13:{0:02}", False),  # which zone?
        ("Tue Nov 14 22:13:{0:02} CST 2023", False),  # China or Chicago?
        ("Nov 14 22:13:{0:02}", False),  # which year?
        ("22:13:{0:02}", False),
    ],
)
def test_stamps_of_whole_seconds(read, stamp, is_wall):
    text = "".join(stamp.format(20 + i) + "\n" + log([poll], stamp="") for i, poll in enumerate(steady()))
    observed = read(text)
    (flow,) = observed.flows
    assert (flow.clock_s, flow.clock_error_s, flow.offset_s) == ((1_700_000_000, 1, None) if is_wall else (None, 1, 0))
    assert flow.times_s == pytest.approx(np.arange(10))
    assert ("wall clock is not known" in told(observed)) is not is_wall


@pytest.mark.parametrize("prefix", ["{t:.6f} ", "Nov 14 22:13:{s:04.1f} "])
@pytest.mark.parametrize("one_line", [True, False])
def test_ts_puts_its_stamp_before_each_line(read, prefix, one_line):
    text = ""
    for poll in steady():
        stamp = prefix.format(t=poll[0], s=20 + (poll[0] - 1_700_000_000))
        text += "".join(f"{stamp}{line}\n" for line in log([poll], stamp="", one_line=one_line).splitlines())
    (flow,) = read(text).flows
    assert flow.times_s == pytest.approx(np.arange(10) / 10, abs=1e-6)
    assert flow.total_bytes[-1] == 900_000
    assert len(flow.windows) == 10


def test_time_of_day_goes_on_after_midnight(read):
    stamps = ["23:59:59.5", "23:59:59.9", "00:00:00.3", "00:00:00.7"]
    text = "".join(stamp + "\n" + log([poll], stamp="") for stamp, poll in zip(stamps, steady(4), strict=True))
    assert read(text).flows[0].times_s == pytest.approx([0, 0.4, 0.8, 1.2])


def test_state_and_netid_columns_may_lack_or_be_there(read):
    text = log(steady())
    expected = read(text).flows[0]
    for other in (text.replace("ESTAB  ", ""), text.replace("ESTAB", "tcp   ESTAB")):
        flow = read(other).flows[0]
        assert flow.total_bytes.tolist() == expected.total_bytes.tolist()


def test_ipv6_mapped_addresses_and_interfaces(read):
    sent = steady(local="[::ffff:10.0.0.1%eth0]:4000", peer="[::ffff:10.0.0.2]:5201")
    got = [("10.0.0.2:5201", "10.0.0.1:4000", {"bytes_received": 500 + i * 90_000}) for i in range(10)]
    polls = [(t, [*sockets, other]) for (t, sockets), other in zip(sent, got, strict=True)]
    (flow,) = read(log(polls)).flows
    assert (flow.name, flow.total_bytes[-1]) == ("10.0.0.1:4000", 810_000)
    assert len(flow.windows) == 10


def test_many_flows_of_a_server_are_named_by_their_clients(read):
    ports = (4000, 4001)
    polls = [
        (1.7e9 + i / 10, [("10.0.0.2:5201", f"10.0.0.1:{port}", {"bytes_acked": 1000 + i * port}) for port in ports])
        for i in range(5)
    ]
    assert sorted(by_name(read(log(polls)))) == ["10.0.0.1:4000", "10.0.0.1:4001"]


def test_a_port_used_again_is_another_flow(read):
    first, second = steady(10, sk="1"), steady(10, sk="2", start=1_700_000_005.0)
    flows = read(log([*first, *second])).flows
    assert [flow.total_bytes[-1] for flow in flows] == [900_000, 900_000]
    assert not flows[0].identity & flows[1].identity


def test_recovery_without_the_kernels_state(read):
    states = [
        {"cwnd": 100, "ssthresh": 80, "retrans": "0/3"},
        {"cwnd": 104, "ssthresh": 80, "retrans": "1/4"},  # a probe of the tail: no loss
        {"cwnd": 104, "ssthresh": 80, "retrans": "0/4"},
        {"cwnd": 90, "ssthresh": 72, "retrans": "2/6", "lost": 2},
        {"cwnd": 72, "ssthresh": 72, "retrans": "1/6"},
        {"cwnd": 73, "ssthresh": 72, "retrans": "0/6"},
        {"cwnd": 1, "ssthresh": 51, "retrans": "1/7", "lost": 9, "backoff": 1},
        {"cwnd": 30, "ssthresh": 51, "retrans": "3/10", "lost": 2},
        {"cwnd": 52, "ssthresh": 51, "retrans": "0/12"},
        {"cwnd": 53, "ssthresh": 51, "retrans": "0/12"},
    ]
    polls = [(t, [(a, b, f | state)]) for (t, [(a, b, f)]), state in zip(steady(), states, strict=True)]
    events = read(log(polls)).flows[0].events
    assert events["kind"].tolist() == ["loss", "recovery_end", "rto", "recovery_end"]
    assert events["t_s"].tolist() == pytest.approx([0.3, 0.5, 0.6, 0.8])
    assert events["cwnd_after"].tolist() == [72, 73, 1, 52]


def test_a_file_cut_within_a_line_loses_its_last_poll_and_says_so(read):
    text = log(steady())
    observed = read(text[: text.rindex("bytes_acked:") + 14])
    assert observed.flows[0].total_bytes[-1] == 800_000
    assert "ends within" in told(observed)


def test_a_gap_is_marked(read):
    polls = steady(20)
    observed = read(log([*polls[:5], *[(t + 3, s) for t, s in polls[5:]]]))
    assert observed.flows[0].gaps_s == (pytest.approx((0.4, 3.5)),)


@pytest.mark.parametrize(
    ("shifts_s", "step_s"),
    [([0] * 10 + [-500] * 10, 1.0), ([0] * 7 + [3600] + [0] * 12, 0.7)],
    ids=["a clock set back", "one wrong stamp"],
)
def test_a_wrong_clock_is_put_right_and_marked(read, shifts_s, step_s):
    polls = [(t + shift_s, sockets) for (t, sockets), shift_s in zip(steady(20), shifts_s, strict=True)]
    observed = read(log(polls))
    (flow,) = observed.flows
    assert flow.times_s == pytest.approx(np.arange(20) / 10, abs=1e-6)
    assert flow.clock_steps_s == (pytest.approx(step_s),)
    assert "ran backwards" in told(observed)


def test_lines_of_others_are_counted(read):
    lines = log(steady()).splitlines()
    lines.insert(4, "bash: ss: command not found")
    observed = read("\n".join(lines) + "\n")
    assert "1 lines are neither ss's nor time stamps and were skipped, the first is 5" in told(observed)


def test_no_memory_for_a_number_in_the_file(read):
    long = log(steady())[:-1] + " " + "cwnd" * 100_000 + "\n"
    assert_sound(read(long), "a long line")
    colons = log(steady()) + ":" * 900_000 + " " + ":" * 90_000 + "\n"
    assert read(colons).remarks


# --- damage, secrets, the poller ---------------------------------------------------------------------------------------


with_ss = pytest.mark.skipif(not (shutil.which("ss") and Path("/proc").is_dir()), reason="no ss (iproute2) here")


@with_ss
def test_the_poller_writes_what_is_read(read, tmp_path):
    """A transfer over the loopback, polled by the shipped script, which ends with the shell that started it."""
    path, received = tmp_path / "poll.log", 0
    with socket.create_server(("127.0.0.1", 0)) as server, path.open("wb") as out:
        port = server.getsockname()[1]
        script = f"'{POLLER}' {port} 0.05 & sleep 2.5"
        shell = subprocess.Popen(["sh", "-c", script], stdout=out, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 10
        while not path.stat().st_size and time.monotonic() < until:
            time.sleep(0.02)
        with socket.create_connection(("127.0.0.1", port)) as sender, server.accept()[0] as receiver:
            until = time.monotonic() + 0.8
            while time.monotonic() < until:
                sender.sendall(b"x" * 20_000)
                received += len(receiver.recv(20_000, socket.MSG_WAITALL))
                time.sleep(0.01)
            shell.wait(timeout=20)  # after the last bytes are polled
            size = None
            for _ in range(100):  # its last poll may be under way
                time.sleep(0.1)
                if size == (size := path.stat().st_size):
                    break
            time.sleep(0.3)
            assert path.stat().st_size == size, "it goes on after its parent ended"
    if "bytes_acked:" not in path.read_text():
        pytest.skip("this kernel shows no bytes_acked")
    (flow,) = read(path).flows
    assert flow.origin == "receiver: bytes_received"
    assert 0.8 * received <= flow.total_bytes[-1] <= received
    assert flow.clock_s == pytest.approx(time.time(), abs=60)


@with_ss
@pytest.mark.parametrize(
    ("arguments", "says"), [(["http"], "PORT must be a number"), (["1", "1.2.3"], "INTERVAL_S must be")]
)
def test_the_poller_refuses_what_is_no_number(arguments, says):
    done = subprocess.run([POLLER, *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert says in done.stderr
