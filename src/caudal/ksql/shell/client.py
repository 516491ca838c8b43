"""HTTP to a KSQL server: statements in, entities or rows out; what goes wrong comes out as one of two errors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

CONNECT_SECONDS = 5.0
STATEMENT_SECONDS = 120.0
ASIDE_SECONDS = 2.0  # for what a person does not wait for: completion, the banner
CLOSE_SECONDS = 5.0  # a second Ctrl-C does not wait for it
MEDIA_TYPE = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"


class ServerError(Exception):
    """The server refused. `message` may have several lines: the last two are the text and its caret."""

    def __init__(self, message: str, code: int | None = None, entities: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.entities = entities or []  # of the statements before the one that was refused


class NotAnswering(Exception):
    """Nobody is there, or not a KSQL server."""


class Number(str):
    """A number with a point, as the server wrote it: a DECIMAL has more digits than a float keeps."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query answers: the header, then rows as they come."""

    query_id: str | None
    names: list[str]
    types: list[str]
    rows: Iterator[list[Any]]


class Server:
    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/") if "://" in url else f"http://{url.rstrip('/')}"
        # The server is local more often than not: a proxy for the outside must not get in between.
        self._http = httpx.Client(
            base_url=self.url,
            timeout=httpx.Timeout(STATEMENT_SECONDS, connect=CONNECT_SECONDS),
            transport=transport,
            trust_env=False,
            verify=self.url.startswith("https"),  # reading the certificates takes a third of a second
        )

    def close(self) -> None:
        self._http.close()

    def info(self) -> dict[str, Any]:
        """Version and state, as GET /info has them."""
        with self._explained():
            answer = self._http.get("/info", timeout=ASIDE_SECONDS)
            found = self._checked(answer).get("KsqlServerInfo", {})
        return found if isinstance(found, dict) else {}

    def execute(
        self,
        text: str,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> list[dict[str, Any]]:
        """Any statement but SELECT and PRINT: the entities that it answers with."""
        body = {
            "ksql": text,
            "streamsProperties": dict(properties or {}),
            "sessionVariables": dict(variables or {}),
        }
        timeout: Any = httpx.USE_CLIENT_DEFAULT if seconds is None else seconds
        with self._explained():
            answer = self._http.post("/ksql", json=body, headers={"Accept": MEDIA_TYPE}, timeout=timeout)
            found = self._checked(answer)
        if not isinstance(found, list):
            raise NotAnswering(f"{self.url} is not a KSQL server: it answered {str(found)[:80]}.")
        return found

    def is_valid_property(self, name: str) -> str | None:
        """None where it is, or the reason why not. A server that does not know the question accepts all."""
        try:
            with self._explained():
                self._checked(self._http.get(f"/is_valid_property/{name}", timeout=ASIDE_SECONDS))
        except ServerError as error:
            return None if error.code == 40400 else error.message
        except NotAnswering:
            return None
        return None

    @contextmanager
    def query(self, text: str, properties: Mapping[str, Any] | None = None) -> Iterator[Rows]:
        """A SELECT. Leaving the block ends the query, also on the server."""
        body = {"sql": text, "properties": dict(properties or {})}
        with self._streamed("/query-stream", body, DELIMITED) as lines:
            header = next(lines, None)
            if header is None:
                yield Rows(None, [], [], iter(()))
                return
            if not isinstance(header, dict) or "columnNames" not in header:
                raise _refusal(header)
            query_id = header.get("queryId")
            try:
                yield Rows(query_id, header["columnNames"], header["columnTypes"], _rows(lines))
            except BaseException:
                self._close_query(query_id)
                raise

    @contextmanager
    def print_topic(self, text: str, properties: Mapping[str, Any] | None = None) -> Iterator[Iterator[str]]:
        """A PRINT: lines as they come."""
        body = {"ksql": text, "streamsProperties": dict(properties or {})}
        with self._streaming("/query", body, MEDIA_TYPE) as answer:
            yield (line for line in answer.iter_lines() if line.strip())

    def _close_query(self, query_id: str | None) -> None:
        # The connection ends too; but a proxy in between may keep it open, and then the query would go on.
        if query_id is not None:
            with suppress(httpx.HTTPError, KeyboardInterrupt):
                self._http.post("/close-query", json={"queryId": query_id}, timeout=CLOSE_SECONDS)

    @contextmanager
    def _streamed(self, path: str, body: dict[str, Any], accept: str) -> Iterator[Iterator[Any]]:
        with self._streaming(path, body, accept) as answer:
            yield (self._read(line) for line in answer.iter_lines() if line.strip())

    def _read(self, line: str) -> Any:
        try:
            return json.loads(line, parse_float=Number)
        except ValueError:
            raise NotAnswering(f"{self.url} is not a KSQL server: it answered {line[:80]}") from None

    @contextmanager
    def _streaming(self, path: str, body: dict[str, Any], accept: str) -> Iterator[httpx.Response]:
        endless = httpx.Timeout(None, connect=CONNECT_SECONDS)
        with (
            self._explained(),
            self._http.stream("POST", path, json=body, headers={"Accept": accept}, timeout=endless) as answer,
        ):
            if answer.status_code != 200:
                answer.read()
                self._checked(answer)
            yield answer

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except httpx.InvalidURL as error:
            raise NotAnswering(f"'{self.url}' is not an address: {error}.") from None
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol):
            raise NotAnswering(
                f"No KSQL server answers at {self.url}: start one, or say where it is with --server."
            ) from None
        except httpx.TimeoutException:
            raise NotAnswering(f"The KSQL server at {self.url} did not answer in time.") from None
        except httpx.HTTPError as error:
            raise NotAnswering(
                f"The KSQL server at {self.url} went away: {str(error) or type(error).__name__}."
            ) from None

    def _checked(self, answer: httpx.Response) -> Any:
        try:
            found = answer.json()
        except ValueError:
            raise NotAnswering(f"{self.url} is not a KSQL server: HTTP {answer.status_code} without JSON.") from None
        if answer.status_code >= 400:
            raise _refusal(found)
        return found


def _rows(lines: Iterator[Any]) -> Iterator[list[Any]]:
    for line in lines:
        if isinstance(line, list):
            yield line
        elif isinstance(line, dict) and ("error_code" in line or "message" in line):
            raise _refusal(line)
        # Other objects are notes for programs: continuation tokens, the final message.


def _refusal(found: Any) -> ServerError:
    if not isinstance(found, dict):
        return ServerError(f"The server answered {str(found)[:200]}.")
    message = found.get("message") or found.get("errorMessage") or "The server gave no reason."
    entities = found.get("entities")
    return ServerError(str(message), found.get("error_code"), entities if isinstance(entities, list) else [])
