"""A REST server as pages ask it: JSON in, JSON out, and every failure a UiError with one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from caudal.ui.services.errors import UiError, sentence
from caudal.ui.words import t

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 15.0


class Http:
    """`name` is the server's in messages. One pool of connections, made at the first request."""

    def __init__(self, url: str, name: str) -> None:
        self.url = url.rstrip("/")
        self.name = name
        self._client: httpx.AsyncClient | None = None

    @property
    def client(self) -> httpx.AsyncClient:
        """For what the methods below do not do (streams of answers, other types)."""
        if self._client is None:
            import httpx

            # Proxies of the environment are for the outside; these servers are ours.
            self._client = httpx.AsyncClient(
                base_url=self.url, timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS), trust_env=False
            )
        return self._client

    async def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        return await self.request("GET", path, params=params)

    async def post(self, path: str, body: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        return await self.request("POST", path, body, params)

    async def put(self, path: str, body: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        return await self.request("PUT", path, body, params)

    async def delete(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        return await self.request("DELETE", path, params=params)

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """The JSON of the answer (None when it has no body). Raises UiError."""
        import httpx

        try:
            answer = await self.client.request(
                method, path, json=body, params=params, timeout=httpx.USE_CLIENT_DEFAULT if timeout is None else timeout
            )
        except httpx.TimeoutException:
            raise UiError(t("{server} at {url} did not answer in time.", server=self.name, url=self.url)) from None
        except httpx.HTTPError:
            raise self.unreachable() from None
        if answer.is_success:
            if not answer.content:
                return None
            try:
                return answer.json()
            except ValueError:
                return answer.text
        raise refusal(self.name, answer)

    def unreachable(self) -> UiError:
        return UiError(t("{server} at {url} does not answer: is it running?", server=self.name, url=self.url))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def refusal(server: str, answer: httpx.Response) -> UiError:
    """A REST error as these servers write it (`error_code` and `message`), or what there is of one."""
    try:
        said = answer.json()
    except ValueError:
        said = None
    if isinstance(said, dict) and (said.get("message") or said.get("detail")):
        code = said.get("error_code")
        text = str(said.get("message") or said.get("detail"))
        return UiError(sentence(text), code if isinstance(code, int) else answer.status_code)
    return UiError(t("{server} answered {status}.", server=server, status=answer.status_code), answer.status_code)
