"""`caudal registry` as a process of its own, for tests that stop and kill it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import httpx

HEADERS = {"content-type": "application/vnd.schemaregistry.v1+json"}


class RegistryProcess:
    """Starts at once; `wait` until it is ready."""

    def __init__(self, bootstrap: str, *arguments: str, port: int = 0, log: Any = subprocess.DEVNULL) -> None:
        ready, said = os.pipe()
        command = [sys.executable, "-m", "caudal.cli.main", "registry", "--bootstrap", bootstrap, "--port", str(port)]
        command += ["--ready-fd", str(said), "--stop-on-stdin-eof", "--log-level", "info", *arguments]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=(said,),
            start_new_session=True,
        )
        os.close(said)
        self._ready = os.fdopen(ready)
        self.facts: dict[str, Any] = {}

    def wait(self) -> RegistryProcess:
        line = self._ready.readline()
        self._ready.close()
        assert line, "the registry did not start"
        self.facts = json.loads(line)
        return self

    @property
    def url(self) -> str:
        return str(self.facts["address"])

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self) -> int:
        self.process.terminate()
        return self._end()

    def _end(self) -> int:
        code = self.process.wait(30)
        if self.process.stdin is not None:
            self.process.stdin.close()
        if not self._ready.closed:
            self._ready.close()
        return code

    def is_writer(self) -> bool:
        text = httpx.get(f"{self.url}/metrics", timeout=30).text
        return "caudal_registry_writer 1.0" in text

    def register(self, subject: str, schema: Any) -> httpx.Response:
        body = {"schema": schema if isinstance(schema, str) else json.dumps(schema)}
        return httpx.post(f"{self.url}/subjects/{subject}/versions", json=body, headers=HEADERS, timeout=30)

    def get(self, path: str) -> Any:
        answer = httpx.get(self.url + path, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()
