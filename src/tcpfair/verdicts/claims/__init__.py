"""The papers' checkable claims: one function per claim, named by its id, and the verdicts on them.

``data/claims/<paper>.yaml`` says what is claimed, clause by clause, and on which experiments (`statement`).
``tcpfair.verdicts.claims.<paper>`` turns tables (`evidence`) into the quantities that the clauses bound, `decision` says
which clauses hold, and `registry` gathers the verdicts.
"""

from tcpfair.verdicts.claims.registry import VERDICTS, evaluate

__all__ = ["VERDICTS", "evaluate"]
