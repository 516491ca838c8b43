"""GET over asyncio's streams: the little HTTP that the broker needs to ask a schema registry.

HTTP/1.0, one request per connection: the answer ends where its length or the connection does, never in chunks.
The base install has no HTTP client that leaves the event loop free. Left out: redirects, proxies, credentials.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final
from urllib.parse import urlsplit

MAX_ANSWER: Final = 16 << 20


class NoAnswer(Exception):
    """The server could not be reached, or what it said is no HTTP; the message says which."""


def url_fault(url: str) -> str | None:
    """What is wrong with the address of a server; None if nothing is."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        fine = False
    if not fine or any(char.isspace() for char in url):
        return "is no http:// or https:// address"
    return "has a user name in it, which is not supported" if "@" in parts.netloc else None


async def get(base: str, path: str, timeout: float) -> tuple[int, bytes]:
    """Status and body of `base` + `path`."""
    try:
        async with asyncio.timeout(timeout):
            return await _exchange(base, path)
    except TimeoutError:
        raise NoAnswer(f"{base} did not answer in {timeout:g} s") from None
    except OSError as error:
        raise NoAnswer(f"{base} cannot be reached: {error.strerror or error}") from error


async def _exchange(base: str, path: str) -> tuple[int, bytes]:
    url = urlsplit(base)
    secure = url.scheme == "https"
    reader, writer = await asyncio.open_connection(
        url.hostname, url.port or (443 if secure else 80), ssl=True if secure else None
    )
    try:
        writer.write(
            f"GET {url.path.rstrip('/')}{path} HTTP/1.0\r\nHost: {url.netloc}\r\n"
            "Accept: application/vnd.schemaregistry.v1+json, application/json\r\n\r\n".encode()
        )
        status, length = _head(await reader.readuntil(b"\r\n\r\n"))
        if length > MAX_ANSWER:
            raise NoAnswer(f"{base} answers with more than {MAX_ANSWER} bytes")
        if length >= 0:
            return status, await reader.readexactly(length)
        body = bytearray()
        while part := await reader.read(1 << 16):
            body += part
            if len(body) > MAX_ANSWER:
                raise NoAnswer(f"{base} answers with more than {MAX_ANSWER} bytes")
        return status, bytes(body)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
        raise NoAnswer(f"{base} does not speak HTTP") from None
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def _head(head: bytes) -> tuple[int, int]:
    """Status and length of the body, -1 where it is not said; ValueError where this is no answer."""
    first, *fields = head.decode("latin-1").split("\r\n")
    protocol, status, *_ = first.split()
    if not protocol.startswith("HTTP/"):
        raise ValueError(protocol)
    for field in fields:
        name, _, value = field.partition(":")
        if name.lower() == "content-length":
            return int(status), int(value)
    return int(status), -1
