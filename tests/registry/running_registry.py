"""The real registry in a thread of the test's process, on a broker that runs already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from caudal.cli.http_process import bind
from caudal.registry.instance import Settings
from caudal.registry.server import RegistryServer


@contextmanager
def running_registry(bootstrap: str, port: int = 0) -> Iterator[str]:
    """Its address."""
    listener = bind("127.0.0.1", port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="registry")
    thread.start()

    def on_loop(work: object) -> object:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)  # type: ignore[arg-type]

    server: RegistryServer | None = None
    try:
        settings = Settings({"bootstrap.servers": bootstrap, "log_level": 0}, url, "_schemas", "schema-registry", {})
        server = RegistryServer(settings, listener, "127.0.0.1")
        on_loop(server.start())
        yield url
    finally:
        if server is not None:
            on_loop(server.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
        listener.close()
