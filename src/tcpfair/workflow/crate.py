"""A finished run as a Workflow Run RO-Crate: the workflow, its inputs and outputs, times and versions.

The crate is a self-contained folder: ``ro-crate-metadata.json`` and copies of all files that it lists, under their names in
the repository. It describes one run on one machine (its times), so it is made only on request and is part of no digest.
Profile: https://w3id.org/ro/wfrun/workflow/0.5.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from tcpfair.errors import InputError
from tcpfair.files.files import whole_folder
from tcpfair.files.manifest import file_hash
from tcpfair.runs import record
from tcpfair.workflow.plan import PUBLISHED, Plan

CRATE = "crate"  # the folder below results/<source>
_PROFILES = {  # that the crate conforms to, by identifier: name and version
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_RO_CRATE = "1.1"  # the version that these profiles extend
_TERMS = "https://w3id.org/ro/terms/workflow-run/context"  # has sha256
_LICENSE = "https://spdx.org/licenses/MIT"
_FORMATS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".md": "text/markdown",
    ".png": "image/png",
    ".smk": "text/plain",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
    ".txt": "text/plain",
    ".yaml": "application/yaml",
}


def write(plan: Plan) -> Path:
    """Write the crate of the run that the plan describes, in place of an earlier one; returns its folder.

    Raises InputError when the run is not finished, or when something has changed since.
    """
    if plan.config.smoke:
        raise InputError("crate: a smoke run has no results for a crate")
    plan.refuse_unfinished("crate", "./reproduce first")
    folder = plan.layout.results / CRATE
    with whole_folder(folder) as scratch:
        _described(plan).write(scratch)
    return folder


def _described(plan: Plan) -> ROCrate:
    """The crate, not yet written."""
    root, cited = plan.root, _citation(plan.root)
    crate = ROCrate(version=_RO_CRATE)
    crate.metadata.extra_contexts.append(_TERMS)
    license_ = _entity(crate, _LICENSE, "CreativeWork", name="MIT License", url=_LICENSE)
    authors = [
        _entity(crate, f"#author-{number}", "Organization", name=author["name"])
        for number, author in enumerate(cited["authors"], 1)
        if "name" in author
    ]
    inputs, outputs = _inputs(plan), _outputs(plan)
    started, ended = _times(outputs)
    crate.name = f"A run of {cited['title']}"
    crate.description = (
        f"Source of the traces: {plan.config.source}; {len(plan.exhibits)} exhibits of {', '.join(plan.papers)}. "
        f"{' '.join(cited['abstract'].split())}"
    )
    crate.datePublished = ended
    crate.license = license_
    crate.root_dataset["author"] = _one_or_many(authors)
    _file(crate, root, root / "README.md")["about"] = crate.root_dataset
    for identifier, (name, number) in _PROFILES.items():
        profile = _entity(crate, identifier, "CreativeWork", name=name, version=number)
        crate.root_dataset.append_to("conformsTo", profile)

    workflow = crate.add_workflow(
        root / "Snakefile",
        "Snakefile",
        main=True,
        lang="snakemake",
        lang_version=version("snakemake"),
        properties={
            "name": "tcpfair: traces, metrics, notebooks, ledger, report",
            "version": cited["version"],
            "encodingFormat": "text/plain",
            "conformsTo": {"@id": "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"},
            "sha256": file_hash(root / "Snakefile"),
        },
    )
    workflow["license"] = license_
    workflow["author"] = workflow["creator"] = _one_or_many(authors)
    rules = sorted(path for path in (root / "workflow").rglob("*") if path.suffix in (".smk", ".yaml"))
    parts = [_file(crate, root, path) for path in [*rules, root / "envs" / "requirements.txt", root / "pyproject.toml"]]
    workflow["hasPart"] = parts

    used = {name: _files(crate, root, paths) for name, paths in inputs.items()}
    made = {name: _files(crate, root, paths) for name, paths in outputs.items()}
    _add_titles(crate, plan, made["figures"])
    workflow["input"] = [_parameter(crate, name, files, _INPUTS[name]) for name, files in used.items() if files]
    workflow["output"] = [_parameter(crate, name, files, _OUTPUTS[name]) for name, files in made.items() if files]
    action = crate.add_action(
        workflow,
        identifier="#run",
        object=[each for files in used.values() for each in files],
        result=[each for files in made.values() for each in files],
        properties={
            "@type": "CreateAction",
            "name": f"tcpfair {cited['version']}, source {plan.config.source}",
            "description": "From the first to the last output that was written; current outputs were not rebuilt.",
            "startTime": started,
            "endTime": ended,
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    )
    crate.root_dataset["mentions"] = action
    return crate


_INPUTS = {
    "configuration": "the requested outputs, and the papers' experiments, every value with its source or its reason",
    "traces": "manifests of the traces: the keys of their runs, the code that made them, hashes of their tables",
    "print": "what results are compared with: published numbers, claims, tolerances",
}
_OUTPUTS = {
    "figures": "figures, tables and the numbers drawn; each figure lists its runs (./reproduce whence FILE)",
    "ledger": "every published number next to the reproduced one, every claim with its verdict",
    "pages": "the report, the executed notebooks, the packet lab",
}


def _inputs(plan: Plan) -> dict[str, list[Path]]:
    """Files that the run read, by the name of the workflow's parameter."""
    marks = [plan.trace_folder(*pair) / "manifest.json" for pair in plan.experiments]
    configuration = [plan.layout.results / "config.json", *(plan.layout.paper_config(paper) for paper in plan.papers)]
    if plan.is_raw:
        return {"configuration": [*configuration, plan.layout.config / "raw.yaml"], "traces": plan.recordings}
    kinds = (".csv", ".yaml")
    compared = [path for path in plan.data_files(PUBLISHED) if path.suffix in kinds]
    return {"configuration": configuration, "traces": marks, "print": compared}


def _outputs(plan: Plan) -> dict[str, list[Path]]:
    """Files that the run made, by the name of the workflow's parameter."""
    pages = [path for path in plan.made if path.suffix in (".html", ".ipynb")]
    return {
        "figures": [plan.root / name for found in record.read_all(plan.layout).values() for name in found.files],
        "ledger": [path for path in plan.made if path.parent == plan.layout.ledger],
        "pages": [path for path in pages if not path.is_relative_to(plan.layout.figures(""))],
    }


def _times(outputs: Mapping[str, Iterable[Path]]) -> tuple[str, str]:
    """When the first and the last output were written."""
    times_s = [path.stat().st_mtime for paths in outputs.values() for path in paths if path.is_file()]
    first, last = (
        datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds") for time_s in (min(times_s), max(times_s))
    )
    return first, last


def _citation(root: Path) -> dict[str, Any]:
    """Title, abstract, version and authors of CITATION.cff."""
    path = root / "CITATION.cff"
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {name: found[name] for name in ("title", "abstract", "version", "authors")}
    except (OSError, yaml.YAMLError, KeyError, TypeError):
        raise InputError(f"{path}: must have title, abstract, version and authors; restore the file") from None


def _entity(crate: ROCrate, identifier: str, kind: str, **properties: Any) -> ContextEntity:
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **properties}))


def _one_or_many(entities: Sequence[Any]) -> Any:
    """A single entity without a list, as RO-Crate requires."""
    return entities[0] if len(entities) == 1 else list(entities)


def _files(crate: ROCrate, root: Path, paths: Sequence[Path]) -> list[Any]:
    return [_file(crate, root, path) for path in dict.fromkeys(paths) if path.is_file()]


def _file(crate: ROCrate, root: Path, path: Path) -> Any:
    """A file of the crate, under its name in the repository; one from elsewhere below data/raw."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else f"data/raw/{path.name}"
    properties = {"name": name, "contentSize": str(path.stat().st_size), "sha256": file_hash(path)}
    if path.suffix in _FORMATS:
        properties["encodingFormat"] = _FORMATS[path.suffix]
    return crate.add_file(path, name, properties=properties)


def _add_titles(crate: ROCrate, plan: Plan, files: Iterable[Any]) -> None:
    """Give the files of each exhibit its title."""
    titles = {exhibit.id: exhibit.title for _, exhibit in plan.exhibits}
    of_file = {name: found for found in record.read_all(plan.layout).values() for name in found.files}
    for file in files:
        found = of_file.get(file["name"])
        if found is not None and found.exhibit in titles:
            file["about"] = _entity(crate, f"#{found.exhibit}", "CreativeWork", name=titles[found.exhibit])


def _parameter(crate: ROCrate, name: str, files: Sequence[Any], description: str) -> ContextEntity:
    """A parameter of the workflow, with its files."""
    parameter = _entity(
        crate,
        f"#{name}",
        "FormalParameter",
        additionalType="File",
        name=name,
        description=description,
        conformsTo={"@id": "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"},
    )
    parameter["workExample"] = _one_or_many(files)
    for file in files:
        file["exampleOfWork"] = parameter
    return parameter


def summary(folder: Path) -> str:
    """One line about a written crate."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    entities = json.loads((folder / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    size_mb = sum(path.stat().st_size for path in files) / 1e6
    return f"{len(files)} files, {size_mb:.1f} MB, {len(entities)} entities"
