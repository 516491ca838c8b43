"""What a cluster needs of driver and workers: where the link listens, which modules are sent, and that a worker that
had no part in the last batches opens its tasks anew."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from caudal.runtime.errors import StreamsError
from caudal.runtime.spark import session
from caudal.runtime.spark.lane import Freight, Lane
from caudal.runtime.spark.link import Link, LinkLost, LinkServer
from caudal.runtime.spark.slots import Slot, TaskId


def spark(master: str, **conf: str) -> Any:
    """As much of a session as is looked at; `__` stands for a dot."""
    known = {name.replace("__", "."): value for name, value in conf.items()}
    sent: list[str] = []
    context = SimpleNamespace(
        master=master, getConf=lambda: SimpleNamespace(get=lambda name, other=None: known.get(name, other))
    )
    context.addPyFile = sent.append
    context.sent = sent
    return SimpleNamespace(sparkContext=context)


def test_the_link_of_a_local_master_is_for_this_machine_only() -> None:
    """Also where somebody else made the session, with an address of the network."""
    given = spark("local[2]", spark__driver__host="192.0.2.7", spark__driver__bindAddress="0.0.0.0")
    assert session.link_address(given) == ("127.0.0.1", "127.0.0.1", 0)


def test_the_link_of_a_cluster_is_at_the_drivers_address() -> None:
    given = spark("spark://a:7077", spark__driver__host="192.0.2.7")
    assert session.link_address(given) == ("192.0.2.7", "192.0.2.7", 0)
    behind = spark(
        "spark://a:7077",
        spark__driver__host="outside",
        spark__driver__bindAddress="10.0.0.5",
        spark__caudal__link__port="7099",
    )
    assert session.link_address(behind) == ("outside", "10.0.0.5", 7099)


def test_the_link_tells_one_address_and_may_listen_on_another() -> None:
    server = LinkServer(lambda request: {"heard": request["request"]}, "localhost", "127.0.0.1")
    try:
        assert server.address[0] == "localhost"
        link = Link(server.address, server.token)
        assert link.ask("anything") == {"heard": "anything"}
        link.close()
        stranger = Link(server.address, "not the token")
        with pytest.raises(LinkLost):
            stranger.ask("anything")
        stranger.close()
    finally:
        server.close()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with a module, a package, and a module that nobody imported."""
    (tmp_path / "beside_it.py").write_text("x = 1\n")
    (tmp_path / "never_read.py").write_text("x = 1\n")
    (tmp_path / "of_it").mkdir()
    (tmp_path / "of_it" / "__init__.py").write_text("")
    (tmp_path / "of_it" / "later.py").write_text("x = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("beside_it")
    __import__("of_it")
    monkeypatch.setitem(sys.modules, "beside_it", sys.modules["beside_it"])
    return tmp_path


def test_a_cluster_gets_the_modules_of_the_program(program: Path) -> None:
    given = spark("spark://a:7077")
    session.send_modules(given, [])
    (archive,) = given.sparkContext.sent
    names = set(zipfile.ZipFile(archive).namelist())
    assert {"beside_it.py", "of_it/__init__.py", "of_it/later.py"} <= names
    assert not names & {"never_read.py", "caudal/__init__.py", "pytest/__init__.py"}
    session.send_modules(given, [])
    assert Path(given.sparkContext.sent[1]).name == Path(archive).name, "the same modules have the same name"


def test_a_local_master_gets_only_what_it_is_told(program: Path) -> None:
    given = spark("local[2]")
    session.send_modules(given, [str(program / "never_read.py")])
    assert given.sparkContext.sent == [str(program / "never_read.py")]
    with pytest.raises(StreamsError, match=r"There is no file .*missing\.zip to send"):
        session.send_modules(given, ["missing.zip"])


class OpenTask:
    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("former", "stays"), [("itself", True), (None, True), ("another", False)])
def test_a_lane_that_missed_batches_closes_its_tasks(former: str | None, stays: bool) -> None:
    """With at_least_once nothing else would tell it that its state is behind."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        told = request["lane"] if former == "itself" else former
        return {"drain": False, "groups": {}, "former": told}

    server = LinkServer(answer)
    lane = Lane(Freight("run", Slot(0), {}, server.address, server.token))
    task: Any = OpenTask()
    try:
        lane._tasks[TaskId("app", 0, 0)] = task
        assert lane.begin("1")
        assert task.closed is not stays
    finally:
        lane.close()
        server.close()
