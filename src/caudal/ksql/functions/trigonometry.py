"""Angles, in radians unless a name says degrees. Outside of a function's domain the result is NaN, not an error."""

from __future__ import annotations

import math
from collections.abc import Callable

from caudal.ksql.functions.numbers import MATHEMATICAL, ONE_NUMBER
from caudal.ksql.functions.registry import scalar


def _or_nan(function: Callable[[float], float], value: float) -> float:
    try:
        return function(value)
    except ValueError:
        return math.nan


@scalar("PI", "() -> DOUBLE", description="Half of a full turn.", category=MATHEMATICAL, spark="pi()")
def pi() -> float:
    return math.pi


@scalar("SIN", *ONE_NUMBER, description="The sine.", category=MATHEMATICAL)
def sin(value: float) -> float:
    return _or_nan(math.sin, value)


@scalar("COS", *ONE_NUMBER, description="The cosine.", category=MATHEMATICAL)
def cos(value: float) -> float:
    return _or_nan(math.cos, value)


@scalar("TAN", *ONE_NUMBER, description="The tangent.", category=MATHEMATICAL)
def tan(value: float) -> float:
    return _or_nan(math.tan, value)


@scalar("COT", *ONE_NUMBER, description="The cotangent; infinite at zero.", category=MATHEMATICAL)
def cot(value: float) -> float:
    value = float(value)
    if value == 0:
        return math.copysign(math.inf, value)
    return cos(value) / sin(value)


@scalar("ASIN", *ONE_NUMBER, description="The angle whose sine is the value.", category=MATHEMATICAL)
def asin(value: float) -> float:
    return _or_nan(math.asin, value)


@scalar("ACOS", *ONE_NUMBER, description="The angle whose cosine is the value.", category=MATHEMATICAL)
def acos(value: float) -> float:
    return _or_nan(math.acos, value)


@scalar("ATAN", *ONE_NUMBER, description="The angle whose tangent is the value.", category=MATHEMATICAL)
def atan(value: float) -> float:
    return math.atan(value)


@scalar(
    "ATAN2",
    "(y INTEGER, x INTEGER) -> DOUBLE",
    "(y BIGINT, x BIGINT) -> DOUBLE",
    "(y DOUBLE, x DOUBLE) -> DOUBLE",
    description="The angle of the point (x, y), seen from the origin.",
    category=MATHEMATICAL,
)
def atan2(y: float, x: float) -> float:
    return math.atan2(y, x)


@scalar("SINH", *ONE_NUMBER, description="The hyperbolic sine.", category=MATHEMATICAL)
def sinh(value: float) -> float:
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


@scalar("COSH", *ONE_NUMBER, description="The hyperbolic cosine.", category=MATHEMATICAL)
def cosh(value: float) -> float:
    try:
        return math.cosh(value)
    except OverflowError:
        return math.inf


@scalar("TANH", *ONE_NUMBER, description="The hyperbolic tangent.", category=MATHEMATICAL)
def tanh(value: float) -> float:
    return math.tanh(value)


@scalar("DEGREES", *ONE_NUMBER, description="Radians as degrees.", category=MATHEMATICAL, spark="degrees({0})")
def degrees(value: float) -> float:
    return math.degrees(value)


@scalar("RADIANS", *ONE_NUMBER, description="Degrees as radians.", category=MATHEMATICAL, spark="radians({0})")
def radians(value: float) -> float:
    return math.radians(value)
