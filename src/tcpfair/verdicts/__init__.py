"""Results compared with the papers: printed numbers, the baseline, claims, the ledger and the report."""
