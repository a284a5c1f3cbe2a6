"""The commands that make the network, with nothing run."""

import pytest

from tcpfair.sources.testbed import stage

PLAN = {
    **{"folder": "/nowhere", "bottleneck": "relay", "delay": "relay", "rate_bps": 100e6, "buffer_bytes": 625_000},
    **{"burst_bytes": 6250, "overhead_bytes": 24, "forward_share": 0.25, "slots": 4096, "relay": "/cache/relay"},
    **{"pcap": False, "ss": False, "struct_ops": [], "period_s": 0.02},
    "flows": [
        {"cc": "reno", "rtt_ms": 20.0, "start_s": 0, "seconds": 5},
        {"cc": "cubic", "rtt_ms": 80.0, "start_s": 0, "seconds": 5},
    ],
}


@pytest.fixture
def commands(monkeypatch):
    """What would be run, as lines."""
    told: list[str] = []
    monkeypatch.setattr(stage, "run", lambda *words: told.append(" ".join(words)) or "")
    monkeypatch.setattr(
        stage.Stage, "write", lambda self, space, path, value, may_lack=False: told.append(f"{space} {path}={value}")
    )
    return told


def test_everything_happens_below_a_run_of_its_own(commands):
    stage.Stage(PLAN).make_network()
    assert commands[0] == "mount -t tmpfs tmpfs /run"
    assert commands.index("ip netns add d") > 0


def test_every_link_is_without_offloads_and_sockets_do_not_begin_as_bbr(commands):
    stage.Stage(PLAN).make_network()
    made = [line for line in commands if "type veth" in line]
    off = [line for line in commands if "ethtool -K" in line]
    assert len(made) == 3
    assert len(off) == 2 * len(made)
    assert all(f"{feature} off" in line for line in off for feature in stage.OFFLOADS)
    assert [line for line in commands if "tcp_congestion_control" in line] == [
        f"{space} /proc/sys/net/ipv4/tcp_congestion_control=reno" for space in ("d", "s1", "s2")
    ]


def test_the_relays_senders_are_known_to_each_other_without_arp(commands):
    stage.Stage(PLAN).make_network()
    assert "ip -n s2 neigh add 10.99.2.254 lladdr 02:00:00:00:02:01 dev e0 nud permanent" in commands
    assert "ip -n d neigh add 10.99.2.1 lladdr 02:00:00:00:01:02 dev e0 nud permanent" in commands
    assert not [line for line in commands if " tbf " in line or " netem " in line]


def test_a_token_bucket_stands_in_a_router(commands):
    stage.Stage(PLAN | {"bottleneck": "tbf"}).make_network()
    (line,) = [line for line in commands if " tbf " in line]
    assert line == "tc -n r qdisc add dev out root tbf rate 100000000bit burst 6250 limit 625000 overhead 24"
    assert "r /proc/sys/net/ipv4/ip_forward=1" in commands


def test_netem_delays_on_the_way_back_and_holds_all_that_is_on_it(commands):
    stage.Stage(PLAN | {"bottleneck": "tbf", "delay": "netem"}).make_network()
    found = [line for line in commands if " netem " in line]
    assert found == [
        "tc -n r qdisc add dev e1 root netem delay 20000us limit 1000000",
        "tc -n r qdisc add dev e2 root netem delay 80000us limit 1000000",
    ]
    assert not [line for line in commands if "neigh" in line]


def test_the_relay_gets_the_delays_of_both_ways(monkeypatch):
    told = []
    monkeypatch.setattr(stage.Stage, "start", lambda self, command, name, failure, level=0: told.extend(command))
    stage.Stage(PLAN).start_relay()
    assert told[-2:] == ["w1,1,5000000,15000000", "w2,2,20000000,60000000"]
    assert told[told.index("-r") + 1] == "100000000.0"
    told.clear()
    stage.Stage(PLAN | {"bottleneck": "tbf"}).start_relay()
    assert "-r" not in told


def test_a_command_that_fails_is_named_with_its_last_line():
    with pytest.raises(stage.StageError, match="sh -c echo no >&2; exit 3: no"):
        stage.run("sh", "-c", "echo no >&2; exit 3")
