"""A recording of one socket as it was polled, for tests that look at single polls."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from tcpfair.sources.readers import observe
from tcpfair.sources.readers.sidecar import Sidecar


def polled(path: Path) -> SimpleNamespace:
    """``samples`` (windows at every poll), ``events`` and ``flows`` of the one flow, in the columns of a trace."""
    (flow,) = observe(path, Sidecar()).flows
    return SimpleNamespace(
        samples=flow.windows.assign(flow_id=1),
        events=flow.events.assign(flow_id=1),
        flows=pd.DataFrame({"flow_id": [1], "rtt_s": [flow.rtt_s]}),
    )
