"""The units of DATEADD, TIMEADD, TIMESTAMPADD and their opposites: what their first argument may be.

In a signature this parameter has the type INTERVALUNIT: the argument is a name, not a value, and it reaches the
function as a str in upper case.
"""

from __future__ import annotations

from datetime import timedelta

from caudal.ksql.errors import suggestion

UNITS = {
    "DAYS": timedelta(days=1),
    "HOURS": timedelta(hours=1),
    "MINUTES": timedelta(minutes=1),
    "SECONDS": timedelta(seconds=1),
    "MILLISECONDS": timedelta(milliseconds=1),
}
_BY_NAME = {**UNITS, **{name[:-1]: size for name, size in UNITS.items()}}


def interval(unit: str, count: int) -> timedelta:
    """
    >>> interval("HOUR", 36)
    datetime.timedelta(days=1, seconds=43200)
    """
    size = _BY_NAME.get(unit)
    if size is None:
        raise ValueError(f"'{unit}' is not a unit of time: it is one of {', '.join(UNITS)}.{suggestion(unit, UNITS)}")
    return count * size
