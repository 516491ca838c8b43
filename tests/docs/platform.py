"""The servers that the pages talk to: one `caudal up` for all of them, on free ports.

Pages say localhost:9092, 8081, 8083, 8088 and 9404; `addressed` puts the real addresses in their place.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

START_SECONDS = 120
STOP_SECONDS = 120
PORTS = {"--kafka-port": 9092, "--registry-port": 8081, "--connect-port": 8083, "--ksql-port": 8088,
         "--ui-port": 9021, "--metrics-port": 9404}  # fmt: skip


class Platform:
    def __init__(self, folder: Path) -> None:
        """`folder` is where data lies, and where connectors may read and write files."""
        self.folder = folder
        self._ports = dict(zip(PORTS.values(), _free_ports(len(PORTS)), strict=True))
        flags = [word for flag, usual in PORTS.items() for word in (flag, str(self._ports[usual]))]
        self._log = (folder / "up.log").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "caudal.cli.main", "up", "--data", str(folder / "data"), *flags,
             "--allow-folder", str(folder)],
            stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def wait(self) -> None:
        """Until the last of them answers."""
        deadline = time.monotonic() + START_SECONDS
        while not self._answers(f"http://127.0.0.1:{self._ports[8088]}/healthcheck"):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("caudal up did not start: " + (self.folder / "up.log").read_text())
            time.sleep(0.05)

    @staticmethod
    def _answers(url: str) -> bool:
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return bool(response.status == 200)
        except OSError:
            return False

    def addressed(self, text: str) -> str:
        """With the real ports where the page has the usual ones."""
        usual = "|".join(map(str, self._ports))
        return re.sub(
            rf"\b(localhost|127\.0\.0\.1):({usual})\b", lambda found: f"127.0.0.1:{self._ports[int(found[2])]}", text
        )

    def environment(self, folder: Path) -> Mapping[str, str]:
        """Of a shell in which `caudal` is this checkout's, and knows these servers."""
        commands = folder / ".bin"
        commands.mkdir(exist_ok=True)
        caudal = commands / "caudal"
        caudal.write_text(f'#!/bin/sh\nexec {sys.executable} -m caudal.cli.main "$@"\n')
        caudal.chmod(0o755)
        here = "127.0.0.1"
        return {
            **os.environ,
            "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CAUDAL_BOOTSTRAP": f"{here}:{self._ports[9092]}",
            "CAUDAL_REGISTRY": f"http://{here}:{self._ports[8081]}",
            "CAUDAL_CONNECT": f"http://{here}:{self._ports[8083]}",
            "CAUDAL_KSQL": f"http://{here}:{self._ports[8088]}",
            "CAUDAL_PROFILES": str(folder / "clusters.json"),
            "COLUMNS": "160",
            "NO_COLOR": "1",
        }

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        finally:
            self._process.kill()
            self._log.close()


def _free_ports(count: int) -> list[int]:
    holders = [socket.socket() for _ in range(count)]
    try:
        for holder in holders:
            holder.bind(("127.0.0.1", 0))
        return [int(holder.getsockname()[1]) for holder in holders]
    finally:
        for holder in holders:
            holder.close()
