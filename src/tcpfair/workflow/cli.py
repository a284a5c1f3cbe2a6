"""The command line: ``python -m tcpfair <command>``, used by ./reproduce and by the rules of the workflow."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tcpfair.contract.layout import SOURCES, Layout, repository_root
from tcpfair.errors import InputError


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 when it succeeded, 1 on bad input (one line on stderr), 2 on a wrong command line."""
    given = parser().parse_args(arguments)
    try:
        return given.run(given) or 0
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the next run goes on from here", file=sys.stderr)
        return 130
    except BrokenPipeError:  # who read the output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def parser() -> argparse.ArgumentParser:
    """Every command, with the function that runs it as ``run``."""
    top = argparse.ArgumentParser(prog="tcpfair", description=__doc__.splitlines()[0])
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable, help: str, *options: tuple) -> None:
        sub = commands.add_parser(name, help=help)
        sub.set_defaults(run=run)
        for flags, settings in options:
            sub.add_argument(*flags, **settings)

    config = _option("--config", nargs="+", action="extend", default=[], metavar="NAME=VALUE")
    configfile = _option("--configfile", default="config/config.yaml", metavar="FILE")
    source = _option("--source", choices=SOURCES, required=True)
    paper = _option("--paper", required=True)
    experiment = _option("--experiment", required=True)
    stamp = _option("--stamp", required=True, help="digest of the inputs, kept beside the output")
    output = _option("--output", type=Path, required=True)

    # what ./reproduce calls
    dry_run = _option("--dry-run", "-n", action="store_true", help="say what would be done")
    cores = _option("--cores", type=int, help="processes at a time")
    command("build", _build, "bring everything up to date", config, configfile, dry_run, cores)
    command("figure", _figure, "build one exhibit", _option("exhibit"), config, configfile)
    command("bundle", _bundle, "re-simulate and rewrite data/bundled", _option("experiment", nargs="?"), config)
    command("accept", _accept, "make today's numbers the baseline in data/expected")
    command("verify", _verify, "check shipped data against its checksums and the configuration")
    tools = {"choices": ("ns2", "ns3"), "help": "run this simulator and rewrite data/validation"}
    run_tool = _option("--run", dest="tool", **tools)
    some = _option(
        "--experiments", nargs="+", action="extend", default=[], metavar="NAME", help="with --run: these only"
    )
    quick = _option("--quick", action="store_true", help="with --run: a few short runs, compared and kept nowhere")
    yes = _option("--yes", action="store_true", help="with --run: start even if it takes long")
    command("validate", _validate, "compare the engine with ns-2 and ns-3", run_tool, some, quick, yes, cores)
    command("bench", _bench, "measure the engine", _option("--json", action="store_true"))
    command("clean", _clean, "remove results/ and figures/, but for the gallery")
    command("check-config", _check_config, "validate the configuration", config, configfile)
    command("stamps", _stamps, "remove outputs made from other inputs", config, configfile)

    # steps of the workflow
    smoke = _option("--smoke-s", type=float, required=True, help="cut each run to this many seconds")
    command("warm-engine", _warm_engine, "compile the engine", source, output)
    part = _option("--part", required=True, metavar="1-of-2")
    command("simulate", _simulate, "simulate a part", source, paper, experiment, part, output, stamp)
    command("rehearse", _rehearse, "try every experiment of a paper", source, paper, output, stamp, smoke)
    parts = _option("parts", nargs="+", type=Path)
    command("gather", _gather, "join the parts of a trace", source, paper, experiment, parts, stamp)
    command("measure", _measure, "metrics of an experiment", source, paper, experiment, stamp)
    only = _option("--only", nargs="*", default=[], help="exhibits to draw; none = all")
    own_trace = _option("--trace", default="", help="the user's own trace")
    command("notebook", _notebook, "run a notebook", source, paper, only, own_trace, stamp)
    command("ledger", _ledger, "write the ledger", source, stamp)
    command("report", _report, "write the report", source, stamp)
    command("check", _check, "fail when an exhibit failed", source, output)
    return top


def _option(*flags: str, **settings) -> tuple[tuple[str, ...], dict]:
    return flags, settings


def _say(step: str, item: str, outcome: str) -> None:
    print(f"{step:<9} {item}  {outcome}".rstrip(), flush=True)


def _plan(given: argparse.Namespace):
    from tcpfair.workflow.run import load_plan

    return load_plan(repository_root(), getattr(given, "configfile", "config/config.yaml"), given.config)


def _layout(given: argparse.Namespace) -> Layout:
    return Layout(repository_root(), given.source)


def _build(given: argparse.Namespace) -> int:
    from tcpfair.workflow import run as runs

    started_s = time.time()
    plan = _plan(given)
    recordings = runs.recordings_beside(plan)
    if given.dry_run:
        to_do = [line for each in (plan, recordings) if each for line in runs.to_do(each)]
        print("\n".join(to_do) or "nothing: everything is up to date")
        return 0
    status = 0
    for each in (plan, recordings):
        if each and not runs.is_up_to_date(each):
            status = runs.build(each, cores=given.cores) or status
    print(runs.summary(plan, started_s))
    if recordings and recordings.opened.is_file():
        print(f"and        {os.path.relpath(recordings.opened)}, recordings of real hosts (source raw)")
    return 1 if status else 0


def _figure(given: argparse.Namespace) -> int:
    from tcpfair.workflow import run as runs
    from tcpfair.workflow.plan import find_exhibit, needed

    plan = _plan(given)
    paper, exhibit = find_exhibit(plan.papers, given.exhibit)
    wanted = [pair for pair in needed(paper, exhibit) if pair in plan.measured]
    if wanted and runs.build(plan, [plan.layout.metrics(*pair) for pair in wanted]):
        return 1
    from tcpfair.exhibits import open_paper

    open_paper(paper.paper, source=plan.config.source, only=[exhibit.id]).show(exhibit.id.split(".", 1)[1])
    return 0


def _bundle(given: argparse.Namespace) -> int:
    from tcpfair.workflow import bundles
    from tcpfair.workflow import run as runs

    plan = runs.load_plan(repository_root(), pairs=["source=engine", *given.config])
    pairs = bundles.chosen(plan, given.experiment)
    if runs.build(plan, [plan.manifest(*pair) for pair in pairs]):
        return 1
    rewritten = bundles.ship(plan, pairs)
    print(f"rewritten  {', '.join(rewritten) or 'nothing: data/bundled has the same bytes'}")
    return 0


def _accept(given: argparse.Namespace) -> None:
    from tcpfair.workflow import bundles

    print(f"baseline   {', '.join(bundles.accept(Layout(repository_root(), 'bundled')))}")


def _verify(given: argparse.Namespace) -> int:
    from tcpfair.workflow import bundles

    faults = bundles.faults(repository_root())
    print("\n".join(faults) if faults else "shipped data is whole and belongs to this configuration")
    return 1 if faults else 0


def _validate(given: argparse.Namespace) -> int:
    from tcpfair.validation import commands, page
    from tcpfair.workflow import bundles
    from tcpfair.workflow import run as runs

    layout = Layout(repository_root())
    if not given.tool:
        for option in ("experiments", "quick", "yes"):
            if getattr(given, option):
                raise InputError(f"--{option}: goes with --run; write --run ns2 or --run ns3")
        with runs.only_run(layout.root, "results/validation"):
            comparison = commands.compare(layout, given.cores)
            report = page.write(layout, comparison)
        print(page.summary(comparison, Path(os.path.relpath(report))))
        return 0
    if given.quick:
        far_off = commands.check_quickly(layout, given.tool, given.experiments, given.cores)
        print("\n".join(f"far off    {line}" for line in far_off) or "roughly right")
        return 1 if far_off else 0
    with runs.only_run(layout.root, "results/validation"):
        try:
            commands.run_tool(layout, given.tool, given.experiments, given.cores, given.yes)
        finally:  # of what succeeded
            bundles.write_checksums(layout.data)
    return 0


def _bench(given: argparse.Namespace) -> int | None:
    from tcpfair.workflow import bench

    return bench.main(repository_root() / "config" / "bench.yaml", as_json=given.json)


def _clean(given: argparse.Namespace) -> None:
    root = repository_root()
    shutil.rmtree(root / "results", ignore_errors=True)
    for source in SOURCES:
        shutil.rmtree(root / "figures" / source, ignore_errors=True)
    shutil.rmtree(root / ".snakemake", ignore_errors=True)


def _check_config(given: argparse.Namespace) -> None:
    _plan(given)


def _stamps(given: argparse.Namespace) -> None:
    _plan(given).discard_stale()


def _warm_engine(given: argparse.Namespace) -> None:
    from tcpfair.workflow import steps

    _say("compiled", "engine", steps.warm_engine(_layout(given), given.output))


def _simulate(given: argparse.Namespace) -> None:
    from tcpfair.workflow import steps

    done = steps.simulate(_layout(given), given.paper, given.experiment, given.part, given.output, given.stamp)
    _say("simulated", f"{given.paper}/{given.experiment} {given.part}", done)


def _gather(given: argparse.Namespace) -> None:
    from tcpfair.workflow import steps

    done = steps.gather(_layout(given), given.paper, given.experiment, given.parts, given.stamp)
    _say("gathered", f"{given.paper}/{given.experiment}", done)


def _rehearse(given: argparse.Namespace) -> None:
    from tcpfair.workflow import steps

    _say(
        "rehearsed", given.paper, steps.rehearse(_layout(given), given.paper, given.smoke_s, given.output, given.stamp)
    )


def _measure(given: argparse.Namespace) -> None:
    from tcpfair.workflow import steps

    done = steps.measure(_layout(given), given.paper, given.experiment, given.stamp)
    _say("measured", f"{given.paper}/{given.experiment}", done)


def _notebook(given: argparse.Namespace) -> None:
    from tcpfair.workflow import steps

    _say("notebook", given.paper, steps.notebook(_layout(given), given.paper, given.only, given.trace, given.stamp))


def _ledger(given: argparse.Namespace) -> None:
    from tcpfair.workflow import steps

    _say("ledger", "", steps.ledger(_layout(given), given.stamp))


def _report(given: argparse.Namespace) -> None:
    from tcpfair.workflow import steps

    _say("report", "", steps.report(_layout(given), given.stamp))


def _check(given: argparse.Namespace) -> None:
    from tcpfair.workflow import steps

    _say("checked", "", steps.check(_layout(given), given.output))
