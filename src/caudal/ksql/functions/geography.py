"""Distances on the Earth, taken as a sphere."""

from __future__ import annotations

import math

from caudal.ksql.functions.registry import scalar

_KILOMETRES = ("km", "kilometer", "kilometers", "kilometre", "kilometres")
_MILES = ("mi", "mile", "miles")
_RADIUS = {**dict.fromkeys(_KILOMETRES, 6371.0), **dict.fromkeys(_MILES, 3959.0)}


@scalar(
    "GEO_DISTANCE",
    "(latitude1 DOUBLE, longitude1 DOUBLE, latitude2 DOUBLE, longitude2 DOUBLE) -> DOUBLE",
    "(latitude1 DOUBLE, longitude1 DOUBLE, latitude2 DOUBLE, longitude2 DOUBLE, unit STRING) -> DOUBLE",
    description="The distance of two points along a great circle, in kilometres (KM) or miles (MI).",
    category="OTHER",
    nulls=True,
)
def geo_distance(
    latitude1: float | None,
    longitude1: float | None,
    latitude2: float | None,
    longitude2: float | None,
    unit: str | None = None,
) -> float | None:
    if latitude1 is None or longitude1 is None or latitude2 is None or longitude2 is None:
        return None
    if not (-90 <= latitude1 <= 90 and -90 <= latitude2 <= 90):
        raise ValueError("GEO_DISTANCE takes latitudes from -90 to 90 degrees.")
    if not (-180 <= longitude1 <= 180 and -180 <= longitude2 <= 180):
        raise ValueError("GEO_DISTANCE takes longitudes from -180 to 180 degrees.")
    radius = _RADIUS.get((unit or "").strip().lower() or "km")
    if radius is None:
        raise ValueError(f"GEO_DISTANCE knows the units {', '.join((*_MILES, *_KILOMETRES))}, not '{unit}'.")
    # the haversine formula, which stays exact for points that are close
    across = math.sin(math.radians(latitude2 - latitude1) / 2) ** 2
    along = math.sin(math.radians(longitude2 - longitude1) / 2) ** 2
    part = across + along * math.cos(math.radians(latitude1)) * math.cos(math.radians(latitude2))
    return 2 * math.asin(math.sqrt(min(part, 1.0))) * radius
