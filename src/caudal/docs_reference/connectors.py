"""Every connector, converter and framework property of Connect, with the keys that each takes, from their classes."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, Final

from caudal.connect.configuration import REQUIRED, Key, as_text
from caudal.connect.connector_config import ALLOWED_FOLDERS, WORKER
from caudal.connect.framework_keys import framework_def
from caudal.connect.plugins import Plugin, PluginKind, plugins
from caudal.docs_reference.markdown import code, sentence, table

INTRODUCTION = """# Connectors and their configs

What `caudal connector plugins` lists, with every key. [Connect](../connect.md) is the guide; transforms and predicates
have [a page of their own](../connect-transforms.md). A key without a default is required.
"""

FILLED_IN: Final = (ALLOWED_FOLDERS, WORKER)  # by the worker, whatever a configuration says


def ours(*kinds: PluginKind) -> list[Plugin]:
    """Plugins that come with Caudal; others may be installed beside it."""
    return [plugin for plugin in plugins(*kinds) if plugin.cls.__module__.startswith("caudal.connect.")]


def page() -> str:
    parts = [INTRODUCTION]
    parts += [_section(plugin) for plugin in ours(PluginKind.SOURCE, PluginKind.SINK)]
    parts.append("## Converters\n")
    parts += [_section(plugin, "###") for plugin in ours(PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER)]
    for kind, title in ((PluginKind.SOURCE, "Every source"), (PluginKind.SINK, "Every sink")):
        parts.append(f"## {title}\n\nKeys of the framework itself.\n\n{_keys(framework_def(kind, {}).keys)}")
    return "\n".join(parts)


def _section(plugin: Plugin, level: str = "##") -> str:
    words = [sentence((inspect.getdoc(plugin.cls) or "").split("\n\n")[0])]
    delivery = getattr(plugin.cls, "delivery", None)
    if isinstance(delivery, str) and delivery:
        words.append(f"Delivery: {sentence(delivery)}.")
    if plugin.java_name is not None:
        words.append(f"Also known as {code(plugin.java_name)}.")
    kind = plugin.kind.value.replace("_", " ")
    heading = f"{level} {plugin.name} ({kind})" if level == "###" else f"{level} {plugin.name}"
    return f"{heading}\n\n*{kind.capitalize()}.* {' '.join(words)}\n\n{_keys(plugin.cls.config().keys)}"


def _keys(keys: Iterable[Key]) -> str:
    rows = []
    for key in keys:
        if key.name in FILLED_IN:
            continue
        allowed = f" One of {', '.join(map(str, key.choices))}." if key.choices else ""
        rows.append((code(key.name), key.type.value.lower(), _default(key), sentence(key.doc + allowed)))
    return table(("property", "type", "default", "meaning"), rows)


def _default(key: Key) -> str:
    default: Any = key.default
    if default is REQUIRED:
        return "required"
    text = as_text(default)
    return code(text) if text else ""
