"""Who is let in: the Host and Origin checks, for requests and websockets alike."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.ui.server import Guard, refusal


@pytest.mark.parametrize(
    ("host", "origin", "bound", "allowed"),
    [
        ("127.0.0.1:9021", "", "127.0.0.1", True),
        ("localhost:9021", "http://localhost:9021", "127.0.0.1", True),
        ("[::1]:9021", "http://[::1]:9021", "::1", True),
        ("evil.example", "", "127.0.0.1", False),
        ("", "", "127.0.0.1", False),
        ("127.0.0.1:9021", "http://evil.example", "127.0.0.1", False),
        ("127.0.0.1:9021", "http://127.0.0.1:8080", "127.0.0.1", False),
        ("127.0.0.1:9021", "null", "127.0.0.1", False),
        ("10.0.0.5:9021", "http://10.0.0.5:9021", "0.0.0.0", True),
        ("evil.example:9021", "http://evil.example:9021", "0.0.0.0", False),
    ],
)
def test_only_pages_of_this_host_are_answered(host: str, origin: str, bound: str, allowed: bool) -> None:
    assert (refusal(host, origin, bound) == "") is allowed


async def through_guard(kind: str, headers: list[tuple[bytes, bytes]]) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await Guard(app, "127.0.0.1")({"type": kind, "headers": headers}, receive, send)
    return sent


async def test_a_stranger_gets_403_and_its_websocket_is_closed_before_it_opens() -> None:
    stranger = [(b"host", b"127.0.0.1:9021"), (b"origin", b"http://evil.example")]
    first, body = await through_guard("http", stranger)
    assert first["status"] == 403 and body["body"] == b"requests of other sites' pages are refused\n"
    assert await through_guard("websocket", stranger) == [{"type": "websocket.close", "code": 1008}]


async def test_every_answer_forbids_to_load_from_elsewhere() -> None:
    (answer,) = await through_guard("http", [(b"host", b"127.0.0.1")])
    policy = dict(answer["headers"])[b"content-security-policy"]
    assert policy.startswith(b"default-src 'self' ") and b"http:" not in policy
