"""The list of topics and the tabs of one, as a person uses them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from tests.ui.conftest import RunningPlatform
from tests.ui.kafka_data import fresh, make_topic, read_all, settled, write

Axe = Callable[[Page], None]
Shot = Callable[..., Path]


def topics_of(platform: RunningPlatform) -> set[str]:
    return set(AdminClient({"bootstrap.servers": platform.bootstrap}).list_topics(timeout=10).topics)


def test_a_topic_is_created_from_the_form_and_wrong_input_is_said_beside_its_field(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    page, name = browser_page, fresh("created")
    existing = make_topic(platform.bootstrap, fresh("existing"))
    page.goto(f"{platform.url}/topics")
    page.get_by_role("button", name="Create topic").click()
    form = page.get_by_role("dialog")
    create = form.get_by_role("button", name="Create topic")

    create.click()
    expect(form.get_by_text("A topic needs a name.")).to_be_visible()
    form.get_by_label("Name", exact=True).fill("two words")
    form.get_by_label("Partitions").fill("none")
    create.click()
    expect(form.get_by_text("but not a space")).to_be_visible()
    expect(form.get_by_text("Give a whole number from 1 to")).to_be_visible()
    form.get_by_label("Partitions").fill("4")
    form.get_by_label("Name", exact=True).fill(existing)
    create.click()
    expect(form.get_by_text("exists already")).to_be_visible()
    form.get_by_label("Name", exact=True).fill(name)
    form.get_by_label("Replicas").fill("3")
    create.click()
    expect(form.get_by_text(re.compile("replication factor", re.I))).to_be_visible()
    form.get_by_label("Replicas").fill("")
    settings = form.get_by_label("More settings, one name=value per line")
    settings.fill("max.message.byte=1000")
    create.click()
    expect(form.get_by_text("Did you mean max.message.bytes?")).to_be_visible()
    settings.fill("max.message.bytes=-1")
    create.click()
    expect(form.get_by_text("Value must be at least 0")).to_be_visible()
    settled(page)
    shot(page, "topic-create", full_page=False)
    axe(page)

    settings.fill("max.message.bytes=1000")
    create.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_text("4 partitions")).to_be_visible()
    expect(page).to_have_url(f"{platform.url}/topics/{name}")


def test_the_list_is_searched_sorted_and_paged_by_the_server_and_its_state_is_in_the_address(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    page, few, many = browser_page, fresh("sorted-few"), fresh("sorted-many")
    make_topic(platform.bootstrap, few)
    make_topic(platform.bootstrap, many, 2, cleanup_policy="compact")
    write(platform.bootstrap, few, [{"value": "x"}])
    write(platform.bootstrap, many, [{"key": str(one), "value": "x"} for one in range(30)])
    page.goto(f"{platform.url}/topics")
    page.get_by_role("searchbox", name="Filter topics").fill("sorted-")
    rows = page.get_by_role("table", name="Topics").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text(few)
    page.get_by_role("button", name="Messages").click()
    expect(rows.nth(0)).to_contain_text(many)
    expect(rows.nth(0)).to_contain_text("30")
    expect(rows.nth(0)).to_contain_text(re.compile(r"[\d.]+ (Ki)?B"))
    expect(rows.nth(0)).to_contain_text("compacted")
    expect(rows.nth(1)).to_contain_text("7 d")
    expect(page).to_have_url(re.compile(r"sort=-messages.*q=sorted-|q=sorted-.*sort=-messages"))
    axe(page)
    shot(page, "topics-light")
    page.reload()
    expect(rows.nth(0)).to_contain_text(many)
    expect(rows).to_have_count(2)


def test_internal_topics_are_shown_on_demand(platform: RunningPlatform, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{platform.url}/topics?q=_schemas")
    expect(page.get_by_text("No topic matches.")).to_be_visible()
    page.get_by_role("switch", name="Internal topics").click()
    expect(page.get_by_role("link", name="_schemas")).to_be_visible()
    expect(page).to_have_url(re.compile("internal=1"))
    page.reload()
    expect(page.get_by_role("link", name="_schemas")).to_be_visible()


def test_partitions_and_consumers_have_their_figures(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    page, name = browser_page, make_topic(platform.bootstrap, fresh("figures"), 2)
    write(platform.bootstrap, name, [{"value": "x", "partition": one % 2} for one in range(10)])
    group = fresh("readers")
    consumer = Consumer({"bootstrap.servers": platform.bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([name])
    assert len(consumer.consume(6, 30)) == 6
    consumer.commit(asynchronous=False)
    consumer.close()

    page.goto(f"{platform.url}/topics/{name}?tab=partitions")
    first = page.get_by_role("table", name="Partitions").locator("tbody tr").first
    expect(first).to_contain_text("in sync")
    expect(first.locator("td")).to_have_text(["0", "1", "1", "1", "0", "5", "5", re.compile("B$"), "in sync"])
    axe(page)
    shot(page, "topic-partitions-light")
    page.get_by_role("link", name="Consumers").click()
    row = page.get_by_role("row", name=group)
    expect(row.locator("td").nth(3)).to_have_text("4")
    expect(row.get_by_role("link", name=group)).to_have_attribute("href", f"/groups/{group}")
    axe(page)


def test_a_setting_is_changed_with_validation_and_set_back(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    page, name = browser_page, make_topic(platform.bootstrap, fresh("configured"), retention_ms="60000")
    page.goto(f"{platform.url}/topics/{name}?tab=config")
    row = page.get_by_role("row").filter(has_text="retention.ms").first
    expect(row).to_contain_text("60000")
    expect(row).to_contain_text("this topic")
    expect(row).to_contain_text("604800000")
    axe(page)
    shot(page, "topic-config-light")
    row.get_by_role("button", name="Edit retention.ms").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Value").fill("soon")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_text("Not a valid long")).to_be_visible()
    form.get_by_label("Value").fill("7200000")
    form.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("7200000")
    row.get_by_role("button", name="Edit retention.ms").click()
    form.get_by_role("button", name="Back to the default").click()
    expect(page.locator("tr:has(.badge.info)")).to_have_count(0)


def test_partitions_are_added_and_never_taken_away(platform: RunningPlatform, browser_page: Page) -> None:
    page, name = browser_page, make_topic(platform.bootstrap, fresh("growing"), 2)
    page.goto(f"{platform.url}/topics/{name}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_text("Add partitions").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Partitions in all").fill("2")
    form.get_by_role("button", name="Add partitions").click()
    expect(form.get_by_text("The topic has 2 partitions already.")).to_be_visible()
    form.get_by_label("Partitions in all").fill("5")
    form.get_by_role("button", name="Add partitions").click()
    expect(page.get_by_text("5 partitions")).to_be_visible()


def test_a_topic_is_cloned_with_its_settings_and_messages(platform: RunningPlatform, browser_page: Page) -> None:
    page, name = browser_page, make_topic(platform.bootstrap, fresh("original"), 2, retention_ms="99000")
    records = [
        {"key": f"k{one}", "value": f"v{one}", "partition": one % 2, "timestamp": 1000 + one, "headers": [("h", b"1")]}
        for one in range(20)
    ]
    write(platform.bootstrap, name, records)
    page.goto(f"{platform.url}/topics/{name}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_text("Clone", exact=True).click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name of the new topic").fill(f"{name}-2")
    form.get_by_role("checkbox", name="Copy the messages too").click()
    form.get_by_role("button", name="Clone").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{name}-2")
    copied = read_all(platform.bootstrap, f"{name}-2", 20, 2)
    assert {(one.key(), one.value(), one.partition(), one.timestamp()[1]) for one in copied} == {
        (f"k{one}".encode(), f"v{one}".encode(), one % 2, 1000 + one) for one in range(20)
    }
    assert all(one.headers() == [("h", b"1")] for one in copied)
    page.goto(f"{platform.url}/topics/{name}-2?tab=config")
    expect(page.locator("tr:has(.badge.info)")).to_contain_text("99000")


def test_emptying_and_deleting_ask_for_the_name(platform: RunningPlatform, browser_page: Page, shot: Shot) -> None:
    page, name = browser_page, make_topic(platform.bootstrap, fresh("doomed"))
    write(platform.bootstrap, name, [{"value": "x"}] * 3)
    page.goto(f"{platform.url}/topics/{name}")
    expect(page.get_by_role("button", name="Open offset 2 of partition 0")).to_be_visible()
    page.get_by_role("button", name="More actions").click()
    page.get_by_text("Empty topic").click()
    dialog = page.get_by_role("dialog")
    button = dialog.get_by_role("button", name="Empty topic")
    expect(button).to_be_disabled()
    shot(page, "topic-empty", full_page=False)
    dialog.get_by_label(f"Type {name} to confirm").fill(name)
    button.click()
    expect(page.get_by_text("There are no messages here.")).to_be_visible()
    assert name in topics_of(platform)

    page.get_by_role("button", name="More actions").click()
    page.get_by_text("Delete", exact=True).click()
    dialog.get_by_label(f"Type {name} to confirm").fill("something else")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_label(f"Type {name} to confirm").fill(name)
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{platform.url}/topics")
    assert name not in topics_of(platform)


def test_a_topic_that_is_not_there_is_said_in_a_sentence(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{platform.url}/topics/no-such-topic")
    expect(browser_page.get_by_role("alert")).to_have_text(re.compile("There is no topic no-such-topic."))


def test_the_pages_are_usable_in_the_dark_in_spanish_and_on_a_narrow_window(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    page, name = browser_page, make_topic(platform.bootstrap, fresh("pedidos"), 3)
    page.goto(f"{platform.url}/topics?lang=es&theme=dark")
    expect(page.get_by_role("button", name="Crear topic")).to_be_visible()
    axe(page)
    shot(page, "topics-dark-es")
    page.goto(f"{platform.url}/topics/{name}?tab=config&lang=es&theme=dark")
    expect(page.get_by_role("table", name="Configuración")).to_be_visible()
    axe(page)
    shot(page, "topic-config-dark-es")
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{platform.url}/topics?lang=en&theme=light")
    expect(page.get_by_role("table", name="Topics")).to_be_visible()
    axe(page)
    shot(page, "topics-narrow")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_two_thousand_topics_stay_usable(platform: RunningPlatform, browser_page: Page, shot: Shot) -> None:
    page, prefix = browser_page, fresh("bulk")
    admin = AdminClient({"bootstrap.servers": platform.bootstrap})
    names = [f"{prefix}-{one:04}" for one in range(2000)]
    for begin in range(0, 2000, 250):
        for future in admin.create_topics([NewTopic(name, 1, 1) for name in names[begin : begin + 250]]).values():
            future.result(60)
    write(platform.bootstrap, names[1234], [{"value": "x"}] * 7)
    try:
        page.goto(f"{platform.url}/topics?q={prefix}&page=40")
        while not page.get_by_text("1951–2000 of 2000").is_visible():  # what it knows of the cluster is a second old
            page.reload()
            expect(page.get_by_text(re.compile(r"\d+–\d+ of \d+"))).to_be_visible()
        began = time.monotonic()
        page.goto(f"{platform.url}/topics?q={prefix}")
        expect(page.get_by_text("1–50 of 2000")).to_be_visible()
        print(f"the list of 2,000 topics took {time.monotonic() - began:.2f} s")
        began = time.monotonic()
        page.get_by_role("button", name="Messages").click()
        expect(page.get_by_role("table", name="Topics").locator("tbody tr").first).to_contain_text(names[1234])
        print(f"sorting 2,000 topics by their messages took {time.monotonic() - began:.2f} s")
        page.goto(f"{platform.url}/topics?q={prefix}&page=40")
        expect(page.get_by_text("1951–2000 of 2000")).to_be_visible()
        shot(page, "topics-two-thousand", full_page=False)
    finally:
        for begin in range(0, 2000, 250):
            for future in admin.delete_topics(names[begin : begin + 250]).values():
                future.result(60)
