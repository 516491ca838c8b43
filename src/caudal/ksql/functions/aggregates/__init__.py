"""Aggregates: `make(types, literals)` of each gives a `Udaf`, whose state is a plain SQL value.

Those that can take a row back have `undo`, and so work over tables. Those on the hot path also have `inline_add`, the
same as `add` as a Python expression of the state `{s}` and the arguments `{0}`, `{1}`…, each of which may stand there
several times and be null; `inline_result` likewise. Whoever generates code may put them in instead of a call.
"""

from __future__ import annotations

from caudal.ksql.functions.aggregates import collections, counts, extremes, offsets, statistics, sums, tops

__all__ = ["collections", "counts", "extremes", "offsets", "statistics", "sums", "tops"]
