"""tcpfair: five papers on TCP congestion-control fairness, rebuilt and checked by one command."""

__version__ = "0.1.0"
