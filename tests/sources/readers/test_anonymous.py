"""Pseudonyms are consistent, in ranges that belong to nobody, and keep what the readers need."""

from ipaddress import ip_address, ip_network

import numpy as np
import pytest

from tcpfair.errors import InputError
from tcpfair.sources.readers.anonymous import EPOCH_S, IPV4_NETWORKS, IPV6_NETWORK, Anonymous


def test_the_earliest_recording_starts_in_2000_and_offsets_are_kept():
    anonymous = Anonymous.from_earliest(1_790_000_000.25)
    assert anonymous.clock_s(1_790_000_000) == EPOCH_S
    assert isinstance(anonymous.clock_s(1_790_000_000), int)
    assert anonymous.clock_s(1_790_000_007.25) == pytest.approx(EPOCH_S + 7.25, abs=1e-6)
    shifted = anonymous.clock_s(np.array([1_790_000_000.0, 1_790_000_001.5]))
    assert shifted.tolist() == [EPOCH_S, EPOCH_S + 1.5]


def test_a_shift_in_fractions_leaves_whole_seconds_whole():
    assert Anonymous(EPOCH_S - 1_790_000_000.25).clock_s(1_790_000_003) == EPOCH_S + 3


def test_an_address_has_one_pseudonym():
    anonymous = Anonymous(0)
    first, second = anonymous.address("10.1.2.3"), anonymous.address("10.1.2.4")
    assert first == "192.0.2.1" and second == "192.0.2.2"
    assert anonymous.address("10.1.2.3") == first
    assert anonymous.address("::ffff:10.1.2.3") == f"::ffff:{first}"
    assert anonymous.address("::ffff:10.9.9.9") == "::ffff:192.0.2.3" and anonymous.address("10.9.9.9") == "192.0.2.3"


def test_ipv6_loses_its_zone_and_its_spelling():
    anonymous = Anonymous(0)
    pseudonym = anonymous.address("fe80::1%eth0")
    assert ip_address(pseudonym) in ip_network(IPV6_NETWORK)
    assert anonymous.address("fe80:0:0:0:0:0:0:1") == anonymous.address("[fe80::1]") == pseudonym
    assert anonymous.address("fe80::2") != pseudonym


def test_many_addresses_stay_in_their_ranges():
    anonymous = Anonymous(0)
    found = {anonymous.address(str(ip_address(0x0A000000 + number))) for number in range(1000)}
    assert len(found) == 1000
    assert all(any(ip_address(text) in ip_network(network) for network in IPV4_NETWORKS) for text in found)


def test_a_host_name_becomes_a_number():
    anonymous = Anonymous(0)
    assert anonymous.address("sender.example.org") == "host1"
    assert anonymous.address("receiver") == "host2"
    assert anonymous.address("sender.example.org") == "host1"


def test_ports_start_at_40000_and_iperf3s_stays():
    anonymous = Anonymous(0)
    assert [anonymous.port(port) for port in (51312, 5201, 51313, 51312, 0)] == [40000, 5201, 40001, 40000, 0]


def test_every_port_has_its_own_pseudonym():
    anonymous = Anonymous(0)
    assert len({anonymous.port(port) for port in range(65_536)}) == 65_536


@pytest.mark.parametrize("port", [-1, 65_536, 10**30])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(InputError, match="must be between 0 and 65535"):
        Anonymous(0).port(port)


def test_cookies_are_numbered():
    anonymous = Anonymous(0)
    assert [anonymous.cookie(text) for text in ("x7a", "q1b", "x7a")] == ["cookie0001", "cookie0002", "cookie0001"]
