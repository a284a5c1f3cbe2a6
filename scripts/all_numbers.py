"""Computes all tables that follow from the bundled traces in one process, into a folder outside the checkout.

    python scripts/all_numbers.py OUTPUT [--papers ogura ...] [--steps metrics placed exhibits ledger] [--pictures]

The numbers must depend neither on the processor nor on the variables that choose its instructions. To test this, run the
script twice and compare the two folders with ``scripts/compare_folders.py``:

    python scripts/all_numbers.py /tmp/a
    NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL" OPENBLAS_CORETYPE=Nehalem python scripts/all_numbers.py /tmp/b
    python scripts/compare_folders.py /tmp/a /tmp/b

OUTPUT looks like a checkout, as with ``TCPFAIR_OUTPUT``. Without ``--pictures`` the figures are computed but not rendered.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LINKED = ("CITATION.cff", "Snakefile", "config", "data", "notebooks", "pyproject.toml", "src")
STEPS = ("metrics", "placed", "exhibits", "ledger")


def stand_in(output: Path) -> Path:
    """``output`` as a folder that looks like the checkout; returns its path without links."""
    output.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        if not (output / name).exists():
            (output / name).symlink_to(CHECKOUT / name)
    return output.resolve()


def main(output: Path, papers: Sequence[str], steps: Sequence[str], pictures: bool) -> None:
    """Run ``steps`` for ``papers``; the later ones need the tables of the earlier ones."""
    import pandas as pd

    from tcpfair import measures
    from tcpfair.contract import trace
    from tcpfair.contract.layout import PAPERS, Layout
    from tcpfair.contract.papers import Config, load_paper
    from tcpfair.contract.rounding import rounded_table
    from tcpfair.contract.store import Held
    from tcpfair.exhibits import open_paper, style
    from tcpfair.verdicts import ledger
    from tcpfair.verdicts.ensemble import tables

    if not pictures:
        style.as_svg = style.as_png = lambda *_: b""
    layout = Layout(output, "bundled")
    chosen = [name for name in PAPERS if name in papers or not papers]
    for paper in chosen:
        config = load_paper(layout.paper_config(paper))
        held = Held(layout, config)
        measured = [name for name, experiment in config.experiments.items() if experiment.measures]
        # experiments whose weights come from another one after the others
        for name in sorted(measured, key=lambda name: config.experiments[name].weights is not None):
            if "metrics" in steps:
                weights = config.experiments[name].weights
                of_weights = pd.read_parquet(layout.metrics(paper, weights.experiment)) if weights else None
                metrics = measures.measure(trace.read(held.trace(name)), config, name, of_weights)
                layout.metrics(paper, name).parent.mkdir(parents=True, exist_ok=True)
                rounded_table(metrics).to_parquet(layout.metrics(paper, name), index=False)
                print(f"{paper}/{name}", flush=True)
    if "placed" in steps:
        tables.write_shipped(layout, chosen)
    if "exhibits" in steps:
        for paper in chosen:
            board = open_paper(paper, "bundled", keep=True)
            for exhibit in board.config.exhibits:
                board.show(exhibit.id)
    if "ledger" in steps:
        ledger.write_ledger(layout, Config(source="bundled", papers=chosen, only=[]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--papers", nargs="*", default=[])
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS)
    parser.add_argument("--pictures", action="store_true", help="also render the figures")
    given = parser.parse_args()
    place = stand_in(given.output)
    os.environ["TCPFAIR_ROOT"] = str(place)
    main(place, given.papers, given.steps, given.pictures)
