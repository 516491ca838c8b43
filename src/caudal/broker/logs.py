"""Logging for operators: short text lines for people, JSON lines for machines, a brake on repeated warnings.

Plain stdlib logging underneath: every module logs through `logging.getLogger("caudal.broker.…")`, with `extra={…}`
for fields. Only the command line calls `set_up`; a program that embeds the broker keeps its own logging. Rotation is
left to the system (journald, Docker, logrotate).
"""

from __future__ import annotations

import json
import logging
import sys
import time
from datetime import UTC, datetime
from typing import Any, TextIO

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_COLOURS = {
    logging.WARNING: "\x1b[33m",
    logging.ERROR: "\x1b[31m",
    logging.CRITICAL: "\x1b[31;1m",
    logging.DEBUG: "\x1b[2m",
}
_RESET = "\x1b[0m"


def set_up(level: str = "info", style: str = "text", stream: TextIO | None = None) -> None:
    """Send every log line of the process to `stream` (stderr) in this style.

    Calling it again replaces the first set-up.
    """
    if level not in LEVELS:
        raise ValueError(f"'{level}' is not a log level; choose one of {', '.join(LEVELS)}")
    if style not in FORMATS:
        raise ValueError(f"'{style}' is not a log format; choose one of {', '.join(FORMATS)}")
    stream = sys.stderr if stream is None else stream
    # Nothing below shows them, and finding them out costs time on every line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if style == "json" else TextLines(colour=stream.isatty()))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What the caller passed in `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class TextLines(logging.Formatter):
    """`12:03:04.512 WARN  server  message  key=value`; colour only on a terminal."""

    def __init__(self, colour: bool = False) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        level = "WARN" if record.levelno == logging.WARNING else record.levelname
        name = record.name.rpartition(".")[2]
        line = f"{clock}.{int(record.msecs):03d} {level:<5} {name:<12} {_printable(record.getMessage())}"
        for key, value in fields_of(record).items():
            line += f"  {key}={_printable(str(value))}"
        if self._colour and record.levelno in _COLOURS:
            line = f"{_COLOURS[record.levelno]}{line}{_RESET}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class JsonLines(logging.Formatter):
    """One JSON object per line: ts, level, logger, message, the fields of `extra`, and `exception` where there is
    one.
    """

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for key, value in fields_of(record).items():
            entry.setdefault(key, value)
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


class Quiet:
    """A logger that says each kind of thing at most once per interval, and then how often it happened meanwhile.

    For warnings that a hostile or broken client can cause at will: they must neither fill the disk nor take the
    broker's time.

    >>> quiet = Quiet(logging.getLogger("caudal.test"), seconds=10)
    >>> quiet.warning("bad-crc", "a batch from %s has a wrong CRC", "10.0.0.7")
    """

    MAX_KINDS = 1024

    def __init__(self, logger: logging.Logger, seconds: float = 10.0) -> None:
        self._logger = logger
        self._seconds = seconds
        self._kinds: dict[str, tuple[float, int]] = {}

    def warning(self, kind: str, message: str, *args: object, **fields: object) -> None:
        """Log at WARNING unless this kind was logged within the interval."""
        self.log(logging.WARNING, kind, message, *args, **fields)

    def log(self, level: int, kind: str, message: str, *args: object, **fields: object) -> None:
        now = time.monotonic()
        last, held_back = self._kinds.get(kind, (float("-inf"), 0))
        if now - last < self._seconds:
            self._kinds[kind] = (last, held_back + 1)
            return
        if len(self._kinds) >= self.MAX_KINDS and kind not in self._kinds:
            self._forget(now)
        self._kinds[kind] = (now, 0)
        if held_back:
            fields = {**fields, "repeated": held_back}
        self._logger.log(level, message, *args, extra=fields)

    def _forget(self, now: float) -> None:
        # Kinds may hold a client's own words (an address, a client id): the table must not grow with them.
        fresh = {kind: state for kind, state in self._kinds.items() if now - state[0] < self._seconds}
        self._kinds = fresh if len(fresh) < self.MAX_KINDS else {}


def _printable(text: str) -> str:
    """Client-supplied text on one line: control characters escaped, so that nobody can forge lines or move the
    cursor.
    """
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    )
