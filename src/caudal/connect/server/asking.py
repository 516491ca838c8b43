"""How endpoints ask the worker: in threads, for so long only, and another worker where it says so.

A request is sent on at most twice, as in Kafka Connect: the first worker says `forward=true`, the second
`forward=false`, and a third that is not the right one either answers 409, because the group is being rebalanced.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import Response

from caudal.connect.runtime.model import Forward, Herder, RestError

if TYPE_CHECKING:
    import httpx

log = logging.getLogger("caudal.connect.server")

REQUEST_SECONDS = 90.0
HEALTH_SECONDS = 10.0
THREADS = 64  # more requests than that wait for their turn
SIGNATURE, SIGNATURE_ALGORITHM = "x-connect-authorization", "x-connect-request-signature-algorithm"
PASSED_ON = ("content-type", "authorization", "accept", SIGNATURE, SIGNATURE_ALGORITHM)
PASSED_BACK = ("content-type", "location")

T = TypeVar("T")


class Asking:
    def __init__(self, herder: Herder, seconds: float = REQUEST_SECONDS) -> None:
        self.herder = herder
        self.started = asyncio.Event()
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="connect-rest")
        # Health is asked when nothing else answers any more.
        self._health_threads = ThreadPoolExecutor(2, thread_name_prefix="connect-health")
        self._client: httpx.AsyncClient | None = None

    async def ask(self, call: Callable[[], T]) -> T:
        """The answer of the worker; whatever it raises, and 500 when it takes too long."""
        deadline = time.monotonic() + self._seconds
        try:
            async with asyncio.timeout(self._seconds):
                await self.started.wait()
        except TimeoutError:
            raise RestError(500, "Request timed out. The worker is still starting up.") from None
        asked = asyncio.get_running_loop().run_in_executor(self._threads, call)
        try:
            return await asyncio.wait_for(asked, deadline - time.monotonic())
        except TimeoutError:
            if asked.done() and not asked.cancelled():  # it raised a TimeoutError of its own
                raise
            log.warning("a request was given up after %.0f s", self._seconds)
            raise RestError(
                500, f"Request timed out. The worker did not answer in {self._seconds:.0f} s; /health says how it is."
            ) from None

    async def ask_or_forward(
        self, request: Request, body: bytes, call: Callable[[], T], answer: Callable[[T], Response]
    ) -> Response:
        try:
            return answer(await self.ask(call))
        except Forward as forward:
            return await self._forward(request, body, forward.url)

    async def health(self) -> tuple[bool, str]:
        """Not later than ten seconds from now, whatever the worker does."""
        asked = asyncio.get_running_loop().run_in_executor(self._health_threads, self.herder.is_healthy)
        try:
            return await asyncio.wait_for(asked, min(HEALTH_SECONDS, self._seconds))
        except TimeoutError:
            return False, "It did not answer in time."

    async def _forward(self, request: Request, body: bytes, url: str) -> Response:
        hops = request.query_params.get("forward")
        if hops is not None and hops.lower() != "true":
            raise RestError(
                409, "Cannot complete request because of a conflicting operation (e.g. worker rebalance); try again."
            )
        if not url:
            raise RestError(
                409, "Cannot complete request momentarily due to no known leader URL, likely because of a rebalance."
            )
        query = [(name, value) for name, value in parse_qsl(request.url.query, True) if name != "forward"]
        query.append(("forward", "true" if hops is None else "false"))
        headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
        target = f"{url.rstrip('/')}{request.scope['path']}?{urlencode(query)}"
        log.debug("%s is sent on to %s", request.method, target)
        import httpx

        if self._client is None:
            logging.getLogger("httpx").setLevel(logging.WARNING)  # it tells of every request
            self._client = httpx.AsyncClient(timeout=self._seconds, trust_env=False)
        try:
            answer = await self._client.request(request.method, target, content=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise RestError(500, f"IO Error trying to forward REST request to {url}: {reason}") from None
        passed = {name: answer.headers[name] for name in PASSED_BACK if name in answer.headers}
        return Response(answer.content, answer.status_code, passed)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._health_threads.shutdown(wait=False, cancel_futures=True)
