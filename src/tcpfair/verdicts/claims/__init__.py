"""The papers' checkable claims: one function per claim, named by its id, and the verdicts on them.

``data/claims/<paper>.yaml`` states the clauses of each claim and their experiments (`statement`).
``tcpfair.verdicts.claims.<paper>`` turns tables (`evidence`) into the quantities that the clauses bound, `decision` decides
which clauses hold, and `registry` collects the verdicts.
"""

from tcpfair.verdicts.claims.registry import VERDICTS, evaluate

__all__ = ["VERDICTS", "evaluate"]
