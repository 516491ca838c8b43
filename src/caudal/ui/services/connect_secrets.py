"""What of a connector's configuration is never shown back, and how an edited configuration gets it again.

Connect's REST answers with passwords as they were written. Here they stay on the server: a browser gets HIDDEN, and
what comes back as HIDDEN is what was stored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

HIDDEN = "[hidden]"

# Of keys that no definition describes: those of converters, transforms and the worker's clients.
_TELLING = re.compile(
    r"(^|[._-])(password|passwd|secret|token|credentials?|passphrase|apikey|api[._-]key|private[._-]key|"
    r"jaas[._-]config|basic[._-]auth[._-]user[._-]info)$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\$\{[^}]+\}")  # ${file:…}: it says where the secret is, not what
_ADDRESS = re.compile(r"(://[^\s/:@]*:)([^\s@]+)@")


def is_secret(name: str, passwords: Collection[str] = ()) -> bool:
    """
    >>> is_secret("connection.password"), is_secret("value.converter.basic.auth.user.info"), is_secret("topic")
    (True, True, False)
    """
    return name in passwords or _TELLING.search(name) is not None


def masked(config: Mapping[str, str], passwords: Collection[str] = ()) -> dict[str, str]:
    """The configuration as it may be shown; `passwords` are the keys of that type.

    >>> masked({"url": "db://ana:geheim@shop", "db.password": "geheim", "other.secret": "${file:x:y}"})
    {'url': 'db://ana:[hidden]@shop', 'db.password': '[hidden]', 'other.secret': '${file:x:y}'}
    """
    return {name: _masked(name, value, passwords) for name, value in config.items()}


def _masked(name: str, value: str, passwords: Collection[str]) -> str:
    if _REFERENCE.fullmatch(value) or not value:
        return value
    return HIDDEN if is_secret(name, passwords) else _ADDRESS.sub(rf"\1{HIDDEN}@", value)


def unmasked(edited: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """The edited configuration with the stored secrets where they were left as they are.

    >>> unmasked({"db.password": "[hidden]", "url": "db://ana:[hidden]@other"},
    ...          {"db.password": "geheim", "url": "db://ana:pass@shop"})
    {'db.password': 'geheim', 'url': 'db://ana:pass@other'}
    """
    return {name: _unmasked(value, stored.get(name)) for name, value in edited.items()}


def _unmasked(value: str, stored: str | None) -> str:
    if HIDDEN not in value or stored is None:
        return value
    if value == HIDDEN:
        return stored
    password = _ADDRESS.search(stored)
    return value if password is None else value.replace(f":{HIDDEN}@", f":{password.group(2)}@")
