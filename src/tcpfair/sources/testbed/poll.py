"""Polls of the kernel while flows run: TCP_INFO of every sender's sockets, and the counters of the bottleneck's qdisc.

    python poll.py SPEC.json

A stand-alone script (standard library only): one process polls all namespaces, and enters each once to open a netlink
socket there. It ends on SIGTERM.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import TextIO

CLONE_NEWNET = 0x40000000
NETLINK_ROUTE, NETLINK_INET_DIAG = 0, 4
SOCK_DIAG_BY_FAMILY, RTM_GETQDISC, NLMSG_ERROR, NLMSG_DONE = 20, 38, 2, 3
DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
INET_DIAG_INFO, INET_DIAG_CONG, TCA_STATS = 2, 4, 3
# all states with a TCP_INFO of a connection: established, FIN-WAIT, CLOSE-WAIT, LAST-ACK, CLOSING
STATES = sum(1 << state for state in (1, 4, 5, 8, 9, 11))
# column -> format and place in struct tcp_info (linux/tcp.h)
TCP_INFO = {
    **{
        "ca_state": ("=B", 1),
        "cwnd": ("=I", 80),
        "ssthresh": ("=I", 76),
        "rtt_us": ("=I", 68),
        "rttvar_us": ("=I", 72),
    },
    **{"min_rtt_us": ("=I", 148), "mss": ("=I", 16), "unacked": ("=I", 24), "lost": ("=I", 32), "retrans": ("=I", 36)},
    **{"total_retrans": ("=I", 100), "bytes_acked": ("=Q", 120), "delivery_rate": ("=Q", 160), "busy_us": ("=Q", 168)},
    **{"rwnd_limited_us": ("=Q", 176), "sndbuf_limited_us": ("=Q", 184), "dsack_dups": ("=I", 216)},
}
COLUMNS = ",".join(("t", "sport", "dport", "cc", *TCP_INFO))
QUEUE_COLUMNS = "t,backlog,drops,bytes"


def netlink_in(namespace: str, protocol: int) -> socket.socket:
    """A netlink socket of a namespace; it stays there when this process enters another."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(namespace).open() as inside:
        if libc.setns(inside.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)


def dump(asked: socket.socket, kind: int, body: bytes):
    """The answers to a request, one message body each."""
    asked.send(struct.pack("=IHHII", 16 + len(body), kind, DUMP, 1, 0) + body)
    while True:
        buffer = asked.recv(1 << 18)
        at = 0
        while at < len(buffer):
            length, kind_of = struct.unpack_from("=IH", buffer, at)
            if kind_of in (NLMSG_DONE, NLMSG_ERROR):
                return
            yield buffer[at + 16 : at + length]
            at += (length + 3) & ~3


def attributes(body: bytes, start: int):
    while start + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, start)
        yield kind, body[start + 4 : start + length]
        start += (length + 3) & ~3


def tcp_lines(asked: socket.socket, port: int):
    """A line of the CSV, without its time, for each connection of a sender to ``port``."""
    request = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1) | 1 << 3, 0, STATES)
    for body in dump(asked, SOCK_DIAG_BY_FAMILY, request + struct.pack("!HH", 0, port) + bytes(44)):
        sport, dport = struct.unpack_from("!HH", body, 4)
        found = dict(attributes(body, 72))
        info = found.get(INET_DIAG_INFO)
        if info is None or len(info) < 220 or dport != port:
            continue
        cc = found.get(INET_DIAG_CONG, b"").split(b"\0")[0].decode()
        values = (struct.unpack_from(kind, info, place)[0] for kind, place in TCP_INFO.values())
        yield ",".join(map(str, (sport, dport, cc, *values)))


def queue_line(asked: socket.socket, interface: int) -> str | None:
    """Backlog, drops and bytes of the root qdisc of an interface."""
    # read the complete answer, or its rest would answer the next request
    for body in list(dump(asked, RTM_GETQDISC, struct.pack("=BBHiIII", 0, 0, 0, interface, 0, 0, 0))):
        _, _, _, of, _, parent, _ = struct.unpack_from("=BBHiIII", body)
        stats = dict(attributes(body, 20)).get(TCA_STATS)
        if of == interface and parent == 0xFFFFFFFF and stats:
            count, _, drops, _, _, _, _, backlog = struct.unpack_from("=QIIIIIII", stats)
            return f"{backlog},{drops},{count}"
    return None


def begun(path: str, columns: str) -> TextIO:
    """A CSV with its first line."""
    file = Path(path).open("w", buffering=1 << 16)  # noqa: SIM115  (open until the last poll)
    file.write(columns + "\n")
    return file


def main() -> None:
    """Poll until SIGTERM. SPEC has period_s, senders [{namespace, port, file}] and optionally queue {namespace,
    interface, file}."""
    spec = json.loads(Path(sys.argv[1]).read_text())
    senders = []
    for sender in spec["senders"]:
        asked = netlink_in(sender["namespace"], NETLINK_INET_DIAG)
        senders.append((asked, sender["port"], begun(sender["file"], COLUMNS)))
    queue = spec.get("queue")
    if queue:
        asked_queue = netlink_in(queue["namespace"], NETLINK_ROUTE)
        interface = socket.if_nametoindex(queue["interface"])
        queue_file = begun(queue["file"], QUEUE_COLUMNS)
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    print("ready", flush=True)
    due = time.monotonic()
    while not stopped:
        for asked, port, file in senders:
            t = time.time()
            for line in tcp_lines(asked, port):
                file.write(f"{t:.4f},{line}\n")
        if queue:
            line = queue_line(asked_queue, interface)
            if line:
                queue_file.write(f"{time.time():.4f},{line}\n")
        due += spec["period_s"]
        time.sleep(max(0.0, due - time.monotonic()))
    for *_, file in senders:
        file.close()
    if queue:
        queue_file.close()
    os._exit(0)


if __name__ == "__main__":
    main()
