"""Requests with headers, authentication and a measured patience: what the HTTP source and sink share.

An answer is good (2xx), a refusal that will not change (`Refused`), or something to try again (`TryAgain`, after as
long as the server says in Retry-After, or longer each time). Redirects are refusals: credentials go nowhere by
themselves.
"""

from __future__ import annotations

import email.utils
import random
import ssl
import time
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx

from caudal.connect.configuration import Importance, Key, Type
from caudal.connect.errors import ConfigError, ConnectError

_MOST_BYTES = 64 << 20  # of an answer
_AGAIN = (408, 425, 429, 500, 502, 503, 504)


class Refused(ConnectError):
    """The server will not take this request, now or later."""


class TryAgain(ConnectError):
    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after  # seconds, where the server said so


def calling_keys() -> list[Key]:
    return [
        Key(name="headers", type=Type.PASSWORD, default=None, group="Request",
            doc="Name: value, more of them behind header.separator. Hidden, as they may hold secrets."),
        Key(name="header.separator", default="|", group="Request", doc="Between headers."),
        Key(name="auth.type", default="NONE", choices=("NONE", "BASIC", "BEARER", "OAUTH2"), group="Authentication",
            doc="How requests prove who they are from; OAUTH2 is the client credentials grant."),
        Key(name="connection.user", default="", group="Authentication", doc="Of BASIC."),
        Key(name="connection.password", type=Type.PASSWORD, default=None, group="Authentication", doc="Of BASIC."),
        Key(name="bearer.token", type=Type.PASSWORD, default=None, group="Authentication", doc="Of BEARER."),
        Key(name="oauth2.token.url", default="", group="Authentication", doc="Where OAUTH2 gets its tokens."),
        Key(name="oauth2.client.id", default="", group="Authentication", doc="Of OAUTH2."),
        Key(name="oauth2.client.secret", type=Type.PASSWORD, default=None, group="Authentication", doc="Of OAUTH2."),
        Key(name="oauth2.client.scope", default="", group="Authentication", doc="Of OAUTH2, where one is needed."),
        Key(name="oauth2.token.property", default="access_token", group="Authentication",
            doc="Under which name the answer has the token."),
        Key(name="request.timeout.ms", type=Type.LONG, default=30_000, minimum=1, group="Request",
            doc="How long to wait for a connection, and for each part of an answer."),
        Key(name="max.retries", type=Type.INT, default=10, minimum=0, importance=Importance.MEDIUM, group="Request",
            doc="How often in a row a request is tried again before the task fails."),
        Key(name="retry.backoff.ms", type=Type.LONG, default=1000, minimum=1, group="Request",
            doc="Before the first of them; doubled each time."),
        Key(name="retry.backoff.max.ms", type=Type.LONG, default=60_000, minimum=1, group="Request",
            doc="The longest of these waits, whatever Retry-After says."),
    ]  # fmt: skip


def check_calling(config: Mapping[str, Any], url_key: str) -> dict[str, list[str]]:
    needed = {
        "BASIC": ("connection.user",),
        "BEARER": ("bearer.token",),
        "OAUTH2": ("oauth2.token.url", "oauth2.client.id", "oauth2.client.secret"),
    }.get(config["auth.type"], ())
    errors = {key: [f"{key}: auth.type={config['auth.type']} needs it."] for key in needed if not config[key]}
    for key in (url_key, "oauth2.token.url"):
        parts = urlsplit(config[key])
        if config[key] and (parts.scheme not in ("http", "https") or not parts.hostname):
            errors[key] = [f"{key}: expected a URL with http or https, such as https://example.com/items."]
    try:
        headers_of(config)
    except ConfigError as error:
        errors["headers"] = [str(error)]
    return errors


def headers_of(config: Mapping[str, Any]) -> dict[str, str]:
    headers = {}
    for part in (config["headers"] or "").split(config["header.separator"]):
        if not part.strip():
            continue
        name, colon, value = part.partition(":")
        if not colon or not name.strip():
            raise ConfigError("headers: expected Name: value, several with header.separator between.", "headers")
        headers[name.strip()] = value.strip()
    return headers


class Caller:
    """One connection pool, with the headers and the credentials of a task."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._client = httpx.Client(
            headers={"Accept": "application/json", **headers_of(config)},
            timeout=config["request.timeout.ms"] / 1000,
            verify=_ssl_context(),
        )
        self._token = ""
        self._token_until = 0.0

    def request(self, method: str, url: str, content: bytes | None = None, type: str | None = None) -> httpx.Response:
        """A good answer. Raises Refused or TryAgain."""
        headers = {"Content-Type": type} if type else {}
        answer = self._send(method, url, content, headers | self._authorization())
        if answer.status_code == 401 and self._config["auth.type"] == "OAUTH2":
            self._token = ""  # it may have been withdrawn
            answer = self._send(method, url, content, headers | self._authorization())
        return _good(answer, method, url)

    def close(self) -> None:
        self._client.close()

    def _send(self, method: str, url: str, content: bytes | None, headers: dict[str, str]) -> httpx.Response:
        try:
            with self._client.stream(method, url, content=content, headers=headers) as answer:
                body = bytearray()
                for part in answer.iter_bytes():
                    body += part
                    if len(body) > _MOST_BYTES:
                        raise Refused(
                            f"{without_secrets(url)} answers more than {_MOST_BYTES >> 20} MiB; ask for smaller pages."
                        )
                return httpx.Response(
                    answer.status_code, headers=[(n, v) for n, v in answer.headers.items() if n != "content-encoding"],
                    content=bytes(body),
                )  # fmt: skip
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise Refused(f"{without_secrets(url)} is not a URL for requests: {error}.") from None
        except httpx.HTTPError as error:
            raise TryAgain(f"{without_secrets(url)} does not answer: {str(error) or type(error).__name__}.") from None

    def _authorization(self) -> dict[str, str]:
        config = self._config
        match config["auth.type"]:
            case "BASIC":
                auth = httpx.BasicAuth(config["connection.user"], str(config["connection.password"] or ""))
                return {
                    "Authorization": next(auth.auth_flow(httpx.Request("GET", "http://x"))).headers["Authorization"]
                }
            case "BEARER":
                return {"Authorization": f"Bearer {config['bearer.token']!s}"}
            case "OAUTH2":
                return {"Authorization": f"Bearer {self._access_token()}"}
        return {}

    def _access_token(self) -> str:
        if self._token and time.monotonic() < self._token_until:
            return self._token
        config = self._config
        form = {"grant_type": "client_credentials"}
        if config["oauth2.client.scope"]:
            form["scope"] = config["oauth2.client.scope"]
        auth = httpx.BasicAuth(config["oauth2.client.id"], str(config["oauth2.client.secret"]))
        url = config["oauth2.token.url"]
        try:
            answer = _good(self._client.post(url, data=form, auth=auth), "POST", url)
            found = answer.json()
            self._token = str(found[config["oauth2.token.property"]])
            seconds = float(found.get("expires_in", 300))
        except httpx.HTTPError as error:
            raise TryAgain(f"{without_secrets(url)} gives no token: {str(error) or type(error).__name__}.") from None
        except (ValueError, KeyError, TypeError):
            raise Refused(f"{without_secrets(url)} answers without {config['oauth2.token.property']}.") from None
        self._token_until = time.monotonic() + max(seconds - 30, seconds / 2)
        return self._token


@cache
def _ssl_context() -> ssl.SSLContext:
    """One for all: reading the certificates takes 50 ms."""
    return httpx.create_ssl_context()


class Patience:
    """How long to wait before the next try, and when to give up. Forgets when something succeeds."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._most = config["max.retries"]
        self._first = config["retry.backoff.ms"] / 1000
        self._longest = config["retry.backoff.max.ms"] / 1000
        self._failures = 0

    def after(self, error: TryAgain) -> float:
        """Seconds to wait. Raises ConnectError when there were enough tries."""
        self._failures += 1
        if self._failures > self._most:
            raise ConnectError(f"{error} It was tried {self._failures} times.") from error
        wait: float = min(self._first * 2 ** (self._failures - 1), self._longest) * (0.5 + random.random() / 2)
        longest: float = self._longest
        return min(max(wait, error.after or 0.0), longest)

    def reset(self) -> None:
        self._failures = 0


def _good(answer: httpx.Response, method: str, url: str) -> httpx.Response:
    if answer.is_success:
        return answer
    words = f"{without_secrets(url)} answers {answer.status_code} {answer.reason_phrase} to {method}"
    text = answer.text[:200].replace("\n", " ").strip()
    words += f": {text}" if text else "."
    if answer.status_code in _AGAIN:
        raise TryAgain(words, _retry_after(answer.headers.get("retry-after")))
    if answer.is_redirect:
        words = f"{without_secrets(url)} has moved to {answer.headers.get('location', 'somewhere')}; set that URL."
    raise Refused(words)


def _retry_after(given: str | None) -> float | None:
    """Seconds, or a date.

    >>> _retry_after("120"), _retry_after("nonsense")
    (120.0, None)
    """
    if given is None:
        return None
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def without_secrets(url: str) -> str:
    """Without what may be secret: query and user."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rsplit('@', 1)[-1]}{parts.path}"
