"""The process of one task: `python -m caudal.connect.runtime.tasks.process <socket> <pipe>`, started by the worker.

It reads what to run from the socket (secrets are in it), runs it in its main thread, and says over the socket what
happens. It ends when the run ends, and at once when the worker is gone: the kernel then sends SIGIO for the pipe, which
ends the process even while a task holds the interpreter's lock; where there is no such signal, a thread sees it.
"""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from caudal.connect.errors import ConnectError
from caudal.connect.runtime.collector import calm_collector
from caudal.connect.runtime.model import State, TaskId
from caudal.connect.runtime.tasks.hosting import make_run
from caudal.connect.runtime.tasks.run import Run

METRICS_SECONDS = 1.0
CHECK_SECONDS = 60.0


class Worker:
    """The other end, as the listener of the run."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._checked = threading.Event()
        self._verdict: str | None = None

    def say(self, *word: Any) -> None:
        with self._lock:
            try:
                self._connection.send(word)
            except OSError:
                os._exit(1)  # the worker is gone, and so are we

    def on_state(self, id: TaskId | str, state: State, trace: str | None = None) -> None:
        self.say("state", state, trace)

    def on_topic(self, connector: str, topic: str, task: int) -> None:
        self.say("topic", topic)

    def check(self) -> None:
        self._checked.clear()
        self.say("check")
        if not self._checked.wait(CHECK_SECONDS):
            raise ConnectError("The worker did not say whether this task is still wanted.")
        if self._verdict is not None:
            raise ConnectError(self._verdict)

    def obey(self, run: Run) -> None:
        """A thread: the worker's words, until it is gone."""
        try:
            while True:
                match self._connection.recv():
                    case "pause":
                        run.pause()
                    case "resume":
                        run.resume()
                    case "stop":
                        run.stop()
                    case ("checked", verdict):
                        self._verdict = verdict
                        self._checked.set()
        except (EOFError, OSError):
            os._exit(1)


class _LogLines(logging.Handler):
    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker

    def emit(self, record: logging.LogRecord) -> None:
        try:
            words = self.format(record)
        except Exception:
            words = str(record.msg)
        self._worker.say("log", record.name, record.levelno, words)


def die_with(pipe: int) -> None:
    """The kernel ends this process when the pipe's other end is closed."""
    if hasattr(os, "O_ASYNC"):
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the worker stops its tasks in good order
    connection: Connection[Any, Any] = Connection(int(arguments[0]))
    die_with(int(arguments[1]))
    worker = Worker(connection)
    spec, settings, target, has_check = connection.recv()
    # The worker adds the level and where it comes from.
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[_LogLines(worker)])
    run = make_run(spec, settings, worker, target, worker.check if has_check else None)
    threading.Thread(target=worker.obey, args=(run,), name="obey", daemon=True).start()
    threading.Thread(target=_tell_metrics, args=(run, worker), name="metrics", daemon=True).start()
    gc.freeze()  # what is imported stays
    calm_collector()
    run.run()
    worker.say("metrics", run.metrics())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # without waiting for threads that the task has left


def _tell_metrics(run: Run, worker: Worker) -> None:
    while not run.ended.wait(METRICS_SECONDS):
        worker.say("metrics", run.metrics())


if __name__ == "__main__":
    main(sys.argv[1:])
