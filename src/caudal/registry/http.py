"""HTTP for the registry: an ASGI application that finds the endpoint of a request and answers in JSON.

Before an endpoint is asked: the Host header must name this server and an Origin be its own (a web page must not reach
it), bodies must be JSON and said to be, and are limited. One place sets who asks (`principal_of`); users come later.
Whatever goes wrong is answered with a code: an unexpected error is logged and is a 50001.

Hot answers are kept as bytes until anything changes in the registry: a schema by id, a registration of what is
registered, a look-up under a subject.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

import orjson

from caudal.http_hosts import names_us
from caudal.registry import errors
from caudal.registry.errors import RegistryError

log = logging.getLogger("caudal.registry.http")

CONTENT_TYPE = b"application/vnd.schemaregistry.v1+json"
ACCEPTED_TYPES = {CONTENT_TYPE.decode(), "application/vnd.schemaregistry+json", "application/json"}
MOST_BODY = 8 * 1024 * 1024
HOT_ANSWERS = 4096
HOT_BYTES = 8 * 1024 * 1024
HOT_BODY = 16 * 1024

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Principal(NamedTuple):
    """Who asks."""

    name: str


ANONYMOUS = Principal("anonymous")


def principal_of(scope: Scope) -> Principal:
    """The one place where a user would be told from the headers. There are no users yet."""
    return ANONYMOUS


class Answer(NamedTuple):
    """What an endpoint gives back, where plain JSON is not enough."""

    body: bytes
    status: int = 200
    content_type: bytes = CONTENT_TYPE
    headers: tuple[tuple[bytes, bytes], ...] = ()
    hot: bool = False  # it stays right until something changes


class Request:
    __slots__ = ("body", "headers", "method", "path", "principal", "query", "query_string", "raw_body", "raw_path")

    def __init__(
        self, scope: Scope, path: dict[str, str], query: dict[str, list[str]], raw_body: bytes, target: bytes
    ) -> None:
        self.method: str = scope["method"]
        self.headers: list[tuple[bytes, bytes]] = scope["headers"]
        self.principal = principal_of(scope)
        self.path = path
        self.query = query
        self.raw_body = raw_body
        self.raw_path = target
        self.query_string: bytes = scope["query_string"]
        self.body: dict[str, Any] = {}

    def header(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key == name), None)

    def text(self, name: str, default: str = "") -> str:
        return self.query[name][0] if name in self.query else default

    def flag(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        text = self.text(name)
        if not text:
            return default
        try:
            return int(text)
        except ValueError:
            raise errors.bad_request(f"The parameter {name} must be a whole number, not '{text}'") from None


Endpoint = Callable[[Request], Awaitable[Any]]


class Route(NamedTuple):
    method: str
    pattern: str  # /subjects/{subject}/versions
    endpoint: Endpoint
    summary: str
    query: tuple[str, ...] = ()
    body: str | None = None  # the name of what it takes, for the description
    codes: tuple[int, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.pattern.strip("/").split("/"))


class Changing(Protocol):
    """What kept answers depend on."""

    generation: int


class App:
    def __init__(
        self,
        routes: Iterable[Route],
        index: Changing,
        host: str,
        own_names: tuple[str, ...] = (),
        rewrite: Callable[[list[str], dict[str, list[str]]], list[str]] | None = None,
    ) -> None:
        """`rewrite` may change a path and its parameters before a route is looked for."""
        self._routes: dict[tuple[int, str], list[Route]] = {}
        for route in routes:
            parts = route.parts
            self._routes.setdefault((len(parts), parts[0]), []).append(route)
        self._index = index
        self._host = host
        self._own_names = own_names
        self._rewrite = rewrite
        self._fine_hosts: set[bytes] = set()
        self._hot: dict[tuple[bytes, ...], Answer] = {}
        self._hot_bytes = 0
        self._hot_generation = -1
        self.answered: Counter[tuple[str, int]] = Counter()  # by method and status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            answer = await self._answer(scope, receive)
        except RegistryError as error:
            answer = error_answer(error)
        except _Gone:
            return
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            answer = error_answer(
                errors.store_failed("Something unexpected went wrong; the log of the registry says what")
            )
        method = scope["method"]
        self.answered[method, answer.status] += 1
        headers = [
            (b"content-type", answer.content_type),
            (b"content-length", b"%d" % len(answer.body)),
            *answer.headers,
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        method = scope["method"]
        self._check_origin(scope["headers"])
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        raw_body = b""
        if method in ("POST", "PUT"):
            raw_body = await _read_body(scope["headers"], receive)
        hot_key: tuple[bytes, ...] | None = None
        if raw_path.startswith(_HOT_PATHS) and len(raw_body) <= HOT_BODY:
            if self._hot_generation != self._index.generation:
                self._hot.clear()
                self._hot_bytes = 0
                self._hot_generation = self._index.generation
            hot_key = (method.encode(), raw_path, scope["query_string"], raw_body)
            known = self._hot.get(hot_key)
            if known is not None:
                return known
        generation = self._hot_generation
        answer = await self._ask(scope, raw_path, raw_body)
        if hot_key is not None and answer.hot and generation == self._index.generation == self._hot_generation:
            self._keep(hot_key, answer)
        return answer

    def _keep(self, key: tuple[bytes, ...], answer: Answer) -> None:
        size = sum(map(len, key)) + len(answer.body)
        if len(self._hot) >= HOT_ANSWERS or self._hot_bytes + size > HOT_BYTES:
            self._hot.clear()
            self._hot_bytes = 0
        self._hot[key] = answer
        self._hot_bytes += size

    async def _ask(self, scope: Scope, raw_path: bytes, raw_body: bytes) -> Answer:
        method = scope["method"]
        try:
            parts = [unquote_to_bytes(part).decode() for part in raw_path.strip(b"/").split(b"/")]
            query: dict[str, list[str]] = {}
            for name, value in parse_qsl(scope["query_string"].decode(), keep_blank_values=True, errors="strict"):
                query.setdefault(name, []).append(value)
        except (UnicodeDecodeError, ValueError):
            raise errors.bad_request("The path and its parameters must be UTF-8") from None
        if self._rewrite is not None:
            parts = self._rewrite(parts, query)
        route, path = self._find(method, parts)
        target = raw_path + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        request = Request(scope, path, query, raw_body, target)
        if route.body is not None:
            request.body = _parse_body(raw_body)
        result = await route.endpoint(request)
        return result if isinstance(result, Answer) else json_answer(result)

    def _find(self, method: str, parts: list[str]) -> tuple[Route, dict[str, str]]:
        others: list[str] = []
        for route in self._routes.get((len(parts), parts[0]), ()):
            path: dict[str, str] = {}
            for pattern, part in zip(route.parts, parts, strict=True):
                if pattern.startswith("{"):
                    path[pattern[1:-1]] = part
                elif pattern != part:
                    break
            else:
                if route.method == method or (method == "HEAD" and route.method == "GET"):
                    return route, path
                others.append(route.method)
        if others:
            raise RegistryError(405, 405, f"HTTP 405 Method Not Allowed: here is {' and '.join(sorted(set(others)))}")
        raise RegistryError(404, 404, "HTTP 404 Not Found: /docs lists what there is")

    def _check_origin(self, headers: list[tuple[bytes, bytes]]) -> None:
        host = origin = None
        for name, value in headers:
            if name == b"host":
                if host is not None:
                    raise errors.bad_request("There is more than one Host header")
                host = value
            elif name == b"origin":
                origin = value
        if host is None or host not in self._fine_hosts:
            text = (host or b"").decode("latin-1")
            if host is None or not names_us(text, self._host, *self._own_names):
                raise RegistryError(403, 403, "The Host header does not name this server")
            if len(self._fine_hosts) < 100:
                self._fine_hosts.add(host)
        if origin is not None and origin.lower() != b"http://" + host.lower():
            raise RegistryError(403, 403, "Pages of other origins may not ask here")


_HOT_PATHS = (b"/schemas/ids/", b"/subjects/")


class _Gone(Exception):
    """The client went away before its request was complete."""


async def _read_body(headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes:
    kind = length = b""
    for name, value in headers:
        if name == b"content-type":
            kind = value
        elif name == b"content-length":
            length = value
    if kind != CONTENT_TYPE and kind.partition(b";")[0].strip().decode("latin-1").lower() not in ACCEPTED_TYPES:
        raise RegistryError(
            415, 415, f"HTTP 415 Unsupported Media Type: send JSON with Content-Type: {CONTENT_TYPE.decode()}"
        )
    too_large = RegistryError(413, 413, f"The body is larger than {MOST_BODY} bytes")
    if length.isdigit() and int(length) > MOST_BODY:
        raise too_large
    message = await receive()
    if message["type"] == "http.disconnect":
        raise _Gone
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BODY:
            raise too_large
    return b"".join(parts)


def _parse_body(raw: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise errors.bad_request(f"The body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise errors.unprocessable("The body must be a JSON object")
    return body


def json_answer(value: Any, *, hot: bool = False, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    return Answer(orjson.dumps(value), hot=hot, headers=headers)


def error_answer(error: RegistryError) -> Answer:
    body = {"error_code": error.code, "message": error.message}
    try:
        return Answer(orjson.dumps(body), error.status)
    except TypeError:  # half a character from somewhere: JSON has no way to write it
        body["message"] = error.message.encode("utf-8", "replace").decode()
        return Answer(orjson.dumps(body), error.status)


def own_name(url: str) -> tuple[str, ...]:
    host = urlsplit(url).hostname
    return (host,) if host else ()
