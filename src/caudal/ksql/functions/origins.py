"""Where users' functions come from: folders, entry points and modules; who defined which; the same in other processes.

Files in the folders of CAUDAL_KSQL_EXT_DIR and entry points of the group `caudal.ksql` are loaded with the built-in
functions. An expression that is sent to a worker takes along `origins()`, and loads the same there.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import logging
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caudal.ksql.errors import KsqlError
from caudal.ksql.functions import registry

EXT_DIR = "CAUDAL_KSQL_EXT_DIR"
ENTRY_POINTS = "caudal.ksql"

logger = logging.getLogger("caudal.ksql.functions")


class BadFunction(KsqlError):
    """A user's function that cannot be one of SQL, and why."""


@dataclass
class Loaded:
    """What came of a folder: the functions it defined, and the files that could not be used."""

    names: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


_lock = threading.RLock()
_owners: dict[str, str] = {}  # function → the module or file that defined it
_folders: dict[str, Loaded] = {}
_modules: dict[str, None] = {}  # imported modules that defined functions
_problems: list[str] = []
_loading: list[tuple[str, Loaded]] = []  # the file that is being loaded


def register_owned(table: dict[str, list[Any]], function: Any, of: Any) -> None:
    """Puts a function into the registry, unless its name is a built-in function's or that of another file."""
    from caudal.ksql.functions import resolution

    resolution.load()
    name = function.name
    owner = _loading[-1][0] if _loading else str(getattr(of, "__module__", "") or "__main__")
    with _lock:
        known = _owners.get(name)
        tables = (registry.SCALARS, registry.AGGREGATES, registry.TABLE_FUNCTIONS)
        if known is None and (name in resolution.ALIASES or any(name in one for one in tables)):
            raise BadFunction(f"Function {name} cannot be defined: there is a built-in function of that name.")
        if known is not None and known != owner:
            raise BadFunction(f"Function {name} cannot be defined in {owner}: {known} has defined it already.")
        for one in tables:
            if one is not table and name in one:
                del one[name]
        overloads = [one for one in table.get(name, []) if one.signatures != function.signatures]
        table[name] = [*overloads, function]
        _owners[name] = owner
        if _loading:
            if name not in _loading[-1][1].names:
                _loading[-1][1].names.append(name)
        elif owner != "__main__":
            _modules[owner] = None


def load_folder(path: str | Path) -> Loaded:
    """Imports each Python file of a folder, once; a file that fails is named, and the others are loaded."""
    folder = Path(path).expanduser().resolve()
    with _lock:
        known = _folders.get(str(folder))
        if known is not None:
            return known
        loaded = _folders[str(folder)] = Loaded()
        if not folder.is_dir():
            _problem(loaded, f"The folder of functions {folder} is not there.")
            return loaded
        for file in sorted(folder.glob("*.py")):
            if file.name != "__init__.py":
                _load_file(file, loaded)
        return loaded


def _load_file(file: Path, loaded: Loaded) -> None:
    # A name of its own: a file json.py must not hide a module of that name.
    name = f"_caudal_ksql_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        _problem(loaded, f"{file} is no Python file.")
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _loading.append((str(file), loaded))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        _problem(loaded, f"{file} was not loaded: {type(error).__name__}: {error}")
    finally:
        _loading.pop()


def _problem(loaded: Loaded, text: str) -> None:
    loaded.problems.append(text)
    _problems.append(text)
    logger.error("%s", text)


def load_configured() -> None:
    """The folders of the environment, and the entry points of what is installed."""
    for folder in filter(None, os.environ.get(EXT_DIR, "").split(os.pathsep)):
        load_folder(folder)
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            point.load()
        except Exception as error:
            text = f"Entry point {point.name} ({point.value}) was not loaded: {type(error).__name__}: {error}"
            _problems.append(text)
            logger.error("%s", text)


def problems() -> list[str]:
    """What could not be loaded, one sentence each."""
    return list(_problems)


def owner(name: str) -> str | None:
    """The file or module that defined a function; None for a built-in one."""
    return _owners.get(name.upper())


def origins() -> tuple[tuple[str, str], ...]:
    """What a worker has to load to have the same functions."""
    return (
        *(("folder", folder) for folder, loaded in _folders.items() if loaded.names),
        *(("module", module) for module in _modules),
    )


def load_origins(recorded: Sequence[tuple[str, str]]) -> None:
    """On a worker; what cannot be loaded is said by whoever misses a function."""
    for kind, name in recorded:
        if kind == "folder":
            load_folder(name)
        elif name not in sys.modules:
            try:
                importlib.import_module(name)
            except Exception as error:
                logger.error("Module %s with functions of KSQL was not loaded: %s", name, error)
