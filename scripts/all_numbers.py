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

from tcpfair.files.layout import PAPERS, Layout
from tcpfair.papers.papers import Config, load_paper

CHECKOUT = Path(__file__).resolve().parent.parent
LINKED = ("CITATION.cff", "Snakefile", "config", "data", "notebooks", "pyproject.toml", "src")


def stand_in(output: Path) -> Path:
    """``output`` as a folder that looks like the checkout; returns its path without links."""
    output.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        if not (output / name).exists():
            (output / name).symlink_to(CHECKOUT / name)
    return output.resolve()


def metrics(layout: Layout, papers: Collection[str], experiments: Collection[str]) -> None:
    """Measure ``experiments`` (none = all) of ``papers``, serially as in the workflow."""
    import pandas as pd

    from tcpfair import measures
    from tcpfair.files.files import whole
    from tcpfair.files.rounding import rounded_table
    from tcpfair.runs import trace
    from tcpfair.runs.store import Held

    for paper in papers:
        config = load_paper(layout.paper_config(paper))
        held = Held(layout, config)
        chosen = [name for name in config.experiments if not experiments or name in experiments]
        # experiments whose weights come from another one are last
        for name in sorted(chosen, key=lambda name: config.experiments[name].weights is not None):
            if not config.experiments[name].measures:
                continue
            weights = config.experiments[name].weights
            of_self = pd.read_parquet(layout.metrics(paper, weights.experiment)) if weights else None
            found = measures.measure(trace.read(held.trace(name)), config, name, of_self)
            with whole(layout.metrics(paper, name)) as scratch:
                rounded_table(found).to_parquet(scratch, index=False)
            print(f"{paper}/{name}", flush=True)


def placed(layout: Layout, papers: Collection[str]) -> None:
    """Compare the shipped ensembles with the published numbers."""
    from tcpfair.verdicts.ensemble import tables

    for paper in papers:
        tables.write_shipped(layout, paper, layout.placed / paper)


def exhibits(layout: Layout, papers: Collection[str], pictures: bool) -> None:
    """Draw all exhibits, without the cells of the notebooks around them."""
    from tcpfair.exhibits import open_paper, style

    if not pictures:
        style.as_svg = style.as_png = lambda *_: b""
    for paper in papers:
        board = open_paper(paper, layout.source, keep=True)
        for exhibit in board.config.exhibits:
            board.show(exhibit.id)


def ledger(layout: Layout, papers: Collection[str]) -> None:
    """Judge the claims, and write the ledger from the tables of the other steps."""
    from tcpfair.verdicts import ledger as writer

    config = Config(source=layout.source, papers=list(papers), only=[])
    for paper in papers:
        writer.write_judged(layout, config, paper)
    writer.write_ledger(layout, config)


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
    layout = Layout(stand_in(given.output), "bundled")
    os.environ["TCPFAIR_ROOT"] = str(layout.root)
    if "metrics" in given.steps:
        metrics(layout, given.papers, given.experiments)
    if "placed" in given.steps:
        placed(layout, given.papers)
    if "exhibits" in given.steps:
        exhibits(layout, given.papers, given.pictures)
    if "ledger" in given.steps:
        ledger(layout, given.papers)


if __name__ == "__main__":
    main()
