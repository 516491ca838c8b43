"""How schemas and a registry's reasons are shown to a person: indented, coloured on a terminal, compared by lines."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from collections.abc import Iterable

# One reason as registries write it: {errorType:'…', description:'…', additionalInfo:'…'}
_REASON = re.compile(
    r"errorType:\s*'([A-Z_]+)',\s*description:\s*'(.*?)'(?:,\s*additionalInfo:\s*'.*?')?\s*\}", re.DOTALL
)
_REMARK = re.compile(r"^\{(?:oldSchema|oldSchemaVersion|compatibility|validateFields)\b", re.DOTALL)
_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_RESET = "\x1b[0m"


def pretty(schema_type: str, text: str) -> str:
    """JSON in two-space steps; Protobuf as it is."""
    if schema_type != "PROTOBUF":
        try:
            return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
    return text.rstrip("\n")


def print_schema(schema_type: str, text: str) -> None:
    shown = pretty(schema_type, text)
    if not in_colour():
        print(shown)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    language = "protobuf" if schema_type == "PROTOBUF" else "json"
    Console(soft_wrap=True).print(Syntax(shown, language, background_color="default", word_wrap=False))


def in_colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def diff_lines(old: tuple[str, str, str], new: tuple[str, str, str]) -> list[str]:
    """The unified diff of two (name, type, text), without line ends; empty if they read the same."""
    (old_name, *old_text), (new_name, *new_text) = old, new
    return list(
        difflib.unified_diff(
            pretty(*old_text).splitlines(), pretty(*new_text).splitlines(), old_name, new_name, lineterm="", n=4
        )
    )


def print_diff(lines: Iterable[str]) -> None:
    colour = in_colour()
    for line in lines:
        code = _COLOURS.get(line[:1], "") if colour else ""
        print(f"{code}{line}{_RESET}" if code else line)


def reasons(messages: Iterable[str]) -> list[str]:
    """The sentences in what a registry says against a schema; a message without that form is shown as it is."""
    found: list[str] = []
    for message in messages:
        parts = [f"{' '.join(sentence.split())} ({rule})" for rule, sentence in _REASON.findall(message)]
        if not parts and not _REMARK.match(message.strip()):
            parts = [" ".join(message.split())]
        found += parts
    return list(dict.fromkeys(found))
