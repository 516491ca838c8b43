"""Connect as commands ask it: the flag with its address, and a client whose refusals become one sentence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlsplit

import typer

from caudal.cli.errors import FAILED, NOT_FOUND, CliError, UsageError
from caudal.cli.similar import no_such

if TYPE_CHECKING:
    import httpx

DEFAULT_CONNECT = "http://localhost:8083"
REQUEST_SECONDS = 100.0  # longer than a worker gives itself
REBALANCE_SECONDS = 30.0
PAUSE_SECONDS = 0.3

Connect = Annotated[
    str,
    typer.Option("--connect", envvar="CAUDAL_CONNECT", metavar="URL", help="A worker of Connect; any of them will do."),
]


class Refused(CliError):
    def __init__(self, status: int, message: str) -> None:
        text = " ".join(message.split()).rstrip(".") or f"Connect refused with status {status}"
        super().__init__(text, NOT_FOUND if status == 404 else FAILED)
        self.status = status
        self.lines = [line.strip() for line in message.splitlines() if line.strip()]


class ConnectClient:
    def __init__(self, http: httpx.Client, url: str) -> None:
        self._http = http
        self._url = url

    def ask(self, method: str, path: str, body: Any = None, **query: str | list[str]) -> Any:
        """The JSON of the answer, None when there is none. While the workers are being rebalanced it is asked again:
        nothing was done then."""
        import httpx

        deadline = time.monotonic() + REBALANCE_SECONDS
        while True:
            try:
                answer = self._http.request(method, path, json=body, params=query)
            except httpx.ConnectError:
                raise CliError(
                    f"no worker of Connect at {self._url}; start one with `caudal up` or `caudal connect`, or give its "
                    "address with --connect URL (or CAUDAL_CONNECT)"
                ) from None
            except httpx.HTTPError as error:
                reason = str(error) or type(error).__name__
                raise CliError(f"the worker at {self._url} did not answer: {reason}") from None
            if answer.status_code < 400:
                return answer.json() if answer.content else None
            refused = Refused(answer.status_code, _message(answer))
            if refused.status != 409 or "rebalance" not in refused.message or time.monotonic() > deadline:
                raise refused
            time.sleep(PAUSE_SECONDS)

    def of(self, connector: str, rest: str = "", method: str = "GET", body: Any = None, **query: str) -> Any:
        """Something of a connector. For a name that is not there, the nearest one."""
        try:
            return self.ask(method, f"/connectors/{quote(connector, safe='')}{rest}", body, **query)
        except Refused as error:
            if error.status != 404 or "/tasks/" in rest:
                raise
            known = self.ask("GET", "/connectors")
            raise no_such("connector", connector, known, "`caudal connector list` shows what exists") from None


@contextmanager
def connect_client(url: str) -> Iterator[ConnectClient]:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"'{url}' is not the address of a worker; write http://HOST:PORT")
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise CliError(f"{error.name} is not installed; run: pip install 'caudal[connect]'") from None
    try:
        client = httpx.Client(base_url=parts.geturl(), timeout=REQUEST_SECONDS, trust_env=False)
    except (httpx.InvalidURL, ValueError):
        raise UsageError(f"'{url}' is not the address of a worker; write http://HOST:PORT") from None
    with client:
        yield ConnectClient(client, url)


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"it answered {answer.status_code}, and not as a worker of Connect would: is it one?"
