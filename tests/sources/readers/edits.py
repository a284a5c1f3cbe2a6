"""Changes of a JSON document by the path of a field: ``intervals.1.sum.bytes``."""

from typing import Any

GONE = object()  # in place of a value: the field is taken out


def edited(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """``document`` with another value at ``path``, or what ``value`` makes of the old one."""
    *where, last = (int(name) if name.isdigit() else name for name in path.split("."))
    place = document
    for name in where:
        place = place[name]
    if value is GONE:
        del place[last]
    else:
        place[last] = value(place[last]) if callable(value) else value
    return document
