"""examples/orders.py: the example of the specification, as it stands."""

from __future__ import annotations

from caudal.streams import Windowed
from caudal.testing import TopologyTestDriver
from tests.examples.example_files import load


def test_orders_are_counted_enriched_and_summed_by_user() -> None:
    with TopologyTestDriver(load("orders"), start_time=0) as driver:
        driver.pipe_input("customers", "ana", {"city": "Soria"})
        driver.pipe_input("orders", "1", {"user": "ana", "amount": 3}, timestamp=1_000)
        driver.pipe_input("orders", "2", {"user": "ana", "amount": 0}, timestamp=2_000)
        driver.pipe_input("orders", "3", {"user": "ana", "amount": 4}, timestamp=61_000)
        driver.pipe_input("orders", "4", {"user": "eva", "amount": 5}, timestamp=61_000)
        counts = [(record.key, record.value) for record in driver.read_outputs("orders-per-user")]
        assert counts == [("ana", 1), ("ana", 2), ("eva", 1)]
        enriched = [record.value for record in driver.read_outputs("orders-enriched")]
        assert enriched == [
            {"user": "ana", "amount": 3, "city": "Soria"},
            {"user": "ana", "amount": 4, "city": "Soria"},
        ]
        spent = [(record.key, record.value) for record in driver.read_outputs("spent-per-minute")]
        assert spent == [
            (Windowed("ana", 0, 60_000), 3),
            (Windowed("ana", 60_000, 120_000), 4),
            (Windowed("eva", 60_000, 120_000), 5),
        ]
