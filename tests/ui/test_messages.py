"""Messages as a person looks through them: pages, searches, the live tail, one message, writing and exporting."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from caudal.registry.client import RegistryClient
from caudal.serde.avro import Avro
from caudal.testing import embedded_broker
from tests.ui.conftest import RunningPlatform, started_ui
from tests.ui.kafka_data import fresh, make_topic, read_all, settled, write

Axe = Callable[[Page], None]
Shot = Callable[..., Path]
PAYMENT = {
    "type": "record",
    "name": "Payment",
    "fields": [{"name": "id", "type": "long"}, {"name": "who", "type": "string"}],
}


def order(number: int) -> dict[str, Any]:
    return {
        "key": f"customer-{number % 10}",
        "value": json.dumps({"id": number, "amount": number * 1.5, "city": ("Madrid", "Sevilla")[number % 2]}),
        "headers": [("kind", b"order"), ("trace", str(number).encode())],
        "timestamp": 1_700_000_000_000 + number * 1000,
    }


@pytest.fixture(scope="module")
def orders(platform: RunningPlatform) -> str:
    """120 orders in three partitions, one a second."""
    name = make_topic(platform.bootstrap, fresh("orders"), 3, retention_ms="-1")
    write(platform.bootstrap, name, [{**order(one), "partition": one % 3} for one in range(120)])
    return name


def rows(page: Page) -> Locator:
    return page.get_by_role("table", name=re.compile("Messages|Mensajes")).locator("tbody tr")


def open_topic(page: Page, platform: RunningPlatform, topic: str, query: str = "") -> None:
    page.goto(f"{platform.url}/topics/{topic}{query}")


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def test_pages_are_turned_newest_first_and_oldest_first(
    platform: RunningPlatform, browser_page: Page, orders: str, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    open_topic(page, platform, orders)
    expect(rows(page)).to_have_count(50)
    expect(rows(page).first).to_contain_text('"id": 119')
    axe(page)
    shot(page, "messages-light", full_page=False)
    page.get_by_role("button", name="Next page").click()
    expect(rows(page).first).to_contain_text('"id": 69')
    expect(page).to_have_url(re.compile("at=0"))
    shared = page.url
    page.get_by_role("button", name="Next page").click()
    expect(rows(page)).to_have_count(20)
    expect(rows(page).last).to_contain_text('"id": 0')
    expect(page.get_by_role("button", name="Next page")).to_be_disabled()
    page.get_by_role("button", name="Previous page").click()
    expect(rows(page).first).to_contain_text('"id": 69')
    choose(page, "Begin", "Oldest first")
    expect(rows(page).first).to_contain_text('"id": 0')
    page.goto(shared)
    expect(rows(page).first).to_contain_text('"id": 69')


def test_reading_begins_at_an_offset_or_a_time_and_what_cannot_be_is_said_beside_the_field(
    platform: RunningPlatform, browser_page: Page, orders: str
) -> None:
    page = browser_page
    open_topic(page, platform, orders)
    choose(page, "Begin", "From offset")
    page.get_by_label("Offset", exact=True).fill("4711")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_text("There are offsets from 0 to 40.")).to_be_visible()
    page.get_by_label("Offset", exact=True).fill("39")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(3)
    expect(rows(page).first).to_contain_text('"id": 117')
    choose(page, "Begin", "From time")
    page.get_by_label("Time", exact=True).fill("noon")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Give a time as")).to_be_visible()
    page.get_by_label("Time", exact=True).fill(str(1_700_000_000_000 + 118_000))
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(2)
    page.reload()
    expect(rows(page)).to_have_count(2)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("q=sevilla", 50),
        ("q=%22id%22%3A+77%2C", 1),
        ("key=customer-7", 12),
        ("key=%25-7", 12),
        ("header=trace%3D42", 1),
        ("partition=1&key=customer-7", 4),
        ("where=value.amount+%3E+170+and+headers.kind+like+%22o%25%22", 6),
    ],
)
def test_a_shared_address_shows_what_its_filters_find(
    platform: RunningPlatform, browser_page: Page, orders: str, query: str, count: int
) -> None:
    open_topic(browser_page, platform, orders, f"?{query}")
    expect(rows(browser_page)).to_have_count(count)
    expect(rows(browser_page).first.locator("td")).to_have_count(6)


def test_an_expression_is_typed_and_a_wrong_one_says_where(
    platform: RunningPlatform, browser_page: Page, orders: str, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    open_topic(page, platform, orders)
    page.get_by_text("More filters").click()
    field = page.get_by_label("Expression")
    field.fill('value.amount > and key == "customer-3"')
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"Character \d+: "))).to_be_visible()
    settled(page)
    axe(page)
    shot(page, "messages-expression", full_page=False)
    field.fill('value.amount > 100 and key == "customer-3" or value.id = 1')
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(6)
    field.fill("value.city > 5")
    page.keyboard.press("Enter")
    expect(page.get_by_text("120 could not be compared")).to_be_visible()
    expect(page).to_have_url(re.compile("where=value.city"))


def test_one_message_is_read_in_its_drawer_and_its_link_can_be_shared(
    platform: RunningPlatform, browser_page: Page, orders: str, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    open_topic(page, platform, orders)
    page.get_by_role("button", name="Open offset 39 of partition 2").click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("heading", name="Partition 2, offset 39")).to_be_visible()
    expect(drawer.get_by_text('"city"')).to_be_visible()
    expect(drawer.get_by_text("trace")).to_be_visible()
    settled(page)
    axe(page)
    shot(page, "message-light", full_page=False)
    link = page.url
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(page).not_to_have_url(re.compile("open="))
    page.goto(link)
    expect(drawer.get_by_role("heading", name="Partition 2, offset 39")).to_be_visible()
    page.goto(f"{platform.url}/topics/{orders}?open=2:4711")
    expect(page.get_by_text("has no message at offset 4711")).to_be_visible()


def test_a_message_is_written_edited_and_sent_again(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    page, topic = browser_page, make_topic(platform.bootstrap, fresh("written"), 2)
    open_topic(page, platform, topic)
    page.get_by_role("button", name="Produce message").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Key", exact=True).fill("ana")
    form.get_by_label("Value", exact=True).fill('{"amount": }')
    form.get_by_label("Headers, one name=value per line").fill("kind")
    send = form.get_by_role("button", name="Send")
    send.click()
    expect(form.get_by_text("This is no JSON: line 1, column")).to_be_visible()
    form.get_by_label("Value", exact=True).fill('{"amount": 7}')
    send.click()
    expect(form.get_by_text("Line 1 is not NAME=VALUE.")).to_be_visible()
    settled(page)
    axe(page)
    shot(page, "message-produce", full_page=False)
    form.get_by_label("Headers, one name=value per line").fill("kind=order")
    choose(page, "Partition", "1")
    send.click()
    expect(page.get_by_text("Written to partition 1 at offset 0.")).to_be_visible()
    expect(rows(page)).to_have_count(1)

    page.get_by_role("button", name="Open offset 0 of partition 1").click()
    page.get_by_role("button", name="Edit and send again").click()
    form = page.get_by_role("dialog").filter(has=page.get_by_role("heading", name="Edit and send again"))
    expect(form.get_by_label("Value", exact=True)).to_have_value('{\n  "amount": 7\n}')
    form.get_by_label("Value", exact=True).fill('{"amount": 8}')
    form.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Written to partition 1 at offset 1.")).to_be_visible()
    first, second = read_all(platform.bootstrap, topic, 2, 2)
    assert (first.key(), first.value(), first.headers()) == (b"ana", b'{"amount": 7}', [("kind", b"order")])
    assert (second.key(), second.value(), second.headers()) == (b"ana", b'{"amount": 8}', [("kind", b"order")])


def test_values_with_a_schema_are_read_filtered_and_written(
    platform: RunningPlatform, browser_page: Page, shot: Shot
) -> None:
    page, topic = browser_page, make_topic(platform.bootstrap, fresh("payments"))
    serde = Avro(PAYMENT, registry=platform.registry, topic=topic)
    write(
        platform.bootstrap,
        topic,
        [{"key": str(one), "value": serde.serialize({"id": one, "who": "ana"})} for one in range(5)],
    )
    write(platform.bootstrap, topic, [{"key": "gone", "value": None}])
    open_topic(page, platform, topic)
    expect(rows(page)).to_have_count(6)
    expect(rows(page).nth(1)).to_contain_text('{"id":4,"who":"ana"}')
    expect(rows(page).nth(1)).to_contain_text("Avro")
    expect(rows(page).first).to_contain_text("null")
    page.goto(f"{platform.url}/topics/{topic}?where=value.id+in+(1,3)")
    expect(rows(page)).to_have_count(2)

    page.get_by_role("button", name="Produce message").click()
    form = page.get_by_role("dialog")
    expect(form.get_by_label("Value: subject")).to_have_value(f"{topic}-value")
    form.get_by_label("Value", exact=True).fill('{"id": "seven", "who": "eva"}')
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("alert").filter(has_text=re.compile("id|long|seven"))).to_be_visible()
    shot(page, "message-schema-error", full_page=False)
    form.get_by_label("Value", exact=True).fill('{"id": 7, "who": "eva"}')
    form.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Written to partition 0 at offset 6.")).to_be_visible()
    written = read_all(platform.bootstrap, topic, 7)[-1].value()
    assert serde.deserialize(written) == {"id": 7, "who": "eva"}
    page.get_by_role("link", name="Schema", exact=True).click()
    expect(page.get_by_text(f"{topic}-value")).to_be_visible()
    assert RegistryClient(platform.registry).versions(f"{topic}-value") == [1]


def test_internal_topics_are_readable(platform: RunningPlatform, browser_page: Page, orders: str) -> None:
    from confluent_kafka import Consumer, TopicPartition

    group = fresh("committed")
    consumer = Consumer({"bootstrap.servers": platform.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(orders, 0, 5)], asynchronous=False)
    consumer.close()
    open_topic(browser_page, platform, "__consumer_offsets", f"?q={group}")
    expect(rows(browser_page).first).to_contain_text(f'"group":"{group}"')


def test_the_live_tail_pushes_what_comes_and_can_be_paused(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    page, topic = browser_page, make_topic(platform.bootstrap, fresh("live"))
    write(platform.bootstrap, topic, [{"value": "before"}])
    open_topic(page, platform, topic, "?from=live&q=wanted")
    expect(page.get_by_text("Waiting for messages…")).to_be_visible()
    expect(page.get_by_text("following: 0 came")).to_be_visible()
    write(platform.bootstrap, topic, [{"value": "wanted 1"}, {"value": "other"}, {"value": "wanted 2"}])
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first).to_contain_text("wanted 2")
    axe(page)
    shot(page, "messages-live", full_page=False)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    write(platform.bootstrap, topic, [{"value": "wanted 3"}])
    expect(page.get_by_text("1 came while paused")).to_be_visible()
    expect(rows(page)).to_have_count(2)
    page.get_by_role("button", name="Go on").click()
    write(platform.bootstrap, topic, [{"value": f"wanted {one}"} for one in range(5000)])
    expect(rows(page).first).to_contain_text("wanted 4999")
    expect(page.get_by_text("skipped, too fast to show")).to_be_visible()
    expect(rows(page)).to_have_count(200)


@pytest.mark.parametrize("format", ["JSON lines", "CSV"])
def test_what_is_filtered_is_exported(platform: RunningPlatform, browser_page: Page, orders: str, format: str) -> None:
    page = browser_page
    open_topic(page, platform, orders, "?from=oldest&where=value.id+%3E%3D+100")
    expect(rows(page)).to_have_count(20)
    page.get_by_role("button", name="Export").click()
    form = page.get_by_role("dialog")
    form.get_by_label("At most").fill("0")
    form.get_by_role("button", name="Export").click()
    expect(form.get_by_text("Give a whole number from 1 to")).to_be_visible()
    form.get_by_label("At most").fill("15")
    form.get_by_role("radio", name=format).click()
    with page.expect_download() as download:
        form.get_by_role("button", name="Export").click()
    text = Path(download.value.path()).read_text()
    if format == "CSV":
        found = list(csv.DictReader(io.StringIO(text)))
        ids = [json.loads(row["value"])["id"] for row in found]
    else:
        ids = [json.loads(line)["value"]["id"] for line in text.splitlines()]
    assert ids == list(range(100, 115))


def test_the_main_path_works_with_the_keyboard_alone(platform: RunningPlatform, browser_page: Page) -> None:
    """Create a topic, write a message, find it: without a mouse."""
    page, name = browser_page, fresh("keyboard")
    page.goto(platform.url)
    page.wait_for_function("() => window.caudal")
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics")
    expect(page.get_by_role("table", name="Topics")).to_be_visible()
    tab_to(page, "Create topic")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_text("There are no messages here.")).to_be_visible()
    tab_to(page, "Produce message")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Produce message")).to_be_visible()
    tab_to(page, "Value")
    page.keyboard.type('{"found": "by keyboard"}')
    tab_to(page, "Send")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Written to partition 0 at offset 0.")).to_be_visible()
    tab_to(page, "Text in key, value or headers")
    page.keyboard.type("keyboard")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(1)
    tab_to(page, "Open offset 0 of partition 0")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Partition 0, offset 0")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def tab_to(page: Page, name: str) -> None:
    """Tab until the control of this name has the focus."""
    script = """() => { const one = document.activeElement;
      return one.getAttribute('aria-label') || one.innerText || ''; }"""
    for _ in range(80):
        page.keyboard.press("Tab")
        if str(page.evaluate(script)).strip().split("\n")[-1].strip() == name:
            return
    raise AssertionError(f"Tab does not reach {name!r}")


def test_a_broker_that_went_away_is_said_in_a_sentence(browser_page: Page) -> None:
    page = browser_page
    with embedded_broker() as broker, started_ui(broker.bootstrap) as ui:
        topic = make_topic(broker.bootstrap, fresh("away"))
        write(broker.bootstrap, topic, [{"value": "x"}])
        page.goto(f"{ui.url}/topics/{topic}")
        expect(rows(page)).to_have_count(1)
        broker.stop()
        page.get_by_role("button", name="Search", exact=True).click()
        expect(page.get_by_role("alert")).to_have_text(
            re.compile(f"The broker at {broker.bootstrap} does not answer."), timeout=30_000
        )
        broker.start()
        # The client reconnects with growing pauses, so a visitor may have to try more than once.
        found = rows(page).get_by_role("button", name="Open offset 0 of partition 0")
        for _ in range(10):
            page.get_by_role("button", name="Search", exact=True).click()
            expect(page.get_by_role("button", name="Stop")).to_be_hidden(timeout=30_000)
            if found.count():
                break
        expect(found).to_be_visible()


def test_the_page_is_usable_in_the_dark_in_spanish_and_on_a_narrow_window(
    platform: RunningPlatform, browser_page: Page, orders: str, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    open_topic(page, platform, orders, "?lang=es&theme=dark&key=customer-3")
    expect(rows(page)).to_have_count(12)
    settled(page)
    axe(page)
    shot(page, "messages-dark-es", full_page=False)
    rows(page).first.get_by_role("button").click()
    expect(page.get_by_role("button", name="Editar y reenviar")).to_be_visible()
    settled(page)
    axe(page)
    shot(page, "message-dark-es", full_page=False)
    page.set_viewport_size({"width": 400, "height": 800})
    open_topic(page, platform, orders, "?lang=en&theme=light")
    expect(rows(page)).to_have_count(50)
    settled(page)
    axe(page)
    shot(page, "messages-narrow", full_page=False)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_million_messages_are_paged_searched_and_the_search_is_stopped(
    platform: RunningPlatform, browser_page: Page, shot: Shot
) -> None:
    page, topic = browser_page, make_topic(platform.bootstrap, fresh("million"), 2)
    write(
        platform.bootstrap,
        topic,
        ({"value": b'{"n":%d}' % one, "partition": one % 2} for one in range(1_000_000)),
    )
    began = time.monotonic()
    open_topic(page, platform, topic)
    expect(rows(page)).to_have_count(50)
    print(f"the newest of a million messages took {time.monotonic() - began:.2f} s")
    began = time.monotonic()
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("button", name="Previous page")).to_be_enabled()
    expect(page.get_by_role("button", name="Next page")).to_be_enabled()
    print(f"the next page took {time.monotonic() - began:.2f} s")
    open_topic(page, platform, topic, "?from=offset&offset=250000")
    expect(rows(page)).to_have_count(50)
    began = time.monotonic()
    open_topic(page, platform, topic, "?where=value.n+%3D+20")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Search on")).to_be_visible()
    shot(page, "messages-searching", full_page=False)
    found, search_on = rows(page).get_by_role("button"), page.get_by_role("button", name="Search on")
    status = page.get_by_text("looked at")
    for _ in range(60):
        before = status.inner_text()
        search_on.click()
        expect(status).not_to_have_text(before, timeout=60_000)
        expect(found.or_(search_on).first).to_be_visible(timeout=60_000)
        if found.count():
            break
    expect(rows(page).first).to_contain_text('{"n":20}')
    resident = int(Path(f"/proc/{platform.pid}/statm").read_text().split()[1]) * 4096 >> 20
    print(f"the control center takes {resident} MB after it")
    assert resident <= 200
    print(f"a message among a million was found after {time.monotonic() - began:.1f} s")
