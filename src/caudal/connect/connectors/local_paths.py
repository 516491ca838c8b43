"""Which local files a connector may touch: those in the worker's allowed folders, symbolic links resolved.

The worker writes its `allowed_folders` into every connector's and task's configuration, under one internal property. A
connector that reads or writes local files declares ALLOWED_FOLDERS among its keys and asks `allowed_path` for each path
it is given. A worker that names no folder allows none: a REST API that writes any file is a hole in the machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caudal.connect.configuration import Importance, Key
from caudal.connect.errors import ConfigError

PROPERTY = "caudal.allowed.folders"

ALLOWED_FOLDERS = Key(
    name=PROPERTY,
    default="",
    importance=Importance.LOW,
    doc="Filled in by the worker: the folders in which connectors may read and write, as in PATH.",
)


def check_local(location: str, config: Mapping[str, Any], key: str) -> None:
    """A path or URL; those of other file systems are not this machine's business. Raises as `allowed_path` does.

    >>> check_local("s3a://lake/orders", {}, "path")
    """
    scheme, colon, rest = location.partition(":")
    if not colon or "/" in scheme:
        allowed_path(location, config, key)
    elif scheme.lower() == "file":
        allowed_path("/" + rest.lstrip("/"), config, key)


def allowed_path(given: str, config: Mapping[str, Any], key: str) -> Path:
    """`given` as an absolute path without symbolic links. Raises ConfigError, with `key`, when it is not allowed."""
    if "\0" in given:
        raise ConfigError(f"{key}: the path has a zero byte.", key)
    path = Path(os.path.realpath(Path(given).expanduser()))
    folders = [os.path.realpath(each) for each in str(config.get(PROPERTY) or "").split(os.pathsep) if each]
    if not folders:
        raise ConfigError(
            f"{key}: this worker allows no local files; start it with the folder among its allowed folders.", key
        )
    if not any(path.is_relative_to(folder) for folder in folders):
        raise ConfigError(
            f"{key}: {path} is outside of the folders that this worker allows ({', '.join(folders)}).", key
        )
    return path
