"""TCP NewReno: Reno's window rules with NewReno's loss recovery, without SACK.

Source: RFC 6582. One lost packet is recovered per round trip, on each partial acknowledgement. Linux has no separate
algorithm (its stack uses NewReno recovery without SACK); ns-3's TcpNewReno also has Reno's window rule.
"""

from tcpfair.cc.reno import PARAMS, STATE, WHOLE, on_ack, on_loss

RECOVERY = "newreno"
__all__ = ["PARAMS", "RECOVERY", "STATE", "WHOLE", "on_ack", "on_loss"]
