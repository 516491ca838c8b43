"""Consumer groups in the browser: the list and its paging, one group, and the reset of offsets with its preview."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page, expect

from caudal import jars
from caudal.bench.servers import ApacheKafkaServer
from caudal.testing import embedded_broker
from tests.ui.conftest import RunningPlatform, started_ui

Axe = Callable[[Page], None]
Shot = Callable[..., Path]

RECORDS = 100  # in each partition
COMMITTED = 60


@pytest.fixture
def topic(platform: RunningPlatform) -> str:
    """Three partitions with a hundred records each, one a second in 2023."""
    name = f"orders-{uuid.uuid4().hex[:6]}"
    platform.broker.create_topic(name, partitions=3)
    producer = Producer({"bootstrap.servers": platform.bootstrap})
    for partition in range(3):
        for number in range(RECORDS):
            at = 1_700_000_000_000 + number * 1000
            producer.produce(name, str(number), partition=partition, timestamp=at)
    assert producer.flush(20) == 0
    return name


@pytest.fixture
def group(platform: RunningPlatform, topic: str) -> str:
    """A group without members that has read sixty records of each partition."""
    name = f"billing-{uuid.uuid4().hex[:6]}"
    commit(platform.bootstrap, name, topic, COMMITTED)
    return name


@pytest.fixture
def member(platform: RunningPlatform, topic: str, group: str) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": platform.bootstrap,
            "group.id": group,
            "client.id": "worker-1",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + 30
    while not consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.1)
    assert len(consumer.assignment()) == 3
    yield consumer
    consumer.close()


def commit(bootstrap: str, group: str, topic: str, offset: int, partitions: int = 3) -> None:
    """As an administrator; a coordinator that has just started is asked again until it has read its log."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    places = [TopicPartition(topic, number, offset) for number in range(partitions)]
    deadline = time.monotonic() + 30
    while True:
        answer = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group].result(20)
        errors = [place.error for place in answer.topic_partitions if place.error is not None]
        if not errors:
            return
        assert time.monotonic() < deadline, errors


def committed(bootstrap: str, group: str) -> list[int]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(20)
    return [place.offset for place in sorted(answer.topic_partitions, key=lambda place: place.partition)]


def test_the_list_shows_state_lag_and_members_and_is_filtered_in_the_url(
    platform: RunningPlatform, browser_page: Page, group: str, member: Consumer, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups")
    page.get_by_role("searchbox", name="Filter by name").fill(group)
    line = page.get_by_role("row").filter(has_text=group)
    expect(line).to_contain_text("Stable")
    expect(line.get_by_role("cell")).to_have_text([group, "Stable", "1", "1", "120", "1"])
    expect(page).to_have_url(re.compile(f"q={group}"))
    page.reload()
    expect(page.get_by_role("row")).to_have_count(2)
    shot(page, "groups-list")
    axe(page)
    page.get_by_role("link", name=group).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(group)


def test_groups_of_other_states_are_left_out_when_one_is_chosen(
    platform: RunningPlatform, browser_page: Page, group: str
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups?q={group}&state=stable")
    expect(page.get_by_text("No group here")).to_be_visible()
    page.get_by_label("State").click()
    page.get_by_role("option", name="Empty").click()
    expect(page.get_by_role("link", name=group)).to_be_visible()
    expect(page).to_have_url(re.compile("state=empty"))


def test_a_group_shows_its_lag_by_partition_and_its_members(
    platform: RunningPlatform, browser_page: Page, topic: str, group: str, member: Consumer, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}")
    line = page.get_by_role("row").filter(has_text=topic).first
    expect(line.get_by_role("cell")).to_have_text([topic, "0", "60", "100", "40", "worker-1"])
    expect(line.get_by_role("link", name=topic)).to_have_attribute("href", f"/topics/{topic}")
    expect(page.get_by_role("img", name="Lag over time")).to_be_visible()
    shot(page, "group-lag")
    axe(page)
    page.get_by_role("link", name="Members").click()
    line = page.get_by_role("row").filter(has_text="worker-1")
    expect(line).to_contain_text(f"{topic}: 0, 1, 2")
    shot(page, "group-members")
    axe(page)


def test_the_lag_follows_by_itself(platform: RunningPlatform, browser_page: Page, topic: str, group: str) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}")
    expect(page.locator(".stat").filter(has_text="Lag")).to_contain_text("120")
    commit(platform.bootstrap, group, topic, RECORDS)
    expect(page.locator(".stat").filter(has_text="Lag").locator(".stat-value")).to_have_text("0")


@pytest.mark.parametrize(
    ("choice", "field", "value", "new"),
    [
        ("Earliest: read everything again", None, "", 0),
        ("Latest: only what comes from now on", None, "", 100),
        ("An offset", "Offset", "42", 42),
        ("A point in time", "Time", "2023-11-14T22:13:50Z", 30),
        ("So long ago", "How long ago", "1h 30m", 100),
        ("Shift by a number of records", "Number of records", "-10", 50),
    ],
)
def test_a_reset_is_shown_before_it_is_done(
    platform: RunningPlatform,
    browser_page: Page,
    group: str,
    choice: str,
    field: str | None,
    value: str,
    new: int,
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}?tab=reset")
    page.get_by_role("radio", name=choice).click()
    if field:
        page.get_by_role("textbox", name=field, exact=True).fill(value)
    page.get_by_role("button", name="Preview").click()
    plan = page.get_by_role("table", name="What the reset would do")
    change = new - COMMITTED
    shown = f"{'+' if change > 0 else '−'}{abs(change)}"
    expect(plan.get_by_role("row").nth(1).get_by_role("cell")).to_contain_text(["", "0", "60", str(new), shown])
    assert committed(platform.bootstrap, group) == [COMMITTED] * 3, "a preview changes nothing"
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Reset offsets").click()
    expect(page.get_by_text("Done: 3 partitions were set.")).to_be_visible()
    assert committed(platform.bootstrap, group) == [new] * 3


def test_only_the_chosen_partitions_are_reset(
    platform: RunningPlatform, browser_page: Page, topic: str, group: str
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}?tab=reset&to=latest")
    page.get_by_role("textbox", name=f"Partitions of {topic}").fill("0, 2")
    page.get_by_role("button", name="Preview").click()
    plan = page.get_by_role("table", name="What the reset would do")
    expect(plan.get_by_role("row")).to_have_count(3)
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Reset offsets").click()
    expect(page.get_by_text("Done: 2 partitions were set.")).to_be_visible()
    assert committed(platform.bootstrap, group) == [100, 60, 100]


@pytest.mark.parametrize(
    ("to", "value", "sentence"),
    [
        ("offset", "-3", "An offset is a whole number"),
        ("offset", "many", "An offset is a whole number"),
        ("time", "yesterday", "Not a time"),
        ("duration", "soon", "Not a length of time"),
        ("shift", "0", "Give by how many records"),
    ],
)
def test_what_is_wrong_is_said_beside_the_field(
    platform: RunningPlatform, browser_page: Page, group: str, to: str, value: str, sentence: str
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}?tab=reset&to={to}&value={value}")
    page.get_by_role("button", name="Preview").click()
    field = page.locator(".q-field").filter(has_text=sentence)
    expect(field).to_be_visible()
    expect(page.get_by_role("button", name="Apply")).to_have_count(0)


def test_partitions_that_do_not_exist_are_refused_beside_their_field(
    platform: RunningPlatform, browser_page: Page, topic: str, group: str
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}?tab=reset&topics={topic}:0-7")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".q-field").filter(has_text="There is no partition 7; the last one is 2.")).to_be_visible()


def test_a_changed_form_takes_the_preview_away(platform: RunningPlatform, browser_page: Page, group: str) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}?tab=reset&to=offset&value=10&preview=1")
    expect(page.get_by_role("button", name="Apply")).to_be_enabled()
    page.get_by_role("textbox", name="Offset", exact=True).fill("20")
    expect(page.get_by_role("button", name="Apply")).to_have_count(0)


def test_an_active_group_is_previewed_but_not_reset(
    platform: RunningPlatform, browser_page: Page, group: str, member: Consumer, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}?tab=reset&preview=1")
    expect(page.get_by_role("alert").filter(has_text="The group has 1 active member")).to_be_visible()
    expect(page.get_by_role("table", name="What the reset would do")).to_be_visible()
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()
    shot(page, "group-reset-active")
    axe(page)


def test_a_member_that_came_after_the_preview_stops_the_reset(
    platform: RunningPlatform, browser_page: Page, topic: str, group: str
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}?tab=reset&preview=1")
    expect(page.get_by_role("button", name="Apply")).to_be_enabled()
    consumer = Consumer({"bootstrap.servers": platform.bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.subscribe([topic])
    deadline = time.monotonic() + 30
    while not consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.1)
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Reset offsets").click()
    expect(page.get_by_text("The group has 1 active member, which owns its offsets").first).to_be_visible()
    consumer.close()
    assert committed(platform.bootstrap, group) == [COMMITTED] * 3


def test_the_whole_reset_goes_by_keyboard(platform: RunningPlatform, browser_page: Page, group: str) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}?tab=reset")
    page.get_by_role("radio", name="An offset").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("radio", name="An offset")).to_be_checked()
    for _ in range(3):  # past the other radio buttons
        page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("textbox", name="Offset", exact=True)).to_be_focused()
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    apply = page.get_by_role("button", name="Apply")
    expect(apply).to_be_enabled()
    tab_to(page, "Apply")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alertdialog")).to_be_visible()
    tab_to(page, "Reset offsets")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Done: 3 partitions were set.")).to_be_visible()
    assert committed(platform.bootstrap, group) == [7] * 3


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the button of this name has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.evaluate("() => document.activeElement.innerText")
        if name in (focused or "") and page.evaluate("() => document.activeElement.tagName") == "BUTTON":
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_a_group_is_deleted_by_typing_its_name(
    platform: RunningPlatform, browser_page: Page, group: str, shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups/{group}")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_role("textbox").fill(group)
    shot(page, "group-delete", full_page=False)
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{platform.url}/groups")
    assert committed(platform.bootstrap, group) == []


def test_a_group_that_does_not_exist_is_said_kindly(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{platform.url}/groups/never-there")
    expect(browser_page.get_by_role("alert")).to_have_text(re.compile("There is no group never-there."))


def test_a_cluster_without_share_groups_says_so(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/groups?kind=share")
    expect(page.get_by_text("This cluster serves no share groups")).to_be_visible()
    shot(page, "groups-share-none")
    axe(page)


@pytest.mark.parametrize(("theme", "lang", "width"), [("light", "es", 1280), ("dark", "en", 1280), ("dark", "es", 420)])
def test_the_reset_reads_well_everywhere(
    platform: RunningPlatform, browser_page: Page, group: str, axe: Axe, shot: Shot, theme: str, lang: str, width: int
) -> None:
    page = browser_page
    page.set_viewport_size({"width": width, "height": 900})
    query = f"lang={lang}&theme={theme}"
    page.goto(f"{platform.url}/groups?{query}")
    expect(page.get_by_role("table")).to_be_visible()
    shot(page, f"groups-list-{theme}-{lang}-{width}")
    axe(page)
    page.goto(f"{platform.url}/groups/{group}?{query}")
    expect(page.get_by_role("table")).to_be_visible()
    shot(page, f"group-lag-{theme}-{lang}-{width}")
    axe(page)
    page.goto(f"{platform.url}/groups/{group}?tab=reset&to=shift&value=-10&preview=1&{query}")
    expect(page.get_by_role("table")).to_be_visible()
    shot(page, f"group-reset-{theme}-{lang}-{width}")
    axe(page)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_ten_thousand_groups_stay_usable(browser_page: Page, shot: Shot) -> None:
    page, count = browser_page, 10_000
    with embedded_broker() as broker:
        broker.create_topic("orders")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for start in range(0, count, 500):
            names = [f"group-{number:05}" for number in range(start, start + 500)]
            asked = [
                admin.alter_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(name, [TopicPartition("orders", 0, 0)])]
                )[name]
                for name in names
            ]
            for future in asked:
                future.result(60)
        with started_ui(broker.bootstrap) as process:
            page.goto(f"{process.url}/groups?page=100")
            expect(page.get_by_text(re.compile(r"4951–5000 of 10000"))).to_be_visible()
            shot(page, "groups-ten-thousand")
            begun = time.monotonic()
            page.goto(f"{process.url}/groups?page=150")
            expect(page.get_by_role("link", name="group-07499")).to_be_visible()
            assert time.monotonic() - begun < 5, "a page of groups must not wait for all groups"
            page.get_by_role("searchbox", name="Filter by name").fill("group-0123")
            expect(page.get_by_text("10 rows")).to_be_visible()
            page.get_by_role("button", name="Lag").click()
            expect(page).to_have_url(re.compile("sort=-lag"))
            page.get_by_role("searchbox", name="Filter by name").fill("")
            expect(page.get_by_text("up to 1,000 groups can be sorted by this column")).to_be_visible()


@pytest.fixture(scope="module")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafkaServer]:
    one_broker = {
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }
    server = ApacheKafkaServer(tmp_path_factory.mktemp("kafka"), jars.fetch("kafka-server"), one_broker)
    server.start()
    yield server
    server.remove()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_apache_kafkas_groups_and_share_groups_are_shown_and_reset(
    apache_kafka: ApacheKafkaServer, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    page, bootstrap = browser_page, apache_kafka.bootstrap
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("work", 1, 1)])["work"].result(30)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        producer.produce("work", str(number))
    assert producer.flush(20) == 0
    commit(bootstrap, "billing", "work", 4, partitions=1)
    queue = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": "jobs", "client.id": "worker", "log_level": 0})
    queue.subscribe(["work"])
    deadline = time.monotonic() + 60
    while not queue.poll(0.5) and time.monotonic() < deadline:
        producer.produce("work", "another")
        producer.flush(20)
    try:
        with started_ui(bootstrap) as process:
            page.goto(f"{process.url}/groups?kind=share")
            line = page.get_by_role("row").filter(has_text="jobs")
            expect(line).to_contain_text("Stable")
            shot(page, "groups-share")
            axe(page)
            page.get_by_role("link", name="jobs").click()
            expect(page.get_by_role("row").filter(has_text="work")).to_be_visible()
            shot(page, "group-share")
            axe(page)
            page.get_by_role("link", name="Members").click()
            expect(page.get_by_role("row").filter(has_text="worker")).to_contain_text("work: 0")
            page.goto(f"{process.url}/groups/billing?tab=reset&to=earliest&preview=1")
            page.get_by_role("button", name="Apply").click()
            page.get_by_role("alertdialog").get_by_role("button", name="Reset offsets").click()
            expect(page.get_by_text("Done: 1 partition was set.")).to_be_visible()
    finally:
        queue.close()
    assert committed(bootstrap, "billing") == [0]
