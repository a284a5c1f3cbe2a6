"""Removing what can be made again: what goes is said with its cost, and nobody is surprised."""

import pytest

from tcpfair.errors import InputError
from tcpfair.files import costs
from tcpfair.files.layout import Layout
from tcpfair.workflow import clean
from tcpfair.workflow.run import only_run
from tests.small_checkout import make_checkout

KEPT = ("figures/README.md", "data/bundled/ogura/self/manifest.json", ".venv/python")
REMOVED = ("figures/bundled/ogura/fig08.svg", "results/engine/report.html", ".snakemake/log")


@pytest.fixture
def root(tmp_path):
    make_checkout(tmp_path)
    for name in (*KEPT, *REMOVED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x" * 200_000)
    return tmp_path


def there(root):
    return [name for name in (*KEPT, *REMOVED) if (root / name).exists()]


def test_what_is_generated_goes_and_nothing_else(root, capsys):
    bench = costs.folder(Layout(root, "engine")) / "measure/ogura/pair.tsv"
    bench.parent.mkdir(parents=True)
    bench.write_text("s\tmax_rss\tcpu_time\n700\t100\t600\n")
    assert clean.main(root, yes=True) == 0
    assert there(root) == list(KEPT)
    shown = capsys.readouterr().out
    assert "removes    results/  0.2 MB, made in engine 10 min of one core" in shown
    assert clean.main(root) == 0
    assert "nothing to remove" in capsys.readouterr().out


@pytest.mark.parametrize(("answer", "status", "left"), [("n", 1, 6), ("", 1, 6), ("y", 0, 3), ("YES", 0, 3)])
def test_it_asks_and_takes_no_for_an_answer(root, monkeypatch, answer, status, left):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: answer)
    assert clean.main(root) == status
    assert len(there(root)) == left


def test_where_nobody_can_be_asked_nothing_goes(root):
    with pytest.raises(InputError, match="clean: no terminal to confirm on; add --yes"):
        clean.main(root)
    assert len(there(root)) == 6


def test_while_another_run_is_under_way_nothing_goes(root):
    with only_run(root), pytest.raises(InputError, match="another ./reproduce"):
        clean.main(root, yes=True)
    assert len(there(root)) == 6
