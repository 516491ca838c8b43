"""The servers around the broker: does each answer, is it what it should be, and is it of this cluster."""

from __future__ import annotations

import http.client
import time
import urllib.error
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from caudal.cli.doctor.check import Answer, Situation, check, note, ok, trouble
from caudal.cli.ports import is_listening
from caudal.cli.quick_get import quick_get

ANSWER_SECONDS = 5.0
CLOCK_SECONDS = 5.0


class Service(NamedTuple):
    name: str
    command: str  # that starts it
    flag: str
    usual: str
    path: str  # what is asked
    is_it: Callable[[Any], bool]
    cluster: Callable[[Any], str | None]


def _nested(document: Any, *keys: str) -> Any:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document


REGISTRY = Service(
    "Schema Registry", "registry", "--registry", "http://localhost:8081", "/subjects",
    lambda said: isinstance(said, list), lambda said: None,
)  # fmt: skip
CONNECT = Service(
    "Connect", "connect", "--connect", "http://localhost:8083", "/",
    lambda said: _nested(said, "kafka_cluster_id") is not None, lambda said: _nested(said, "kafka_cluster_id"),
)  # fmt: skip
KSQL = Service(
    "KSQL", "ksql-server", "--ksql", "http://localhost:8088", "/info",
    lambda said: _nested(said, "KsqlServerInfo") is not None,
    lambda said: _nested(said, "KsqlServerInfo", "kafkaClusterId"),
)  # fmt: skip
UI = Service(
    "control center", "ui", "--ui", "http://localhost:9021", "/",
    lambda said: said is None or isinstance(said, str), lambda said: None,
)  # fmt: skip


@check("registry")
def check_registry(situation: Situation) -> Iterator[Answer]:
    subjects = yield from _asked(situation, REGISTRY, situation.services.get("registry"))
    metadata = situation.cluster.metadata
    if subjects and metadata is not None and "_schemas" not in metadata.topics:
        yield note(
            f"the registry has {len(subjects)} subjects, and {situation.bootstrap} has no topic _schemas: it is of "
            "another cluster",
            "give the one that belongs to the broker with --registry URL",
        )


@check("connect")
def check_connect(situation: Situation) -> Iterator[Answer]:
    yield from _asked(situation, CONNECT, situation.services.get("connect"))


@check("ksql")
def check_ksql(situation: Situation) -> Iterator[Answer]:
    yield from _asked(situation, KSQL, situation.services.get("ksql"))


@check("control center")
def check_ui(situation: Situation) -> Iterator[Answer]:
    yield from _asked(situation, UI, situation.services.get("ui"))


def _asked(situation: Situation, service: Service, given: str | None) -> Generator[Answer, None, Any]:
    """Yields the answers and returns what the server said. Where nobody said that there is one, silence is no news."""
    url = (given or service.usual).rstrip("/")
    parts = urlsplit(url if "://" in url else f"http://{url}")
    host, port = parts.hostname or "localhost", parts.port or 80
    if not is_listening(host, port, timeout=2.0):
        if given is not None:
            yield trouble(
                f"no {service.name} answers at {url}",
                f"start it with `caudal up` or `caudal {service.command}`, or give its address with {service.flag} URL",
            )
        return None
    try:
        said, clock = quick_get(f"{parts.geturl()}{service.path}", ANSWER_SECONDS)
    except (OSError, http.client.HTTPException) as error:
        yield trouble(
            f"{url} accepts connections and does not answer as the {service.name} would: {_reason(error)}",
            f"see what runs there (caudal doctor lists the ports), or give another address with {service.flag} URL",
        )
        return None
    if not service.is_it(said):
        yield trouble(
            f"{url} is a web server and not the {service.name}", f"give the right address with {service.flag} URL"
        )
        return None
    cluster = service.cluster(said)
    if cluster and situation.cluster.id and cluster != situation.cluster.id:
        yield trouble(
            f"the {service.name} at {url} belongs to the cluster {cluster}, and {situation.bootstrap} is "
            f"{situation.cluster.id}",
            f"start one with: caudal {service.command} --bootstrap {situation.bootstrap}",
        )
        return said
    apart = abs(clock - time.time()) if clock else 0.0
    if apart > CLOCK_SECONDS:
        yield trouble(
            f"the clock of the {service.name} at {url} and this one are {apart:.0f} s apart",
            "set both clocks: sudo timedatectl set-ntp true",
        )
    else:
        yield ok(f"the {service.name} answers at {url}")
    return said


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"status {error.code}"
    return str(getattr(error, "reason", None) or str(error) or type(error).__name__)
