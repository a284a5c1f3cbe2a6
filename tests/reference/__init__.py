"""Slow, independent simulator of the dumbbell, against which the fast engine is compared."""
