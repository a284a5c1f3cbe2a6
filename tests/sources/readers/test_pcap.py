"""Captures: real ones against other tools' numbers, made ones of every form, and what damaged or odd ones become."""

import gzip
import struct
from dataclasses import replace

import dpkt
import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers import packets
from tcpfair.sources.readers.sidecar import Sidecar
from tcpfair.sources.readers.text import read_bytes
from tests.sources.readers import captures
from tests.sources.readers.captures import ACK, MSS, RECEIVER, SENDER, START_S, SYN, Segment, bulk, pcap, pcapng
from tests.sources.readers.edits import SAMPLES, by_name, told, written

SAMPLE = SAMPLES / "pcap" / "two_flows_4s.pcap.gz"
NAME = "10.0.0.1:40001>10.0.0.2:5201"


@pytest.fixture
def flow(read):
    """The one flow of a capture."""

    def of(data):
        (found,) = read(data).flows
        return found

    return of


def at(flow, t_s):
    """Bytes until ``t_s`` after the beginning of the capture."""
    return flow.total_bytes[np.searchsorted(flow.times_s, t_s + 1e-9, side="right") - 1]


def in_order(segments):
    return sorted(segments, key=lambda one: one.t_s)


def sent(segments, source=SENDER):
    return [one for one in segments if one.source == source]


# --- real ones


def test_two_flows_of_iperf3_are_as_tshark_counts_them(read):
    """iperf3 3.12 -P 2 over 2 Mbit/s, tcpdump at the receiver; the largest tcp.ack of tshark 4 less 1 and the cookie's 37."""
    observed = read(SAMPLE)
    first, second = observed.flows
    assert [first.name, second.name] == ["192.0.2.1:40001>192.0.2.2:5201", "192.0.2.1:40002>192.0.2.2:5201"]
    assert [at(first, t) for t in (1, 2, 3, 4)] == [125_976, 324_352, 489_424, 651_600]
    assert [at(second, t) for t in (1, 2, 3, 4)] == [63_712, 149_144, 221_544, 280_912]
    assert first.total_bytes[-1] == 661_736
    assert first.clock_s == pytest.approx(946_684_800.764986, abs=1e-6)
    assert "iperf3's control connection is skipped (192.0.2.2:5201>192.0.2.1:40000)" in told(observed)


def test_dpkt_finds_the_same_acknowledgments(read, tmp_path):
    """Another parser and plain Python, packet by packet: progress at every ms."""
    path = written(tmp_path, read_bytes(SAMPLE))
    acked, zero_s = {}, None
    with path.open("rb") as stream:
        for t_s, frame in dpkt.pcap.Reader(stream):
            zero_s = t_s if zero_s is None else zero_s
            tcp = dpkt.ip.IP(frame).data
            if tcp.sport == 5201 and tcp.flags & dpkt.tcp.TH_ACK:
                acked.setdefault(tcp.dport, []).append((float(t_s - zero_s), tcp.ack))
    for flow in read(path).flows:
        times_s, acks = np.array(acked[int(flow.name.split(">")[0].rpartition(":")[2])]).T
        best = np.maximum.accumulate(acks) - acks[0] - 37  # no wrap in this one
        expected = np.maximum(best[np.searchsorted(times_s, flow.times_s[1:] + 1e-9, side="right") - 1], 0)
        fin = flow.total_bytes[-1]
        # readings are at whole ms: only an ACK within a nanosecond of one may be counted on either side
        assert (np.minimum(expected, fin) == flow.total_bytes[1:]).mean() > 0.999


# --- every form gives the same


WHOLE = bulk()
V6 = [
    replace(
        one,
        source=(f"2001:db8::{one.source[0][-1]}", one.source[1]),
        target=(f"2001:db8::{one.target[0][-1]}", one.target[1]),
    )
    for one in WHOLE
]
SECTION, NG = captures.section(), pcapng([])
FORMS = {
    "little, us": pcap(WHOLE),
    "big, us": pcap(WHOLE, order=">"),
    "little, ns": pcap(WHOLE, nano=True),
    "whole packets": pcap(WHOLE, snap_bytes=65_535),
    "headers alone": pcap(WHOLE, snap_bytes=14 + 20 + 20 + 12),
    "raw IP": pcap(WHOLE, link_type=captures.RAW),
    "loopback": pcap(WHOLE, link_type=captures.NULL),
    "cooked": pcap(WHOLE, link_type=captures.SLL),
    "cooked 2": pcap(WHOLE, link_type=captures.SLL2),
    "PPP": pcap(WHOLE, link_type=captures.PPP),
    "VLAN": pcap(WHOLE, tags=b"\x81\x00\x00\x05"),
    "QinQ": pcap(WHOLE, tags=b"\x88\xa8\x00\x07\x81\x00\x00\x05"),
    "IP options": pcap([replace(one, ip_options=b"\x94\x04\x00\x00") for one in WHOLE]),
    "IPv6": pcap(V6),
    "IPv6, raw": pcap(V6, link_type=captures.RAW),
    "IPv6 with a hop-by-hop header": pcap([replace(one, extensions=b"\x06\x00" + b"\x01\x04\0\0\0\0") for one in V6]),
    "length 0, as large segments have": pcap([replace(one, total=0) for one in WHOLE]),
    "pcapng": pcapng(WHOLE),
    "pcapng, big": pcapng(WHOLE, order=">"),
    "pcapng, ns": pcapng(WHOLE, described=captures.interface(resolution=9), units=10**9),
    "pcapng, powers of two": pcapng(WHOLE, described=captures.interface(resolution=0x80 | 20), units=2**20),
    "pcapng, offset": pcapng(WHOLE, described=captures.interface(offset_s=1_600_000_000), offset_s=1_600_000_000),
    "pcapng, obsolete blocks": pcapng(WHOLE, kind=2),
    "pcapng, unknown blocks": NG + b"".join(captures.enhanced(one) + captures.block(0x0BAD, b"abcdefg") for one in WHOLE),
    "pcapng, two sections, orders and interfaces": pcapng(WHOLE[:100], ">") + pcapng(
        WHOLE[100:], described=captures.interface() + captures.interface(link_type=captures.RAW, resolution=9),
        number=1, units=10**9, link_type=captures.RAW,
    ),
    "sequence numbers that wrap": pcap(bulk(isn=2**32 - 50 * MSS)),
    "gzip": gzip.compress(pcap(WHOLE), mtime=0),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_flow(flow, form):
    found, plain = flow(FORMS[form]), flow(FORMS["little, us"])
    assert found.total_bytes[-1] == 200 * MSS
    assert found.clock_s == START_S
    assert (found.start_s, found.stop_s) == pytest.approx((plain.start_s, plain.stop_s), abs=2e-6)
    for t_s in (0.0505, 0.1015, 0.1505, 0.2005, 0.3005):
        assert at(found, t_s) == at(plain, t_s)
    assert found.rtt_s == pytest.approx(0.05, abs=2e-6)


def test_progress_is_what_was_acknowledged_until_then(flow):
    found = flow(FORMS["little, us"])
    # data from 51 ms on, one segment per ms, seen at the sender: the ACK comes 50 ms later
    assert found.start_s == pytest.approx(0.051)
    assert at(found, 0.1) == 0
    assert [at(found, t) for t in (0.1015, 0.2015, 0.3015)] == [MSS, 101 * MSS, 200 * MSS]
    assert found.stop_s == pytest.approx(0.301, abs=0.0011)
    assert found.origin == packets.ORIGIN and found.cc == "unknown"


@pytest.mark.parametrize(("place", "words"), [(0.0, "near the sender"), (0.5, "between"), (1.0, "near the receiver")])
def test_rtt_is_the_whole_one_wherever_the_capture_stood(read, place, words):
    observed = read(pcap(bulk(rtt_s=0.08, place=place)))
    assert observed.flows[0].rtt_s == pytest.approx(0.08, abs=2e-6)
    assert words in told(observed)


@pytest.mark.parametrize("place", [0.25, 0.9])
def test_rtt_without_handshake_comes_from_timestamps(flow, place):
    """Ticks are 1 ms, so it may be as much too long."""
    assert 0.08 <= flow(pcap(bulk(2000, rtt_s=0.08, place=place, syn=False))).rtt_s + 2e-6 <= 0.0825


@pytest.mark.slow
def test_more_than_two_gigabytes_are_counted(flow):
    """Headers of segments of 60 kB, past 2^31 bytes."""
    every = []
    for k in range(40_000):
        t_s, seq = 0.001 * k, 77 + 60_000 * k
        every.append(Segment(t_s, seq=seq, ack=5, total=60_040))
        every.append(Segment(t_s + 0.0005, RECEIVER, SENDER, 5, seq + 60_000))
    head = captures.pcap_header(link_type=captures.RAW)
    records = []
    for one in every:
        record = captures.pcap_record(one.packet, one.t_s)
        records.append(record[:12] + struct.pack("<I", one.total or 40) + record[16:])
    found = flow(head + b"".join(records))
    assert found.total_bytes[-1] == 60_000 * 39_999  # the first ACK is where it begins to count


# --- what happens on the way


def test_resent_packets_time_nothing_and_are_counted(read):
    lost = WHOLE[8]  # its ACK never came; resent 1 s later, acknowledged at once
    again = [
        Segment(1.0, seq=lost.seq, ack=lost.ack, payload_bytes=MSS, ip_id=900),
        Segment(1.001, RECEIVER, SENDER, 9_000_001, 1001 + 200 * MSS),
    ]
    every = [one for one in bulk(fin=False) if one.source == SENDER or one.ack <= lost.seq or one.flags & SYN] + again
    observed = read(pcap(every))
    assert observed.flows[0].rtt_s == pytest.approx(0.05, abs=2e-6)
    assert at(observed.flows[0], 0.999) == lost.seq - 1001 and observed.flows[0].total_bytes[-1] == 200 * MSS
    assert "1 of 201 packets resent" in told(observed)


def test_a_stall_is_flat_and_not_smeared(flow):
    every = [replace(one, t_s=one.t_s + (3 if one.t_s > 0.15 else 0)) for one in bulk(fin=False, times=False)]
    found = flow(pcap(every))
    assert at(found, 1) == at(found, 3.1) == 49 * MSS
    assert (np.diff(found.times_s)[1:-1] < 0.0011).all()


def other(places):
    """The segments with others at some places."""
    return [places.get(k, one) for k, one in enumerate(WHOLE)]


DATA = [k for k, one in enumerate(WHOLE) if one.payload_bytes]
SENT = [k for k, one in enumerate(WHOLE) if one.source == SENDER]
EARLY, LATE = WHOLE[DATA[20]], WHOLE[DATA[22]]
END = 1001 + 200 * MSS
PROBES = [Segment(10.0 + k, seq=END - 1, ack=9_000_001, payload_bytes=1, ip_id=1000 + k) for k in range(5)]
LOST = WHOLE[DATA[60] : DATA[65]]
# segments, bytes, what is said
ON_THE_WAY = {
    "out of order": (
        other({DATA[20]: replace(LATE, t_s=EARLY.t_s), DATA[22]: replace(EARLY, t_s=LATE.t_s)}),
        200 * MSS,
        ["came late"],
    ),
    "keep-alives": (
        bulk(fin=False) + [one for k in PROBES for one in (k, Segment(k.t_s + 0.05, RECEIVER, SENDER, 9_000_001, END))],
        200 * MSS,
        ["0 of 200 packets resent"],
    ),
    "SYN and FIN are no bytes": (bulk(3), 3 * MSS, []),
    "a closed window": (
        bulk(fin=False) + [Segment(0.5, RECEIVER, SENDER, 9_000_001, END, window=0)] * 2,
        200 * MSS,
        ["closed its window 1 times"],
    ),
    "lost by the capture": (
        [one for one in WHOLE if not (one in LOST and one.payload_bytes)],
        200 * MSS,
        ["5,000 bytes were acknowledged and are not in the capture"],
    ),
    "every packet twice": (
        in_order([*WHOLE, *(replace(one, t_s=one.t_s + 1e-5) for one in WHOLE)]),
        200 * MSS,
        ["200 packets with data occur twice: captured at two interfaces", "0 of 200 packets resent"],
    ),
    "first fragments": ([replace(one, fragment=0x2000) for one in WHOLE], 200 * MSS, ["200 packets are fragments"]),
    "5 ms out of order": (
        other({50: replace(WHOLE[50], t_s=WHOLE[50].t_s - 0.005)}),
        200 * MSS,
        ["1 packets are up to 10 ms out of order"],
    ),
    "a last FIN with the number of earlier data": (
        other({SENT[-1]: replace(WHOLE[SENT[-1]], flags=captures.FIN | ACK, seq=70_641)}),
        200 * MSS,
        ["sequence numbers do not fit the others"],
    ),
    "a FIN amid the data": (
        other({SENT[100]: replace(WHOLE[SENT[100]], flags=captures.FIN | ACK)}),
        200 * MSS,
        ["sequence numbers do not fit the others"],
    ),
}


@pytest.mark.parametrize("what", ON_THE_WAY)
def test_what_happens_on_the_way_changes_no_bytes_and_is_said(read, what):
    segments, n_bytes, words = ON_THE_WAY[what]
    observed = read(pcap(segments))
    assert observed.flows[0].total_bytes[-1] == pytest.approx(n_bytes, abs=1)
    assert observed.flows[0].stop_s < 0.4
    assert all(each in told(observed) for each in words)


def test_rst_ends_a_connection_and_its_ports_may_begin_another(read):
    every = [*bulk(fin=False), Segment(0.4, seq=1, flags=captures.RST), *bulk(100, isn=777_000, start_s=0.5)]
    first, second = read(pcap(every)).flows
    assert (first.name, second.name) == (NAME, f"{NAME}#2")
    assert (first.total_bytes[-1], second.total_bytes[-1]) == (200 * MSS, 100 * MSS)
    assert second.start_s == pytest.approx(0.551)


def test_both_directions_of_a_connection_are_two_flows(read):
    back = [
        replace(one, seq=one.seq + 9_000_000 - 1000, ack=200_000)
        for one in bulk(150, source=RECEIVER, target=SENDER, syn=False, fin=False, times=False)
        if one.payload_bytes
    ]
    acks = [Segment(one.t_s + 0.05, seq=201_001, ack=one.seq + MSS) for one in back]
    observed = read(pcap(in_order([*bulk(fin=False, times=False), *back, *acks])))
    assert {flow.name: flow.total_bytes[-1] for flow in observed.flows} == {
        NAME: 200 * MSS,
        "10.0.0.2:5201>10.0.0.1:40001": 150 * MSS,
    }


def test_a_capture_begun_in_the_middle_counts_from_its_first_ack(read):
    observed = read(pcap([one for one in WHOLE if one.t_s > 0.2]))
    assert "begun before the capture" in told(observed)
    first = next(one for one in WHOLE if one.t_s > 0.2 and one.source == RECEIVER)
    assert observed.flows[0].total_bytes[-1] == 1001 + 200 * MSS - first.ack


def test_acks_alone_suffice(read):
    observed = read(pcap(sent(WHOLE, RECEIVER)))
    assert observed.flows[0].total_bytes[-1] == pytest.approx(200 * MSS, abs=MSS)
    assert np.isnan(observed.flows[0].rtt_s)
    assert "only their ACKs" in told(observed)


def test_a_pause_of_the_capture_is_a_gap(read):
    every = [one for one in bulk(5000, fin=False) if not 1.0 < one.t_s < 2.5]
    (found,) = read(pcap(every)).flows
    ((low, high),) = found.gaps_s
    assert (low, high) == (pytest.approx(1.0, abs=0.002), pytest.approx(2.5, abs=0.002))
    assert found.total_bytes[-1] == 5000 * MSS


def test_small_flows_are_left_out_unless_they_are_named(read):
    data = pcap(in_order([*bulk(3000), *bulk(5, source=("10.0.0.3", 999), isn=5)]))
    observed = read(data)
    assert list(by_name(observed)) == [NAME]
    assert "1 flows of less than 30,000 bytes are skipped (5,000 bytes in all)" in told(observed)
    small = "10.0.0.3:999>10.0.0.2:5201"
    assert set(by_name(read(data, Sidecar.model_validate({"flows": [{"flow": small}]})))) == {NAME, small}


def test_what_is_not_tcp_is_counted(read):
    udp = bytearray(captures.framed(WHOLE[0].packet, 1))
    udp[14 + 9] = 17
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    later = captures.framed(replace(WHOLE[5], fragment=100).packet, 1)
    data = pcap(WHOLE) + b"".join(captures.pcap_record(bytes(frame), 1.0) for frame in (udp, arp, later))
    observed = read(data)
    assert "2 packets without IP or TCP" in told(observed) and "1 later fragments" in told(observed)
    assert observed.flows[0].total_bytes[-1] == 200 * MSS


# --- clocks


def test_a_clock_set_back_is_marked_and_put_right(flow):
    found = flow(pcap([replace(one, t_s=one.t_s - (100 if one.t_s > 1.5 else 0)) for one in bulk(3000)]))
    (step_s,) = found.clock_steps_s
    assert step_s == pytest.approx(1.5, abs=0.002)
    assert found.stop_s == pytest.approx(3.1, abs=0.005) and at(found, 2.5) == pytest.approx(2400 * MSS, abs=3 * MSS)


def test_a_clock_set_ahead_is_told_by_the_senders_clock(flow):
    found = flow(pcap([replace(one, t_s=one.t_s + (100 if one.t_s > 1.5 else 0)) for one in bulk(3000)]))
    assert len(found.clock_steps_s) == 1 and found.stop_s == pytest.approx(3.1, abs=0.005)


@pytest.mark.parametrize(("start_s", "year"), [(0.0, 1970), (4.2e9, 2103)])
def test_a_clock_that_was_not_set_is_said(read, monkeypatch, start_s, year):
    monkeypatch.setattr("tests.sources.readers.captures.START_S", start_s)
    observed = read(pcap(WHOLE))
    assert f"begins in {year}" in told(observed) and observed.flows[0].clock_s == start_s


# --- damaged files


def broken(**fields):
    """A record whose header says something else."""
    frame = captures.framed(WHOLE[5].packet, 1)[:80]
    values = {"seconds": int(START_S), "fraction": 500_000, "captured": 80, "wire": 1066} | fields
    return struct.pack("<IIII", *(values[name] for name in ("seconds", "fraction", "captured", "wire"))) + frame


def apart(shift_s):
    """One packet with another time."""
    return pcap([*WHOLE[:50], replace(WHOLE[50], t_s=WHOLE[50].t_s + shift_s, times=None), *WHOLE[51:]])


def amid(record):
    return pcap(WHOLE[:100]) + record + pcap(WHOLE[100:])[24:]


def translated(one):
    """The same packet behind a translation of addresses."""
    ends = {SENDER: ("192.168.0.9", 1234)}
    source, target = (ends.get(end, end) for end in (one.source, one.target))
    return replace(one, t_s=one.t_s + 1e-4, source=source, target=target)


def simple(one):
    """A simple packet block, which has no time."""
    return captures.block(3, struct.pack("<I", 80) + captures.framed(one.packet, 1)[:80])


def wild(one):
    return replace(one, seq=one.seq * 1_000_003, ack=one.ack * 1_000_003)


LATE_ACK = Segment(90_000.0, RECEIVER, SENDER, 9_000_001, 5000)
CONNECTIONS = [
    one for k in range(600) for one in bulk(4, source=("10.0.0.1", 1000 + k), isn=k * 7919, start_s=k * 0.001)
]
REFUSED = [
    (b"", "neither pcap nor pcapng"),
    (pcap(WHOLE)[:20], "cut within its header"),
    (captures.pcap_header(), "no TCP segment; capture"),
    (pcap(WHOLE, snap_bytes=0), r"no TCP segment \(\d+ without IP or TCP\)"),
    (pcap(WHOLE, snap_bytes=40), "cut before the end of the headers"),
    (captures.pcap_header(link_type=127), "link type 127 is not read"),
    (captures.pcap_header()[:4] + b"\x07\x00" + captures.pcap_header()[6:], r"version 7\.4 of pcap"),
    (pcapng(WHOLE, described=b""), "an interface that the file does not describe"),
    (SECTION + captures.interface(resolution=127), "if_tsresol: 127"),
    (SECTION + captures.interface(offset_s=2**62), "if_tsoffset"),
    (pcapng(WHOLE[:1], described=captures.interface(offset_s=2**32 - 1)), "beyond the year 2106"),
    (NG + struct.pack("<II", 6, 2**32 - 4) + bytes(100), "a length"),
    (NG + captures.enhanced(WHOLE[0])[:-4] + b"\0\0\0\0", "a length"),
    (SECTION + captures.interface() * 1025, "more than 1024 interfaces"),
    (pcap([replace(one, total=9000) for one in WHOLE]), "damaged"),
    (pcap([replace(one, total=30) for one in WHOLE]), "damaged"),
    (pcap(bulk(0)), "no connection with data"),
    (NG + b"".join(simple(one) for one in WHOLE), "without a time"),
    (gzip.compress(pcap(WHOLE))[:-30], "damaged gzip"),
    (amid(broken(captured=10**7, wire=10**7)), r"recording: packet \d+: a length"),
    (amid(broken(wire=10)), r"recording: packet \d+: a length"),
    (amid(broken(fraction=10**6)), r"recording: packet \d+: time: its fraction"),
    (pcap(sent(WHOLE)), "no ACK of its data is in it; capture both directions"),
    (pcap(in_order([*WHOLE, *map(translated, WHOLE)])), "one connection under two addresses"),
    *((apart(shift_s), r"packet 5[12]: time: jumps and comes back") for shift_s in (-50.0, -0.5, 0.5, 50.0)),
    (pcap([*bulk(fin=False), LATE_ACK]), "more than a day after the first packet"),
    (captures.pcap_header(nano=True) + pcap(bulk(3000))[24:], "they must be microseconds"),
    (captures.pcap_header() + pcap(WHOLE, nano=True)[24:], "its header states microseconds"),
    (
        pcapng(bulk(3000), described=captures.interface(resolution=9)),
        "ticks a second by it, 1 to 1000 are usual",
    ),
    (
        pcap([wild(one) if k % 2 else one for k, one in enumerate(bulk(400, syn=False))]),
        "sequence numbers lie",
    ),
    (pcap(in_order(CONNECTIONS)), "600 flows"),
]


@pytest.mark.parametrize(("data", "words"), REFUSED, ids=[f"{words} {k}" for k, (_, words) in enumerate(REFUSED)])
def test_what_is_no_capture_of_a_test_is_refused(read, data, words):
    with pytest.raises(InputError, match=words):
        read(data)


def test_a_cut_last_packet_is_said(read):
    for cut in (1, 40, 70):
        observed = read(pcap(bulk(fin=False))[:-cut])
        assert "cut within its last packet" in told(observed)
        assert observed.flows[0].total_bytes[-1] == 199 * MSS


def test_one_wrong_ack_changes_nothing(read):
    every = list(WHOLE)
    index = next(i for i, one in enumerate(every) if one.source == RECEIVER and one.t_s > 0.2)
    every[index] = replace(every[index], ack=every[index].ack + 500_000_000)
    observed = read(pcap(every))
    assert observed.flows[0].total_bytes[-1] == 200 * MSS and at(observed.flows[0], 0.25) <= 150 * MSS


def test_a_flood_of_connections_is_refused(read, monkeypatch):
    monkeypatch.setattr("tcpfair.sources.readers.connections.MOST_CONNECTIONS", 512)
    every = [Segment(0.001 * k, ("10.0.0.1", 1000 + k), RECEIVER, 5, flags=SYN) for k in range(600)]
    with pytest.raises(InputError, match="more than 512 connections"):
        read(pcap(every))


def test_bins_grow_when_they_are_too_many(flow, monkeypatch):
    monkeypatch.setattr(packets, "MOST_ROWS", 2000)
    found = flow(pcap(bulk(5000)))
    assert np.diff(found.times_s)[5:].round(6).tolist() == [0.01] * (len(found.times_s) - 6)
    assert found.total_bytes[-1] == 5000 * MSS and at(found, 2.5) == pytest.approx(2400 * MSS, abs=10 * MSS)


def test_a_large_capture_says_how_far_it_is(read, monkeypatch, capsys):
    monkeypatch.setattr("tcpfair.sources.readers.pcap.PROGRESS_FROM_BYTES", 0)
    monkeypatch.setattr("tcpfair.sources.readers.pcap.PROGRESS_S", -1.0)
    read(SAMPLE)
    assert f"{SAMPLE.name}: " in (said := capsys.readouterr().err)
    assert " packets\n" in said
