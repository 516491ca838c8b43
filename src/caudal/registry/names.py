"""Subjects and contexts: `:.team:orders` is the subject `orders` of the context `.team`; without one it is `.`.

Each context has ids of its own. `:.team:` names the context itself, where its config and mode are kept.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

DEFAULT_CONTEXT = "."
WILDCARD = ":*:"
MAX_LENGTH = 1024


class Name(NamedTuple):
    context: str
    subject: str  # without its context; empty: the context itself

    @property
    def qualified(self) -> str:
        return self.subject if self.context == DEFAULT_CONTEXT else f":{self.context}:{self.subject}"


def parse_name(text: str) -> Name:
    """What the text means; `:.:orders` is `orders`."""
    if not text.startswith(":."):
        return Name(DEFAULT_CONTEXT, text)
    context, _, subject = text[1:].partition(":")
    return Name(context, subject)


def context_of(qualified: str) -> str:
    return parse_name(qualified).context if qualified.startswith(":.") else DEFAULT_CONTEXT


def qualify(subject: str, parent: str) -> str:
    """The subject as a schema in the context `parent` means it."""
    name = parse_name(subject)
    if subject.startswith(":."):
        return name.qualified
    return Name(parent, subject).qualified


def context_key(context: str) -> str:
    """The name under which a context's own config and mode are kept."""
    return f":{context}:"


def normal_context(text: str) -> str:
    """A context as people write it in a path: `team`, `.team` and `:.team:` are `.team`."""
    text = text.removeprefix(":").removesuffix(":")
    return text if text.startswith(".") else f".{text}"


def is_valid_subject(name: str) -> bool:
    """Whether a schema may be registered under it."""
    if not name or len(name) > MAX_LENGTH:
        return False
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        return False
    context, subject = parse_name(name)
    return bool(subject) and subject != "__EMPTY" and context != ".__GLOBAL" and subject != "__GLOBAL"
