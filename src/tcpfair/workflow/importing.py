"""``./reproduce import``: recordings are read and checked first, then copied below data/raw with what was inferred, then shown.

A copy is read again before it takes its place, and must give the same numbers; nothing that is there is replaced by what is
refused. ``--anonymise`` has every file rewritten by its reader (`tcpfair.sources.readers.anonymous`).
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from tcpfair.contract.checksums import CHECKSUMS
from tcpfair.contract.files import whole_folder, write_whole
from tcpfair.contract.layout import Layout
from tcpfair.contract.recordings import SIDECAR, name_of, sidecar_path
from tcpfair.contract.trace import Trace
from tcpfair.errors import InputError, printable
from tcpfair.measures.resolution import left_out
from tcpfair.measures.runs import means_mbps
from tcpfair.sources.readers import UNUSED, anonymised, observe
from tcpfair.sources.readers.anonymous import Anonymous
from tcpfair.sources.readers.compose import compose
from tcpfair.sources.readers.observed import UNKNOWN_CC, Observed, ObservedFlow
from tcpfair.sources.readers.sidecar import SaidLink, Sidecar, load_sidecar
from tcpfair.units import MS_PER_S

LICENCE = """This recording was anonymised and is shared under the Creative Commons Attribution 4.0 International licence
(SPDX: CC-BY-4.0). Times were shifted so that it begins on 2000-01-01; addresses, ports, names and payload are not the original's.
"""
_TELLING = (
    "self_pairs",
    "columns",
    "units",
)  # of a trace.yaml: other recordings' paths, and columns that the copy has not
_KEPT = ("examples", "README.md")  # of data/raw, no recordings of the user
CLOCK_S = 2e-6  # resolution of a wall clock in a float, and of most tools
EDGE_BYTES = 4096  # two packets: what comes within that at the edge of an interval, and may change sides
_HEADER = (
    "# What is known of this recording; correct what is wrong. data/raw/README.md says what each line means.\n"
    "# A line that begins with # was inferred: take the # away to state it.\n"
)


@dataclass(frozen=True)
class Found:
    """A recording that was read and checked."""

    path: Path
    said: Sidecar
    observed: Observed
    trace: Trace


def look(path: Path) -> Found:
    """Read and check a recording where it lies. Raises InputError with one line."""
    said = load_sidecar(path)
    observed = observe(path, said)
    return Found(path, said, observed, compose(observed, said, path))


def bring(
    layout: Layout, path: Path, name: str = "", anonymise: bool = False, replace: bool = False
) -> tuple[Path, Found]:
    """Copy a recording to ``data/raw/NAME`` and return the copy, read and checked again.

    A recording that lies in data/raw already gets its trace.yaml and stays. Raises InputError with one line when it is refused,
    when the name is taken by another (``replace`` puts it in its place), and when the copy gives other numbers.
    """
    found = look(path)
    raw = layout.data / "raw"
    if path.resolve().parent == raw.resolve() and not anonymise and not name:
        return path, _with_sidecar(found)
    if anonymise:
        content = _anonymous_files(found)
        digest = hashlib.sha256(b"".join(content.values())).hexdigest()[:8]
        name = name or f"{found.observed.backend}-{digest}"  # the folder's own name may be a person's
    else:
        content = {printable(file.name.lstrip(".")): file for file in found.observed.files}
    folder = raw / _name(name or name_of(path), raw)
    if folder.exists() and not replace and not _is_same(folder, content):
        raise InputError(f"{_shown(folder)}: is there already, with another recording; choose --name, or --replace it")
    with whole_folder(folder) as scratch:
        for file_name, source in content.items():
            target = scratch / file_name
            target.write_bytes(source) if isinstance(source, bytes) else shutil.copyfile(source, target)
        names = _pseudonyms(found, scratch) if anonymise else {}
        (scratch / SIDECAR).write_text(_sidecar_text(found, names), encoding="utf-8")
        if anonymise:
            (scratch / "LICENSE").write_text(LICENCE, encoding="utf-8")
        _write_sums(scratch)
        copy = look(scratch)
        _refuse_difference(found.trace, copy.trace, folder)
    copy = look(folder)
    copy.trace.provenance["remarks"] += [line for line in found.trace.provenance["remarks"] if line.startswith(UNUSED)]
    return folder, copy


def _name(name: str, raw: Path) -> str:
    if name != name_of(Path(name)) or name in _KEPT:
        raise InputError(
            f"--name: {name!r}: give letters, digits, '.', '_', '+' and '-', and no name that {_shown(raw)} needs"
        )
    return name


def _with_sidecar(found: Found) -> Found:
    """A recording that was dropped into data/raw gets a trace.yaml to correct, unless it has one."""
    if not sidecar_path(found.path).exists():
        write_whole(sidecar_path(found.path), _sidecar_text(found, {}))
    return look(found.path)


def _is_same(folder: Path, content: Mapping[str, Path | bytes]) -> bool:
    """Whether a folder holds just these files; what was written beside them does not count."""
    for file_name, source in content.items():
        held = folder / file_name
        if not held.is_file():
            return False
        if held.read_bytes() != source if isinstance(source, bytes) else not filecmp.cmp(held, source, shallow=False):
            return False
    beside = {SIDECAR, CHECKSUMS, "LICENSE"}
    return {path.name for path in folder.iterdir()} - beside == set(content)


def _write_sums(folder: Path) -> None:
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(folder.iterdir())]
    (folder / CHECKSUMS).write_text("".join(lines))


def _refuse_difference(before: Trace, after: Trace, folder: Path) -> None:
    """The copy gives the numbers of the original, but for the last microsecond of a clock."""
    totals = [trace.samples.groupby("flow_id")["delivered_bytes"].sum() for trace in (before, after)]
    if len(totals[0]) != len(totals[1]) or not np.allclose(*totals, rtol=0, atol=2):
        raise InputError(f"{_shown(folder)}: a copy gives other totals than the original; nothing was kept")
    for table, column, may in (
        ("samples", "flow_id", 0),
        ("samples", "t_s", CLOCK_S),
        ("samples", "delivered_bytes", EDGE_BYTES),
        ("flows", "start_s", CLOCK_S),
        ("flows", "stop_s", CLOCK_S),
        ("flows", "rtt_s", CLOCK_S),
        ("flows", "cc", None),
        ("events", "t_s", CLOCK_S),
        ("events", "cwnd_before", 0),
    ):
        one, other = getattr(before, table)[column].to_numpy(), getattr(after, table)[column].to_numpy()
        same = one.shape == other.shape and (
            (one == other).all() if may is None else np.allclose(one, other, rtol=0, atol=may, equal_nan=True)
        )
        if not same:
            which = f"{table}.{column}"
            raise InputError(
                f"{_shown(folder)}: a copy gives other numbers than the original ({which}); nothing was kept"
            )


# --- Anonymous copies ---------------------------------------------------------------------------------------------------


def _anonymous_files(found: Found) -> dict[str, bytes]:
    """Name and content of the files of the anonymous copy."""
    clocks_s = [flow.clock_s + flow.start_s for flow in found.observed.flows if flow.clock_s is not None]
    keep = Anonymous.from_earliest(min(clocks_s, default=0.0))
    return anonymised(found.path, found.observed, found.said, keep)


def _pseudonyms(found: Found, scratch: Path) -> dict[str, str]:
    """What each flow is called in an anonymous copy, by its old name; both are told by their bytes."""
    copied = observe(scratch, Sidecar(format=found.said.format)).flows
    if len(copied) != len(found.observed.flows):
        raise InputError(f"{_shown(found.path)}: its anonymous copy has {len(copied)} flows; nothing was kept")

    def told_by(flow: ObservedFlow) -> tuple[int, float, float]:
        return len(flow.times_s), round(float(flow.total_bytes[-1])), round(flow.stop_s - flow.start_s, 3)

    by_bytes = zip(sorted(found.observed.flows, key=told_by), sorted(copied, key=told_by), strict=True)
    return {old.name: new.name for old, new in by_bytes}


# --- trace.yaml ---------------------------------------------------------------------------------------------------------


def _sidecar_text(found: Found, names: Mapping[str, str]) -> str:
    """The trace.yaml of the copy: what the person said, as data; what was inferred, as comments."""
    said = found.said.model_dump(exclude_defaults=True, exclude_none=True)
    for each in said.get("flows", []):
        each["flow"] = names.get(each["flow"], each["flow"])
        if names:
            each.pop("label", None)
    for field in _TELLING if names else ():
        said.pop(field, None)
    lines = [_HEADER, *(f"# {remark}\n" for remark in ([] if names else found.trace.provenance["remarks"]))]
    if said:
        lines.append(yaml.safe_dump(said, sort_keys=False, allow_unicode=True))
    run = found.trace.runs.iloc[0]
    if "link" not in said:
        lines.append("# link:\n")
        for name, field in SaidLink.model_fields.items():
            known = name in run and np.isfinite(run[name])
            if not (name == "buffer_pkts" and "buffer_bytes" in run):  # one of the two is said
                lines.append(f"#   {name}: {f'{run[name]:.12g}' if known else ''}  # {field.description}\n")
    if "flows" not in said:
        lines.append("# flows: # with leave_out: true, one is no flow of the experiment\n")
        for name, flow in zip(found.trace.provenance["names"], found.trace.flows.itertuples(), strict=True):
            shown = yaml.safe_dump(names.get(name, name), allow_unicode=True).splitlines()[0]
            rtt = f"{flow.rtt_s:.6g}" if np.isfinite(flow.rtt_s) else ""
            cc = "" if flow.cc == UNKNOWN_CC else flow.cc
            lines.append(
                f"#   - flow: {shown}\n#     protocol: {cc}\n#     rtt_s: {rtt}\n#     start_s: {flow.start_s:.6g}\n"
            )
    return "".join(lines)


# --- What is told -------------------------------------------------------------------------------------------------------


def told(found: Found, interval_s: float | None = None) -> list[str]:
    """What a person should know of a recording before they look at its figures: a line each.

    ``interval_s``: the interval that its measures need, as in config/raw.yaml.
    """
    run, flows = found.trace.runs.iloc[0], found.trace.flows
    intervals = f"{run['duration_s']:g} s, recorded every {found.trace.resolution_s:g} s"
    lines = [f"read       {_shown(found.path)}: {run['backend']}, {len(flows)} flows, {intervals}"]
    rates_mbps = means_mbps(found.trace)
    for name, flow in zip(found.trace.provenance["names"], flows.itertuples(), strict=True):
        rtt = f", RTT {flow.rtt_s * MS_PER_S:.4g} ms" if np.isfinite(flow.rtt_s) else ", RTT not recorded"
        when = f"from {flow.start_s:g} to {flow.stop_s:g} s"
        lines.append(f"flow {flow.flow_id:<5} {name}: {flow.protocol} {when}, {rates_mbps[flow.flow_id]:.4g} Mb/s{rtt}")
    lines += [f"note       {remark}" for remark in found.trace.provenance["remarks"]]
    coarse = left_out(found.trace.resolution_s, interval_s) if interval_s else ""
    lines += [f"note       {coarse}"] if coarse else []
    if "capacity_bps" not in run:
        lines.append("note       the rate of the link is not recorded; say it as link: capacity_bps")
    return [printable(line) for line in lines]


def _shown(path: Path) -> str:
    return os.path.relpath(path)


def chosen(layout: Layout, paths: Sequence[Path], name: str) -> list[Path]:
    """The recordings to import: those named, or with none what lies in data/raw beside the examples."""
    if name and len(paths) != 1:
        raise InputError("--name: goes with one PATH")
    if paths:
        return list(paths)
    raw = layout.data / "raw"
    beside = [path for path in sorted(raw.iterdir()) if path.name not in _KEPT and not path.name.endswith(SIDECAR)]
    found = [path for path in beside if not path.name.startswith(".")]
    if not found:
        raise InputError(
            f"nothing in {_shown(raw)} yet; put recordings there, or name them: ./reproduce import PATH..."
        )
    return found


def from_root(layout: Layout, path: Path) -> str:
    """A recording as ``trace`` names it: from the checkout."""
    return Path(os.path.relpath(path, layout.root)).as_posix()
