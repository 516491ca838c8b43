"""The broker: does it answer, is it Kafka, and do the addresses that it tells its clients lead to it."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

from caudal.cli.doctor.check import Answer, Situation, check, note, ok, trouble
from caudal.cli.ports import is_listening

CONNECT_SECONDS = 2.0
CLOCK_MS = 5_000
SLOW_MS = 1_000
# ApiVersions, version 0, correlation id 1, client id "": every broker answers it before any log-in.
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, 0)
# Metadata, version 2, of no topic. librdkafka would ask whichever broker it knows; this asks the one at the address.
METADATA = struct.pack(">ihhihi", 14, 3, 2, 1, 0, 0)
LARGEST_ANSWER = 1 << 20


@check("broker", seconds=15.0)
def check_broker(situation: Situation) -> Iterator[Answer]:
    reached = False
    for host, port in situation.cluster.addresses():
        answer = _connection(situation, host, port)
        if answer is not None:
            yield answer
        else:
            reached = True
    if not reached:
        return
    before = time.monotonic()
    metadata = situation.cluster.metadata
    took = (time.monotonic() - before) * 1000
    if metadata is None:
        for host, port in situation.cluster.addresses():
            yield _no_kafka(situation, host, port)
        return
    count = len(metadata.brokers)
    yield ok(
        f"{situation.bootstrap} answers: {count} broker{'s' * (count != 1)}, {len(metadata.topics)} topics, "
        f"cluster {metadata.cluster_id}"
    )
    if took > SLOW_MS:
        yield note(f"it took {took:.0f} ms to answer", "see whether the machine or the network is overloaded")
    if metadata.controller_id < 0:
        yield trouble(
            "the cluster has no controller: nothing can be created or moved", "start the brokers that are down"
        )


def _connection(situation: Situation, host: str, port: int) -> Answer | None:
    """What is wrong with getting there; None where somebody accepts. Nobody there is only a fault for somebody who
    said that there is a broker.
    """
    matters = trouble if situation.bootstrap_given else note
    try:
        with socket.create_connection((host, port), CONNECT_SECONDS):
            return None
    except socket.gaierror:
        return matters(f"the host name '{host}' is not known", f"check the name, or add '{host}' to /etc/hosts")
    except ConnectionRefusedError:
        reason = "the connection is refused"
    except TimeoutError:
        reason = "the host does not answer: is it on, and does a firewall let you through?"
    except OSError as error:
        reason = error.strerror or str(error)
    return matters(
        f"nothing answers at {host}:{port} ({reason})",
        "start one with `caudal up` or `caudal broker`, or give its address with --bootstrap",
    )


def _no_kafka(situation: Situation, host: str, port: int) -> Answer:
    """Somebody accepts connections and does not answer as Kafka does: who is it?"""
    address = f"{host}:{port}"
    said = first_words(host, port)
    if said is None:
        return trouble(f"{address} accepts connections and says nothing: it is no Kafka broker", "give another address")
    if said.startswith(b"HTTP/") or b"<html" in said.lower():
        return trouble(f"{address} is a web server, not a Kafka broker", "give the broker's address, 9092 as a rule")
    if said[:2] == b"\x15\x03":
        return trouble(f"{address} speaks TLS", "add -X security.protocol=ssl (or sasl_ssl)")
    if said[4:8] == b"\x00\x00\x00\x01":
        return trouble(
            f"{address} is a Kafka broker and does not let you in: {situation.cluster.failure}",
            "give security settings with -X, such as security.protocol and sasl.username",
        )
    if not said:
        return trouble(
            f"{address} closes the connection: it wants TLS, or is no Kafka broker", "try -X security.protocol=ssl"
        )
    return trouble(f"{address} does not speak Kafka's protocol", "give another address")


def first_words(host: str, port: int) -> bytes | None:
    """What comes back for a Kafka request, b"" when the connection is closed, None when nothing comes."""
    try:
        with socket.create_connection((host, port), CONNECT_SECONDS) as connection:
            connection.sendall(API_VERSIONS)
            return connection.recv(64)
    except TimeoutError:
        return None
    except OSError:
        return b""


@check("advertised", seconds=20.0)
def check_advertised(situation: Situation) -> Iterator[Answer]:
    metadata = situation.cluster.metadata
    if metadata is None:
        return
    reached = {_cluster_at(host, port) for host, port in situation.cluster.addresses()}
    for broker in metadata.brokers.values():
        address = f"{broker.host}:{broker.port}"
        try:
            socket.getaddrinfo(broker.host, broker.port, type=socket.SOCK_STREAM)
        except OSError:
            yield trouble(
                f"broker {broker.id} advertises {address}, and that name is not known here",
                f"start it with --advertised HOST:PORT that clients can reach, or add '{broker.host}' to /etc/hosts",
            )
            continue
        if not is_listening(broker.host, broker.port, timeout=CONNECT_SECONDS):
            yield trouble(
                f"broker {broker.id} advertises {address}, which cannot be reached from here",
                f"start it with --advertised HOST:PORT that clients reach (you reached it as {situation.bootstrap})",
            )
        elif (other := _cluster_at(broker.host, broker.port)) not in {None, *reached} and None not in reached:
            yield trouble(
                f"broker {broker.id} advertises {address}, where another cluster answers ({other})",
                f"start it with --advertised and its own address (you reached it as {situation.bootstrap})",
            )
        else:
            yield ok(f"broker {broker.id} at {address}")


def _cluster_at(host: str, port: int) -> str | None:
    """The id of the cluster that answers there; None where it does not say, or only after a log-in."""
    try:
        with socket.create_connection((host, port), CONNECT_SECONDS) as connection, connection.makefile("rb") as stream:
            connection.sendall(METADATA)
            (size,) = struct.unpack(">i", stream.read(4))
            return _cluster_id(stream.read(size)) if 0 < size < LARGEST_ANSWER else None
    except (OSError, struct.error, UnicodeDecodeError):
        return None


def _cluster_id(answer: bytes) -> str | None:
    at = 8  # behind the correlation id and the number of brokers

    def text() -> str | None:
        nonlocal at
        (length,) = struct.unpack_from(">h", answer, at)
        at += 2 + max(length, 0)
        return None if length < 0 else answer[at - length : at].decode()

    for _ in range(struct.unpack_from(">i", answer, 4)[0]):
        at += 4  # its id
        text()
        at += 4  # its port
        text()
    return text()


@check("broker's clock")
def check_broker_clock(situation: Situation) -> Iterator[Answer]:
    """The broker stamps the records of __consumer_offsets itself: one from the future shows a clock that is ahead."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    metadata, admin = situation.cluster.metadata, situation.cluster.admin
    topic = "__consumer_offsets"
    if metadata is None or admin is None or topic not in metadata.topics:
        return
    newest = -1
    places = {TopicPartition(topic, number): OffsetSpec.max_timestamp() for number in metadata.topics[topic].partitions}
    for future in admin.list_offsets(places, request_timeout=CONNECT_SECONDS).values():
        newest = max(newest, int(future.result(CONNECT_SECONDS + 1).timestamp or -1))
    ahead = newest - time.time() * 1000
    if ahead > CLOCK_MS:
        yield trouble(
            f"the broker's clock is {ahead / 1000:.0f} s ahead of this machine's",
            "set both clocks: sudo timedatectl set-ntp true",
        )
    elif newest > 0:
        yield ok("the broker's clock is not ahead of this machine's")
