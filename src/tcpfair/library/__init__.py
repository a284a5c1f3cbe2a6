"""The public API: the names of ``from tcpfair import ...``. This project runs every scenario through it.

==============  ================================================================================================
`live`          one scenario and seed -> result; prints a line before a compilation
`workers`       parallel runs, and runs of an algorithm that is not in `tcpfair.cc`
`simulation`    `flow`, `simulate` and `Run`: scenarios, their runs and the metrics of these
`digest`        SHA-256 over all outputs of a run
==============  ================================================================================================

It imports pandas, SciPy and matplotlib only in methods that need them.
"""
