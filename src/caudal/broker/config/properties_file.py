"""Java .properties text (server.properties, meta.properties) into a dict, and back.

Follows the format's rules: `#` and `!` comments, `=`, `:` or blank as separator, a backslash to continue a line or to
escape. Later keys win. Writing escapes only what reading needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from caudal.broker.config.definition import ConfigError

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANK = " \t\f"


def parse_properties(text: str) -> dict[str, str]:
    """
    >>> parse_properties("# comment\\nlog.dirs = /data\\\\\\n  ,/more\\nempty=\\n")
    {'log.dirs': '/data,/more', 'empty': ''}
    """
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        found[_unescape(key)] = _unescape(value)
    return found


def read_properties(path: Path) -> dict[str, str]:
    try:
        return parse_properties(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The properties file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise ConfigError(f"The properties file {path} is not text in UTF-8.") from None


def format_properties(properties: Mapping[str, str], comment: str = "") -> str:
    lines = [f"#{comment}"] if comment else []
    lines += [f"{_escape(key, key=True)}={_escape(value)}" for key, value in properties.items()]
    return "\n".join(lines) + "\n"


def _logical_lines(text: str) -> Iterator[str]:
    pending = ""
    for raw in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = raw.lstrip(_BLANK)
        if not pending and (not line or line[0] in "#!"):
            continue
        # An odd number of backslashes at the end continues the line; an even number is escaped backslashes.
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _split(line: str) -> tuple[str, str]:
    position = 0
    while position < len(line) and line[position] not in "=:" + _BLANK:
        position += 2 if line[position] == "\\" else 1
    rest = line[position:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return line[:position], rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char != "\\":
            out.append(char)
            position += 1
            continue
        escaped = text[position + 1 : position + 2]
        if escaped == "u":
            digits = text[position + 2 : position + 6]
            try:
                out.append(chr(int(digits, 16)) if len(digits) == 4 else "")
            except ValueError:
                raise ConfigError(f"The properties text has the malformed escape \\u{digits}.") from None
            position += 6
        else:
            out.append(_ESCAPES.get(escaped, escaped))
            position += 2
    return "".join(out)


def _escape(text: str, *, key: bool = False) -> str:
    out = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if key:
        for char in " :=#!":
            out = out.replace(char, "\\" + char)
    elif out[:1] == " ":
        out = "\\" + out
    return out
