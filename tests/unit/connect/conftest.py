"""The plugins of `parts.py`, for tests that need a connector without any outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.connect import plugins


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "parts.py").write_text((Path(__file__).parent / "parts.py").read_text())
    monkeypatch.setattr(plugins, "_known", plugins._Known())
    plugins.add_plugin_path([folder])
