"""A study of one's own: the same bytes however it was interrupted, nothing simulated twice, one line for what cannot be."""

import errno
import json
import os
from contextlib import nullcontext

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from tcpfair.errors import InputError, ShortageError
from tcpfair.files import costs
from tcpfair.files.layout import Layout
from tcpfair.runs import trace
from tcpfair.workflow import cli, executor
from tcpfair.workflow import study as studies
from tests.exhibits import standin
from tests.runs.test_study import values
from tests.small_checkout import make_checkout
from tests.workflow.in_process import InProcess, counting


@pytest.fixture
def layout(tmp_path, monkeypatch):
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    monkeypatch.setattr(executor, "_LEAST_S", 0.02)  # a few short runs are more than one slice, and more than one job
    return Layout(make_checkout(tmp_path), "engine")


def opened(layout, given=None, **changes):
    path = layout.root / "rtt.yaml"
    path.write_text(yaml.safe_dump(given or values(**changes)))
    return studies.opened(path)


def run(layout, study, kill_at=None, cores=2, draws=False, **how):
    """Run a study; its figure, which depends on the table only, is saved where a test reads it."""
    with counting(studies, "simulate", kill_at) as jobs:
        if not draws:
            standin.draws_no_marks(jobs.patch)
        with nullcontext() if kill_at is None else pytest.raises(KeyboardInterrupt):
            studies.run(layout, study, executor.How(cores, **how))
    return jobs, jobs.said


def n_left(layout, study):
    """The runs that a study has still to simulate."""
    return sum(item.n_runs for item in studies.plan(layout, study).items)


def files(layout, study):
    """Name and content of what a study leaves for good."""
    folder = layout.study(study.name)
    places = [*folder.glob("metrics.parquet"), *folder.glob("summary.*"), *(folder / "traces").rglob("*.*")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in places}


def made_anew(layout, study):
    """What a study leaves that is run without an earlier one."""
    layout.study("rtt").rename(layout.study("other"))
    run(layout, study)
    return files(layout, study)


def test_every_run_is_a_row_with_its_axes_and_its_metrics(layout):
    study = opened(layout)
    jobs, said = run(layout, study, draws=True)
    assert (layout.study("rtt") / "summary.png").read_bytes().startswith(b"\x89PNG")
    table = pd.read_parquet(studies.metrics_file(layout, study))
    assert jobs.simulated == len(table) == 12 and len(jobs.jobs) > 1
    assert list(table["run"]) == list(range(12))
    assert list(table["rtt_ms"][:6]) == [20, 20, 40, 40, 80, 80] and set(table["protocol"]) == {"reno", "cubic"}
    assert list(table["key"]) == [study.spec(run).key for run in range(12)]
    assert table["throughput_sum"].between(0.5, 1).all() and table["jfi_mean"].between(0.5, 1).all()
    assert (table["throughput_mean_flow1"] + table["throughput_mean_flow2"]).to_numpy() == pytest.approx(
        table["throughput_sum"].to_numpy()
    )
    metadata = pq.read_schema(studies.metrics_file(layout, study)).metadata
    assert json.loads(metadata[b"study"])["what"] == "a test"
    summary = pd.read_csv(layout.study("rtt") / "summary.csv")
    assert list(summary["line"].unique()) == ["reno", "cubic"] and set(summary["x_axis"]) == {"rtt_ms"}
    expected = table[(table["protocol"] == "cubic") & (table["rtt_ms"] == 80)]["jfi_mean"].median()
    assert summary[(summary["line"] == "cubic") & (summary["x"] == 80)]["median"].item() == pytest.approx(expected)
    assert any(line.startswith("written    results/engine/studies/rtt/metrics.parquet  12 runs") for line in said)
    again, said = run(layout, study)
    assert again.simulated == 0 and said[1] == "study      all runs are finished"


@pytest.mark.parametrize(
    "keep_traces", [pytest.param(False, marks=pytest.mark.slow, id="metrics"), pytest.param(True, id="traces")]
)
def test_a_study_that_is_killed_at_any_run_ends_with_the_same_bytes(layout, keep_traces):
    study = opened(layout, keep_traces=keep_traces)
    slice_runs = max(end - first for first, end in studies.plan(layout, study).slices)
    run(layout, study)
    whole, folder = files(layout, study), layout.study(study.name)
    assert any(name.startswith("traces/") for name in whole) == keep_traces
    for kill_at in (0, 5, 11):
        folder.rename(folder.with_name(f"before_{kill_at}"))
        run(layout, study, kill_at)
        before = n_left(layout, study)
        resumed, _ = run(layout, study)
        assert before == resumed.simulated < 12 - kill_at + slice_runs, "runs of finished slices were simulated again"
        assert files(layout, study) == whole
        assert {path.name for path in folder.iterdir()} - {"traces", "campaign.json"} == {
            *(name for name in whole if "/" not in name)
        }


def test_what_is_left_after_the_table_was_written_does_not_disturb(layout, monkeypatch):
    study = opened(layout, keep_traces=True)
    with monkeypatch.context() as patch:
        patch.setattr(studies, "_tidy", lambda *given: None)
        run(layout, study)
    before = files(layout, study)
    assert run(layout, study)[0].simulated == 0
    assert files(layout, study) == before
    other = opened(layout, keep_traces=True, seed=1)
    assert run(layout, other)[0].simulated == 12
    whole = files(layout, other)
    assert made_anew(layout, other) == whole


def test_traces_are_those_of_the_runs(layout):
    study = opened(layout, keep_traces=True)
    run(layout, study)
    held = [trace.read(folder) for folder in sorted((layout.study("rtt") / "traces").iterdir())]
    assert len(held) > 1 and [run for each in held for run in each.runs["run_id"]] == list(range(12))
    keys = {run: key for each in held for run, key in zip(each.runs["run_id"], each.provenance["runs"], strict=True)}
    assert keys == {run: study.spec(run).key for run in range(12)}


def test_a_damaged_shard_is_removed_in_one_line_and_costs_its_runs(layout):
    study = opened(layout)
    run(layout, study)
    whole = files(layout, study)
    (layout.study("rtt") / "metrics.parquet").unlink()
    run(layout, study, 8)
    shard = min((layout.study("rtt") / "shards").iterdir())
    shard.write_bytes(shard.read_bytes()[:-3])
    with pytest.raises(InputError, match="was damaged and is removed; run the same command again"):
        run(layout, study)
    run(layout, study)
    assert files(layout, study) == whole


def test_more_points_simulate_only_what_is_new_and_another_measure_everything(layout):
    run(layout, opened(layout))
    longer = opened(layout, grid={"protocol": ["libra", "reno", "cubic"], "rtt_ms": [20, 40, 80]})
    assert n_left(layout, longer) == 6
    jobs, _ = run(layout, longer)
    assert jobs.simulated == 6
    found = files(layout, longer)["metrics.parquet"]
    assert made_anew(layout, longer)["metrics.parquet"] == found
    other = opened(layout, grid=longer.file.grid, measures=["throughput"])
    assert run(layout, other)[0].simulated == 18


def test_an_edit_while_it_was_interrupted_keeps_what_holds(layout):
    run(layout, opened(layout), 7)
    shorter = opened(layout, grid={"protocol": ["reno"], "rtt_ms": [20, 40, 80]})
    jobs, _ = run(layout, shorter)
    assert 0 < jobs.simulated < 6
    found = files(layout, shorter)
    assert len(pd.read_parquet(studies.metrics_file(layout, shorter))) == 6
    assert made_anew(layout, shorter) == found


def test_an_edit_of_the_file_during_the_run_changes_nothing(layout, monkeypatch):
    study = opened(layout)
    run(layout, study)
    whole = files(layout, study)
    start = executor._start

    def edited(*given):
        opened(layout, seed=3)
        start(*given)

    monkeypatch.setattr(executor, "_start", edited)
    assert made_anew(layout, study) == whole


def test_runs_that_cannot_be_are_rows_with_the_reason(layout):
    given = values()
    given["base"]["settings"]["payload_bytes"] = "=payload_bytes"
    given["grid"] = {"protocol": ["reno"], "rtt_ms": [20]}
    given["latin_hypercube"] = {"points": 8, "axes": {"payload_bytes": {"range": [1000, 2000]}}}
    study = opened(layout, given)
    _, said = run(layout, study)
    table = pd.read_parquet(studies.metrics_file(layout, study))
    refused = table["refused"] != ""
    assert (refused == (table["payload_bytes"] > 1500)).all() and 0 < refused.sum() < len(table)
    assert table.loc[refused, "jfi_mean"].isna().all() and table.loc[~refused, "jfi_mean"].notna().all()
    assert any("payload_bytes must not exceed wire_bytes" in line for line in said)


def test_an_invalid_parameter_is_refused_at_once_and_on_an_axis_only_its_runs(layout):
    cubic = {"cc": "cubic", "params": {"C": 0}}
    with pytest.raises(InputError, match=r"rtt\.yaml: protocols\.own: cc cubic: C: must be finite, from 1e-06 to inf"):
        opened(layout, protocols={"own": cubic})
    grid = {"protocol": ["own"], "rtt_ms": [20], "c": [0.4, 0]}
    study = opened(layout, protocols={"own": cubic | {"params": {"C": "=c"}}}, grid=grid, replicates=1)
    run(layout, study)
    assert list(pd.read_parquet(studies.metrics_file(layout, study))["refused"] != "") == [False, True]


def test_a_measure_that_the_runs_cannot_have_is_refused_before_they_start(layout):
    given = values(measures=["ratio"])
    given["base"]["flows"] = given["base"]["flows"][:1]
    with pytest.raises(InputError, match=r"rtt.yaml: measures: ratio: compares two flows or more"):
        run(layout, opened(layout, given))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"window_s": [25, 30]}, r"rtt.yaml: no sample of \S+ s ends within the measured part of \S+ s"),
        ({"grid": {"protocol": ["reno"], "jfi_mean": [20, 40]}}, "axis 'jfi_mean': is the name of a metric; rename it"),
    ],
)
def test_what_no_table_could_show_is_refused_before_the_runs(layout, change, expected):
    given = values(**change)
    if "grid" in change:
        given = yaml.safe_load(yaml.safe_dump(given).replace("=rtt_ms", "=jfi_mean"))
    with pytest.raises(InputError, match=expected):
        run(layout, opened(layout, given))


def test_what_fails_is_said_and_the_rest_is_kept(layout, monkeypatch):
    study = opened(layout)
    row = studies.of_run.row

    def fails(made, *given):
        if made.runs["run_id"].iloc[0] == 5:
            raise InputError("no such measure")
        return row(made, *given)

    monkeypatch.setattr(studies.of_run, "row", fails)
    with pytest.raises(InputError, match=r"of 12 runs are missing: rtt/shards/\d+_\d+: no such measure; run it again"):
        run(layout, study)
    assert n_left(layout, study) <= 3
    InProcess(monkeypatch).broken.add("study")
    with pytest.raises(InputError, match=r"see results/engine/logs/study/rtt/"):
        studies.run(layout, study, executor.How(2))


def test_a_slice_takes_half_a_minute_and_depends_on_the_study_alone(layout):
    given = values(replicates=1000)
    given["base"]["settings"] |= {"duration_s": 1000, "capacity_bps": "=capacity_bps"}
    given["grid"]["capacity_bps"] = [1e6, 1e8]
    work = studies.plan(layout, opened(layout, given))
    assert [first for first, _ in work.slices[1:]] == [end for _, end in work.slices[:-1]]
    assert (work.slices[0][0], work.slices[-1][1]) == (0, 12_000)
    planned_s = (item.expected_s - item.n_runs * studies._RUN_S for item in work.items)
    long_s = [each_s * costs.PLANNED_PKTS_PER_S / studies._SLICED_PKTS_PER_S for each_s in planned_s]
    assert max(long_s) < 40 and sum(long_s) > 1000
    assert studies.plan(layout, opened(layout, given)) == work


def test_the_plan_says_what_it_takes_and_writes_nothing(layout, capsys):
    opened(layout)
    assert cli.main(["study", str(layout.root / "rtt.yaml"), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "rtt: 6 points of protocol, rtt_ms, 2 runs each" in said and "12 runs to simulate" in said
    assert not layout.study("rtt").exists()


@pytest.mark.parametrize("words", ["$x$", "a_b", "\\frac", "<script>alert(1)</script>", "ü"])
def test_words_of_strangers_are_words_in_the_figure(layout, words):
    given = values(protocols={words: {"cc": "reno"}})
    given["grid"]["protocol"] = [words, "reno"]
    given["replicates"] = 1
    study = opened(layout, given)
    run(layout, study, draws=True)
    svg = (layout.study("rtt") / "summary.svg").read_text()
    assert "<script>alert" not in svg
    assert words in set(pd.read_parquet(studies.metrics_file(layout, study))["protocol"])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_place_that_cannot_be_written_is_one_line_and_nothing_is_trusted(layout, monkeypatch, capsys, number):
    study = opened(layout)

    def full(*_, **__):
        raise OSError(number, "as the system says it")

    with monkeypatch.context() as patch:
        write = studies.shards.write
        patch.setattr(
            studies.shards, "write", lambda path, *given: (full if path.stem == "metrics" else write)(path, *given)
        )
        InProcess(patch)
        assert cli.main(["study", str(layout.root / "rtt.yaml"), "--cores", "2"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and os.strerror(number) in said and said.count("\n") == 1
    assert not files(layout, study) and not studies.is_up_to_date(layout, study)
    again, _ = run(layout, study)
    assert again.simulated == 0 and len(pd.read_parquet(studies.metrics_file(layout, study))) == 12


def test_a_shortage_of_memory_is_no_result(layout, monkeypatch):
    study = opened(layout)
    simulate, n = studies.simulate, 0

    def short_of_memory(scenario, seed):
        nonlocal n
        n += 1
        if n == 2:
            raise ShortageError("scenario: 3 packets need 1 GB, and this machine has 0.1 GB of memory left")
        if n == 5:
            raise MemoryError
        return simulate(scenario, seed)

    monkeypatch.setattr(studies, "simulate", short_of_memory)
    InProcess(monkeypatch)
    with pytest.raises(InputError, match="of 12 runs are missing: .*memory"):
        studies.run(layout, study, executor.How(2))
    monkeypatch.setattr(studies, "simulate", simulate)
    run(layout, study)
    table = pq.read_table(studies.metrics_file(layout, study)).to_pandas()
    assert (table["refused"] == "").all()


def test_a_study_in_which_every_run_is_refused_says_so(layout, monkeypatch):
    def refuse(scenario, seed):
        raise InputError("flow Reno: recovery: stack ns2 has sack only")

    InProcess(monkeypatch)
    monkeypatch.setattr(studies, "simulate", refuse)
    study, said = opened(layout), []
    monkeypatch.setattr(executor, "say", said.append)
    studies.run(layout, study, executor.How(2))
    assert next(line for line in said if line.startswith("refused")).endswith("stack ns2 has sack only")
    assert "the values of every point are invalid" in said[-2]


@pytest.mark.parametrize("capacity_bps", [1e300, 1e308])
def test_a_capacity_beyond_every_machine_is_one_line(layout, capacity_bps, capsys):
    given = values()
    given["base"]["settings"]["capacity_bps"] = capacity_bps
    study = opened(layout, given)
    assert all(len(line) < 200 for line in studies.plan(layout, study).lines)
    with pytest.raises(InputError, match="packets in flight|the limit is"):
        run(layout, study)
