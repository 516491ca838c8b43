"""Every command of `caudal` with its arguments and flags, from the command line's own definitions.

`caudal broker` has a parser of its own (it starts without the command-line library), so it is read from there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import typer

from caudal.cli import broker_process
from caudal.cli.main import build_app
from caudal.docs_reference.markdown import code, sentence, table

INTRODUCTION = """# Commands

Every command and flag, as `caudal COMMAND --help` shows them. [The command line](../cli.md) has examples and habits.
Every command also takes `--cluster NAME` and `--help`.
"""


def commands() -> Iterator[tuple[str, Any]]:
    """All that can be run, with their whole names, hidden ones left out."""
    root: Any = typer.main.get_command(build_app([]))
    yield from _below("caudal", root)


def _below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    for name, each in sorted(command.commands.items()):
        if each.hidden:
            continue
        whole = f"{path} {name}"
        if hasattr(each, "commands"):
            yield from _below(whole, each)
        else:
            yield whole, each


def page() -> str:
    sections = [INTRODUCTION]
    for name, command in commands():
        sections.append(_broker() if name == "caudal broker" else _section(name, command))
    return "\n".join(sections)


def _section(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    words = " ".join([name, *(_value(each) for each in arguments), "[OPTIONS]"])
    told = [f"{code(_value(each))}: {sentence(each.help)}\n" for each in arguments if each.help]
    rows = [(_spelling(each), _meaning(each), code(_default(each))) for each in options]
    head = [f"## `{name}`\n", f"{code(words)}\n", f"{sentence(command.help or '')}\n"]
    return "\n".join([*head, *told, table(("flag", "meaning", "default"), rows)])


def _spelling(option: Any) -> str:
    names = ", ".join(code(name) for name in [*option.opts, *option.secondary_opts])
    return names if option.is_flag else f"{names} {code(_value(option))}"


def _value(parameter: Any) -> str:
    """What stands for its value: what the command calls it, or what kind it is of."""
    if parameter.metavar:
        return str(parameter.metavar)
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    kind = parameter.type_descriptor.annotation
    return {int: "N", float: "N"}.get(kind, "TEXT" if kind is str else str(getattr(kind, "__name__", "value")).upper())


def _meaning(option: Any) -> str:
    variable = f" Variable: {code(option.envvar)}." if option.envvar else ""
    return sentence(option.help or "") + variable


def _default(option: Any) -> str:
    value = option.default
    if value is None or value is False or value == "" or callable(value) or isinstance(value, (list, tuple)):
        return ""
    return "on" if option.is_flag else str(getattr(value, "value", value))


def _broker() -> str:
    parser = broker_process.parser()
    rows = []
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or "--help" in action.option_strings:
            continue
        names = ", ".join(code(name) for name in action.option_strings)
        metavar = f" {code(action.metavar)}" if isinstance(action.metavar, str) else ""
        choices = f" ({', '.join(action.choices)})" if action.choices else ""
        rows.append((names + metavar, sentence((action.help or "") + choices), ""))
    head = f"## `caudal broker`\n\n`caudal broker [OPTIONS]`\n\n{parser.description} {parser.epilog}\n"
    return "\n".join([head, table(("flag", "meaning", "default"), rows)])
