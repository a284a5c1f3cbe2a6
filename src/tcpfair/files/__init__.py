"""Files of a checkout: their paths, atomic writes, their digests."""
