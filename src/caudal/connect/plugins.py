"""Where connectors, converters, transforms and predicates are found: the modules of our own packages, folders of the
user's, and entry points.

A plugin is named by its class name (`FileStreamSource`), by its full Python name, or by one of its aliases (the Java
class names). As in Kafka Connect the words Connector, Converter, Transformation and Predicate at the end of a class
name may be left out; a class inside a class is `ExtractField$Key`. Modules are imported only when a plugin of theirs is
asked for or when all are listed; one that cannot be imported (an extra is missing) is listed with the reason and hurts
nobody else.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.util
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Any

import caudal
from caudal.connect.connector import SinkConnector, SourceConnector
from caudal.connect.converter import Converter, Predicate, Transform
from caudal.connect.errors import ConfigError

ENTRY_POINTS = "caudal.connect"  # one group for all kinds; the class says what it is
_PACKAGES = ("caudal.connect.connectors", "caudal.connect.converters", "caudal.connect.transforms")
_FOLDER_PREFIX = "caudal_plugins_"
_SUFFIXES = ("Connector", "HeaderConverter", "Converter", "Transformation", "Predicate")


class PluginKind(StrEnum):
    SOURCE = "source"
    SINK = "sink"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"


_WORDS = {
    PluginKind.SOURCE: "connector",
    PluginKind.SINK: "connector",
    PluginKind.CONVERTER: "converter",
    PluginKind.HEADER_CONVERTER: "header converter",
    PluginKind.TRANSFORMATION: "transformation",
    PluginKind.PREDICATE: "predicate",
}


@dataclass(frozen=True, slots=True)
class Plugin:
    name: str  # the short one, `FileStreamSource`
    kind: PluginKind
    version: str
    cls: type[Any]
    aliases: tuple[str, ...]

    @property
    def full_name(self) -> str:
        return f"{self.cls.__module__}.{self.cls.__qualname__}"

    @property
    def java_name(self) -> str | None:
        """The first alias that is a Java class name: what Kafka Connect's clients know it by."""
        return next((alias for alias in self.aliases if "." in alias), None)


@dataclass(frozen=True, slots=True)
class BrokenPlugin:
    module: str
    reason: str


def plugins(*kinds: PluginKind) -> list[Plugin]:
    """All, or all of these kinds, by name."""
    with _known.lock:
        _known.load_all()
        found = [plugin for plugin in _known.plugins if not kinds or plugin.kind in kinds]
    return sorted(found, key=lambda plugin: (plugin.name.lower(), plugin.kind))


def broken_plugins() -> list[BrokenPlugin]:
    """What could not be imported, and why."""
    with _known.lock:
        _known.load_all()
        return list(_known.broken)


def find(name: str, *kinds: PluginKind) -> Plugin:
    """Raises ConfigError with the nearest names ("did you mean …")."""
    with _known.lock:
        found = _known.find(name, kinds)
        if found is None:
            raise ConfigError(_not_found(name, kinds))
        return found


def add_plugin_path(folders: Iterable[Path]) -> None:
    """Folders whose Python files (and packages) hold plugins. For every process that runs or lists them."""
    with _known.lock:
        for folder in folders:
            _known.add_folder(folder)


@dataclass(slots=True)
class _Candidate:
    """A module or an entry point that may hold plugins and is not imported yet."""

    name: str
    file: Path | None = None
    is_ours: bool = False
    point: importlib.metadata.EntryPoint | None = None

    def may_hold(self, words: tuple[str, ...]) -> bool:
        """Whether the text of the module has one of these words: reading is quicker than importing."""
        if self.point is not None:
            return self.point.name in words or any(self.point.value.endswith(f":{word}") for word in words)
        try:
            text = self.file.read_text("utf-8") if self.file is not None else ""
        except (OSError, UnicodeError):
            return False
        return any(word in text for word in words if " " in word or '"' in word)

    def load(self) -> ModuleType | type[Any]:
        if self.point is not None:
            loaded: ModuleType | type[Any] = self.point.load()
            return loaded
        if self.is_ours:
            return importlib.import_module(self.name)
        assert self.file is not None
        search = [str(self.file.parent)] if self.file.name == "__init__.py" else None
        spec = importlib.util.spec_from_file_location(self.name, self.file, submodule_search_locations=search)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[self.name]
            raise
        return module


@dataclass(slots=True)
class _Known:
    lock: threading.RLock = field(default_factory=threading.RLock)
    candidates: list[_Candidate] | None = None
    folders: list[Path] = field(default_factory=list)
    plugins: list[Plugin] = field(default_factory=list)
    names: dict[tuple[PluginKind, str], Plugin] = field(default_factory=dict)
    broken: list[BrokenPlugin] = field(default_factory=list)

    def find(self, name: str, kinds: tuple[PluginKind, ...]) -> Plugin | None:
        name = name.strip()
        asked = kinds or tuple(PluginKind)
        if not name:
            return None
        if (found := self._named(name, asked)) is not None:
            return found
        # The modules that could define it: by the name itself (an alias), or by its last part (a class).
        last = name.replace("$", ".").rsplit(".", 2)
        simple = [part for part in last[-2:] if part]
        words = (f'"{name}"', *(f"class {_pruned(part)}" for part in simple), *simple[-1:])
        self._load([each for each in self._candidates() if each.may_hold(words)])
        if (found := self._named(name, asked)) is None:
            self.load_all()
            found = self._named(name, asked)
        return found

    def _named(self, name: str, kinds: tuple[PluginKind, ...]) -> Plugin | None:
        return next((plugin for kind in kinds if (plugin := self.names.get((kind, name))) is not None), None)

    def load_all(self) -> None:
        self._load(list(self._candidates()))

    def add_folder(self, folder: Path) -> None:
        folder = folder.resolve()
        if folder in self.folders:
            return
        if not folder.is_dir():
            raise ConfigError(f"plugin.path: {folder} is not a folder.", "plugin.path")
        self.folders.append(folder)
        self._candidates().extend(_in_folder(folder))

    def _candidates(self) -> list[_Candidate]:
        if self.candidates is None:
            self.candidates = [each for package in _PACKAGES for each in _of_package(package)]
            self.candidates += [
                _Candidate(point.value, point=point) for point in importlib.metadata.entry_points(group=ENTRY_POINTS)
            ]
        return self.candidates

    def _load(self, wanted: list[_Candidate]) -> None:
        assert self.candidates is not None
        for candidate in wanted:
            self.candidates.remove(candidate)
            try:
                loaded = candidate.load()
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # a plugin may raise anything while it is imported
                reason = str(error) or type(error).__name__
                self.broken.append(BrokenPlugin(candidate.name, reason))
                continue
            if isinstance(loaded, type):
                self._add(loaded, candidate.point.name if candidate.point is not None else None)
            else:
                for cls in _classes(vars(loaded), loaded.__name__):
                    self._add(cls)

    def _add(self, cls: type[Any], given_name: str | None = None) -> None:
        simple = cls.__qualname__.replace(".", "$")
        version = str(getattr(cls, "version", caudal.__version__))
        for kind in _kinds(cls):
            plugin = Plugin(_pruned(simple), kind, version, cls, tuple(cls.aliases))
            if any(known.cls is cls and known.kind is kind for known in self.plugins):
                continue
            self.plugins.append(plugin)
            java = [alias.rsplit(".", 1)[-1] for alias in plugin.aliases]
            names = [plugin.full_name, plugin.full_name.replace(simple.replace("$", "."), simple), *plugin.aliases]
            for short in (given_name, simple, *java):
                if short is not None:
                    names += [short, _pruned(short), short.replace("$", ".")]
            for name in names:
                self.names.setdefault((kind, name), plugin)


_known = _Known()


def _pruned(simple: str) -> str:
    """The class name without the word that its kind adds.

    >>> _pruned("JsonConverter"), _pruned("FileStreamSourceConnector"), _pruned("Cast$Key")
    ('Json', 'FileStreamSource', 'Cast$Key')
    """
    for suffix in _SUFFIXES:
        if simple.endswith(suffix) and simple != suffix:
            return simple.removesuffix(suffix)
    return simple


def _kinds(cls: type[Any]) -> list[PluginKind]:
    if issubclass(cls, SourceConnector):
        return [PluginKind.SOURCE] if hasattr(cls, "task") else []
    if issubclass(cls, SinkConnector):
        return [PluginKind.SINK] if hasattr(cls, "task") else []
    if issubclass(cls, Transform):
        return [PluginKind.TRANSFORMATION] if cls.apply is not Transform.apply else []
    if issubclass(cls, Predicate):
        return [PluginKind.PREDICATE] if cls.test is not Predicate.test else []
    if issubclass(cls, Converter) and cls.encode is not Converter.encode:
        kinds = [PluginKind.CONVERTER] if cls.for_records else []
        return [*kinds, PluginKind.HEADER_CONVERTER] if cls.for_headers else kinds
    return []


def _classes(names: dict[str, Any], module: str) -> Iterator[type[Any]]:
    """The public classes that a module defines, those inside classes too."""
    for name, value in list(names.items()):
        if not isinstance(value, type) or value.__module__ != module or value.__name__ != name or name[0] == "_":
            continue
        yield value
        yield from _classes(dict(vars(value)), module)


def _of_package(package: str) -> Iterator[_Candidate]:
    """Its modules, at any depth, by their files: importing a sub-package runs its `__init__`."""
    spec = importlib.util.find_spec(package)
    for place in spec.submodule_search_locations or () if spec is not None else ():
        root = Path(place)
        for file in sorted(root.rglob("*.py")):
            parts = list(file.relative_to(root).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            if parts and all(part.isidentifier() for part in parts):
                yield _Candidate(".".join([package, *parts]), file, is_ours=True)


def _in_folder(folder: Path) -> Iterator[_Candidate]:
    """Modules of one file, and packages with an `__init__.py`, each under a name that clashes with nobody's."""
    for entry in sorted(folder.iterdir()):
        file = entry / "__init__.py" if entry.is_dir() else entry
        if file.suffix == ".py" and file.is_file() and entry.stem.isidentifier():
            yield _Candidate(f"{_FOLDER_PREFIX}{entry.stem}", file)


def _not_found(name: str, kinds: tuple[PluginKind, ...]) -> str:
    words = " or ".join(dict.fromkeys(_WORDS[kind] for kind in kinds)) or "plugin"
    known = {key: plugin for (kind, key), plugin in _known.names.items() if not kinds or kind in kinds}
    folded = {key.lower(): key for key in known}
    near = difflib.get_close_matches(name.strip().lower(), folded, n=5, cutoff=0.6)
    if not near and "." in name:
        near = difflib.get_close_matches(_pruned(name.rsplit(".", 1)[-1]).lower(), folded, n=5, cutoff=0.6)
    suggestions = list(dict.fromkeys(known[folded[each]].name for each in near))[:3]
    message = f"There is no {words} named '{name}'"
    if suggestions:
        message += f"; did you mean {' or '.join(suggestions)}?"
    else:
        message += "; `caudal connector plugins` lists what there is."
    wanted = _pruned(name.replace("$", ".").rsplit(".", 1)[-1]).lower()
    for broken in _known.broken:
        last = re.split(r"[.:]", broken.module.removeprefix(_FOLDER_PREFIX))[-1].replace("_", "").lower()
        if wanted and last and (wanted in last or last in wanted):
            message += f" The module {broken.module} could not be imported: {broken.reason}."
    return message
