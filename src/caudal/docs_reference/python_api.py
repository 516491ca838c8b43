"""The classes and functions of `caudal.streams` and `caudal.testing`, with signatures and docstrings.

Annotations of types are left out of the signatures: names and defaults are what a reader looks for.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

import caudal.serde
import caudal.streams
import caudal.testing
from caudal.docs_reference.markdown import code, sentence, table

INTRODUCTION = """# Python API

What `caudal.streams`, `caudal.serde` and `caudal.testing` export. [Streams](../streams.md) is the guide.
"""

STARS: Final[Mapping[Any, str]] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def page() -> str:
    parts = [INTRODUCTION]
    for module in (caudal.streams, caudal.serde, caudal.testing):
        parts.append(f"## {module.__name__}\n")
        exported = {name: getattr(module, name) for name in module.__all__}
        classes = {name: each for name, each in exported.items() if _has_methods(each)}
        others = {name: each for name, each in exported.items() if name not in classes}
        parts.append(table(("name", "what it is"), [_row(name, each) for name, each in others.items()]))
        parts += [_class(name, each) for name, each in classes.items()]
    return "\n".join(parts)


def _has_methods(value: Any) -> bool:
    return inspect.isclass(value) and bool(_methods(value)) and not issubclass(value, Exception)


def _methods(cls: type[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        if each.__module__.startswith("caudal."):
            found.update({n: m for n, m in vars(each).items() if inspect.isfunction(m) and not n.startswith("_")})
    return found


def _row(name: str, value: Any) -> tuple[str, str]:
    return code(name + _signature(value)), _first_sentence(value)


def _class(name: str, cls: type[Any]) -> str:
    rows = [_row(method, function) for method, function in _methods(cls).items()]
    return f"### {name}\n\n{_first_sentence(cls)}\n\n{table(('method', 'what it does'), rows)}"


def _signature(value: Any) -> str:
    if not callable(value) or (inspect.isclass(value) and issubclass(value, (Enum, Exception))):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    shown = []
    for parameter in signature.parameters.values():
        if parameter.name == "self" or parameter.name.startswith("_"):
            continue
        default = parameter.default
        plain = default is None or isinstance(default, (bool, int, float, str))
        ending = "" if default is parameter.empty else f"={default!r}" if plain else "=…"
        star = STARS.get(parameter.kind, "")
        shown.append(f"{star}{parameter.name}{ending}")
    return f"({', '.join(shown)})"


def _first_sentence(value: Any) -> str:
    own = value.__doc__ if callable(value) else None
    return sentence((own or "").strip().split("\n\n")[0])
