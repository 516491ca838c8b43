"""A plugin's keys as a form, what a validation changes in it, and what is sent of it."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.connect.configuration import ConfigDef
from caudal.connect.connectors.datagen.connector import Datagen
from caudal.connect.validation_answer import key_body
from caudal.ui.services.connect_form import (
    Control,
    Form,
    config_of,
    form_of,
    parsed_config,
    shown_config,
    written,
)
from caudal.ui.services.errors import UiError


def key(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "STRING", "required": False, "default_value": None, "importance": "HIGH", **more}


@pytest.fixture
def form() -> Form:
    keys = [
        key("name", required=True),
        key("connector.class", required=True),
        key("tasks.max", type="INT", default_value="1", group="Common"),
        key("db.url", required=True, group="Database"),
        key("db.password", type="PASSWORD", group="Database"),
        key("db.retries", type="INT", default_value="10", importance="LOW", group="Database"),
        key("quiet", type="BOOLEAN", default_value="false", group="Database"),
    ]
    return form_of("Sql", keys)


def test_the_connectors_own_groups_come_first_and_important_fields_first_in_them(form: Form) -> None:
    assert {group: [one.name for one in fields] for group, fields in form.groups.items()} == {
        "Database": ["db.url", "db.password", "quiet", "db.retries"],
        "Common": ["tasks.max"],
    }


def test_a_real_plugins_keys_make_fields_with_the_right_controls() -> None:
    own: ConfigDef = Datagen.config()
    made = form_of("Datagen", [key_body(one, own) for one in own.keys])
    assert made.fields["kafka.topic"].required
    assert made.fields["max.interval"].control is Control.NUMBER
    assert made.fields["max.interval"].default == "500"


def test_a_validation_puts_errors_beside_their_fields_and_the_others_above(form: Form) -> None:
    form.answered(
        {
            "configs": [
                _answer("db.retries", ["Invalid value x for configuration db.retries: Not a number of type INT"]),
                _answer("connector.class", ["There is no plugin Sql"]),
                {"definition": None, "value": {"name": "transforms.a.type", "errors": ["It is missing"]}},
                _answer("db.url", [], recommended_values=["sqlite:///a", "sqlite:///b"]),
                _answer("quiet", [], visible=False),
            ]
        }
    )
    assert form.fields["db.retries"].errors == ("Not a number of type INT",)
    assert form.general == ["connector.class: There is no plugin Sql", "transforms.a.type: It is missing"]
    assert form.fields["db.url"].control is Control.CHOICE
    assert not form.fields["quiet"].visible
    assert form.wrong == 3
    form.answered({"configs": [_answer("db.retries", []), _answer("connector.class", [])]})
    assert form.wrong == 0


def test_a_validation_brings_the_fields_of_a_converter_that_was_chosen(form: Form) -> None:
    form.answered({"configs": [_answer("value.converter.schemas.enable", [])]})
    assert "value.converter.schemas.enable" in form.fields


def test_only_what_was_filled_in_is_sent_and_what_no_field_has_is_kept(form: Form) -> None:
    more = {"transforms": "a", "db.retries": "10"}
    values = {"db.url": " sqlite:///a ", "tasks.max": "1", "db.retries": "10", "quiet": True, "db.password": ""}
    assert config_of(values, form, more) == {
        "connector.class": "Sql",
        "db.url": "sqlite:///a",
        "db.retries": "10",  # written before, and kept as it was
        "quiet": "true",
        "transforms": "a",
    }


def test_a_stored_configuration_fills_the_form_with_all_but_name_and_class() -> None:
    config = {"name": "a", "connector.class": "Sql", "db.url": "x", "transforms": "t"}
    assert written(config) == {"db.url": "x", "transforms": "t"}


def test_json_is_read_with_and_without_the_envelope() -> None:
    assert parsed_config('{"name": "a", "config": {"tasks.max": 2, "quiet": true}}') == {
        "name": "a",
        "tasks.max": "2",
        "quiet": "true",
    }
    assert parsed_config(shown_config({"b": "1", "name": "n", "connector.class": "C"})) == {
        "name": "n",
        "connector.class": "C",
        "b": "1",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,}', "This is not JSON"),
        ("[1]", "A configuration is a JSON object"),
        ('{"a": null}', "The value of a must be text"),
        ('{"a": {"b": 1}}', "The value of a must be text"),
    ],
)
def test_what_is_no_configuration_is_said(text: str, said: str) -> None:
    with pytest.raises(UiError, match=said):
        parsed_config(text)


def _answer(name: str, errors: list[str], **more: Any) -> dict[str, Any]:
    value = {"name": name, "value": None, "recommended_values": [], "errors": errors, "visible": True, **more}
    return {"definition": key(name), "value": value}
