"""`caudal produce TOPIC`: stdin (or files) to a topic, with kcat's habits.

One record per line unless -D says otherwise; files without -l are one record each.

With `-X transactional.id=…` everything goes into one transaction, committed at the end of the input and aborted on
Ctrl-C or any failure.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from caudal.cli.clients import (
    ANSWER_SECONDS,
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    ClientProperties,
    TopicName,
    client_config,
    cluster_metadata,
    explain,
    key_values,
    make_producer,
    request_failed,
    sigterm_is_ctrl_c,
)
from caudal.cli.errors import CliError, NotFound, UsageError
from caudal.cli.progress import Tracker
from caudal.cli.record_format import unescape
from caudal.cli.registry_access import Registry
from caudal.cli.schemas import schema_writer
from caudal.cli.similar import no_such

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

FLUSH_SECONDS = 30
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SHOW_EVERY = 256  # records between two looks at the clock
_CHUNK = 256 * 1024

ValueFormat = Annotated[
    str | None,
    typer.Option(
        "--value",
        metavar="FORMAT",
        help="avro, json-schema or protobuf: each value is typed as JSON and written with a schema of the registry "
        "(--value-schema, --value-schema-id, or the latest of its subject).",
    ),
]
KeyFormat = Annotated[str | None, typer.Option("--key", metavar="FORMAT", help="As --value, for keys.")]


def register(app: typer.Typer) -> None:
    app.command("produce")(produce)


def produce(
    topic: TopicName,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Each file is one record; with -l, one file of many."),
    ] = None,
    lines: Annotated[bool, typer.Option("-l", help="Split the file into records, as stdin is.")] = False,
    key_delimiter: Annotated[
        str | None, typer.Option("-K", metavar="DELIM", help="Split each record into key and value here.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("-k", metavar="KEY", help="The key of every record that has none by -K.")
    ] = None,
    headers: Annotated[list[str] | None, typer.Option("-H", metavar="NAME=VALUE", help="A header. Repeatable.")] = None,
    partition: Annotated[int, typer.Option("-p", min=-1, help="Partition; -1 lets the key decide.")] = -1,
    codec: Annotated[str, typer.Option("-z", metavar="CODEC", help="none, gzip, snappy, lz4 or zstd.")] = "none",
    delimiter: Annotated[
        str, typer.Option("-D", metavar="DELIM", help=r"What ends a record; \n, \t, \xNN work.")
    ] = r"\n",
    empty_is_null: Annotated[bool, typer.Option("-Z", help="An empty value (or key) is NULL.")] = False,
    count: Annotated[int | None, typer.Option("-c", min=1, metavar="N", help="Stop after so many records.")] = None,
    acks: Annotated[str, typer.Option("--acks", help="all, 1 or 0.")] = "all",
    tee: Annotated[bool, typer.Option("-T", help="Copy the input to stdout.")] = False,
    quiet: Annotated[bool, typer.Option("-q", help="No progress and no summary.")] = False,
    value_format: ValueFormat = None,
    value_schema: Annotated[
        str | None, typer.Option("--value-schema", metavar="FILE|TEXT", help="Its schema, registered if it is new.")
    ] = None,
    value_schema_id: Annotated[
        int | None, typer.Option("--value-schema-id", min=1, metavar="N", help="A registered schema.")
    ] = None,
    value_subject: Annotated[
        str | None, typer.Option("--value-subject", metavar="NAME", help="Instead of TOPIC-value.")
    ] = None,
    value_message: Annotated[
        str | None, typer.Option("--value-message", metavar="NAME", help="Protobuf: not the first message.")
    ] = None,
    key_format: KeyFormat = None,
    key_schema: Annotated[
        str | None, typer.Option("--key-schema", metavar="FILE|TEXT", help="As --value-schema.")
    ] = None,
    key_schema_id: Annotated[
        int | None, typer.Option("--key-schema-id", min=1, metavar="N", help="A registered schema.")
    ] = None,
    key_subject: Annotated[
        str | None, typer.Option("--key-subject", metavar="NAME", help="Instead of TOPIC-key.")
    ] = None,
    key_message: Annotated[
        str | None, typer.Option("--key-message", metavar="NAME", help="Protobuf: not the first message.")
    ] = None,
    registry: Registry = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Write stdin, line by line, to a topic."""
    if codec not in CODECS:
        raise UsageError(f"-z takes {', '.join(CODECS)}, not '{codec}'")
    if acks not in ("all", "-1", "0", "1"):
        raise UsageError(f"--acks takes all, 1 or 0, not '{acks}'")
    if lines and len(files or ()) != 1:
        raise UsageError("-l takes exactly one file")
    end, split = unescape(delimiter), unescape(key_delimiter) if key_delimiter is not None else None
    if not end or split == b"":
        raise UsageError("a delimiter cannot be empty")
    write_key = schema_writer(topic, "key", key_format, key_schema, key_schema_id, key_subject, key_message, registry)
    write_value = schema_writer(
        topic, "value", value_format, value_schema, value_schema_id, value_subject, value_message, registry
    )
    fixed_headers = list(key_values(headers, "-H").items()) if headers else None
    defaults: dict[str, Any] = {
        "compression.type": codec,
        "acks": acks,
        "linger.ms": 5,
        "message.timeout.ms": FLUSH_SECONDS * 1000,
    }
    config = client_config(bootstrap, properties, defaults)
    if config["acks"] in ("all", "-1") and "request.required.acks" not in config:
        config.setdefault("enable.idempotence", True)
    sigterm_is_ctrl_c()
    producer = make_producer(config)
    _check_topic(producer, topic, partition, config["bootstrap.servers"])
    sender = _Sender(producer, topic, partition, fixed_headers, config["bootstrap.servers"], quiet)
    size = _input_size(files or [])
    # A person who types the records needs no bar.
    unseen = quiet or (not files and sys.stdin.isatty()) or (tee and sys.stdout.isatty())
    tracker = Tracker(topic, size, unit="bytes", quiet=unseen)
    transactional = "transactional.id" in config
    if transactional:
        sender.in_transaction("init_transactions", ANSWER_SECONDS * 2)
        sender.in_transaction("begin_transaction")
    fixed_key = None if key is None else key.encode()
    done, read = False, 0
    try:
        for record in _records(files or [], lines, end, config):
            if tee:
                sys.stdout.buffer.write(record + end)
            record_key, record_value = _key_and_value(record, split, fixed_key, empty_is_null)
            if write_key is not None and record_key is not None:
                record_key = write_key(record_key, sender.sent + 1)
            if write_value is not None and record_value is not None:
                record_value = write_value(record_value, sender.sent + 1)
            sender.send(record_key, record_value)
            read += len(record) + len(end)
            if sender.sent % SHOW_EVERY == 0:
                tracker.update(read, what=f"{topic}: {sender.delivered:,} of {sender.sent:,} records delivered")
            if count is not None and sender.sent >= count:
                break
        sender.finish(tracker)
        if transactional:
            sender.in_transaction("commit_transaction", FLUSH_SECONDS)
        done = True
    except KeyboardInterrupt:
        # What was typed before Ctrl-C is sent, unless it belongs to a transaction: that one is all or nothing.
        if not transactional:
            sender.finish(tracker)
        raise
    finally:
        tracker.close()
        if transactional and not done:
            sender.abort()
        if tee:
            sys.stdout.flush()
    sender.summary()


def _key_and_value(
    record: bytes, split: bytes | None, fixed_key: bytes | None, empty_is_null: bool
) -> tuple[bytes | None, bytes | None]:
    key: bytes | None = None
    value: bytes | None = record
    if split is not None:
        before, found, after = record.partition(split)
        if found:
            key, value = before, after
    if empty_is_null:
        key, value = key or None, value or None
    return fixed_key if key is None else key, value


def _records(files: list[Path], lines: bool, end: bytes, config: dict[str, Any]) -> Iterator[bytes]:
    """The input, cut into records. An empty line is no record, as in kcat."""
    limit = int(config.get("message.max.bytes", 1_000_000))
    try:
        if not files:
            yield from _split(sys.stdin.buffer, end, limit)
        elif lines:
            with files[0].open("rb") as stream:
                yield from _split(stream, end, limit)
        else:
            for path in files:
                yield path.read_bytes()
    except FileNotFoundError as error:
        raise CliError(f"there is no file '{error.filename}'") from None
    except IsADirectoryError as error:
        raise CliError(f"'{error.filename}' is a folder, not a file") from None
    except PermissionError as error:
        raise CliError(f"no permission to read '{error.filename}'") from None


def _input_size(files: list[Path]) -> int | None:
    """In bytes; None of a pipe, and of files that are missing, which are told of when they are opened."""
    try:
        found = [file.stat() for file in files] if files else [os.fstat(sys.stdin.fileno())]
    except (OSError, ValueError):
        return None
    return sum(each.st_size for each in found) if all(stat.S_ISREG(each.st_mode) for each in found) else None


def _split(stream: BinaryIO, end: bytes, limit: int) -> Iterator[bytes]:
    # read1 gives what a person has typed so far; readline would too, but only knows "\n".
    read = getattr(stream, "read1", stream.read)
    rest = b""
    while chunk := read(_CHUNK):
        *complete, rest = (rest + chunk).split(end)
        for record in complete:
            if record:
                yield record
        if len(rest) > limit * 2 and end not in rest:
            raise CliError(
                f"no delimiter in {len(rest)} bytes; a record is limited to {limit}; set the delimiter with -D"
            )
    if rest:
        yield rest


def _check_topic(producer: Producer, topic: str, partition: int, bootstrap: str) -> None:
    """Says at once that a topic or partition is missing. Asking makes the broker create the topic where that is on."""
    from confluent_kafka import KafkaError

    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        found = cluster_metadata(producer, bootstrap, topic).topics[topic]
        if found.error is None and found.partitions:
            break
        code = found.error.code() if found.error else KafkaError.LEADER_NOT_AVAILABLE
        waitable = code in (KafkaError.LEADER_NOT_AVAILABLE, KafkaError.UNKNOWN_TOPIC_OR_PART)
        if not waitable or time.monotonic() > deadline:
            if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
                known = cluster_metadata(producer, bootstrap).topics
                create = f"the broker makes none by itself: `caudal topic create {topic}`"
                raise no_such("topic", topic, known, create)
            reason = explain(found.error, bootstrap) if found.error else "it has no leader yet; try again"
            raise CliError(f"topic '{topic}': {reason}")
        time.sleep(0.1)
    if partition >= 0 and partition not in found.partitions:
        raise NotFound(f"topic '{topic}' has no partition {partition}; the last one is {max(found.partitions)}")


class _Sender:
    """Counts what is delivered and ends the command at the first record that is not."""

    def __init__(
        self,
        producer: Producer,
        topic: str,
        partition: int,
        headers: list[tuple[str, str]] | None,
        bootstrap: str,
        quiet: bool,
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._bootstrap = bootstrap
        self._options: dict[str, Any] = {"on_delivery": self._delivered}
        if partition >= 0:
            self._options["partition"] = partition
        if headers:
            self._options["headers"] = headers
        self._quiet = quiet
        self._failed: KafkaError | None = None
        self._failures = 0
        self.sent = 0
        self.delivered = 0

    def send(self, key: bytes | None, value: bytes | None) -> None:
        from confluent_kafka import KafkaException

        while True:
            try:
                self._producer.produce(self._topic, value=value, key=key, **self._options)
                break
            except BufferError:
                self._producer.poll(0.05)
            except KafkaException as error:
                raise request_failed(error, self._bootstrap, f"record {self.sent + 1} was not sent") from None
        self.sent += 1
        self._producer.poll(0)
        self._raise_failure()

    def finish(self, tracker: Tracker) -> None:
        """Wait for every delivery report."""
        deadline = time.monotonic() + FLUSH_SECONDS + 5
        while self._producer.flush(0.2) and time.monotonic() < deadline:
            tracker.update(what=f"{self._topic}: {self.delivered:,} of {self.sent:,} records delivered")
            self._raise_failure()
        self._raise_failure()
        if self.delivered < self.sent:
            raise CliError(f"{self.sent - self.delivered} of {self.sent} records were not confirmed in time")

    def in_transaction(self, step: str, *timeout: float) -> None:
        from confluent_kafka import KafkaException

        try:
            getattr(self._producer, step)(*timeout)
        except KafkaException as error:
            raise request_failed(error, self._bootstrap, f"{step.replace('_', ' ')} failed") from None

    def abort(self) -> None:
        from confluent_kafka import KafkaException

        try:
            self._producer.purge()
            self._producer.abort_transaction(ANSWER_SECONDS)
            print("the transaction was aborted: none of the records can be read", file=sys.stderr)
        except KafkaException:
            print("the transaction could not be aborted; the broker aborts it when its time is over", file=sys.stderr)

    def summary(self) -> None:
        if not self._quiet and sys.stderr.isatty():
            print(f"{self.delivered} records to {self._topic}", file=sys.stderr)

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.delivered += 1
        else:
            self._failures += 1
            self._failed = self._failed or error

    def _raise_failure(self) -> None:
        if self._failed is not None:
            reason = explain(self._failed, self._bootstrap)
            raise CliError(f"{self._failures} of {self.sent} records were not delivered to '{self._topic}': {reason}")
