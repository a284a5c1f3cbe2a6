"""Recordings as traces: opening them, applying the statements of ``trace.yaml``, anonymous copies.

A recording is read once, by `tcpfair.workflow.importing`, and is a trace from then on. Its manifest additionally has the
``names`` of the flows, the ``origins`` of their bytes, ``remarks`` on oddities, the ``native`` files that were read (name,
SHA-256, size), their ``format``, and the statements about them (``said``). The tables contain only what was recorded.
``trace.yaml`` in the folder is applied whenever the trace is opened, so it may be edited at any time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from tcpfair.errors import InputError, check_known
from tcpfair.files.manifest import MANIFEST
from tcpfair.papers.recordings import sidecar_path
from tcpfair.runs.sidecar import Said, SaidFlow, load_said
from tcpfair.runs.strange_trace import read_strange
from tcpfair.runs.trace import SCHEMA, Trace
from tcpfair.units import BITS_PER_BYTE

UNKNOWN_CC = "unknown"  # the tool does not record it
PAPER = "raw"  # of the runs of recordings
LINK_PARAMETERS = ("capacity_bps", "wire_bytes", "payload_bytes", "buffer_pkts", "buffer_bytes")
_SLACK = 1.02  # factor on the link's rate, for rounding
_SENT_AHEAD = "sender: intervals"  # prefix of the origin of bytes that are counted before the link carries them
_SENT_AHEAD_BYTES = 8e6  # how far they are ahead: the sender's socket buffer
# bytes behind a hole are delivered in order at once when it is filled: about a second of them at most in any recording
_SOCKET_S = 1.0
_RTT_UNITS = 100.0  # a smallest RTT this many times the stated one indicates another unit, not a queue
RTT_ERROR = 0.98  # factor on the stated RTT, for the resolution of clocks


# --- Opening --------------------------------------------------------------------------------------------------------------


def open_recorded(folder: Path, recording: Path | None = None) -> tuple[Trace, Said]:
    """The trace in ``folder`` with the statements of its ``trace.yaml`` applied, and these statements.

    Errors name ``recording`` instead of ``folder``. Raises InputError for a damaged trace and for statements that
    contradict it.
    """
    recorded, said = with_names(read_strange(folder), folder), load_said(folder)
    return stated(recorded, said, recording or folder), said


def with_names(trace: Trace, where: Path) -> Trace:
    """A trace of any source, with a name for each flow. Raises InputError for invalid lists in its manifest."""
    ids = sorted(trace.flows["flow_id"].unique())
    found = {"names": [f"flow{flow_id}" for flow_id in ids], **trace.provenance}
    for key in ("names", "origins", "remarks", "goodput"):
        texts = found.get(key, [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{where / MANIFEST}: {key}: must be a list of texts")
    if len(set(found["names"])) != len(ids) or len(found["names"]) != len(ids):
        raise InputError(f"{where / MANIFEST}: names: must be a name for each of the {len(ids)} flows")
    if "origins" in found and len(found["origins"]) != len(trace.flows):
        raise InputError(f"{where / MANIFEST}: origins: must be a text for each of the {len(trace.flows)} flows")
    return replace(trace, provenance=found)


# --- Statements, checked against the recording ----------------------------------------------------------------------------


def stated(trace: Trace, said: Said, recording: Path) -> Trace:
    """A trace with the stated values of its link and its flows. Raises InputError when they contradict the recording.

    Errors name ``recording`` or its `sidecar_path`.
    """
    where = sidecar_path(recording)
    check_known(f"{where}: flows: flow", (each.flow for each in said.flows), trace.provenance["names"])
    runs = _runs(trace.runs, said, where)
    if "origins" in trace.provenance:
        _refuse_beyond_link(trace, runs, recording)
    flows = _flows(trace, said, where)
    remarks = list(trace.provenance.get("remarks", []))
    if (flows["cc"] == UNKNOWN_CC).any():
        remarks.append(f"the congestion control is not recorded; state it as flows: protocol in {where.name}")
    return replace(trace, runs=runs, flows=flows, provenance={**trace.provenance, "remarks": remarks})


def _runs(runs: pd.DataFrame, said: Said, where: Path) -> pd.DataFrame:
    """``runs`` with the stated parameters of the link. Raises InputError where they differ from recorded ones."""
    link = {name: value for name in LINK_PARAMETERS if (value := getattr(said.link, name)) is not None}
    for name, value in link.items():
        recorded = runs[name].dropna() if name in runs else runs["run_id"].iloc[:0]
        other = recorded[~np.isclose(value, recorded, rtol=0.01)]
        if len(other):
            raise InputError(f"{where}: link.{name}: {value:g}, but the recording has {other.iloc[0]:g}")
    known = runs.assign(**{name: value for name, value in link.items() if name not in runs})
    sizes = known.get("payload_bytes", 0) >= known.get("wire_bytes", np.inf)
    if link and np.any(sizes):
        raise InputError(f"{where}: link.payload_bytes: must be less than wire_bytes, {known['wire_bytes'].iloc[0]:g}")
    return known


def _flows(trace: Trace, said: Said, where: Path) -> pd.DataFrame:
    """``flows`` with the stated labels, congestion control and RTTs."""
    names = dict(zip(sorted(trace.flows["flow_id"].unique()), trace.provenance["names"], strict=True))
    by_name = {each.flow: each for each in said.flows}
    rows = []
    for flow in trace.flows.itertuples():
        name = names[flow.flow_id]
        of_flow = by_name.get(name, SaidFlow.model_construct(flow=name))
        cc = of_flow.protocol or flow.cc
        if UNKNOWN_CC not in (flow.cc, cc) and cc != flow.cc:
            raise InputError(f"{where}: flows: {name}: protocol: {cc!r}, but it was recorded as {flow.cc!r}")
        if of_flow.rtt_s and np.isfinite(flow.rtt_s):
            _refuse_rtt(of_flow.rtt_s, flow.rtt_s, f"{where}: flows: {name}: rtt_s: {of_flow.rtt_s:g} s, but")
        label = of_flow.label or (cc if flow.protocol == UNKNOWN_CC else flow.protocol)
        rows.append((label, cc, of_flow.rtt_s or flow.rtt_s))
    labels, ccs, rtts_s = zip(*rows, strict=True)
    return trace.flows.assign(protocol=list(labels), cc=list(ccs), rtt_s=np.array(rtts_s, dtype=np.float64))


def _refuse_rtt(said_s: float, recorded_s: float, where: str) -> None:
    if recorded_s < RTT_ERROR * said_s:
        raise InputError(f"{where} RTTs down to {recorded_s:g} s were recorded")
    if recorded_s > _RTT_UNITS * said_s:
        raise InputError(f"{where} none below {recorded_s:g} s was recorded; give seconds")


def _refuse_beyond_link(trace: Trace, runs: pd.DataFrame, recording: Path) -> None:
    """Refuse flows of one direction that deliver more payload than the link carries, over any stretch of time."""
    run = runs.iloc[0]
    if not np.isfinite(capacity_bps := run.get("capacity_bps", np.nan)):
        return
    sample_s, share = run["sample_s"], run.get("payload_bytes", 1.0) / run.get("wire_bytes", 1.0)
    carried_bytes = _SLACK * capacity_bps * share / BITS_PER_BYTE * sample_s
    origins = trace.provenance["origins"]
    directions = trace.flows.get("direction", pd.Series("forward", trace.flows.index))
    for direction in directions.unique():
        that_way = trace.flows["flow_id"][directions == direction]
        own = trace.samples[trace.samples["flow_id"].isin(that_way)]
        total_bytes = own.groupby("t_s")["delivered_bytes"].sum().to_numpy(dtype=float)
        sums = np.concatenate([[0.0], np.cumsum(total_bytes - carried_bytes)])
        beyond_bytes = (sums - np.minimum.accumulate(sums)).max()
        ahead = sum(
            origin.startswith(_SENT_AHEAD) for origin, way in zip(origins, directions, strict=True) if way == direction
        )
        if beyond_bytes > carried_bytes / sample_s * max(_SOCKET_S, sample_s) + _SENT_AHEAD_BYTES * ahead:
            mean_bps = total_bytes.mean() * BITS_PER_BYTE / sample_s
            raise InputError(
                f"{recording}: goodput (mean {mean_bps:.4g} bit/s) above what a link of {capacity_bps:.4g} bit/s carries; "
                "check capacity_bps, and that no flow was recorded twice"
            )


# --- Anonymous ----------------------------------------------------------------------------------------------------------

_TOOL = re.compile(r"[a-z][a-z0-9_ +]{0,40}", re.ASCII)
_ALGORITHM = re.compile(r"[a-z][a-z0-9_-]{0,15}", re.ASCII)  # as long as a kernel allows
_ORIGIN = re.compile(r"(receiver|sender|table)(: intervals\b)?")
_KERNEL = re.compile(r"(Linux )?\d{1,2}\.\d{1,3}(\.\d{1,3})?", re.ASCII)
_WORDS = {  # strings of the tables that identify no person; any other becomes the first
    "role": ("foreground", "background", "web"),
    "direction": ("forward", "reverse"),
    "kind": ("loss", "rto", "recovery_end"),
}


def anonymised(trace: Trace, said: Said) -> tuple[Trace, Said]:
    """A trace without identifying information, and its statements under the new names of its flows.

    Numbers and known words stay. Names of flows (addresses, ports, hosts, files), labels, remarks, native files, versions of
    tools, and all further columns and manifest entries are removed. Times always count from the start of the run.
    """
    names = {name: f"flow{number}" for number, name in enumerate(trace.provenance["names"], start=1)}
    tables = {name: _plain_table(name, table) for name, table in trace.tables.items()}
    backend = _known(_TOOL, trace.runs["backend"].iloc[0])
    tables["runs"] = tables["runs"].assign(paper=PAPER, experiment="recording", backend=backend)
    ccs = [_known(_ALGORITHM, cc) for cc in trace.flows["cc"]]
    tables["flows"] = tables["flows"].assign(protocol=ccs, cc=ccs)
    found = {name: str(trace.provenance.get(name, "")) for name in ("bottleneck", "format", "kernel")}
    provenance = {
        "paper": PAPER,
        "experiment": "recording",
        "backend": backend,
        "grid": [],
        "goodput": sorted(set(_origins(trace.provenance.get("goodput", [])))),
        "names": list(names.values()),
        "origins": _origins(trace.provenance.get("origins", [])),
        "remarks": [],
        **{name: _known(_TOOL, found[name]) for name in ("bottleneck", "format") if found[name]},
        **({"kernel": kernel[0]} if (kernel := _KERNEL.match(found["kernel"])) else {}),
    }
    flows = [
        each.model_copy(update={"flow": names[each.flow], "label": None, "protocol": _stated_cc(each)})
        for each in said.flows
    ]
    return Trace(**tables, provenance=provenance), said.model_copy(update={"flows": flows, "self_pairs": []})


def _plain_table(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """The columns of the schema and the parameters of the link; strings only if they are known words."""
    known = [*SCHEMA[name], *(LINK_PARAMETERS if name == "runs" else ())]
    kept = table[[column for column in table if column in known]]
    words = {
        column: kept[column].where(kept[column].isin(_WORDS[column]), _WORDS[column][0])
        for column in kept
        if column in _WORDS
    }
    return kept.assign(**words)


def _known(pattern: re.Pattern[str], text: str) -> str:
    return text if pattern.fullmatch(text) else UNKNOWN_CC


def _origins(texts: Sequence[str]) -> list[str]:
    return [found[0] if (found := _ORIGIN.match(str(text))) else UNKNOWN_CC for text in texts]


def _stated_cc(each: SaidFlow) -> str | None:
    return each.protocol if each.protocol and _ALGORITHM.fullmatch(each.protocol) else None
