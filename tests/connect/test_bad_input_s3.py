"""A store that speaks S3 and says no: a bucket that goes, keys that are wrong, a store that is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from caudal.connect.connectors.object_sink.connector import ObjectSink
from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.records import SinkRecord, TopicPartition
from tests.connect.s3 import S3Store, s3_store
from tests.unit.connect.connectors.contexts import start_sink

PARTITION = TopicPartition("t", 0)


class Denied(BaseHTTPRequestHandler):
    """Every request is answered as S3 answers a wrong key."""

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_HEAD = answer

    def log_message(self, format: str, *arguments: Any) -> None: ...


@pytest.fixture
def denied() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Denied)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def config(url: str, **more: str) -> dict[str, str]:
    return {
        "s3.bucket.name": S3Store.bucket, "s3.region": "us-east-1", "store.url": url, "aws.access.key.id": "tester",
        "aws.secret.access.key": "geheim", "flush.size": "1", **more,
    }  # fmt: skip


def test_wrong_keys_fail_at_the_start_and_in_the_middle(denied: str) -> None:
    with pytest.raises(ConnectError, match=r"The store refuses archive: .*(Forbidden|Denied)") as failure:
        ObjectSink().start(ObjectSink.config().parse(config(denied)))
    assert not isinstance(failure.value, RetriableError) and "geheim" not in str(failure.value)
    task, _ = start_sink(ObjectSink, config(denied), [PARTITION])
    with pytest.raises(ConnectError, match=r"The store refuses topics/t/partition=0.*(Forbidden|Denied)") as failure:
        task.put([SinkRecord("t", 0, 0, {"id": 1})])
    assert not isinstance(failure.value, RetriableError) and task.pre_commit({}) == {}


def test_a_bucket_that_is_removed_while_it_is_written_fails_the_task() -> None:
    with s3_store() as store:
        task, _ = start_sink(ObjectSink, config(store.url), [PARTITION])
        task.put([SinkRecord("t", 0, 0, {"id": 1})])
        store.files.rm(store.bucket, recursive=True)
        assert not store.files.exists(store.bucket)
        with pytest.raises(ConnectError, match=r"The store refuses topics/t.*bucket does not exist") as failure:
            task.put([SinkRecord("t", 0, 1, {"id": 2})])
        assert not isinstance(failure.value, RetriableError) and task.pre_commit({}) == {PARTITION: 1}


def test_a_store_that_is_away_is_waited_for_and_then_fails_the_task() -> None:
    with s3_store() as store:
        given = config(store.url, **{"max.retries": "1"})
        given["storage.options"] = '{"config_kwargs": {"retries": {"max_attempts": 0}, "connect_timeout": 5}}'
        task, _ = start_sink(ObjectSink, given, [PARTITION])
        task.put([SinkRecord("t", 0, 0, {"id": 1})])
    with pytest.raises(RetriableError, match="The store did not take"):
        task.put([SinkRecord("t", 0, 1, {"id": 2})])
    with pytest.raises(ConnectError, match=r"Tried 2 times \(max.retries\)") as failure:
        task.put([])
    assert not isinstance(failure.value, RetriableError) and task.pre_commit({}) == {PARTITION: 1}
