"""Time zones as Java names them (`UTC`, `Europe/Zurich`, `+05:30`, `GMT+2`), and what they are called in English.

Offsets and rules come from Python's zoneinfo. Its abbreviations (PST, CEST) are Java's too, where it has letters; for
the bigger zones where it has none (`-03`), a table here gives Java's; others are called GMT-03:00.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

_OFFSET = re.compile("([+-])(?:([0-9])|([0-9]{2})(?:([0-5][0-9])([0-5][0-9])?|:([0-5][0-9])(?::([0-5][0-9]))?)?)")
_LONGEST = 18 * 3600  # seconds: Java takes no offset beyond

# Abbreviation: what it is short for. Where several zones share one, the first part of the zone's id decides.
_NAMES: Mapping[str, str | Mapping[str, str]] = {
    "ACDT": "Australian Central Daylight Time",
    "ACST": "Australian Central Standard Time",
    "ADT": "Atlantic Daylight Time",
    "AEDT": "Australian Eastern Daylight Time",
    "AEST": "Australian Eastern Standard Time",
    "AKDT": "Alaska Daylight Time",
    "AKST": "Alaska Standard Time",
    "ART": "Argentina Standard Time",
    "AST": {"Asia": "Arabian Standard Time", "": "Atlantic Standard Time"},
    "AWST": "Australian Western Standard Time",
    "BRT": "Brasilia Standard Time",
    "BST": "British Summer Time",
    "CAT": "Central Africa Time",
    "CDT": "Central Daylight Time",
    "CEST": "Central European Summer Time",
    "CET": "Central European Standard Time",
    "CLST": "Chile Summer Time",
    "CLT": "Chile Standard Time",
    "COT": "Colombia Standard Time",
    "CST": {"Asia": "China Standard Time", "PRC": "China Standard Time", "": "Central Standard Time"},
    "EAT": "East Africa Time",
    "EDT": "Eastern Daylight Time",
    "EEST": "Eastern European Summer Time",
    "EET": "Eastern European Standard Time",
    "EST": "Eastern Standard Time",
    "GMT": "Greenwich Mean Time",
    "GST": "Gulf Standard Time",
    "HKT": "Hong Kong Standard Time",
    "HST": "Hawaii-Aleutian Standard Time",
    "ICT": "Indochina Time",
    "IDT": "Israel Daylight Time",
    "IST": {"Europe": "Irish Standard Time", "Eire": "Irish Standard Time", "": "India Standard Time"},
    "JST": "Japan Standard Time",
    "KST": "Korean Standard Time",
    "MDT": "Mountain Daylight Time",
    "MSK": "Moscow Standard Time",
    "MST": "Mountain Standard Time",
    "NDT": "Newfoundland Daylight Time",
    "NST": "Newfoundland Standard Time",
    "NZDT": "New Zealand Daylight Time",
    "NZST": "New Zealand Standard Time",
    "PDT": "Pacific Daylight Time",
    "PET": "Peru Standard Time",
    "PKT": "Pakistan Standard Time",
    "PST": {"Asia": "Philippine Standard Time", "": "Pacific Standard Time"},
    "SAST": "South Africa Standard Time",
    "SGT": "Singapore Standard Time",
    "UTC": "Coordinated Universal Time",
    "WAT": "West Africa Standard Time",
    "WEST": "Western European Summer Time",
    "WET": "Western European Standard Time",
    "WIB": "Western Indonesia Time",
}
_SHORT = {
    "America/Argentina/Buenos_Aires": "ART",
    "America/Bogota": "COT",
    "America/Lima": "PET",
    "America/Sao_Paulo": "BRT",
    "Asia/Bangkok": "ICT",
    "Asia/Dubai": "GST",
    "Asia/Ho_Chi_Minh": "ICT",
    "Asia/Riyadh": "AST",
    "Asia/Singapore": "SGT",
}
# The zone that a name stands for where one is read: the best known of those that share it.
_NAMED_ZONES = {
    "ACDT": "Australia/Adelaide",
    "ACST": "Australia/Adelaide",
    "AEDT": "Australia/Sydney",
    "AEST": "Australia/Sydney",
    "AKDT": "America/Anchorage",
    "AKST": "America/Anchorage",
    "ART": "America/Argentina/Buenos_Aires",
    "AST": "America/Halifax",
    "ADT": "America/Halifax",
    "AWST": "Australia/Perth",
    "BRT": "America/Sao_Paulo",
    "BST": "Europe/London",
    "CDT": "America/Chicago",
    "CEST": "Europe/Paris",
    "CET": "Europe/Paris",
    "CST": "America/Chicago",
    "EDT": "America/New_York",
    "EEST": "Europe/Bucharest",
    "EET": "Europe/Bucharest",
    "EST": "America/New_York",
    "GMT": "GMT",
    "HKT": "Asia/Hong_Kong",
    "HST": "Pacific/Honolulu",
    "IDT": "Asia/Jerusalem",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul",
    "MDT": "America/Denver",
    "MSK": "Europe/Moscow",
    "MST": "America/Denver",
    "NZDT": "Pacific/Auckland",
    "NZST": "Pacific/Auckland",
    "PDT": "America/Los_Angeles",
    "PKT": "Asia/Karachi",
    "PST": "America/Los_Angeles",
    "SAST": "Africa/Johannesburg",
    "SGT": "Asia/Singapore",
    "UTC": "UTC",
    "WEST": "Europe/Lisbon",
    "WET": "Europe/Lisbon",
}


@cache
def zones_by_name() -> Mapping[str, str]:
    """The ids that short and full names stand for."""
    full = {
        name if isinstance(name, str) else name[""]: _NAMED_ZONES[short]
        for short, name in _NAMES.items()
        if short in _NAMED_ZONES
    }
    return {**_NAMED_ZONES, **full}


class Zone(NamedTuple):
    id: str
    info: tzinfo
    is_fixed: bool = False  # an offset, named by its digits


UTC_ZONE = Zone("UTC", UTC)


@lru_cache(maxsize=1000)
def zone(name: str) -> Zone:
    """The zone with an id; ValueError where there is none.

    >>> zone("UTC+8").id, zone("+0530").id, zone("Europe/Zurich").id
    ('UTC+08:00', '+05:30', 'Europe/Zurich')
    """
    if name in ("UTC", "GMT", "UT"):
        return Zone(name, UTC)
    if name == "Z":
        return Zone("Z", UTC, is_fixed=True)
    for prefix in ("UTC", "GMT", "UT", ""):
        if name.startswith(prefix) and name[len(prefix) : len(prefix) + 1] in ("+", "-"):
            seconds = _seconds(name[len(prefix) :])
            if seconds is None:
                break
            return offset_zone(seconds) if not prefix else Zone(prefix + offset_id(seconds, ""), _fixed(seconds))
    if name in _ids():
        return Zone(name, ZoneInfo(name))
    raise ValueError(f"Unknown time-zone ID: {name}")


def offset_zone(seconds: int) -> Zone:
    return Zone(offset_id(seconds, "Z"), _fixed(seconds), is_fixed=True)


def offset_id(seconds: int, zero: str) -> str:
    """+hh:mm, with seconds where there are some."""
    if seconds == 0:
        return zero
    size = abs(seconds)
    shown = f"{'-' if seconds < 0 else '+'}{size // 3600:02}:{size // 60 % 60:02}"
    return shown + (f":{size % 60:02}" if size % 60 else "")


@cache
def zone_ids_by_length() -> tuple[str, ...]:
    """Of regions, longest first: the first that a text begins with is the one that it names."""
    return tuple(sorted(_ids(), key=len, reverse=True))


def short_name(zone: Zone, at: datetime) -> str:
    """`at` is in the zone."""
    if zone.is_fixed:
        return zone.id
    if zone.info is UTC:
        return zone.id
    name = at.tzname() or ""
    return name if name[:1].isalpha() and zone.id[:3] not in ("UTC", "GMT") else _SHORT.get(zone.id) or _by_offset(at)


def full_name(zone: Zone, at: datetime) -> str:
    name = short_name(zone, at)
    found = _NAMES.get("UTC" if name == "UT" else name)
    if found is None or zone.is_fixed:
        return name
    if isinstance(found, str):
        return found
    if name == "IST" and zone.id in ("Asia/Jerusalem", "Asia/Tel_Aviv", "Israel"):
        return "Israel Standard Time"
    return found.get(zone.id.split("/", 1)[0]) or found[""]


def _by_offset(at: datetime) -> str:
    return "GMT" + offset_id(int((at.utcoffset() or timedelta()).total_seconds()), "")


def _fixed(seconds: int) -> tzinfo:
    return UTC if seconds == 0 else timezone(timedelta(seconds=seconds))


def _seconds(text: str) -> int | None:
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    sign, hour, hours, *rest = found.groups()
    size = int(hour or hours) * 3600 + int(rest[0] or rest[2] or 0) * 60 + int(rest[1] or rest[3] or 0)
    if size > _LONGEST:
        raise ValueError(f"Zone offset not in valid range: -18:00 to +18:00, but was {text}.")
    return -size if sign == "-" else size


@cache
def _ids() -> frozenset[str]:
    return frozenset(available_timezones())
