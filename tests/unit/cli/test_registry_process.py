"""`caudal registry` before anything runs: where others reach it, and what is told when the extra is missing."""

from __future__ import annotations

import socket

import pytest

from caudal.cli import registry_process
from caudal.cli.errors import CliError, UsageError
from caudal.cli.http_process import bind
from caudal.cli.registry_process import Options, run


@pytest.mark.parametrize(
    ("host", "advertised", "url"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:18081"),
        ("::1", None, "http://[::1]:18081"),
        ("0.0.0.0", None, f"http://{socket.gethostname()}:18081"),
        ("0.0.0.0", "registry.example", "http://registry.example:18081"),
        ("0.0.0.0", "registry.example:80", "http://registry.example:80"),
        ("0.0.0.0", "http://registry.example:80/", "http://registry.example:80"),
        ("0.0.0.0", "[::2]", "http://[::2]:18081"),
    ],
)
def test_where_other_instances_reach_it(host: str, advertised: str | None, url: str) -> None:
    settings = registry_process._settings(Options("b:1", host=host, advertised=advertised), 18081)
    assert settings.url == url


def test_properties_of_the_groups_member_are_kept_apart() -> None:
    options = Options("b:1", properties=("session.timeout.ms=9000", "security.protocol=ssl"))
    settings = registry_process._settings(options, 1)
    assert dict(settings.election) == {"session.timeout.ms": "9000"}
    assert settings.client["security.protocol"] == "ssl"
    assert "session.timeout.ms" not in settings.client


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_process, "is_installed", lambda: False)
    with pytest.raises(CliError, match=r"pip install 'caudal\[registry\]'"):
        run(Options("127.0.0.1:1"))


def test_a_wrong_log_level_or_address_is_told() -> None:
    with pytest.raises(UsageError, match="log level"):
        run(Options("127.0.0.1:1", log_level="loud"))
    with pytest.raises(CliError, match="--host"):
        bind("192.0.2.1", 0)
