"""A keeper that is closed while its assignment is on its way. librdkafka ends a process whose consumer is called back
at the wrong moment, so the keepers are in a process of their own."""

from __future__ import annotations

import subprocess
import sys

KEEPERS = """
import time
from confluent_kafka.admin import AdminClient, NewTopic
from caudal.runtime.spark import keeper
from caudal.runtime.spark.settings import Settings, keeper_topic
from caudal.testing import embedded_broker

keeper.POLL_SECONDS = 1.5  # what the group says in this time is heard when the keeper leaves
with embedded_broker() as broker:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.create_topics([NewTopic(keeper_topic("app"), 1, 1), NewTopic("in", 4, 1)]).values():
        future.result()
    keepers = [keeper.Keeper("app", Settings(bootstrap=broker.bootstrap), ["in"], lambda: None) for _ in range(3)]
    for one in keepers:
        one.start()
    time.sleep(1)
    for one in keepers:
        one.close()
    print([one.owner for one in keepers])
"""


def test_a_keeper_leaves_while_its_assignment_is_on_its_way() -> None:
    run = subprocess.run([sys.executable, "-c", KEEPERS], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout == "[False, False, False]\n"
