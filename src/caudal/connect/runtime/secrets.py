"""Secrets in configurations: `${file:…}`, `${env:…}` and `${directory:…}` stand for what is kept elsewhere.

    ${file:/run/secrets/db.properties:password}   a key of a properties file
    ${file:/run/secrets/password}                 a whole file
    ${directory:/run/secrets:password}            a whole file of a folder
    ${env:DB_PASSWORD}                            a variable of the worker's environment

Configurations are stored and shown as they were given; they are filled in only for the run of a connector or task, and
for a validation. Files must lie in the worker's allowed folders, wherever their symbolic links lead. What was filled in
is not looked at again: a secret may contain `${`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from caudal.connect.configuration import HIDDEN
from caudal.connect.errors import ConfigError

_PLACEHOLDER = re.compile(r"\$\{([^}:]*):([^}]*)\}")
_LARGEST_FILE = 1 << 20


@dataclass(frozen=True, slots=True, repr=False)
class Filled:
    """A configuration with its secrets, and what they are. It does not show itself."""

    config: dict[str, str]
    secrets: frozenset[str] = frozenset()

    def hide(self, text: str) -> str:
        """For errors and logs: the text without any secret in it."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text

    def __repr__(self) -> str:
        return f"Filled({len(self.config)} properties)"


def fill(config: Mapping[str, str], allowed_folders: Sequence[Path]) -> Filled:
    """Raises ConfigError that names the first property whose secret is not to be had."""
    filled: dict[str, str] = {}
    secrets: set[str] = set()
    for name, text in config.items():
        if "${" in text:
            filled[name] = _filled(name, text, allowed_folders, secrets)
        else:
            filled[name] = text
    return Filled(filled, frozenset(secret for secret in secrets if secret))


def fill_with_errors(config: Mapping[str, str], allowed_folders: Sequence[Path]) -> tuple[Filled, dict[str, str]]:
    """As `fill`, for a validation: properties that cannot be filled in are left out, with the error of each."""
    filled: dict[str, str] = {}
    secrets: set[str] = set()
    errors: dict[str, str] = {}
    for name, text in config.items():
        try:
            one = fill({name: text}, allowed_folders)
        except ConfigError as error:
            errors[name] = str(error)
        else:
            filled.update(one.config)
            secrets |= one.secrets
    return Filled(filled, frozenset(secrets)), errors


def has_placeholder(text: str) -> bool:
    """
    >>> has_placeholder("${env:PASSWORD}"), has_placeholder("kafka_${topic}")
    (True, False)
    """
    return _PLACEHOLDER.search(text) is not None


def _filled(name: str, text: str, allowed: Sequence[Path], secrets: set[str]) -> str:
    def secret(found: re.Match[str]) -> str:
        try:
            value = _value(found[1], found[2], allowed)
        except ValueError as error:
            raise ConfigError(f"{name}: {found[0]} cannot be filled in: {error}.", name) from None
        secrets.add(value)
        return value

    return _PLACEHOLDER.sub(secret, text)


def _value(provider: str, rest: str, allowed: Sequence[Path]) -> str:
    match provider:
        case "env":
            value = os.environ.get(rest)
            if value is None:
                raise ValueError("the worker's environment has no such variable")
            return value
        case "file":
            path, colon, key = rest.rpartition(":")
            if not colon:
                return _content(Path(rest), allowed).rstrip("\r\n")
            properties = _properties(_content(Path(path), allowed))
            if key not in properties:
                raise ValueError("the file has no such key")
            return properties[key]
        case "directory":
            folder, colon, file = rest.rpartition(":")
            if not colon or not file:
                raise ValueError("it is written ${directory:FOLDER:FILE}")
            if file in (".", "..") or "/" in file or os.sep in file:
                raise ValueError("the file is a name within the folder, not a path")
            return _content(Path(folder) / file, allowed).rstrip("\r\n")
    raise ValueError(f"there is no provider named '{provider}'; there are file, directory and env")


def _content(path: Path, allowed: Sequence[Path]) -> str:
    if not path.is_absolute():
        raise ValueError("the path must be absolute")
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        real = None
    # A path that is not allowed says the same whether the file is there or not.
    within = _resolved(path) if real is None else real
    if not any(within.is_relative_to(folder) for folder in _folders(allowed)):
        raise ValueError("it is not in a folder that this worker allows (its allowed folders)")
    if real is None or not real.is_file():
        raise ValueError("there is no such file")
    try:
        if real.stat().st_size > _LARGEST_FILE:
            raise ValueError("the file is larger than 1 MiB, and no secret")
        return real.read_text("utf-8")
    except UnicodeError:
        raise ValueError("the file is not UTF-8 text") from None
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from None


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return Path("/")


def _folders(allowed: Iterable[Path]) -> list[Path]:
    return [_resolved(folder) for folder in allowed]


def _properties(text: str) -> dict[str, str]:
    """A file in Java's format: `key=value`, `key: value` or `key value`; # and ! begin comments; lines go on after a
    backslash.

    >>> _properties("# db\\nuser = ana\\npassword=a=b\\\\\\n  c\\n")
    {'user': 'ana', 'password': 'a=bc'}
    """
    found = {}
    for line in re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text).splitlines():
        line = line.lstrip(" \t\f")
        if not line or line[0] in "#!":
            continue
        parts = re.match(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", line, re.DOTALL)
        if parts is not None:
            found[_unescaped(parts[1])] = _unescaped(parts[2])
    return found


def _unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        code = found[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        return {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}.get(code, code)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", one, text)
