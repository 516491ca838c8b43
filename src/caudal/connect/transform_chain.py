"""The transformations of a connector, in their order, each with the predicate that decides whether it is applied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from caudal.connect.configuration import ConfigDef, Importance, Key, Type
from caudal.connect.converter import Predicate, Transform
from caudal.connect.errors import ConfigError
from caudal.connect.framework_keys import PREDICATES, TRANSFORMS, aliases
from caudal.connect.plugin_versions import check_version, version_key
from caudal.connect.plugins import PluginKind, find, plugins
from caudal.connect.records import Record

Apply = Callable[[Any], Any]

IMPLICIT = (
    Key(name="predicate", default="", doc="The alias of the predicate that decides whether this is applied."),
    Key(name="negate", type=Type.BOOLEAN, default=False, doc="Whether it is applied where the predicate is false."),
)


class Stage(NamedTuple):
    """One transformation: its alias, and the name of its class."""

    alias: str
    class_name: str
    apply: Apply
    closing: tuple[Any, ...]


class _PredicateFailed(Exception):
    """Carries what a predicate raised past its transformation."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class TransformChain:
    """`apply` gives the record that comes out, or None if a transformation dropped it. After an error `failed` is the
    stage that it came from, and `failed_class` the class: the transformation's, or its predicate's."""

    def __init__(self, stages: Sequence[Stage] = ()) -> None:
        self.stages = tuple(stages)
        self.failed: Stage | None = None
        self.failed_class = ""
        self._applies = tuple(stage.apply for stage in stages)

    def __bool__(self) -> bool:
        return bool(self.stages)

    def apply(self, record: Any) -> Any:
        index = 0
        try:
            for index, apply in enumerate(self._applies):  # noqa: B007 - for the error
                record = apply(record)
                if record is None:
                    return None
            return record
        except _PredicateFailed as failed:
            self.failed = self.stages[index]
            self.failed_class = _class_name(self.failed.closing[1])
            raise failed.error from None
        except BaseException:
            self.failed = self.stages[index]
            self.failed_class = self.failed.class_name
            raise

    def close(self) -> None:
        for stage in self.stages:
            for each in stage.closing:
                with suppress(Exception):  # the others are closed, too
                    each.close()


def chain_def(config: Mapping[str, str]) -> ConfigDef:
    """The keys of the transformations and predicates that `config` names, under their prefixes."""
    keys: list[Key] = []
    for part, group, kind in (
        ("transforms", TRANSFORMS, PluginKind.TRANSFORMATION),
        ("predicates", PREDICATES, PluginKind.PREDICATE),
    ):
        for alias in aliases(config, part):
            keys += _of_alias(config, f"{part}.{alias}.", f"{group}: {alias}", alias, kind)
    return ConfigDef(tuple(keys))


def chain_errors(config: Mapping[str, str]) -> dict[str, str]:
    """What is wrong between keys: predicates that are not there."""
    errors = {}
    known = aliases(config, "predicates")
    for alias in aliases(config, "transforms"):
        prefix = f"transforms.{alias}."
        predicate = (config.get(f"{prefix}predicate") or "").strip()
        if predicate and predicate not in known:
            errors[f"{prefix}predicate"] = (
                f"Config '{prefix}predicate' names the predicate '{predicate}', which 'predicates' does not list."
            )
        if f"{prefix}negate" in config and not predicate:
            errors[f"{prefix}negate"] = (
                f"Config '{prefix}negate' was provided but there is no config '{prefix}predicate' "
                "defining a predicate to be negated."
            )
    return errors


def transforms_of(config: Mapping[str, str]) -> TransformChain:
    """Made and configured. Raises ConfigError that names the property."""
    for key, message in chain_errors(config).items():
        raise ConfigError(message, key)
    stages = []
    for alias in aliases(config, "transforms"):
        prefix = f"transforms.{alias}."
        transform: Transform[Any] = _made(config, prefix, PluginKind.TRANSFORMATION)
        implicit = parse_under(IMPLICIT, config, prefix)
        if not implicit["predicate"]:
            stages.append(Stage(alias, _class_name(transform), transform.apply, (transform,)))
            continue
        predicate: Predicate[Any] = _made(config, f"predicates.{implicit['predicate']}.", PluginKind.PREDICATE)
        apply = _where(predicate.test, implicit["negate"], transform.apply)
        stages.append(Stage(alias, _class_name(transform), apply, (transform, predicate)))
    return TransformChain(stages)


def building_errors(config: Mapping[str, str], wrong: Iterable[str]) -> dict[str, str]:
    """What only shows when transformations and predicates are made: keys that do not go together. Those that have a
    key in `wrong` are passed over: what is wrong with them is known."""
    errors: dict[str, str] = {}
    for part, kind in (("transforms", PluginKind.TRANSFORMATION), ("predicates", PluginKind.PREDICATE)):
        for alias in aliases(config, part):
            prefix = f"{part}.{alias}."
            if any(key.startswith(prefix) for key in wrong):
                continue
            try:
                made = _made(config, prefix, kind)
            except ConfigError as error:
                errors[error.key or f"{prefix}type"] = str(error)
            else:
                with suppress(Exception):
                    made.close()
    return errors


def _where(test: Callable[[Any], bool], negate: bool, apply: Apply) -> Apply:
    wanted = not negate

    def where(record: Record) -> Record | None:
        try:
            applies = bool(test(record)) is wanted
        except Exception as error:
            raise _PredicateFailed(error) from None
        return apply(record) if applies else record

    return where


def _of_alias(config: Mapping[str, str], prefix: str, group: str, alias: str, kind: PluginKind) -> list[Key]:
    def known(name: str, value: Any) -> None:
        find(value, kind)

    word = "Transformation" if kind is PluginKind.TRANSFORMATION else "Predicate"
    keys = [
        Key(
            name=f"{prefix}type",
            type=Type.CLASS,
            doc=f"Class for the '{alias}' {word.lower()}.",
            importance=Importance.HIGH,
            validator=known,
            group=group,
            order=0,
            width="LONG",
            display_name=f"{word} type for {alias}",
            recommender=lambda _: [plugin.name for plugin in plugins(kind)],
        ),
        version_key(f"{prefix}plugin.version", f"the '{alias}' {word.lower()}", f"{prefix}type", group, 0, kind),
    ]
    implicit = IMPLICIT if kind is PluginKind.TRANSFORMATION else ()
    try:
        own = find(config.get(f"{prefix}type") or "", kind).cls.config().keys
    except ConfigError:
        return keys
    masked = {key.name for key in implicit}
    keys += prefixed((*implicit, *(key for key in own if key.name not in masked)), prefix, group)
    return keys


def prefixed(keys: Sequence[Key], prefix: str, group: str) -> list[Key]:
    """The keys of a part, as keys of the connector."""
    found = []
    for order, key in enumerate(keys, 1):
        values = {name: getattr(key, name) for name in Key.__dataclass_fields__}
        values |= {
            "name": prefix + key.name,
            "group": group,
            "order": order,
            "display_name": key.display_name or key.name,
            "depends_on": tuple(prefix + each for each in key.depends_on),
        }
        if (recommender := key.recommender) is not None:
            values["recommender"] = lambda config, ask=recommender: ask(_without_prefix(config, prefix))
        found.append(Key(**values))
    return found


def _made(config: Mapping[str, str], prefix: str, kind: PluginKind) -> Any:
    given = config.get(f"{prefix}type")
    if not given:
        raise ConfigError(f'Missing required configuration "{prefix}type" which has no default value.', f"{prefix}type")
    try:
        plugin = find(given, kind)
    except ConfigError as error:
        raise ConfigError(f"{prefix}type: {error}", f"{prefix}type") from None
    check_version(plugin, f"{prefix}plugin.version", config.get(f"{prefix}plugin.version"))
    made = plugin.cls()
    configure(made, plugin.cls, config, prefix, blame=f"{prefix}type")
    return made


def configure(made: Any, cls: Any, config: Mapping[str, str], prefix: str, *more: Any, blame: str) -> None:
    """Parses what is behind the prefix and hands it over. Errors name the whole property: the one that is wrong, or
    `blame` where it is no single one."""
    given = parse_under(cls.config().keys, config, prefix)
    try:
        made.configure(given, *more)
    except ConfigError as error:
        key = error.key
        if key is None:
            raise ConfigError(f"{blame}: {error}", blame) from None
        whole = prefix + key
        named = re.sub(rf"(?<![\w.]){re.escape(key)}(?!\w|\.\w)", lambda _: whole, str(error), count=1)
        raise ConfigError(named if whole in named else f"{whole}: {error}", whole) from None
    except ValueError as error:
        raise ConfigError(f"{blame}: {error}", blame) from None


def parse_under(keys: Sequence[Key], config: Mapping[str, str], prefix: str) -> dict[str, Any]:
    """The keys of a part, by their own names; errors have the names that the user has written."""
    typed = ConfigDef(tuple(prefixed(keys, prefix, ""))).parse(config)
    return {name.removeprefix(prefix): value for name, value in typed.items()}


def _without_prefix(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name[len(prefix) :]: value for name, value in config.items() if name.startswith(prefix)}


def _class_name(made: Any) -> str:
    """As Kafka Connect's error headers have it, where it is one of theirs."""
    java = next((alias for alias in made.aliases if "." in alias), None)
    return java or f"{type(made).__module__}.{type(made).__qualname__}"
