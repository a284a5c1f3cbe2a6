"""Files of a checkout: where they are, how they are written whole, their digests."""
