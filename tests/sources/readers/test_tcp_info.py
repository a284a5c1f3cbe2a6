"""TCP_INFO polls: the sample is the first 8 s of a CUBIC flow alone on 100 Mb/s, 50 ms, with its control connection."""

import re

import numpy as np
import pandas as pd
import pytest

from tcpfair.runs import trace
from tcpfair.sources.readers import read_any, tcp_info
from tcpfair.sources.readers.polls import losses
from tcpfair.sources.readers.sidecar import SaidFlow, Sidecar
from tests.sources.readers.edits import SAMPLES, by_name, told, written

SAMPLE = SAMPLES / "tcp_info" / "cubic_8s.csv.gz"
THREE = SAMPLE.with_name("three_flows.csv.gz")  # the run of tests/samples/ss, polled beside
DATA_PORT, CONTROL_PORT = 39662, 39656
HEADER = "t,sport,cc,ca_state,cwnd,ssthresh,rtt_us,min_rtt_us,total_retrans,bytes_acked\n"


def polls_file(tmp_path, rows, cc="reno"):
    """A CSV of (ca_state, cwnd, ssthresh, total_retrans), polled every 0.1 s from t = 100 s."""
    lines = [
        f"{100 + i / 10:.1f},5000,{cc},{state},{cwnd},{ssthresh},50000,50000,{retrans},{i * 1000}"
        for i, (state, cwnd, ssthresh, retrans) in enumerate(rows)
    ]
    return written(tmp_path, HEADER + "\n".join(lines) + "\n")


def test_data_connection_is_chosen():
    ports = pd.read_csv(SAMPLE)["sport"].unique()
    assert set(ports) == {DATA_PORT, CONTROL_PORT}
    assert tcp_info.read_polls(SAMPLE)["sport"].unique().tolist() == [DATA_PORT]


def test_samples_are_the_polls(tmp_path):
    run = read_any(SAMPLE)
    trace.write(run, tmp_path / "trace")
    samples = trace.read(tmp_path / "trace").samples
    # the first polls as they stand in the file: bytes_acked 1, 14518, 101398 and cwnd 10, 20, 80
    # in equal intervals of 0.1 s; the polls come 0.1 ms later
    assert samples["delivered_bytes"].tolist()[:2] == pytest.approx([14_517, 86_880], rel=2e-3)
    assert samples["cwnd_pkts"].tolist()[:3] == [10, 20, 80]  # the last poll until then
    assert np.isinf(samples["ssthresh_pkts"].iloc[0])
    assert samples["srtt_s"].iloc[1] == pytest.approx(0.050437)
    assert run.runs["sample_s"].item() == 0.1
    assert run.flows["rtt_s"].item() == 0.050038


def test_losses_of_the_sample():
    """HyStart leaves slow start at 525 packets without a loss; then two losses, the second with fast convergence."""
    polls = tcp_info.read_polls(SAMPLE)
    events = losses(polls, polls["t"].to_numpy() - polls["t"].iloc[0])
    assert events["kind"].tolist() == ["loss", "recovery_end", "loss", "recovery_end"]
    assert events["t_s"].tolist() == pytest.approx([1.2, 1.4, 5.4, 5.5], abs=1e-3)
    cuts = events[events["kind"] == "loss"]
    assert cuts["cwnd_after"].tolist() == [602, 574]
    # 602 = 860 * 717/1024, 574 = 820 * 717/1024, rounded down; 820 < 860, so W_max = 820 * (1 + 0.7)/2
    assert cuts["cwnd_before"].tolist() == [860, 820]
    assert cuts["w_max"].tolist() == [860, 697]
    # cube roots of (860 - 602)/0.4 and (697 - 574)/0.4
    assert cuts["k_s"].tolist() == pytest.approx([8.64, 6.75], abs=0.01)


# polls (ca_state, cwnd, ssthresh, total_retrans), algorithm, and what they show: (kind, cwnd before, cwnd after)
EVENTS = {
    "a recovery between two polls shows by ssthresh and retransmissions": (
        [(0, 390, 249, 7), (0, 391, 249, 7), (0, 195, 195, 8)], "reno", [("loss", 390, 195), ("recovery_end", 391, 195)],
    ),
    "a second loss at the same window": (
        [(0, 99, 50, 0), (0, 100, 50, 0), (3, 80, 50, 1), (0, 50, 50, 1)], "reno", [("loss", 100, 50), ("recovery_end", 80, 50)],
    ),
    "a second loss within one recovery": (
        [(0, 400, 100, 0), (3, 300, 200, 1), (3, 200, 100, 2), (0, 100, 100, 2)], "reno",
        [("loss", 400, 200), ("loss", 200, 100), ("recovery_end", 200, 100)],
    ),
    "a timeout": (
        [(0, 60, 30, 0), (0, 64, 30, 0), (4, 1, 32, 1), (0, 33, 32, 1)], "reno", [("rto", 64, 1), ("recovery_end", 1, 33)],
    ),
    "an unknown algorithm has its largest polled window": (
        [(0, 90, 50, 0), (0, 100, 50, 0), (3, 95, 80, 1), (0, 80, 80, 1)], "bbr", [("loss", 100, 80), ("recovery_end", 95, 80)],
    ),
    "a recovery, which begins at the window before, is no growth": (
        [(0, 100, 60, 0), (3, 95, 50, 1), (0, 50, 50, 1), (0, 60, 50, 1), (3, 58, 30, 2), (0, 30, 30, 2)], "illinois",
        [("loss", 100, 50), ("recovery_end", 95, 50), ("loss", 60, 30), ("recovery_end", 58, 30)],
    ),
    "no loss": ([(0, 10, 2**31 - 1, 0), (0, 20, 2**31 - 1, 0)], "reno", []),
}  # fmt: skip


@pytest.mark.parametrize("what", EVENTS)
def test_events_are_what_polls_show(tmp_path, what):
    rows, cc, expected = EVENTS[what]
    run = read_any(polls_file(tmp_path, rows, cc))
    assert [(e.kind, e.cwnd_before, e.cwnd_after) for e in run.events.itertuples()] == expected
    trace.write(run, tmp_path / "trace")


def test_cubic_forgets_w_max_after_a_timeout(tmp_path):
    rows = [(0, 1000, 900, 0), (3, 700, 700, 1), (0, 700, 700, 1), (4, 1, 500, 2), (0, 9, 500, 2), (3, 70, 70, 3)]
    events = read_any(polls_file(tmp_path, rows, "cubic")).events
    losses = events[events["kind"] == "loss"]
    assert losses["w_max"].tolist() == [1000, 100]  # 100 stays 100: there is no W_max to fall short of
    assert events[events["kind"] == "rto"]["w_max"].isna().all()


def test_polls_before_iperf3_chooses_the_algorithm_are_left_out(refused, tmp_path):
    path = polls_file(tmp_path, [(0, 10, 50, 0), (0, 10, 50, 0), (0, 20, 50, 0), (0, 30, 50, 0)])
    text = path.read_text().replace(",1000\n", ",38\n")  # by the second poll the cookie alone has been sent
    early = text.replace("100.0,5000,reno", "100.0,5000,cubic").replace("100.1,5000,reno", "100.1,5000,cubic")
    path.write_text(early)
    run = read_any(path)
    assert run.flows["cc"].tolist() == ["reno"]
    assert run.samples["delivered_bytes"].tolist() == [1000]
    path.write_text(early.replace(",38\n", ",39\n"))
    assert "cc: changes after data were sent" in refused(path)


# --- several sockets --------------------------------------------------------------------------------------------------


def several(sockets, header=HEADER):
    """A CSV of {columns after t: bytes a poll}, polled every 0.1 s."""
    rows = (f"{100 + i / 10:.1f},{columns.format(i * step)}\n" for i in range(10) for columns, step in sockets.items())
    return header + "".join(rows)


def test_every_connection_with_data_is_a_flow(read):
    """iperf3's report of the run: 11404376, 10730240 and 1798416 bytes received; the last poll is up to 0.1 s early."""
    flows = by_name(read(THREE))
    assert sorted(flows) == ["40001", "40002", "40005"]
    got = [flows[name].total_bytes[-1] for name in sorted(flows)]
    assert got == pytest.approx([11_404_376, 10_730_240, 1_798_416], rel=0.012)
    assert [flows[name].cc for name in sorted(flows)] == ["cubic", "cubic", "reno"]
    table = pd.read_csv(THREE)
    for name, flow in flows.items():
        own = table[table["sport"] == int(name)]
        assert flow.total_bytes[-1] == own["bytes_acked"].iloc[-1] - own["bytes_acked"].iloc[0]
        # the data of the third began to be acknowledged between its first polls, and to be sent a round trip before;
        # the others had data before the first poll
        is_third = name == "40005"
        seen_s = own["t"].iloc[:2].mean() - flow.rtt_s if is_third else own["t"].iloc[0]
        assert flow.clock_s == pytest.approx(seen_s, abs=1e-6 if is_third else 0)
        assert flow.windows["cwnd_pkts"].tolist() == own["cwnd"].tolist()
        assert flow.rtt_s == own["min_rtt_us"].min() / 1e6


def test_control_connections_are_left_out_and_named(read):
    assert re.search(r"40000 \(.*40003 \(", told(read(THREE)))
    said = Sidecar(flows=[SaidFlow(flow="40000")])
    assert "40000" in by_name(read(THREE, said))


@pytest.mark.parametrize(("counter", "begin_s"), [("bytes_acked", 100.23), ("bytes_received", 100.20)])
def test_time_with_data_in_flight_is_the_senders(read, counter, begin_s):
    """RTT 50 ms. A sender had data in flight for 70 ms at 0.3 s; a receiver had its cookie's."""
    other = {"bytes_acked": "bytes_received", "bytes_received": "bytes_acked"}[counter]
    header = HEADER.rstrip().replace("bytes_acked", f"{counter},{other},busy_us") + "\n"
    counted = [1, 1, 1, 50_001, 150_001, 250_001]
    rows = [
        f"{100 + i / 10:.1f},5000,cubic,0,10,50,50000,50000,0,{n},1,{70_000 * (n > 1)}" for i, n in enumerate(counted)
    ]
    (flow,) = read(header + "\n".join(rows) + "\n").flows
    assert flow.clock_s == pytest.approx(begin_s, abs=1e-6)
    assert flow.name == "5000"  # without addresses all that is known of either end


def test_a_starved_flow_is_none(read):
    """Under a hundredth of the other's bytes, but more than control connections have."""
    rows = {
        "5000,cubic,0,10,50,50000,50000,0,{}": 100_000_000,
        "5001,cubic,0,2,50,50000,50000,0,{}": 200_000,
        "5002,cubic,0,10,50,50000,50000,0,{}": 100,
    }
    assert list(by_name(read(several(rows)))) == ["5000", "5001"]


@pytest.mark.parametrize(
    ("host", "from_row", "is_flow"), [("10.0.0.1", 0, False), ("10.0.0.3", 0, True), ("10.0.0.1", 3, True)]
)
def test_a_control_connection_is_between_the_same_hosts_and_not_the_younger(read, host, from_row, is_flow):
    header = HEADER.replace("t,sport", "t,saddr,sport,daddr,dport")
    small = f"{host},4001,10.0.0.2,5201,reno,0,10,50,50000,50000,0,{{}}"
    large = "10.0.0.1,4000,10.0.0.2,5201,reno,0,10,50,50000,50000,0,{}"
    lines = several({large: 100_000_000, small: 50_000}, header).splitlines(keepends=True)
    text = "".join(line for i, line in enumerate(lines) if ",4001," not in line or i > 2 * from_row)
    assert list(by_name(read(text))) == ["10.0.0.1:4000", *[f"{host}:4001"] * is_flow]


def test_addresses_and_both_ends(read):
    header = HEADER.replace("t,sport", "t,saddr,sport,daddr,dport").replace("acked", "acked,bytes_received")
    rows = {
        "10.0.0.1,4000,10.0.0.2,5201,reno,0,10,50,50000,50000,0,{},0": 100_000,
        "10.0.0.2,5201,10.0.0.1,4000,cubic,0,10,50,50000,50000,0,0,{}": 99_000,
        "10.0.0.3,4000,10.0.0.2,5201,cubic,0,10,50,60000,60000,0,{},0": 50_000,
    }
    flows = by_name(read(several(rows, header)))
    assert sorted(flows) == ["10.0.0.1:4000", "10.0.0.3:4000"]
    one = flows["10.0.0.1:4000"]
    assert (one.origin, one.total_bytes[-1], one.cc) == ("receiver: bytes_received", 9 * 99_000, "reno")
    assert not one.identity & flows["10.0.0.3:4000"].identity
    assert one.identity


def test_a_folder_of_files_is_one_run(tmp_path):
    for port, step in ((5000, 100_000), (6000, 70_000)):
        written(tmp_path, several({f"{port},reno,0,10,50,50000,50000,0,{{}}": step}), f"s{port}.csv")
    run = read_any(tmp_path)
    assert run.flows["cc"].tolist() == ["reno", "reno"]
    assert run.samples.groupby("flow_id")["delivered_bytes"].sum().tolist() == [900_000, 630_000]
