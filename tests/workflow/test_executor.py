"""The executor: what is missing is cut into jobs of about the same length, and one line says what failed."""

import json
import re

import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.workflow import ensemble, executor, run, state
from tcpfair.workflow.executor import Campaign, Item, Made, cut, side_by_side
from tests.workflow.in_process import InProcess


@pytest.fixture
def layout(tmp_path, monkeypatch):
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").touch()
    (tmp_path / "Snakefile").touch()
    return Layout(tmp_path, "engine")


@pytest.fixture
def made(layout, monkeypatch):
    """Items by name that were made, in place of an ensemble's; those whose name has an ``x`` fail."""
    found = []

    def maker(layout, asked):
        def make(name):
            found.append(name)
            if "x" in name:
                raise InputError(f"no {asked}")
            path = layout.ensemble_shards / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            return Made(10, 0.5)

        return make

    monkeypatch.setattr(ensemble, "maker", maker)
    InProcess(monkeypatch)
    return found


def campaign(layout, names, expected_s=1.0):
    store = layout.ensemble_shards
    return Campaign("ensemble", store, store, [Item(name, expected_s, 2) for name in names], "luck")


def go(layout, names, expected_s=1.0, yes=False):
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "say", said.append)
        executor.run(layout, campaign(layout, names, expected_s), executor.How(2, yes=yes))
    return said


def test_what_is_missing_is_made_and_what_is_there_is_not(layout, made):
    assert go(layout, ["a/1-d", "a/2-d"]) == ["ensemble   about 2 s on 1 core, in 1 job"]
    assert go(layout, ["a/1-d", "a/3-d", "a/2-d"]) == ["ensemble   about 1 s on 1 core, in 1 job"]
    assert made == ["a/1-d", "a/2-d", "a/3-d"]
    assert go(layout, ["a/1-d"]) == []
    (took,) = (json.loads(path.read_text()) for path in (layout.results / "benchmarks/ensemble/a").rglob("*.json"))
    assert (took["runs"], took["simulated_pkts"], took["engine_s"]) == (2, 10, 0.5)


def test_a_long_campaign_requires_yes_and_nothing_begins_before(layout, made):
    with pytest.raises(InputError, match="this takes about 2.8 h on 2 cores; add --yes to start it"):
        go(layout, [f"a/{i}-d" for i in range(20)], 1000)
    assert made == [] and not layout.ensemble_shards.exists()
    assert go(layout, [f"a/{i}-d" for i in range(20)], 1000, yes=True)[0].endswith("on 2 cores, in 20 jobs")


@pytest.mark.parametrize("last", ["a/9-d", "a/x9-d"])
def test_items_that_fail_are_named_and_the_others_of_their_job_are_made(layout, made, last):
    names = ["a/x1-d", "a/2-d", "a/x3-d", "a/4-d", last]
    failed = [name.removesuffix("-d") for name in names if "x" in name]
    with pytest.raises(InputError) as told:
        go(layout, names)
    assert str(told.value) == (
        f"{2 * len(failed)} of 10 runs are missing: {', '.join(failed)}: no luck; run it again to continue"
    )
    assert made == names
    assert [item.name for item in campaign(layout, names).todo] == [name for name in names if "x" in name]


def test_many_failures_are_one_short_line(layout, made):
    with pytest.raises(InputError, match=r"a/x\d+ and 95 more: no luck; run it again") as told:
        go(layout, [f"a/x{i}-d" for i in range(100)])
    assert len(str(told.value)) < 200


def test_a_workflow_that_made_nothing_leads_to_the_logs(layout, monkeypatch):
    InProcess(monkeypatch).broken.add("ensemble")
    with pytest.raises(InputError, match="2 of 2 runs are missing: a/1: see results/engine/logs/ensemble/a/1-d.log"):
        go(layout, ["a/1-d"])


def test_what_an_earlier_start_said_is_not_repeated(layout, made, monkeypatch):
    with pytest.raises(InputError, match="no luck"):
        go(layout, ["a/x1-d"])
    InProcess(monkeypatch).broken.add("ensemble")
    with pytest.raises(InputError, match="see results/engine/logs"):
        go(layout, ["a/x1-d"])


def test_scratch_of_a_killed_job_is_removed_and_that_of_another_group_is_not(layout, made):
    own, other = (layout.ensemble_shards / group / ".half.new.parquet" for group in "ab")
    for path in (own, other):
        path.parent.mkdir(parents=True)
        path.touch()
    go(layout, ["a/1-d"])
    assert other.exists() and not own.exists()


def test_jobs_are_about_as_long_as_each_other_and_of_one_group(tmp_path):
    def of(items):
        return Campaign("ensemble", tmp_path, tmp_path, items)

    items = [Item(f"{group}/{i}-d", s, 1) for group, s in (("a", 30.0), ("b", 3.0)) for i in range(100)]
    jobs = cut(of(items))
    assert sorted(item for own in jobs for item in own) == sorted(items)
    assert all(len({item.group for item in own}) == 1 for own in jobs)
    long_s = {group: {sum(item.expected_s for item in own) for own in jobs if own[0].group == group} for group in "ab"}
    assert all(200 <= s <= 280 for s in long_s["a"])
    assert all(s == 39 or s == 36 for s in long_s["b"]) and len([own for own in jobs if own[0].group == "b"]) == 8
    short = [Item("a/1-d", 0.01, 1), Item("a/2-d", 0.01, 1)]
    assert cut(of(short)) == [short]
    assert len(cut(of([Item(f"a/{i}", 1e6, 1) for i in range(2000)]))) == Campaign.most_jobs


def test_the_state_knows_groups_and_jobs(layout, made, monkeypatch):
    seen = []
    monkeypatch.setattr(run, "snakemake", lambda root, arguments, state, *_: seen.append(state))
    with pytest.raises(InputError):
        go(layout, ["a/1-d", "a/2-d", "b/1-d"], 10.0)
    (state,) = seen
    state.takes("progress a 1-of-2 1 2")
    assert state.text() == "a 1 of 4 runs; about 12 s of simulation left"


@pytest.mark.parametrize("cores", [1, 2])
def test_tasks_side_by_side_give_each_its_result(cores):
    assert dict(side_by_side(divmod, [(7, 2), (9, 4)], cores)) == {(7, 2): (3, 1), (9, 4): (2, 1)}


def test_tasks_side_by_side_show_their_progress(monkeypatch, capsys):
    monkeypatch.setattr(state, "_EVERY_S", 0)
    monkeypatch.setattr(executor.time, "monotonic", iter(range(0, 1000, 30)).__next__)
    found = executor.watched([((1,), 3), ((2,), 5)], "short", 8, lambda task, result: result)
    assert list(found) == [((1,), 3), ((2,), 5)]
    assert re.match(r"short 3 of 8 runs; about \d+ (s|min) of simulation left\n", capsys.readouterr().out)
