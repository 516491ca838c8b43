"""Which server runs a query: spread, and stable when servers come and go."""

from __future__ import annotations

from collections import Counter

from caudal.ksql.engine.membership import chosen

QUERIES = [f"CSAS_S_{number}" for number in range(300)]


def test_queries_are_spread_over_servers() -> None:
    counted = Counter(chosen(query, ["http://a", "http://b", "http://c"]) for query in QUERIES)
    assert set(counted) == {"http://a", "http://b", "http://c"}
    assert min(counted.values()) > 60


def test_only_the_queries_of_a_server_that_goes_move() -> None:
    before = {query: chosen(query, ["http://a", "http://b", "http://c"]) for query in QUERIES}
    after = {query: chosen(query, ["http://a", "http://c"]) for query in QUERIES}
    assert all(before[query] == after[query] for query in QUERIES if before[query] != "http://b")


def test_without_servers_nobody_is_chosen() -> None:
    assert chosen("Q", []) is None
