"""Typing the shell lines of a page: `$ command`, then what it says.

Outputs are compared line by line; `…` stands for anything in a line, a line that is only `…` for any lines. Blanks
count as one: columns are as wide as what is in them. A command without output below it must only succeed.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.blocks import Block

COMMAND_SECONDS = 120
STOP_SECONDS = 60
HERE_DOCUMENT = re.compile(r"<<'?(\w+)'?")


@dataclass(slots=True)
class Typed:
    command: str
    output: str = ""


def typed(text: str) -> list[Typed]:
    """The commands of a block, each with the output that the page shows for it."""
    found: list[Typed] = []
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            assert found, f"a console block begins with '$ ': {line}"
            found[-1].output += line + "\n"
            continue
        command = line[2:]
        here = HERE_DOCUMENT.search(command)
        while command.endswith("\\") or (here is not None and not command.endswith(f"\n{here[1]}")):
            command += "\n" + next(lines)
        found.append(Typed(command))
    return found


def matches(shown: str, said: str) -> bool:
    """Whether what was said is what the page shows."""
    pattern = ""
    for line in shown.rstrip("\n").splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
            continue
        pattern += r"[^\n]*?".join(re.escape(part) for part in _plain(line).split("…")) + r"\n"
    return re.fullmatch(pattern, "\n".join(_plain(line) for line in said.rstrip("\n").splitlines()) + "\n") is not None


def _plain(line: str) -> str:
    return " ".join(line.split())


@dataclass(slots=True)
class Terminal:
    """A folder and its environment; what was started in the background ends with `close`."""

    folder: Path
    environment: Mapping[str, str]
    addressed: Callable[[str], str]
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def type(self, block: Block) -> None:
        for each in typed(block.text):
            command = self.addressed(each.command)
            if block.note == "in the background":
                self._start(command)
                continue
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=dict(self.environment),
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False,
            )  # fmt: skip
            said = done.stdout + done.stderr
            assert bool(done.returncode) == (block.note == "fails"), f"{block}: $ {command}\n{said}"
            if each.output.strip():
                shown = self.addressed(each.output)
                assert matches(shown, said) or matches(shown, done.stdout), (
                    f"{block}: $ {command}\nthe page shows:\n{shown}\nit says:\n{said}"
                )

    def _start(self, command: str) -> None:
        log = (self.folder / f"background-{len(self._running)}.log").open("w")
        self._running.append(
            subprocess.Popen(
                ["bash", "-c", f"exec {command}"], cwd=self.folder, env=dict(self.environment),
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )
        )  # fmt: skip

    def close(self) -> None:
        for process in self._running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(STOP_SECONDS)
            finally:
                process.kill()
