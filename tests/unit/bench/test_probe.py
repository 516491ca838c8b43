"""The probe's own little part of the protocol."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from caudal.bench import probe


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def metadata_response(topics: list[tuple[str, int, list[int]]]) -> bytes:
    """(name, error, leaders); every partition with three replicas, so that a parser that miscounts them is caught."""
    brokers = struct.pack(">i", 1) + string("localhost") + struct.pack(">i", 9092) + struct.pack(">h", -1)
    body = (
        struct.pack(">iii", 1, 0, 1)
        + brokers
        + string("cluster")
        + struct.pack(">i", 1)
        + struct.pack(">i", len(topics))
    )
    for name, error, leaders in topics:
        body += struct.pack(">h", error) + string(name) + b"\x00" + struct.pack(">i", len(leaders))
        for index, leader in enumerate(leaders):
            body += struct.pack(">hii", 0 if leader >= 0 else 5, index, leader)
            body += struct.pack(">i3i", 3, 1, 2, 3) + struct.pack(">i3i", 3, 1, 2, 3)
    return body


def test_leaders_are_read_over_several_topics_partitions_and_replicas() -> None:
    brokers, found = probe.leaders(metadata_response([("a", 0, [1, 1, 1, 1]), ("b", 0, [1, -1]), ("c", 3, [])]))
    assert brokers == 1
    assert found == {"a": [1, 1, 1, 1], "b": [1, -1], "c": [-1]}


@pytest.mark.parametrize(("leaders", "answering"), [([1, 1], True), ([1, -1], False)])
def test_a_server_counts_as_started_when_it_leads_every_partition_asked_for(
    leaders: list[int], answering: bool
) -> None:
    def serve() -> None:
        connection, _peer = listener.accept()
        with connection:
            for body in (struct.pack(">ihi", 1, 0, 0), metadata_response([("a", 0, leaders)])):
                probe.read_response(connection)
                connection.sendall(struct.pack(">i", len(body)) + body)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve)
        server.start()
        assert probe.is_answering(listener.getsockname()[1], ["a"]) is answering
        server.join()


def test_nobody_listening_is_not_an_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert not probe.is_answering(port, [])
