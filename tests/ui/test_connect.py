"""Connect's pages as a person uses them: a connector made from the form, changed, stopped, rewound and deleted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from playwright.sync_api import Page, expect

from tests.connect.process import ConnectProcess, until
from tests.ui.conftest import RunningPlatform, started_ui

Shot = Callable[..., Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def worker(_broker: Any, _registry: str, folder: Path) -> Iterator[ConnectProcess]:
    """One that may read and write files in a folder."""
    started = ConnectProcess(
        _broker.bootstrap,
        "--registry",
        _registry,
        "--allow-folder",
        str(folder),
        properties=("offset.flush.interval.ms=500",),
    )
    yield started.wait()
    started.stop()


@pytest.fixture(scope="module")
def center(_broker: Any, _registry: str, worker: ConnectProcess) -> Iterator[RunningPlatform]:
    with started_ui(_broker.bootstrap, "--registry", _registry, "--connect", worker.url) as process:
        yield RunningPlatform(_broker, process.url, _registry, process.facts["pid"], worker.url)


@pytest.fixture
def lines(worker: ConnectProcess, folder: Path) -> Iterator[str]:
    """A source that reads a file of three lines."""
    (folder / "lines.txt").write_text("one\ntwo\nthree\n")
    config = {
        "connector.class": "FileStreamSource",
        "file": str(folder / "lines.txt"),
        "topic": "lines",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    }
    worker.insist("PUT", "/connectors/lines/config", config)
    yield "lines"
    httpx.delete(f"{worker.url}/connectors/lines")


@pytest.fixture
def broken(worker: ConnectProcess, folder: Path, lines: str) -> Iterator[str]:
    """A sink whose tasks fail: text is not JSON."""
    config = {
        "connector.class": "FileStreamSink",
        "file": str(folder / "out.txt"),
        "topics": lines,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "consumer.override.auto.offset.reset": "earliest",
        "transforms.secret.password": "geheim",
    }
    worker.insist("PUT", "/connectors/broken/config", config)
    yield "broken"
    httpx.delete(f"{worker.url}/connectors/broken")


def field(page: Page, name: str) -> Any:
    return page.locator(f'input[data-field="{name}"]')


def test_a_connector_is_made_from_the_form_after_a_wrong_field_was_corrected(
    center: RunningPlatform, browser_page: Page, axe: Callable[[Page], None], shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{center.url}/connect")
    page.get_by_role("button", name="New connector").first.click()
    page.get_by_role("link", name=re.compile("^Datagen")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("New connector")
    page.get_by_label("Name *").fill("made-by-hand")
    field(page, "kafka.topic").fill("made")
    offered = page.locator("datalist#" + str(field(page, "quickstart").get_attribute("list")))
    expect(offered.locator('option[value="users"]')).to_be_attached()
    field(page, "quickstart").fill("users")
    field(page, "max.interval").fill("soon")
    wrong = page.locator(".connect-field", has=field(page, "max.interval"))
    expect(wrong.get_by_role("alert")).to_contain_text("Not a number")
    expect(page.get_by_role("status").get_by_text("1 field needs attention")).to_be_visible()
    axe(page)
    shot(page, "connect-form-error-light")
    page.get_by_role("button", name="Create").click()
    expect(page).to_have_url(re.compile("/connect/new"))  # it was not sent
    field(page, "max.interval").fill("100")
    expect(wrong.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Create").click()
    expect(page).to_have_url(re.compile("/connect/connectors/made-by-hand$"))
    expect(page.get_by_text("Task 0")).to_be_visible()
    expect(page.locator(".status.good")).to_have_count(2)
    stored = httpx.get(f"{center.connect}/connectors/made-by-hand/config").json()
    assert stored["max.interval"] == "100"
    assert "iterations" not in stored  # what nobody filled in is the plugin's to decide
    axe(page)
    shot(page, "connect-connector-light")


def test_it_is_paused_stopped_rewound_edited_resumed_and_deleted(
    center: RunningPlatform, browser_page: Page, lines: str, worker: ConnectProcess, axe: Callable[[Page], None]
) -> None:
    page = browser_page
    page.goto(f"{center.url}/connect/connectors/{lines}")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".status", has_text="PAUSED").first).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".status", has_text="RUNNING").first).to_be_visible()
    page.get_by_role("button", name="Restart", exact=True).click()
    page.get_by_text("The connector and all its tasks").click()
    expect(page.get_by_text("lines is being restarted.")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Stop").click()
    expect(page.get_by_text("A stopped connector has no tasks.")).to_be_visible()

    page.get_by_role("link", name="Offsets").click()
    area = page.get_by_label("Offsets as JSON")
    expect(area).to_have_value(re.compile('"position": 14'))
    axe(page)
    area.fill("no offsets")
    page.get_by_role("button", name="Save offsets").click()
    expect(page.get_by_text("This is not JSON")).to_be_visible()
    file = worker.ask("GET", f"/connectors/{lines}/offsets")["offsets"][0]["partition"]
    area.fill(json.dumps([{"partition": file, "offset": {"position": 4}}]))
    page.get_by_role("button", name="Save offsets").click()
    expect(page.get_by_text('{"position": 4}')).to_be_visible()
    page.get_by_role("button", name="Reset all offsets").click()
    page.get_by_test_id("confirm-name").fill(lines)
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.get_by_text("It has stored no offsets yet.")).to_be_visible()

    page.get_by_role("button", name="Edit").click()
    expect(field(page, "topic")).to_have_value("lines")
    field(page, "topic").fill("lines-again")
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile(f"/connect/connectors/{lines}$"))
    assert worker.ask("GET", f"/connectors/{lines}/config")["topic"] == "lines-again"

    page.get_by_role("button", name="Delete").click()
    delete = page.get_by_role("alertdialog").get_by_role("button", name="Delete")
    expect(delete).to_be_disabled()
    page.get_by_test_id("confirm-name").fill(lines)
    delete.click()
    expect(page).to_have_url(re.compile("/connect$"))
    assert lines not in worker.ask("GET", "/connectors")


def test_a_failed_task_shows_its_reason_and_its_trace_and_secrets_stay_hidden(
    center: RunningPlatform, browser_page: Page, broken: str, axe: Callable[[Page], None], shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{center.url}/connect")
    row = page.get_by_role("row", name=re.compile(broken))
    expect(row).to_contain_text(re.compile("FAILED|RESTARTING"))
    axe(page)
    shot(page, "connect-list-light")
    row.get_by_role("link", name=broken).click()
    expect(page.locator(".reason").first).to_contain_text("JSON")
    page.get_by_text("Trace").first.click()
    expect(page.locator(".code-view pre").first).to_contain_text("line")
    axe(page)
    shot(page, "connect-failed-light")
    page.get_by_role("link", name="Configuration").click()
    expect(page.get_by_text("transforms.secret.password").first).to_be_visible()
    assert "geheim" not in page.content()
    page.goto(f"{center.url}/connect/edit/{broken}?mode=json")
    expect(page.get_by_label("Configuration", exact=True)).to_have_value(re.compile(r"\[hidden\]"))
    assert "geheim" not in page.content()


def test_the_lag_of_a_sink_that_rests_is_what_came_meanwhile(
    center: RunningPlatform, browser_page: Page, worker: ConnectProcess, folder: Path
) -> None:
    copy = folder / "copy.txt"
    config = {
        "connector.class": "FileStreamSink",
        "file": str(copy),
        "topics": "resting",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "consumer.override.auto.offset.reset": "earliest",
    }
    produce(center, "resting", "one", "two")
    worker.insist("PUT", "/connectors/resting/config", config)
    until(lambda: copy.exists() and "two" in copy.read_text(), True)
    worker.insist("PUT", "/connectors/resting/stop")
    until(lambda: worker.states("resting"), ["STOPPED"])
    produce(center, "resting", "three", "four", "five")
    page = browser_page
    page.goto(f"{center.url}/connect?q=resting")
    row = page.get_by_role("row", name=re.compile("resting"))
    expect(row).to_contain_text("STOPPED")
    expect(row.locator("td").nth(6)).to_have_text("3")
    row.get_by_role("link", name="resting").click()
    page.get_by_role("link", name="Offsets").click()
    expect(page.get_by_role("row", name=re.compile("^resting"))).to_contain_text("3")
    httpx.delete(f"{worker.url}/connectors/resting")


def produce(center: RunningPlatform, topic: str, *values: str) -> None:
    producer = Producer({"bootstrap.servers": center.bootstrap})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def test_json_is_validated_as_the_form_is(center: RunningPlatform, browser_page: Page, shot: Shot) -> None:
    page = browser_page
    page.goto(f"{center.url}/connect/new?plugin=FileStreamSource&mode=json")
    area = page.get_by_label("Configuration", exact=True)
    area.fill("{")
    expect(page.get_by_text("This is not JSON")).to_be_visible()
    area.fill('{"name": "j", "connector.class": "FileStreamSource", "topic": "t", "tasks.max": "x"}')
    expect(page.get_by_text("tasks.max: Not a number")).to_be_visible()
    shot(page, "connect-json-light")


def test_the_keyboard_alone_makes_a_connector(center: RunningPlatform, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{center.url}/connect/new")
    page.get_by_role("link", name=re.compile("^Datagen")).focus()
    page.keyboard.press("Enter")
    name = page.get_by_label("Name *")
    name.focus()
    page.keyboard.type("by-keys")
    for key, value in (("kafka.topic", "keys"), ("quickstart", "users")):
        field(page, key).focus()
        page.keyboard.type(value)
    page.get_by_role("button", name="Create").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/connect/connectors/by-keys$"))


@pytest.mark.parametrize(
    ("name", "query", "width"),
    [
        ("dark", "theme=dark", 1280),
        ("spanish", "lang=es", 1280),
        ("narrow", "", 420),
    ],
)
def test_every_look_of_it_passes(
    center: RunningPlatform,
    browser_page: Page,
    broken: str,
    axe: Callable[[Page], None],
    shot: Shot,
    name: str,
    query: str,
    width: int,
) -> None:
    page = browser_page
    page.set_viewport_size({"width": width, "height": 900})
    for what, path in (
        ("list", "/connect?"),
        ("plugins", "/connect?tab=plugins&"),
        ("form", "/connect/new?plugin=SqlSource&"),
        ("failed", f"/connect/connectors/{broken}?"),
        ("offsets", f"/connect/connectors/{broken}?tab=offsets&"),
    ):
        page.goto(f"{center.url}{path}{query}")
        expect(page.locator("main h1")).to_be_visible()
        if what in ("list", "failed"):
            expect(page.get_by_text("broken").first).to_be_visible()
        axe(page)
        shot(page, f"connect-{what}-{name}")


def test_without_connect_the_page_says_so_kindly(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{platform.url}/connect")
    expect(browser_page.get_by_text("Connect is not connected")).to_be_visible()


def test_a_worker_that_is_away_is_a_sentence(platform: RunningPlatform, browser_page: Page) -> None:
    with started_ui(platform.bootstrap, "--connect", "http://127.0.0.1:1") as process:
        browser_page.goto(f"{process.url}/connect")
        expect(browser_page.get_by_role("alert")).to_contain_text("does not answer")


def test_a_connector_that_is_gone_is_said(center: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{center.url}/connect/connectors/no/such")
    expect(browser_page.get_by_text("There is no connector no/such")).to_be_visible()
