"""The kernel's answers, byte by byte."""

import socket
import struct

from tcpfair.sources.testbed import poll


class Answers:
    """A netlink socket that gives prepared datagrams."""

    def __init__(self, *datagrams: bytes) -> None:
        self.left, self.asked = list(datagrams), []

    def send(self, request: bytes) -> None:
        self.asked.append(request)

    def recv(self, _size: int) -> bytes:
        return self.left.pop(0)


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 1, 0) + body + bytes(-len(body) % 4)


def attribute(kind: int, body: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(body), kind) + body + bytes(-len(body) % 4)


DONE = message(poll.NLMSG_DONE, bytes(4))


def tcp_info(**values: int) -> bytes:
    """As linux/tcp.h lays it out: ca_state first but one, fields of 32 bits from the eighth byte on, later ones of 64."""
    info = bytearray(232)
    for kind, place, name in [
        *[("=B", 1, "ca_state"), ("=Q", 120, "bytes_acked"), ("=I", 148, "min_rtt"), ("=I", 216, "dsack_dups")],
        *[("=I", 8 + 4 * k, name) for k, name in ((15, "rtt"), (17, "ssthresh"), (18, "cwnd"), (23, "total_retrans"))],
    ]:
        struct.pack_into(kind, info, place, values[name])
    return bytes(info)


def connection(port: int, info: bytes) -> bytes:
    head = bytearray(72)
    struct.pack_into("!HH", head, 4, 40000, port)
    return bytes(head) + attribute(4, b"cubic\0") + attribute(2, info)


def test_a_connection_is_a_line_in_the_order_of_the_columns():
    info = tcp_info(
        ca_state=3, cwnd=77, ssthresh=54, rtt=61000, total_retrans=9, bytes_acked=2**40, min_rtt=50100, dsack_dups=2
    )
    asked = Answers(message(20, connection(5202, info)) + message(20, connection(9999, info)), DONE)
    (line,) = poll.tcp_lines(asked, 5202)  # the other goes to another port
    row = dict(zip(poll.COLUMNS.split(",")[1:], line.split(","), strict=True))
    assert (row["sport"], row["dport"], row["cc"], row["ca_state"]) == ("40000", "5202", "cubic", "3")
    assert (row["cwnd"], row["ssthresh"], row["rtt_us"], row["min_rtt_us"]) == ("77", "54", "61000", "50100")
    assert (row["total_retrans"], row["bytes_acked"], row["dsack_dups"]) == ("9", str(2**40), "2")
    assert asked.asked[0][16] == socket.AF_INET


def test_a_socket_of_an_older_kernel_or_without_information_is_passed_over():
    short = connection(5202, bytes(200))
    asked = Answers(message(20, short), message(20, bytes(72)) + DONE)
    assert list(poll.tcp_lines(asked, 5202)) == []


def qdisc(interface: int, parent: int, *counts: int) -> bytes:
    head = struct.pack("=BBHiIII", 0, 0, 0, interface, 0, parent, 0)
    return message(36, head + attribute(3, struct.pack("=QIIIIIII", *counts)))


def test_counters_are_those_of_the_root_qdisc_and_the_answer_is_read_to_its_end():
    root = 0xFFFFFFFF
    asked = Answers(qdisc(7, root, 1, 1, 1, 1, 1, 1, 1, 1) + qdisc(8, root, 90_000, 60, 5, 0, 0, 0, 2, 3028), DONE)
    assert poll.queue_line(asked, 8) == "3028,5,90000"
    assert asked.left == []  # or it would be the answer to the next question


def test_no_qdisc_gives_no_line():
    assert poll.queue_line(Answers(DONE), 8) is None
