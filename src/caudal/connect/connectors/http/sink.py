"""HttpSink: a request per record, or per batch of records that go to the same URL. At least once.

A request that fails for a while (429, 5xx, no connection) makes the framework call again later, with the same records;
those that were sent before are left out then. After a crash, records since the last commit are sent again. A record
that is refused (4xx) is reported; of a refused batch each record is sent alone, so that only the bad ones are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def, not_empty
from caudal.connect.connector import SinkConnector, SinkTask
from caudal.connect.connectors.http.calling import Caller, Patience, Refused, TryAgain, calling_keys, check_calling
from caudal.connect.connectors.http.json_pointer import MISSING
from caudal.connect.connectors.object_sink.formats.json_lines import json_line
from caudal.connect.errors import DataError, RetriableError
from caudal.connect.records import SinkRecord, TopicPartition

_NAME = re.compile(r"\$\{([^}]*)\}")
_PLAIN = ("topic", "partition", "offset", "key", "timestamp")


class _Request(NamedTuple):
    method: str
    url: str
    records: list[SinkRecord]
    bodies: list[bytes]  # one each


class HttpSinkTask(SinkTask):
    def start(self, config: dict[str, Any]) -> None:
        self._config = config
        self._caller = Caller(config)
        self._patience = Patience(config)
        self._sent: dict[TopicPartition, int] = {}  # the offset behind what was sent

    def open(self, partitions: set[TopicPartition]) -> None:
        self.close(partitions)

    def close(self, partitions: set[TopicPartition]) -> None:
        for partition in partitions:
            self._sent.pop(partition, None)

    def put(self, records: Sequence[SinkRecord]) -> None:
        for request in self._requests(records):
            try:
                self._send(request)
            except TryAgain as error:
                self.context.retry_after(self._patience.after(error))
                raise RetriableError(str(error)) from error
            self._patience.reset()

    def stop(self) -> None:
        if (caller := getattr(self, "_caller", None)) is not None:
            caller.close()

    def _send(self, request: _Request) -> None:
        try:
            self._call(request.method, request.url, self._body(request))
        except Refused as refused:
            if len(request.records) == 1:
                self.context.report_error(request.records[0], DataError(str(refused)))
            else:
                for record, body in zip(request.records, request.bodies, strict=True):
                    self._send(_Request(request.method, request.url, [record], [body]))
        for record in request.records:
            self._done(record)

    def _call(self, method: str, url: str, body: bytes | None) -> None:
        self._caller.request(method, url, body, self._config["content.type"] if body is not None else None)

    def _body(self, request: _Request) -> bytes | None:
        config = self._config
        if request.method == "DELETE":
            return None
        if config["batch.max.size"] == 1:
            return request.bodies[0]
        prefix, separator, suffix = (config[f"batch.{part}"].encode() for part in ("prefix", "separator", "suffix"))
        return bytes(prefix + separator.join(request.bodies) + suffix)

    def _requests(self, records: Sequence[SinkRecord]) -> Iterator[_Request]:
        """In order: consecutive records with the same method and URL share one."""
        pending: _Request | None = None
        for record in records:
            topic, partition, offset = record.original or (record.topic, record.partition, record.offset)
            if offset < self._sent.get(TopicPartition(topic, partition), -1):
                continue
            made = self._made(record)
            if made is None:
                if pending is not None:  # first what was before it, so that `_sent` stays in order
                    yield pending
                    pending = None
                self._done(record)
                continue
            method, url, body = made
            if pending is not None and (pending.method, pending.url) == (method, url) and method != "DELETE":
                pending.records.append(record)
                pending.bodies.append(body)
            else:
                if pending is not None:
                    yield pending
                pending = _Request(method, url, [record], [body])
            if len(pending.records) >= self._config["batch.max.size"]:
                yield pending
                pending = None
        if pending is not None:
            yield pending

    def _made(self, record: SinkRecord) -> tuple[str, str, bytes] | None:
        """Method, URL and body; None when there is nothing to send."""
        method = self._config["request.method"]
        try:
            if record.value is None:
                match self._config["behavior.on.null.values"]:
                    case "ignore":
                        return None
                    case "fail":
                        raise DataError("The value is null; see behavior.on.null.values.")
                method = "DELETE"
            url = _filled(self._config["http.api.url"], record)
            return method, url, b"" if method == "DELETE" else self._value(record.value)
        except DataError as error:
            self.context.report_error(record, error)
            return None

    def _value(self, value: Any) -> bytes:
        if self._config["request.body.format"] == "string":
            if isinstance(value, bytes):
                return value
            if isinstance(value, str):
                return value.encode()
        return json_line(value)[:-1]

    def _done(self, record: SinkRecord) -> None:
        topic, partition, offset = record.original or (record.topic, record.partition, record.offset)
        self._sent[TopicPartition(topic, partition)] = offset + 1


class HttpSink(SinkConnector):
    """Records as requests."""

    task = HttpSinkTask
    aliases = ("io.confluent.connect.http.HttpSinkConnector",)
    delivery = "at least once"

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="http.api.url", importance=Importance.HIGH, validator=not_empty,
                doc="Where to send; ${topic}, ${partition}, ${offset}, ${timestamp}, ${key} and ${value.field} are "
                "filled in, encoded."),
            Key(name="request.method", default="POST", choices=("POST", "PUT", "PATCH"), doc="How to send."),
            Key(name="request.body.format", default="json", choices=("json", "string"),
                doc="json, or string for texts and bytes as they are."),
            Key(name="content.type", default="application/json", doc="Of the body."),
            Key(name="batch.max.size", type=Type.INT, default=1, minimum=1, importance=Importance.HIGH,
                doc="Records per request, at most; with more than one the body is a list, see batch.prefix."),
            Key(name="batch.prefix", default="[", doc="Before the records of a batch."),
            Key(name="batch.separator", default=",", doc="Between them."),
            Key(name="batch.suffix", default="]", doc="After them."),
            Key(name="behavior.on.null.values", default="ignore", choices=("ignore", "delete", "fail"),
                doc="What a tombstone is: nothing, a DELETE request, or an error."),
            calling_keys(),
        )  # fmt: skip

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        errors = check_calling(config, "http.api.url")
        for name in _NAME.findall(config["http.api.url"]):
            if name not in _PLAIN and not name.startswith("value."):
                errors["http.api.url"] = [f"http.api.url: ${{{name}}} means nothing here."]
        return errors

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [dict(self.context.config) for _ in range(most)]


def _filled(template: str, record: SinkRecord) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1]
        found = getattr(record, name) if name in _PLAIN else record.value
        if name.startswith("value."):
            for step in name.split(".")[1:]:
                found = found.get(step, MISSING) if isinstance(found, dict) else MISSING
        if found is MISSING or found is None or isinstance(found, (dict, list)):
            raise DataError(f"The record has no plain value for ${{{name}}} of http.api.url.")
        if isinstance(found, bytes):
            found = found.decode(errors="replace")
        return quote(str(found), safe="")

    return _NAME.sub(value, template)
