"""What a shell completes from the running cluster: topics, groups, subjects, connectors, and the names of profiles.

A person waits with a finger on TAB: everything has a second at most, and whatever goes wrong, nothing is completed and
nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any
from urllib.parse import quote

import typer

SECONDS = 1.0
CONNECTED_SECONDS = 0.5
MOST = 500

Completer = Callable[[typer.Context, str], list[str]]


def _silent(asking: Callable[[dict[str, Any]], Iterable[str]]) -> Completer:
    """The names that begin as typed. The context's parameters are those given so far, with their defaults."""

    @wraps(asking)
    def completer(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            names = sorted(name for name in asking(ctx.params) if name.startswith(incomplete))
        except Exception:
            return []
        if not incomplete.startswith("_"):
            names = [name for name in names if not name.startswith("__")] or names
        return names[:MOST]

    # typer asks the signature which arguments it takes; that of the wrapped function is another.
    del completer.__wrapped__
    return completer


@_silent
def topics(given: dict[str, Any]) -> Iterable[str]:
    return [str(name) for name in _admin(given).list_topics(timeout=SECONDS).topics]


@_silent
def groups(given: dict[str, Any]) -> Iterable[str]:
    admin = _admin(given)
    admin.list_topics("__consumer_offsets", timeout=SECONDS)  # a client that knows no broker yet finds no groups
    listing = admin.list_consumer_groups(request_timeout=SECONDS).result(SECONDS)
    return [str(each.group_id) for each in listing.valid]


@_silent
def subjects(given: dict[str, Any]) -> Iterable[str]:
    return _listed(given.get("registry") or "http://localhost:8081", "/subjects")


@_silent
def connectors(given: dict[str, Any]) -> Iterable[str]:
    return _listed(given.get("connect") or "http://localhost:8083", "/connectors")


@_silent
def plugins(given: dict[str, Any]) -> Iterable[str]:
    from caudal.cli.connector_text import short_class
    from caudal.cli.quick_get import quick_get

    found = quick_get(f"{_url(given.get('connect') or 'http://localhost:8083')}/connector-plugins", SECONDS).body
    return [each.get("name") or short_class(each["class"]) for each in found]


@_silent
def profile_names(given: dict[str, Any]) -> Iterable[str]:
    from caudal.cli import profiles

    return profiles.load().clusters


def _admin(given: dict[str, Any]) -> Any:
    """An admin client; raises where nothing listens, because librdkafka would wait."""
    import socket

    from confluent_kafka.admin import AdminClient

    from caudal.cli.clients import DEFAULT_BOOTSTRAP, client_config, parse_address

    properties: Sequence[str] | None = given.get("properties")
    config = client_config(given.get("bootstrap") or DEFAULT_BOOTSTRAP, properties)
    for address in str(config["bootstrap.servers"]).split(","):
        with socket.create_connection(parse_address(address), CONNECTED_SECONDS):
            break
    return AdminClient(config)


def _listed(url: str, path: str) -> list[str]:
    from caudal.cli.quick_get import quick_get

    return [str(name) for name in quick_get(f"{_url(url)}{quote(path)}", SECONDS).body]


def _url(text: str) -> str:
    first = text.split(",")[0].strip().rstrip("/")
    return first if "://" in first else f"http://{first}"
