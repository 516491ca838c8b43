"""A server that `caudal up` starts: the flags that it gives are read here, without the command-line library.

That library's checks cost every process 14 MB and a tenth of a second. Whatever is not a plain flag of the table below
is left to the command itself, so that both ways of starting understand the same.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

MARK = "--ready-fd"
PROCESSES = {
    "registry": "caudal.cli.registry_process",
    "connect": "caudal.cli.connect_process",
    "ksql-server": "caudal.cli.ksql_process",
    "ui": "caudal.cli.ui_process",
}
# Flag → the field of the process's Options and the type of its value.
FLAGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "--host": ("host", str),
    "--port": ("port", int),
    "--bootstrap": ("bootstrap", str),
    "--registry": ("registry", str),
    "--connect": ("connect", str),
    "--ksql": ("ksql", str),
    "--master": ("master", str),
    "--data": ("data", Path),
    "--log-level": ("log_level", str),
    MARK: ("ready_fd", int),
}
REPEATABLE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "--allow-folder": ("allowed_folders", Path),
    "--metrics": ("metrics", str),
}
SWITCHES = {"--stop-on-stdin-eof": "stop_on_stdin_eof"}


def run(arguments: Sequence[str]) -> None:
    """Runs the server and does not return; returns at once when the arguments are for the command itself."""
    if MARK not in arguments or arguments[0] not in PROCESSES:
        return
    given = fields_of(arguments[1:])
    if given is None or "bootstrap" not in given:
        return
    process = importlib.import_module(PROCESSES[arguments[0]])
    process.run(process.Options(**given))


def fields_of(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The fields that these flags set; None when one is not in the tables or its value is not what it takes."""
    fields: dict[str, Any] = {}
    words = iter(arguments)
    for word in words:
        if word in SWITCHES:
            fields[SWITCHES[word]] = True
            continue
        known = FLAGS.get(word) or REPEATABLE.get(word)
        value = next(words, None)
        if known is None or value is None:
            return None
        name, kind = known
        try:
            fields[name] = [*fields.get(name, ()), kind(value)] if word in REPEATABLE else kind(value)
        except ValueError:
            return None
    return fields
