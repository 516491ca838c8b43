"""The answer to a validation, as Kafka Connect's clients know it: every key with its value, its errors, no secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import HIDDEN, REQUIRED, ConfigDef, ConfigValue, Key, Type, as_text
from caudal.connect.runtime.secrets import Filled, has_placeholder


def validation_body(
    given: Mapping[str, str],
    definition: ConfigDef,
    values: list[ConfigValue],
    errors: Mapping[str, list[str]],
    filled: Filled,
) -> dict[str, Any]:
    lines: list[dict[str, Any]] = []
    named = set()
    for value in values:
        name = value.key.name
        named.add(name)
        shown = [_without_secrets(name, message, given, filled) for message in errors.get(name, [])]
        lines.append(
            {
                "definition": key_body(value.key, definition),
                "value": {
                    "name": name,
                    "value": _shown(value, given),
                    "recommended_values": [] if value.key.type is Type.PASSWORD else list(value.recommended),
                    "errors": shown,
                    "visible": value.visible,
                },
            }
        )
    for name, messages in errors.items():
        if name not in named:  # a property that no key defines: the answer must not lose what is wrong with it
            line = {
                "name": name,
                "value": given.get(name),
                "recommended_values": [],
                "errors": [_without_secrets(name, message, given, filled) for message in messages],
                "visible": True,
            }
            lines.append({"definition": None, "value": line})
    return {
        "name": given.get("connector.class", ""),
        "error_count": sum(len(messages) for messages in errors.values()),
        "groups": list(dict.fromkeys(key.group for key in definition.keys if key.group is not None)),
        "configs": lines,
    }


def key_body(key: Key, definition: ConfigDef) -> dict[str, Any]:
    """One key as `/connector-plugins/{p}/config` and a validation show it."""
    default = None if key.default is REQUIRED else as_text(key.default)
    return {
        "name": key.name,
        "type": key.type.value,
        "required": key.default is REQUIRED,
        "default_value": HIDDEN if key.type is Type.PASSWORD and default is not None else default,
        "importance": key.importance.value,
        "documentation": key.doc,
        "group": key.group,
        "width": key.width,
        "display_name": key.display_name or key.name,
        "dependents": definition.dependents(key.name),
        "order": key.order,
    }


def _shown(value: ConfigValue, given: Mapping[str, str]) -> str | None:
    text = given.get(value.key.name)
    if text is not None and has_placeholder(text):
        return text  # it says where the secret is, not what
    return None if value.value is None else without_password(value.value)


def _without_secrets(name: str, message: str, given: Mapping[str, str], filled: Filled) -> str:
    text = given.get(name)
    value = filled.config.get(name)
    if text is not None and value and value != text:
        message = message.replace(value, text)
    return filled.hide(without_password(message))


_ADDRESS = re.compile(r"(://[^\s/:@]*:)[^\s@]+@")


def without_password(text: str) -> str:
    """Addresses often have a password in them.

    >>> without_password("postgresql://ana:geheim@db/shop")
    'postgresql://ana:[hidden]@db/shop'
    """
    return _ADDRESS.sub(rf"\1{HIDDEN}@", text)
