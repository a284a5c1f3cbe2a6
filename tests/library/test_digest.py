"""./reproduce digest FILE: one number for what a scenario gives, one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tcpfair.engine.dumbbell import run
from tcpfair.errors import InputError
from tcpfair.library import digest
from tcpfair.papers.scenario import make_scenario

SCENARIO = {
    **{"capacity_bps": 1e7, "wire_bytes": 1500, "payload_bytes": 1448, "buffer_pkts": 20},
    **{"duration_s": 2, "sample_s": 0.1, "loss_rate": 0.01},
    "flows": [{"protocol": "CUBIC", "cc": "cubic", "rtt_s": 0.02}, {"protocol": "Reno", "cc": "reno", "rtt_s": 0.03}],
}


def test_yaml_and_json_say_the_same(tmp_path):
    asked = {"scenario": SCENARIO, "seed": 3}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(asked))
    (tmp_path / "a.json").write_text(json.dumps({**asked, "seed": "3"}, indent=1))
    found = digest.digest_of_file(tmp_path / "a.yaml")
    assert len(found) == 64
    assert digest.digest_of_file(tmp_path / "a.json") == found == digest.digest(make_scenario(SCENARIO), 3)


def test_the_seed_counts_and_is_1_where_there_is_none(tmp_path):
    (tmp_path / "a.yaml").write_text(yaml.safe_dump({"scenario": SCENARIO}))
    assert digest.read(tmp_path / "a.yaml")[1] == 1
    scenario = make_scenario(SCENARIO)
    assert digest.digest(scenario, 1) != digest.digest(scenario, 2)


def test_every_array_counts():
    result = run(make_scenario(SCENARIO), 1, log_events=True)
    names = [name for name, _ in digest.arrays(result)]
    assert len(names) == len(set(names)) == 5 + 5 + 2 * 3 + 2
    assert names[-2:] == ["events", "arrivals"]
    assert dict(digest.arrays(result))["cwnd_pkts"] == result.cwnd_pkts.tobytes()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed: 1", "scenario: is missing"),
        ("- 1", "must be a mapping"),
        ("scenario: [1", "not valid YAML"),
        ("{scenario: {}, sead: 1}", "sead: unknown; known are scenario, seed"),
        ("{scenario: {flows: 3}, seed: 1}", "scenario: capacity_bps: Field required"),
        ("{scenario: SCENARIO, seed: -1}", "seed: must be a whole number"),
        ("{scenario: SCENARIO, seed: 1.5}", "seed: must be a whole number"),
        ("{scenario: SCENARIO, seed: one}", "seed: must be a whole number"),
        ("{scenario: SCENARIO, seed: true}", "seed: must be a whole number"),
        ("{scenario: UNKNOWN, seed: 1}", "unknown protocol 'cubik'"),
        ("{scenario: LONG, seed: 1}", "asked.yaml: scenario: 1e+15 samples of"),
        (None, "no such file"),
        (b"\xff\xfe\x00scenario", "not text in UTF-8"),
        (Path, "Is a directory"),
    ],
)
def test_bad_input_gives_one_line_that_names_file_and_field(tmp_path, text, said):
    path = tmp_path / "asked.yaml"
    unknown = json.dumps(SCENARIO).replace('"cubic"', '"cubik"')
    long = json.dumps(SCENARIO | {"duration_s": 1e15, "sample_s": 1})
    if text is Path:
        path.mkdir()
    elif isinstance(text, bytes):
        path.write_bytes(text)
    elif text is not None:
        path.write_text(
            text.replace("SCENARIO", json.dumps(SCENARIO)).replace("UNKNOWN", unknown).replace("LONG", long)
        )
    with pytest.raises(InputError) as error:
        digest.digest_of_file(path)
    assert str(path) in str(error.value) and said in str(error.value)
