"""Compute all tables from the bundled traces in one process, into a folder outside the checkout.

    python scripts/all_numbers.py OUTPUT [--papers ogura ...] [--experiments pair ...] [--steps metrics placed exhibits ledger]

The numbers must not depend on the processor or on the variables that select its instructions. To test this, run the
script twice and compare the two folders:

    python scripts/all_numbers.py /tmp/a
    NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL" OPENBLAS_CORETYPE=Nehalem python scripts/all_numbers.py /tmp/b
    python scripts/compare_folders.py /tmp/a /tmp/b

OUTPUT looks like a checkout, as with ``TCPFAIR_OUTPUT``. Figures are computed, and rendered only with ``--pictures``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection
from pathlib import Path

from tcpfair.files.layout import PAPERS
from tcpfair.workflow.plan import Plan
from tcpfair.workflow.steps import compare, judge, measure, numbers, place
from tcpfair.workflow.steps import ledger as ledger_step

CHECKOUT = Path(__file__).resolve().parent.parent
LINKED = ("CITATION.cff", "Snakefile", "config", "data", "notebooks", "pyproject.toml", "src")


def stand_in(output: Path) -> Path:
    """``output`` as a folder that looks like the checkout; returns its path without links."""
    output.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        if not (output / name).exists():
            (output / name).symlink_to(CHECKOUT / name)
    return output.resolve()


def folders(plan: Plan, kind: str, paper: str = "") -> list[Path]:
    """The folders of the outputs of a kind, of all papers or of one."""
    return [step.folder for step in plan.of_kind(kind, paper)]


def metrics(plan: Plan, experiments: Collection[str]) -> None:
    """Measure ``experiments`` (none = all)."""
    for paper in plan.papers:
        own = plan.of_kind("measure", paper)
        chosen = [step.folder for step in own if not experiments or step.item.partition("/")[2] in experiments]
        print(paper, measure.run(plan.layout, paper, chosen), flush=True)


def exhibits(plan: Plan, pictures: bool) -> None:
    """Compute the numbers of all exhibits and draw them, without the cells of the notebooks around them."""
    from tcpfair.exhibits import open_paper, style

    if not pictures:
        style.as_svg = style.as_png = lambda *_: b""
    for paper, config in plan.papers.items():
        ids = [exhibit.id for exhibit in config.exhibits]
        for folder in folders(plan, "numbers", paper):
            numbers.run(plan.layout, paper, ids, folder)
        keep = dict(zip(ids, map(str, folders(plan, "draw", paper)), strict=True))
        board = open_paper(paper, plan.layout.source, keep=keep)
        for exhibit in ids:
            board.show(exhibit)


def ledger(plan: Plan) -> None:
    """Compare the numbers, judge the claims, and write the ledger from the tables of the other steps."""
    papers = list(plan.papers)
    for paper in papers:
        for folder in folders(plan, "judge", paper):
            judge.run(plan.layout, paper, papers, [], folder)
    for kind, step in (("compare", compare), ("ledger", ledger_step)):
        for folder in folders(plan, kind):
            step.run(plan.layout, papers, [], folder)


STEPS = ("metrics", "placed", "exhibits", "ledger")


def main() -> None:
    """Run the steps of the command line; later steps need the tables of earlier ones."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--papers", nargs="+", choices=PAPERS, default=PAPERS)
    parser.add_argument("--experiments", nargs="+", default=[], help="to measure; default: all")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS)
    parser.add_argument("--pictures", action="store_true", help="also render the figures")
    given = parser.parse_args()
    root = stand_in(given.output)
    os.environ["TCPFAIR_ROOT"] = str(root)
    plan = Plan({"source": "bundled", "papers": list(given.papers)}, root)
    if "metrics" in given.steps:
        metrics(plan, given.experiments)
    if "placed" in given.steps:
        place.run(plan.layout, folders(plan, "place"))
    if "exhibits" in given.steps:
        exhibits(plan, given.pictures)
    if "ledger" in given.steps:
        ledger(plan)


if __name__ == "__main__":
    main()
