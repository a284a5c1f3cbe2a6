"""TCP_INFO polls: the sample is the first 8 s of a CUBIC flow alone on 100 Mb/s, 50 ms, with its control connection."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tcpfair.contract import trace
from tcpfair.errors import InputError
from tcpfair.sources.readers import read_any, tcp_info

SAMPLE = Path(__file__).parents[2] / "samples" / "tcp_info" / "cubic_8s.csv.gz"
DATA_PORT, CONTROL_PORT = 39662, 39656
HEADER = "t,sport,cc,ca_state,cwnd,ssthresh,rtt_us,min_rtt_us,total_retrans,bytes_acked\n"


def polls_file(tmp_path, rows, cc="reno"):
    """A CSV of (ca_state, cwnd, ssthresh, total_retrans), polled every 0.1 s from t = 100 s."""
    lines = [
        f"{100 + i / 10:.1f},5000,{cc},{state},{cwnd},{ssthresh},50000,50000,{retrans},{i * 1000}"
        for i, (state, cwnd, ssthresh, retrans) in enumerate(rows)
    ]
    path = tmp_path / "polls.csv"
    path.write_text(HEADER + "\n".join(lines) + "\n")
    return path


def events_of(tmp_path, rows, cc="reno"):
    events = read_any(polls_file(tmp_path, rows, cc)).events
    return [(e.kind, e.cwnd_before, e.cwnd_after) for e in events.itertuples()]


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
    events = tcp_info.events(polls, polls["t"].to_numpy() - polls["t"].iloc[0], flow_id=3)
    assert (events["flow_id"] == 3).all()
    assert events["kind"].tolist() == ["loss", "recovery_end", "loss", "recovery_end"]
    assert events["t_s"].tolist() == pytest.approx([1.2, 1.4, 5.4, 5.5], abs=1e-3)
    losses = events[events["kind"] == "loss"]
    assert losses["cwnd_after"].tolist() == [602, 574]
    # 602 = 860 * 717/1024, 574 = 820 * 717/1024, rounded down; 820 < 860, so W_max = 820 * (1 + 0.7)/2
    assert losses["cwnd_before"].tolist() == [860, 820]
    assert losses["w_max"].tolist() == [860, 697]
    # cube roots of (860 - 602)/0.4 and (697 - 574)/0.4
    assert losses["k_s"].tolist() == pytest.approx([8.64, 6.75], abs=0.01)


def test_recovery_between_two_polls_shows_by_ssthresh_and_retransmissions(tmp_path):
    rows = [(0, 390, 249, 7), (0, 391, 249, 7), (0, 195, 195, 8)]
    assert events_of(tmp_path, rows) == [("loss", 390, 195), ("recovery_end", 391, 195)]


def test_second_loss_at_the_same_window_counts(tmp_path):
    rows = [(0, 99, 50, 0), (0, 100, 50, 0), (3, 80, 50, 1), (0, 50, 50, 1)]
    assert events_of(tmp_path, rows) == [("loss", 100, 50), ("recovery_end", 80, 50)]


def test_second_loss_within_one_recovery_counts(tmp_path):
    rows = [(0, 400, 100, 0), (3, 300, 200, 1), (3, 200, 100, 2), (0, 100, 100, 2)]
    assert events_of(tmp_path, rows) == [("loss", 400, 200), ("loss", 200, 100), ("recovery_end", 200, 100)]


def test_timeout_is_an_event_of_its_own(tmp_path):
    rows = [(0, 60, 30, 0), (0, 64, 30, 0), (4, 1, 32, 1), (0, 33, 32, 1)]
    assert events_of(tmp_path, rows) == [("rto", 64, 1), ("recovery_end", 1, 33)]


def test_cubic_forgets_w_max_after_a_timeout(tmp_path):
    rows = [(0, 1000, 900, 0), (3, 700, 700, 1), (0, 700, 700, 1), (4, 1, 500, 2), (0, 9, 500, 2), (3, 70, 70, 3)]
    events = read_any(polls_file(tmp_path, rows, "cubic")).events
    losses = events[events["kind"] == "loss"]
    assert losses["w_max"].tolist() == [1000, 100]  # 100 stays 100: there is no W_max to fall short of
    assert events[events["kind"] == "rto"]["w_max"].isna().all()


def test_unknown_algorithm_has_its_largest_polled_window(tmp_path):
    rows = [(0, 90, 50, 0), (0, 100, 50, 0), (3, 95, 80, 1), (0, 80, 80, 1)]
    assert events_of(tmp_path, rows, "bbr") == [("loss", 100, 80), ("recovery_end", 95, 80)]


def test_no_losses_give_an_empty_table(tmp_path):
    run = read_any(polls_file(tmp_path, [(0, 10, 2**31 - 1, 0), (0, 20, 2**31 - 1, 0)]))
    assert run.events.empty
    trace.write(run, tmp_path / "trace")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("cwnd,", "window,", "no reader knows it"),
        ("100.1,", "100.0,", "t: must increase"),
        ("5000,reno,0,20", "5000,cubic,0,20", "cc: changes after data were sent"),
        ("reno,0,20", "reno,9,20", "ca_state: 9 in line 3 is not between 0 and 4"),
        ("reno,0,20", "reno,0,many", "give a CSV with numbers"),
        ("50000,50000,5,1000", "50000,50000,4,1000", "total_retrans: decreases"),
    ],
)
def test_bad_polls_name_file_and_column(tmp_path, old, new, says):
    path = polls_file(tmp_path, [(0, 10, 50, 5), (0, 20, 50, 5), (0, 30, 50, 5)])
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=rf"polls\.csv: .*{says}") as caught:
        read_any(path)
    assert "\n" not in str(caught.value)


def test_polls_before_iperf3_chooses_the_algorithm_are_left_out(tmp_path):
    path = polls_file(tmp_path, [(0, 10, 50, 0), (0, 10, 50, 0), (0, 20, 50, 0), (0, 30, 50, 0)])
    text = path.read_text().replace(",1000\n", ",38\n")  # by the second poll the cookie alone has been sent
    early = text.replace("100.0,5000,reno", "100.0,5000,cubic").replace("100.1,5000,reno", "100.1,5000,cubic")
    path.write_text(early)
    run = read_any(path)
    assert run.flows["cc"].tolist() == ["reno"]
    assert run.samples["delivered_bytes"].tolist() == [1000]
    path.write_text(early.replace(",38\n", ",39\n"))
    with pytest.raises(InputError, match="cc: changes after data were sent"):
        read_any(path)


def test_single_poll_is_refused(tmp_path):
    with pytest.raises(InputError, match="one poll of the data connection"):
        read_any(polls_file(tmp_path, [(0, 10, 50, 0)]))


def test_sniff_knows_the_header(tmp_path):
    assert tcp_info.sniff(SAMPLE)
    other = tmp_path / "other.csv"
    other.write_bytes(gzip.compress(b"t,cwnd\n1,2\n"))
    assert not tcp_info.sniff(other)
    assert not tcp_info.sniff(tmp_path)
