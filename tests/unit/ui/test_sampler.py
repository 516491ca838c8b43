"""The pure parts of the sampler: what scrapes say, what a kept record brings back, how long it rests."""

from __future__ import annotations

import orjson

from caudal.ui.history import History
from caudal.ui.rates import parse_metrics
from caudal.ui.sampler import BYTES_IN, BYTES_OUT, LATENCY, LONGEST_SECONDS, REQUESTS, pause, recall, request_figures


def page(produced: int, fetched: int) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    text = (
        f'{BYTES_IN}{{api="Produce"}} {produced}\n{BYTES_OUT}{{api="Fetch"}} {fetched}\n'
        f'{LATENCY}{{api="Produce",le="0.001"}} {produced}\n{LATENCY}{{api="Produce",le="+Inf"}} {produced}\n'
    )
    return parse_metrics(text, (REQUESTS, BYTES_IN, BYTES_OUT, LATENCY))


def test_bytes_are_summed_over_the_brokers_that_both_scrapes_know() -> None:
    before = {"a": page(100, 1000), "b": page(0, 0)}
    after = {"a": page(200, 3000), "b": page(50, 0), "new": page(9999, 9999)}
    figures = {(name, *labels.values()): value for name, labels, value in request_figures(before, after, 10.0)}
    assert figures["bytes_in_per_second",] == 15
    assert figures["bytes_out_per_second",] == 200
    assert figures["request_latency_ms", "Produce", "0.5"] == 0.5
    assert ("request_latency_ms", "Fetch", "0.5") not in figures


def test_the_first_scrape_says_nothing_yet() -> None:
    assert request_figures({}, {"a": page(1, 1)}, 5.0) == []


def test_a_kept_sample_comes_back_and_what_is_none_does_no_harm() -> None:
    history = History()
    recall(history, orjson.dumps([12.5, [["messages_per_second", {"topic": "t"}, 3], ["brokers", {}, 1]]]))
    for stranger in (b"", b"{}", b"[1]", b'[1, ["x"]]', b"\xff", b'[1, [["a", 3, 4]]]'):
        recall(history, stranger)
    assert history.series("messages_per_second", {"topic": "t"}) == [(12.5, 3.0)]
    assert history.latest("brokers") == 1


def test_a_slow_sample_is_followed_by_a_longer_rest_that_has_an_end() -> None:
    assert pause(0.05, 5.0) == 4.95
    assert pause(1.0, 5.0) == 20.0
    assert pause(30.0, 5.0) == LONGEST_SECONDS
