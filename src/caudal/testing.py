"""A real broker inside your tests: `with embedded_broker() as broker:` and any Kafka client can use `broker.bootstrap`.

The broker runs in a thread with its own event loop, on a free port and in a temporary folder that goes when it stops.
It is the same broker that `caudal broker` runs, with settings that suit tests (no wait before the first rebalance,
few partitions in the internal topics); what is given wins. Faults can be injected (`broker.faults`), the broker
stopped and started again on the same port and data, or killed without a clean shutdown.

Not here: clients (use confluent-kafka or any other) and clusters of several brokers.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from caudal.broker.broker import Broker
    from caudal.broker.errors import ErrorCode
    from caudal.broker.wire.api_keys import ApiKey
    from caudal.connect.testing import run_sink, run_source
    from caudal.runtime.test_driver import TopologyTestDriver

__all__ = ["EmbeddedBroker", "TopologyTestDriver", "embedded_broker", "run_sink", "run_source"]


def __getattr__(name: str) -> Any:
    """What tests topologies and connectors, only when it is asked for: a test of a plain client needs none of it."""
    if name in ("run_sink", "run_source"):
        from caudal.connect import testing

        return getattr(testing, name)
    if name == "TopologyTestDriver":
        from caudal.runtime.test_driver import TopologyTestDriver

        return TopologyTestDriver
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


T = TypeVar("T")

START_SECONDS = 60.0
STOP_SECONDS = 30.0

# What tests want: nothing waits for company, and the internal topics are made in a moment.
TEST_PROPERTIES: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


@contextlib.contextmanager
def embedded_broker(
    properties: Mapping[str, Any] | None = None,
    /,
    *,
    data: Path | str | None = None,
    port: int = 0,
    host: str = "127.0.0.1",
    **settings: Any,
) -> Iterator[EmbeddedBroker]:
    """A running broker for the length of the `with` block.

    Kafka properties come as a mapping or as keywords with underscores for dots: `embedded_broker(num_partitions=3)`.
    With `data` the folder is yours and stays; without, it is temporary. `port=0` takes a free one.
    """
    broker = EmbeddedBroker({**(properties or {}), **_with_dots(settings)}, data=data, port=port, host=host)
    broker.start()
    try:
        yield broker
    finally:
        broker.close()


class EmbeddedBroker:
    """A broker in a thread. Every method may be called from any thread (except the broker's own)."""

    def __init__(
        self,
        properties: Mapping[str, Any] | None = None,
        *,
        data: Path | str | None = None,
        port: int = 0,
        host: str = "127.0.0.1",
    ) -> None:
        self._given = {name: _text(value) for name, value in (properties or {}).items()}
        self._temporary = data is None
        self.data = Path(tempfile.mkdtemp(prefix="caudal-test-")) if data is None else Path(data)
        self.host = host
        self.port = port
        self.faults = FaultControl(self)
        self._broker: Broker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def bootstrap(self) -> str:
        """The address for `bootstrap.servers`."""
        return f"{self.host}:{self.port}"

    @property
    def broker(self) -> Broker:
        """The Broker itself. It lives on its own event loop: read from it, and change it through `call` or `run`."""
        if self._broker is None:
            raise RuntimeError("the embedded broker is not running")
        return self._broker

    @property
    def is_running(self) -> bool:
        return self._broker is not None

    # ------------------------------------------------------------------ life

    def start(self) -> None:
        """Start, or start again on the same port and data after `stop` or `kill`."""
        if self._broker is not None:
            raise RuntimeError("the embedded broker is running already")
        started: threading.Event = threading.Event()
        failure: list[BaseException] = []
        self._thread = threading.Thread(target=self._serve, args=(started, failure), name="caudal-broker", daemon=True)
        self._thread.start()
        if not started.wait(START_SECONDS):
            raise TimeoutError(f"the embedded broker did not start in {START_SECONDS:.0f} s")
        if failure:
            self._thread.join()
            raise failure[0]

    def stop(self) -> None:
        """A clean shutdown.

        The data stays until `close` (or the end of the `with` block). Stopping twice is no error.
        """
        if self._broker is None:
            return
        try:
            self.run(self._broker.stop(), STOP_SECONDS)
        finally:
            self._end()

    def kill(self) -> None:
        """End as after `kill -9`: connections torn, no flush, no clean-shutdown marker.

        What was written to the system stays, as it does there.
        """
        if self._broker is None:
            return
        broker = self._broker
        self.call(lambda: _tear_down(broker))
        self._end()

    def restart(self) -> None:
        """A clean stop and a new start on the same port and data."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop, and remove the folder if it was temporary."""
        try:
            self.stop()
        finally:
            if self._temporary:
                shutil.rmtree(self.data, ignore_errors=True)

    # ------------------------------------------------------------------ use

    def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, Any] | None = None, **settings: Any
    ) -> None:
        """Create a topic without a client: `create_topic("orders", 3, cleanup_policy="compact")`."""
        values = {key: _text(value) for key, value in {**(configs or {}), **_with_dots(settings)}.items()}
        self.run(self.broker.metadata.create_topic(name, partitions, 1, values))

    def run(self, work: Coroutine[Any, Any, T], timeout: float | None = START_SECONDS) -> T:
        """Run a coroutine on the broker's event loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._running_loop()).result(timeout)

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a plain function on the broker's event loop and wait for its result."""

        async def work() -> T:
            return function(*arguments)

        return self.run(work())

    def __enter__(self) -> EmbeddedBroker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> EmbeddedBroker:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    # ------------------------------------------------------------------ inside

    def _properties(self) -> dict[str, str]:
        return {
            **TEST_PROPERTIES,
            "node.id": "1",
            "listeners": f"PLAINTEXT://{self.host}:{self.port}",
            "log.dirs": str(self.data),
            **self._given,
        }

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError("the embedded broker is not running")
        return self._loop

    def _serve(self, started: threading.Event, failure: list[BaseException]) -> None:
        """The thread: a loop that lives as long as the broker."""
        loop = _new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            try:
                broker = loop.run_until_complete(self._start_on_loop())
            except BaseException as error:  # whatever it is, the starter must hear it and not wait
                failure.append(error)
                return
            self._loop, self._broker = loop, broker
            # The same port again after a restart: clients know it by then.
            self.host, self.port = broker.host, broker.port
            started.set()
            loop.run_forever()
        finally:
            _cancel_all(loop)
            loop.close()
            asyncio.set_event_loop(None)
            started.set()

    async def _start_on_loop(self) -> Broker:
        from caudal.broker.broker import Broker
        from caudal.broker.config import BrokerConfig

        broker = Broker(BrokerConfig(self._properties()))
        await broker.start()
        return broker

    def _end(self) -> None:
        loop, thread = self._loop, self._thread
        self._broker = self._loop = self._thread = None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)
        if thread is not None:
            thread.join(STOP_SECONDS)


class FaultControl:
    """`broker.faults` for the test's thread.

    APIs and errors go by name or number: `faults.error("PRODUCE", "not_leader_or_follower", times=2)`.
    """

    def __init__(self, embedded: EmbeddedBroker) -> None:
        self._embedded = embedded

    def delay(self, api: str | int | ApiKey, seconds: float, times: int = 1) -> None:
        """The next `times` requests of this API are handled only after so many seconds."""
        self._call("delay", _api(api), seconds, times)

    def hold(self, api: str | int | ApiKey, times: int = 1) -> None:
        """The next `times` requests of this API are handled only after `release`."""
        self._call("hold", _api(api), times)

    @property
    def held(self) -> int:
        """How many requests have arrived and are held."""
        return self._embedded.broker.faults.held

    def release(self) -> None:
        """Handles what was held, also that of clients that have gone."""
        self._call("release")

    def drop(self, api: str | int | ApiKey, times: int = 1) -> None:
        """The next `times` requests of this API are not handled: their connection is closed."""
        self._call("drop", _api(api), times)

    def lose_response(self, api: str | int | ApiKey, times: int = 1) -> None:
        """The next `times` requests of this API are handled, and their connection closed instead of answering."""
        self._call("lose_response", _api(api), times)

    def error(self, api: str | int | ApiKey, code: str | int | ErrorCode, times: int = 1) -> None:
        """The next `times` requests of this API are answered with this error code."""
        self._call("error", _api(api), _error(code), times)

    def clear(self) -> None:
        """Forget every fault that has not happened yet."""
        self._call("clear")

    def _call(self, method: str, *arguments: Any) -> None:
        self._embedded.call(getattr(self._embedded.broker.faults, method), *arguments)


def _api(api: str | int | ApiKey) -> ApiKey:
    from caudal.broker.wire.api_keys import ApiKey

    try:
        return ApiKey[api.upper()] if isinstance(api, str) else ApiKey(api)
    except (KeyError, ValueError):
        raise ValueError(
            f"{api!r} is not a Kafka API; write it as in ApiKey.OFFSET_COMMIT or 'offset_commit'"
        ) from None


def _error(code: str | int | ErrorCode) -> ErrorCode:
    from caudal.broker.errors import ErrorCode

    try:
        return ErrorCode[code.lower()] if isinstance(code, str) else ErrorCode(code)
    except (KeyError, ValueError):
        raise ValueError(
            f"{code!r} is not a Kafka error code; write it as in ErrorCode.not_leader_or_follower"
        ) from None


def _tear_down(broker: Broker) -> None:
    """What the kernel does when the process dies: sockets closed, the folder's lock released; nothing is flushed."""
    broker.is_running = False
    server = broker.server
    if server.listener is not None:
        server.listener.close()
    for connection in list(server.connections):
        connection.transport.abort()
    # Everything else ends before the files are let go of: a killed process does not write any more.
    for task in asyncio.all_tasks():
        if task is not asyncio.current_task():
            task.cancel()
    broker.logs.abandon()
    broker._threads.shutdown(wait=False)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # the broker runs on it, tests also run where it cannot be installed
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())


def _with_dots(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in settings.items()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
