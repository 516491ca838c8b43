"""What two samples say about the time between them."""

from __future__ import annotations

import pytest

from caudal.ui.rates import counter_rate, message_rates, parse_metrics, quantile

PAGE = """# HELP caudal_requests_total Requests answered.
# TYPE caudal_requests_total counter
caudal_requests_total{api="Produce"} 12.0
caudal_requests_total{api="Fetch"} 3.0
caudal_requests_totally_other{api="Fetch"} 9.0
caudal_request_duration_seconds_bucket{api="Produce",le="0.001"} 10.0
caudal_request_duration_seconds_bucket{api="Produce",le="+Inf"} 12.0
caudal_topics 4.0
"""


def test_rates_are_summed_over_partitions_and_leave_out_our_own_topics() -> None:
    before = {("orders", 0): 10, ("orders", 1): 0, ("__consumer_offsets", 0): 0, ("_caudal_metrics", 0): 0}
    after = {("orders", 0): 20, ("orders", 1): 10, ("__consumer_offsets", 0): 99, ("_caudal_metrics", 0): 9}
    assert message_rates(before, after, 2.0) == {"orders": 10.0}


def test_a_topic_that_is_new_waits_for_its_second_sample_and_one_made_anew_counts_from_zero() -> None:
    assert message_rates({}, {("orders", 0): 50}, 5.0) == {}
    assert message_rates({("orders", 0): 100}, {("orders", 0): 10}, 5.0) == {"orders": 2.0}


def test_a_counter_of_a_restarted_process_counts_from_zero() -> None:
    assert counter_rate(100, 150, 10) == 5
    assert counter_rate(100, 20, 10) == 2
    assert counter_rate(None, 20, 10) is None


def test_a_quantile_lies_within_its_bucket() -> None:
    before = {0.001: 0.0, 0.01: 0.0, float("inf"): 0.0}
    after = {0.001: 50.0, 0.01: 100.0, float("inf"): 100.0}
    assert quantile(before, after, 0.5) == pytest.approx(0.001)
    assert quantile(before, after, 0.75) == pytest.approx(0.0055)
    assert quantile(after, after, 0.5) is None
    assert quantile(after, before | {0.001: 2.0, 0.01: 2.0, float("inf"): 2.0}, 0.5) == pytest.approx(0.0005)


def test_what_lies_above_the_last_bound_is_said_as_the_bound() -> None:
    assert quantile({}, {1.0: 0.0, float("inf"): 4.0}, 0.5) == 1.0


def test_only_the_metrics_that_are_asked_for_are_read() -> None:
    found = parse_metrics(PAGE, ("caudal_requests_total", "caudal_request_duration_seconds_bucket"))
    assert found["caudal_requests_total"] == {(("api", "Produce"),): 12.0, (("api", "Fetch"),): 3.0}
    assert found["caudal_request_duration_seconds_bucket"][(("api", "Produce"), ("le", "+Inf"))] == 12.0
    assert set(found) == {"caudal_requests_total", "caudal_request_duration_seconds_bucket"}
