"""tcpfair: five papers on TCP congestion-control fairness, rebuilt and checked by one command."""
