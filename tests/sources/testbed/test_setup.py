"""What a run is to be: files, options and scenarios, and what is refused in one line."""

import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout, repository_root
from tcpfair.papers.scenario import make_scenario
from tcpfair.sources.testbed.setup import make_setup, of_options, read_setup, setup_of
from tcpfair.validation.scenarios import TESTBED, load, whole

FLOW = {"cc": "reno", "rtt_ms": 50}
RUN = {"rate_bps": 100e6, "duration_s": 10, "flows": [FLOW]}
LINUX = {"protocol": "x", "rtt_s": 0.05, "ack_every": 2, "reduction": "prr", "iw_pkts": 10, "recovery": "sack"}
LINK = {
    "capacity_bps": 100e6,
    "wire_bytes": 1538,
    "payload_bytes": 1448,
    "buffer_pkts": 99,
    "duration_s": 30,
    "sample_s": 1,
}
OPTIONS = {
    **{"cc": ["reno", "cubic"], "rtt_ms": [50.0], "start_s": [0.0, 2.0], "rate_mbps": 10.0, "duration_s": 30.0},
    **{"buffer_bdp": 0.5, "bottleneck": "auto", "delay": "auto", "ss": False, "pcap": False},
}


def scenario(**flow):
    return make_scenario({**LINK, "flows": [LINUX | {"cc": "reno"} | flow]})


def test_buffer_is_a_bdp_of_the_longest_path():
    made = make_setup({**RUN, "flows": [FLOW, FLOW | {"rtt_ms": 200}], "buffer_bdp": 0.5}, "x")
    assert made.limit_bytes == 100e6 / 8 * 0.2 / 2
    assert make_setup(RUN, "x").limit_bytes == 625_000  # one where none is given
    assert make_setup({**RUN, "buffer_bytes": 30_000}, "x").limit_bytes == 30_000


def test_rings_hold_path_and_queue_twice_over():
    made = make_setup({**RUN, "flows": [FLOW | {"rtt_ms": 200}]}, "x")
    on_the_way = 100e6 * (0.2 + made.longest_queue_s) / 8 / 1538
    assert 2 * on_the_way <= made.ring_slots < 4 * on_the_way
    assert made.ring_slots & (made.ring_slots - 1) == 0


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"rate_bps": 10}, "rate_bps"),
        ({"rate_bps": "fast"}, "rate_bps"),
        ({"duration_s": float("nan")}, "duration_s"),
        ({"flows": []}, "flows"),
        ({"flows": [{"cc": "reno"}]}, "flows.0.rtt_ms"),
        ({"flows": [FLOW | {"cc": "Reno; rm"}]}, "cc must be a name"),
        ({"flows": [FLOW | {"cc": "cubic_k_fast"}]}, "cubic_k_5000ms"),
        ({"flows": [FLOW | {"start_s": 9.5}]}, "start_s"),
        ({"buffer_bytes": 30_000, "buffer_bdp": 1}, "buffer_bytes or buffer_bdp"),
        ({"bottleneck": "relay", "delay": "netem"}, "delay must not be netem"),
        ({"colour": "blue"}, "colour"),
    ],
)
def test_a_wrong_value_gives_one_line_that_names_it(change, names):
    with pytest.raises(InputError, match=names.replace(".", r"\.")) as caught:
        make_setup({**RUN, **change}, "run.yaml")
    assert str(caught.value).startswith("run.yaml")


@pytest.mark.parametrize(
    ("text", "says"),
    [("- 1\n", "must be a mapping"), ("a: [\n", "not valid YAML"), ("experiments: {}\n", "validate --run testbed")],
)
def test_a_file_that_is_no_run_is_refused_by_name(tmp_path, text, says):
    (tmp_path / "run.yaml").write_text(text)
    with pytest.raises(InputError, match=says) as caught:
        read_setup(tmp_path / "run.yaml")
    assert "run.yaml" in str(caught.value)
    with pytest.raises(InputError, match="nothing.yaml"):
        read_setup(tmp_path / "nothing.yaml")


def test_options_give_each_flow_its_value_or_all_the_same():
    made = make_setup(of_options(OPTIONS), "testbed")
    assert [(f.cc, f.rtt_ms, f.start_s) for f in made.flows] == [("reno", 50, 0), ("cubic", 50, 2)]
    assert made.rate_bps == 10e6
    with pytest.raises(InputError, match="--rtt-ms: give one value, or one for each of the 2 flows"):
        of_options(OPTIONS | {"rtt_ms": [1.0, 2.0, 3.0]})


def test_a_scenario_becomes_a_run_in_virtual_time():
    made = setup_of(scenario())
    assert (made.flows[0].cc, made.flows[0].rtt_ms) == ("reno", 50)
    assert made.limit_bytes == 100 * 1538  # what waits, and the packet being sent
    assert made.bottleneck == "relay"


@pytest.mark.parametrize(
    ("flow", "cc"),
    [
        ({"cc": "newreno"}, "reno"),
        ({"cc": "cubic_linux_6"}, "cubic"),
        ({"cc": "cubic_rtt", "params": {"constant_K": 1, "K_s": 2.5}}, "cubic_k_2500ms"),
        ({"cc": "cubic_rtt"}, "cubic_k_rtt"),
    ],
)
def test_algorithms_have_their_kernels_names(flow, cc):
    assert setup_of(scenario(**flow)).flows[0].cc == cc


@pytest.mark.parametrize(
    ("flow", "names"),
    [
        ({"cc": "vegas"}, r"flows\[0\]\.cc"),
        ({"cc": "cubic"}, r"flows\[0\]\.cc"),  # an older one than any kernel of today
        ({"ack_every": 1}, "ack_every"),
        ({"rwnd_pkts": 40}, "rwnd_pkts"),
        ({"stop_s": 10}, "stop_s"),
        ({"access_bps": 1e7}, "access_bps"),
        ({"cc": "cubic_rtt", "params": {"root": 2}}, "params"),
        ({"cc": "cubic_rtt", "params": {"smoothed_rtt": 1}}, "params"),
    ],
)
def test_what_a_kernel_cannot_do_is_refused_by_name(flow, names):
    with pytest.raises(InputError, match=names):
        setup_of(scenario(**flow))


def test_other_packets_than_ethernets_are_refused():
    with pytest.raises(InputError, match="wire_bytes: the testbed's packets have 1538"):
        setup_of(make_scenario({**LINK, "wire_bytes": 1500, "flows": [LINUX | {"cc": "reno"}]}))


def test_all_scenarios_of_the_configuration_can_be_recorded():
    config = load(Layout(repository_root()).testbed_config)
    selection = whole(config, TESTBED)
    specs = [spec for name in config.experiments for spec in selection.specs(config, name)]
    assert len({spec.key for spec in specs}) == len(specs)
    assert min(spec.scenario.duration_s for spec in specs) >= 20
    assert {flow.cc for spec in specs for flow in setup_of(spec.scenario).flows} == {
        *("reno", "cubic", "cubic_k_5000ms", "cubic_k_rtt")
    }
