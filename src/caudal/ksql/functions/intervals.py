"""The units of DATEADD, TIMEADD, TIMESTAMPADD and their opposites: what their first argument may be.

In a signature this parameter has the type INTERVALUNIT: the argument is a name, not a value, and it reaches the
function as a str in upper case.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TypeVar

from caudal.ksql.errors import suggestion

_Moment = TypeVar("_Moment", date, datetime)

UNITS = {  # microseconds
    "DAYS": 86_400_000_000,
    "HOURS": 3_600_000_000,
    "MINUTES": 60_000_000,
    "SECONDS": 1_000_000,
    "MILLISECONDS": 1000,
}
_BY_NAME = {**UNITS, **{name[:-1]: size for name, size in UNITS.items()}}


def microseconds(unit: str, count: int) -> int:
    """
    >>> microseconds("MINUTE", 2)
    120000000
    """
    size = _BY_NAME.get(unit)
    if size is None:
        raise ValueError(f"'{unit}' is not a unit of time: it is one of {', '.join(UNITS)}.{suggestion(unit, UNITS)}")
    return count * size


def later(moment: _Moment, microseconds: int) -> _Moment:
    """So much later, or earlier; a date by its whole days.

    >>> later(date(2021, 2, 28), microseconds("HOURS", 36))
    datetime.date(2021, 3, 1)
    """
    try:
        if isinstance(moment, datetime):
            return moment + timedelta(microseconds=microseconds)
        return moment + timedelta(days=microseconds // UNITS["DAYS"])
    except OverflowError:
        raise ValueError(f"The result is outside of the years 1 to 9999, which dates have here: {moment}.") from None
