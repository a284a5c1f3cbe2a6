"""Text of the TCP probe: the sender's lines of the first 4 s of two CUBIC flows and a Reno flow over 20 Mb/s (``perf script``).

TCP_INFO of the same sockets was polled beside it (tests/samples/tcp_info/three_flows.csv.gz). Of ``/proc/net/tcpprobe``, whose
module no kernel of today has, lines are made by its documented format.
"""

import re

import numpy as np
import pytest

from tcpfair.sources.readers import tcp_info
from tcpfair.sources.readers.sidecar import SaidFlow, Sidecar
from tests.sources.readers.edits import NOTHING, SAMPLES, by_name, sample_text, told

SAMPLE = SAMPLES / "tcp_probe" / "perf_script.txt.xz"
FLOWS = ["192.0.2.1:40001", "192.0.2.1:40002", "192.0.2.1:40005"]


def event(t, una, cwnd=10, ssthresh=2147483647, flight=14480, srtt=50_000, ends="src=10.0.0.1:4000 dest=10.0.0.2:5201"):
    return (
        f"          iperf3-77    [001] ..s1. {t:.6f}: tcp_probe: family=AF_INET {ends} mark=0x0 data_len=0 "
        f"snd_nxt={(una + flight) % 2**32:#x} snd_una={una % 2**32:#x} snd_cwnd={cwnd} ssthresh={ssthresh} snd_wnd=65536 "
        f"srtt={srtt} rcv_wnd=65536 sock_cookie=1f skbaddr=0x1 skaddr=0x2"
    )


def module(t, una, cwnd=10, ssthresh=2147483647, flight=14480, srtt=50_000):
    return (
        f"{t:.9f} 10.0.0.1:4000 10.0.0.2:5201 32 {(una + flight) % 2**32:#x} {una % 2**32:#x} {cwnd} {ssthresh} 65536 {srtt} "
        "65536"
    )


def lines_of(form, **more):
    return [form(5 + i / 50, 1000 + i * 14_480, **more) for i in range(100)]


def text_of(lines):
    return "\n".join(lines) + "\n"


# --- what perf wrote -------------------------------------------------------------------------------------------------


def test_bytes_are_the_progress_of_snd_una(read):
    text = sample_text(SAMPLE)
    flows = by_name(read(SAMPLE))
    assert sorted(flows) == FLOWS
    for name, flow in flows.items():
        shown = re.findall(rf" (\d+\.\d+): tcp:tcp_probe: src={name} .* snd_una=(\S+) ", text)
        assert flow.total_bytes[-1] == int(shown[-1][1], 16) - int(shown[0][1], 16)
        assert flow.times_s[-1] == pytest.approx(float(shown[-1][0]) - float(shown[0][0]), abs=0.011)
        assert flow.interval_s < 0.03
        assert flow.clock_s is None
    starts_s = [flows[name].offset_s for name in FLOWS]
    # the third's cookie was acknowledged at 3.1158 s, its first data at once: 18.7 ms after they were sent
    assert starts_s == pytest.approx([0, 0.002, 3.097], abs=0.012)


def test_losses_and_goodput_are_those_that_tcp_info_tells(read):
    probed, polled = by_name(read(SAMPLE)), by_name(tcp_info.read(SAMPLES / "tcp_info/three_flows.csv.gz", NOTHING))
    shift_s = 0.075  # the first poll of TCP_INFO comes so much after the first packet
    for name, port in (("192.0.2.1:40001", "40001"), ("192.0.2.1:40002", "40002")):
        mine, its = probed[name], polled[port]
        at_s = np.array([0.5, 1.5, 2.5, 3.5])
        bytes_ = [np.interp(at_s + late, f.times_s, f.total_bytes) for f, late in ((mine, shift_s), (its, 0))]
        assert np.diff(bytes_[0]) == pytest.approx(np.diff(bytes_[1]), rel=0.03)
        cuts = [f.events[f.events["kind"] == "loss"] for f in (mine, its)]
        late_s = cuts[1]["t_s"].to_numpy() + shift_s
        shown = cuts[0][cuts[0]["t_s"] > 0.1]
        count = int((late_s < 3.7).sum())
        assert count >= 7
        assert shown["cwnd_after"].tolist()[:count] == cuts[1]["cwnd_after"].tolist()[:count]
        assert np.all(np.abs(late_s[:count] - shown["t_s"].to_numpy()[:count]) < 0.15)


# --- forms -------------------------------------------------------------------------------------------------------------


def test_snd_una_wraps(read):
    for form in (event, module):
        lines = [form(5 + i / 50, 2**32 - 200_000 + i * 14_480) for i in range(100)]
        (flow,) = read(text_of(lines)).flows
        assert flow.total_bytes[-1] == 99 * 14_480


def test_other_events_and_receivers_are_left_out(read):
    receiver = "src=10.0.0.2:5201 dest=10.0.0.1:4000"
    lines = ["# tracer: nop", "#", "cpus=2", "CPU:1 [LOST 12 EVENTS]"]
    for i, line in enumerate(lines_of(event)):
        lines += [line, event(5 + i / 50, 77, ends=receiver), "  x-1 [000] 5.0: sched_switch: prev_comm=tcp_probe"]
    observed = read(text_of(lines))
    assert [flow.name for flow in observed.flows] == ["10.0.0.1:4000"]
    assert "receivers" in told(observed)
    assert "lost 12 events" in told(observed)


def test_first_version_of_the_tracepoint(read):
    text = text_of(lines_of(event)).replace("family=AF_INET ", "").replace(" skbaddr=0x1 skaddr=0x2", "")
    text = text.replace("data_len", "length").replace(" sock_cookie=1f", "")
    assert read(text).flows[0].total_bytes[-1] == 99 * 14_480


def test_srtt_of_the_module_is_left_out_when_it_may_be_jiffies(read):
    (flow,) = read(text_of(lines_of(module))).flows
    assert flow.rtt_s == 0.05
    observed = read(text_of(lines_of(module, srtt=50)))
    assert np.isnan(observed.flows[0].rtt_s)
    assert observed.flows[0].windows["srtt_s"].isna().all()
    assert "jiffies" in told(observed)


def losing(form):
    """Slow start left by HyStart at 100, a loss at 120 (0.7 of it), a second at the same window, a timeout."""
    windows = [(90, 2**31 - 1), (98, 2**31 - 1), (100, 100), (110, 100), (120, 100)]
    windows += [(119, 84), (100, 84), (84, 84)] + [(w, max(84, (w >> 1) + (w >> 2))) for w in (95, 110, 120)]
    windows += [(119, 84), (95, 84), (84, 84), (86, 84), (1, 43), (1, 43), (20, 43), (44, 43)]
    una, lines = 1000, []
    for i, (cwnd, ssthresh) in enumerate(windows):
        lines.append(form(5 + i / 10, una, cwnd, ssthresh, flight=2000))
        una += 1500
    return lines


@pytest.mark.parametrize("form", [event, module])
def test_events_without_states(read, form):
    said = Sidecar(flows=[SaidFlow(flow="10.0.0.1:4000", protocol="cubic")])
    (flow,) = read(text_of(losing(form)), said).flows
    assert flow.cc == "cubic"
    cuts = flow.events[flow.events["kind"] != "recovery_end"]
    assert cuts["kind"].tolist() == ["loss", "loss", "rto"]
    assert cuts["t_s"].tolist() == pytest.approx([0.5, 1.1, 1.5], abs=0.001)
    assert cuts["cwnd_after"].tolist() == [84, 84, 1]
    assert cuts["cwnd_before"].tolist()[:2] == [120, 120]  # 84 = 120 * 717/1024 rounded down
    assert flow.windows["ssthresh_pkts"].tolist()[2:5] == [100, 100, 100]


def test_the_algorithm_is_not_told(read):
    (flow,) = read(text_of(losing(event))).flows
    assert flow.cc == "unknown"
    assert flow.events["w_max"].isna().all()


def test_of_the_lines_of_ten_milliseconds_the_last_is_kept(read):
    lines = [event(5 + i / 10_000, 1000 + i * 1448, cwnd=10 + i) for i in range(10_000)]
    (flow,) = read(text_of(lines)).flows
    assert 100 <= len(flow.times_s) <= 104
    assert flow.total_bytes[-1] == 9999 * 1448


def test_a_cut_line_is_left_out_and_said(read):
    text = text_of(lines_of(event))
    observed = read(text[:-60])
    assert observed.flows[0].total_bytes[-1] == 98 * 14_480
    assert "ends within a line" in told(observed)
