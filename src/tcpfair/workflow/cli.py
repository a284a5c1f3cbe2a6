"""The command line: ``python -m tcpfair <command>``, used by ./reproduce and by the rules of the workflow."""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tcpfair.errors import InputError, printable, unknown
from tcpfair.files import checksums, costs
from tcpfair.files.layout import PAPERS, SOURCES, Layout, repository_root
from tcpfair.machine import free_cores
from tcpfair.workflow.full_disk import REMEDY
from tcpfair.workflow.state import errors

# errors of the place that is written to, not of the program: full, over quota, no permission
_OF_A_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)

# where the rules of these steps keep their benchmarks
_BENCHMARKS = {
    "measure": "measure/{paper}",
    "notebook": "notebook/{notebook.stem}",
    "place": "place",
    "compare": "compare",
    "ledger": "ledger",
    "report": "report",
    "packet-lab": "lab",
}
_DEFAULT_CONFIG = "config/config.yaml"


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 when it succeeded, 1 on bad input (one line on stderr), 2 on a wrong command line."""
    given, rest = parser().parse_known_args(arguments)
    if rest:
        given.command.error(str(unknown("argument", rest[0], given.command.options)))
    errors.clear()
    try:
        status = given.run(given) or 0
        sys.stdout.flush()  # here, where a closed pipe is handled
        if status and errors:
            more = f"; errors in all: {len(errors)}, see above" if len(errors) > 1 else ""
            _complain(f"{errors[0]}{more}")
        if given.benchmark:
            layout = Layout(repository_root(), given.source)
            costs.note(costs.folder(layout) / given.benchmark.format(**vars(given)))
        return status
    except InputError as error:
        _complain(f"error: {error}")
        return 1
    except ModuleNotFoundError as error:  # installed as a library
        if (error.name or "tcpfair").startswith("tcpfair"):
            raise
        _complain(
            f"error: {error.name} is not installed; pip install 'tcpfair[reproduce]' installs what the artifact needs"
        )
        return 1
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        shipped = os.path.relpath(error.filename or os.devnull, repository_root())
        if isinstance(error, FileNotFoundError) and shipped.startswith("data/"):
            _complain(f"error: {shipped}: missing; it is part of the repository: git checkout -- {shipped}")
            return 1
        if error.errno not in _OF_A_PLACE:
            raise
        place = error.filename or "a file that was being written"
        _complain(f"error: {place}: {os.strerror(error.errno)}; {REMEDY}")
        return 1
    except KeyboardInterrupt:
        _complain("interrupted; the next run continues from here")
        return 130


def _complain(line: str) -> None:
    """Print a line on stderr, after what was printed before, in one write: others may write to the same pipe."""
    with suppress(OSError):
        sys.stdout.flush()
    sys.stderr.write(f"{line}\n")


def parser() -> argparse.ArgumentParser:
    """Every command, with the function that runs it as ``run``."""
    program = "./reproduce" if "TCPFAIR_ASKED_FROM" in os.environ else "tcpfair"
    top = argparse.ArgumentParser(prog=program, description=__doc__.splitlines()[0])
    commands = top.add_subparsers(required=True, metavar="COMMAND", parser_class=_Command)
    for name, run, help, options in _COMMANDS:
        sub = commands.add_parser(name, help=help, prog=program if name == "build" else f"{program} {name}")
        sub.set_defaults(run=run, command=sub, benchmark=_BENCHMARKS.get(name))
        for flags, settings in options:
            sub.add_argument(*flags, **settings)
    return top


class _Command(argparse.ArgumentParser):
    """A command; the help of ``study`` lists the measures, which are loaded only for it."""

    @property
    def options(self) -> list[str]:
        """The long names of its options."""
        return [name for name in self._option_string_actions if name.startswith("--")]

    def format_help(self) -> str:
        if not self.prog.endswith(" study"):
            return super().format_help()
        from tcpfair.measures.shown import listed

        return f"{super().format_help()}\n{listed()}\n"


def _asked_path(text: str) -> Path:
    """A path relative to the folder where ./reproduce was called if it exists there, else relative to the checkout."""
    asked = Path(os.environ.get("TCPFAIR_ASKED_FROM", "."), text)
    return Path(os.path.relpath(asked)) if not Path(text).is_absolute() and asked.exists() else Path(text)


def _one_or_more(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of 1 or more (got {text!r})")
    return int(text)


def _absolute(text: str) -> Path:
    return Path(text).absolute()


def _folder_of(text: str) -> Path:
    """The folder of an output, from the file in it that is written last."""
    from tcpfair.runs.outputs import MADE

    path = _absolute(text)
    if path.name != MADE:
        raise argparse.ArgumentTypeError(f"{text}: must be an output's {MADE}; the folder that it is in is replaced")
    return path.parent


def _asked_config(text: str) -> str:
    """A configuration file as `_asked_path`; the default is always that of the checkout."""
    return text if text == _DEFAULT_CONFIG else str(_asked_path(text))


Option = tuple[tuple[str, ...], dict[str, Any]]
Run = Callable[[argparse.Namespace], int | None]
_COMMANDS: list[tuple[str, Run, str, tuple[Option, ...]]] = []  # name, function, help, options


def _option(*flags: str, **settings: Any) -> Option:
    return flags, settings


def _command(help: str, *options: Option, name: str = "") -> Callable[[Run], Run]:
    """Make a function a command, by default with its name; commands are listed in the order of their definition."""

    def add(run: Run) -> Run:
        _COMMANDS.append((name or run.__name__.strip("_").replace("_", "-"), run, help, options))
        return run

    return add


_CONFIG = _option("--config", nargs="+", action="extend", default=[], metavar="NAME=VALUE")
_CONFIGFILE = _option("--configfile", type=_asked_config, default=_DEFAULT_CONFIG, metavar="FILE")
_CORES = _option("--cores", type=_one_or_more, metavar="N", help="processes at a time")
_DRY_RUN = _option("--dry-run", "-n", action="store_true", help="only print the work and its expected time")
_PROFILE = _option("--profile", default="default", help="a folder of workflow/profiles, such as slurm")
_YES = _option("--yes", action="store_true", help="start or delete without confirmation")
_LAST_RUN = _option(
    "--source", choices=("bundled", "engine", "raw"), default="bundled", help="which run (default: bundled)"
)
# of steps of the workflow
_SOURCE = _option("--source", choices=SOURCES, required=True)
_OUTPUT = _option("--output", type=_folder_of, required=True)
_ONLY = _option("--only", nargs="*", default=[], help="exhibits to show; none = all")
_PAPERS = _option("--papers", nargs="*", default=list(PAPERS), choices=PAPERS)


def _say(step: str, item: str, outcome: str) -> None:
    print(f"{step:<9} {item}  {outcome}".rstrip(), flush=True)


def _plan(given: argparse.Namespace):
    from tcpfair.workflow.run import load_plan

    return load_plan(repository_root(), getattr(given, "configfile", _DEFAULT_CONFIG), given.config)


def _compared(plan, given: argparse.Namespace):
    """The plan in which bundled runs from other code count, if that gives the same bits in a sample."""
    from tcpfair.workflow.run import gives_shipped_bits

    return _plan(given) if gives_shipped_bits(plan, given.cores or free_cores()) else plan


def _layout(given: argparse.Namespace) -> Layout:
    from tcpfair.papers.recordings import folder_of

    return Layout(repository_root(), given.source, folder_of(getattr(given, "trace", "")))


def _how(given: argparse.Namespace):
    from tcpfair.workflow import executor

    return executor.How(given.cores or free_cores(), given.profile, given.yes)


@_command("compile the engine, after ./reproduce has made the environment")
def _install(given: argparse.Namespace) -> None:
    from tcpfair.library import live

    live.prepare(say=lambda line: print(line, file=sys.stderr, flush=True))
    print("installed; no command needs a network from now on")


@_command(
    "bring everything up to date",
    _CONFIG,
    _CONFIGFILE,
    _option("--dry-run", "-n", action="store_true", help="print what would be done, why, and how long it takes"),
    _CORES,
    _PROFILE,
)
def _build(given: argparse.Namespace) -> int:
    from tcpfair.workflow import run as runs

    started_s = time.time()
    plan = _plan(given)
    if plan.config.smoke:
        from tcpfair.workflow import smoke  # and with it the engine

        with runs.only_run(plan.root):
            smoke.main(plan, given.cores or free_cores(), given.profile, given.dry_run)
        return 0
    if given.dry_run:
        plan.refuse_what_is_missing()
        print("\n".join(runs.to_do(plan)) or "nothing: everything is up to date")
        return 0
    plan = _compared(plan, given)
    status, is_open = 0, not plan.is_up_to_date()
    if is_open:
        status = runs.build(plan, cores=given.cores, profile=given.profile)
    else:
        plan.publish()
    print(runs.summary(plan, started_s, done=is_open))
    return 1 if status else 0


@_command("build one exhibit", _option("exhibit"), _CONFIG, _CONFIGFILE, _CORES, _PROFILE)
def _figure(given: argparse.Namespace) -> int:
    from tcpfair.runs.outputs import describe, discard
    from tcpfair.workflow import run as runs

    if not re.fullmatch(r"[\w.]+", given.exhibit):
        raise InputError(f"figure: {given.exhibit!r} is not one exhibit; name it as PAPER.EXHIBIT, such as ogura.fig4")
    given.config = [*given.config, f"only=[{given.exhibit}]"]
    plan = _compared(_plan(given), given)
    ((paper, exhibit),) = plan.exhibits
    wanted = plan.to_make("measure", paper.paper)
    if (wanted or not all(plan.traces.values())) and runs.build(plan, wanted, given.cores, given.profile):
        return 1
    from tcpfair.exhibits import open_paper

    (step,) = plan.of_kind("draw")
    describe(step.folder, step.parts)
    for report in plan.layout.work.glob("report-*/") if plan.reasons(step) == ["failed"] else ():
        discard(report)  # it lists the failure
    keep = {exhibit.id: str(step.folder)}
    open_paper(paper.paper, source=plan.config.source, only=[exhibit.id], keep=keep).show(exhibit.id)
    return 1 if runs.failed_exhibits(plan) else 0


@_command("re-simulate and rewrite data/bundled", _option("experiment", nargs="?"), _CONFIG)
def _bundle(given: argparse.Namespace) -> int:
    from tcpfair.workflow import bundles
    from tcpfair.workflow import run as runs

    bundles.restore_interrupted(Layout(repository_root()))
    plan = runs.load_plan(repository_root(), pairs=["source=engine", *given.config])
    pairs = bundles.chosen(plan, given.experiment)
    if not all(plan.traces[pair] for pair in pairs) and runs.build(plan, (), simulated=pairs):
        return 1
    with runs.only_run(plan.root):
        rewritten = bundles.ship(plan, pairs)
    print(f"rewritten  {', '.join(rewritten) or 'nothing: data/bundled has the same bytes'}")
    return 0


@_command(
    "check that the engine still gives the shipped bits",
    _option("--mark", action="store_true", help="if all bits are the same, record that this code made the data"),
)
def _same_bits(given: argparse.Namespace) -> int:
    from tcpfair.workflow import same_bits

    return same_bits.main(Layout(repository_root()), given.mark, free_cores())


@_command("make the current numbers the baseline in data/expected")
def _accept(given: argparse.Namespace) -> None:
    from tcpfair.verdicts import baseline
    from tcpfair.workflow.run import last_plan, only_run

    layout = Layout(repository_root(), "bundled")
    with only_run(layout.root):  # no other run may change what becomes the baseline
        last_plan(layout.root, layout.source).refuse_stale_ledger("accept")
        written = baseline.accept(layout)
        checksums.update(layout.data, written)
    print(f"baseline   {', '.join(path.relative_to(layout.data).as_posix() for path in written) or 'as it was'}")


@_command("update the checksums of shipped files that were changed on purpose", _option("paths", nargs="+", type=Path))
def _checksums(given: argparse.Namespace) -> None:
    data = repository_root() / "data"
    for path in given.paths:
        if not path.absolute().is_relative_to(data):
            raise InputError(f"{path}: not below data/, whose files have checksums")
        if not path.exists():
            raise InputError(f"{path}: no such file; if it was removed on purpose, give its folder")
    listed = checksums.update(data, [path.absolute() for path in given.paths])
    print(f"checksums  {', '.join(f'data/{name}' for name in listed) or 'none: these files have none'}")


@_command(
    "check shipped data, and simulate a random share of the shipped runs again",
    _option("--share", type=float, metavar="S", help="share of the shipped runs (default 0.02; 0 for none)"),
    _option("--seed", type=int, metavar="N", help="selects the runs; random by default"),
    _CORES,
    _DRY_RUN,
)
def _verify(given: argparse.Namespace) -> int:
    from tcpfair.workflow import again, bundles

    share = again.SHARE if given.share is None else given.share
    again.refuse(share, given.seed)
    faults = bundles.faults(repository_root())
    print("\n".join(faults) if faults else "shipped data is intact and matches this configuration", flush=True)
    cores = given.cores or free_cores()
    status = again.check(Layout(repository_root()), share, given.seed, cores, given.dry_run)
    return 1 if faults else status


@_command(
    "from a figure back to its paper, experiments and runs",
    _option(
        "file",
        type=_asked_path,
        metavar="FILE",
        help="a figure or page that tcpfair made (.svg, .png, .html), or an exhibit such as ogura.fig8",
    ),
    _option("--again", action="store_true", help="simulate one of its runs again and compare every row"),
    _option("--run", dest="which", default="", metavar="EXPERIMENT/N", help="which run (default: the shortest)"),
)
def _whence(given: argparse.Namespace) -> int:
    from tcpfair.workflow import whence

    return whence.main(repository_root(), given.file, given.again, given.which)


@_command("the last run as a Workflow Run RO-Crate", _LAST_RUN)
def _crate(given: argparse.Namespace) -> None:
    from tcpfair.workflow import crate
    from tcpfair.workflow import run as runs

    folder = crate.write(runs.last_plan(repository_root(), given.source))
    _say("crate", os.path.relpath(folder), crate.summary(folder))


@_command(
    "the results, notebooks and how-tos of the last run as a static site",
    _LAST_RUN,
    _option("--packages", type=Path, required=True, help="folder with Sphinx, which ./reproduce installs"),
)
def _site(given: argparse.Namespace) -> None:
    from tcpfair.workflow import run as runs
    from tcpfair.workflow import site

    page = site.build(runs.last_plan(repository_root(), given.source), given.packages)
    _say("site", os.path.relpath(page), site.summary(page.parent))


@_command(
    "bring recordings into data/raw and show them",
    _option("paths", nargs="*", type=_asked_path, metavar="PATH", help="files or folders; none: all in data/raw"),
    _option("--name", default="", help="its name (default: that of the file or folder)"),
    _option("--anonymise", action="store_true", help="remove what identifies persons or hosts"),
    _option("--replace", action="store_true", help="replace a recording of this name"),
    _option("--no-figures", action="store_true", help="only read and check it, and write the trace"),
    _CORES,
)
def _import(given: argparse.Namespace) -> int:
    from tcpfair.papers.recordings import load_raw
    from tcpfair.workflow import importing
    from tcpfair.workflow import run as runs

    layout, status = Layout(repository_root()), 0
    paths, refused = importing.chosen(layout, given.paths, given.name), []
    interval_s = load_raw(layout.config / "raw.yaml").analysis.interval_s.value
    for path in paths:
        try:
            folder, trace = importing.bring(layout, path, given.name, given.anonymise, given.replace)
        except (InputError, PermissionError) as error:
            _complain(f"error: {error}" if isinstance(error, InputError) else f"error: {path}: {error.strerror}")
            refused.append(path)
            continue
        print("\n".join(importing.told(folder, trace, interval_s)), flush=True)
        print(
            f"kept       {printable(os.path.relpath(folder))}; correct its trace.yaml, then ./reproduce import again",
            flush=True,
        )
        if not given.no_figures:
            recording = Path(os.path.relpath(folder, layout.root)).as_posix()
            plan = runs.load_plan(layout.root, pairs=["source=raw", f"trace={recording}"])
            status = runs.build(plan, cores=given.cores) or status
            print(f"open       {printable(os.path.relpath(plan.opened))}")
    if refused and len(paths) > 1:
        names = ", ".join(printable(str(path)) for path in refused)
        _complain(f"error: {len(refused)} of {len(paths)} recordings are refused: {names}")
    return 1 if status or refused else 0


@_command(
    "compare the engine with ns-2, ns-3 and Linux kernels",
    _option(
        "--run",
        dest="tool",
        choices=("ns2", "ns3", "testbed", "guest"),
        help="run this simulator and rewrite data/validation",
    ),
    _option("--experiments", nargs="+", action="extend", default=[], metavar="NAME", help="with --run: these only"),
    _option("--quick", action="store_true", help="with --run: compare a few short runs without storing them"),
    _option("--random", type=int, metavar="SEED", help="draw random dumbbells and run them in engine and ns-2"),
    _option("--count", type=int, default=30, metavar="N", help="with --random: dumbbells of each kind (default 30)"),
    _YES,
    _CORES,
    _PROFILE,
)
def _validate(given: argparse.Namespace) -> int:
    from tcpfair.validation import page
    from tcpfair.workflow import run as runs
    from tcpfair.workflow import validate

    layout = Layout(repository_root())
    if not given.tool:
        for option in ("experiments", "quick", "yes"):
            if getattr(given, option):
                raise InputError(f"--{option}: requires --run; write --run ns2 or --run ns3")
    if given.random is not None and (given.tool or given.random < 0 or given.count < 1):
        raise InputError("--random: requires a seed of 0 or more and --count of 1 or more, without --run")
    how = _how(given)
    with runs.only_run(layout.root, "results/validation"):
        if given.random is not None:
            return 0 if validate.try_random(layout, given.random, given.count) else 1
        elif not given.tool:
            print(validate.compare(layout, how), end="")
            print(f"open       {os.path.relpath(page.report(layout))}")
        elif given.quick:
            far_off = validate.check_quickly(layout, given.tool, given.experiments, how)
            print("\n".join(f"far off    {line}" for line in far_off) or "roughly right")
            return 1 if far_off else 0
        else:
            try:
                validate.run_tool(layout, given.tool, given.experiments, how)
            finally:  # of what succeeded
                checksums.update(layout.data, [layout.validated, layout.guest_clauses])
    return 0


@_command(
    "record a run of this machine's own kernel (needs root)",
    _option(
        "file",
        nargs="?",
        type=_asked_path,
        metavar="FILE.yaml",
        help="rate_bps, duration_s, flows: [{cc, rtt_ms, start_s}]",
    ),
    _option("--cc", nargs="+", default=[], metavar="NAME", help="an algorithm for each flow: reno cubic"),
    _option("--rtt-ms", nargs="+", type=float, default=[50.0], metavar="MS", help="for each flow (default 50)"),
    _option("--start-s", nargs="+", type=float, default=[0.0], metavar="S", help="for each flow (default 0)"),
    _option("--rate-mbps", type=float, default=100.0, help="of the bottleneck (default 100)"),
    _option("--duration-s", type=float, default=30.0, help="(default 30)"),
    _option("--buffer-bdp", type=float, default=1.0, help="of the longest RTT (default 1)"),
    _option("--bottleneck", choices=("auto", "tbf", "relay"), default="auto"),
    _option("--delay", choices=("auto", "netem", "relay"), default="auto"),
    _option("--ss", action="store_true", help="also keep ss -tin of every sender"),
    _option("--pcap", action="store_true", help="also keep the headers of all packets"),
    _option("--output", type=Path, default=Path("data/raw/testbed"), help="a new folder (default data/raw/testbed)"),
)
def _testbed(given: argparse.Namespace) -> None:
    from tcpfair.sources.testbed import record
    from tcpfair.sources.testbed.setup import make_setup, of_options, read_setup

    if given.file is not None and given.cc:
        raise InputError("--cc: not allowed with FILE.yaml; give one of them")
    if given.file is None and not given.cc:
        raise InputError("testbed: give FILE.yaml, or --cc with an algorithm for each flow, such as --cc reno cubic")
    if given.file is not None:
        setup = read_setup(given.file)
    else:
        setup = make_setup(of_options(vars(given)), "testbed")
    meta = record.record(setup, given.output, print)
    for line in record.summary(setup, meta):
        print(line)
    print(f"recorded   {os.path.relpath(given.output)}")


@_command(
    "simulate the papers under many settings of their unstated parameters",
    _option("papers", nargs="*", metavar="PAPER", help="papers of config/ensemble.yaml (default all)"),
    _option("--settings", type=int, metavar="N", help="the first N drawn settings of each paper only"),
    _DRY_RUN,
    _YES,
    _CORES,
    _PROFILE,
)
def _ensemble(given: argparse.Namespace) -> None:
    from tcpfair.workflow import ensemble
    from tcpfair.workflow import run as runs

    if given.settings is not None and given.settings < 0:
        raise InputError(f"--settings {given.settings}: must be 0 (the base setting alone) or more")
    layout = Layout(repository_root(), "engine")
    if given.dry_run:
        print("\n".join(work.line for work in ensemble.plan(layout, given.papers, given.settings)))
        return
    with runs.only_run(layout.root, "results/engine/ensemble"):
        ensemble.run(layout, _how(given), given.papers, given.settings)


@_command(
    "simulate your own study",
    _option("file", type=_asked_path, metavar="FILE", help="such as config/studies/rtt_buffer_loss.yaml"),
    _DRY_RUN,
    _YES,
    _CORES,
    _PROFILE,
)
def _study(given: argparse.Namespace) -> None:
    from tcpfair.workflow import run as runs
    from tcpfair.workflow import study as studies

    layout = Layout(repository_root(), "engine")
    study = studies.opened(given.file)
    if given.dry_run:
        print("\n".join(studies.plan(layout, study).lines))
        return
    with runs.only_run(layout.root, layout.study(study.name).relative_to(layout.root).as_posix()):
        studies.run(layout, study, _how(given))


@_command(
    "measure the engine",
    _option("--scale", action="store_true", help="cost per packet and memory, from 1 to 10,000 flows"),
    _option("--json", action="store_true"),
)
def _bench(given: argparse.Namespace) -> None:
    from tcpfair.workflow import bench, scale

    root = repository_root()
    if given.scale:
        scale.main(root / "config" / "bench.yaml", root / "results" / "bench", as_json=given.json)
    else:
        bench.main(root / "config" / "bench.yaml", as_json=given.json)


@_command(
    "print the SHA-256 of a scenario's results, as the packet lab shows it",
    _option(
        "file", type=_asked_path, metavar="FILE", help="YAML or JSON with scenario and seed, as the packet lab gives"
    ),
)
def _digest(given: argparse.Namespace) -> None:
    from tcpfair.library import digest

    print(digest.digest_of_file(given.file))


@_command("remove results/ and the drawn figures", _YES)
def _clean(given: argparse.Namespace) -> int:
    from tcpfair.workflow import clean

    return clean.main(repository_root(), yes=given.yes)


@_command("validate the configuration", _CONFIG, _CONFIGFILE)
def _check_config(given: argparse.Namespace) -> None:
    _plan(given).asked  # noqa: B018  (expands every experiment)


# --- Steps of the workflow ------------------------------------------------------------------------------------------


@_command(
    "metrics, numbers and verdicts of one paper",
    _SOURCE,
    _option("--paper", choices=PAPERS, required=True),
    _option("--exhibits", nargs="*", default=[]),
    _PAPERS,
    _ONLY,
    _option("--output", nargs="*", type=_folder_of, default=[], help="metrics of experiments"),
    _option("--numbers", nargs="*", type=_folder_of, default=[], help="numbers of exhibits"),
    _option("--judged", nargs="*", type=_folder_of, default=[], help="claims of the paper with their verdicts"),
)
def _measure(given: argparse.Namespace) -> None:
    layout, paper = _layout(given), given.paper
    if given.output:
        _say("measured", paper, _run_of("measure")(layout, paper, given.output))
    for folder in given.numbers:
        _say("numbers", paper, _run_of("numbers")(layout, paper, given.exhibits, folder))
    for folder in given.judged:
        _say("judged", paper, _run_of("judge")(layout, paper, given.papers, given.only, folder))


def _run_of(step: str) -> Callable[..., str]:
    """The function of a step."""
    return import_module(f"tcpfair.workflow.steps.{step}").run


@_command("read recordings into traces in results", _option("parts", nargs="+", type=Path))
def _read(given: argparse.Namespace) -> None:
    from tcpfair.workflow import importing

    for path in given.parts:
        folder = importing.read_once(Layout(repository_root()), path)
        print("\n".join(importing.told(folder, importing.look(folder))), flush=True)


def _step(name: str, help: str, done: str, *options: Option, item: str = "") -> None:
    """Add a command that runs a step of `tcpfair.workflow.steps` with the layout and the values of ``options``, in this order.

    It prints ``done``, ``item`` and what the step returns.
    """

    @_command(help, _SOURCE, *options, name=name)
    def run(given: argparse.Namespace) -> None:
        values = [getattr(given, flags[0].removeprefix("--")) for flags, _ in options]
        _say(done, item.format(**vars(given)), _run_of(name.replace("-", "_"))(_layout(given), *values))


_step(
    "notebook",
    "run a notebook",
    "notebook",
    _option("--notebook", type=_absolute, required=True),
    _ONLY,
    _option("--draw", nargs="*", type=_folder_of, default=[], help="outputs of the exhibits to draw"),
    _option("--trace", default="", help="the user's own trace"),
    _OUTPUT,
    item="{notebook.stem}",
)
_step(
    "place",
    "place published numbers among the settings of ensembles",
    "placed",
    _option("--output", nargs="+", type=_folder_of, required=True),
)
_step("compare", "write the ledger's numbers", "compared", _PAPERS, _ONLY, _OUTPUT)
_step("ledger", "write the ledger's verdicts", "ledger", _PAPERS, _ONLY, _OUTPUT)
_LINKED = _option("--linked", nargs="*", type=_absolute, default=[], help="pages to link to")
_step("report", "write the report", "report", _PAPERS, _ONLY, _LINKED, _OUTPUT)
_step("packet-lab", "write the packet lab", "lab", _OUTPUT)


@_command(
    "make shards of an ensemble, a study or the validation",
    _option("--campaign", type=Path, required=True),
    _option("--job", required=True, metavar="SHARD", help="the last shard of the job"),
)
def _job(given: argparse.Namespace) -> None:
    from tcpfair.workflow import executor

    _say("simulated", *executor.make(Layout(repository_root(), "engine"), given.campaign, given.job))
