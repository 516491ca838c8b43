"""A write that arrives at an instance that does not write: sent on to the one that does, and waited for here too."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from caudal.registry import errors
from caudal.registry.instance import READ_BACK_SECONDS, Instance

if TYPE_CHECKING:
    import httpx

log = logging.getLogger("caudal.registry.forwarding")

FORWARDED = "x-forward"  # a request with it is not forwarded again
POSITION = "x-caudal-position"  # of the answer: the offset that a reader must have reached to see the write
UNKNOWN_WRITER = b'"error_code":50004'
WRITER_SECONDS = 15.0  # how long a write waits for a writer, a dead one's session included
REQUEST_SECONDS = 30.0
PAUSE_SECONDS = 0.05
WATCH_SECONDS = 0.5


class Forwarded(NamedTuple):
    status: int
    body: bytes


class Forwarder:
    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._client: httpx.AsyncClient | None = None
        self._url: str | None = None

    async def send(self, method: str, target: str, headers: dict[str, str], body: bytes, deadline: float) -> Forwarded:
        """The writer's answer. Raises NoWriterYet, or 50003 when what the writer did is not known."""
        import httpx

        url = self._url or await self._instance.writer_url()
        if url is None or url == self._instance.settings.url:
            raise NoWriterYet("there is no writer for now")
        if self._client is None:
            # It tells of every request.
            logging.getLogger("httpx").setLevel(logging.WARNING)
            self._client = httpx.AsyncClient(timeout=REQUEST_SECONDS, trust_env=False)
        sent = self._client.request(method, url + target, content=body, headers={**headers, FORWARDED: "true"})
        try:
            answer = await self._answer(asyncio.ensure_future(sent), url)
        except httpx.ConnectError as error:
            self._url = None
            raise NoWriterYet(f"the writer at {url} cannot be reached: {error}") from None
        except httpx.HTTPError as error:
            self._url = None
            reason = f"the writer at {url} did not answer: {str(error) or type(error).__name__}"
            # It may have been done. To do these again changes nothing more.
            if method in ("POST", "PUT") and time.monotonic() < deadline:
                raise NoWriterYet(reason) from None
            raise errors.forwarding_failed(reason) from None
        if answer.status_code == 500 and UNKNOWN_WRITER in answer.content:
            self._url = None
            raise NoWriterYet(f"{url} does not write any more")
        self._url = url
        position = answer.headers.get(POSITION, "")
        if position.isdigit():
            await self._instance.wait_for(int(position), READ_BACK_SECONDS)
        return Forwarded(answer.status_code, answer.content)

    async def _answer(self, sent: asyncio.Task[httpx.Response], url: str) -> httpx.Response:
        """Waits for it as long as the writer is the writer: one that sleeps keeps its connections."""
        import httpx

        try:
            while True:
                done, _ = await asyncio.wait({sent}, timeout=WATCH_SECONDS)
                if done:
                    return sent.result()
                if self._instance.is_chosen or await self._instance.writer_url() not in (None, url):
                    raise httpx.ReadTimeout("another instance writes now")
        finally:
            sent.cancel()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


class NoWriterYet(Exception):
    """For now; to be tried again until the deadline."""


async def pause_before_retry(reason: NoWriterYet, deadline: float) -> None:
    """Raises 50003 when it is too late."""
    if time.monotonic() >= deadline:
        raise errors.forwarding_failed(f"Error while forwarding the request to the writer: {reason}")
    await asyncio.sleep(PAUSE_SECONDS)
