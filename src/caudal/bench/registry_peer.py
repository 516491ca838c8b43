"""The endpoint that `caudal bench registry` compares with: Starlette's, empty, on the registry's own settings."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from caudal.http_serving import uvicorn_config


async def empty(request: Request) -> Response:
    return Response()


def main() -> None:
    """Listens on a free port of this machine and says which; ends with its stdin's owner (a kill)."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    app = Starlette(routes=[Route("/", empty, methods=["GET", "POST"])])
    uvicorn.Server(uvicorn_config(app, "uvloop")).run(sockets=[listener])


if __name__ == "__main__":
    main()
