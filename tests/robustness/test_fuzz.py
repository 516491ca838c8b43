"""Mutated requests of every API and version that is served: the broker answers or closes, and never dies or hangs.

Each example starts from a valid request (blank values, or a filled one for the APIs that matter most), bends it, sends
it on a connection of its own and waits for an answer or a close. Deterministic: the examples are the same in every run.
`CAUDAL_FUZZ_EXAMPLES=20000` looks further.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caudal.broker import apis  # noqa: F401  (registers every handler)
from caudal.broker.router import APIS
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey
from tests.chaos.process import BrokerProcess, running_broker

from .raw import PATIENCE_SECONDS, Closed, Raw, batch_of, blank_request, framed, header, serves

EXAMPLES = int(os.environ.get("CAUDAL_FUZZ_EXAMPLES", "2500"))
SECONDS_FOR_A_WAIT = 3.0

SERVED = [(api.key, version) for api in APIS.values() for version in range(api.first, api.last + 1)]
# Numbers at the edges of what a length, a count or an index can be.
EDGES = [0, 1, -1, 2, 127, 128, 255, 32767, -32768, 65535, 1 << 20, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker of its own: who knows what the requests create in it."""
    # Long waits are legal requests; with these limits they end before the test's patience does.
    limits = {"group.max.session.timeout.ms": "2000", "group.min.session.timeout.ms": "10", "num.partitions": "2"}
    with running_broker(tmp_path_factory.mktemp("fuzz") / "data", limits) as broker:
        with Raw(broker.port) as client:
            client.create_topic("t")
            client.produce("t", batch_of(b"a", b"b"))
        yield broker


def filled(api_key: ApiKey, version: int) -> bytes:
    """A request that does something, for the handlers that a blank one does not reach; else a blank one."""
    values = blank_request(api_key, version)
    topic: dict[str, Any] = {"name": "t", "topic": "t", "topic_id": None}
    if api_key == ApiKey.PRODUCE:
        values.update(acks=1, timeout=100)
        if version < 13:
            values["topic_data"] = [{"name": "t", "partition_data": [{"index": 0, "records": batch_of(b"x")}]}]
    elif api_key == ApiKey.METADATA and version:
        values["topics"] = [topic]
    elif api_key == ApiKey.LIST_OFFSETS:
        partition: dict[str, Any] = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
        values["topics"] = [{"name": "t", "partitions": [partition]}]
    elif api_key == ApiKey.JOIN_GROUP:
        values |= {"group_id": "g", "session_timeout": 100, "rebalance_timeout": 100, "protocol_type": "consumer"}
        values["protocols"] = [{"name": "range", "metadata": b"\0\1\0\0\0\1\0\1t\0\0\0\0"}]
    elif api_key in (ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT) and version < 10:
        partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
        values |= {"group_id": "g", "topics": [{"name": "t", "partitions": [partition]}]}
    elif api_key == ApiKey.CREATE_TOPICS:
        made = {"name": "made", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
        values["topics"] = [made]
    elif api_key == ApiKey.INIT_PRODUCER_ID:
        values |= {"transactional_id": "x", "transaction_timeout": 1000}
    elif api_key == ApiKey.DESCRIBE_CONFIGS:
        values["resources"] = [{"resource_type": 2, "resource_name": "t", "configuration_keys": None}]
    elif api_key == ApiKey.DELETE_RECORDS:
        values["topics"] = [{"name": "t", "partitions": [{"partition_index": 0, "offset": 0}]}]
    return messages.encode_request(api_key, version, values)


def requests() -> list[tuple[ApiKey, int, bytes]]:
    return [(key, version, filled(key, version)) for key, version in SERVED]


VALID = requests()


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A request with its frame, after one to four changes."""
    key, version, body = draw(st.sampled_from(VALID))
    data = bytearray(header(key, version) + body)
    for _ in range(draw(st.integers(1, 4))):
        if not data:
            break
        position = draw(st.integers(0, len(data) - 1))
        kind = draw(st.sampled_from(["flip", "byte", "number", "cut", "insert", "repeat", "remove"]))
        if kind == "flip":
            data[position] ^= 1 << draw(st.integers(0, 7))
        elif kind == "byte":
            data[position] = draw(st.sampled_from([0x00, 0x01, 0x7F, 0x80, 0xFF]))
        elif kind == "number":
            fmt = draw(st.sampled_from([">h", ">i", ">q"]))
            raw = struct.pack(">q", draw(st.sampled_from(EDGES)))[-struct.calcsize(fmt) :]
            data[position : position + len(raw)] = raw
        elif kind == "cut":
            del data[position:]
        elif kind == "insert":
            data[position:position] = draw(st.binary(min_size=1, max_size=20))
        elif kind == "repeat":
            end = min(len(data), position + draw(st.integers(1, 64)))
            data[position:position] = data[position:end] * draw(st.integers(1, 30))
        else:
            del data[position : position + draw(st.integers(1, 8))]
    return framed(bytes(data))


def exchange(port: int, frame: bytes) -> None:
    """Sends the frame and an innocent request behind it; fails unless something happens in time."""
    key, version = struct.unpack_from(">hh", frame, 4) if len(frame) >= 8 else (-1, -1)
    with Raw(port, patience(key)) as client:
        try:
            client.send(frame + framed(header(ApiKey.API_VERSIONS, 0, 424242)))
            while struct.unpack_from(">i", client.receive())[0] != 424242:
                pass
        except Closed:
            pass
        except TimeoutError:
            if not may_wait(key):
                raise AssertionError(f"no answer to API {key} v{version}: {frame.hex()}") from None


def patience(api_key: int) -> float:
    return SECONDS_FOR_A_WAIT if may_wait(api_key) else PATIENCE_SECONDS


def may_wait(api_key: int) -> bool:
    """Long polls and rebalances wait as long as the request says, and a mutated request may say 24 days."""
    return api_key in (ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.DELETE_RECORDS)


@pytest.mark.timeout(600)
def test_mutated_requests(fuzzed: BrokerProcess) -> None:
    before = fuzzed.resident_bytes()

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(mutated())
    def attack(frame: bytes) -> None:
        exchange(fuzzed.port, frame)
        assert fuzzed.is_alive, fuzzed.said()[-3000:]

    attack()
    assert serves(fuzzed.port)
    assert fuzzed.resident_bytes() - before < 100 << 20
    check_log(fuzzed)


@pytest.mark.timeout(300)
def test_every_version_as_it_is(fuzzed: BrokerProcess) -> None:
    """The ground that the mutations start from: every valid request of every version is answered, in its version."""
    for key, version, body in VALID:
        with Raw(fuzzed.port, patience(key)) as client:
            client.send(framed(header(key, version, 7) + body))
            try:
                answer = client.receive()
            except TimeoutError:
                assert may_wait(key), f"no answer to {key.name} v{version}"
                continue
            except Closed:
                pytest.fail(f"{key.name} v{version} was not answered: {fuzzed.complaints()[-1:]}")
            assert struct.unpack_from(">i", answer)[0] == 7
            tagged = messages.is_flexible(key, version) and key != ApiKey.API_VERSIONS
            messages.decode_response(key, version, answer, 5 if tagged else 4)
    check_log(fuzzed)


def check_log(broker: BrokerProcess) -> None:
    """A stack trace means that a handler met what it did not expect: a bug, even if the client got an answer."""
    said = broker.said()
    if "Traceback" in said:
        start = said.rindex("\n", 0, said.index("Traceback") - 1)
        pytest.fail(said[start : start + 6000])
