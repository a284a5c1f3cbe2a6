"""Shipped data: rewriting ``data/bundled`` from the engine, checksums, checks.

If a rewrite is killed, every trace is the old one or the new one. Unfinished files are in scratch folders, which are never
data (`restore_interrupted` removes them).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tcpfair.errors import InputError, unknown
from tcpfair.files import checksums
from tcpfair.files.files import discard_scratch, is_scratch, whole, whole_folder
from tcpfair.files.layout import PAPERS, Layout
from tcpfair.files.manifest import MANIFEST, SHARED, read_manifest, write_manifest
from tcpfair.papers.expand import run_specs
from tcpfair.runs import store
from tcpfair.workflow.plan import Plan

_WORTH_SHARING_BYTES = 100_000


def chosen(plan: Plan, experiment: str | None) -> list[tuple[str, str]]:
    """(paper, experiment) for ``loss_sweep``, ``ogura/loss_sweep`` or ``ogura.loss_sweep``; None = all."""
    if experiment is None:
        return plan.experiments
    wanted = tuple(experiment.replace("/", ".").split("."))
    found = [pair for pair in plan.experiments if wanted in (pair, pair[1:])]
    if not found:
        raise unknown("experiment", experiment, ["/".join(pair) for pair in plan.experiments])
    return found


def ship(plan: Plan, pairs: list[tuple[str, str]]) -> list[str]:
    """Copy simulated traces to ``data/bundled``, each atomically and only if it differs; returns what changed.

    A table that another shipped trace has too (two papers publish the same runs) is shipped once: the manifest's ``shared``
    names the trace that has it.
    """
    rewritten = []
    for paper, experiment in pairs:
        name = f"{paper}/{experiment}"
        made, shipped = plan.trace_folder(paper, experiment), plan.layout.bundled(paper, experiment)
        manifest = read_manifest(made)
        known = _shipped_manifests(plan.layout)
        if {**known.get(name, {}), SHARED: None} == {**manifest, SHARED: None}:
            continue
        _give_back(plan.layout, known, name)
        shared = _found_elsewhere(_shipped_manifests(plan.layout), name, manifest["files"], made)
        with whole_folder(shipped) as scratch:
            for file in manifest["files"]:
                if file not in shared:
                    shutil.copyfile(made / file, scratch / file)
            write_manifest(manifest | ({SHARED: shared} if shared else {}), scratch)
        rewritten.append(name)
    checksums.update(plan.layout.data, [plan.layout.bundled_root])
    return rewritten


def restore_interrupted(layout: Layout) -> None:
    """After a killed rewrite, restore a trace that had been moved away and not yet replaced, and remove scratch files."""
    for paper in sorted(layout.bundled_root.glob("*")):
        for old in paper.glob(".*.old.new") if paper.is_dir() else ():
            shipped = paper / old.name[1:].rpartition("-")[0]
            if not shipped.exists():
                old.rename(shipped)
    for place in (layout.data, *layout.bundled_root.glob("*"), *layout.bundled_root.glob("*/*")):
        discard_scratch(place)


def _shipped_manifests(layout: Layout) -> dict[str, dict]:
    """The manifests of all shipped traces by ``paper/experiment``."""
    folders = sorted(path.parent for path in layout.bundled_root.glob(f"*/*/{MANIFEST}"))
    named = ((folder, folder.relative_to(layout.bundled_root)) for folder in folders)
    return {name.as_posix(): read_manifest(folder) for folder, name in named if not is_scratch(name)}


def _found_elsewhere(known: dict[str, dict], own: str, files: dict[str, str], made: Path) -> dict[str, str]:
    """The large ones of a trace's ``files`` (name: hash) that another trace ships as its own -> that trace."""
    owners = {
        (name, sha): owner
        for owner, manifest in known.items()
        if owner != own
        for name, sha in manifest["files"].items()
        if name not in manifest.get(SHARED, {})
    }
    return {
        name: owners[name, sha]
        for name, sha in files.items()
        if (name, sha) in owners and (made / name).stat().st_size >= _WORTH_SHARING_BYTES
    }


def _give_back(layout: Layout, known: dict[str, dict], owner: str) -> None:
    """Before ``owner`` is rewritten, give the traces that share its tables separate copies."""
    for other, manifest in known.items():
        lent = [name for name, whose in manifest.get(SHARED, {}).items() if whose == owner]
        for name in lent:
            with whole(layout.bundled_root / other / name) as scratch:
                shutil.copyfile(layout.bundled_root / owner / name, scratch)
        if lent:
            kept = {name: whose for name, whose in manifest[SHARED].items() if name not in lent}
            own = {key: value for key, value in manifest.items() if key != SHARED}
            write_manifest(own | ({SHARED: kept} if kept else {}), layout.bundled_root / other)


# --- Faults -------------------------------------------------------------------------------------------------------


def faults(root: Path) -> list[str]:
    """Faults of the shipped data, one line each: files are checked by checksums, results by the configuration."""
    from tcpfair.runs import ensemble_table
    from tcpfair.validation import scenarios, shipped

    layout = Layout(root, "bundled")
    found = checksums.differing(layout.data)
    for made in store.shipped(layout):
        found += _trace_faults(layout, *made)
    found += ensemble_table.stale_lines(layout, PAPERS)
    if layout.validated.is_dir():
        found += shipped.faults(layout, scenarios.load(layout.validation_config))
    for kind in (scenarios.KERNEL, scenarios.GUEST):
        if scenarios.config_file(layout, kind).is_file():
            found += shipped.faults(layout, scenarios.config_of(layout, kind))
    return [line.replace(f"{root}/", "") for line in found]


def _trace_faults(layout: Layout, config, experiment: str, folder: Path) -> list[str]:
    """Faults of one shipped trace: it cannot be read, or is not what the configuration requests."""
    from tcpfair.runs import trace  # imports pandas, and every command imports this module

    try:
        held = trace.read(folder)
        specs = run_specs(config, experiment)
        runs = store.asked(specs)
        available = store.held(store.manifest_of(layout, folder), runs)
    except InputError as error:
        return [str(error)]
    if len(available) == len(runs) == len(held.runs):
        return []
    why = "; ".join(store.differences(layout, config, experiment, specs)[:3]) or "other runs"
    place = folder.relative_to(layout.root)
    return [f"{place}: holds {len(available)} of the {len(runs)} requested runs ({why})"]
