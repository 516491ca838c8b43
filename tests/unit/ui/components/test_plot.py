"""The time axis of a plot."""

from __future__ import annotations

from caudal.ui.components.plot import LEAST_SPAN_MS, _begin


def test_a_single_sample_is_shown_in_a_minute_not_in_days() -> None:
    assert _begin({"in": [[1_000_000, 3.0]], "out": []}) == 1_000_000 - LEAST_SPAN_MS


def test_samples_of_more_than_a_minute_span_the_axis_themselves() -> None:
    assert _begin({"in": [[0, 1.0], [LEAST_SPAN_MS, 2.0]]}) is None
    assert _begin({}) is None
