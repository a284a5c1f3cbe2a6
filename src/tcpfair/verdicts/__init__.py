"""What results mean beside print: printed numbers, the baseline, claims, the ledger and the report."""
