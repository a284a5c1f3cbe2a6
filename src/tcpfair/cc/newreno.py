"""TCP NewReno: Reno's window rules with NewReno's loss recovery, without SACK.

Source: RFC 6582. One lost packet is repaired per round trip, on each partial acknowledgement.
Linux has no such algorithm of its own (NewReno recovery is what its stack does without SACK); ns-3's TcpNewReno is
Reno's window rule too.
"""

from tcpfair.cc.reno import PARAMS, STATE, WHOLE, on_ack, on_loss

RECOVERY = "newreno"
__all__ = ["PARAMS", "RECOVERY", "STATE", "WHOLE", "on_ack", "on_loss"]
