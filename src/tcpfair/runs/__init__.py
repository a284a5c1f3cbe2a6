"""Runs, which are expanded from the configuration, identified by keys and stored in shards; outputs of steps."""
