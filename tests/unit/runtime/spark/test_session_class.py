"""PySpark is imported by several threads at once: a KSQL server that comes back warms Spark while it starts queries."""

from __future__ import annotations

import subprocess
import sys

# A process of its own: in this one PySpark may have been imported long ago.
PROGRAM = """
import threading
from caudal.runtime.spark.parcels import packed
from caudal.runtime.spark.session import session_class

failures = []

def run(job):
    try:
        job()
    except BaseException as error:
        failures.append(repr(error))

threads = [threading.Thread(target=run, args=(job,)) for job in (lambda: packed(None), session_class)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failures)
"""


def test_two_threads_that_import_at_once_both_get_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
