"""The plan of a configuration and its execution: steps, one run, shipped data, the command line."""
