"""Tables of tshark: the real ones against the capture they were made of, and what odd and damaged ones become."""

import numpy as np
import pytest

from tcpfair.sources.readers import pcap
from tests.sources.readers import captures
from tests.sources.readers.captures import MSS, RECEIVER, START_S, bulk
from tests.sources.readers.edits import NOTHING, SAMPLES, sample_text, told

RELATIVE = SAMPLES / "tshark" / "two_flows_4s.csv.xz"  # comma, relative sequence numbers, wall clock
RAW = SAMPLES / "tshark" / "two_flows_4s.tsv.gz"  # tab, quoted, raw sequence numbers, no wall clock
CAPTURE = SAMPLES / "pcap" / "two_flows_4s.pcap.gz"
COLUMNS = tuple(
    ["frame.time_epoch", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.ack", "tcp.len", "tcp.flags"]
)
WHOLE = bulk()


def row(one, isn=1000):
    """Cells of a segment as tshark writes them, sequence numbers relative."""
    own, other = (isn, 9_000_000) if one.target == RECEIVER else (9_000_000, isn)
    ack = one.ack - other if one.flags & captures.ACK else 0
    return [
        f"{START_S + one.t_s:.6f}000", one.source[0], one.target[0], str(one.source[1]), str(one.target[1]), str(one.seq - own),
        str(ack), str(one.payload_bytes), f"0x{one.flags:04x}",
    ]  # fmt: skip


def table(segments=WHOLE, separator=",", quote="", columns=COLUMNS):
    rows = [dict(zip(COLUMNS, row(one), strict=True)) for one in segments]
    lines = [separator.join(f"{quote}{cells[name]}{quote}" for name in columns) for cells in rows]
    return "\n".join([separator.join(columns), *lines]) + "\n"


@pytest.mark.parametrize("path", [RELATIVE, RAW], ids=lambda path: path.name)
def test_a_table_gives_the_flows_of_its_capture(read, path):
    whole, found = pcap.read(CAPTURE, NOTHING), read(path)
    for before, after in zip(whole.flows, found.flows, strict=True):
        assert after.name == before.name
        np.testing.assert_allclose(after.times_s, before.times_s, atol=1e-6)
        differ = after.total_bytes != before.total_bytes  # an ACK within a microsecond of a whole ms
        assert differ.mean() < 0.001 and after.total_bytes[-1] == before.total_bytes[-1]
    # tshark 4's largest tcp.ack less 1 and less the cookie's 37
    assert [flow.total_bytes[-1] for flow in found.flows] == [661_736, 280_912]
    clocks_s = [flow.clock_s for flow in found.flows]
    assert clocks_s == ([None] * 2 if path == RAW else pytest.approx([946_684_800.764986] * 2, abs=1e-6))


def test_without_wall_clock_flows_keep_their_offsets(read):
    first, second = read(RAW).flows
    assert second.start_s - first.start_s == pytest.approx(0.060921, abs=1e-5)
    assert (first.offset_s, second.offset_s) == (0, pytest.approx(0.060921, abs=1e-5))


@pytest.mark.parametrize("separator", ["\t", ",", ";", "|", " "])
@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_separators_and_quotes(read, separator, quote):
    (flow,) = read(table(separator=separator, quote=quote)).flows
    assert flow.total_bytes[-1] == 200 * MSS and flow.rtt_s == pytest.approx(0.05, abs=2e-6)


def test_ipv6_windows_line_ends_and_a_mark_of_order(read):
    text = table().replace("ip.src,ip.dst", "ipv6.src,ipv6.dst").replace("10.0.0.", "2001:db8::")
    (flow,) = read("\ufeff" + text.replace("\n", "\r\n")).flows
    assert flow.name == "[2001:db8::1]:40001>[2001:db8::2]:5201" and flow.total_bytes[-1] == 200 * MSS


def test_rows_of_other_protocols_are_counted(read):
    udp = "1700000000.0,10.0.0.1,10.0.0.9,,,,,,\n"
    observed = read(table() + udp + udp)
    assert observed.flows[0].total_bytes[-1] == 200 * MSS
    assert "2 packets without IP or TCP" in told(observed)


def test_headers_within_headers_are_passed_over(read):
    observed = read(table(separator="\t") + "1700000001.0\t10.0.0.1,1.1.1.1\t10.0.0.2,2.2.2.2\t1\t2\t1\t1\t0\t0x0010\n")
    assert "are skipped" in told(observed)
    assert observed.flows[0].total_bytes[-1] == 200 * MSS


def test_columns_in_another_order_and_more_of_them(read):
    columns = tuple(reversed(COLUMNS))
    assert read(table(columns=columns)).flows[0].total_bytes[-1] == 200 * MSS


def test_a_cut_last_line_is_said(read):
    observed = read(table()[:-5])
    assert "cut within its last line" in told(observed)


def test_a_flow_that_a_damaged_handshake_hides_is_named(read):
    """The SYN of the first flow has a number far beyond all that follow."""
    text = sample_text(RAW)
    lines = text.splitlines(keepends=True)
    number = next(i for i, line in enumerate(lines) if "40001" in line and "0x0002" in line)
    seq = lines[number].split("\t")[6].strip('"')
    lines[number] = lines[number].replace(seq, str(8 * int(seq)))
    observed = read("".join(lines))
    assert len(observed.flows) == 1
    assert "no ACK advanced beyond their beginning (192.0.2.1:40001" in told(observed)
