"""The logical types between Python's values and the numbers and bytes that Kafka Connect has for them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

from caudal.connect.data import DECIMAL, Schema
from caudal.connect.errors import DataError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MILLISECOND = timedelta(milliseconds=1)
_EXACT = Context(prec=4096)  # no decimal is rounded
_EXACT_FLOAT = 4_000_000_000_000  # up to here a float of seconds keeps the milliseconds


def scale_of(schema: Schema) -> int:
    """Of a Decimal schema."""
    try:
        return int(schema.parameters["scale"])
    except (KeyError, ValueError):
        raise DataError(f"A schema of {DECIMAL} needs the parameter 'scale', a whole number.") from None


def unscaled_of(value: Any, scale: int) -> int:
    """
    >>> unscaled_of(Decimal("1.5"), 2)
    150
    """
    if not isinstance(value, Decimal):
        raise DataError(f"A Decimal is needed, not {type(value).__name__}.")
    scaled = value.scaleb(scale, _EXACT)
    try:
        whole = int(scaled)
    except (ValueError, OverflowError):
        raise DataError(f"{value} is not a number that a Decimal schema can hold.") from None
    if whole != scaled:
        raise DataError(f"The decimal {value} has more than the {scale} fractional digits of its schema.")
    return whole


def bytes_of_whole(whole: int) -> bytes:
    """In as few bytes as two's complement needs, as Java's BigInteger writes it."""
    return whole.to_bytes((whole + (whole < 0)).bit_length() // 8 + 1, "big", signed=True)


def bytes_of_decimal(value: Any, scale: int) -> bytes:
    """The unscaled number."""
    return bytes_of_whole(unscaled_of(value, scale))


def decimal_of_bytes(data: bytes, scale: int) -> Decimal:
    """
    >>> decimal_of_bytes(b"\\x00\\x96", 2)
    Decimal('1.50')
    """
    return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale, _EXACT)


def with_scale(value: Decimal, scale: int) -> Decimal:
    """The same number with exactly this many fractional digits."""
    return Decimal(unscaled_of(value, scale)).scaleb(-scale, _EXACT)


def days_of(value: Any) -> int:
    """
    >>> days_of(date(1970, 1, 3))
    2
    """
    if value.__class__ is not date:
        raise DataError(f"A date is needed, not {type(value).__name__}.")
    return value.toordinal() - _EPOCH_DAY


def date_of(days: int) -> date:
    try:
        return date.fromordinal(days + _EPOCH_DAY)
    except (ValueError, OverflowError):
        raise DataError(f"Day {days} is outside the years 1 to 9999.") from None


def day_milliseconds_of(value: Any) -> int:
    """
    >>> day_milliseconds_of(time(0, 0, 1, 5000))
    1005
    """
    if value.__class__ is not time:
        raise DataError(f"A time is needed, not {type(value).__name__}.")
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return int(seconds * 1000 + value.microsecond // 1000)


def time_of(milliseconds: int) -> time:
    if not 0 <= milliseconds < 86_400_000:
        raise DataError(f"{milliseconds} milliseconds are not within a day.")
    seconds, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return time(hour, minute, second, rest * 1000)


def milliseconds_of(value: Any) -> int:
    """Since 1970. A datetime without a zone is UTC.

    >>> milliseconds_of(datetime(1970, 1, 1, 0, 0, 1, 1500, UTC))
    1001
    """
    if not isinstance(value, datetime):
        raise DataError(f"A datetime is needed, not {type(value).__name__}.")
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    since: timedelta = value - _EPOCH
    return since // _MILLISECOND


def datetime_of(milliseconds: int) -> datetime:
    if -_EXACT_FLOAT < milliseconds < _EXACT_FLOAT:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        raise DataError(f"{milliseconds} milliseconds since 1970 are outside the years 1 to 9999.") from None


def as_utc(value: Any) -> datetime:
    """A datetime with a zone; without one it is UTC."""
    if not isinstance(value, datetime):
        raise DataError(f"A datetime is needed, not {type(value).__name__}.")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value
