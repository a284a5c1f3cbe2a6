"""Shipped data: rewriting ``data/bundled`` from the engine, accepting a new baseline, checking what is shipped."""

from __future__ import annotations

import shutil
from pathlib import Path

from tcpfair.contract.expand import run_specs
from tcpfair.contract.layout import PAPERS, Layout
from tcpfair.contract.manifest import MANIFEST, SHARED, file_hash, read_manifest, write_manifest
from tcpfair.contract.papers import PaperConfig, load_paper
from tcpfair.contract.scenario import digest
from tcpfair.errors import InputError
from tcpfair.workflow.plan import Plan

CHECKSUMS = "SHA256SUMS"  # as `sha256sum --check` reads it
_WORTH_SHARING_BYTES = 100_000


def chosen(plan: Plan, experiment: str | None) -> list[tuple[str, str]]:
    """(paper, experiment) for ``loss_sweep``, ``ogura/loss_sweep`` or ``ogura.loss_sweep``; None = all."""
    if experiment is None:
        return plan.experiments
    wanted = tuple(experiment.replace("/", ".").split("."))
    found = [pair for pair in plan.experiments if wanted in (pair, pair[1:])]
    if not found:
        known = ", ".join("/".join(pair) for pair in plan.experiments)
        raise InputError(f"experiment {experiment!r}: unknown; known are {known}")
    return found


def ship(plan: Plan, pairs: list[tuple[str, str]]) -> list[str]:
    """Copy simulated traces to ``data/bundled``, each as a whole and only when it differs; returns what changed.

    A table that another shipped trace has too (the papers print the same runs) is not shipped twice: the manifest's
    ``shared`` says whose it is.
    """
    rewritten = []
    for paper, experiment in pairs:
        made, shipped = plan.layout.trace(paper, experiment), plan.layout.bundled(paper, experiment)
        manifest = read_manifest(made)
        known = _shipped_manifests(plan.layout)
        if {**known.get(f"{paper}/{experiment}", {}), SHARED: None} == {**manifest, SHARED: None}:
            continue
        _give_back(plan.layout, known, f"{paper}/{experiment}")
        shared = _found_elsewhere(_shipped_manifests(plan.layout), f"{paper}/{experiment}", manifest["files"], made)
        scratch = shipped.with_name(f".{shipped.name}.new")
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(made, scratch, ignore=shutil.ignore_patterns("*.stamp", *shared))
        if shared:
            write_manifest(manifest | {SHARED: shared}, scratch)
        shutil.rmtree(shipped, ignore_errors=True)
        scratch.rename(shipped)
        rewritten.append(f"{paper}/{experiment}")
    write_checksums(plan.layout.data)
    return rewritten


def _shipped_manifests(layout: Layout) -> dict[str, dict]:
    """The manifests of all shipped traces by ``paper/experiment``."""
    folders = sorted(path.parent for path in layout.bundled_root.glob(f"*/*/{MANIFEST}"))
    return {folder.relative_to(layout.bundled_root).as_posix(): read_manifest(folder) for folder in folders}


def _found_elsewhere(known: dict[str, dict], own: str, files: dict[str, str], made: Path) -> dict[str, str]:
    """Those of a trace's ``files`` (name: hash) that another trace ships as its own, and which; small ones are left alone."""
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
    """Before ``owner`` is rewritten: those that share a table of it get a copy of their own."""
    for other, manifest in known.items():
        lent = [name for name, whose in manifest.get(SHARED, {}).items() if whose == owner]
        for name in lent:
            shutil.copyfile(layout.bundled_root / owner / name, layout.bundled_root / other / name)
        if lent:
            kept = {name: whose for name, whose in manifest[SHARED].items() if name not in lent}
            own = {key: value for key, value in manifest.items() if key != SHARED}
            write_manifest(own | ({SHARED: kept} if kept else {}), layout.bundled_root / other)


def accept(layout: Layout) -> list[str]:
    """Make today's numbers and verdicts the baseline in ``data/expected``; returns the papers."""
    from tcpfair.verdicts import baseline

    papers = baseline.accept(layout)
    write_checksums(layout.data)
    return papers


def shipped_files(data: Path) -> list[Path]:
    """Every file that the repository ships below ``data/``; what users put into ``raw/`` is theirs."""
    files = (path for path in sorted(data.rglob("*")) if path.is_file() and path.name != CHECKSUMS)
    hidden = (".", "raw")
    return [p for p in files if not p.relative_to(data).as_posix().startswith(hidden) or "raw/examples" in p.as_posix()]


def write_checksums(data: Path) -> None:
    """List the SHA-256 of every shipped file in ``data/SHA256SUMS``."""
    lines = [f"{file_hash(path)}  {path.relative_to(data).as_posix()}\n" for path in shipped_files(data)]
    (data / CHECKSUMS).write_text("".join(lines))


def faults(root: Path) -> list[str]:
    """What is wrong with the shipped data, one line each: files against checksums, results against the configuration."""
    from tcpfair.validation import scenarios, shipped

    layout = Layout(root, "bundled")
    sums = layout.data / CHECKSUMS
    listed = dict(reversed(line.split("  ", 1)) for line in sums.read_text().splitlines()) if sums.is_file() else {}
    present = {path.relative_to(layout.data).as_posix(): path for path in shipped_files(layout.data)}
    found = [f"data/{name}: missing; data/{CHECKSUMS} lists it" for name in sorted(set(listed) - set(present))]
    found += [f"data/{name}: not listed in data/{CHECKSUMS}" for name in sorted(set(present) - set(listed))]
    for name in sorted(set(present) & set(listed)):
        if file_hash(present[name]) != listed[name]:
            found.append(f"data/{name}: differs from its checksum in data/{CHECKSUMS}")
    for paper in PAPERS:
        config = load_paper(layout.paper_config(paper))
        for experiment in config.experiments:
            folder = layout.trace(paper, experiment)
            if folder.is_dir() and not belongs(read_manifest(folder), config, experiment):
                found.append(
                    f"{folder.relative_to(root)}: made from other scenarios than config/papers/{paper}.yaml has"
                )
    if layout.validated.is_dir():
        found += shipped.faults(layout, scenarios.load(layout.validation_config))
    return found


def belongs(manifest: dict, paper: PaperConfig, experiment: str) -> bool:
    """True when a trace was made from the scenarios that the configuration gives for its experiment now."""
    return manifest.get("scenarios") == digest(sorted(spec.scenario.digest for spec in run_specs(paper, experiment)))
