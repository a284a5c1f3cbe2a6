"""Results of the ensemble: the settings of unstated parameters under which numbers and clauses hold.

`members` turns the shipped table into metrics whose replicates are settings, `placing` compares each published number with
them, `deciding` finds the assumption that decides a clause, `inference` the settings that all published numbers together
favour, and `tables` makes the tables of the ledger.
"""
