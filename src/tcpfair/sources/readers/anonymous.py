"""Pseudonyms for what tells whose recording it is: wall clocks, addresses, host names, ports and cookies.

One `Anonymous` serves all files of an import, so that an address has the same pseudonym in each. Pseudonyms are given
in the order of first use and say nothing about what they stand for.
"""

from __future__ import annotations

import math
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from itertools import chain
from typing import TypeVar

import numpy as np

from tcpfair.errors import InputError

EPOCH_S = 946_684_800  # 2000-01-01 00:00:00 UTC: where the earliest recording of an import starts
KEPT_PORTS = frozenset({0, 5201})  # none, and iperf3's own
FIRST_PORT, LAST_PORT = 40_000, 65_535
# set aside for documentation (RFC 5737, RFC 3849) and, where 762 are too few, for benchmarks (RFC 2544)
IPV4_NETWORKS = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15")
IPV6_NETWORK = "2001:db8::/32"

Seconds = TypeVar("Seconds", int, float, np.ndarray)


class Anonymous:
    """The pseudonyms of one import."""

    def __init__(self, shift_s: float) -> None:
        """``shift_s`` is added to every wall clock, after rounding up to whole seconds: whole seconds stay whole."""
        self.shift_s = math.ceil(shift_s)
        self._addresses: dict[IPv4Address | IPv6Address, IPv4Address | IPv6Address] = {}
        self._hosts: dict[str, str] = {}
        self._cookies: dict[str, str] = {}
        self._ports = {port: port for port in KEPT_PORTS}
        self._free_ipv4 = chain.from_iterable(IPv4Network(network).hosts() for network in IPV4_NETWORKS)
        self._free_ipv6 = IPv6Network(IPV6_NETWORK).hosts()
        self._free_ports = chain(range(FIRST_PORT, LAST_PORT + 1), range(1, FIRST_PORT))

    @classmethod
    def from_earliest(cls, clock_s: float) -> Anonymous:
        """For an import whose earliest recording started at ``clock_s``, seconds since 1970."""
        return cls(EPOCH_S - math.floor(clock_s))

    def clock_s(self, clock_s: Seconds) -> Seconds:
        """A wall clock in seconds since 1970, or an array of them, shifted; whole seconds stay whole."""
        return clock_s + self.shift_s

    def address(self, text: str) -> str:
        """The pseudonym of an IPv4 or IPv6 address, without zone; of any other text, a host name, ``hostN``.

        ``::ffff:`` before an IPv4 address is kept, and the address has the pseudonym that it has without.
        """
        try:
            address = ip_address(text.strip().strip("[]"))
        except ValueError:
            return self._hosts.setdefault(text, f"host{len(self._hosts) + 1}")
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            return f"::ffff:{self._pseudonym(address.ipv4_mapped)}"
        if isinstance(address, IPv6Address):
            address = IPv6Address(int(address))  # without zone: the name of an interface
        return str(self._pseudonym(address))

    def port(self, port: int) -> int:
        """The pseudonym of a TCP or UDP port; raises InputError when it is none."""
        if not 0 <= port <= LAST_PORT:
            raise InputError(f"port {port}: must be between 0 and {LAST_PORT}")
        if port not in self._ports:
            self._ports[port] = next(free for free in self._free_ports if free not in KEPT_PORTS)
        return self._ports[port]

    def cookie(self, text: str) -> str:
        """The pseudonym of what a tool calls one test by."""
        return self._cookies.setdefault(text, f"cookie{len(self._cookies) + 1:04d}")

    def _pseudonym(self, address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
        if address not in self._addresses:
            free = next(self._free_ipv4 if isinstance(address, IPv4Address) else self._free_ipv6, None)
            if free is None:
                raise InputError(f"more than {len(self._addresses)} addresses; import fewer flows at a time")
            self._addresses[address] = free
        return self._addresses[address]
