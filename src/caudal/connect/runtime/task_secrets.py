"""Secrets stay out of the config topic: a task's configuration says `${file:…}` where its connector's does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from caudal.connect.runtime.secrets import has_placeholder


def with_placeholders(
    configs: Sequence[Mapping[str, str]], given: Mapping[str, str], filled: Mapping[str, str]
) -> list[dict[str, str]]:
    """`given` is the connector's configuration as it is stored, `filled` the same with its secrets. A connector makes
    its tasks' configurations of the latter: what was filled in is taken out again, wherever it went.

    >>> with_placeholders([{"password": "p", "url": "u"}], {"password": "${env:P}"}, {"password": "p"})
    [{'password': '${env:P}', 'url': 'u'}]
    """
    secret = {key: text for key, text in given.items() if has_placeholder(text) and filled.get(key)}
    by_value = {filled[key]: text for key, text in secret.items()}
    return [{key: secret.get(key) or by_value.get(value, value) for key, value in one.items()} for one in configs]
