"""The command line: one clear line for every mistake, and what ./reproduce answers before it makes an environment."""

import json
import subprocess
from pathlib import Path

import pytest

from tcpfair.workflow.cli import main, parser
from tests.small_checkout import edit, make_checkout

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("TCPFAIR_ROOT", str(tmp_path))
    return make_checkout(tmp_path)


def complaint(capsys, arguments):
    """The one line on stderr of a command that fails with status 1."""
    assert main(arguments) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize(
    ("pair", "field", "right"),
    [
        ("source=nosuch", "source", "'bundled', 'engine'"),
        ("source=ns3", "source", "bundled, engine, raw"),
        ("sorce=engine", "sorce", "source, papers"),
        ("papers=ogura,nosuch", "papers.1", "'bhatti2008'"),
        ("only=ogura.fig99", "ogura.fig99", "ogura.fig8"),
        ("shards=0", "shards", "greater than or equal to 1"),
        ("smoke=perhaps", "smoke", "boolean"),
        ("trace=data/raw/mine", "trace", "source=raw"),
        ("engine", "engine", "NAME=VALUE"),
    ],
)
@pytest.mark.parametrize("command", ["check-config", "build"])
def test_a_wrong_value_gets_one_line_with_the_field_and_what_is_right(root, capsys, command, pair, field, right):
    line = complaint(capsys, [command, "--config", pair])
    assert field in line
    assert right in line


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("config/config.yaml", "source: engine", "source: [", "config.yaml: line 2 not valid YAML"),
        ("config/config.yaml", "source: engine", "surce: engine", "config.yaml: surce: unknown; known are source"),
        ("config/config.yaml", "source: engine", "engine", "must be a mapping"),
        ("config/papers/ogura.yaml", "what: two protocols", "wat: two", "ogura.yaml: experiments.pair"),
        ("config/papers/ogura.yaml", "experiment: self", "experiment: selv", "unknown experiment 'selv'"),
    ],
)
def test_a_wrong_file_gets_one_line_with_its_name(root, capsys, file, old, new, expected):
    edit(root / file, old, new)
    assert expected in complaint(capsys, ["check-config"])


def test_a_missing_file_gets_one_line_with_its_name(root, capsys):
    (root / "config/papers/kozu2014.yaml").unlink()
    assert "config/papers/kozu2014.yaml: no such file" in complaint(capsys, ["check-config"])
    assert "nosuch.yaml: no such file" in complaint(capsys, ["build", "--configfile", "config/nosuch.yaml"])


def test_an_unknown_exhibit_or_experiment_gets_one_line(root, capsys):
    assert "known are ogura.fig8" in complaint(capsys, ["figure", "ogura.fig9"])
    assert "known are ogura/self" in complaint(capsys, ["bundle", "nosuch"])


def test_a_dry_run_lists_what_is_to_do_and_does_nothing(root, capsys):
    before = sorted(root.rglob("*"))
    assert main(["build", "--dry-run"]) == 0
    shown = capsys.readouterr().out.split("\n")
    assert "simulate  ogura/pair" in shown
    assert sorted(root.rglob("*")) == before


def test_clean_removes_what_is_generated_and_nothing_else(root):
    kept = [root / name for name in ("figures/gallery/a.svg", "data/bundled/ogura/self/manifest.json", ".venv/python")]
    removed = [root / name for name in ("figures/bundled/ogura/fig08.svg", "results/costs.csv", ".snakemake/log")]
    for path in kept + removed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert main(["clean"]) == 0
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in removed)


def test_every_failed_exhibit_is_named_at_the_end(root, capsys):
    for name in ("fig08", "fig09"):
        path = root / f"results/engine/exhibits/ogura/{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"exhibit": f"ogura.{name}", "status": "failed", "files": [], "error": "torn"}))
    line = complaint(capsys, ["check", "--source", "engine", "--output", str(root / "results/engine/checked.txt")])
    assert "ogura.fig08, ogura.fig09: torn" in line


def test_the_rules_use_commands_and_options_that_exist():
    """Each `python -m tcpfair ...` of the rules parses, with wildcards and parameters as stand-ins."""
    stand_in = {"{wildcards.source}": "engine", "{wildcards.scatteritem}": "1-of-2", "{params.source}": "engine"}
    stand_in["{params.smoke_s}"] = "4"
    count = 0
    for rules in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for text in rules.read_text().replace('"\n        "', "").splitlines():
            if "python -m tcpfair" in text:
                words = text.split('"')[1].split(" 2>&1")[0].split()[3:]
                given = [stand_in.get(word, word) for word in words]
                assert callable(parser().parse_args(given).run)
                count += 1
    assert count == 9


# --- ./reproduce before it makes an environment ----------------------------------------------------------------------


def reproduce(*arguments):
    return subprocess.run([ROOT / "reproduce", *arguments], capture_output=True, text=True, timeout=20, check=False)


def test_help_fits_a_screen_and_names_every_command():
    done = reproduce("--help")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) <= 24
    for command in ("figure", "lab", "test", "bench", "verify", "bundle", "accept", "clean", "validate", "import"):
        assert command in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 120


@pytest.mark.parametrize("command", ["nosuch", "import"])
def test_what_is_not_there_gets_one_line_and_status_2(command):
    done = reproduce(command)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert command in done.stderr


def test_an_old_python_gets_one_line(tmp_path):
    """In a copy of the checkout without an environment, with a python that says it is old."""
    for name in ("reproduce", "envs/requirements.txt", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.2 && exit\nexit 1\n')
    old.chmod(0o755)
    done = subprocess.run(
        ["sh", "reproduce"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHON": str(old)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: Python 3.9.2 is too old; 3.11 or later is needed")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / ".venv").exists()
