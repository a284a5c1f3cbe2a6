"""Conversions between the units that appear in names: ``_s``, ``_ms``, ``_bps``, ``_mbps``, ``_bytes``, ``_pkts``."""

BITS_PER_BYTE = 8
MS_PER_S = 1e3
BPS_PER_MBPS = 1e6


def service_time_s(wire_bytes: float, rate_bps: float) -> float:
    """Time that a link of ``rate_bps`` needs for one packet of ``wire_bytes``; 0 for an unlimited link (rate 0)."""
    return BITS_PER_BYTE * wire_bytes / rate_bps if rate_bps > 0 else 0.0


def bdp_pkts(rate_bps: float, rtt_s: float, wire_bytes: float) -> float:
    """Bandwidth-delay product in packets of ``wire_bytes``."""
    return rate_bps * rtt_s / (BITS_PER_BYTE * wire_bytes)


def mbps(n_bytes, interval_s):
    """Rate in Mb/s of ``n_bytes`` carried in ``interval_s`` (scalars or arrays)."""
    return n_bytes * BITS_PER_BYTE / interval_s / BPS_PER_MBPS
