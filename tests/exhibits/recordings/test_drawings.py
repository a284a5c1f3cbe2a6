"""Exhibits of recordings: hand-worked numbers of made-up traces, the real kernel's, and what is said of bad input."""

from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from tcpfair.errors import InputError
from tcpfair.exhibits import open_paper
from tcpfair.exhibits.recordings import drawings
from tcpfair.exhibits.recordings import recording as module
from tcpfair.exhibits.recordings.beside import likeness
from tcpfair.exhibits.recordings.board import EXHIBITS, open_raw
from tcpfair.exhibits.recordings.drawings import nru_weights
from tcpfair.exhibits.recordings.recording import NotInTraceError, Recording
from tcpfair.exhibits.recordings.recovery import recovery_checks
from tcpfair.files.layout import Layout
from tcpfair.papers.recordings import load_raw
from tcpfair.runs import trace as traces
from tcpfair.runs.trace import Trace
from tcpfair.sources.readers.compose import flow_table, provenance, run_table
from tcpfair.workflow import importing
from tests.exhibits import standin
from tests.exhibits.standin import record_of

REPOSITORY = Path(__file__).parents[3]
SETTINGS = load_raw(REPOSITORY / "config" / "raw.yaml")
LINK = {"capacity_bps": 12e6, "wire_bytes": 1500, "payload_bytes": 1450}  # 1000 packets/s, 11.6 Mb/s of payload
ALONE = {"jfi", "nru", "steadiness", "beside"}  # what one flow alone does not have


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A checkout with nothing drawn yet. Recordings are read in this process; `test_board` does what a user does."""
    monkeypatch.setattr(module, "trace_folder", lambda path: importing.read_once(Layout(tmp_path, "raw"), path))
    standin.draws_no_marks(monkeypatch)
    return standin.for_recordings(tmp_path, monkeypatch)


def made_up(goodput_mbps, cc=("reno", "reno"), start_s=(0, 0), rtt_s=(0.1, 0.1), windows=None, events=(), **link):
    """A trace of one run with a sample per second: goodput of shape (flows, seconds), windows as columns per flow."""
    duration_s = len(goodput_mbps[0])
    samples = []
    for flow_id, row in enumerate(goodput_mbps, 1):
        table = {"run_id": 0, "flow_id": flow_id, "t_s": np.arange(1.0, duration_s + 1)}
        table["delivered_bytes"] = (np.asarray(row) * 1e6 / 8).astype(int)
        samples.append(pd.DataFrame({**table, **(windows[flow_id - 1] if windows else {})}))
    table = pd.DataFrame(events, columns=["flow_id", "t_s", "kind", "cwnd_before", "cwnd_after", "w_max", "k_s"])
    return Trace(
        runs=run_table("made_up", "testbed", duration_s, 1.0, **(link or LINK)),
        flows=flow_table(cc, rtt_s, start_s, [duration_s] * len(cc)),
        samples=pd.concat(samples, ignore_index=True),
        events=table.assign(run_id=0),
        provenance=provenance("made_up", "testbed", {"made up"}),
    )


def recording_of(trace, folder, name="made_up", settings=SETTINGS):
    traces.write(trace, folder / name)
    return Recording(folder / name, settings)


def unlike(folder):
    """Two CUBIC flows of 10 and 100 ms; the second has half of the goodput."""
    made = made_up([[50] * 30, [25] * 30], rtt_s=(0.01, 0.1), cc=("cubic", "cubic"))
    return recording_of(made, folder, "unlike")


def with_weights(**weights):
    return SETTINGS.model_copy(update={"weights": SETTINGS.weights.model_copy(update=weights)})


def numbers_of(root, name, exhibit):
    return {(row.metric, row.key): row.value for row in standin.numbers_of(root, name, exhibit).itertuples()}


def numbers_shown(root, trace, *names):
    """The numbers of some exhibits of a made-up recording, as `numbers_of`."""
    traces.write(trace, root / "made_up")
    raw = open_raw("made_up", keep=True)
    for name in names:
        raw.show(name)
    return [numbers_of(root, "made_up", name) for name in names]


# --- The shipped examples ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "left_out"),
    [
        ("data/raw/examples/rr_wire", set()),
        ("data/raw/examples/c1_tbf", ALONE),
        ("tests/samples/iperf3/reno_4s.json", ALONE | {"recovery", "recovery_table"}),
        ("tests/samples/tcp_info/cubic_8s.csv.gz", ALONE),
        ("tests/samples/testbed/reno_14s", ALONE - {"jfi"}),  # the second flow runs for 4 s: no means
    ],
)
def test_every_recording_gives_what_it_has(root, sample, left_out):
    raw = open_raw(str(REPOSITORY / sample), keep=True)
    for name in EXHIBITS:
        raw.show(name)
        record = record_of(root, raw.recordings[0].name, name)
        assert record["status"] == ("left out" if name in left_out else "built"), name
        assert all((root / file).is_file() for file in record["files"])
        assert record["n_runs"] == bool(record["files"])


@pytest.mark.slow
@pytest.mark.parametrize(("example", "n_checks"), [("rr_wire", 17), ("c1_tbf", 18)])
def test_real_kernel_recovers_by_its_formulas(example, n_checks):
    checks = recovery_checks(Recording(REPOSITORY / "data/raw/examples" / example, SETTINGS))
    assert len(checks) == n_checks
    assert checks["error_percent"].abs().max() < 1.5


def test_windows_of_a_testbed_run_are_its_polls():
    windows = Recording(REPOSITORY / "data/raw/examples/rr_wire", SETTINGS).recoveries.polls
    assert windows.groupby("flow_id")["t_s"].diff().median() == pytest.approx(0.1, abs=0.001)
    assert windows.groupby("flow_id")["t_s"].min().loc[2] > 10  # flow 2 starts at 10 s


# --- Fairness by hand --------------------------------------------------------------------------------------------


def test_flows_that_take_turns_by_hand(root):
    """60 and 40 Mb/s in turns, of 100: J(t) = 100^2 / (2 (60^2 + 40^2)), J of the means 1; each is 1.2 or 0.8 of 50."""
    turns = [60, 40] * 10
    trace = made_up([turns, turns[::-1]], capacity_bps=200e6, wire_bytes=1500, payload_bytes=1500)
    goodput, jfi, nru = numbers_shown(root, trace, "goodput", "jfi", "nru")
    assert float(jfi["jfi_mean", "flow=all"]) == pytest.approx(10_000 / 10_400)
    assert float(jfi["jfi_of_means", "flow=all"]) == pytest.approx(1, abs=0.001)
    # seconds 6 to 20: of flow 1 eight at 40 and seven at 60 Mb/s, of flow 2 the reverse; their mean is 50
    assert float(nru["self_pair_mbps", "flow=1"]) == pytest.approx(50)
    assert float(nru["U_n", "flow=1"]) == pytest.approx((8 * -0.9691 + 7 * 0.7918) / 15, abs=1e-4)
    assert float(nru["U_n", "flow=2"]) == pytest.approx((7 * -0.9691 + 8 * 0.7918) / 15, abs=1e-4)
    assert (
        nru["case", "flow=all"] == "E"
    )  # in dB a loss outweighs a gain: both flows below 0, but within their own error of it
    assert float(goodput["utilisation", "flow=all"]) == pytest.approx(0.5)


def test_mean_goodput_counts_while_a_flow_runs(root):
    (goodput,) = numbers_shown(root, made_up([[8] * 20, [0] * 10 + [2] * 10], start_s=(0, 10)), "goodput")
    assert float(goodput["throughput_mean", "flow=2"]) == pytest.approx(2)


def test_weights_of_named_self_pairs(tmp_path):
    """Reno's self-pair has 4 and 6 Mb/s, CUBIC's 8 and 2: a mean of 5 for both, or the flow's own place."""
    for protocol, (first, second) in {"reno": (4, 6), "cubic": (8, 2)}.items():
        recording_of(made_up([[first] * 20, [second] * 20], cc=(protocol, protocol)), tmp_path, protocol)
    pairs = {protocol: tmp_path / protocol for protocol in ("reno", "cubic")}
    mixed = made_up([[3] * 20, [7] * 20], cc=("reno", "cubic"))
    by_mean = recording_of(mixed, tmp_path, settings=with_weights(self_pairs=pairs))
    assert nru_weights(by_mean) == pytest.approx([1 / 5, 1 / 5])
    rule = SETTINGS.weights.rule.model_copy(update={"value": "per_column"})
    by_place = recording_of(mixed, tmp_path, settings=with_weights(self_pairs=pairs, rule=rule))
    assert nru_weights(by_place) == pytest.approx([1 / 4, 1 / 2])


def test_self_pair_needs_as_many_flows(tmp_path):
    recording_of(made_up([[4] * 20], cc=("reno",), start_s=(0,), rtt_s=(0.1,)), tmp_path, "alone")
    pair = recording_of(
        made_up([[4] * 20] * 2), tmp_path, settings=with_weights(self_pairs={"reno": tmp_path / "alone"})
    )
    with pytest.raises(InputError, match=r"weights.self_pairs.reno: 1 flows; give a recording of 2"):
        nru_weights(pair)


def test_self_pair_that_delivers_nothing(tmp_path):
    with pytest.raises(InputError, match="delivers no bytes"):
        nru_weights(recording_of(made_up([[4] * 20, [0] * 20]), tmp_path))


# --- Any trace, and none -----------------------------------------------------------------------------------------


def test_one_run_of_a_trace_of_many(root):
    first, second = made_up([[4] * 20, [4] * 20]), made_up([[1] * 20, [9] * 20])
    tables_of_both = {
        name: pd.concat([getattr(first, name), getattr(second, name).assign(run_id=1)]) for name in traces.TABLES
    }
    traces.write(Trace(**tables_of_both, provenance={"grid": []}), root / "both")
    open_raw("both", run=1, keep=True).show("goodput")
    assert float(numbers_of(root, "both", "goodput")["throughput_mean", "flow=2"]) == pytest.approx(9)
    open_raw("both", run=2, keep=True).show("goodput")
    assert record_of(root, "both", "goodput")["error"].endswith("both: run 2: not among the 2 runs of this trace")


def test_case_of_flows_that_are_steadily_unequal(root):
    """80 and 20 Mb/s with a little noise: far outside of the errors, one flow above its self-pair and one below."""
    noise = np.tile([0, 1, -1, 2, -2], 6)
    trace = made_up([80 + noise, 20 - noise], capacity_bps=200e6, wire_bytes=1500, payload_bytes=1500)
    (nru,) = numbers_shown(root, trace, "nru")
    assert nru["case", "flow=all"] == "B" and float(nru["U_n_error", "flow=1"]) < 0.1


def test_steadiness_by_hand(root):
    """Flow 1 at 60, flow 2 at 40 Mb/s until 10 s, then both at 50: fair from the first second after that on."""
    trace = made_up([[60] * 10 + [50] * 20, [40] * 10 + [50] * 20], capacity_bps=200e6, wire_bytes=1500)
    (numbers,) = numbers_shown(root, trace, "steadiness")
    # the self-pair's mean over 6 to 30 s is 50 Mb/s; 40 of it are -0.97 dB, 50 are 0
    assert float(numbers["T_U", "flow=2"]) == 11 and float(numbers["T_U_all", "flow=all"]) == 11
    assert float(numbers["T_U", "flow=1"]) == 1


def test_two_flows_of_one_rtt_stand_beside_bhatti2009_and_unlike_ones_beside_kozu2014(tmp_path):
    pair = recording_of(made_up([[50] * 30, [50] * 30]), tmp_path, "pair")
    far = unlike(tmp_path)
    assert likeness(pair) == "pairs" and likeness(far) == "rtts"
    numbers = EXHIBITS["beside"].draw(far).numbers.set_index("metric")["value"]
    assert numbers["ratio"] == pytest.approx(0.5) and numbers["kozu2014_CUBIC"] > 0
    (tmp_path / "pair" / "trace.yaml").write_text("kind: rtts\n")
    with pytest.raises(InputError, match="kind: rtts, but the RTTs are 100 and 100 ms"):
        likeness(Recording(pair.path, SETTINGS))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("paper", "kozu2041", "kozu2041.yaml: no such file"),
        ("experiment", "rtt_swep", "beside: experiment of kozu2014 'rtt_swep' is unknown"),
        ("protocols", ["Renno"], "beside: protocol of kozu2014 'Renno' is unknown"),
    ],
)
def test_figures_that_no_paper_has_are_named(tmp_path, name, value, message):
    far = unlike(tmp_path)
    rtts = SETTINGS.beside.rtts.model_copy(update={name: value})
    settings = SETTINGS.model_copy(update={"beside": SETTINGS.beside.model_copy(update={"rtts": rtts})})
    with pytest.raises(InputError, match=message):
        EXHIBITS["beside"].draw(Recording(far.path, settings))


def test_a_paper_shows_a_recording_beside_its_figure_and_sends_others_away(tmp_path, capsys):
    far = unlike(tmp_path)
    drawn = open_paper("kozu2014", trace=str(far.path)).beside()
    assert set(drawn.columns) >= {"protocol", "rtt_ms", "mean"}
    with pytest.raises(InputError, match="is like kozu2014's experiment; open that paper's notebook"):
        open_paper("bhatti2009", trace=str(far.path)).beside()
    assert open_paper("bhatti2009").beside().empty
    assert "after ./reproduce import" in capsys.readouterr().out


def test_trace_yaml_names_self_pairs_and_they_must_be_alike(tmp_path):
    even = [[50.0] * 30, [50.0] * 30]
    mixed = recording_of(made_up([[60.0] * 30, [40.0] * 30], cc=("reno", "cubic")), tmp_path, "mixed")
    recording_of(made_up(even), tmp_path, "renos")
    recording_of(made_up(even, cc=("cubic", "cubic")), tmp_path, "cubics")
    recording_of(made_up(even, cc=("cubic", "cubic"), **LINK | {"capacity_bps": 24e6}), tmp_path, "faster")

    def weigh(cubic):
        said = [{"protocol": "reno", "recording": "../renos"}, {"protocol": "cubic", "recording": cubic}]
        (mixed.path / "trace.yaml").write_text(yaml.safe_dump({"self_pairs": said}))
        return nru_weights(Recording(mixed.path, SETTINGS))

    assert weigh("../cubics") == pytest.approx([1 / 50, 1 / 50])
    with pytest.raises(InputError, match="self_pairs: cubic: its flows are reno; give a recording of cubic alone"):
        weigh("../renos")
    with pytest.raises(InputError, match=r"on a link of 2\.4e\+07 bit/s; the recording has a link of 1\.2e\+07"):
        weigh("../faster")
    with pytest.raises(InputError, match="no such file or folder"):
        weigh("../nothing")


def test_flows_of_unknown_protocols_are_no_self_pair(tmp_path):
    unknown = recording_of(made_up([[50.0] * 30, [50.0] * 30], cc=("unknown", "unknown")), tmp_path, "unknown")
    with pytest.raises(NotInTraceError, match="flows of unknown ones are no self-pair"):
        nru_weights(unknown)


def test_a_dollar_in_a_label_is_no_formula(tmp_path):
    recording = recording_of(made_up([[50] * 30, [50] * 30], cc=("$\\frac{", "a{b}")), tmp_path)
    assert recording.labels[1] == "flow 1 (\\$\\frac{)"
    assert EXHIBITS["goodput"].draw(recording).numbers is not None


def test_too_short_for_the_window(root):
    """J(t) alone is drawn, all of it as not counted; nothing else that counts is."""
    recording = recording_of(made_up([[4] * 4, [4, 4, 4, 2]]), root)
    drawn = EXHIBITS["jfi"].draw(recording)
    assert drawn.numbers.empty
    assert drawn.data["jfi"].tolist() == pytest.approx([1, 1, 1, 0.9])  # (4 + 2)^2 / (2 (16 + 4))
    open_raw("made_up", keep=True).show("nru")
    assert record_of(root, "made_up", "nru")["error"] == "all flows run for 4 s, of which the first 5 s do not count"


def test_failure_is_recorded_and_stands_in_the_place_of_what_was_drawn(root):
    recording_of(made_up([[4] * 20, [4] * 20]), root)
    open_raw("made_up", keep=True).show("jfi")
    drawn = record_of(root, "made_up", "jfi")["files"]
    (root / "made_up" / "samples.parquet").write_bytes(b"")
    open_raw("made_up", keep=True).show("jfi")
    record = record_of(root, "made_up", "jfi")
    assert record["status"] == "failed" and "samples.parquet: differs from the hash" in record["error"]
    assert len(drawn) == 3 and list(record["files"]) == list(drawn)
    assert not [file for file in drawn if record["files"][file] == drawn[file]]


def test_missing_trace_is_one_line(root, capsys):
    open_raw("data/raw/nothing_here", keep=True).show("goodput")
    line = "nothing_here, goodput  Failed: data/raw/nothing_here: no such file or folder\n"
    assert capsys.readouterr() == (line, "")


def test_only_chooses_exhibits(root):
    raw = open_raw(only=["trace", "c1_tbf.goodput"], keep=True)
    for name in ("trace", "goodput", "cwnd"):
        raw.show(name)
    drawn = {path.relative_to(root / "results/raw/exhibits").as_posix() for path in root.rglob("exhibits/*/*.json")}
    assert drawn == {"rr_wire/trace.json", "c1_tbf/trace.json", "c1_tbf/goodput.json"}
    files = list(record_of(root, "c1_tbf", "goodput")["files"])
    assert files == [f"figures/raw/c1_tbf/goodput.{suffix}" for suffix in ("csv", "svg", "png")]


def test_unknown_exhibit_and_source(root):
    with pytest.raises(InputError, match="exhibit 'fig08' is unknown; known are trace, goodput"):
        open_raw().show("fig08")
    with pytest.raises(InputError, match='source = "raw"'):
        open_raw(source="engine")


# --- Configuration -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("analysis.skip_s.value", -1, "greater than or equal to 0"),
        ("analysis.skip_s.range", None, "an assumed value needs `range:`"),
        ("analysis.min_polls.value", 3, ""),
        ("link.capacity_bps.value", 0, ""),
        ("beside.one_rtt.value", 0, ""),
        ("beside.pairs.protocols", [], ""),
        ("analysis.seen.value", 1.1, ""),
        ("analysis.error_batches.value", 1, ""),
        ("weights.rule.value", "median", ""),
        ("weights.self_pair", {}, "Extra inputs"),
    ],
)
def test_wrong_configuration_names_file_and_field(tmp_path, field, value, message):
    values = yaml.safe_load((REPOSITORY / "config" / "raw.yaml").read_text())
    *sections, name = field.split(".")
    reduce(getitem, sections, values)[name] = value
    file = tmp_path / "raw.yaml"
    file.write_text(yaml.safe_dump(values))
    with pytest.raises(InputError, match=rf"^{file}: {field.removesuffix('.range')}.*{message}"):
        load_raw(file)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v3_9_bidir_p2.json", "v3_9_bidir_p2.txt"])
def test_flows_of_both_directions_have_no_fairness_between_them(name):
    recording = Recording(REPOSITORY / "tests" / "samples" / "iperf3_recorded" / name, SETTINGS)
    assert len(recording.labels) == 4
    for draw in (drawings.jfi, drawings.nru, drawings.steadiness):
        with pytest.raises(NotInTraceError, match="both directions have no common bottleneck"):
            draw(recording)
