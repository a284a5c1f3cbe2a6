"""The command line: one clear line for every mistake, and what ./reproduce answers before it makes an environment."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tcpfair.errors import InputError
from tcpfair.workflow import cli, run
from tcpfair.workflow.cli import main, parser
from tcpfair.workflow.state import State
from tests.commands import succeed
from tests.small_checkout import edit

ROOT = Path(__file__).resolve().parents[2]


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
        ("source=ns3", "source", "'bundled', 'engine' or 'raw'"),
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
        (
            "config/config.yaml",
            "source: engine",
            "surce: engine",
            "config.yaml: key 'surce' is unknown; did you mean 'source'? known are source",
        ),
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


def test_a_missing_shipped_table_gets_one_line_and_no_other_missing_file_hides_its_traceback(root, monkeypatch, capsys):
    opened = root / "data/scatter.csv"
    monkeypatch.setattr(cli, "_plan", lambda given: opened.read_bytes())
    said = complaint(capsys, ["check-config"])
    assert said == "error: data/scatter.csv: missing; it is part of the repository: git checkout -- data/scatter.csv"
    opened = root / "scatter.csv"
    with pytest.raises(FileNotFoundError):
        main(["check-config"])


def test_a_complaint_is_written_in_one_piece(root, monkeypatch):
    """Between a line and its end another program, such as `tee`, would write into the same pipe."""
    written = []
    monkeypatch.setattr(sys, "stderr", type("Pipe", (), {"write": lambda self, text: written.append(text)})())
    assert main(["build", "--config", "papers=none"]) == 1
    assert [text[:7] + text[-1:] for text in written] == ["error: \n"]


@pytest.mark.parametrize("command", [["build"], ["figure", "ogura.fig8"]])
def test_bits_are_compared_before_a_build_whose_plan_follows_from_that(root, monkeypatch, capsys, command):
    def again(given):
        raise InputError("the plan is made again")

    def compare(plan, cores):
        monkeypatch.setattr(cli, "_plan", again)
        return True

    monkeypatch.setattr(run, "gives_shipped_bits", compare)
    assert complaint(capsys, command) == "error: the plan is made again"


@pytest.mark.parametrize("exhibit", ["ogura.fig8,ogura.table1", "", "[ogura.fig8", "*"])
def test_a_figure_is_one_exhibit(root, capsys, exhibit):
    expected = f"error: figure: {exhibit!r} is not one exhibit; name it as PAPER.EXHIBIT, such as ogura.fig4"
    assert complaint(capsys, ["figure", exhibit]) == expected


def test_a_dry_run_lists_what_is_to_do_and_does_nothing(root, capsys):
    before = sorted(root.rglob("*"))
    assert main(["build", "--dry-run"]) == 0
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.split("\n")]
    assert "simulate ogura/pair 4 of 4 runs, 1 s of one core missing" in shown
    assert "measure ogura/pair missing" in shown
    assert sorted(root.rglob("*")) == before


# --- The rules ------------------------------------------------------------------------------------------------------

RULES = {path.name: path.read_text() for path in (ROOT / "Snakefile", *sorted((ROOT / "workflow").glob("*.smk")))}


def shells():
    """(file, text of a shell command) of each rule."""
    for name, text in RULES.items():
        for found in re.findall(r'shell:\s+((?:"[^\n]*"\s*)+)', text):
            yield name, re.sub(r'"\s+"', "", found.strip())


def test_the_rules_use_commands_and_options_that_exist():
    """Each command parses, with wildcards and parameters as stand-ins."""
    stand_in = {
        "{params.source}": ["engine"],
        "{params.papers}": ["ogura", "ha2006"],
        "{params.paper}": ["ogura"],
        "--trace={params.trace:q}": ["--trace=data/raw/x"],
    }
    found = [text for _, text in shells()]
    for text in found:
        words = text.strip('"').partition(" 2>&1")[0].split()
        assert words[:3] == ["python", "-m", "tcpfair"]
        outputs = [re.sub(r"\{output[.\w]*:q\}", "made.json", each) for each in words[3:]]
        given = [word for each in outputs for word in stand_in.get(each, [each])]
        assert callable(parser().parse_args(given).run)
    assert len(found) >= 8


def test_every_value_that_reaches_a_shell_is_quoted_or_one_of_a_few_words():
    """Names of papers, sources and numbers are checked before; all else, paths among them, is quoted."""
    checked = {"params.source", "params.paper", "params.papers"}
    for file, text in shells():
        for name in re.findall(r"\{([^}]*)\}", text):
            assert name.endswith(":q") or name in checked, f"{file}: {name}"


def test_a_step_replaces_the_folder_of_its_output_and_no_other(root, capsys):
    kept = root / "results/bundled/work/ledger-3f2a91"
    kept.mkdir(parents=True)
    with pytest.raises(SystemExit) as ended:
        main(["ledger", "--source", "bundled", "--output", str(kept)])
    assert ended.value.code == 2
    assert "must be an output's made.json" in capsys.readouterr().err
    assert kept.is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two #2", "{paper}", "it's $HOME", "a; touch PWNED"])
def test_a_recording_of_any_name_is_the_one_that_is_opened(tmp_path, name):
    """The whole way through Snakemake and its shell, in a copy of the checkout."""
    shutil.copytree(
        ROOT, tmp_path / "checkout", ignore=shutil.ignore_patterns(".git", ".venv*", "results", "bundled", ".snakemake")
    )
    root = tmp_path / "checkout"
    shutil.copytree(root / "data/raw/examples/rr_wire", root / "data/raw" / name)
    arguments = ["build", "--config", "source=raw", f"trace=data/raw/{name}", "only=[trace]"]
    succeed(sys.executable, "-m", "tcpfair", *arguments, cwd=root, TCPFAIR_ROOT=str(root), MPLBACKEND="Agg")
    assert len(list((root / "results/raw").glob("*/exhibits/*/*.json"))) == 1
    assert not list(root.rglob("PWNED"))


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


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["study", "own.yaml", "--dry-run"], "file"),
        (["digest", "own.yaml"], "file"),
        (["import", "own.yaml"], "paths"),
        (["build", "--configfile", "own.yaml"], "configfile"),
        (["whence", "own.yaml"], "file"),
        (["testbed", "own.yaml"], "file"),
    ],
)
def test_a_relative_path_is_from_the_folder_where_reproduce_was_called(tmp_path, monkeypatch, arguments, field):
    asked_from, checkout = tmp_path / "asked from", tmp_path / "checkout"
    asked_from.mkdir()
    checkout.mkdir()
    (asked_from / "own.yaml").touch()
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("TCPFAIR_ASKED_FROM", str(asked_from))

    def found():
        given = getattr(parser().parse_args(arguments), field)
        return given[0] if isinstance(given, list) else given

    assert Path(found()).samefile(asked_from / "own.yaml")
    (asked_from / "own.yaml").unlink()
    assert str(found()) == "own.yaml"  # from the checkout, as README writes config/studies/tiny.yaml


def test_the_default_configuration_is_the_checkouts(tmp_path, monkeypatch):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").touch()
    monkeypatch.setenv("TCPFAIR_ASKED_FROM", str(tmp_path))
    assert parser().parse_args(["build"]).configfile == "config/config.yaml"


def test_the_cpu_time_of_a_step_stands_beside_its_benchmark():
    kept = re.findall(r"benchmarks/([^\"]+)\.tsv", "".join(RULES.values()))
    patterns = {re.sub(r"\{[^}]*\}", "*", name) for name in cli._BENCHMARKS.values()}
    assert {re.sub(r"\{[^}]*\}", "*", name) for name in kept} - {"*/*"} == patterns


@pytest.mark.parametrize(
    ("arguments", "program", "meant"),
    [
        (["build", "--dryrun"], "./reproduce", "did you mean '--dry-run'?"),
        (["study", "own.yaml", "--yess"], "./reproduce study", "did you mean '--yes'?"),
        (["bench", "more"], "./reproduce bench", "argument 'more' is unknown; known are --help, --scale, --json"),
    ],
)
def test_an_unknown_argument_names_the_one_that_was_probably_meant(monkeypatch, capsys, arguments, program, meant):
    monkeypatch.setenv("TCPFAIR_ASKED_FROM", ".")
    with pytest.raises(SystemExit) as refused:
        main(arguments)
    said = capsys.readouterr().err
    assert refused.value.code == 2
    assert said.startswith(f"usage: {program} [-h]") and meant in said


@pytest.mark.parametrize(("typed", "meant"), [("figur", "figure"), ("stuy", "study"), ("lab_", "lab"), ("nosuch", "")])
def test_an_unknown_command_names_the_one_that_was_probably_meant(typed, meant):
    done = reproduce(typed)
    assert (done.returncode, done.stdout) == (2, "")
    meant = f"did you mean '{meant}'? " if meant else ""
    assert done.stderr == f"error: unknown command '{typed}'; {meant}./reproduce --help lists them\n"


def test_checksums_of_a_missing_file_are_refused(root, capsys):
    assert complaint(capsys, ["checksums", str(root / "data" / "cels.yaml")]).endswith(
        "data/cels.yaml: no such file; if it was removed on purpose, give its folder"
    )


def test_the_error_of_a_step_is_repeated_after_all_other_output(root, capsys, monkeypatch):
    def build(plan, **how):
        for line in ("error: first", "made it", "error: second"):
            State().print(line)
        return 1

    monkeypatch.setattr(run, "build", build)
    assert main(["build"]) == 1
    assert capsys.readouterr().err == "error: first; errors in all: 2, see above\n"
    assert main(["build", "--dry-run"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("cores", ["0", "-1", "x"])
def test_cores_are_one_or_more(cores, capsys):
    with pytest.raises(SystemExit):
        main(["figure", "ogura.fig4", f"--cores={cores}"])
    assert f"--cores: must be a whole number of 1 or more (got '{cores}')" in capsys.readouterr().err


def test_an_error_comes_after_what_was_printed_before():
    shown = "from tcpfair.workflow.cli import _complain; print('first'); _complain('last')"
    done = subprocess.run(
        [sys.executable, "-c", shown], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    assert done.stdout == "first\nlast\n"
