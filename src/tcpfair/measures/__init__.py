"""From the trace of an experiment to its metrics."""

from tcpfair.measures.groups import BY_RULE, SYSTEM, measure

__all__ = ["BY_RULE", "SYSTEM", "measure"]
