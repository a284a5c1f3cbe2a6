"""TCP headers of a capture under the pseudonyms of an import: addresses, ports, clocks, and numbers that count from others.

Sequence numbers, TCP timestamps and IP numbers of each direction keep their differences and begin anew: by them, too, a
recording could be told from another's capture of the same connection.
"""

from __future__ import annotations

from ipaddress import ip_address

import numpy as np

from tcpfair.sources.readers import frames
from tcpfair.sources.readers.anonymous import Anonymous
from tcpfair.sources.readers.frames import NS_PER_S
from tcpfair.sources.readers.packets import address

KEY = ("src_high", "src_low", "dst_high", "dst_low", "src_port", "dst_port")
U32 = 0xFFFF_FFFF
APART = 1_000_003  # between the first numbers of two directions

Key = tuple[int, ...]


class AnonymousPackets:
    """The pseudonyms of one file."""

    def __init__(self, keep: Anonymous, *, relative: bool = False, clock: bool = True) -> None:
        """``relative``: sequence numbers count from the first of a connection, and stay; ``clock``: times count from 1970."""
        self._keep = keep
        self._relative = relative
        self._shift_ns = keep.shift_s * NS_PER_S if clock else 0
        self._ends: dict[Key, Key] = {}
        self._origins: dict[Key, Key] = {}  # of a direction: sequence number, timestamp, IP number

    def renamed(self, packets: np.ndarray) -> np.ndarray:
        """A copy of further ``packets`` (`frames.PACKET`), with pseudonyms."""
        if not len(packets):
            return packets.copy()
        keys = np.stack([packets[name] for name in KEY], axis=1).astype(np.int64)
        found, first, index = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        index = index.reshape(-1)
        is_ack, has_times = (packets["flags"] & frames.ACK) > 0, (packets["flags"] & frames.TIMESTAMPS) > 0
        directions = [tuple(key) for key in found.tolist()]
        for k in np.argsort(first):  # in the order of the file
            self._begin(directions[k], packets[first[k]], "seq", "tsval")
        new_keys, shifts = np.empty_like(found), np.zeros((len(found), 5), np.int64)
        for k in np.argsort(first):
            key = directions[k]
            other = (*key[2:4], *key[:2], key[5], key[4])
            acks = np.flatnonzero((index == k) & is_ack) if other not in self._origins else ()
            if len(acks):  # the other direction is known by its ACKs alone
                self._begin(other, packets[acks[0]], "ack", "tsecr")
            source, target = self._end(key[0], key[1], key[4]), self._end(key[2], key[3], key[5])
            new_keys[k] = (*source[:2], *target[:2], source[2], target[2])
            shifts[k, :3], shifts[k, 3:] = self._origins[key], self._origins.get(other, (0, 0, 0))[:2]
        renamed = packets.copy()
        renamed["t_ns"] += self._shift_ns
        for column, name in enumerate(KEY):
            renamed[name] = new_keys[index, column]
        own_seq, own_tick, own_id, other_seq, other_tick = shifts[index].T
        if not self._relative:
            renamed["seq"] = (packets["seq"] - own_seq) & U32
            renamed["ack"] = np.where(is_ack, (packets["ack"] - other_seq) & U32, 0)
        renamed["tsval"] = np.where(has_times, (packets["tsval"] - own_tick) & U32, 0)
        # 0 is none, as in a SYN
        has_echo = has_times & is_ack & (packets["tsecr"] > 0)
        renamed["tsecr"] = np.where(has_echo, (packets["tsecr"] - other_tick) & U32, 0)
        renamed["ip_id"] = np.where(packets["ip_id"] > 0, (packets["ip_id"] - own_id) % 0xFFFF + 1, 0)
        return renamed

    def _begin(self, key: Key, packet: np.void, seq: str, tick: str) -> None:
        """Remember what the numbers of a direction are lowered by, so that no two directions begin with the same."""
        if key not in self._origins:
            apart = APART * (len(self._origins) + 1)
            self._origins[key] = int(packet[seq]) - apart, int(packet[tick]) - apart, int(packet["ip_id"])

    def _end(self, high: int, low: int, port: int) -> Key:
        end = (high, low, port)
        if end not in self._ends:
            new = ip_address(self._keep.address(address(high, low)))
            value = int(new) if new.version == 6 else 0xFFFF << 32 | int(new)
            self._ends[end] = (frames.signed64(value >> 64), frames.signed64(value), self._keep.port(port))
        return self._ends[end]
