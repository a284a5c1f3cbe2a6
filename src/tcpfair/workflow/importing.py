"""``./reproduce import``: reads and checks a recording once and writes it as a trace below data/raw, with what was inferred.

`trace_of` reads, `write_recorded` writes; everything else works on the trace. ``--anonymise`` is
`tcpfair.runs.recorded.anonymised`. Recordings that stay in their place (the shipped examples, ``trace=PATH``, files that
users put into data/raw) are read once into a trace below results (`read_once`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml

from tcpfair.errors import InputError, printable
from tcpfair.files.digests import digest
from tcpfair.files.files import whole_folder, write_whole
from tcpfair.files.layout import Layout
from tcpfair.files.manifest import file_hash, read_manifest
from tcpfair.measures.resolution import left_out
from tcpfair.measures.runs import means_mbps
from tcpfair.papers.recordings import SIDECAR, name_of, sidecar_path
from tcpfair.runs import trace as traces
from tcpfair.runs.recorded import UNKNOWN_CC, anonymised, open_recorded, stated, with_names
from tcpfair.runs.sidecar import Said, SaidLink, is_trace, load_said, trace_place
from tcpfair.runs.strange_trace import read_strange
from tcpfair.runs.trace import Trace
from tcpfair.sources.readers import observe
from tcpfair.sources.readers.compose import as_recorded
from tcpfair.sources.readers.sidecar import load_sidecar
from tcpfair.units import MS_PER_S

LICENCE = """This recording was anonymised and is shared under the Creative Commons Attribution 4.0 International licence
(SPDX: CC-BY-4.0). Times count from its beginning; names, addresses and ports are not the original's.
"""
_KEPT = ("examples", "README.md")  # in data/raw, but no recordings of the user
_HEADER = (
    "# Facts about this recording; correct what is wrong. data/raw/README.md explains each line.\n"
    "# A line that begins with # was inferred: remove the # to state it.\n"
)


# --- Reading once -------------------------------------------------------------------------------------------------------


def trace_of(path: Path) -> tuple[Trace, Said]:
    """A recording without statements applied, and its statements; from a trace, or from a tool's own files.

    Raises InputError with one line.
    """
    if is_trace(path):
        recorded = with_names(read_strange(path), path)
        if len(recorded.runs) > 1:
            shows = f"./reproduce --config source=raw trace={path} shows one"
            raise InputError(f"{path}: {len(recorded.runs)} runs; {shows}")
        return recorded, load_said(path)
    said = load_sidecar(path)
    observed = observe(path, said)
    recorded = as_recorded(observed, said, path)
    native = [
        {"name": printable(file.name), "sha256": file_hash(file), "bytes": file.stat().st_size}
        for file in observed.files
    ]
    told = said.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    return replace(recorded, provenance={**recorded.provenance, "native": native, "said": told}), said.of_trace


def look(path: Path) -> Trace:
    """A recording, read and checked in its place, with its statements applied. Raises InputError with one line."""
    return stated(*trace_of(path), path)


def read_once(layout: Layout, path: Path) -> Path:
    """The folder of the trace of a recording that stays in its place; reads the recording the first time.

    If two processes read it at the same time, the first one writes the folder. Raises InputError with one line.
    """
    folder = trace_place(layout.root, path)
    is_left = folder.exists()
    if not is_trace(folder):
        write_recorded(*trace_of(path), folder, path, replaces=is_left)
    return folder


def write_recorded(
    recorded: Trace, said: Said, folder: Path, path: Path, text: str = "", licence: str = "", replaces: bool = True
) -> None:
    """Write a trace and its trace.yaml (``text``, or ``said`` and what was inferred) to ``folder``, and read it back.

    Errors name the recording ``path``; ``replaces`` as in `whole_folder`. Raises InputError, without changes, for statements
    that contradict the recording.
    """
    stated(recorded, said, path)
    with whole_folder(folder, replaces) as scratch:
        traces.write(recorded, scratch)
        text = text or _sidecar_text(stated(recorded, said, scratch), said)
        (scratch / SIDECAR).write_text(text, encoding="utf-8")
        if licence:
            (scratch / "LICENSE").write_text(licence, encoding="utf-8")
        open_recorded(scratch, path)


# --- Into data/raw ------------------------------------------------------------------------------------------------------


def bring(
    layout: Layout, path: Path, name: str = "", anonymise: bool = False, replace: bool = False
) -> tuple[Path, Trace]:
    """Read a recording into a trace in ``data/raw/NAME``; returns its folder and the trace as read from there.

    A recording that is in data/raw already gets a trace.yaml and stays. Raises InputError with one line when the recording is
    refused, and when another one has the name (``replace`` replaces it).
    """
    raw = layout.data / "raw"
    if Path(os.path.realpath(path)).parent == raw.resolve() and not anonymise and not name:
        trace, said = open_recorded(read_once(layout, path), path)
        if not sidecar_path(path).exists():
            write_whole(sidecar_path(path), _sidecar_text(trace, said, is_native=not is_trace(path)))
        return path, trace
    recorded, said = trace_of(path)
    oddities = stated(recorded, said, path).provenance["remarks"]
    if anonymise:
        recorded, said = anonymised(recorded, said)
        name = name or _anonymous_name(recorded, said)  # the folder's name may identify a person
    name = name or name_of(path)
    if name != name_of(Path(name)) or name in _KEPT:
        give = f"use letters, digits, '.', '_', '+' and '-', and none of {', '.join(_KEPT)}"
        raise InputError(f"--name: {name!r}: {give}")
    folder, text = raw / name, ""
    if folder.exists() and not replace:
        if not _is_same(folder, recorded):
            instead = "choose --name, or --replace it"
            raise InputError(f"{os.path.relpath(folder)}: contains another recording; {instead}")
        said_before = read_manifest(folder).get("said", {})
        if sidecar_path(folder).is_file() and said_before == recorded.provenance.get("said", {}):
            said, text = load_said(folder), sidecar_path(folder).read_text(encoding="utf-8")  # corrected since
    write_recorded(recorded, said, folder, path, text, LICENCE if anonymise else "")
    trace = look(folder)
    if anonymise:
        trace.provenance["remarks"] = oddities  # only printed, for the owner of the original
    return folder, trace


def _anonymous_name(recorded: Trace, said: Said) -> str:
    tables = {name: table.to_csv(index=False) for name, table in recorded.tables.items()}
    return f"{name_of(Path(recorded.provenance['backend']))}-{digest([tables, said.model_dump(mode='json')])[:8]}"


def _is_same(folder: Path, recorded: Trace) -> bool:
    """Whether a folder contains the same recording: the trace of the same files, or the same tables."""
    if not is_trace(folder):
        return False
    if native := recorded.provenance.get("native"):
        held = read_manifest(folder).get("native", [])
        return sorted(each["sha256"] for each in native) == sorted(each["sha256"] for each in held)
    own, held = (
        {name: traces.in_schema(name, table).to_pandas() for name, table in each.tables.items()}
        for each in (recorded, read_strange(folder))
    )
    return own.keys() == held.keys() and all(table.equals(held[name]) for name, table in own.items())


# --- trace.yaml ---------------------------------------------------------------------------------------------------------


def _sidecar_text(shown: Trace, said: Said, is_native: bool = False) -> str:
    """The trace.yaml of a recording: statements as data, inferred values as comments.

    ``is_native``: next to a tool's own files, where starts can be stated too.
    """
    told = said.model_dump(exclude_defaults=True, exclude_none=True)
    lines = [_HEADER, *(f"# {remark}\n" for remark in shown.provenance.get("remarks", []))]
    if told:
        lines.append(yaml.safe_dump(told, sort_keys=False, allow_unicode=True))
    run = shown.runs.iloc[0]
    if "link" not in told:
        lines.append("# link:\n")
        for name, field in SaidLink.model_fields.items():
            if name == "buffer_pkts" and "buffer_bytes" in run:  # only one of the two is allowed
                continue
            known = f"{run[name]:.12g}" if name in run and np.isfinite(run[name]) else ""
            lines.append(f"#   {name}: {known}  # {field.description}\n")
    if "flows" not in told:
        lines.append(
            f"# flows:{' # with leave_out: true, a flow is not part of the experiment' if is_native else ''}\n"
        )
        for name, flow in zip(shown.provenance["names"], shown.flows.itertuples(), strict=True):
            quoted = yaml.safe_dump(name, allow_unicode=True).splitlines()[0]
            rtt = f"{flow.rtt_s:.6g}" if np.isfinite(flow.rtt_s) else ""
            cc = "" if flow.cc == UNKNOWN_CC else flow.cc
            start = f"#     start_s: {flow.start_s:.6g}\n" if is_native else ""
            lines.append(f"#   - flow: {quoted}\n#     protocol: {cc}\n#     rtt_s: {rtt}\n{start}")
    return "".join(lines)


# --- Summary ------------------------------------------------------------------------------------------------------------


def told(path: Path, trace: Trace, interval_s: float | None = None) -> list[str]:
    """A summary of the recording at ``path`` in lines: flows, remarks, and measures that it lacks.

    ``interval_s`` is the interval that its measures need, from config/raw.yaml.
    """
    run, flows = trace.runs.iloc[0], trace.flows
    intervals = f"{run['duration_s']:g} s, recorded every {trace.resolution_s:g} s"
    lines = [f"read       {os.path.relpath(path)}: {run['backend']}, {len(flows)} flows, {intervals}"]
    rates_mbps = means_mbps(trace)
    for name, flow in zip(trace.provenance["names"], flows.itertuples(), strict=True):
        rtt = f"{flow.rtt_s * MS_PER_S:.4g} ms" if np.isfinite(flow.rtt_s) else "not recorded"
        when = f"from {flow.start_s:g} to {flow.stop_s:g} s"
        rate = f"{rates_mbps[flow.flow_id]:.4g} Mb/s"
        lines.append(f"flow {flow.flow_id:<5} {name}: {flow.protocol} {when}, {rate}, RTT {rtt}")
    notes = [*trace.provenance["remarks"], left_out(trace.resolution_s, interval_s) if interval_s else ""]
    if "capacity_bps" not in run:
        notes.append("the rate of the link is not recorded; state it as link: capacity_bps")
    return [printable(line) for line in (*lines, *(f"note       {note}" for note in notes if note))]


def chosen(layout: Layout, paths: Sequence[Path], name: str) -> list[Path]:
    """The recordings to import: those named, or by default all in data/raw except the examples."""
    if name and len(paths) != 1:
        raise InputError("--name: requires one PATH")
    if paths:
        return list(paths)
    raw = layout.data / "raw"
    names = sorted(path.name for path in raw.iterdir())
    found = [raw / name for name in names if not (name in _KEPT or name.startswith(".") or name.endswith(SIDECAR))]
    if not found:
        raise InputError(
            f"nothing in {os.path.relpath(raw)} yet; put recordings there, or name them: ./reproduce import PATH..."
        )
    return found
