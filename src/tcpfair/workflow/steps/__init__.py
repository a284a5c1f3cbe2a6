"""The steps of the workflow, a module each, which Snakemake's rules call as ``python -m tcpfair <step>``.

Every ``run`` writes its output atomically (`tcpfair.runs.outputs`) and returns words for the terminal. A step depends on
what its module imports, directly or indirectly (`tcpfair.runs.reach`).
"""
