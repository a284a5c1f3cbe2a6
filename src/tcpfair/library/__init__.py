"""The simulator as a library: what ``from tcpfair import ...`` gives, and the one way in which this project runs a scenario.

==============  ================================================================================================
`live`          one scenario and seed -> result; says when the simulator has to be compiled
`workers`       many runs side by side, and runs of an algorithm that is not in `tcpfair.cc`
`simulation`    `flow`, `simulate` and `Run`: a scenario in words, its runs, and what is measured of them
`digest`        SHA-256 over all that a run gives
==============  ================================================================================================

It imports neither pandas nor SciPy nor anything that draws, unless a method needs it.
"""
