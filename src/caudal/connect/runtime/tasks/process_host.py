"""A run in a process of its own, seen from the worker: told what to do over a socket, killed where it does not listen.

The specification goes over the socket too, never over the command line: it holds secrets. States, topics, metrics and
log lines come back. When the process ends in another way than it should, the task has failed, and the reason is the
signal or the exit code. The process dies with the worker: it holds the reading end of a pipe whose other end is ours.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from caudal.connect.runtime.model import Listener, State, TargetState, TaskSpec
from caudal.connect.runtime.settings import WorkerSettings

log = logging.getLogger("caudal.connect")

MODULE = "caudal.connect.runtime.tasks.process"
DEATH_SECONDS = 10.0


class TaskProcess:
    """RunningTask."""

    def __init__(
        self,
        spec: TaskSpec,
        settings: WorkerSettings,
        listener: Listener,
        target: TargetState,
        check: Callable[[], None] | None = None,
    ) -> None:
        self.id = spec.id
        self._listener = listener
        self._check = check
        self._ended = threading.Event()
        self._sending = threading.Lock()
        self._metrics: dict[str, float] = {}
        self._told_end = False
        self._abandoned = False
        ours, theirs = socket.socketpair()
        life, self._life = os.pipe()  # nothing is ever written: it is closed when this process ends
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(theirs.fileno()), str(life)],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), life),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)},
            )
        except BaseException:
            ours.close()
            os.close(self._life)
            raise
        finally:
            theirs.close()
            os.close(life)
        self._connection: Connection[Any, Any] = Connection(ours.detach())
        self._send((spec, settings, target, check is not None))
        threading.Thread(target=self._listen, name=f"task-{spec.id}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def pause(self) -> None:
        self._send("pause")

    def resume(self) -> None:
        self._send("resume")

    def stop(self) -> None:
        self._send("stop")

    def wait(self, seconds: float) -> bool:
        return self._ended.wait(seconds)

    def abandon(self) -> None:
        self._abandoned = True
        self._process.kill()

    def metrics(self) -> dict[str, float]:
        return dict(self._metrics)

    # -- the process's words -----------------------------------------------------------------------------------------

    def _listen(self) -> None:
        try:
            while True:
                self._take(self._connection.recv())
        except (EOFError, OSError):
            pass  # it has ended
        except Exception:
            log.exception("Task %s: its process says what cannot be read, and is ended.", self.id)
            self._process.kill()
        finally:
            self._bury()

    def _take(self, said: tuple[Any, ...]) -> None:
        if self._abandoned:
            return
        match said:
            case ("state", state, trace):
                self._told_end = self._told_end or state in (State.FAILED, State.UNASSIGNED)
                self._listener.on_state(self.id, state, trace)
            case ("topic", topic):
                self._listener.on_topic(self.id.connector, topic, self.id.task)
            case ("metrics", values):
                self._metrics = values
            case ("log", name, level, words):
                logging.getLogger(name).log(level, "%s", words)
            case ("check",):
                self._send(("checked", self._checked()))

    def _checked(self) -> str | None:
        try:
            if self._check is not None:
                self._check()
        except Exception as error:
            return str(error) or type(error).__name__
        return None

    def _bury(self) -> None:
        try:
            code = self._process.wait(DEATH_SECONDS)
        except subprocess.TimeoutExpired:  # it has closed its socket and lives on
            self._process.kill()
            code = self._process.wait()
        with self._sending:
            self._connection.close()
        os.close(self._life)
        if not self._told_end and not self._abandoned:
            self._told_end = True
            try:
                self._listener.on_state(self.id, State.FAILED, f"The process of task {self.id} {_end(code)}.")
            except Exception:
                log.exception("The state of task %s could not be told.", self.id)
        self._ended.set()

    def _send(self, word: Any) -> None:
        with self._sending, contextlib.suppress(OSError):  # it has ended: `_listen` tells
            if not self._connection.closed:
                self._connection.send(word)


def _end(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code} before the task was done"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (the system does that when memory is short)" if -code == signal.SIGKILL else ""
    return f"was ended by {name}{hint}"
