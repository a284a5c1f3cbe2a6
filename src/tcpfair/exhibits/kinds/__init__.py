"""Drawing kinds: each function draws one sort of exhibit from a context and its options."""
