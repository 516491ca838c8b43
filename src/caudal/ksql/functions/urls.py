"""Parts of URLs, and the escaping of parameters.

What is a URL is what `java.net.URI` takes (RFC 2396 with non-ASCII characters): a space or a `{` in a URL makes it
invalid, which is an error and so NULL. A URL without `//` after its scheme (`mailto:a@b.c`) has no path, query or
host.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple
from urllib.parse import quote_plus, unquote, unquote_plus

from caudal.ksql.functions.registry import scalar

_PARTS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):)?"
    r"(?://(?P<authority>[^/?#]*))?"
    r"(?P<path>[^?#]*)"
    r"(?:\?(?P<query>[^#]*))?"
    r"(?:\#(?P<fragment>.*))?",
    re.DOTALL,
)
_BYTE = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})"
_SERVER = re.compile(
    r"(?:[^@\[\]]*@)?"
    r"(?P<host>"
    r"\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.]+)?\]"
    rf"|{_BYTE}(?:\.{_BYTE}){{3}}"
    r"|[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?"
    r"|(?:[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?\.)*[A-Za-z](?:[A-Za-z0-9\-]*[A-Za-z0-9])?\.?)"
    r"(?::(?P<port>[0-9]*))?"
)
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'();/?:@&=+$,")


class _Url(NamedTuple):
    scheme: str | None
    host: str | None
    port: int | None
    path: str | None
    query: str | None
    fragment: str | None


def _url(text: str) -> _Url:
    found = _PARTS.fullmatch(text)
    if found is None:  # pragma: no cover - every text has these parts, if only a path
        raise _invalid(text)
    scheme, authority, path, query, fragment = found.groups()
    if scheme is None and ":" in path.split("/", 1)[0]:  # what stands before a colon is not a scheme
        raise _invalid(text)
    if authority == "" and not path and query is None and fragment is None:  # nothing follows //
        raise _invalid(text)
    for part, more in ((authority, "[]"), (path, ""), (query, "[]"), (fragment, "[]")):
        if part is not None and not _is_legal(part, more):
            raise _invalid(text)
    if scheme is not None and authority is None and not path.startswith("/"):
        if not path and query is None:
            raise _invalid(text)
        return _Url(scheme, None, None, None, None, _decoded(fragment))  # opaque
    host, port = None, None
    if authority:
        server = _SERVER.fullmatch(authority)
        if server is not None and int(server["port"] or 0) <= 0x7FFFFFFF:
            host = server["host"]
            port = int(server["port"]) if server["port"] else None
        elif "[" in authority or "]" in authority:
            raise _invalid(text)
    return _Url(scheme, host, port, _decoded(path), _decoded(query), _decoded(fragment))


def _is_legal(part: str, more: str) -> bool:
    for sign in _ESCAPED.sub("", part):
        if sign in _PLAIN or sign in more:
            continue
        if ord(sign) < 0x80 or unicodedata.category(sign) in ("Cc", "Zs", "Zl", "Zp"):
            return False
    return True


def _decoded(part: str | None) -> str | None:
    return part if part is None or "%" not in part else unquote(part, errors="replace")


def _invalid(text: str) -> ValueError:
    return ValueError(f"URL input has invalid syntax: {text}")


@scalar(
    "URL_EXTRACT_FRAGMENT",
    "(url STRING) -> STRING",
    category="URL",
    description="The part of a URL after its #, decoded; NULL where there is none.",
)
def url_extract_fragment(url: str) -> str | None:
    return _url(url).fragment


@scalar(
    "URL_EXTRACT_HOST",
    "(url STRING) -> STRING",
    category="URL",
    description="The host of a URL; NULL where there is none.",
)
def url_extract_host(url: str) -> str | None:
    return _url(url).host


@scalar(
    "URL_EXTRACT_PARAMETER",
    "(url STRING, name STRING) -> STRING",
    category="URL",
    description="The first value, decoded, of a parameter in a URL's query; NULL where it is not there.",
)
def url_extract_parameter(url: str, name: str) -> str | None:
    """
    >>> url_extract_parameter("http://test.com?a%20b=c%20d", "a b")
    'c d'
    """
    query = _url(url).query
    if query is None:
        return None
    for parameter in query.split("&"):
        key, _, value = parameter.partition("=")
        if key == name:
            return value
    return None


@scalar(
    "URL_EXTRACT_PATH",
    "(url STRING) -> STRING",
    category="URL",
    description="The path of a URL, decoded; empty where it has none.",
)
def url_extract_path(url: str) -> str | None:
    return _url(url).path


@scalar(
    "URL_EXTRACT_PORT",
    "(url STRING) -> INTEGER",
    category="URL",
    description="The port of a URL; NULL where it gives none.",
)
def url_extract_port(url: str) -> int | None:
    return _url(url).port


@scalar(
    "URL_EXTRACT_PROTOCOL",
    "(url STRING) -> STRING",
    category="URL",
    description="The protocol of a URL; NULL where it gives none.",
)
def url_extract_protocol(url: str) -> str | None:
    return _url(url).scheme


@scalar(
    "URL_EXTRACT_QUERY",
    "(url STRING) -> STRING",
    category="URL",
    description="The query of a URL, decoded; NULL where it has none.",
)
def url_extract_query(url: str) -> str | None:
    return _url(url).query


@scalar(
    "URL_ENCODE_PARAM",
    "(text STRING) -> STRING",
    category="URL",
    description="A text as it is written in a URL's query (application/x-www-form-urlencoded).",
)
def url_encode_param(text: str) -> str:
    """
    >>> url_encode_param("?foo $bar~")
    '%3Ffoo+%24bar%7E'
    """
    return quote_plus(text, safe="*", errors="replace").replace("~", "%7E")


@scalar(
    "URL_DECODE_PARAM",
    "(text STRING) -> STRING",
    category="URL",
    description="What a text from a URL's query stands for: the inverse of URL_ENCODE_PARAM.",
)
def url_decode_param(text: str) -> str:
    broken = _NO_ESCAPE.search(text)
    if broken is not None:
        raise ValueError(f"'{text}' is not URL-encoded: two hexadecimal digits follow % at index {broken.start()}.")
    return unquote_plus(text, errors="replace")
