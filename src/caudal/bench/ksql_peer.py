"""The endpoint that `caudal bench ksql` compares with: Starlette's, empty, on the KSQL server's own settings."""

from __future__ import annotations

import asyncio
import socket

from hypercorn.asyncio import serve
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from caudal.ksql.server.server import hypercorn_config


async def empty(request: Request) -> Response:
    await request.body()
    return Response()


def main() -> None:
    """Listens on a free port of this machine and says which, until it is killed."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    app = Starlette(routes=[Route("/", empty, methods=["POST"])])
    asyncio.run(serve(app, hypercorn_config(listener)))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
