"""A command in a terminal of its own, as a person has it: what it shows, and the keys that are pressed."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

COMMAND = (sys.executable, "-m", "caudal.cli.main")


class Shown(NamedTuple):
    code: int
    text: str  # with the terminal's control sequences


def in_terminal(
    arguments: Sequence[str],
    *,
    keys: Mapping[str, str] | None = None,
    columns: int = 100,
    command: Sequence[str] = COMMAND,
    stdout: int | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = 60.0,
) -> Shown:
    """`keys`: what is typed when a text appears. `stdout` may go elsewhere; stdin and stderr are the terminal's."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", **(environment or {})}
    process = subprocess.Popen(
        [*command, *arguments],
        stdin=theirs,
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        env=env,
        start_new_session=True,
    )
    os.close(theirs)
    waiting, shown, deadline = dict(keys or {}), b"", time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                part = os.read(ours, 65536)
            except OSError as error:
                if error.errno != errno.EIO:  # the other side is closed
                    raise
                break
            if not part:
                break
            shown += part
            for text in [text for text in waiting if text.encode() in shown]:
                os.write(ours, waiting.pop(text).encode())
        assert time.monotonic() < deadline, f"it did not end in {seconds:.0f} s: {shown.decode('utf-8', 'replace')}"
        code = process.wait(10)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return Shown(code, shown.decode("utf-8", "replace"))
