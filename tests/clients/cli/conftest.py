"""`caudal …` inside the test's process: the real entry point, its output captured, one broker for all commands."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from caudal.cli.main import main
from caudal.testing import EmbeddedBroker, embedded_broker


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Caudal = Callable[..., Outcome]


@pytest.fixture
def caudal(
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Caudal:
    """Runs a command: `caudal("topic", "list")`; `input` is its stdin."""
    monkeypatch.delenv("CAUDAL_BOOTSTRAP", raising=False)
    monkeypatch.setenv("CAUDAL_PROFILES", str(tmp_path_factory.mktemp("profiles") / "clusters.json"))

    def run(*arguments: str, input: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input)))
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        out, err = capfdbinary.readouterr()
        code = left.value.code
        return Outcome(code if isinstance(code, int) else 0, out.decode("utf-8", "surrogateescape"), err.decode())

    return run


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as running:
        yield running


@pytest.fixture
def on_broker(caudal: Caudal, broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> Caudal:
    """`caudal` with CAUDAL_BOOTSTRAP set to a running broker."""
    monkeypatch.setenv("CAUDAL_BOOTSTRAP", broker.bootstrap)
    return caudal
