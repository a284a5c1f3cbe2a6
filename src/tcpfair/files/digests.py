"""The digest of plain data, which identifies runs, code and outputs."""

from __future__ import annotations

import hashlib
import json

SHORT = 16  # hexadecimal digits of a digest in files and names that people read


def digest(value: object) -> str:
    """SHA-256 of the canonical JSON of ``value``."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
