"""Secrets stay out of the config topic: a task's configuration says `${file:…}` where its connector's does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from caudal.connect.runtime.secrets import has_placeholder

SHORTEST = 4  # a shorter one is in too many texts by chance


def with_placeholders(
    configs: Sequence[Mapping[str, str]], given: Mapping[str, str], filled: Mapping[str, str]
) -> list[dict[str, str]]:
    """`given` is the connector's configuration as it is stored, `filled` the same with its secrets. A connector makes
    its tasks' configurations of the latter: what was filled in is taken out again, wherever it went.

    >>> given, filled = {"password": "${env:P}"}, {"password": "hunter2"}
    >>> with_placeholders([{"password": "hunter2", "url": "db://me:hunter2@host"}], given, filled)
    [{'password': '${env:P}', 'url': 'db://me:${env:P}@host'}]
    """
    secret = {key: text for key, text in given.items() if has_placeholder(text) and filled.get(key)}
    texts = sorted(((filled[key], text) for key, text in secret.items()), key=lambda pair: -len(pair[0]))
    return [{key: _hidden(key, value, secret, filled, texts) for key, value in one.items()} for one in configs]


def _hidden(
    key: str, value: str, secret: Mapping[str, str], filled: Mapping[str, str], texts: list[tuple[str, str]]
) -> str:
    if key in secret and filled[key] == value:
        return secret[key]
    for found, text in texts:
        if value == found or (len(found) >= SHORTEST and found in value):
            return value.replace(found, text)  # one at most: what is put in must not be looked through again
    return value
