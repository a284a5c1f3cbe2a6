"""What the ensemble says: under which settings of what the papers leave out do numbers and clauses hold.

`members` turns the shipped table into metrics whose replicates are settings, `placing` sets each printed number among them,
`deciding` says which assumption decides a clause, `inference` which settings all printed numbers together speak for, and
`tables` gathers what the ledger shows.
"""
