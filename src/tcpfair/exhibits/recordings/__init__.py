"""Exhibits of recordings, for any trace of real hosts."""
