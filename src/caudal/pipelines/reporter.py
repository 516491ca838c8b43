"""The reporter: one thread of a process that writes what its pipelines tell about themselves, and hears their orders.

It must never harm a pipeline. It reads figures that are there anyway, in a thread of its own, and whatever goes wrong
(no broker, no topic, no right to write) is one line in the log: the pipeline goes on, and so does the reporter, later.

Orders: only those that were given after the reporter came here, each once, and none that is old (a broker that was away
for an hour must not stop what was started since). `CAUDAL_PIPELINES` is `on` (default),
`read-only` (reports, and takes no orders) or `off`.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from caudal.pipelines.records import (
    CONTROL_TOPIC,
    PIPELINES_TOPIC,
    Command,
    Key,
    Order,
    Part,
    encode,
    parse_command,
)
from caudal.pipelines.topics import ensure_topics

log = logging.getLogger("caudal.pipelines")

BEAT_SECONDS = 2.0
IDLE_SECONDS = 10.0  # between two reports of a pipeline of which there is nothing new
ABOUT_SECONDS = 3600.0  # the topic forgets what is a day old
PATIENCE_SECONDS = 30.0  # between two tries where Kafka does not let us
POLL_SECONDS = 0.2
FLUSH_SECONDS = 2.0
CALL_SECONDS = 5.0
REMEMBERED = 1000  # ids of commands
OLD_MS = 120_000  # a command; clocks differ by less

VARIABLE = "CAUDAL_PIPELINES"


class Reporting(Enum):
    ON = "on"
    READ_ONLY = "read-only"
    OFF = "off"


def configured_reporting() -> Reporting:
    """What the environment says. A word that is not known reports nothing: somebody wanted something else than on."""
    try:
        return Reporting(os.environ.get(VARIABLE, "on").strip().lower() or "on")
    except ValueError:
        log.warning("%s takes on, read-only or off; it is taken for off", VARIABLE)
        return Reporting.OFF


class Reported(Protocol):
    """A pipeline. `about` and `figures` are called from the reporter's thread every few seconds and must not wait."""

    @property
    def application(self) -> str: ...
    def about(self) -> dict[str, Any]: ...
    def figures(self) -> dict[str, Any]: ...
    def obey(self, order: Order) -> None:
        """In a thread of its own: it may take its time."""
        ...


@dataclass(slots=True)
class _Entry:
    pipeline: Reported
    takes_orders: bool
    about: dict[str, Any] = field(default_factory=dict)
    about_at: float = 0.0
    figures: dict[str, Any] = field(default_factory=dict)
    figures_at: float = 0.0


class Reporter:
    """Of one process and one cluster."""

    def __init__(self, connection: Mapping[str, Any], replication_factor: int = -1) -> None:
        self.instance = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._connection = dict(connection)
        self._replication_factor = replication_factor
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()
        self._producer: Any = None
        self._consumer: Any = None
        self._seen: dict[str, None] = {}  # commands
        self._told: set[str] = set()
        self._not_before = 0.0
        self._ready = False
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="caudal-pipelines", daemon=True)

    # -- from outside ------------------------------------------------------------------------------------------------

    def add(self, pipeline: Reported, *, takes_orders: bool = True) -> None:
        with self._lock:
            self._entries[pipeline.application] = _Entry(pipeline, takes_orders)
        if not self._thread.is_alive():
            self._thread.start()
        self._wake.set()

    def remove(self, application: str, last: Mapping[str, Any] | None = None) -> None:
        """It has stopped. With `last` its record stays, as the one of a pipeline that failed; else it goes."""
        with self._lock:
            entry = self._entries.pop(application, None)
        if entry is None or not entry.about or self._producer is None:
            return
        try:
            if last is None:
                self._send(Key(application, self.instance, Part.ABOUT), None)
            self._send(Key(application, self.instance, Part.FIGURES), None if last is None else encode(last))
            self._producer.flush(FLUSH_SECONDS)
        except Exception as error:
            log.debug("the last report of '%s' was not written: %s", application, error)

    @property
    def is_idle(self) -> bool:
        with self._lock:
            return not self._entries

    def close(self) -> None:
        self._closed.set()
        self._wake.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(CALL_SECONDS)

    # -- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        beat = 0.0
        while not self._closed.is_set():
            try:
                now = time.monotonic()
                if now >= self._not_before and not self._ready:
                    self._open()
                if self._ready and (now - beat >= BEAT_SECONDS or self._wake.is_set()):
                    beat = now
                    self._wake.clear()
                    self._beat()
                if self._consumer is not None:
                    self._listen()
                else:
                    self._closed.wait(POLL_SECONDS)
            except Exception as error:
                self._complain(error)
        self._close_clients()

    def _open(self) -> None:
        ensure_topics({**self._connection, "client.id": "caudal-pipelines"}, self._replication_factor)
        if self._producer is None:
            self._producer = Producer(
                {
                    **self._connection,
                    "client.id": "caudal-pipelines",
                    "message.timeout.ms": 10_000,
                    "queue.buffering.max.messages": 10_000,
                    "compression.type": "lz4",
                    "linger.ms": 20,
                }
            )
        if self._consumer is None:
            consumer: Any = Consumer(
                {
                    **self._connection,
                    "client.id": "caudal-pipelines",
                    "group.id": "caudal-pipelines",  # never joined: partitions are assigned by hand
                    "enable.auto.commit": False,
                    "auto.offset.reset": "latest",
                    "fetch.wait.max.ms": 1000,
                    "allow.auto.create.topics": False,
                }
            )
            _, end = consumer.get_watermark_offsets(TopicPartition(CONTROL_TOPIC, 0), CALL_SECONDS, cached=False)
            consumer.assign([TopicPartition(CONTROL_TOPIC, 0, end)])  # what was ordered before is not for us
            self._consumer = consumer
        self._ready = True

    def _close_clients(self) -> None:
        try:
            if self._consumer is not None:
                self._consumer.close()
            if self._producer is not None:
                self._producer.flush(FLUSH_SECONDS)
        except Exception:
            log.debug("the reporter did not close cleanly", exc_info=True)

    def _beat(self) -> None:
        with self._lock:
            entries = list(self._entries.items())
        for application, entry in entries:
            try:
                self._report(application, entry)
            except (KafkaException, BufferError):
                raise
            except Exception:
                log.debug("'%s' cannot be asked for its figures", application, exc_info=True)
        self._producer.poll(0)

    def _report(self, application: str, entry: _Entry) -> None:
        now = time.monotonic()
        about = entry.pipeline.about()
        if about != entry.about or now - entry.about_at > ABOUT_SECONDS:
            fields = {"application": application, "instance": self.instance, "takes_orders": entry.takes_orders}
            self._send_of(application, entry, Part.ABOUT, encode({**fields, **about}))
            entry.about, entry.about_at = about, now
        figures = entry.pipeline.figures()
        if figures != entry.figures or now - entry.figures_at > IDLE_SECONDS:
            self._send_of(application, entry, Part.FIGURES, encode({"time": int(time.time() * 1000), **figures}))
            entry.figures, entry.figures_at = figures, now

    def _send_of(self, application: str, entry: _Entry, part: Part, value: bytes) -> None:
        with self._lock:  # not behind its tombstone
            if self._entries.get(application) is entry:
                self._send(Key(application, self.instance, part), value)

    def _send(self, key: Key, value: bytes | None) -> None:
        self._producer.produce(PIPELINES_TOPIC, value, key.encode(), 0, on_delivery=self._delivered)

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self._complain(KafkaException(error))

    def _complain(self, error: Exception) -> None:
        """One line, and a pause."""
        kind = error.args[0] if isinstance(error, KafkaException) and error.args else None
        name = kind.name() if isinstance(kind, KafkaError) else type(error).__name__
        text = kind.str() if isinstance(kind, KafkaError) else str(error)
        if name not in self._told:
            self._told.add(name)
            log.warning("pipelines are not reported to %s for now: %s. They go on.", PIPELINES_TOPIC, text.rstrip("."))
        log.debug("the reporter", exc_info=error)
        self._ready = False  # topics are looked at again: somebody may have deleted them
        self._not_before = time.monotonic() + PATIENCE_SECONDS
        with self._lock:
            for entry in self._entries.values():
                entry.about, entry.figures = {}, {}  # to be said again

    # -- orders ------------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        message = self._consumer.poll(POLL_SECONDS)
        if message is None:
            return
        if message.error() is not None:
            log.debug("the control topic: %s", message.error())
            return
        command = parse_command(message.value())
        if command is None or command.id in self._seen:
            return
        self._seen[command.id] = None
        while len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._obey(command)

    def _obey(self, command: Command) -> None:
        with self._lock:
            entry = self._entries.get(command.application)
        if entry is None or not command.is_for(command.application, self.instance):
            return
        if not entry.takes_orders:
            log.info("'%s' takes no orders: %s was ignored", command.application, command.order.value)
        elif time.time() * 1000 - command.time > OLD_MS:
            log.info("'%s' was told to %s a while ago: it is ignored", command.application, command.order.value)
        else:
            log.info("'%s' is told to %s (command %s)", command.application, command.order.value, command.id)
            threading.Thread(
                target=self._carry_out, args=(entry.pipeline, command), name="caudal-order", daemon=True
            ).start()

    def _carry_out(self, pipeline: Reported, command: Command) -> None:
        try:
            pipeline.obey(command.order)
        except Exception as error:
            log.warning("'%s' could not %s: %s", command.application, command.order.value, error)
        self._wake.set()  # what came of it is told at once


# -- one reporter for each cluster -----------------------------------------------------------------------------------

_reporters: dict[tuple[tuple[str, Any], ...], Reporter] = {}
_reporters_lock = threading.Lock()


def report(
    pipeline: Reported, connection: Mapping[str, Any], *, replication_factor: int = -1, takes_orders: bool = True
) -> Callable[..., None]:
    """Reports it from now on. What is returned ends that: `end()`, or `end(last figures)` where it failed."""
    key = tuple(sorted(connection.items()))
    with _reporters_lock:
        reporter = _reporters.get(key)
        if reporter is None:
            reporter = _reporters[key] = Reporter(connection, replication_factor)
        reporter.add(pipeline, takes_orders=takes_orders)

    def end(last: Mapping[str, Any] | None = None) -> None:
        reporter.remove(pipeline.application, last)
        with _reporters_lock:
            if reporter.is_idle and _reporters.get(key) is reporter:
                del _reporters[key]
                reporter.close()

    return end
