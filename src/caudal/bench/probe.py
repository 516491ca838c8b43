"""Raw-socket requests for what a client library would blur: the first answer after a start, one Metadata round trip,
many idle connections.

Only ApiVersions v0 and Metadata v4 are written here, with `struct`, so that the probe depends on neither of the
brokers it times. It leaves out everything else of the protocol, TLS and SASL included.
"""

from __future__ import annotations

import socket
import struct
import time

API_VERSIONS = 18
METADATA = 3
CLIENT_ID = b"caudal-bench"


class ProbeError(Exception):
    """The server answered, but not with what was asked for."""


def request(api_key: int, version: int, body: bytes, correlation_id: int = 1) -> bytes:
    """One framed request with header version 1 (both requests used here are of a non-flexible version)."""
    header = struct.pack(">hhih", api_key, version, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    return struct.pack(">i", len(header) + len(body)) + header + body


def api_versions_request() -> bytes:
    return request(API_VERSIONS, 0, b"")


def metadata_request(topics: list[str]) -> bytes:
    """Metadata v4 for the topics named (none named: the brokers only), without creating any."""
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    return request(METADATA, 4, struct.pack(">i", len(topics)) + names + b"\x00")


def read_response(connection: socket.socket) -> bytes:
    """The response after its length, correlation id included."""
    (length,) = struct.unpack(">i", read_exactly(connection, 4))
    return read_exactly(connection, length)


def read_exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("the server closed the connection")
        parts += part
    return bytes(parts)


def connect(port: int, timeout: float = 10.0) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def exchange(connection: socket.socket, message: bytes) -> bytes:
    connection.sendall(message)
    return read_response(connection)


def leaders(response: bytes) -> tuple[int, dict[str, list[int]]]:
    """(number of brokers, topic → leader of each partition) of a Metadata v4 response; a partition in error counts as
    leader -1.
    """
    position = 8  # correlation id, throttle time

    def integer(form: str) -> int:
        nonlocal position
        (value,) = struct.unpack_from(form, response, position)
        position += struct.calcsize(form)
        return int(value)

    def string() -> str:
        nonlocal position
        length = max(integer(">h"), 0)
        position += length
        return response[position - length : position].decode()

    brokers = integer(">i")
    for _ in range(brokers):
        integer(">i")
        string()
        integer(">i")
        string()
    string()  # cluster id
    integer(">i")  # controller id
    topics: dict[str, list[int]] = {}
    for _ in range(integer(">i")):
        topic_error = integer(">h")
        name = string()
        integer(">b")
        topics[name] = [] if not topic_error else [-1]
        for _ in range(integer(">i")):
            error, _index, leader = integer(">h"), integer(">i"), integer(">i")
            for _ in range(2):  # replicas, then in-sync replicas
                replicas = integer(">i")
                position += 4 * replicas
            topics[name].append(-1 if error else leader)
    return brokers, topics


def is_answering(port: int, topics: list[str]) -> bool:
    """One try: does the server answer ApiVersions, list itself as a broker and lead every partition of `topics`?"""
    try:
        with connect(port, timeout=2.0) as connection:
            if struct.unpack_from(">h", exchange(connection, api_versions_request()), 4)[0] != 0:
                return False
            brokers, found = leaders(exchange(connection, metadata_request(topics)))
    except (OSError, struct.error):
        return False
    return brokers > 0 and all(found.get(topic) and min(found[topic]) >= 0 for topic in topics)


def metadata_round_trips(port: int, topic: str, count: int) -> list[float]:
    """Seconds of `count` Metadata requests for one topic, one after the other on one connection."""
    message = metadata_request([topic])
    seconds: list[float] = []
    with connect(port) as connection:
        _brokers, found = leaders(exchange(connection, message))
        if not found.get(topic):
            raise ProbeError(f"the server does not know topic {topic}")
        for _ in range(count):
            begin = time.perf_counter()
            exchange(connection, message)
            seconds.append(time.perf_counter() - begin)
    return seconds
