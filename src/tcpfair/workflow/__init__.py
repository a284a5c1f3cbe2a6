"""From a configuration to what there is to do, and doing it: plan, steps, one run, shipped data, the command line."""
