"""The broker's GET: real sockets, servers that answer well, badly and not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from caudal.broker.schemas import http_get
from caudal.broker.schemas.http_get import NoAnswer, get, url_fault


@asynccontextmanager
async def server(answer: bytes | None) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that sends this to everybody and closes; None: one that stays silent."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        if answer is None:
            await reader.read()
        else:
            writer.write(answer)
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", heard
    finally:
        listener.close()


async def test_status_and_body_come_back_and_the_path_follows_the_base() -> None:
    async with server(b"HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n{}\r\n\r\n") as (url, heard):
        assert await get(url + "/contexts/x/", "/schemas/ids/1", 5) == (404, b"{}\r\n\r\n")
    assert heard[0].startswith(b"GET /contexts/x/schemas/ids/1 HTTP/1.0\r\nHost: 127.0.0.1:")


async def test_a_server_that_keeps_the_connection_is_not_waited_for() -> None:
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 2\r\n\r\n[]")
        await done.wait()
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    assert await get(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", "/", 30) == (200, b"[]")
    done.set()
    listener.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0\r\n\r\n",
        b"SSH-2.0 hello you\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 ok\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut off"[:-3],
        b"x" * 100_000,
    ],
)
async def test_what_is_no_http_is_no_answer(answer: bytes) -> None:
    async with server(answer) as (url, _):
        with pytest.raises(NoAnswer, match="does not speak HTTP"):
            await get(url, "/", 5)


async def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_get, "MAX_ANSWER", 1000)
    for head in (b"", b"Content-Length: 100000\r\n"):
        async with server(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + b"x" * 100_000) as (url, _):
            with pytest.raises(NoAnswer, match="more than 1000 bytes"):
                await get(url, "/", 5)


async def test_a_silent_server_and_none_at_all() -> None:
    async with server(None) as (url, _):
        with pytest.raises(NoAnswer, match=r"did not answer in 0\.05 s"):
            await get(url, "/", 0.05)
    with pytest.raises(NoAnswer, match="cannot be reached"):
        await get(url, "/", 5)


@pytest.mark.parametrize("url", ["http://a", "https://a:8081/contexts/x", "http://[::1]:8081"])
def test_good_addresses(url: str) -> None:
    assert url_fault(url) is None


@pytest.mark.parametrize(
    "url", ["", "a:8081", "ftp://a", "http://", "http://a:x", "http://a:99999", "http://[", "http://a b"]
)
def test_what_is_no_address(url: str) -> None:
    assert url_fault(url) == "is no http:// or https:// address"


def test_a_password_in_an_address_is_refused() -> None:
    assert "user name" in str(url_fault("http://me:secret@a"))
