"""Shipped runs simulated again: a random share, the same one for a seed, compared row by row; and the way back from a figure."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.runs import store
from tcpfair.runs.origin import Origin, digest_of_keys
from tcpfair.workflow import again, whence
from tests.small_checkout import make_plan, put_exhibit, ship_both, spoil


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A checkout that ships the five runs of its one paper."""
    return ship_both(tmp_path_factory.mktemp("again")).root


@pytest.fixture
def layout(shipped, tmp_path, monkeypatch):
    """A copy of it."""
    root = shutil.copytree(shipped, tmp_path / "checkout")
    monkeypatch.setenv("TCPFAIR_ROOT", str(root))
    again._read.cache_clear()
    return Layout(root)


# --- a random share of what is shipped -------------------------------------------------------------------------------


def held(n):
    return [again.Held("p", "e", number, 1.0) for number in range(n)]


def test_a_seed_draws_the_same_runs_another_seed_others_and_all_are_as_likely():
    runs = held(1000)
    assert again.drawn(runs, 0.02, 7) == again.drawn(runs, 0.02, 7) != again.drawn(runs, 0.02, 8)
    counts = pd.Series([run.run_id for seed in range(500) for run in again.drawn(held(20), 0.1, seed)]).value_counts()
    assert counts.sum() == 500 * 2 and len(counts) == 20
    assert counts.between(25, 80).all()  # 50 each; one in a million falls outside


@pytest.mark.parametrize(("n", "share", "drawn"), [(1000, 0.02, 20), (1, 0.02, 1), (5, 0.5, 3), (7, 1, 7)])
def test_a_share_is_rounded_up(n, share, drawn):
    assert len(set(again.drawn(held(n), share, 1))) == drawn


def test_all_that_is_shipped_is_the_same(layout, capsys):
    assert again.check(layout, share=1, seed=3) == 0
    said = capsys.readouterr().out
    assert "again      5 of 5 shipped runs, of 2 experiments" in said and "--seed 3 chooses the same ones" in said
    assert "same       all 5, bit by bit" in said


def test_one_byte_that_differs_is_found_and_named(layout, capsys):
    spoil(layout.bundled("ogura", "pair"), run_id=2)
    assert again.check(layout, share=1, seed=3) == 1
    assert "differs    ogura/pair run 2\n" in capsys.readouterr().out


def test_only_saying_it_simulates_nothing(layout, monkeypatch, capsys):
    monkeypatch.setattr(again, "gives_shipped_rows", None)
    assert again.check(layout, share=0.5, only_say=True) == 0
    assert "again      3 of 5 shipped runs" in capsys.readouterr().out


def test_a_share_of_nothing_says_nothing(layout, capsys):
    assert again.check(layout, share=0) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("wrong", [{"share": -0.1}, {"share": 1.1}, {"share": float("nan")}, {"seed": -1}])
def test_a_share_or_a_seed_that_is_none_is_refused(wrong):
    with pytest.raises(InputError, match="--share|--seed"):
        again.refuse(**{"share": 0.5, "seed": None, **wrong})


# --- from a figure to its runs ---------------------------------------------------------------------------------------


def figure(layout, path, **changes):
    """A file that tells of the runs that the checkout ships."""
    made = store.Held(layout, make_plan(layout.root, source="bundled").papers["ogura"])
    experiments = ("pair", "self")
    runs = [run for name in experiments for run in made.runs(name)]
    told = {
        "exhibit": "ogura.fig8",
        "source": "bundled",
        "experiments": tuple(f"ogura/{name}" for name in experiments),
        "runs": len(runs),
        "scenarios": digest_of_keys(run.key for run in runs),
        "code": store.code_behind(runs),
    }
    path.write_text(f"<svg><desc>{Origin(**{**told, **changes}).text()}</desc></svg>")
    return path


def test_a_figure_leads_to_its_runs_and_one_of_them_is_simulated_to_the_same_bytes(layout, tmp_path, capsys):
    slide = figure(layout, tmp_path / "a slide's ü.svg")
    assert whence.main(layout.root, slide, once_more=True) == 0
    said = capsys.readouterr().out
    assert "exhibit    ogura.fig8: shares\n" in said
    assert "runs       ogura/pair: 4 runs, data/bundled/ogura/pair; config/papers/ogura.yaml: experiments.pair" in said
    assert "today      the same runs, made by the same code" in said
    assert "same       every row of it; SHA-256" in said


def test_an_exhibit_leads_to_its_figure_once_it_is_drawn(layout, capsys):
    with pytest.raises(
        InputError, match=r"ogura\.fig8: not drawn yet in this checkout; \./reproduce figure ogura\.fig8"
    ):
        whence.main(layout.root, Path("ogura.fig8"))
    with pytest.raises(InputError, match=r"ogura\.fig99"):
        whence.main(layout.root, Path("ogura.fig99"))
    drawn = layout.figures("ogura") / "fig08.svg"
    drawn.parent.mkdir(parents=True)
    figure(layout, drawn)
    assert whence.main(layout.root, Path("ogura.fig8")) == 0
    assert "runs       ogura/pair: 4 runs, data/bundled/ogura/pair" in capsys.readouterr().out


def test_a_run_may_be_chosen(layout, tmp_path, capsys):
    assert whence.main(layout.root, figure(layout, tmp_path / "s.svg"), run="pair/3") == 0
    assert "again      ogura/pair run 3 (key " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("pear/1", "did you mean 'pair'"),
        ("pair/4", "has runs 0 to 3"),
        ("pair/-1", "runs 0 to 3"),
        ("pair", "write it as EXPERIMENT/NUMBER, such as"),
    ],
)
def test_a_run_that_is_not_there_is_refused(layout, tmp_path, run, message):
    with pytest.raises(InputError, match=message):
        whence.main(layout.root, figure(layout, tmp_path / "s.svg"), run=run)


def test_what_was_drawn_from_other_runs_or_by_other_code_is_said_and_not_simulated(layout, tmp_path, capsys):
    slide = figure(layout, tmp_path / "s.svg", scenarios="0" * 16, code={"simulator": "0123456789abcdef"})
    assert whence.main(layout.root, slide) == 0
    said = capsys.readouterr().out
    assert "today      other runs: the configuration has changed since (5 runs now)" in said
    assert "other code of simulator; `git log -S0123456789abcdef --oneline -- data/bundled`" in said
    with pytest.raises(InputError, match="other runs"):
        whence.main(layout.root, slide, once_more=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"exhibit": "nobody.fig8"}, "does not have"),
        ({"exhibit": "ogura.fig99"}, "unknown"),
        ({"exhibit": "../../etc"}, "does not have"),
        ({"experiments": ("ogura/gone",)}, "does not have"),
    ],
)
def test_what_this_checkout_does_not_have_is_refused_in_one_line(layout, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        whence.main(layout.root, figure(layout, tmp_path / "s.svg", **changes))


def test_a_recording_has_no_run_of_a_paper(layout, tmp_path, capsys):
    path = tmp_path / "s.svg"
    path.write_text(Origin("rr_wire.jfi", "raw").text())
    assert whence.main(layout.root, path) == 0
    assert "drawn from a recording" in capsys.readouterr().out
    with pytest.raises(InputError, match="has no runs that could be simulated"):
        whence.main(layout.root, path, once_more=True)


def test_a_file_of_this_checkout_is_found_by_its_bytes_and_a_csv_by_its_figure(layout, capsys):
    text = figure(layout, layout.root / "t.svg").read_text()
    put_exhibit(layout, "ogura.fig8", files={".svg": text, ".csv": "a\n1\n"})
    assert whence.main(layout.root, layout.figures("ogura") / "fig08.csv") == 0
    said = capsys.readouterr().out
    assert "exhibit    ogura.fig8: shares" in said
    assert "here       figures/bundled/ogura/fig08.csv, byte-identical" in said
