"""Congestion-control algorithms: one file each, see :mod:`tcpfair.cc.api` for the contract."""
