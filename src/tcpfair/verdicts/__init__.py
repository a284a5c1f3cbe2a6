"""Results compared with the papers: published numbers, the baseline, claims, the ledger and the report."""
