"""Measures computed from throughput, window and loss series: fairness, convergence, stability, loss epochs.

Everything here is a pure function of NumPy arrays. Throughput arrays have shape ``(..., flows, samples)``; the leading
axes (runs, grid points) are kept, so one call serves a single run and a whole sweep.
"""
