"""TCP-SACK: Reno's window rules with SACK-based recovery.

Source: RFC 6675; the baseline of ha2006 ("TCP-SACK"). It differs from ``reno`` only in name: Linux's ``reno`` also runs
on a stack with SACK.
"""

from tcpfair.cc.reno import PARAMS, STATE, WHOLE, on_ack, on_loss

RECOVERY = "sack"
__all__ = ["PARAMS", "RECOVERY", "STATE", "WHOLE", "on_ack", "on_loss"]
