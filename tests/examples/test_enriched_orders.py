"""examples/enriched_orders.py: table, global table and stream-stream join, with what is missing on either side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from caudal.testing import TopologyTestDriver
from tests.examples.example_files import load

MINUTE = 60_000


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(load("enriched_orders"), start_time=0) as driver:
        driver.pipe_input("buyers", "ana", {"city": "Soria"})
        driver.pipe_input("products", "p7", {"name": "kettle", "price": 20})
        yield driver


def sell(driver: TopologyTestDriver, customer: str, order: str, product: str, timestamp: int = 0) -> None:
    driver.pipe_input("sales", customer, {"order": order, "product": product, "pieces": 2}, timestamp)


def values(driver: TopologyTestDriver, topic: str) -> list[Any]:
    return [record.value for record in driver.read_outputs(topic)]


def test_an_order_gets_its_product_and_its_customer(driver: TopologyTestDriver) -> None:
    sell(driver, "ana", "o1", "p7")
    sell(driver, "ana", "o2", "unknown")
    sell(driver, "nobody", "o3", "p7")
    order = {"order": "o1", "product": "p7", "pieces": 2, "name": "kettle", "due": 40}
    unknown = {"order": "o2", "product": "unknown", "pieces": 2, "name": None, "due": None}
    buyer = {"customer": "ana", "city": "Soria"}
    assert values(driver, "deliveries") == [{**order, **buyer}, {**unknown, **buyer}]


def test_a_payment_settles_at_once_and_what_is_not_paid_in_time_comes_later(driver: TopologyTestDriver) -> None:
    sell(driver, "ana", "o1", "p7")
    sell(driver, "ana", "o2", "p7")
    driver.pipe_input("payments", "o1", {"paid": 40}, 5 * MINUTE)
    assert values(driver, "settled") == [{"order": "o1", "due": 40, "paid": 40}]
    driver.pipe_input("payments", "o2", {"paid": 40}, 12 * MINUTE)
    assert values(driver, "settled") == [{"order": "o2", "due": 40, "paid": 0}]
