"""How much the worker says in its log, changed while it runs. Names are Python's, levels Log4j's."""

from __future__ import annotations

import logging
import time
from typing import Any

ROOT = "root"
LEVELS = {
    "ALL": 1,
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 10,
}
NAMES = {number: name for name, number in LEVELS.items() if name != "WARNING"}

_changed: dict[str, int] = {}


def set_log_level(name: str, level: str) -> list[str]:
    """Of a logger and of all below it. The names of those that are there."""
    number = LEVELS[level.upper()]
    if name != ROOT:
        logging.getLogger(name)  # from now on there is one
    now = int(time.time() * 1000)
    changed = []
    for each, logger in loggers().items():
        if name in (ROOT, each) or each.startswith(f"{name}."):
            logger.setLevel(number)
            _changed[each] = now
            changed.append(each)
    return sorted(changed)


def loggers() -> dict[str, logging.Logger]:
    """All that anybody has asked for, by name."""
    known = {
        name: logger
        for name, logger in list(logging.Logger.manager.loggerDict.items())
        if isinstance(logger, logging.Logger)
    }
    return {ROOT: logging.getLogger(), **known}


def shown(name: str, number: int) -> dict[str, Any]:
    """A level as the REST API has it."""
    return {"level": NAMES.get(number, logging.getLevelName(number)), "last_modified": _changed.get(name)}
