"""Connectors stay in the worker's folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.connect.connectors.local_paths import PROPERTY, allowed_path
from caudal.connect.errors import ConfigError


def test_a_path_inside_is_allowed(tmp_path: Path) -> None:
    assert allowed_path(str(tmp_path / "a" / "b"), {PROPERTY: f"/nowhere:{tmp_path}"}, "file") == tmp_path / "a" / "b"


@pytest.mark.parametrize("way_out", ["{inside}/../outside", "{inside}/link/x", "/etc/passwd", "{inside}-beside/x"])
def test_ways_out_are_refused(tmp_path: Path, way_out: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside").mkdir()
    (inside / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(ConfigError, match="outside of the folders") as refused:
        allowed_path(way_out.format(inside=inside), {PROPERTY: str(inside)}, "file")
    assert refused.value.key == "file"


def test_a_worker_without_folders_allows_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="allows no local files"):
        allowed_path(str(tmp_path), {}, "file")
    with pytest.raises(ConfigError, match="zero byte"):
        allowed_path("a\0b", {PROPERTY: "/"}, "file")
