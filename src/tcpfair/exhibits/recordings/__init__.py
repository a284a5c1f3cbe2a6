"""Exhibits of recordings: what any trace of real hosts shows."""
