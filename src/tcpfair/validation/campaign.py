"""The runs of each simulator for the validation, in parts, and their results.

A part is all runs of one algorithm in one experiment. Its results are a shard (`tcpfair.runs.shards`) below
``results/validation/shards``, whose name has the digest of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd
import pyarrow as pa

from tcpfair.errors import InputError
from tcpfair.files.layout import Layout
from tcpfair.papers.expand import RunSpec, expected_pkts
from tcpfair.papers.papers import PaperConfig
from tcpfair.runs import code, shards, store
from tcpfair.runs.outputs import Parts, part
from tcpfair.sources import simulator
from tcpfair.validation.measures import CURVE_COLUMNS, RUN_COLUMNS, measured
from tcpfair.validation.scenarios import ENGINE, GUEST, Window, chosen, digests_of, windows

MEASURES, MEASURED_IN = "validation/measures.py", ("metrics/", "measures/", "units.py")  # the code that measures


@dataclass(frozen=True)
class Results:
    """Results of a simulator: a row of measures for each run and window, and some windows over time."""

    runs: pd.DataFrame
    curves: pd.DataFrame


@dataclass(frozen=True)
class Part:
    """All runs of one algorithm in one experiment by one simulator, the folder of shards, and the inputs of its results.

    ``replicates`` names a selection of its runs; empty for all.
    """

    kind: str
    backend: str
    experiment: str
    label: str
    specs: tuple[RunSpec, ...]
    windows_s: tuple[Window, ...]
    place: Path
    made_from: Parts
    replicates: str = ""

    @property
    def name(self) -> str:
        return f"{self.experiment}/{self.label}"

    @cached_property
    def shard_name(self) -> str:
        """The name of its shard."""
        own = f"{self.kind}/{self.backend}/{self.experiment}/{self.label}{self.replicates}"
        return shards.named(own, dict(self.made_from))

    @property
    def file(self) -> Path:
        """The shard, which exists if its runs are finished."""
        return self.place / f"{self.shard_name}{shards.SUFFIX}"

    def is_kept(self) -> bool:
        """Whether its runs are finished."""
        return self.file.is_file()

    def kept(self) -> Results:
        """The stored results. Raises InputError if they are missing, for example after an edit during a run."""
        if not self.is_kept():
            raise InputError(
                f"{self.backend}: {self.name}: its settings or code have changed; run ./reproduce validate again"
            )
        runs, about = shards.read(self.file)
        return Results(runs.to_pandas(), pd.DataFrame(about["curves"]))

    def keep(self, runs: pd.DataFrame, curves: pd.DataFrame) -> None:
        """Store the results of the runs for `kept`."""
        table = pa.Table.from_pandas(runs, preserve_index=False)
        shards.write(self.file, table, {"curves": curves.to_dict("list")})


def provenance(tool: str) -> dict[str, str]:
    """Version and code of another simulator. Raises InputError, with how to install it, when it is missing."""
    module = simulator(tool)
    return {"tool": module.tool_version(), "code": module.source_hash()}


def measuring_code() -> str:
    """Digest of the code that measures the engine's runs."""
    return code.digest_of(code.reached([code.PACKAGE / MEASURES], MEASURED_IN))


def store_of(layout: Layout) -> Path:
    """The folder of all shards."""
    return layout.validation / "shards"


def parts(layout: Layout, config: PaperConfig, kind: str, backend: str, experiments: Iterable[str]) -> list[Part]:
    """The parts of some experiments in one simulator; for the guest, a part for each run."""
    selection = chosen(config, kind, backend)
    origin = {"measured": measuring_code()} if backend == ENGINE else provenance(backend)
    found = []
    for experiment in experiments:
        windows_s = windows(config, kind, backend, experiment)
        digests = digests_of(config, experiment, selection)
        for label, specs in selection.by_label(config, experiment).items():
            made_from = {"scenarios": digests[label], "windows": part(windows_s), **origin}
            if backend == ENGINE:
                made_from["code"] = part(store.code_behind(store.asked(specs)))
            whole = Part(kind, backend, experiment, label, tuple(specs), windows_s, store_of(layout), made_from)
            # a kill of the guest loses one run, not all runs of an algorithm
            one_by_one = (replicates(whole, spec.replicate, spec.replicate + 1) for spec in specs)
            found += one_by_one if backend == GUEST else [whole]
    return found


def replicates(whole: Part, first: int, end: int) -> Part:
    """A part with only the replicates from ``first`` to before ``end`` of another part, stored in a separate shard."""
    specs = tuple(spec for spec in whole.specs if first <= spec.replicate < end)
    own = part([spec.key for spec in specs])
    return replace(whole, specs=specs, replicates=f"_{first}_{end}", made_from={**whole.made_from, "scenarios": own})


def expected_s(each: Part, pkts_per_s: float) -> float:
    """Expected seconds of a part on one core."""
    if each.backend == ENGINE:
        return sum(expected_pkts(spec.scenario) for spec in each.specs) / pkts_per_s
    return simulator(each.backend).estimate_s(each.specs)


def make(config: PaperConfig, wanted: Part) -> None:
    """Run a part and store its results."""
    trace = simulator(wanted.backend).simulate_runs(config, wanted.experiment, wanted.specs)
    wanted.keep(*measured(config, wanted.experiment, trace, wanted.windows_s))


def joined(config: PaperConfig, experiment: str, of_experiment: Iterable[Part]) -> Results:
    """The results of all parts of an experiment, in one table of runs and one of curves."""
    kept = [each.kept() for each in of_experiment]
    curves = [results.curves for results in kept if len(results.curves)]
    return Results(
        concatenated([results.runs for results in kept], [*RUN_COLUMNS, *config.experiments[experiment].measures]),
        concatenated(curves, CURVE_COLUMNS[1:]),
    )


def concatenated(tables: Sequence[pd.DataFrame], columns: Sequence[str] = ()) -> pd.DataFrame:
    """The rows of some tables; without any, an empty table with ``columns``."""
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
