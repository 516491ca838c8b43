"""The overview: figures and plots of real traffic, the components' health, and that both are there after a restart."""

from __future__ import annotations

import itertools
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Locator, Page, expect

from caudal.broker.metrics_server import MetricsServer
from caudal.testing import EmbeddedBroker, embedded_broker

from .conftest import RunningPlatform, started_ui

Axe = Callable[[Page], None]
Shot = Callable[..., Path]
TOPIC = "traffic"


@pytest.fixture
def measured_broker() -> Iterator[tuple[EmbeddedBroker, str]]:
    """A broker of its own, with its /metrics."""
    with embedded_broker() as broker:
        figures = MetricsServer(broker.broker, port=0)
        broker.run(figures.start(), 10)
        yield broker, f"http://127.0.0.1:{figures.port}/metrics"
        broker.run(figures.stop(), 10)


def samples(url: str) -> int:
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return int(next(line for line in lines if line.startswith("caudal_ui_samples_total ")).split()[1])


def produce_until(broker: EmbeddedBroker, is_enough: Callable[[], bool]) -> None:
    """Steady traffic until the control center has seen it."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for count in itertools.count():
        producer.produce(TOPIC, b"x" * 100)
        if count % 50 == 0:
            producer.flush(10)
            if is_enough():
                return


def figure(page: Page, label: str) -> str:
    card = page.locator(".stat", has=page.get_by_text(label, exact=True))
    return card.locator(".stat-value").inner_text()


def lines_of(page: Page, plot: str) -> Locator:
    return page.get_by_role("img", name=plot, exact=True).locator("path")


def test_traffic_is_seen_and_the_plots_survive_a_restart(
    measured_broker: tuple[EmbeddedBroker, str], browser_page: Page, axe: Axe, shot: Shot
) -> None:
    broker, metrics = measured_broker
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result(30)
    arguments = (broker.bootstrap, "--metrics", metrics, "--sample-seconds", "0.5")
    with started_ui(*arguments) as ui:
        produce_until(broker, lambda: samples(ui.url) >= 6)
        browser_page.goto(ui.url)
        expect(lines_of(browser_page, "Messages per second")).not_to_have_count(0)
        assert figure(browser_page, "Brokers") == "1"
        assert figure(browser_page, "Under-replicated") == "0"
        assert figure(browser_page, "Messages") != "–"
        assert figure(browser_page, "Bytes in").endswith("/s")
        assert figure(browser_page, "Produce latency").endswith("ms")
        busiest = browser_page.get_by_role("img", name="Busiest topics, messages per second")
        expect(busiest.get_by_text(TOPIC)).to_be_visible()
        axe(browser_page)
        shot(browser_page, "overview-light")
        browser_page.goto(f"{ui.url}/?theme=dark&lang=es&last=1h")
        expect(browser_page.get_by_role("link", name="1h")).to_have_attribute("aria-current", "page")
        expect(lines_of(browser_page, "Mensajes por segundo")).not_to_have_count(0)
        axe(browser_page)
        shot(browser_page, "overview-dark")
    # Without traffic, only what the topic kept can show it.
    with started_ui(*arguments) as ui:
        deadline = time.monotonic() + 30
        while not samples(ui.url):
            assert time.monotonic() < deadline
        browser_page.goto(f"{ui.url}/?lang=en")
        busiest = browser_page.get_by_role("img", name="Busiest topics, messages per second")
        expect(busiest.get_by_text(TOPIC)).to_be_visible()


def test_components_are_up_down_or_not_connected(platform: RunningPlatform, browser_page: Page) -> None:
    with started_ui(platform.bootstrap, "--registry", platform.registry, "--connect", "http://127.0.0.1:1") as ui:
        browser_page.goto(ui.url)
        table = browser_page.get_by_role("table", name="Components")
        expect(table.get_by_role("row", name="Schema Registry")).to_contain_text("up")
        expect(table.get_by_role("row", name="Schema Registry")).to_contain_text(platform.registry)
        expect(table.get_by_role("row", name="Connect does")).to_contain_text("does not answer")
        expect(table.get_by_role("row", name="KSQL")).to_contain_text("not connected")
        expect(table.get_by_role("row", name="Control center")).to_contain_text("up")


def test_a_broker_that_goes_away_is_said_and_comes_back(browser_page: Page) -> None:
    with embedded_broker() as broker, started_ui(broker.bootstrap) as ui:
        browser_page.goto(ui.url)
        expect(browser_page.get_by_role("row", name="Kafka")).to_contain_text("up")
        broker.stop()
        expect(browser_page.get_by_role("row", name="Kafka")).to_contain_text("does not answer", timeout=40_000)
        broker.start()
        expect(browser_page.get_by_role("row", name="Kafka")).to_contain_text("up", timeout=40_000)


def test_the_process_stays_small_and_the_pages_quick(platform: RunningPlatform, browser_page: Page) -> None:
    for path in ("/", "/brokers", "/brokers/1", "/security", "/docs") * 4:
        browser_page.goto(f"{platform.url}{path}")
        expect(browser_page.locator("main h1, main h2").first).to_be_visible()
    loaded = []
    for _ in range(5):
        started = time.perf_counter()
        browser_page.goto(platform.url)
        expect(browser_page.get_by_role("heading", level=1)).to_be_visible()
        loaded.append(time.perf_counter() - started)
    assert min(loaded) < 1.0, loaded
    assert psutil.Process(platform.pid).memory_info().rss < 200e6
