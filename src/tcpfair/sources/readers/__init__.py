"""Readers of other tools' recordings; `tcpfair.sources.readers.observed` defines what a reader is and returns.

`observe` selects the reader of each file, `read_any` makes one trace of their flows. Values that a recording lacks are
NaN or empty. A reader refuses damaged, missing or contradictory content with an InputError of one line.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tcpfair.errors import InputError, printable, unknown
from tcpfair.files.checksums import CHECKSUMS
from tcpfair.papers.recordings import SIDECAR, sidecar_path
from tcpfair.runs.trace import Trace
from tcpfair.sources.readers import (
    flent,
    flowmonitor,
    iperf3,
    mahimahi,
    ns2_trace,
    patterns,
    pcap,
    plain,
    ss,
    tcp_info,
    tcp_probe,
    testbed,
    tshark,
)
from tcpfair.sources.readers.compose import compose
from tcpfair.sources.readers.merge import GOODPUT, merged
from tcpfair.sources.readers.observed import Observed
from tcpfair.sources.readers.sidecar import Sidecar, load_sidecar
from tcpfair.sources.readers.unrecognised import refusal

# a testbed run is a folder of other tools' files too, so it is tried first; ns-2 leaves events and variables in two files
FOLDERS = (testbed, ns2_trace)
# `plain` is last: it reads any table that no other reader recognises
FILES = (pcap, iperf3, flent, flowmonitor, tcp_info, tcp_probe, ss, tshark, mahimahi, ns2_trace, patterns, plain)
READERS = (testbed, *FILES)
MAX_FILES = 10_000
# files that are not recordings; listed as unused
_ASIDE = re.compile(r"readme.*|licen[cs]e.*|.*sums|notes?(\..*)?|\..*", re.IGNORECASE)


def read_any(path: Path) -> Trace:
    """The recording at ``path``, a file or a folder, with its trace.yaml, as one trace. Raises InputError as `observe` does."""
    said = load_sidecar(path)
    return compose(observe(path, said), said, path)


def observe(path: Path, said: Sidecar) -> Observed:
    """The recording in a file or in all files of a folder. Raises InputError in one line."""
    try:
        by_tool = _by_tool(path, said)
    except InputError as error:
        raise InputError(_with_sidecar(str(error), path)) from None
    found = merged(by_tool) if len(by_tool) > 1 else next(iter(by_tool.values()))
    return replace(
        found,
        provenance={**found.provenance, "format": "+".join(by_tool)},
        flows=tuple(replace(flow, name=printable(flow.name)) for flow in found.flows),
        remarks=tuple(printable(_with_sidecar(remark, path)) for remark in found.remarks),
    )


def _with_sidecar(text: str, path: Path) -> str:
    """``text`` with the name of the recording's sidecar: readers write the name that it has in a folder."""
    return re.sub(rf"(?<![\w.]){re.escape(SIDECAR)}", lambda _: sidecar_path(path).name, text)


def _by_tool(path: Path, said: Sidecar) -> dict[str, Observed]:
    """The results of the readers of a recording's files, by reader."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    for entry in path.iterdir() if path.is_dir() else [path]:
        _refuse_what_is_no_file(entry, path)
    by_name = {reader.NAME: reader for reader in READERS}
    chosen = by_name.get(said.format)
    if said.format is not None and chosen is None:
        raise unknown(f"{sidecar_path(path)}: format", said.format, by_name)
    whole = next((reader for reader in FOLDERS if chosen in (None, reader) and reader.sniff(path)), None)
    if whole:
        return {whole.NAME: whole.read(path, said)}
    files, aside = _files(path)
    stated = plain if said.columns.model_fields_set else patterns if said.pattern else None
    if chosen not in (None, stated):
        stated = None
    readers = [reader for reader in FILES if chosen in (None, reader)]
    found = {file: next((reader for reader in readers if reader.sniff(file)), stated) for file in files}
    of_others = [file for file, reader in found.items() if reader is None]
    if of_others and chosen is None:
        raise refusal(of_others[0], sidecar_path(path).name)
    if of_others and len(of_others) == len(files):
        raise InputError(
            f"{of_others[0]}: not of {chosen.NAME}, which is the format in {sidecar_path(path)}: {chosen.ACCEPTS}"
        )
    names = sorted({reader.NAME for reader in found.values() if reader})
    if len(names) > 1 and not set(names) <= set(GOODPUT):
        raise InputError(
            f"{path}: files of several formats; choose one of {', '.join(names)} as format in {sidecar_path(path)}"
        )
    if not names:
        raise InputError(f"{path}: an empty folder; put the files of one recording there")
    unused = [file.name for file in (*aside, *of_others) if file.name not in (CHECKSUMS, "LICENSE")]
    remarks = (f"{testbed.UNUSED}: {', '.join(unused)}",) if unused else ()
    return {
        name: _together(
            [reader.read(file, said) for file, reader in found.items() if reader and name == reader.NAME], path, remarks
        )
        for name in names
    }


def _files(path: Path) -> tuple[list[Path], list[Path]]:
    """The files of a recording, sorted by name, and the other files."""
    if not path.is_dir():
        return [path], []
    entries = sorted(entry for entry in path.iterdir() if not entry.name.endswith(SIDECAR))
    if len(entries) > MAX_FILES:
        raise InputError(f"{path}: {len(entries)} files; give a folder of at most {MAX_FILES}")
    aside = [entry for entry in entries if _ASIDE.fullmatch(entry.name)]
    files = [entry for entry in entries if entry not in aside]
    for folder in filter(Path.is_dir, files):
        raise InputError(f"{folder}: a folder in a recording; give the files of one recording in one folder")
    return files, aside


def _refuse_what_is_no_file(entry: Path, folder: Path) -> None:
    """Refuse pipes, which may be endless, and links, which may point to private files."""
    if not (entry.is_file() or entry.is_dir()):
        raise InputError(f"{entry}: neither a file nor a folder; give the files of one recording")
    if entry.is_symlink() and not entry.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{entry}: a link to somewhere else; put the file itself there")


def _together(parts: list[Observed], path: Path, remarks: tuple[str, ...]) -> Observed:
    """The files of a folder as one recording with further remarks, each flow's name beginning with its file's if several."""
    first = parts[0]
    if len(parts) == 1:
        return replace(first, remarks=(*first.remarks, *remarks))
    parameters: dict[str, float] = {}
    for part in parts:
        for name, value in part.parameters.items():
            if parameters.setdefault(name, value) != value:
                raise InputError(
                    f"{first.files[0]}: {name}: {value:g}, but {parameters[name]:g} in another file of {path}"
                )
    linked = [part for part in parts if part.link is not None]
    if len(linked) > 1:
        raise InputError(f"{linked[1].files[0]}: a second description of the link in {path}; give one")
    flows = [
        replace(
            flow,
            name=flow.name if flow.name.startswith(flow.file.name) else f"{flow.file.name}#{flow.name}",
            offset_s=None if part.has_own_zero else flow.offset_s,
        )
        for part in parts
        for flow in part.flows
    ]
    return Observed(
        backend=first.backend,
        flows=tuple(flows),
        files=tuple(file for part in parts for file in part.files),
        parameters=parameters,
        link=linked[0].link if linked else None,
        provenance={name: text for part in parts for name, text in part.provenance.items()},
        remarks=(*dict.fromkeys(text for part in parts for text in part.remarks), *remarks),
    )
