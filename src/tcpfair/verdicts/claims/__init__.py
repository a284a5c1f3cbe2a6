"""The papers' checkable claims: one function per claim, named by its id, and the verdicts on them.

``data/claims/<paper>.yaml`` says what is claimed, how it is tested, against which numbers and on which experiments.
``tcpfair.verdicts.claims.<paper>`` has the function, ``evidence`` what it may look at, ``registry`` what follows from it.
"""

from tcpfair.verdicts.claims.registry import VERDICTS, evaluate

__all__ = ["VERDICTS", "evaluate"]
