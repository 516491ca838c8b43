"""Schemas in the browser: register, check, compare, set levels, delete; and a registry that is away."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from caudal.registry.client import RegistryClient, RegistryError
from caudal.registry.schemas.schema import Reference
from tests.ui.conftest import RunningPlatform, started_ui

Axe = Callable[[Page], None]
Shot = Callable[..., Path]


def avro(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": list(fields)}, indent=2)


ID = {"name": "id", "type": "long"}
AMOUNT = {"name": "amount", "type": "double"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
CITY = {"name": "city", "type": "string"}


@pytest.fixture
def client(platform: RunningPlatform) -> RegistryClient:
    return RegistryClient(platform.registry)


@pytest.fixture
def topic(platform: RunningPlatform) -> str:
    name = f"orders-{uuid.uuid4().hex[:6]}"
    platform.broker.create_topic(name)
    return name


@pytest.fixture
def subject(client: RegistryClient, topic: str) -> str:
    """Two versions: the second has a note and calls the amount a float."""
    name = f"{topic}-value"
    client.register(name, avro(ID, AMOUNT))
    client.register(name, avro(ID, AMOUNT, NOTE))
    return name


def write(page: Page, text: str) -> None:
    """Replace what is in the editor, as a person does."""
    editor = page.get_by_role("textbox", name="Text of the schema")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def verdict(page: Page) -> Any:
    return page.locator("[data-part=verdict]")


def test_a_schema_is_registered_from_the_editor(
    platform: RunningPlatform, browser_page: Page, client: RegistryClient, topic: str, axe: Axe, shot: Shot
) -> None:
    page, name = browser_page, f"{topic}-value"
    page.goto(f"{platform.url}/schemas")
    page.get_by_role("link", name="Register a schema").click()
    page.get_by_role("textbox", name="Subject").fill(name)
    write(page, avro(ID, AMOUNT))
    page.get_by_role("button", name="Check").click()
    expect(verdict(page)).to_have_text("Valid, and it may be the next version (level BACKWARD).")
    shot(page, "schema-register")
    axe(page)
    with pytest.raises(RegistryError):
        client.latest(name)
    page.get_by_role("button", name="Register").click()
    expect(page).to_have_url(re.compile(f"/schemas/{name}\\?version=1"))
    expect(page.get_by_role("link", name=topic, exact=True)).to_have_attribute("href", f"/topics/{topic}")
    assert json.loads(client.latest(name).text)["fields"] == [ID, AMOUNT]


@pytest.mark.parametrize(
    ("type_", "text", "registered"),
    [
        ("JSON Schema", '{"type": "object", "properties": {"id": {"type": "integer"}}}', "JSON"),
        ("Protobuf", 'syntax = "proto3";\nmessage Order {\n  int64 id = 1;\n}\n', "PROTOBUF"),
    ],
)
def test_the_other_languages_are_registered_too(
    platform: RunningPlatform,
    browser_page: Page,
    client: RegistryClient,
    topic: str,
    type_: str,
    text: str,
    registered: str,
) -> None:
    page, name = browser_page, f"{topic}-value"
    page.goto(f"{platform.url}/schemas?tab=register&subject={name}")
    page.get_by_role("combobox", name="Type").click()
    page.get_by_role("option", name=type_).click()
    write(page, text)
    page.get_by_role("button", name="Register").click()
    expect(page).to_have_url(re.compile(f"/schemas/{name}\\?version=1"))
    assert client.latest(name).type == registered


@pytest.mark.parametrize(
    ("type_", "text", "sentence", "line"),
    [
        ("Avro", '{\n  "type": "record",\n  "name": \n}', "Not valid JSON at line 4, column 1", "}"),
        ("Avro", '{"type": "record", "name": "A", "fields": [{"name": "x", "type": "lng"}]}', "The type 'lng'", None),
        ("Protobuf", 'syntax = "proto3";\nmessage A {\n  string a = x;\n}', "Line 3, column 14", "  string a = x;"),
        ("JSON Schema", '{"type": "objec"}', "At #/type", None),
    ],
)
def test_a_text_that_is_no_schema_is_refused_with_its_place(
    platform: RunningPlatform, browser_page: Page, topic: str, type_: str, text: str, sentence: str, line: str | None
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/schemas?tab=register&subject={topic}-value")
    if type_ != "Avro":
        page.get_by_role("combobox", name="Type").click()
        page.get_by_role("option", name=type_).click()
    write(page, text)
    page.get_by_role("button", name="Register").click()
    expect(verdict(page)).to_contain_text(sentence)
    if line is not None:
        expect(page.locator(".excerpt")).to_contain_text(line.strip())
        expect(page.locator(".cm-line.wrong-line")).to_have_text(line)
    expect(page).to_have_url(re.compile("tab=register"))


def test_a_schema_without_a_subject_is_refused_beside_the_field(platform: RunningPlatform, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{platform.url}/schemas?tab=register")
    page.get_by_role("button", name="Register").click()
    expect(page.locator(".q-field").filter(has_text="Give the subject a name")).to_be_visible()


def test_an_incompatible_schema_is_refused_with_the_registrys_reasons(
    platform: RunningPlatform, browser_page: Page, client: RegistryClient, subject: str, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/schemas/{subject}?tab=new")
    write(page, avro(ID, AMOUNT, CITY))
    page.get_by_role("button", name="Check").click()
    expect(verdict(page)).to_contain_text("It may not be the next version (level BACKWARD)")
    expect(verdict(page)).to_contain_text("READER_FIELD_MISSING_DEFAULT_VALUE")
    shot(page, "schema-incompatible")
    axe(page)
    page.get_by_role("button", name="Register").click()
    expect(verdict(page)).to_contain_text("city")
    assert client.versions(subject) == [1, 2]


def test_two_versions_are_compared_side_by_side(
    platform: RunningPlatform, browser_page: Page, client: RegistryClient, subject: str, axe: Axe, shot: Shot
) -> None:
    client.set_config(subject, compatibility="NONE")
    client.register(subject, avro(ID, {"name": "amount", "type": "string"}, CITY))
    page = browser_page
    page.goto(f"{platform.url}/schemas/{subject}?tab=compare")
    expect(page).to_have_url(re.compile("old=2&new=3"))
    fields = page.get_by_role("table").first
    expect(fields.get_by_role("row").filter(has_text="city")).to_contain_text("added")
    expect(fields.get_by_role("row").filter(has_text="note")).to_contain_text("removed")
    expect(fields.get_by_role("row").filter(has_text="amount")).to_contain_text("changed")
    expect(page.get_by_text("Backward: version 3 reads records of version 2")).to_be_visible()
    expect(page.get_by_text("READER_FIELD_MISSING_DEFAULT_VALUE").first).to_be_visible()
    lines = page.get_by_role("region", name="Lines side by side")
    expect(lines.locator("mark").filter(has_text="double")).to_have_count(1)
    expect(lines.locator("mark").filter(has_text="string")).not_to_have_count(0)
    shot(page, "schema-compare")
    axe(page)
    page.get_by_role("combobox", name="Old version").click()
    page.get_by_role("option", name="Version 1").click()
    expect(page).to_have_url(re.compile("old=1&new=3"))
    expect(page.get_by_role("table").first.get_by_role("row").filter(has_text="note")).to_have_count(0)


def test_versions_references_and_topics_are_linked(
    platform: RunningPlatform, browser_page: Page, client: RegistryClient, subject: str, axe: Axe, shot: Shot
) -> None:
    other = f"{subject}-envelope"
    text = json.dumps({"type": "record", "name": "Envelope", "fields": [{"name": "order", "type": "shop.Order"}]})
    client.register(other, text, references=[Reference("shop.Order", subject, 2)])
    page = browser_page
    page.goto(f"{platform.url}/schemas/{other}")
    page.get_by_role("link", name=f"{subject}, version 2").click()
    expect(page).to_have_url(re.compile(f"/schemas/{subject}\\?version=2"))
    expect(page.get_by_role("link", name=f"{other}, version 1")).to_be_visible()
    page.get_by_role("navigation", name="Versions").get_by_role("link", name="Version 1").click()
    expect(page.locator(".code-view")).not_to_contain_text("note")
    shot(page, "schema-version")
    axe(page)


def test_a_level_is_set_for_one_subject_and_taken_back(
    platform: RunningPlatform, browser_page: Page, client: RegistryClient, subject: str, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/schemas/{subject}?tab=settings")
    expect(page.get_by_role("combobox", name="Compatibility")).to_be_visible()
    shot(page, "schema-settings")
    axe(page)
    page.get_by_role("combobox", name="Compatibility").click()
    page.get_by_role("option", name=re.compile("^Full: ")).click()
    expect(page.get_by_text("The compatibility level is set.")).to_be_visible()
    assert client.config(subject)["compatibilityLevel"] == "FULL"
    page.reload()
    page.get_by_role("combobox", name="Compatibility").click()
    page.get_by_role("option", name=re.compile("^As for all subjects")).click()
    expect(page.get_by_text("The compatibility level is set.")).to_be_visible()
    with pytest.raises(RegistryError):
        client.config(subject)
    page.get_by_role("combobox", name="Mode").click()
    page.get_by_role("option", name=re.compile("^Read only")).click()
    expect(page.get_by_text("The mode is set.")).to_be_visible()
    assert client.mode(subject) == "READONLY"


def test_a_subject_is_deleted_softly_then_for_ever(
    platform: RunningPlatform, browser_page: Page, client: RegistryClient, subject: str
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/schemas/{subject}?tab=settings")
    page.get_by_role("button", name="Delete softly").click()
    page.get_by_role("alertdialog").get_by_role("textbox").fill(subject)
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("deleted=1"))
    assert subject not in client.subjects() and subject in client.subjects(deleted=True)
    page.goto(f"{platform.url}/schemas/{subject}?tab=settings")
    expect(page.get_by_role("button", name="Delete softly")).to_be_disabled()
    page.get_by_role("button", name="Delete for ever").click()
    page.get_by_role("alertdialog").get_by_role("textbox").fill(subject)
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{platform.url}/schemas")
    assert subject not in client.subjects(deleted=True)


def test_a_version_is_deleted_by_typing_its_name(
    platform: RunningPlatform, browser_page: Page, client: RegistryClient, subject: str
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/schemas/{subject}?version=1")
    page.get_by_role("button", name="Delete this version").click()
    page.get_by_role("alertdialog").get_by_role("textbox").fill(f"{subject}@1")
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("This version is deleted")).to_be_visible()
    assert client.versions(subject) == [2]


def test_the_list_is_searched_and_paged_by_the_server(
    platform: RunningPlatform, browser_page: Page, client: RegistryClient, axe: Axe, shot: Shot
) -> None:
    prefix = f"many-{uuid.uuid4().hex[:6]}"
    for number in range(60):
        client.register(f"{prefix}-{number:02}-value", avro(ID))
    page = browser_page
    page.goto(f"{platform.url}/schemas?q={prefix}")
    expect(page.get_by_role("row")).to_have_count(51)
    expect(page.get_by_text("1–50 of 60")).to_be_visible()
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("row")).to_have_count(11)
    expect(page).to_have_url(re.compile("page=2"))
    page.get_by_role("searchbox", name="Filter by name").fill(f"{prefix}-07")
    expect(page.get_by_role("link", name=f"{prefix}-07-value")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(2)
    shot(page, "schemas-list")
    axe(page)


def test_a_registry_that_is_away_leaves_the_rest_at_work(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    page = browser_page
    with started_ui(platform.bootstrap, "--registry", "http://127.0.0.1:9") as process:
        page.goto(f"{process.url}/schemas")
        expect(page.get_by_role("heading", name="The Schema Registry does not answer")).to_be_visible()
        expect(page.get_by_role("button", name="Try again")).to_be_visible()
        shot(page, "schemas-away")
        axe(page)
        page.get_by_role("navigation", name="Pages").get_by_role("link", name="Consumer groups").click()
        expect(page.get_by_role("table", name="Consumer groups")).to_be_visible()


def test_a_subject_that_does_not_exist_is_said_kindly(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{platform.url}/schemas/never-there")
    expect(browser_page.get_by_role("alert")).to_contain_text("never-there")


def test_a_schema_is_checked_by_keyboard_alone(platform: RunningPlatform, browser_page: Page, topic: str) -> None:
    page = browser_page
    page.goto(f"{platform.url}/schemas?tab=register")
    page.get_by_role("textbox", name="Subject").focus()
    page.keyboard.type(f"{topic}-value")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("textbox", name="Text of the schema")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(avro(ID))
    page.keyboard.press("Escape")
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.innerText.includes('Check')"):
            break
    page.keyboard.press("Enter")
    expect(verdict(page)).to_contain_text("Valid")


@pytest.mark.parametrize(("theme", "lang", "width"), [("light", "es", 1280), ("dark", "en", 1280), ("dark", "es", 420)])
def test_the_pages_read_well_everywhere(
    platform: RunningPlatform,
    browser_page: Page,
    client: RegistryClient,
    subject: str,
    axe: Axe,
    shot: Shot,
    theme: str,
    lang: str,
    width: int,
) -> None:
    client.set_config(subject, compatibility="NONE")
    client.register(subject, avro(ID, {"name": "amount", "type": "string"}, CITY))
    page = browser_page
    page.set_viewport_size({"width": width, "height": 900})
    for name, path, shown in (
        ("schemas-list", "?", "main table"),
        ("schema-version", f"/{subject}?", ".code-view"),
        ("schema-compare", f"/{subject}?tab=compare", "main table"),
        ("schema-new", f"/{subject}?tab=new", ".cm-content[aria-label]"),
    ):
        page.goto(f"{platform.url}/schemas{path}&lang={lang}&theme={theme}")
        expect(page.locator(shown).first).to_be_visible()
        shot(page, f"{name}-{theme}-{lang}-{width}")
        axe(page)
