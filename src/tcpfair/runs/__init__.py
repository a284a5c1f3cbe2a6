"""Runs: expanded from the configuration, identified by keys, kept in stores of shards; outputs of steps."""
