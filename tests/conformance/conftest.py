"""The cluster under test and the clients that test it.

The cluster is a Caudal broker in a process of its own, or whatever ``--bootstrap`` names: the same suite passes on
Apache Kafka, which shows that it asks for Kafka's behaviour and not for ours.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .clients import Client
from .clients.aiokafka import Aiokafka
from .clients.confluent import Confluent
from .clients.java import Java
from .clients.kafka_python import KafkaPython
from .cluster import Cluster, caudal_broker

CLIENTS: dict[str, type[Client]] = {client.name: client for client in (Confluent, KafkaPython, Aiokafka, Java)}


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    bootstrap: str | None = request.config.getoption("--bootstrap")
    if bootstrap:
        folder: str | None = request.config.getoption("--bootstrap-data")
        yield Cluster(bootstrap, Path(folder) if folder else None, is_caudal=False)
        return
    # quicker than a production broker where only patience is at stake
    quick = {
        "group_initial_rebalance_delay_ms": "200",
        "transaction_abort_timed_out_transaction_cleanup_interval_ms": "500",
    }
    with caudal_broker(tmp_path_factory.mktemp("broker"), **quick) as started:
        yield started


@pytest.fixture(scope="session")
def clients(cluster: Cluster) -> Iterator[Callable[[str], Client]]:
    """Each kind of client, made once when it is first asked for."""
    made: dict[str, Client] = {}

    def client_named(name: str) -> Client:
        if name not in made:
            made[name] = CLIENTS[name](cluster.bootstrap)
        return made[name]

    yield client_named
    for client in made.values():
        client.close()


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.java if name == "java" else ()) for name in CLIENTS])
def client(request: pytest.FixtureRequest, clients: Callable[[str], Client]) -> Client:
    return clients(request.param)


@pytest.fixture
def other(clients: Callable[[str], Client]) -> Client:
    """A second opinion on what the client under test did."""
    return clients("confluent-kafka")


_numbers = itertools.count(1)


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Names that no other test and no other run on the same cluster has used."""
    run = f"{os.getpid():x}{int(time.time()) & 0xFFFF:x}"
    return lambda name: f"{name}-{run}-{next(_numbers)}"


@pytest.fixture
def topic(other: Client, unique: Callable[[str], str]) -> str:
    """A topic of one partition."""
    name = unique("topic")
    with other.admin() as admin:
        admin.create_topic(name)
    return name
